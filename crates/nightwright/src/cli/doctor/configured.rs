//! What a run would be told here: whether its configuration can be used, was approved, and allows it
//! to start.

use std::env;
use std::path::Path;

use nightwright_core::permissions::{self, Permissions};
use nightwright_core::settings::Settings;

use super::finding::Finding;
use crate::cli::approval::{self, Untrusted};
use crate::cli::told::{self, Asked, Purpose, Told};
use crate::config::{self, Layer, Resolved};
use crate::error::Failure;
use crate::logs::Logs;
use crate::notify::Address;
use crate::secrets;
use crate::trust::{self, Store};

/// What a run would be told.
pub(super) struct Configured {
    pub(super) settings: Settings,
    pub(super) resolved: Resolved,
}

/// What holds for a run in this project, if that can be found out.
pub(super) fn configured(project: &Path) -> (Vec<Finding>, Option<Configured>) {
    match put_together(project) {
        Ok(configured) => {
            let mut findings = vec![Finding::ok("config", "the configuration can be used")];
            findings.extend(
                unapproved(project).unwrap_or_else(|failure| Some(problem("trust", &failure))),
            );
            findings.push(permissions(&configured.settings));
            (findings, Some(configured))
        }
        Err(failure) => (vec![problem("config", &failure)], None),
    }
}

/// Everything that a run reads before it starts, whatever it works on.
fn put_together(project: &Path) -> Result<Configured, Failure> {
    let asked = Asked {
        project: project.to_owned(),
        task: None,
        goal: Some("look around".to_owned()),
        mode: None,
        flags: Layer::flags(),
        unlimited: false,
        purpose: Purpose::Look,
        appended: None,
        principles: None,
        // What is not approved is a finding of its own.
        untrusted: Untrusted::Ignore,
    };
    let Told { settings, resolved, .. } = told::told(&asked)?;
    secrets::of_config(&resolved)?;
    Logs::of(&resolved)?;
    Address::all(&resolved, |name| env::var_os(name))?;
    Ok(Configured { settings, resolved })
}

/// What keeps a run from starting until somebody has approved it.
fn unapproved(project: &Path) -> Result<Option<Finding>, Failure> {
    let layers = config::load(project, None, |name| env::var_os(name))?;
    let store = Store::open(project, env::var_os)?;
    let items = trust::items(project, &layers);
    let places: Vec<String> = approval::unapproved(&items, &store)
        .into_iter()
        .map(|(item, _)| item.place.clone())
        .collect();
    if places.is_empty() {
        return Ok(None);
    }
    let text = "this project would run something that you have not approved:";
    Ok(Some(
        Finding::problem("trust", text)
            .names("unapproved", places)
            .hint("look at it and approve it: nightwright trust"),
    ))
}

/// What the agent may do.
fn permissions(settings: &Settings) -> Finding {
    let agent = &settings.agent;
    if agent.command.is_some() {
        return Finding::ok("permissions", "up to the program of agent.command");
    }
    let level = agent.permissions.name();
    let text = match agent.permissions {
        Permissions::Bypass => format!("{level}: the agent may do everything without asking"),
        Permissions::None | Permissions::Edits | Permissions::Usual => {
            format!("{level}: {}", permissions::describe(settings))
        }
    };
    Finding::ok("permissions", text)
        .fact("level", level)
        .fact("allowed_tools", agent.allowed_tools.clone())
        .fact("disallowed_tools", agent.disallowed_tools.clone())
}

/// A failure of the same kind would keep a run from starting.
pub(super) fn problem(topic: &'static str, failure: &Failure) -> Finding {
    let finding = Finding::problem(topic, failure.message.clone());
    match &failure.hint {
        Some(hint) => finding.hint(hint.clone()),
        None => finding,
    }
}
