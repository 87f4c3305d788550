//! The commands that a project would run on this machine, and whether the user approved them.
//!
//! An untrusted repository can contain settings that name commands, and hooks that are commands.
//! None of them takes effect before the user has reviewed it. Approvals are stored by content,
//! outside the project: every change to unapproved content needs a new approval.
//!
//! A file that is unreadable or invalid is also an item, with a description of the problem. So a
//! repository can neither make a command fail nor hide an item.

mod agent_files;
mod diff;
mod store;

use std::fmt;
use std::path::{Path, PathBuf};

use nightwright_core::display::one_line;
use nightwright_core::outcome::count;
use ring::digest::{SHA256, digest};

use crate::config::modes::{self, Mode};
use crate::config::tightening::{self, LooserValue};
use crate::config::{ConfigLayer, ConfigValue, ValueOrigin};
use crate::error::Failure;
use crate::files::{self, FileError};
use crate::hex::hex;
use crate::secrets;

pub use agent_files::{agent_files, differing, user_agent_files};
pub use diff::diff;
pub use store::{Approval, ApprovalStore, Approvals};

/// The folder of a project's hooks.
pub const HOOKS: &str = ".nightwright/hooks";
/// The suffix of sample hooks, which are never run.
pub const SAMPLE: &str = ".sample";
/// Maximum size of a hook.
pub const MAX_HOOK_BYTES: u64 = 1 << 20;
/// Maximum size of a hook whose text is stored for comparison.
const MAX_TEXT_BYTES: usize = 64 << 10;
/// Number of lines of a hook that are shown.
const FIRST_LINES: usize = 3;
/// Maximum characters of each of these lines.
const MAX_LINE_CHARS: usize = 200;

/// A command, or a setting that determines which commands run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustItem {
    /// The location of the item: a file, and the key in it.
    pub location: String,
    /// The content to show to the user.
    pub shown: String,
    /// The hash of the content, for comparison.
    pub hash: String,
    /// The full text of a hook or the list of a folder's files, without the user's secrets.
    pub text: Option<String>,
    /// Whether the content could be read.
    pub form: ItemForm,
}

impl TrustItem {
    /// Whether it has the same content. The shown text may differ, because it depends on the user's
    /// masks.
    pub fn is_same_as(&self, other: &Self) -> bool {
        (&self.location, &self.hash, self.form) == (&other.location, &other.hash, other.form)
    }
}

/// Whether the content of an item could be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemForm {
    /// The content was read.
    Sound,
    /// The file cannot be read or is outside the project: the content is unknown.
    Odd,
}

/// The approval state of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustState {
    /// The user approved exactly this content.
    Approved,
    /// Other content was approved at this location.
    Changed,
    /// Nothing was approved at this location.
    New,
}

impl fmt::Display for TrustState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Approved => "approved",
            Self::Changed => "changed",
            Self::New => "new",
        })
    }
}

impl TrustItem {
    fn new(location: String, shown: String, content: &[u8]) -> Self {
        Self { location, shown, hash: hash(content), text: None, form: ItemForm::Sound }
    }

    /// Creates an item that cannot be read. An approval covers only this fact.
    fn odd(location: String, what: &str, error: &dyn std::error::Error) -> Self {
        let shown = format!("{what}, not usable: {}", Failure::because(error).message);
        // No content has this hash, so an approval of one never covers the other.
        let hash =
            format!("odd:{}", Self::new(String::new(), String::new(), shown.as_bytes()).hash);
        Self { location, shown, hash, text: None, form: ItemForm::Odd }
    }

    /// Adds the text, if it can be compared.
    fn with_text(self, bytes: &[u8]) -> Self {
        let text = str::from_utf8(bytes).ok().filter(|text| text.len() <= MAX_TEXT_BYTES);
        let text = text.map(|text| secrets::of_user().mask(text).into_owned());
        Self { text: text.filter(|_| self.form == ItemForm::Sound), ..self }
    }

