//! Approval of the project's settings, hooks and files before they take effect.

use std::env;
use std::io::{self, BufRead, Write};
use std::path::Path;

use nightwright_core::display::{display_safe, one_line};

use crate::config::modes::Mode;
use crate::config::tightening::{self, Bound, LooserValue};
use crate::config::{ConfigLayer, ResolvedConfig, ValueOrigin};
use crate::console::{self, eprint_safe};
use crate::error::Failure;
use crate::paste::from_here;
use crate::secrets;
use crate::trust::{self, ApprovalStore, ItemForm, TrustItem, TrustState};

/// Maximum characters shown of a place, which is a file and a key.
const PLACE: usize = 300;

/// How to handle items that the user has not approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UntrustedPolicy {
    /// Asks on a terminal, and fails elsewhere.
    Ask(TrustFlags),
    /// Accepts the items this time only, without recording an approval.
    Accept,
    /// Leaves out unapproved items.
    Ignore,
}

impl UntrustedPolicy {
    /// The policy for the options `--yes` and `--ignore-untrusted`.
    pub(crate) fn of_flags(yes: bool, ignore_untrusted: bool) -> Self {
        match (yes, ignore_untrusted) {
            (true, _) => Self::Accept,
            (false, true) => Self::Ignore,
            (false, false) => Self::Ask(TrustFlags::There),
        }
    }
}

/// The options that the command has for unapproved items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TrustFlags {
    /// The command has `--yes` and `--ignore-untrusted`.
    There,
    /// The command has only `--yes`.
    Yes,
    /// The command has neither option.
    NotThere,
}

/// The configuration layers, reduced to the approved parts.
#[derive(Debug)]
pub(super) struct ApprovedLayers {
    pub(super) layers: Vec<ConfigLayer>,
    /// The project's hooks that may run, as approved.
    pub(super) hooks: Vec<TrustItem>,
    /// The files of the project that the agent program may use, with their current contents.
    pub(super) agent_files: Vec<TrustItem>,
    /// Notes to show to the user.
    pub(super) notes: Vec<String>,
}

/// Returns the layers without the parts that the user has not approved; may ask for approval.
pub(super) fn settle(
    project: &Path,
    layers: Vec<ConfigLayer>,
    untrusted: UntrustedPolicy,
) -> Result<ApprovedLayers, Failure> {
    let mut store = ApprovalStore::open(project, env::var_os)?;
    let items = trust::items(project, &layers);
    let open = unapproved(&items, &store);
    let mut notes = Vec::new();
    let mut hooks: Vec<TrustItem> = items.iter().filter(|item| item.is_hook()).cloned().collect();
    let approved = |item: &TrustItem| !open.iter().any(|(open, _)| open.location == item.location);
    let layers = match untrusted {
        _ if open.is_empty() => layers,
        UntrustedPolicy::Accept => layers,
        UntrustedPolicy::Ignore => {
            notes.push(format!(
                "Not used, because you have not approved it:\n{}",
                list(&open, &store)
            ));
            hooks.retain(approved);
            without(project, layers, &open)
        }
        UntrustedPolicy::Ask(_) if console::is_interactive() => {
            let changed = open.iter().all(|(_, standing)| *standing == TrustState::Changed);
            let opening = if changed {
                "You approved this, and it has changed since:"
            } else {
                "This project has settings or hooks that you have not approved:"
            };
            eprint_safe(&format!("{opening}\n{}", list(&open, &store)));
            match answer("Approve it? [y]es, [n]o, [i]gnore it this time: ")? {
                ApprovalAnswer::Yes => {
                    store.approve(open.iter().map(|(item, _)| *item))?;
                    layers
                }
                ApprovalAnswer::Ignore => {
                    hooks.retain(approved);
                    without(project, layers, &open)
                }
                ApprovalAnswer::No => {
                    return Err(Failure::usage("not approved; nightwright started nothing"));
                }
            }
        }
        UntrustedPolicy::Ask(flags) => return Err(refused(&list(&open, &store), flags)),
    };
    let layers = within_bounds(project, layers, &store, untrusted, &mut notes);
    let agent_files = agent_files(project, &store, untrusted, &mut notes);
    Ok(ApprovedLayers { layers, hooks, agent_files, notes })
}

