//! Environment variables that nightwright reads or sets.

use std::ffi::OsString;

use super::keys::KEYS;
use super::kind::ValueKind;
use super::layer::ConfigLayer;
use super::origin::ValueOrigin;
use crate::error::Failure;

/// An environment variable that is not a configuration key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    pub name: &'static str,
    /// The program that reads it.
    pub used: VariableReader,
    /// A description for the reference.
    pub about: &'static str,
}

/// The programs that read a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariableReader {
    /// Read by nightwright itself.
    ByUs,
    /// Read by the agent program, the checks and their child processes.
    ByPrograms,
}

const fn read(name: &'static str, about: &'static str) -> Variable {
    Variable { name, used: VariableReader::ByUs, about }
}

const fn given(name: &'static str, about: &'static str) -> Variable {
    Variable { name, used: VariableReader::ByPrograms, about }
}

/// All variables that are read or set and are not configuration keys.
#[rustfmt::skip]
pub static VARIABLES: &[Variable] = &[
    read("NIGHTWRIGHT_STATE_DIR", "Folder for the state of all projects, an absolute path (default: `$XDG_STATE_HOME/nightwright`)."),
    read("XDG_STATE_HOME", "Folder for state (default: `~/.local/state`)."),
    read("XDG_CONFIG_HOME", "Folder of your configuration, `nightwright/config.toml` (default: `~/.config`)."),
    read("XDG_CACHE_HOME", "Cache folder, where nightwright keeps the version of the agent program (default: `~/.cache`)."),
    read("XDG_RUNTIME_DIR", "Folder of the session bus, for `systemd-inhibit` and `systemctl`."),
    read("TMPDIR", "Folder for temporary files (default: `/tmp`). If the path is longer than 29 \
          bytes, which is too long for Unix sockets, the agent, checks and hooks get a folder in \
          `/tmp`."),
    read("HOME", "Home folder, used for the defaults of the folders above."),
    read("PATH", "Folders to search for programs."),
    read("NO_COLOR", "Turns colors off, except with `--color always`."),
    read("CLICOLOR_FORCE", "Turns colors on without a terminal, unless it is `0`."),
    read("TERM", "`dumb`, or unset, turns colors and the panel off."),
    read("LC_ALL", "The first of `LC_ALL`, `LC_CTYPE` and `LANG` with a value decides whether \
          nightwright prints Unicode symbols."),
    read("NIGHTWRIGHT_COMPLETE", "Shell that requests completions, set by completion scripts."),
    read("TZ", "Time zone of displayed times."),
    read("IS_SANDBOX", "`1` lets the agent program run as root with `bypass`. A project cannot set \
          it."),
    read("HTTPS_PROXY", "Proxy for notifications. `ALL_PROXY` overrides it, and `HTTP_PROXY` is \
          the fallback. `NO_PROXY` lists hosts that need no proxy."),
    read("SSL_CERT_FILE", "CA certificates for HTTPS, together with `SSL_CERT_DIR` (default: those of the system)."),
    read("CLAUDE_CONFIG_DIR", "Folder in which `doctor` looks for the agent's login (default: `~/.claude`)."),
    given("NIGHTWRIGHT_RUN_ID", "ID of the run."),
    given("NIGHTWRIGHT_ITERATION", "Number of the iteration."),
    given("NIGHTWRIGHT_TASK", "Name of the task; empty if there is none."),
    given("NIGHTWRIGHT_ATTEMPT", "Number of the attempt, for the agent and its child processes."),
    given("NIGHTWRIGHT_CALL", "Number of the call; set in calls instead of `NIGHTWRIGHT_ATTEMPT`."),
    given("NIGHTWRIGHT_PURPOSE", "Purpose of the call: `verify`, `review`, `advise` or `council`."),
    given("NIGHTWRIGHT_TURN", "Number of the call within its purpose."),
    given("NIGHTWRIGHT_MARK", "Marker that nightwright uses to find and kill the processes of an \
           attempt, call or check."),
    given("NIGHTWRIGHT_HOOK", "Name of the hook, for hooks. See [hooks.md](../hooks.md)."),
    given("NIGHTWRIGHT_MODE", "Mode of the run, for hooks."),
    given("NIGHTWRIGHT_MAX_ITERATIONS", "Limit of iterations, for hooks; empty if there is none."),
    given("NIGHTWRIGHT_PROJECT_DIR", "Project folder, for hooks."),
    given("NIGHTWRIGHT_LOG_FILE", "Path of the log of the run, for hooks."),
    given("NIGHTWRIGHT_PLAN_FILE", "Path of the checklist, for hooks; empty if the mode has none."),
    given("NIGHTWRIGHT_DRY_RUN", "`1` in a rehearsal, for hooks."),
    given("NIGHTWRIGHT_LAST_EXIT_CODE", "Exit code of the agent's last process, for hooks."),
    given("NIGHTWRIGHT_LAST_DURATION", "Duration of the last iteration in seconds, for hooks."),
    given("NIGHTWRIGHT_COMMITS_MADE", "Commits of the last iteration, for hooks."),
    given("NIGHTWRIGHT_TOTAL_COMMITS", "Commits of the run, for hooks."),
    given("NIGHTWRIGHT_TOTAL_ITERATIONS", "Iterations of the run, for hooks."),
    given("NIGHTWRIGHT_TOTAL_COST", "Cost of the run so far in US dollars, for hooks."),
    given("NIGHTWRIGHT_FAILING_CHECKS", "Number of checks that failed in their last run, for hooks; empty if unknown."),
    given(
        "NIGHTWRIGHT_FAILING_TESTS",
        "Number of tests that failed in the last run of the checks, for hooks; empty if unknown.",
    ),
    given("NIGHTWRIGHT_LAST_COMMIT_SHA", "Commit after the last iteration, or at the start of the run, for hooks."),
    given("NIGHTWRIGHT_STARTED_AT", "Start time of the run, for hooks."),
    given("NIGHTWRIGHT_FINISH_TYPE", "Outcome of the run, for the hook `finished`."),
    given(
        "NIGHTWRIGHT_PROOF",
        "Proof of a completed run, for the hook `finished`: `checks`, `model` or `none`.",
    ),
    given("NIGHTWRIGHT_FINISH_CLASS", "Class of the outcome, for the hook `finished`."),
    given("NIGHTWRIGHT_REHEARSAL_SCRIPT", "Script of the rehearsal agent."),
    given("NIGHTWRIGHT_REHEARSAL_LOG", "Log of the requests to the rehearsal agent."),
    given("NIGHTWRIGHT_REHEARSAL_IGNORES_SIGNALS", "Set if a process of the rehearsal agent ignores signals."),
];