    /// Whether the item is the value of this key in a file.
    pub fn is_of(&self, key: &str) -> bool {
        self.location.rsplit_once(": ").is_some_and(|(_, of)| of == key)
    }

    /// Whether the item is a file in the folder of hooks.
    pub fn is_hook(&self) -> bool {
        self.location.strip_prefix(HOOKS).is_some_and(|rest| rest.starts_with('/'))
    }

    /// Returns the approval state of the item.
    pub fn state(&self, approvals: &Approvals) -> TrustState {
        match approvals.get(&self.location) {
            Some(approval) if approval.covers(&self.hash) => TrustState::Approved,
            Some(_) => TrustState::Changed,
            None => TrustState::New,
        }
    }
}

/// Returns the hash that identifies a content.
pub fn hash(content: &[u8]) -> String {
    hex(digest(&SHA256, content).as_ref())
}

/// Returns all items in these layers, and in the project's hooks, that need an approval.
pub fn items(project: &Path, layers: &[ConfigLayer]) -> Vec<TrustItem> {
    let mut all: Vec<TrustItem> =
        layers.iter().flat_map(|layer| settings(project, layer)).collect();
    all.extend(hooks(project));
    all
}

/// Returns the settings of a layer that need an approval.
pub fn settings(project: &Path, layer: &ConfigLayer) -> Vec<TrustItem> {
    let gated = layer.gated().into_iter().filter(|(_, origin, _)| origin.comes_with_project());
    gated
        .map(|(key, origin, value)| {
            let place = format!("{}: {key}", file_of(project, origin).display());
            let shown = format!("{key} = {}", seen(value));
            TrustItem::new(place, shown, value.to_string().as_bytes())
        })
        .collect()
}

/// Returns the settings of a layer that are looser than the user's own, or than a default. They need an approval to
/// take effect, but a run starts without it.
pub fn looser_settings(
    project: &Path,
    layer: &ConfigLayer,
    user: Option<&ConfigLayer>,
) -> Vec<TrustItem> {
    let item = |looser: LooserValue<'_>| {
        let LooserValue { key, value, bound } = looser;
        let shown = format!("{key} = {value}, looser than {}", bound.words());
        bound_item(project, layer, key, value, shown)
    };
    tightening::looser(layer, user).into_iter().map(item).collect()
}

/// Returns the settings of a layer that a project may only tighten, whatever their values.
pub fn bound_settings(project: &Path, layer: &ConfigLayer) -> Vec<TrustItem> {
    let bound = layer
        .iter()
        .filter(|(key, origin, _)| tightening::is_bound(key) && origin.comes_with_project());
    bound
        .map(|(key, _, value)| bound_item(project, layer, key, value, format!("{key} = {value}")))
        .collect()
}

fn bound_item(
    project: &Path,
    layer: &ConfigLayer,
    key: &str,
    value: &ConfigValue,
    shown: String,
) -> TrustItem {
    let place = format!("{}: {key}", file_of(project, layer.origin()).display());
    TrustItem::new(place, shown, value.to_string().as_bytes())
}

/// Returns the item of a mode of the project that would skip the user's checks.
pub fn planning_mode(mode: &Mode) -> Option<TrustItem> {
    mode.is_planning_of_project().then(|| {
        let file = modes::own_file(&mode.name, "mode.toml");
        let shown = "evidence = [\"planned\"]: a run of this mode skips your checks".to_owned();
        TrustItem::new(format!("{}: evidence", file.display()), shown, b"planned")
    })
}

/// Returns a value as the user sees it for approval: complete, except for secrets.
fn seen(value: &ConfigValue) -> ConfigValue {
    // The host of an address matters for the approval; the rest may be as secret as a password.
    let ConfigValue::Table(variables) = value else { return value.without_secrets() };
    let seen = variables.iter().map(|(name, text)| {
        let text = if is_secret(name) { "***".to_owned() } else { text.clone() };
        (name.clone(), text)
    });
    ConfigValue::Table(seen.collect())
}