/// Returns the layers without unapproved values of the project that are looser than the user's own,
/// or than a default.
fn within_bounds(
    project: &Path,
    mut layers: Vec<ConfigLayer>,
    store: &ApprovalStore,
    untrusted: UntrustedPolicy,
    notes: &mut Vec<String>,
) -> Vec<ConfigLayer> {
    let is_user = |layer: &&ConfigLayer| matches!(layer.origin(), ValueOrigin::User(_));
    let user = layers.iter().find(is_user).cloned();
    if untrusted == UntrustedPolicy::Accept {
        return layers;
    }
    // A value that another layer overrides is not worth a note.
    let overridden = ResolvedConfig::new(layers.iter().cloned());
    for layer in &mut layers {
        let items = trust::looser_settings(project, layer, user.as_ref());
        let open = unapproved(&items, store);
        let is_open = |key: &str| open.iter().any(|(item, _)| item.is_of(key));
        let mut refused = Vec::new();
        for LooserValue { key, value, bound } in tightening::looser(layer, user.as_ref()) {
            if !is_open(key) {
                continue;
            }
            refused.push(key);
            if overridden.origin(key) == layer.origin() {
                let advice = from_here("run `nightwright trust` to use the project's");
                let applies = match bound {
                    Bound::Users(_) => "Yours",
                    Bound::Default(_) => "The default",
                };
                notes.push(format!(
                    "This project sets {key} = {value}, which is looser than {}. {applies} \
                     applies; {advice}.",
                    bound.words()
                ));
            }
        }
        *layer = layer.clone().without(&refused);
    }
    layers
}

/// Whether a run of this mode may skip the user's checks.
pub(super) fn may_skip_checks(
    project: &Path,
    mode: &Mode,
    untrusted: UntrustedPolicy,
) -> Result<bool, Failure> {
    let Some(item) = trust::planning_mode(mode) else { return Ok(true) };
    let store = ApprovalStore::open(project, env::var_os)?;
    let is_approved = item.state(store.approvals()) == TrustState::Approved;
    Ok(is_approved || untrusted == UntrustedPolicy::Accept)
}

/// Returns the layers that apply to a run without any further approval, and why others do not.
pub(crate) fn as_it_applies(
    project: &Path,
    layers: Vec<ConfigLayer>,
) -> Result<(Vec<ConfigLayer>, Vec<String>), Failure> {
    let store = ApprovalStore::open(project, env::var_os)?;
    let mut notes = Vec::new();
    let layers = within_bounds(project, layers, &store, UntrustedPolicy::Ignore, &mut notes);
    Ok((layers, notes))
}

/// Like `settle`, but for settings only: hooks and the agent program's files are ignored.
pub(crate) fn settle_settings(
    project: &Path,
    layers: Vec<ConfigLayer>,
    untrusted: UntrustedPolicy,
) -> Result<Vec<ConfigLayer>, Failure> {
    let store = ApprovalStore::open(project, env::var_os)?;
    let items: Vec<_> = layers.iter().flat_map(|layer| trust::settings(project, layer)).collect();
    let open = unapproved(&items, &store);
    match untrusted {
        _ if open.is_empty() => Ok(layers),
        UntrustedPolicy::Accept => Ok(layers),
        UntrustedPolicy::Ignore => Ok(without(project, layers, &open)),
        UntrustedPolicy::Ask(flags) => Err(refused(&list(&open, &store), flags)),
    }
}

/// Approves all settings of a layer of the project, because the user has just chosen them.
pub(crate) fn approve_settings(project: &Path, layer: &ConfigLayer) -> Result<(), Failure> {
    let mut items = trust::settings(project, layer);
    items.extend(trust::bound_settings(project, layer));
    ApprovalStore::open(project, env::var_os)?.approve(&items)
}

/// Approves the value of one key in a layer of the project.
pub(crate) fn approve_setting(
    project: &Path,
    layer: &ConfigLayer,
    key: &str,
) -> Result<(), Failure> {
    let mut items = trust::settings(project, layer);
    items.extend(trust::bound_settings(project, layer));
    items.retain(|item| item.is_of(key));
    ApprovalStore::open(project, env::var_os)?.approve(&items)
}

/// Approves the effective values of these keys, which the user has just seen and accepted. An
/// overridden value was not shown, so its approval does not change.
pub(crate) fn approve_shown(
    project: &Path,
    layers: &[ConfigLayer],
    keys: &[&str],
) -> Result<(), Failure> {
    for key in keys {
        if let Some(layer) = layers.iter().rfind(|layer| layer.get(key).is_some()) {
            approve_setting(project, layer, key)?;
        }
    }
    Ok(())
}

/// Returns the items that are not approved in their current form.
pub(crate) fn unapproved<'a>(
    items: &'a [TrustItem],
    store: &ApprovalStore,
) -> Vec<(&'a TrustItem, TrustState)> {
    items
        .iter()
        .map(|item| (item, item.state(store.approvals())))
        .filter(|(_, standing)| *standing != TrustState::Approved)
        .collect()
}

/// Lists each item with its place and its content, or with the difference if it has changed.
/// Everything is escaped, so that it cannot control the terminal or forge lines. The user must see
/// the content before approving it, so only the user's own secrets are masked.
pub(crate) fn list(items: &[(&TrustItem, TrustState)], store: &ApprovalStore) -> String {
    let secrets = secrets::of_user();
    let mut lines = Vec::new();
    for (item, standing) in items {
        lines.push(format!("  {standing:<8} {}", one_line(&item.location, PLACE)));
        let text = match standing {
            TrustState::Changed => difference(item, store),
            TrustState::Approved | TrustState::New => item.shown.clone(),
        };
        lines.extend(indented(&secrets.mask(&text)));
    }
    lines.join("\n")
}

