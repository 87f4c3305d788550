//! Examines the checks of a run and their requirements: environment, temporary folder, programs.

use std::collections::BTreeMap;
use std::env;
use std::path::Path;
use std::time::Duration;

use nightwright_core::baseline;
use nightwright_core::display::one_line;
use nightwright_core::input::{CheckResult, CheckVerdict};
use nightwright_core::policy::gains::Reruns;
use nightwright_core::settings::Verify;
use nightwright_core::stream::dialect::Dialect;
use nightwright_core::units::human;

use super::configured::{AFTER_TRUST, DoctorConfig, problem};
use super::finding::DoctorFinding;
use crate::agent::environment::{CheckEnvironment, for_checks, set_temp};
use crate::app::locked_run::temp_folder;
use crate::commands::sandbox::OpenSandbox;
use crate::error::Failure;
use crate::process::{CommandEnd, Containment, StopHandle, run_to_end, shell};
use crate::runtime::effects::check_runner::{CheckRunner, cannot_start};
use crate::secrets;
use crate::store::temp_folder::{self, TempFolder};

/// A command that uses its temporary folder as a check might.
const USES_TEMP: &str = "file=$(mktemp) && echo x > \"$file\" && rm \"$file\"";
/// The timeout of `USES_TEMP`.
const TEMP_TIME: Duration = Duration::from_secs(10);
/// Maximum bytes of its output that are kept.
const TEMP_OUTPUT: usize = 4 << 10;
/// The name of its temporary folder.
const TEMP_NAME: &str = "doctor";
/// Maximum characters of a check's output that are shown.
const MAX_OUTPUT_CHARS: usize = 200;
/// The exit code of a shell that does not find a program.
const NO_PROGRAM: i32 = 127;

/// Tests whether a check can use its temporary folder, under the conditions of a run.
pub(super) async fn temporary(project: &Path) -> DoctorFinding {
    match try_temporary(project).await {
        Ok(finding) => finding,
        Err(failure) => problem("temp", &failure),
    }
}

async fn try_temporary(project: &Path) -> Result<DoctorFinding, Failure> {
    let temp = temp_folder(Some(project))?;
    let room = temp.room(TEMP_NAME).map_err(|error| {
        let path = temp.path().display();
        Failure::trouble(format!("cannot create a folder in `{path}`: {error}"))
    })?;
    let CheckEnvironment { mut all, .. } =
        for_checks(env::vars_os(), &BTreeMap::new(), &[], project);
    set_temp(&mut all, Dialect::Command, &room);
    let launch = shell(USES_TEMP, all, &room, &Containment::choose(None));
    let finished = run_to_end(&launch, TEMP_TIME, TEMP_OUTPUT, &StopHandle::default()).await;
    let folder = temp.path().parent().unwrap_or(temp.path());
    let finding = match finished.ended {
        CommandEnd::Exited(exit) if exit.is_success() => match instead(&temp, project) {
            Some(why) => DoctorFinding::warning(
                "temp",
                format!(
                    "checks and agent use `{}` instead of your TMPDIR: {why}",
                    folder.display()
                ),
            ),
            None => DoctorFinding::ok("temp", format!("`mktemp` works in `{}`", folder.display())),
        },
        CommandEnd::Exited(exit) if exit.code() == Some(NO_PROGRAM) => {
            let text = format!("cannot test `{}`: `mktemp` is not installed", folder.display());
            DoctorFinding::warning("temp", text)
        }
        CommandEnd::Exited(_) | CommandEnd::TimedOut | CommandEnd::Stopped => {
            let output = one_line(finished.output.trim(), MAX_OUTPUT_CHARS);
            DoctorFinding::problem(
                "temp",
                format!("`mktemp` fails in `{}`: {output}", folder.display()),
            )
            .hint("set TMPDIR to a folder that you can write to")
        }
        CommandEnd::NotStarted { why } => DoctorFinding::problem("temp", why),
    };
    Ok(finding.fact("folder", folder.display().to_string()))
}

/// Returns why the temporary folder is not in `TMPDIR`, if so.
fn instead(temp: &TempFolder, project: &Path) -> Option<&'static str> {
    let places = temp_folder::places(env::var_os("TMPDIR"), Some(project));
    let used = temp.path().parent()?;
    places.into_iter().find(|place| place.folder == used)?.instead
}

