//! `nightwright doctor`: check whether a run can start here, and print what to do if not.

mod agent;
mod checks;
mod configured;
mod finding;
mod probe;
mod project;
mod sandbox;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use nightwright_core::root::{Root, RootSource};
use nightwright_core::settings::Settings;
use nightwright_core::stream::dialect::Dialect;

use self::configured::DoctorConfig;
use self::finding::{DoctorFinding, DoctorReport};
use super::cli::context::ProjectArgs;
use crate::agent::program::{FoundProgram, Freshness};
use crate::app::agent_program::{self, find_claude, refused_as_root};
use crate::app::async_command::{block_on, catch_signals, interrupted};
use crate::console::{eprint_safe, print};
use crate::error::Failure;

#[derive(Clone, Debug, Args)]
pub(super) struct DoctorArgs {
    #[command(flatten)]
    project: ProjectArgs,

    /// Also make one small call to the model (about $0.01) to test the login and the output of the
    /// agent
    #[arg(long)]
    probe: bool,

    /// Also run the checks of the project once, as a run would
    #[arg(long)]
    checks: bool,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn doctor(options: &DoctorArgs) -> Result<ExitCode, Failure> {
    let Root { path: project, found } = options.project.find_root()?;
    block_on(async {
        let mut signals = catch_signals()?;
        let (config_findings, configured) = configured::configured(&project);
        let (settings, variables) = match &configured {
            Some(DoctorConfig { settings, resolved, .. }) => {
                (settings.clone(), resolved.environment_of_agent())
            }
            None => (Settings::default(), BTreeMap::new()),
        };
        let environment = agent_program::environment(Dialect::Claude, &settings, &variables);
        let looking =
            look(options, &project, found, config_findings, configured.as_ref(), &environment);
        let (agent, mut findings) = tokio::select! {
            all = looking => all?,
            () = signals.next() => return Ok(interrupted()),
        };
        if options.probe {
            match agent {
                Some(found) => {
                    if !options.json {
                        eprint_safe("Asking the agent for one word...");
                    }
                    let Some(finding) = probe::probe(&found, environment, &mut signals).await?
                    else {
                        return Ok(interrupted());
                    };
                    findings.push(finding);
                }
                None => {
                    findings.push(DoctorFinding::warning("probe", "cannot probe: no agent found"));
                }
            }
        }
        let report = DoctorReport { findings };
        print(report.show(options.json)?.trim_end())?;
        Ok(ExitCode::from(u8::from(!report.can_run())))
    })
}

/// Checks everything except what asks the agent. Returns Claude Code, if it can be called, and the
/// findings.
async fn look(
    options: &DoctorArgs,
    project: &Path,
    root: RootSource,
    config_findings: Vec<DoctorFinding>,
    configured: Option<&DoctorConfig>,
    environment: &[(OsString, OsString)],
) -> Result<(Option<FoundProgram>, Vec<DoctorFinding>), Failure> {
    let settings = configured.map(|configured| configured.settings.clone()).unwrap_or_default();
    let (agent, mut findings) = look_at_agent(&settings, project, environment).await;
    findings.extend(agent::around(environment, settings.sandbox.kind));
    findings.extend(project::is_refused(project, root));
    findings.push(project::git(project, environment).await);
    let state = project::state(project);
    // A problem of the state folder is reported only once.
    findings.extend(config_findings.into_iter().filter(|finding| !finding.repeats(&state)));
    // Temporary folders are recorded in the state folder, so one problem is enough.
    let can_keep = state.iter().all(DoctorFinding::is_ok);
    findings.extend(state);
    findings.extend(project::in_use(project));
    if can_keep {
        findings.push(checks::temporary(project).await);
        if configured.is_some() {
            findings.push(sandbox::sandbox(project, &settings).await);
        }
    }
    match configured {
        Some(configured) if options.checks => {
            findings.extend(checks::run(project, configured).await?);
        }
        Some(configured) => findings.push(checks::listed(project, configured)),
        None => {}
    }
    Ok((agent, findings))
}

/// Checks the agent program that a run would start. Returns the findings, and Claude Code itself if
/// it can be called.
async fn look_at_agent(
    settings: &Settings,
    project: &Path,
    environment: &[(OsString, OsString)],
) -> (Option<FoundProgram>, Vec<DoctorFinding>) {
    if let Some(command) = &settings.agent.command {
        return (None, vec![agent::command(command, project)]);
    }
    let found = find_claude(environment.to_vec(), Freshness::Asked).await;
    let mut findings = vec![agent::found(&found)];
    if let Err(failure) = refused_as_root(settings, environment) {
        findings.push(configured::problem("permissions", &failure));
    }
    (found.ok(), findings)
}
