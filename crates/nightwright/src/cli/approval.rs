//! Before something of the project takes effect: what was approved, what is shown, what is asked.

use std::env;
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::Path;

use nightwright_core::display::{display_safe, one_line};

use super::say;
use crate::config::Layer;
use crate::error::Failure;
use crate::paste::from_here;
use crate::secrets;
use crate::trust::{self, Form, Item, Standing, Store};

/// So much of a place is shown: a file, and a key.
const PLACE: usize = 300;

/// What is done with what nobody has approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Untrusted {
    /// Asked for on a terminal, refused elsewhere.
    Ask(Flags),
    /// Taken for this once.
    Accept,
    /// Left out.
    Ignore,
}

/// Whether the command has options for what nobody has approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flags {
    /// `--trust` and `--ignore-untrusted`.
    There,
    /// Only `--trust`.
    Trust,
    /// None.
    NotThere,
}

/// The layers as they may take effect.
#[derive(Debug)]
pub(super) struct Settled {
    pub(super) layers: Vec<Layer>,
    /// The project's hooks that may be run, as they were approved.
    pub(super) hooks: Vec<Item>,
    /// The files of the project that the agent program may use, as they are now.
    pub(super) agent_files: Vec<Item>,
    /// What people should know.
    pub(super) notes: Vec<String>,
}

/// Lets only those layers take effect that somebody approved.
pub(super) fn settle(
    project: &Path,
    layers: Vec<Layer>,
    untrusted: Untrusted,
) -> Result<Settled, Failure> {
    let mut store = Store::open(project, env::var_os)?;
    let items = trust::items(project, &layers);
    let open = unapproved(&items, &store);
    let mut notes = Vec::new();
    let mut hooks: Vec<Item> = items.iter().filter(|item| item.is_hook()).cloned().collect();
    let approved = |item: &Item| !open.iter().any(|(open, _)| open.place == item.place);
    let layers = match untrusted {
        _ if open.is_empty() => layers,
        Untrusted::Accept => layers,
        Untrusted::Ignore => {
            notes.push(format!(
                "Not used, because you have not approved it:\n{}",
                list(&open, &store)
            ));
            hooks.retain(approved);
            without(project, layers, &open)
        }
        Untrusted::Ask(_) if can_ask() => {
            let changed = open.iter().all(|(_, standing)| *standing == Standing::Changed);
            let opening = if changed {
                "You approved this, and it has changed since:"
            } else {
                "This project would run something that you have not approved:"
            };
            say(&format!("{opening}\n{}", list(&open, &store)));
            match answer("Approve it? [y]es, [n]o, [i]gnore it this time: ")? {
                Answer::Yes => {
                    store.approve(open.iter().map(|(item, _)| *item))?;
                    layers
                }
                Answer::Ignore => {
                    hooks.retain(approved);
                    without(project, layers, &open)
                }
                Answer::No => return Err(Failure::usage("not approved; nothing was started")),
            }
        }
        Untrusted::Ask(flags) => return Err(refused(&list(&open, &store), flags)),
    };
    let agent_files = agent_files(project, &store, untrusted, &mut notes);
    Ok(Settled { layers, hooks, agent_files, notes })
}

/// The same for settings alone: hooks and the agent's own files have no part in it.
pub(super) fn settle_settings(
    project: &Path,
    layers: Vec<Layer>,
    untrusted: Untrusted,
) -> Result<Vec<Layer>, Failure> {
    let store = Store::open(project, env::var_os)?;
    let items: Vec<_> = layers.iter().flat_map(|layer| trust::settings(project, layer)).collect();
    let open = unapproved(&items, &store);
    match untrusted {
        _ if open.is_empty() => Ok(layers),
        Untrusted::Accept => Ok(layers),
        Untrusted::Ignore => Ok(without(project, layers, &open)),
        Untrusted::Ask(flags) => Err(refused(&list(&open, &store), flags)),
    }
}

/// Approves what a layer of the project says: the user has just chosen it.
pub(super) fn approve_settings(project: &Path, layer: &Layer) -> Result<(), Failure> {
    Store::open(project, env::var_os)?.approve(&trust::settings(project, layer))
}

/// Approves what a layer of the project says of one key.
pub(super) fn approve_setting(project: &Path, layer: &Layer, key: &str) -> Result<(), Failure> {
    let mut items = trust::settings(project, layer);
    items.retain(|item| item.is_of(key));
    Store::open(project, env::var_os)?.approve(&items)
}

