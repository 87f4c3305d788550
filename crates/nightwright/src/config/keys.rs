//! The table of all keys. What stands here is all there is: files, variables, flags, the commands
//! that show the configuration, the schema and the reference come from it.

use std::time::Duration;

use nightwright_core::notification::NotificationKind as Notice;
use nightwright_core::permissions::Permissions;
use nightwright_core::policy::retry;

use super::amounts::MIN_RUN_DURATION;
use super::kind::{Items, MAX_DURATION, ValueKind};
use super::value::ConfigValue;
use crate::config::nearest::nearest;
use crate::error::Failure;

/// One thing that can be configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// Its name, tables and all: `limits.max_iterations`.
    pub name: &'static str,
    /// What it may be.
    pub kind: ValueKind,
    /// What holds if nobody says anything, as text.
    pub default: Option<&'static str>,
    /// What it means that it is not set, where there is no default.
    pub unset: &'static str,
    /// The variable that stands for it.
    pub env: &'static str,
    /// The option of `nightwright run` that stands for it.
    pub flag: Option<&'static str>,
    /// Whether a project needs the user's approval to set it.
    pub gated: bool,
    /// What it does.
    pub about: &'static str,
}

const fn key(
    name: &'static str,
    kind: ValueKind,
    default: &'static str,
    env: &'static str,
    about: &'static str,
) -> Key {
    let default = Some(default);
    Key { name, kind, default, unset: "", env, flag: None, gated: false, about }
}

/// A key without a default; `unset` says what that means.
const fn open(
    name: &'static str,
    kind: ValueKind,
    unset: &'static str,
    env: &'static str,
    about: &'static str,
) -> Key {
    Key { name, kind, default: None, unset, env, flag: None, gated: false, about }
}

impl Key {
    const fn flag(self, flag: &'static str) -> Self {
        Self { flag: Some(flag), ..self }
    }

    const fn gated(self) -> Self {
        Self { gated: true, ..self }
    }

    /// The default, if there is one.
    pub fn default_value(&self) -> Option<ConfigValue> {
        let value = self.kind.parse(&[self.default?]);
        Some(value.expect("a test reads every default of the table"))
    }

    /// The default in words.
    pub fn default_text(&self) -> String {
        self.default_value().map_or_else(|| self.unset.to_owned(), |value| value.to_string())
    }
}

/// The key of this name.
pub fn find(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}

/// The key that a person asks for.
pub fn look_up(name: &str) -> Result<&'static Key, Failure> {
    find(name).ok_or_else(|| {
        Failure::usage(format!("there is no key `{name}`")).hint(match closest(name) {
            Some(near) if is_table(near) => {
                format!("`{near}` is a table; its keys: {}", below(near).join(", "))
            }
            Some(near) => format!("did you mean `{near}`?"),
            None => "see all keys: nightwright config list".to_owned(),
        })
    })
}

/// The key or table that is nearest to a name.
pub(super) fn closest(name: &str) -> Option<&'static str> {
    nearest(name, KEYS.iter().map(|key| key.name).chain(tables()))
}

/// Whether keys stand below this name.
pub(super) fn is_table(name: &str) -> bool {
    tables().any(|table| table == name)
}

fn tables() -> impl Iterator<Item = &'static str> {
    KEYS.iter().flat_map(|key| key.name.match_indices('.').map(|(at, _)| &key.name[..at]))
}

fn below(table: &str) -> Vec<&'static str> {
    let inside = |name: &&str| name.strip_prefix(table).is_some_and(|rest| rest.starts_with('.'));
    KEYS.iter().map(|key| key.name).filter(inside).collect()
}

const MAX_COUNT: u32 = 1_000_000;
const MAX_SMALL_COUNT: u32 = 1_000;
const ANY_DURATION: ValueKind = ValueKind::Duration { least: Duration::ZERO, most: MAX_DURATION };
const RETRY_DELAY: ValueKind = ValueKind::Duration { least: retry::MIN_DELAY, most: MAX_DURATION };
const POSITIVE_DURATION: ValueKind =
    ValueKind::Duration { least: Duration::from_secs(1), most: MAX_DURATION };
