//! Checks the configuration of a run: whether it is valid and approved, and allows the run to
//! start.

use std::env;
use std::path::Path;

use nightwright_core::permissions::{self, Permissions};
use nightwright_core::settings::Settings;

use super::finding::DoctorFinding;
use crate::app::approval::{self, UntrustedPolicy};
use crate::app::run_spec::{self, RequestPurpose, ResolvedRequest, RunRequest};
use crate::config::log_settings::LogSettings;
use crate::config::{self, ConfigLayer, ResolvedConfig};
use crate::error::Failure;
use crate::output::notify::Address;
use crate::secrets;
use crate::trust::{self, ApprovalStore};

/// The configuration that a run would use.
pub(super) struct DoctorConfig {
    pub(super) settings: Settings,
    pub(super) resolved: ResolvedConfig,
    /// The settings after `nightwright trust`, if something is not approved. They are only shown.
    pub(super) after_trust: Option<Box<Settings>>,
}

/// The addition to a finding about settings that are not approved.
pub(super) const AFTER_TRUST: &str = " (once approved)";

/// Returns the configuration of a run in this project, if it is valid, with all findings.
pub(super) fn configured(project: &Path) -> (Vec<DoctorFinding>, Option<DoctorConfig>) {
    // Unapproved settings are a separate finding.
    match put_together(project, UntrustedPolicy::Ignore) {
        Ok(mut configured) => {
            let mut findings = vec![DoctorFinding::ok("config", "the configuration is valid")];
            let unapproved =
                unapproved(project).unwrap_or_else(|failure| Some(problem("trust", &failure)));
            if unapproved.is_some() {
                let after = put_together(project, UntrustedPolicy::Accept);
                configured.after_trust = after.ok().map(|after| Box::new(after.settings));
            }
            findings.extend(unapproved);
            findings.push(match &configured.after_trust {
                Some(after) if after.agent != configured.settings.agent => {
                    permissions(after, AFTER_TRUST)
                }
                Some(_) | None => permissions(&configured.settings, ""),
            });
            (findings, Some(configured))
        }
        Err(failure) => (vec![problem("config", &failure)], None),
    }
}

/// Reads everything that a run reads before it starts, whatever its task.
fn put_together(project: &Path, untrusted: UntrustedPolicy) -> Result<DoctorConfig, Failure> {
    let asked = RunRequest {
        project: project.to_owned(),
        task: None,
        goal: Some("look around".to_owned()),
        mode: None,
        flags: ConfigLayer::flags(),
        unlimited: false,
        // A request that is only shown needs no limit.
        purpose: RequestPurpose::Run,
        appended: None,
        principles: None,
        untrusted,
    };
    let ResolvedRequest { settings, resolved, .. } = run_spec::resolve_run(&asked)?;
    secrets::of_config(&resolved)?;
    LogSettings::of(&resolved)?;
    Address::all(&resolved, |name| env::var_os(name))?;
    Ok(DoctorConfig { settings, resolved, after_trust: None })
}

/// Reports unapproved settings, which prevent a run from starting.
fn unapproved(project: &Path) -> Result<Option<DoctorFinding>, Failure> {
    let layers = config::load(project, None, |name| env::var_os(name))?;
    let store = ApprovalStore::open(project, env::var_os)?;
    let items = trust::items(project, &layers);
    let places: Vec<String> = approval::unapproved(&items, &store)
        .into_iter()
        .map(|(item, _)| item.location.clone())
        .collect();
    if places.is_empty() {
        return Ok(None);
    }
    let text = "this project has settings or hooks that you have not approved:";
    Ok(Some(
        DoctorFinding::problem("trust", text)
            .names("unapproved", places)
            .hint("review and approve it with `nightwright trust`"),
    ))
}

/// Reports what the agent may do, and when that applies.
fn permissions(settings: &Settings, when: &str) -> DoctorFinding {
    let agent = &settings.agent;
    if agent.command.is_some() {
        let text = format!("decided by the program in `agent.command`{when}");
        return DoctorFinding::ok("permissions", text);
    }
    let level = agent.permissions.name();
    let text = match agent.permissions {
        Permissions::Bypass => {
            format!("{level}{when}: the agent may do everything without asking")
        }
        Permissions::None | Permissions::Edits | Permissions::Usual => {
            format!("{level}{when}: {}", permissions::describe(settings))
        }
    };
    DoctorFinding::ok("permissions", text)
        .fact("level", level)
        .fact("allowed_tools", agent.allowed_tools.clone())
        .fact("disallowed_tools", agent.disallowed_tools.clone())
}

/// Converts a failure that would prevent a run from starting.
pub(super) fn problem(topic: &'static str, failure: &Failure) -> DoctorFinding {
    let finding = DoctorFinding::problem(topic, failure.message.clone());
    match &failure.hint {
        Some(hint) => finding.hint(hint.clone()),
        None => finding,
    }
}