/// Approves the values of these keys that are in effect: the user has just seen them and agreed. An
/// overridden value was not shown, and stays as it is.
pub(super) fn approve_shown(
    project: &Path,
    layers: &[Layer],
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
pub(super) fn unapproved<'a>(items: &'a [Item], store: &Store) -> Vec<(&'a Item, Standing)> {
    items
        .iter()
        .map(|item| (item, item.standing(store.approvals())))
        .filter(|(_, standing)| *standing != Standing::Approved)
        .collect()
}

/// Each with its place and what it says; of something that has changed, the difference. All of it is
/// safe to show: you have to see what is there before you approve it, and no more lines than there
/// are. Only secrets of the user's own are masked.
pub(super) fn list(items: &[(&Item, Standing)], store: &Store) -> String {
    let secrets = secrets::of_user();
    let mut lines = Vec::new();
    for (item, standing) in items {
        lines.push(format!("  {standing:<8} {}", one_line(&item.place, PLACE)));
        let text = match standing {
            Standing::Changed => difference(item, store),
            Standing::Approved | Standing::New => item.shown.clone(),
        };
        lines.extend(indented(&secrets.mask(&text)));
    }
    lines.join("\n")
}

/// What has changed since it was approved.
fn difference(item: &Item, store: &Store) -> String {
    let Some(approval) = store.approvals().get(&item.place) else { return item.shown.clone() };
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

fn refused(list: &str, flags: Flags) -> Failure {
    let hint = match flags {
        Flags::There => {
            "look at it and approve it: nightwright trust; for this run only: --trust; to leave it \
             out: --ignore-untrusted"
        }
        Flags::Trust => "look at it and approve it: nightwright trust; for this run only: --trust",
        Flags::NotThere => "look at it and approve it: nightwright trust",
    };
    Failure::usage(format!("this project would run something that you have not approved:\n{list}"))
        .hint(hint)
}

/// The layers without what is not approved.
fn without(project: &Path, layers: Vec<Layer>, open: &[(&Item, Standing)]) -> Vec<Layer> {
    let is_open = |layer: &Layer, key: &str| {
        let items = trust::settings(project, layer);
        items
            .iter()
            .any(|item| item.is_of(key) && open.iter().any(|(open, _)| open.place == item.place))
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
/// without them. One that we can't read is never used, whoever approved of its being there.
fn agent_files(
    project: &Path,
    store: &Store,
    untrusted: Untrusted,
    notes: &mut Vec<String>,
) -> Vec<Item> {
    let files = trust::agent_files(project);
    let open = unapproved(&files, store);
    let accepted = open.is_empty() || untrusted == Untrusted::Accept;
    let odd = files.iter().any(|file| file.form == Form::Odd);
    if accepted && !odd {
        return files;
    }
    let (named, advice): (Vec<_>, _) = if odd {
        let odd = files.iter().filter(|file| file.form == Form::Odd);
        (odd.map(|item| one_line(&item.shown, PLACE)).collect(), "".into())
    } else {
        let names = open.iter().map(|(item, _)| format!("`{}`", one_line(&item.place, PLACE)));
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
pub(super) fn approved_agent_files(project: &Path) -> Result<Vec<Item>, Failure> {
    let store = Store::open(project, env::var_os)?;
    let unheard = &mut Vec::new();
    Ok(agent_files(project, &store, Untrusted::Ask(Flags::NotThere), unheard))
}

pub(super) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks a question whose answer is no unless it is yes.
pub(super) fn agreed(question: &str) -> Result<bool, Failure> {
    // Nobody to ask when the terminal is gone; then the answer is the end of input.
    let _ = write!(io::stderr(), "{question}");
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    read.map_err(|error| Failure::trouble(format!("cannot read the answer: {error}")))?;
    Ok(matches!(line.trim().to_lowercase().as_str(), "y" | "yes"))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Yes,
    No,
    Ignore,
}

/// Asks until something is said that can be understood; the end of input is a no.
pub(super) fn answer(question: &str) -> Result<Answer, Failure> {
    loop {
        // Nobody to ask when the terminal is gone; then the answer is the end of input.
        let _ = write!(io::stderr(), "{question}");
        let mut line = String::new();
        let read = io::stdin().lock().read_line(&mut line);
        let read =
            read.map_err(|error| Failure::trouble(format!("can't read an answer: {error}")))?;
        match line.trim().to_lowercase().as_str() {
            "y" | "yes" => return Ok(Answer::Yes),
            "i" | "ignore" => return Ok(Answer::Ignore),
            "n" | "no" => return Ok(Answer::No),
            _ if read == 0 => return Ok(Answer::No),
            _ => {}
        }
    }
}