/// Reports the configured checks.
pub(super) fn listed(project: &Path, configured: &DoctorConfig) -> DoctorFinding {
    let verify = &configured.settings.verify;
    let variables = configured.resolved.environment_of_agent();
    let CheckEnvironment { all, .. } =
        for_checks(env::vars_os(), &variables, &verify.pass_environment, project);
    let cannot = |command: &String| {
        let why = cannot_start(command, project, &all)?;
        Some(format!("`{command}` cannot run: {why}"))
    };
    // Without a baseline, a run starts anyway.
    let refused = verify.baseline.and_then(|_| verify.commands.iter().find_map(cannot));
    if let Some(why) = refused {
        return DoctorFinding::problem("checks", why)
            .hint("install the program that it names, or change verify.commands")
            .fact("commands", verify.commands.clone());
    }
    let after_trust = configured.after_trust.as_ref().map(|after| &after.verify.commands);
    if let Some(commands) = after_trust.filter(|commands| **commands != verify.commands) {
        return DoctorFinding::ok("checks", format!("{}{AFTER_TRUST}", quoted(commands)))
            .fact("commands", commands.clone());
    }
    match verify.commands.as_slice() {
        [] => {
            DoctorFinding::warning("checks", "none: only a model judges whether the work is done")
                .hint("run `nightwright init` to find the test command of this project")
        }
        commands => {
            let text = format!("{} (add --checks to run them once)", quoted(commands));
            DoctorFinding::ok("checks", text).fact("commands", commands.to_vec())
        }
    }
}

fn quoted(commands: &[String]) -> String {
    let commands: Vec<_> = commands.iter().map(|command| format!("`{command}`")).collect();
    commands.join(", ")
}

/// Runs each check once, contained and in the environment of a run.
pub(super) async fn run(
    project: &Path,
    configured: &DoctorConfig,
) -> Result<Vec<DoctorFinding>, Failure> {
    let verify = &configured.settings.verify;
    if verify.commands.is_empty() {
        return Ok(vec![listed(project, configured)]);
    }
    let variables = configured.resolved.environment_of_agent();
    let CheckEnvironment { all, withheld } =
        for_checks(env::vars_os(), &variables, &verify.pass_environment, project);
    let folder = tempfile::tempdir()
        .map_err(|error| Failure::trouble(format!("cannot create a temporary folder: {error}")))?;
    let temp = temp_folder(Some(project))?;
    // As in a run, the checks run in the sandbox that the settings name.
    let is_on = configured.settings.sandbox.kind.is_on();
    let open = match is_on.then(|| OpenSandbox::open(project)).transpose() {
        Ok(open) => open,
        Err(failure) => return Ok(vec![problem("checks", &failure)]),
    };
    let mut findings = Vec::new();
    for command in &verify.commands {
        let checks = CheckRunner {
            verify: Verify { commands: vec![command.clone()], ..verify.clone() },
            project: project.to_owned(),
            environment: all.clone(),
            containment: Containment::choose(None),
            sandbox: open.as_ref().map(OpenSandbox::sandbox),
            folder: folder.path().to_owned(),
            temp: temp.handle(),
            secrets: secrets::of_config(&configured.resolved)?,
            iteration: 0,
            before: Vec::new(),
            reruns: Reruns::default(),
        };
        let results = match checks.cannot_run(command) {
            Some(why) => {
                vec![CheckResult::without_run(command, CheckVerdict::NotStarted { why })]
            }
            None => checks.run(&StopHandle::default()).await,
        };
        findings.extend(results.iter().map(|result| found(result, &withheld)));
    }
    Ok(findings)
}

/// Reports the result of one check. A failing check does not prevent a run from starting, but one
/// that cannot run does.
fn found(result: &CheckResult, withheld: &[String]) -> DoctorFinding {
    let CheckResult { command, verdict, output, duration, .. } = result;
    let took = human(*duration);
    let last = output.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default();
    let last = one_line(last, MAX_OUTPUT_CHARS);
    let detail = if last.is_empty() { String::new() } else { format!(": {last}") };
    let finding = match verdict {
        CheckVerdict::Passed | CheckVerdict::Flaky => {
            DoctorFinding::ok("checks", format!("`{command}` passed ({took})"))
        }
        CheckVerdict::Failed { .. } => match baseline::cannot_run(result, withheld) {
            Some(why) => DoctorFinding::problem("checks", why),
            None => {
                DoctorFinding::warning("checks", format!("`{command}` failed ({took}){detail}"))
            }
        },
        CheckVerdict::TimedOut => DoctorFinding::warning(
            "checks",
            format!("`{command}` timed out after {took} (verify.timeout)"),
        ),
        CheckVerdict::NotStarted { why } => {
            DoctorFinding::problem("checks", format!("`{command}` cannot run: {why}"))
                .hint("install the program that it names, or change verify.commands")
        }
        CheckVerdict::Interrupted => {
            DoctorFinding::warning("checks", format!("`{command}` stopped early"))
        }
    };
    finding.fact("command", command.clone())
}