/// Returns the changes since the approval.
fn difference(item: &TrustItem, store: &ApprovalStore) -> String {
    let Some(approval) = store.approvals().get(&item.location) else { return item.shown.clone() };
    let texts = approval.text.as_deref().zip(item.text.as_deref());
    let (old, new) = texts.unwrap_or((&approval.shown, &item.shown));
    match trust::diff(old, new) {
        same if same.is_empty() => {
            format!("{}\n(the difference is in a hidden part)", item.shown)
        }
        difference => difference,
    }
}

fn indented(text: &str) -> Vec<String> {
    let safe = display_safe(text);
    let mut lines: Vec<_> = safe.lines().map(|line| format!("           {line}")).collect();
    if safe != text {
        lines.push("           (it has hidden characters)".to_owned());
    }
    lines
}

fn refused(list: &str, flags: TrustFlags) -> Failure {
    let hint = match flags {
        TrustFlags::There => {
            "review and approve it with `nightwright trust`; add --yes to approve it for this run \
             only, or --ignore-untrusted to skip it"
        }
        TrustFlags::Yes => {
            "review and approve it with `nightwright trust`; add --yes to approve it for this run only"
        }
        TrustFlags::NotThere => "review and approve it with `nightwright trust`",
    };
    Failure::usage(format!(
        "this project has settings or hooks that you have not approved:\n{list}"
    ))
    .hint(hint)
}

/// Returns the layers without the unapproved settings.
fn without(
    project: &Path,
    layers: Vec<ConfigLayer>,
    open: &[(&TrustItem, TrustState)],
) -> Vec<ConfigLayer> {
    let is_open = |layer: &ConfigLayer, key: &str| {
        let items = trust::settings(project, layer);
        items.iter().any(|item| {
            item.is_of(key) && open.iter().any(|(open, _)| open.location == item.location)
        })
    };
    layers
        .into_iter()
        .map(|layer| {
            let keys: Vec<_> = layer
                .gated()
                .into_iter()
                .map(|(key, ..)| key)
                .filter(|key| is_open(&layer, key))
                .collect();
            layer.without(&keys)
        })
        .collect()
}

/// Returns the agent program's files in the project, if approved or accepted. A run works without
/// them, so it does not ask. An unreadable file is never used, even if it is approved.
fn agent_files(
    project: &Path,
    store: &ApprovalStore,
    untrusted: UntrustedPolicy,
    notes: &mut Vec<String>,
) -> Vec<TrustItem> {
    let files = trust::agent_files(project);
    let open = unapproved(&files, store);
    let accepted = open.is_empty() || untrusted == UntrustedPolicy::Accept;
    let odd = files.iter().any(|file| file.form == ItemForm::Odd);
    if accepted && !odd {
        return files;
    }
    let (named, advice): (Vec<_>, _) = if odd {
        let odd = files.iter().filter(|file| file.form == ItemForm::Odd);
        (odd.map(|item| one_line(&item.shown, PLACE)).collect(), "".into())
    } else {
        let names = open.iter().map(|(item, _)| format!("`{}`", one_line(&item.location, PLACE)));
        (names.collect(), from_here("; approve them with `nightwright trust`"))
    };
    notes.push(format!(
        "The agent does not use the project's own settings ({}){advice}.",
        named.join(", ")
    ));
    Vec::new()
}

/// Returns the files of the project that the agent program may use, with their current contents. If
/// one of them is not approved, none is used.
pub(crate) fn approved_agent_files(project: &Path) -> Result<Vec<TrustItem>, Failure> {
    let store = ApprovalStore::open(project, env::var_os)?;
    let ignored_notes = &mut Vec::new();
    Ok(agent_files(project, &store, UntrustedPolicy::Ask(TrustFlags::NotThere), ignored_notes))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ApprovalAnswer {
    Yes,
    No,
    Ignore,
}

/// Asks until the answer is valid. The end of input counts as no.
fn answer(question: &str) -> Result<ApprovalAnswer, Failure> {
    loop {
        // If the terminal is gone, the answer is the end of input.
        let _ = write!(io::stderr(), "{question}");
        let mut line = String::new();
        let read = io::stdin().lock().read_line(&mut line);
        let read =
            read.map_err(|error| Failure::trouble(format!("cannot read an answer: {error}")))?;
        match line.trim().to_lowercase().as_str() {
            "y" | "yes" => return Ok(ApprovalAnswer::Yes),
            "i" | "ignore" => return Ok(ApprovalAnswer::Ignore),
            "n" | "no" => return Ok(ApprovalAnswer::No),
            _ if read == 0 => return Ok(ApprovalAnswer::No),
            _ => {}
        }
    }
}
