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
    read("NIGHTWRIGHT_STATE_DIR", "Where the state of all projects is kept, an absolute path; otherwise `$XDG_STATE_HOME/nightwright`."),
    read("XDG_STATE_HOME", "The folder of state; otherwise `~/.local/state`."),
    read("XDG_CONFIG_HOME", "The user's configuration is `nightwright/config.toml` in it, an absolute path; otherwise in `~/.config`."),
    read("XDG_CACHE_HOME", "What is known of the agent program is kept in it; otherwise in `~/.cache`."),
    read("XDG_RUNTIME_DIR", "Folder for the control socket of a run (default: the folder for temporary files)."),
    read("TMPDIR", "The folder for temporary files; otherwise `/tmp`. A path of more than 29 bytes is too long for unix sockets: agent, checks and hooks then get a folder in `/tmp`."),
    read("HOME", "Your folder, where the others are not set."),
    read("PATH", "Where programs are looked for."),
    read("NO_COLOR", "No colour, unless `--color always` asks for it."),
    read("CLICOLOR_FORCE", "Colour even where there is no terminal, unless it is `0`."),
    read("TERM", "`dumb`, or nothing at all, means no colour and no panel."),
    read("LC_ALL", "With `LC_CTYPE` and `LANG`, the first that is set: whether symbols can be shown."),
    read("NIGHTWRIGHT_COMPLETE", "Set by completion scripts: the shell that asks for completions."),
    read("TZ", "The time zone in which times are shown."),
    read("IS_SANDBOX", "`1` lets the agent program work as root without asking; it is yours to set."),
    read("HTTPS_PROXY", "The proxy for notifications, unless `ALL_PROXY` names another; otherwise `HTTP_PROXY`. `NO_PROXY` names hosts that are reached without one."),
    read("SSL_CERT_FILE", "The certificates that https is checked by, with `SSL_CERT_DIR`; otherwise those of the system."),
    read("CLAUDE_CONFIG_DIR", "Where `doctor` looks for the login of the agent program; otherwise `~/.claude`."),
    given("NIGHTWRIGHT_RUN_ID", "The run."),
    given("NIGHTWRIGHT_ITERATION", "The number of the iteration."),
    given("NIGHTWRIGHT_TASK", "The name of the task; empty if there is none."),
    given("NIGHTWRIGHT_ATTEMPT", "The number of the attempt, for the agent at work."),
    given("NIGHTWRIGHT_CALL", "The number of the call, for an agent that is asked something."),
    given("NIGHTWRIGHT_PURPOSE", "What the call is for."),
    given("NIGHTWRIGHT_TURN", "Which call of its purpose it is."),
    given("NIGHTWRIGHT_MARK", "Marks everything that a run starts, so that nothing of it is left behind."),
    given("NIGHTWRIGHT_HOOK", "Which hook it is, for hooks. [hooks.md](../hooks.md) says more about what these get."),
    given("NIGHTWRIGHT_PROJECT_DIR", "The project folder, for hooks."),
    given("NIGHTWRIGHT_LOG_FILE", "The log of the run, for hooks."),
    given("NIGHTWRIGHT_PLAN_FILE", "The plan or list that is worked off, for hooks; empty if there is none."),
    given("NIGHTWRIGHT_DRY_RUN", "`1` in a rehearsal, for hooks."),
    given("NIGHTWRIGHT_LAST_EXIT_CODE", "How the agent's last process ended, for hooks."),
    given("NIGHTWRIGHT_LAST_DURATION", "How long the last iteration took, in seconds, for hooks."),
    given("NIGHTWRIGHT_COMMITS_MADE", "Commits of the last iteration, for hooks."),
    given("NIGHTWRIGHT_TOTAL_COMMITS", "Commits of the run, for hooks."),
    given("NIGHTWRIGHT_TOTAL_ITERATIONS", "Iterations of the run, for hooks."),
    given("NIGHTWRIGHT_TOTAL_COST", "What the run cost so far, in US dollars, for hooks."),
    given("NIGHTWRIGHT_LAST_COMMIT_SHA", "The commit that is checked out, for hooks."),
    given("NIGHTWRIGHT_STARTED_AT", "When the run began, for hooks."),
    given("NIGHTWRIGHT_FINISH_TYPE", "The name of the outcome, for the hook `finished`."),
    given(
        "NIGHTWRIGHT_PROOF",
        "What a completed run rests on, for the hook `finished`: `checks`, `model` or `none`.",
    ),
    given("NIGHTWRIGHT_FINISH_CLASS", "The kind of outcome, for the hook `finished`."),
    given("NIGHTWRIGHT_REHEARSAL_SCRIPT", "The script of the rehearsal agent."),
    given("NIGHTWRIGHT_REHEARSAL_LOG", "Where the rehearsal agent notes what it was asked."),
    given("NIGHTWRIGHT_REHEARSAL_DEAF", "Whether a process of the rehearsal agent ignores signals."),
];

/// Reads the layer of the environment. Variables without a key are ignored; an empty variable
/// counts as unset.
pub fn environment(get: impl Fn(&str) -> Option<OsString>) -> Result<ConfigLayer, Failure> {
    let mut layer = ConfigLayer::empty(ValueOrigin::Environment(""));
    for key in KEYS {
        let Some(given) = get(key.env).filter(|given| !given.is_empty()) else { continue };
        let wrong = |shown: &str, allowed: &str| {
            let (name, key) = (key.env, key.name);
            Failure::usage(format!("{name} is `{shown}`, and has to be {allowed}")).hint(format!(
                "it sets `{key}`, which this explains: env -u {name} nightwright config explain {key}"
            ))
        };
        let Some(text) = given.to_str() else {
            let shown = given.to_string_lossy();
            let shown = if key.kind == ValueKind::Variables { "..." } else { &*shown };
            return Err(wrong(shown, "UTF-8"));
        };
        let pieces: Vec<&str> = match key.kind {
            ValueKind::List(_) | ValueKind::Variables => lines(text),
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
