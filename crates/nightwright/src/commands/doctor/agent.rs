//! Checks the agent program and its environment.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use nightwright_core::settings::SandboxKind;
use nightwright_core::stream::dialect::claude;
use nightwright_core::stream::version::VersionSupport;

use super::configured;
use super::finding::{DoctorFinding, Grade};
use crate::agent::program::{FoundProgram, ProgramError, locate};
use crate::app::agent_program::AgentCommandLine;
use crate::error::Failure;
use crate::process::{Containment, ContainmentLevel};

/// Variables that identify the agent's account.
const ACCOUNT: [&str; 6] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_FOUNDRY",
    "CLAUDE_CODE_USE_VERTEX",
];

/// Variables that a session of the agent sets for its child processes.
const OUTER_SESSION: [&str; 5] = [
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_PID",
];

/// Reports whether a usable program exists.
pub(super) fn found(found: &Result<FoundProgram, ProgramError>) -> DoctorFinding {
    let covered = claude::COVERED;
    let (oldest, newest) = (covered.oldest.to_string(), covered.newest.to_string());
    let finding = match found {
        Ok(FoundProgram { path, version, support }) => {
            let what = format!("claude {version}, `{}`", path.display());
            let finding = match support {
                VersionSupport::Newer => DoctorFinding::warning(
                    "agent",
                    format!("{what}: newer than {newest}, the newest tested version"),
                )
                .hint("run `nightwright doctor --probe` to test it for about $0.01"),
                VersionSupport::TooOld | VersionSupport::Covered => {
                    DoctorFinding::ok("agent", format!("{what} (tested: {oldest} to {newest})"))
                }
            };
            finding.fact("path", path.display().to_string()).fact("version", version.to_string())
        }
        Err(trouble) => DoctorFinding::problem("agent", trouble.to_string()).hint(trouble.hint()),
    };
    finding.fact("oldest_tested", oldest).fact("newest_tested", newest)
}

/// Reports whether the user's own agent program exists.
pub(super) fn command(text: &str, project: &Path) -> DoctorFinding {
    let located = AgentCommandLine::parse(text, project).and_then(|command| {
        locate(command.program(), env::var_os("PATH").as_deref()).map_err(Failure::from)
    });
    match located {
        Ok(path) => DoctorFinding::ok("agent", format!("`{}` (agent.command)", path.display()))
            .fact("path", path.display().to_string()),
        Err(failure) => configured::problem("agent", &failure),
    }
}

/// Reports on the environment of the agent.
pub(super) fn around(
    environment: &[(OsString, OsString)],
    sandbox: SandboxKind,
) -> Vec<DoctorFinding> {
    let mut findings = vec![login()];
    findings.extend(user(sandbox));
    findings.extend(outer_session());
    findings.push(dropped(environment));
    findings.push(containment());
    findings
}

/// Reports the evidence of a login, by name. Only a call can tell whether it is valid.
fn login() -> DoctorFinding {
    let mut signs: Vec<String> = ACCOUNT.into_iter().filter(is_set).map(str::to_owned).collect();
    if let Some(file) = credentials().filter(|file| fs::metadata(file).is_ok_and(|f| f.len() > 0)) {
        signs.push(format!("`{}`", file.display()));
    }
    let finding = match signs.as_slice() {
        [] => DoctorFinding::warning("login", "no login found")
            .hint("run `claude` and log in, or set ANTHROPIC_API_KEY"),
        [one] => DoctorFinding::ok("login", format!("found {one} (not tested)")),
        several => {
            let all = several.join(", ");
            DoctorFinding::ok("login", format!("found {all} (not tested)"))
        }
    };
    finding.fact("signs", signs)
}

/// Returns the file in which the program stores a login.
fn credentials() -> Option<PathBuf> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = set("CLAUDE_CONFIG_DIR").or_else(|| Some(set("HOME")?.join(".claude")));
    Some(folder?.join(".credentials.json"))
}

fn is_set(name: &&str) -> bool {
    env::var_os(name).is_some_and(|value| !value.is_empty())
}

/// Returns a warning if the user is root, and no sandbox holds the agent.
fn user(sandbox: SandboxKind) -> Option<DoctorFinding> {
    if !rustix::process::getuid().is_root() || sandbox.is_on() {
        return None;
    }
    let sandboxed = env::var_os("IS_SANDBOX").is_some_and(|value| value == "1");
    let refuses =
        if sandboxed { "" } else { ", and Claude Code refuses --dangerously-skip-permissions" };
    let text = format!("running as root: the agent can change anything on this machine{refuses}");
    Some(DoctorFinding::warning("user", text).hint("run nightwright as another user"))
}

/// Returns a warning if an agent started this process.
fn outer_session() -> Option<DoctorFinding> {
    let there: Vec<String> = OUTER_SESSION.into_iter().filter(is_set).map(str::to_owned).collect();
    (!there.is_empty()).then(|| {
        DoctorFinding::ok(
            "session",
            "running inside an agent session; nightwright does not pass on these variables:",
        )
        .names("variables", there)
    })
}

/// Reports the names, never the values, of variables that the programs of a run do not get.
fn dropped(environment: &[(OsString, OsString)]) -> DoctorFinding {
    let passed = |name: &OsString| environment.iter().any(|(known, _)| known == name);
    let names: Vec<String> = env::vars_os()
        .filter(|(name, _)| !passed(name))
        .map(|(name, _)| name.to_string_lossy().into_owned())
        .collect();
    let text = match names.len() {
        0 => "the agent gets all variables".to_owned(),
        1 => "the agent does not get 1 variable:".to_owned(),
        count => format!("the agent does not get {count} variables:"),
    };
    DoctorFinding::ok("environment", text).names("dropped", names)
}

/// Reports how the processes of an attempt are contained.
fn containment() -> DoctorFinding {
    let level = Containment::choose(None).level();
    let grade = match level {
        ContainmentLevel::GuardAndGroup | ContainmentLevel::Guard => Grade::Ok,
        ContainmentLevel::ProcessGroup => Grade::Warning,
    };
    let text = format!("{}: {}", level.name(), level.sentence());
    DoctorFinding::new(grade, "containment", text).fact("level", level.name())
}