/// Reads the layer of the environment. Variables without a key are ignored; an empty variable
/// counts as unset.
pub fn environment(get: impl Fn(&str) -> Option<OsString>) -> Result<ConfigLayer, Failure> {
    let mut layer = ConfigLayer::empty(ValueOrigin::Environment(""));
    for key in KEYS {
        let Some(given) = get(key.env).filter(|given| !given.is_empty()) else { continue };
        let wrong = |shown: &str, allowed: &str| {
            let (name, key) = (key.env, key.name);
            Failure::usage(format!("{name} is `{shown}`, but must be {allowed}")).hint(format!(
                "for an explanation of `{key}`, run `env -u {name} nightwright config explain {key}`"
            ))
        };
        let Some(text) = given.to_str() else {
            let shown = given.to_string_lossy();
            let shown = if key.kind == ValueKind::Variables { "..." } else { &*shown };
            return Err(wrong(shown, "UTF-8"));
        };
        let pieces: Vec<&str> = match key.kind {
            ValueKind::List(_)
            | ValueKind::Checks
            | ValueKind::WordOrList(..)
            | ValueKind::Ports
            | ValueKind::Variables => lines(text),
            ValueKind::Count { .. }
            | ValueKind::Money
            | ValueKind::Tokens
            | ValueKind::Size
            | ValueKind::Duration { .. }
            | ValueKind::DurationOrOff { .. }
            | ValueKind::Percent { .. }
            | ValueKind::Text
            | ValueKind::TextOrNothing
            | ValueKind::File
            | ValueKind::Name
            | ValueKind::Choice(_)
            | ValueKind::Bool
            | ValueKind::Url
            | ValueKind::Secret
            | ValueKind::Tables { .. } => vec![text],
        };
        match key.kind.parse(&pieces) {
            Ok(value) => layer.set(key.name, value),
            Err(allowed) if key.kind.is_secret() => return Err(wrong("...", &allowed)),
            Err(allowed) => return Err(wrong(text, &allowed)),
        }
    }
    Ok(layer)
}

/// Splits a list: one item per line, or an array as in a file.
fn lines(text: &str) -> Vec<&str> {
    let trimmed = text.trim_start();
    if trimmed.starts_with(['[', '{']) && text.trim_end().ends_with([']', '}']) {
        return vec![text];
    }
    text.lines().filter(|line| !line.trim().is_empty()).collect()
}
