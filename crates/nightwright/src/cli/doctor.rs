//! `nightwright doctor`: whether a run can start here, and what to do if not.

mod agent;
mod finding;
mod probe;
mod project;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use nightwright_core::agent::dialect::Dialect;
use nightwright_core::settings::Settings;

use self::finding::{Finding, Report};
use super::session::{self, block_on, catch_signals, interrupted};
use super::{print, say, which};
use crate::agent::program::Freshness;
use crate::error::Failure;

/// What to look at.
#[derive(Clone, Debug, Args)]
pub(super) struct Options {
    /// The project folder [default: the project around the current folder]
    #[arg(short = 'C', long, value_name = "DIR")]
    project: Option<PathBuf>,

    /// Make one tiny call to the model as well, for a cent or so: it shows that the login works
    /// and that what the agent prints is understood
    #[arg(long)]
    probe: bool,

    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn doctor(options: &Options) -> Result<ExitCode, Failure> {
    let project = which::project(options.project.as_deref())?;
    block_on(async {
        let mut signals = catch_signals()?;
        let environment =
            session::environment(Dialect::Claude, &Settings::default(), &BTreeMap::new());
        let looking = async {
            let found = session::find_claude(environment.clone(), Freshness::Asked).await;
            let mut findings = vec![agent::found(&found)];
            findings.extend(agent::around(&environment));
            findings.push(project::git(&project, &environment).await);
            findings.extend(project::state(&project));
            (found, findings)
        };
        let (found, mut findings) = tokio::select! {
            all = looking => all,
            () = signals.next() => return Ok(interrupted()),
        };
        if options.probe {
            match found {
                Ok(found) => {
                    if !options.json {
                        say("Asking the agent for one word...");
                    }
                    let Some(finding) = probe::probe(&found, environment, &mut signals).await?
                    else {
                        return Ok(interrupted());
                    };
                    findings.push(finding);
                }
                Err(_) => findings.push(Finding::warning("probe", "there is no agent to be asked")),
            }
        }
        let report = Report { findings };
        print(report.show(options.json)?.trim_end())?;
        Ok(ExitCode::from(u8::from(!report.can_run())))
    })
}
