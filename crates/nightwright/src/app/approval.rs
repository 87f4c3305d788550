//! Before something of the project takes effect: what was approved, what is shown, what is asked.

use std::env;
use std::io::{self, BufRead, Write};
use std::path::Path;

use nightwright_core::display::{display_safe, one_line};

use crate::commands::{eprint_safe, terminal};
use crate::config::ConfigLayer;
use crate::error::Failure;
use crate::paste::from_here;
use crate::secrets;
use crate::trust::{self, ApprovalStore, ItemForm, TrustItem, TrustState};

/// So much of a place is shown: a file, and a key.
const PLACE: usize = 300;

/// What is done with what nobody has approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UntrustedPolicy {
    /// Asked for on a terminal, refused elsewhere.
    Ask(TrustFlags),
    /// Taken for this once.
    Accept,
    /// Left out.
    Ignore,
}

/// Whether the command has options for what nobody has approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TrustFlags {
    /// `--yes` and `--ignore-untrusted`.
    There,
    /// Only `--yes`.
    Yes,
    /// None.
    NotThere,
}

/// The layers as they may take effect.
#[derive(Debug)]
pub(super) struct ApprovedLayers {
    pub(super) layers: Vec<ConfigLayer>,
    /// The project's hooks that may be run, as they were approved.
    pub(super) hooks: Vec<TrustItem>,
    /// The files of the project that the agent program may use, as they are now.
    pub(super) agent_files: Vec<TrustItem>,
    /// What people should know.
    pub(super) notes: Vec<String>,
}

/// Lets only those layers take effect that somebody approved.
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
        UntrustedPolicy::Ask(_) if terminal::is_there() => {
            let changed = open.iter().all(|(_, standing)| *standing == TrustState::Changed);
            let opening = if changed {
                "You approved this, and it has changed since:"
            } else {
                "This project would run something that you have not approved:"
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
                    return Err(Failure::usage("not approved; nothing was started"));
                }
            }
        }
        UntrustedPolicy::Ask(flags) => return Err(refused(&list(&open, &store), flags)),
    };
    let agent_files = agent_files(project, &store, untrusted, &mut notes);
    Ok(ApprovedLayers { layers, hooks, agent_files, notes })
}

/// The same for settings alone: hooks and the agent's own files have no part in it.
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

/// Approves what a layer of the project says: the user has just chosen it.
pub(crate) fn approve_settings(project: &Path, layer: &ConfigLayer) -> Result<(), Failure> {
    ApprovalStore::open(project, env::var_os)?.approve(&trust::settings(project, layer))
}

/// Approves what a layer of the project says of one key.
pub(crate) fn approve_setting(
    project: &Path,
    layer: &ConfigLayer,
    key: &str,
) -> Result<(), Failure> {
    let mut items = trust::settings(project, layer);
    items.retain(|item| item.is_of(key));
    ApprovalStore::open(project, env::var_os)?.approve(&items)
}

/// Approves the values of these keys that are in effect: the user has just seen them and agreed. An
/// overridden value was not shown, and stays as it is.
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

/// Those that nobody has approved as they are.
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

/// Each with its place and what it says; of something that has changed, the difference. All of it is
/// safe to show: you have to see what is there before you approve it, and no more lines than there
/// are. Only secrets of the user's own are masked.
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

/// What has changed since it was approved.
fn difference(item: &TrustItem, store: &ApprovalStore) -> String {
    let Some(approval) = store.approvals().get(&item.location) else { return item.shown.clone() };
    let texts = approval.text.as_deref().zip(item.text.as_deref());
    let (old, new) = texts.unwrap_or((&approval.shown, &item.shown));
    match trust::diff(old, new) {
        same if same.is_empty() => {
            format!("{}\n(the difference is in a part that is not shown here)", item.shown)
        }
        difference => difference,
    }
}

fn indented(text: &str) -> Vec<String> {
    let safe = display_safe(text);
    let mut lines: Vec<_> = safe.lines().map(|line| format!("           {line}")).collect();
    if safe != text {
        lines.push("           (it has characters that are not shown here)".to_owned());
    }
    lines
}

fn refused(list: &str, flags: TrustFlags) -> Failure {
    let hint = match flags {
        TrustFlags::There => {
            "look at it and approve it: nightwright trust; for this run only: --yes; to leave it \
             out: --ignore-untrusted"
        }
        TrustFlags::Yes => "look at it and approve it: nightwright trust; for this run only: --yes",
        TrustFlags::NotThere => "look at it and approve it: nightwright trust",
    };
    Failure::usage(format!("this project would run something that you have not approved:\n{list}"))
        .hint(hint)
}

/// The layers without what is not approved.
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

/// The agent's own files are used only if they were approved, and never asked for: a run works
/// without them. One that we cannot read is never used, whoever approved of its being there.
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

/// The files of the project that the agent program may use, as they are now: those that were
/// approved, all of them or none.
pub(crate) fn approved_agent_files(project: &Path) -> Result<Vec<TrustItem>, Failure> {
    let store = ApprovalStore::open(project, env::var_os)?;
    let unheard = &mut Vec::new();
    Ok(agent_files(project, &store, UntrustedPolicy::Ask(TrustFlags::NotThere), unheard))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ApprovalAnswer {
    Yes,
    No,
    Ignore,
}

/// Asks until something is said that can be understood; the end of input is a no.
fn answer(question: &str) -> Result<ApprovalAnswer, Failure> {
    loop {
        // Nobody to ask when the terminal is gone; then the answer is the end of input.
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