/// Whether a variable with this name is known to hold a secret. Other values are shown, because
/// they may name a program, as `GIT_ASKPASS` does.
fn is_secret(name: &str) -> bool {
    let name = name.to_uppercase();
    let suffixes = ["_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_PASS"];
    suffixes.iter().any(|suffix| name.ends_with(suffix))
        || ["PASSWORD", "TOKEN", "SECRET"].contains(&name.as_str())
}

fn file_of(project: &Path, origin: &ValueOrigin) -> PathBuf {
    let path = match origin {
        ValueOrigin::Mode(name) => {
            return Path::new(modes::FOLDER).join(name).join("mode.toml");
        }
        origin => origin.path().unwrap_or(project),
    };
    path.strip_prefix(project).unwrap_or(path).to_owned()
}

/// Returns the project's hooks, without the samples.
pub fn hooks(project: &Path) -> Vec<TrustItem> {
    let mut all = Vec::new();
    if let Err(error) = find_hooks(project, &mut all) {
        all.push(TrustItem::odd(HOOKS.to_owned(), "the folder of hooks", &error));
    }
    all.sort_by(|one, other| one.location.cmp(&other.location));
    all
}

fn find_hooks(project: &Path, all: &mut Vec<TrustItem>) -> Result<(), FileError> {
    let folder = Path::new(HOOKS);
    if !files::folder_inside(project, folder)? {
        return Ok(());
    }
    let path = project.join(folder);
    let cant = |source| FileError::Read { path: path.clone(), source };
    for entry in std::fs::read_dir(&path).map_err(cant)? {
        let name = entry.map_err(cant)?.file_name();
        let place = folder.join(&name);
        let name = name.to_string_lossy();
        if !name.ends_with(SAMPLE) && !name.starts_with('.') {
            let hook = file(project, &place, &format!("hook {name}"), beginning);
            all.extend(hook.map(|(item, bytes)| item.with_text(&bytes)));
        }
    }
    Ok(())
}

/// Returns the content of a hook, if it is still the approved one.
pub fn hook_content(project: &Path, item: &TrustItem) -> Result<Vec<u8>, Failure> {
    let read = files::read_inside(project, Path::new(&item.location), MAX_HOOK_BYTES);
    let bytes = read.map_err(|error| Failure::because(&error))?.unwrap_or_default();
    if hash(&bytes) == item.hash {
        return Ok(bytes);
    }
    let place = one_line(&item.location, MAX_LINE_CHARS);
    Err(Failure::trouble(format!("`{place}` changed while the run started"))
        .hint("review and approve it with `nightwright trust`"))
}

/// Returns a file that needs an approval as a whole, with its content; `None` if it does not exist.
fn file(
    project: &Path,
    place: &Path,
    what: &str,
    shown: fn(&str, &[u8]) -> String,
) -> Option<(TrustItem, Vec<u8>)> {
    let name = place.display().to_string();
    match files::read_inside(project, place, MAX_HOOK_BYTES) {
        Ok(bytes) => bytes.map(|bytes| (TrustItem::new(name, shown(what, &bytes), &bytes), bytes)),
        Err(error) => Some((TrustItem::odd(name, what, &error), Vec::new())),
    }
}

/// Describes a file by its size and its first lines.
fn beginning(what: &str, bytes: &[u8]) -> String {
    let mut shown = format!("{what}, {}", count(bytes.len(), "byte"));
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.lines();
    for line in lines.by_ref().take(FIRST_LINES) {
        shown.push_str("\n| ");
        if line.len() > MAX_LINE_CHARS {
            // A line must be masked before it is cut.
            shown.push_str(&one_line(&secrets::of_user().mask(line), MAX_LINE_CHARS));
        } else {
            shown.push_str(&one_line(line, MAX_LINE_CHARS));
        }
    }
    match lines.count() {
        0 => shown,
        1 => shown + "\n| ... 1 more line",
        more => format!("{shown}\n| ... {more} more lines"),
    }
}

#[cfg(test)]
mod tests;