const WHILE: ValueKind =
    ValueKind::Duration { least: Duration::from_secs(1), most: Duration::from_mins(10) };
const SHORT_DURATION: ValueKind =
    ValueKind::Duration { least: Duration::from_millis(500), most: Duration::from_secs(10) };

/// All but one for each iteration.
const USUAL_NOTICES: &str = "[\"setup_complete\", \"execution_start\", \"iteration_milestone\", \
    \"status_update\", \"limit_wait\", \"blocked\", \"verification_failed\", \"completion\", \
    \"stopped\", \"error\"]";

/// All of them, in the order in which they are shown.
#[rustfmt::skip]
pub static KEYS: &[Key] = &[
    open("mode", ValueKind::Name, "`loop` for tasks, `prompt` for goals", "NIGHTWRIGHT_MODE",
        "The mode of tasks: what one iteration is for, and what says that the work is complete. A goal has the mode `prompt` unless `--mode` says otherwise.").flag("--mode"),

    open("limits.max_iterations", ValueKind::Count { least: 0, most: MAX_COUNT }, "no limit", "NIGHTWRIGHT_MAX_ITERATIONS",
        "Stop after this many iterations (0: unlimited).").flag("--max-iterations"),
    open("limits.max_cost", ValueKind::Money, "no limit", "NIGHTWRIGHT_MAX_COST",
        "Stop when the total cost of the run reaches this amount, in US dollars.").flag("--max-cost"),
    open("limits.max_tokens", ValueKind::Tokens, "no limit", "NIGHTWRIGHT_MAX_TOKENS",
        "Stop when the run has used this many tokens: input, output and cache writes.").flag("--max-tokens"),
    open("limits.max_duration", ValueKind::Duration { least: MIN_RUN_DURATION, most: MAX_DURATION }, "no limit", "NIGHTWRIGHT_MAX_DURATION",
        "Stop after this much time of work; waits for usage limits and pauses do not count.").flag("--max-duration"),
    key("limits.reserve", ValueKind::Percent { least: 0, most: 90 }, "10", "NIGHTWRIGHT_RESERVE",
        "The share of cost and duration that is kept back for one wrap-up iteration."),
    key("limits.max_wait", ANY_DURATION, "12h", "NIGHTWRIGHT_MAX_WAIT",
        "A usage limit that ends later than this ends the run."),
    open("limits.quota.five_hour", ValueKind::Percent { least: 1, most: 100 }, "whatever the account allows", "NIGHTWRIGHT_QUOTA_FIVE_HOUR",
        "Once so much of the account's five-hour quota is used, no iteration starts until it is reset."),
    open("limits.quota.seven_day", ValueKind::Percent { least: 1, most: 100 }, "whatever the account allows", "NIGHTWRIGHT_QUOTA_SEVEN_DAY",
        "Once so much of the account's seven-day quota is used, no iteration starts until it is reset."),

    key("retry.max_retries", ValueKind::Count { least: 0, most: MAX_SMALL_COUNT }, "5", "NIGHTWRIGHT_MAX_RETRIES",
        "Further attempts an iteration may have after transient failures.").flag("--max-retries"),
    key("retry.delay", RETRY_DELAY, "5s", "NIGHTWRIGHT_RETRY_DELAY",
        "The delay before the first retry, at least 1 s; it doubles with every retry, up to 1 minute.").flag("--retry-delay"),
    key("retry.max_consecutive_errors", ValueKind::Count { least: 1, most: MAX_SMALL_COUNT }, "3", "NIGHTWRIGHT_MAX_CONSECUTIVE_ERRORS",
        "So many failed iterations in a row end the run."),

    key("stagnation.threshold", ValueKind::Count { least: 0, most: MAX_SMALL_COUNT }, "3", "NIGHTWRIGHT_STAGNATION_THRESHOLD",
        "So many idle iterations in a row end the run; 0 = never.").flag("--stagnation-threshold"),

    key("completion.detect", ValueKind::Bool, "true", "NIGHTWRIGHT_COMPLETION_DETECT",
        "Whether claims of completion are read; if not, the run ends by limits, stop or errors only.").flag("--no-detect"),
    key("completion.signal", ValueKind::Text, "CONTINUOUS_CLAUDE_PROJECT_COMPLETE", "NIGHTWRIGHT_COMPLETION_SIGNAL",
        "The exact phrase of the completion signal.").flag("--completion-signal"),
    key("completion.threshold", ValueKind::Count { least: 1, most: MAX_SMALL_COUNT }, "3", "NIGHTWRIGHT_COMPLETION_THRESHOLD",
        "So many iterations in a row must give the completion signal.").flag("--completion-threshold"),
    open("completion.end_phrase", ValueKind::TextOrNothing, "none", "NIGHTWRIGHT_COMPLETION_END_PHRASE",
        "A phrase that claims completion when it stands in the last five lines of the agent's final message."),

    key("verify.commands", ValueKind::List(Items::Texts), "[]", "NIGHTWRIGHT_VERIFY_COMMANDS",
        "Commands that must pass before completion is believed.").flag("--verify").gated(),
    key("verify.pass_env", ValueKind::List(Items::Names), "[]", "NIGHTWRIGHT_VERIFY_PASS_ENV",
        "Variables that checks and hooks get although they are the agent's login or have the name of a credential (`*_TOKEN`, `*_SECRET*`, `*_KEY`, `*_PASSWORD`); `*` = all.").gated(),
    key("verify.timeout", POSITIVE_DURATION, "10m", "NIGHTWRIGHT_VERIFY_TIMEOUT",
        "How long each of these commands may take."),
    key("verify.baseline", ValueKind::DurationOrOff { least: Duration::from_secs(1) }, "5m", "NIGHTWRIGHT_VERIFY_BASELINE",
        "Maximum time for running these commands once before the first iteration; `off` to skip that.").flag("--no-baseline"),
    key("verify.rerun", ValueKind::Choice(&["once", "never"]), "once", "NIGHTWRIGHT_VERIFY_RERUN",
        "Whether a command that failed gets a second chance."),
    key("verify.model", ValueKind::Choice(&["auto", "always", "off"]), "auto", "NIGHTWRIGHT_VERIFY_MODEL",
        "Whether a model is asked if the work is complete; `auto` = when the evidence is only words or no command is configured."),
    key("verify.model_name", ValueKind::TextOrNothing, "haiku", "NIGHTWRIGHT_VERIFY_MODEL_NAME",
        "The model that is asked; empty = the agent's own choice."),
    key("verify.depth", ValueKind::Choice(&["quick", "standard", "deep"]), "standard", "NIGHTWRIGHT_VERIFY_DEPTH",
        "How closely the model looks: at what it is told, at more of the changes, or at the project itself with tools that only read."),
    key("verify.tamper", ValueKind::Choice(&["warn", "reject", "off"]), "warn", "NIGHTWRIGHT_VERIFY_TAMPER",
        "What happens when tests or checks were weakened during the run: a model has the last word, the claim is rejected, or nobody looks."),
    key("verify.max_cost", ValueKind::Money, "0.25", "NIGHTWRIGHT_VERIFY_MAX_COST",
        "What one verdict of the model may cost, in US dollars."),
    open("verify.model_timeout", POSITIVE_DURATION, "1m, 2m or 10m, by the depth", "NIGHTWRIGHT_VERIFY_MODEL_TIMEOUT",
        "How long one verdict of the model may take."),

    open("agent.command", ValueKind::TextOrNothing, "claude", "NIGHTWRIGHT_AGENT_COMMAND",
        "Another agent: any program that reads the prompt on standard input and answers in plain text.").flag("--agent-command").gated(),
    key("agent.args", ValueKind::List(Items::Any), "[]", "NIGHTWRIGHT_AGENT_ARGS",
        "Further arguments for the agent program, after all of ours.").flag("--").gated(),
    key("agent.env", ValueKind::Variables, "{}", "NIGHTWRIGHT_AGENT_ENV",
        "Variables that are set for the agent program; their values are not recorded.").gated(),
    key("agent.pass_env", ValueKind::List(Items::Names), "[]", "NIGHTWRIGHT_AGENT_PASS_ENV",
        "Variables of our environment that the agent program gets beside the usual ones; `*` = all.").gated(),
    key("agent.permissions", ValueKind::Choice(Permissions::VALUES), "usual", "NIGHTWRIGHT_AGENT_PERMISSIONS",
        "What the agent may do without asking. `usual`: edit files and run what this type of project usually needs; `edits` (or `acceptEdits`): edit files; `bypass` (or `bypassPermissions`): everything; `none`: the agent's own settings decide.").flag("--permissions").gated(),
    key("agent.allowed_tools", ValueKind::List(Items::Tools), "[]", "NIGHTWRIGHT_AGENT_ALLOWED_TOOLS",
        "Tools the agent may use without asking, such as `Bash(cargo test:*)`, in addition to what `usual` or `edits` allows.").flag("--allowed-tools").gated(),
    key("agent.disallowed_tools", ValueKind::List(Items::Tools), "[]", "NIGHTWRIGHT_AGENT_DISALLOWED_TOOLS",
        "Tools the agent may not use at all.").flag("--disallowed-tools").gated(),
    key("agent.settings", ValueKind::List(Items::Words(&["user", "project", "local"])), "[\"user\"]", "NIGHTWRIGHT_AGENT_SETTINGS",
        "Which of the agent program's own settings apply.").gated(),
    open("agent.max_turns", ValueKind::Count { least: 1, most: MAX_COUNT }, "the agent's own choice", "NIGHTWRIGHT_MAX_TURNS",
        "Turns an attempt may take.").flag("--max-turns"),
    open("agent.max_output_tokens", ValueKind::Count { least: 1, most: MAX_COUNT }, "the agent's own choice", "NIGHTWRIGHT_MAX_OUTPUT_TOKENS",
        "Tokens that one answer of the agent may have."),

    open("model.name", ValueKind::TextOrNothing, "the agent's own choice", "NIGHTWRIGHT_MODEL",
        "The model to ask for.").flag("--model"),
    open("model.escalate", ValueKind::TextOrNothing, "none", "NIGHTWRIGHT_MODEL_ESCALATE",
        "The model that takes over from the third idle iteration in a row on."),
    open("model.fallback", ValueKind::TextOrNothing, "none", "NIGHTWRIGHT_MODEL_FALLBACK",
        "The model that takes over when the other is overloaded."),

    key("deadlines.start", POSITIVE_DURATION, "2m", "NIGHTWRIGHT_START_TIMEOUT",
        "Give an attempt up when the agent has not said by then that it is ready."),
    key("deadlines.idle", POSITIVE_DURATION, "10m", "NIGHTWRIGHT_IDLE_TIMEOUT",
        "Give an attempt up when it has been silent for so long and no tool runs.").flag("--idle-timeout"),
    key("deadlines.tool", POSITIVE_DURATION, "30m", "NIGHTWRIGHT_TOOL_TIMEOUT",
        "Give an attempt up when one tool call takes so long."),
    key("deadlines.heartbeat", POSITIVE_DURATION, "5m", "NIGHTWRIGHT_HEARTBEAT_TIMEOUT",
        "Give an attempt up when a tool that gave signs of life has given none for so long."),
    key("deadlines.after_result", POSITIVE_DURATION, "15s", "NIGHTWRIGHT_AFTER_RESULT_TIMEOUT",
        "End the agent program when it is still there so long after its result."),
    key("deadlines.attempt", ANY_DURATION, "1h", "NIGHTWRIGHT_TIMEOUT",
        "Give an attempt up after so long; 0 = never.").flag("--timeout"),

    key("delay", ANY_DURATION, "1s", "NIGHTWRIGHT_DELAY",
        "Wait so long between two iterations.").flag("--delay"),
    key("keep_awake", ValueKind::Bool, "true", "NIGHTWRIGHT_KEEP_AWAKE",
        "Whether to keep the machine awake while a run works or waits, by `systemd-inhibit`."),
    key("watchdog.respond", ValueKind::Choice(&["live", "next", "off"]), "live", "NIGHTWRIGHT_WATCHDOG_RESPOND",
        "What is done when the agent asks or gives up: an answer into the same session, into the next prompt, or nothing."),
    key("status_watch.enabled", ValueKind::Bool, "true", "NIGHTWRIGHT_STATUS_WATCH",
        "Whether changes of the task's status file are told while the agent works."),
    key("status_watch.debounce", SHORT_DURATION, "2s", "NIGHTWRIGHT_STATUS_WATCH_DEBOUNCE",
        "How long the status file has to be left alone before it is read: what is written again and again is told once, or after five times as long."),
    key("status_watch.only_meaningful", ValueKind::Bool, "true", "NIGHTWRIGHT_STATUS_WATCH_ONLY_MEANINGFUL",
        "Whether only `complete`, `progress`, `summary`, `phase` and `blockers` count; if not, other `notes` or another `lastUpdated` are told, too."),
    key("hooks.timeout", WHILE, "30s", "NIGHTWRIGHT_HOOKS_TIMEOUT",
        "How long each of your hooks may take before it is ended."),
    open("review.prompt", ValueKind::TextOrNothing, "no review", "NIGHTWRIGHT_REVIEW_PROMPT",
        "After each iteration that did work, a second fresh agent reviews and repairs it by these words; `builtin` = by our own.").flag("--review-prompt"),
    key("principles.file", ValueKind::File, ".nightwright/principles.toml", "NIGHTWRIGHT_PRINCIPLES_FILE",
        "What the work goes by when two good things contradict each other. A file that is set for the project, a task, a mode or in the environment has to be there; without the usual one, or one of your own configuration, nothing is said."),
    key("principles.collect", ValueKind::Bool, "false", "NIGHTWRIGHT_PRINCIPLES_COLLECT",
        "Whether the first iteration is told to write that file if it is not there; what can't be used of it is asked for again."),
    key("council.enabled", ValueKind::Bool, "true", "NIGHTWRIGHT_COUNCIL_ENABLED",
        "Whether a conflict of principles that the agent could not resolve is decided by one extra call."),
    key("prompt.agents_file", ValueKind::File, ".nightwright/AGENTS.md", "NIGHTWRIGHT_AGENTS_FILE",
        "The project's own words for the agent; the usual file need not be there, one that is set has to."),
    open("notes.file", ValueKind::File, "`NOTES.md` of the task, else `SHARED_TASK_NOTES.md`", "NIGHTWRIGHT_NOTES_FILE",
        "The file in which iterations hand over to each other.").flag("--notes-file"),
    open("commands.test", ValueKind::TextOrNothing, "none", "NIGHTWRIGHT_COMMANDS_TEST",
        "How the tests are run. The agent is told of it, and may run it with `agent.permissions = \"usual\"`.").gated(),
    open("commands.build", ValueKind::TextOrNothing, "none", "NIGHTWRIGHT_COMMANDS_BUILD",
        "How the project is built. The agent is told of it, and may run it with `agent.permissions = \"usual\"`.").gated(),
    open("commands.lint", ValueKind::TextOrNothing, "none", "NIGHTWRIGHT_COMMANDS_LINT",
        "How the project is linted. The agent is told of it, and may run it with `agent.permissions = \"usual\"`.").gated(),
    open("notify.url", ValueKind::Url, "nobody is told", "NIGHTWRIGHT_NOTIFY_URL",
        "Where notifications of a run are sent. Several such tables are written as `[[notify]]`.").gated(),
    key("notify.kind", ValueKind::Choice(&["auto", "ntfy", "slack", "discord", "webhook"]), "auto", "NIGHTWRIGHT_NOTIFY_KIND",
        "What is there; `auto` = by the name of the host, and a webhook if that says nothing.").gated(),
    key("notify.events", ValueKind::List(Items::AnyOf(&Notice::NAMES)), USUAL_NOTICES, "NIGHTWRIGHT_NOTIFY_EVENTS",
        "What is told; `[]` = nothing. All but `iteration` by default.").gated(),
    open("notify.secret", ValueKind::Secret, "what is sent is not signed", "NIGHTWRIGHT_NOTIFY_SECRET",
        "What is sent to a webhook is signed with this: `X-Nightwright-Signature: sha256=...`, an HMAC-SHA256 of the body.").gated(),
    open("notify.secret_env", ValueKind::TextOrNothing, "none", "NIGHTWRIGHT_NOTIFY_SECRET_ENV",
        "The variable that has the secret, where it should not stand in a file.").gated(),
    open("notify.token", ValueKind::Secret, "none", "NIGHTWRIGHT_NOTIFY_TOKEN",
        "The access token for ntfy or a webhook: `Authorization: Bearer ...`.").gated(),
    open("notify.token_env", ValueKind::TextOrNothing, "none", "NIGHTWRIGHT_NOTIFY_TOKEN_ENV",
        "The variable that has the token, where it should not stand in a file.").gated(),
    key("notify.allow_http", ValueKind::Bool, "false", "NIGHTWRIGHT_NOTIFY_ALLOW_HTTP",
        "Whether the address may be one without encryption; on this machine it always may.").gated(),
    open("notify", ValueKind::Tables { of: "notify", needs: "url" }, "none", "NIGHTWRIGHT_NOTIFY",
        "Several addresses, as tables `[[notify]]` with the keys above. One that `[notify]` of another layer names is told, too.").gated(),
    key("redact.variables", ValueKind::List(Items::Names), "[]", "NIGHTWRIGHT_REDACT_VARIABLES",
        "Variables whose values are masked in all that is kept and shown, beside those whose names say that they are secret. Every layer adds to the list."),
    key("redact.patterns", ValueKind::List(Items::Patterns), "[]", "NIGHTWRIGHT_REDACT_PATTERNS",
        "Regular expressions; what they match is masked in all that is kept and shown, of one with a group what the group matches. Every layer adds to the list."),
    key("output.level", ValueKind::Choice(&["quiet", "progress", "verbose", "json"]), "progress", "NIGHTWRIGHT_OUTPUT",
        "How much is shown; `json` prints the events of the journal on standard output.").flag("--output"),
    key("output.color", ValueKind::Choice(&["auto", "always", "never"]), "auto", "NIGHTWRIGHT_COLOR",
        "Whether colours are used.").flag("--color"),
    open("logs.dir", ValueKind::File, "none", "NIGHTWRIGHT_LOGS_DIR",
        "A folder below `.nightwright/` in which a copy of the readable log of every run is written, such as `.nightwright/logs`."),
    key("logs.keep_runs", ValueKind::Count { least: 1, most: MAX_COUNT }, "20", "NIGHTWRIGHT_LOGS_KEEP_RUNS",
        "So many ended runs of a project keep their prompts, output and logs; of older ones the journal stays."),
    open("logs.max_bytes", ValueKind::Size, "no limit", "NIGHTWRIGHT_LOGS_MAX_BYTES",
        "Prompts, output and logs of all runs of a project take at most so much room; the oldest of ended runs go first, never those of the last."),
];
