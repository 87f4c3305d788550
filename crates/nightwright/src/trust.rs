//! What a project would run on this machine, and whether somebody approved it.
//!
//! A repository that somebody else wrote can bring settings that name commands, and hooks that are
//! commands. None of it takes effect before a person has seen it. What was approved is remembered
//! by what it says, outside the project: a change to something that was never approved needs an
//! approval of its own.
//!
//! What can't be read as what it should be is an item too, and one that says so: nothing in a
//! repository keeps a command from working, and nothing in it goes unseen.

mod agent_files;
mod diff;
mod store;

use std::fmt;
use std::path::{Path, PathBuf};

use nightwright_core::display::one_line;
use ring::digest::{SHA256, digest};

use crate::config::{ConfigLayer, ConfigValue, ValueOrigin};
use crate::error::Failure;
use crate::files::{self, FileError};
use crate::hex::hex;
use crate::secrets;

pub use agent_files::agent_files;
pub use diff::diff;
pub use store::{Approval, ApprovalStore, Approvals};

/// Where a project has hooks.
pub const HOOKS: &str = ".nightwright/hooks";
/// How the names of examples end, which are never run.
pub const SAMPLE: &str = ".sample";
/// A hook larger than this is none.
pub const MAX_HOOK_BYTES: u64 = 1 << 20;
/// The text of a larger hook is not kept for comparison.
const MAX_TEXT_BYTES: usize = 64 << 10;
/// So many lines of a hook are shown.
const FIRST_LINES: usize = 3;
/// So much of each of them.
const MAX_LINE_CHARS: usize = 200;

/// Something that would be run, or that says what is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustItem {
    /// Where it is: a file, and the key in it.
    pub location: String,
    /// What it says, for people.
    pub shown: String,
    /// What it says, for comparison.
    pub hash: String,
    /// The whole text of a hook, without secrets of the user's own.
    pub text: Option<String>,
    /// Whether it is what it should be.
    pub form: ItemForm,
}

/// Whether something is what it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemForm {
    /// It was read.
    Sound,
    /// It can't be read, or lies elsewhere: what it says is not known.
    Odd,
}

/// How an item stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustState {
    /// Somebody approved exactly this.
    Approved,
    /// Something else was approved at this place.
    Changed,
    /// Nobody has approved anything here.
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

    /// Something that is not what it should be. Only its being so can be approved.
    fn odd(location: String, what: &str, error: &dyn std::error::Error) -> Self {
        let shown = format!("{what}, not usable: {}", Failure::because(error).message);
        // No content has this hash, so that approving the one never approves the other.
        let hash =
            format!("odd:{}", Self::new(String::new(), String::new(), shown.as_bytes()).hash);
        Self { location, shown, hash, text: None, form: ItemForm::Odd }
    }

    /// The same with its text, if it is one that can be compared.
    fn with_text(self, bytes: &[u8]) -> Self {
        let text = str::from_utf8(bytes).ok().filter(|text| text.len() <= MAX_TEXT_BYTES);
        let text = text.map(|text| secrets::of_user().mask(text).into_owned());
        Self { text: text.filter(|_| self.form == ItemForm::Sound), ..self }
    }

    /// Whether it is what a file says of this key.
    pub fn is_of(&self, key: &str) -> bool {
        self.location.rsplit_once(": ").is_some_and(|(_, of)| of == key)
    }

    /// Whether it is a file in the folder of hooks.
    pub fn is_hook(&self) -> bool {
        self.location.strip_prefix(HOOKS).is_some_and(|rest| rest.starts_with('/'))
    }

    /// How it stands by what was approved.
    pub fn state(&self, approvals: &Approvals) -> TrustState {
        match approvals.get(&self.location) {
            Some(approval) if approval.covers(&self.hash) => TrustState::Approved,
            Some(_) => TrustState::Changed,
            None => TrustState::New,
        }
    }
}

/// What says of a content whether it is the same.
pub fn hash(content: &[u8]) -> String {
    hex(digest(&SHA256, content).as_ref())
}

/// Everything in these layers, and in the project's hooks, that needs an approval.
pub fn items(project: &Path, layers: &[ConfigLayer]) -> Vec<TrustItem> {
    let mut all: Vec<TrustItem> =
        layers.iter().flat_map(|layer| settings(project, layer)).collect();
    all.extend(hooks(project));
    all
}

/// What a layer says that needs an approval.
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

/// A value as somebody has to see it who approves it: whole, but for what is called a secret.
fn seen(value: &ConfigValue) -> ConfigValue {
    // Of an address the host is what counts, and the rest is as good as a password.
    let ConfigValue::Table(variables) = value else { return value.without_secrets() };
    let seen = variables.iter().map(|(name, text)| {
        let text = if is_secret(name) { "***".to_owned() } else { text.clone() };
        (name.clone(), text)
    });
    ConfigValue::Table(seen.collect())
}

/// Whether a variable of this name is known to hold a secret. Of all others the value is shown: it
/// may name a program, as that of `GIT_ASKPASS` does.
fn is_secret(name: &str) -> bool {
    let name = name.to_uppercase();
    let endings = ["_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_PASS"];
    endings.iter().any(|ending| name.ends_with(ending))
        || ["PASSWORD", "TOKEN", "SECRET"].contains(&name.as_str())
}

fn file_of(project: &Path, origin: &ValueOrigin) -> PathBuf {
    let path = match origin {
        ValueOrigin::Mode(name) => {
            return Path::new(crate::config::modes::FOLDER).join(name).join("mode.toml");
        }
        origin => origin.path().unwrap_or(project),
    };
    path.strip_prefix(project).unwrap_or(path).to_owned()
}

/// The project's hooks, without the examples.
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

/// The content of a hook, if it is still the one that was approved.
pub fn hook_content(project: &Path, item: &TrustItem) -> Result<Vec<u8>, Failure> {
    let read = files::read_inside(project, Path::new(&item.location), MAX_HOOK_BYTES);
    let bytes = read.map_err(|error| Failure::because(&error))?.unwrap_or_default();
    if hash(&bytes) == item.hash {
        return Ok(bytes);
    }
    let place = one_line(&item.location, MAX_LINE_CHARS);
    Err(Failure::trouble(format!("`{place}` was changed while the run was about to begin"))
        .hint("look at it and approve it: nightwright trust"))
}

/// A file that needs an approval as a whole, and what is in it; `None` if it is not there.
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

/// How large a file is, and how it begins.
fn beginning(what: &str, bytes: &[u8]) -> String {
    let mut shown = format!("{what}, {} bytes", bytes.len());
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.lines();
    for line in lines.by_ref().take(FIRST_LINES) {
        shown.push_str("\n| ");
        if line.len() > MAX_LINE_CHARS {
            // What was cut could not be masked any more.
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
