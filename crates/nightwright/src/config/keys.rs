//! The table of all configuration keys. Files, variables, flags, the `config` commands, the schema
//! and the reference are derived from it.

use std::sync::LazyLock;
use std::time::Duration;

use nightwright_core::notification::NotificationKind as Notice;
use nightwright_core::permissions::Permissions;
use nightwright_core::policy::retry;
use nightwright_core::settings::Settings;

use super::amounts::MIN_RUN_DURATION;
use super::field::{Field, FieldValue, field};
use super::kind::{Items, MAX_DURATION, ValueKind};
use super::value::ConfigValue;
use crate::config::nearest::nearest;
use crate::error::Failure;

/// A configuration key with everything known about it.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The full name with its tables: `limits.max_iterations`.
    pub name: &'static str,
    pub kind: ValueKind,
    default: KeyDefault,
    /// Sets the field of the settings. Keys without a field are read where they are needed.
    pub(super) set: Option<fn(&mut Settings, &ConfigValue)>,
    /// The meaning of a missing value, for a key without a default.
    pub unset: &'static str,
    /// The environment variable that sets the key.
    pub env: &'static str,
    /// The option of `nightwright run` that sets the key.
    pub flag: Option<&'static str>,
    /// Whether a project needs the user's approval to set it.
    pub gated: bool,
    pub about: &'static str,
}

/// The source of a key's default.
#[derive(Clone, Copy, Debug)]
enum KeyDefault {
    None,
    /// This text, in the syntax of the configuration.
    Text(&'static str),
    /// The default of the field in the settings.
    Field(fn(&Settings) -> Option<ConfigValue>),
}

const fn key(name: &'static str, kind: ValueKind, env: &'static str, about: &'static str) -> Key {
    let (default, set) = (KeyDefault::None, None);
    Key { name, kind, default, set, unset: "", env, flag: None, gated: false, about }
}

impl Key {
    const fn default(self, text: &'static str) -> Self {
        Self { default: KeyDefault::Text(text), ..self }
    }

    /// Connects the key to this field, which also provides the default.
    const fn field(self, field: Field) -> Self {
        Self { default: KeyDefault::Field(field.get), set: Some(field.set), ..self }
    }

    /// Sets the settings with a custom function.
    const fn set_by(self, set: fn(&mut Settings, &ConfigValue)) -> Self {
        Self { set: Some(set), ..self }
    }

    const fn unset(self, unset: &'static str) -> Self {
        Self { unset, ..self }
    }

    const fn flag(self, flag: &'static str) -> Self {
        Self { flag: Some(flag), ..self }
    }

    const fn gated(self) -> Self {
        Self { gated: true, ..self }
    }

    pub fn default_value(&self) -> Option<ConfigValue> {
        match self.default {
            KeyDefault::None => None,
            KeyDefault::Text(text) => {
                Some(self.kind.parse(&[text]).expect("a test reads every default of the table"))
            }
            KeyDefault::Field(get) => get(&DEFAULTS),
        }
    }

    /// The default as text for the reference.
    pub fn default_text(&self) -> String {
        self.default_value().map_or_else(|| self.unset.to_owned(), |value| value.to_string())
    }
}

static DEFAULTS: LazyLock<Settings> = LazyLock::new(Settings::default);

fn set_mode(settings: &mut Settings, value: &ConfigValue) {
    if let ConfigValue::Text(mode) = value {
        settings.mode.clone_from(mode);
    }
}

/// Sets the instructions of the review: empty in the configuration turns it off, and [`BUILT_IN`]
/// becomes empty instructions.
fn set_review(settings: &mut Settings, value: &ConfigValue) {
    if let ConfigValue::Text(text) = value {
        let text = Some(text.clone()).filter(|text| !text.is_empty());
        settings.extras.review =
            text.map(|text| if text == BUILT_IN { String::new() } else { text });
    }
}

/// Sets the names of the variables. Their values may be secret and are not recorded.
fn set_agent_environment(settings: &mut Settings, value: &ConfigValue) {
    if let ConfigValue::Table(entries) = value {
        settings.agent.environment = entries.keys().cloned().collect();
    }
}

pub fn find(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}

/// Parses the value of the option for this key; the error describes the allowed values.
///
/// # Panics
/// If there is no such key, or its values have another type. A test covers every option.
pub(crate) fn parse_setting<T: FieldValue>(name: &str, text: &str) -> Result<T, String> {
    let key = find(name).expect("a test tries every option");
    let value = key.kind.parse(&[text])?;
    Ok(T::read(&value).expect("a test tries every option"))
}

/// Finds the key that the user asks for; the error suggests the closest one.
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

/// The key or table with the closest name.
pub(super) fn closest(name: &str) -> Option<&'static str> {
    nearest(name, KEYS.iter().map(|key| key.name).chain(tables()))
}

/// Whether keys exist below this name.
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

/// The value that selects the built-in review instructions.
const BUILT_IN: &str = "builtin";
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

/// The default: all notifications except the one per iteration.
const USUAL_NOTICES: &str = "[\"setup_complete\", \"execution_start\", \"iteration_milestone\", \
    \"status_update\", \"limit_wait\", \"blocked\", \"verification_failed\", \"completion\", \
    \"stopped\", \"error\"]";

/// All keys, in the order of display.
#[rustfmt::skip]
pub static KEYS: &[Key] = &[
    key("mode", ValueKind::Name, "NIGHTWRIGHT_MODE",
        "The mode of tasks: what one iteration is for, and what says that the work is complete. A goal has the mode `prompt` unless `--mode` says otherwise.").set_by(set_mode).unset("`loop` for tasks, `prompt` for goals").flag("--mode"),

    key("limits.max_iterations", ValueKind::Count { least: 0, most: MAX_COUNT }, "NIGHTWRIGHT_MAX_ITERATIONS",
        "Stop after this many iterations (0: unlimited).").field(field!(limits.max_iterations)).unset("no limit").flag("--max-iterations"),
    key("limits.max_cost", ValueKind::Money, "NIGHTWRIGHT_MAX_COST",
        "Stop when the total cost of the run reaches this amount, in US dollars.").field(field!(limits.max_cost)).unset("no limit").flag("--max-cost"),
    key("limits.max_tokens", ValueKind::Tokens, "NIGHTWRIGHT_MAX_TOKENS",
        "Stop when the run has used this many tokens: input, output and cache writes.").field(field!(limits.max_tokens)).unset("no limit").flag("--max-tokens"),
    key("limits.max_duration", ValueKind::Duration { least: MIN_RUN_DURATION, most: MAX_DURATION }, "NIGHTWRIGHT_MAX_DURATION",
        "Stop after this much time of work; waits for usage limits and pauses do not count.").field(field!(limits.max_duration)).unset("no limit").flag("--max-duration"),
    key("limits.reserve", ValueKind::Percent { least: 0, most: 90 }, "NIGHTWRIGHT_RESERVE",
        "The share of cost and duration that is kept back for one wrap-up iteration.").field(field!(limits.reserve)),
    key("limits.max_wait", ANY_DURATION, "NIGHTWRIGHT_MAX_WAIT",
        "A usage limit that ends later than this ends the run.").field(field!(limits.max_wait)),
    key("limits.quota.five_hour", ValueKind::Percent { least: 1, most: 100 }, "NIGHTWRIGHT_QUOTA_FIVE_HOUR",
        "Once so much of the account's five-hour quota is used, no iteration starts until it is reset.").field(field!(limits.quota.five_hour)).unset("whatever the account allows"),
    key("limits.quota.seven_day", ValueKind::Percent { least: 1, most: 100 }, "NIGHTWRIGHT_QUOTA_SEVEN_DAY",
        "Once so much of the account's seven-day quota is used, no iteration starts until it is reset.").field(field!(limits.quota.seven_day)).unset("whatever the account allows"),

    key("retry.max_retries", ValueKind::Count { least: 0, most: MAX_SMALL_COUNT }, "NIGHTWRIGHT_MAX_RETRIES",
        "Further attempts an iteration may have after transient failures.").field(field!(retry.max_retries)).flag("--max-retries"),
    key("retry.delay", RETRY_DELAY, "NIGHTWRIGHT_RETRY_DELAY",
        "The delay before the first retry, at least 1 s; it doubles with every retry, up to 1 minute.").field(field!(retry.delay)).flag("--retry-delay"),
    key("retry.max_consecutive_errors", ValueKind::Count { least: 1, most: MAX_SMALL_COUNT }, "NIGHTWRIGHT_MAX_CONSECUTIVE_ERRORS",
        "So many failed iterations in a row end the run.").field(field!(retry.max_consecutive_errors)),

    key("stagnation.threshold", ValueKind::Count { least: 0, most: MAX_SMALL_COUNT }, "NIGHTWRIGHT_STAGNATION_THRESHOLD",
        "So many idle iterations in a row end the run; 0 = never.").field(field!(progress.threshold)).flag("--stagnation-threshold"),

    key("completion.detect", ValueKind::Bool, "NIGHTWRIGHT_COMPLETION_DETECT",
        "Whether claims of completion are read; if not, the run ends by limits, stop or errors only.").default("true").flag("--no-detect"),
    key("completion.signal", ValueKind::Text, "NIGHTWRIGHT_COMPLETION_SIGNAL",
        "The exact phrase of the completion signal.").field(field!(completion.signal)).flag("--completion-signal"),
    key("completion.threshold", ValueKind::Count { least: 1, most: MAX_SMALL_COUNT }, "NIGHTWRIGHT_COMPLETION_THRESHOLD",
        "So many iterations in a row must give the completion signal.").field(field!(completion.signal_threshold)).flag("--completion-threshold"),
    key("completion.end_phrase", ValueKind::TextOrNothing, "NIGHTWRIGHT_COMPLETION_END_PHRASE",
        "A phrase that claims completion when it stands in the last five lines of the agent's final message.").field(field!(completion.end_phrase)).unset("none"),

    key("verify.commands", ValueKind::List(Items::Texts), "NIGHTWRIGHT_VERIFY_COMMANDS",
        "Commands that must pass before completion is believed.").field(field!(verify.commands)).flag("--verify").gated(),
    key("verify.pass_env", ValueKind::List(Items::Names), "NIGHTWRIGHT_VERIFY_PASS_ENV",
        "Variables that checks and hooks get although they are the agent's login or have the name of a credential (`*_TOKEN`, `*_SECRET*`, `*_KEY`, `*_PASSWORD`); `*` = all.").field(field!(verify.pass_environment)).gated(),
    key("verify.timeout", POSITIVE_DURATION, "NIGHTWRIGHT_VERIFY_TIMEOUT",
        "How long each of these commands may take.").field(field!(verify.timeout)),
    key("verify.baseline", ValueKind::DurationOrOff { least: Duration::from_secs(1) }, "NIGHTWRIGHT_VERIFY_BASELINE",
        "Maximum time for running these commands once before the first iteration; `off` to skip that.").field(field!(verify.baseline)).flag("--no-baseline"),
    key("verify.rerun", ValueKind::Choice(&["once", "never"]), "NIGHTWRIGHT_VERIFY_RERUN",
        "Whether a command that failed gets a second chance.").field(field!(verify.rerun)),
    key("verify.model", ValueKind::Choice(&["auto", "always", "off"]), "NIGHTWRIGHT_VERIFY_MODEL",
        "Whether a model is asked if the work is complete; `auto` = when the evidence is only words or no command is configured.").field(field!(verify.model)),
    key("verify.model_name", ValueKind::TextOrNothing, "NIGHTWRIGHT_VERIFY_MODEL_NAME",
        "The model that is asked; empty = the agent's own choice.").field(field!(verify.model_name)),
    key("verify.depth", ValueKind::Choice(&["quick", "standard", "deep"]), "NIGHTWRIGHT_VERIFY_DEPTH",
        "How closely the model looks: at what it is told, at more of the changes, or at the project itself with tools that only read.").field(field!(verify.depth)),
    key("verify.tamper", ValueKind::Choice(&["warn", "reject", "off"]), "NIGHTWRIGHT_VERIFY_TAMPER",
        "What happens when tests or checks were weakened during the run: a model has the last word, the claim is rejected, or nobody looks.").field(field!(verify.tamper)),
    key("verify.max_cost", ValueKind::Money, "NIGHTWRIGHT_VERIFY_MAX_COST",
        "What one verdict of the model may cost, in US dollars.").field(field!(verify.max_cost)),
    key("verify.model_timeout", POSITIVE_DURATION, "NIGHTWRIGHT_VERIFY_MODEL_TIMEOUT",
        "How long one verdict of the model may take.").field(field!(verify.model_timeout)).unset("1m, 2m or 10m, by the depth"),

    key("agent.command", ValueKind::TextOrNothing, "NIGHTWRIGHT_AGENT_COMMAND",
        "Another agent: any program that reads the prompt on standard input and answers in plain text.").field(field!(agent.command)).unset("claude").flag("--agent-command").gated(),
    key("agent.args", ValueKind::List(Items::Any), "NIGHTWRIGHT_AGENT_ARGS",
        "Further arguments for the agent program, after all of ours.").field(field!(agent.arguments)).flag("--").gated(),
    key("agent.env", ValueKind::Variables, "NIGHTWRIGHT_AGENT_ENV",
        "Variables that are set for the agent program; their values are not recorded.").default("{}").set_by(set_agent_environment).gated(),
    key("agent.pass_env", ValueKind::List(Items::Names), "NIGHTWRIGHT_AGENT_PASS_ENV",
        "Variables of our environment that the agent program gets beside the usual ones; `*` = all.").field(field!(agent.pass_environment)).gated(),
    key("agent.permissions", ValueKind::Choice(Permissions::VALUES), "NIGHTWRIGHT_AGENT_PERMISSIONS",
        "What the agent may do without asking. `usual`: edit files and run what this type of project usually needs; `edits` (or `acceptEdits`): edit files; `bypass` (or `bypassPermissions`): everything; `none`: the agent's own settings decide.").field(field!(agent.permissions)).flag("--permissions").gated(),
    key("agent.allowed_tools", ValueKind::List(Items::Tools), "NIGHTWRIGHT_AGENT_ALLOWED_TOOLS",
        "Tools the agent may use without asking, such as `Bash(cargo test:*)`, in addition to what `usual` or `edits` allows.").field(field!(agent.allowed_tools)).flag("--allowed-tools").gated(),
    key("agent.disallowed_tools", ValueKind::List(Items::Tools), "NIGHTWRIGHT_AGENT_DISALLOWED_TOOLS",
        "Tools the agent may not use at all.").field(field!(agent.disallowed_tools)).flag("--disallowed-tools").gated(),
    key("agent.settings", ValueKind::List(Items::Words(&["user", "project", "local"])), "NIGHTWRIGHT_AGENT_SETTINGS",
        "Which of the agent program's own settings apply.").field(field!(agent.sources)).gated(),
    key("agent.max_turns", ValueKind::Count { least: 1, most: MAX_COUNT }, "NIGHTWRIGHT_MAX_TURNS",
        "Turns an attempt may take.").field(field!(model.max_turns)).unset("the agent's own choice").flag("--max-turns"),
    key("agent.max_output_tokens", ValueKind::Count { least: 1, most: MAX_COUNT }, "NIGHTWRIGHT_MAX_OUTPUT_TOKENS",
        "Tokens that one answer of the agent may have.").field(field!(agent.max_output_tokens)).unset("the agent's own choice"),

    key("model.name", ValueKind::TextOrNothing, "NIGHTWRIGHT_MODEL",
        "The model to ask for.").field(field!(model.name)).unset("the agent's own choice").flag("--model"),
    key("model.escalate", ValueKind::TextOrNothing, "NIGHTWRIGHT_MODEL_ESCALATE",
        "The model that takes over from the third idle iteration in a row on.").field(field!(model.escalate)).unset("none"),
    key("model.fallback", ValueKind::TextOrNothing, "NIGHTWRIGHT_MODEL_FALLBACK",
        "The model that takes over when the other is overloaded.").field(field!(model.fallback)).unset("none"),

    key("deadlines.start", POSITIVE_DURATION, "NIGHTWRIGHT_START_TIMEOUT",
        "Give an attempt up when the agent has not said by then that it is ready.").field(field!(deadlines.start)),
    key("deadlines.idle", POSITIVE_DURATION, "NIGHTWRIGHT_IDLE_TIMEOUT",
        "Give an attempt up when it has been silent for so long and no tool runs.").field(field!(deadlines.idle)).flag("--idle-timeout"),
    key("deadlines.tool", POSITIVE_DURATION, "NIGHTWRIGHT_TOOL_TIMEOUT",
        "Give an attempt up when one tool call takes so long.").field(field!(deadlines.tool)),
    key("deadlines.heartbeat", POSITIVE_DURATION, "NIGHTWRIGHT_HEARTBEAT_TIMEOUT",
        "Give an attempt up when a tool that gave signs of life has given none for so long.").field(field!(deadlines.heartbeat)),
    key("deadlines.after_result", POSITIVE_DURATION, "NIGHTWRIGHT_AFTER_RESULT_TIMEOUT",
        "End the agent program when it is still there so long after its result.").field(field!(deadlines.after_result)),
    key("deadlines.attempt", ANY_DURATION, "NIGHTWRIGHT_TIMEOUT",
        "Give an attempt up after so long; 0 = never.").field(field!(deadlines.attempt)).flag("--timeout"),

    key("delay", ANY_DURATION, "NIGHTWRIGHT_DELAY",
        "Wait so long between two iterations.").field(field!(delay)).flag("--delay"),
    key("keep_awake", ValueKind::Bool, "NIGHTWRIGHT_KEEP_AWAKE",
        "Whether to keep the machine awake while a run works or waits, by `systemd-inhibit`.").default("true"),
    key("watchdog.respond", ValueKind::Choice(&["live", "next", "off"]), "NIGHTWRIGHT_WATCHDOG_RESPOND",
        "What is done when the agent asks or gives up: an answer into the same session, into the next prompt, or nothing.").field(field!(extras.watchdog)),
    key("status_watch.enabled", ValueKind::Bool, "NIGHTWRIGHT_STATUS_WATCH",
        "Whether changes of the task's status file are told while the agent works.").field(field!(status_watch.enabled)),
    key("status_watch.debounce", SHORT_DURATION, "NIGHTWRIGHT_STATUS_WATCH_DEBOUNCE",
        "How long the status file has to be left alone before it is read: what is written again and again is told once, or after five times as long.").field(field!(status_watch.debounce)),
    key("status_watch.only_meaningful", ValueKind::Bool, "NIGHTWRIGHT_STATUS_WATCH_ONLY_MEANINGFUL",
        "Whether only `complete`, `progress`, `summary`, `phase` and `blockers` count; if not, other `notes` or another `lastUpdated` are told, too.").field(field!(status_watch.only_meaningful)),
    key("hooks.timeout", WHILE, "NIGHTWRIGHT_HOOKS_TIMEOUT",
        "How long each of your hooks may take before it is ended.").field(field!(hooks.timeout)),
    key("review.prompt", ValueKind::TextOrNothing, "NIGHTWRIGHT_REVIEW_PROMPT",
        "After each iteration that did work, a second fresh agent reviews and repairs it by these words; `builtin` = by our own.").set_by(set_review).unset("no review").flag("--review-prompt"),
    key("principles.file", ValueKind::File, "NIGHTWRIGHT_PRINCIPLES_FILE",
        "What the work goes by when two good things contradict each other. A file that is set for the project, a task, a mode or in the environment has to be there; without the usual one, or one of your own configuration, nothing is said.").default(".nightwright/principles.toml"),
    key("principles.collect", ValueKind::Bool, "NIGHTWRIGHT_PRINCIPLES_COLLECT",
        "Whether the first iteration is told to write that file if it is not there; what cannot be used of it is asked for again.").default("false"),
    key("council.enabled", ValueKind::Bool, "NIGHTWRIGHT_COUNCIL_ENABLED",
        "Whether a conflict of principles that the agent could not resolve is decided by one extra call.").field(field!(extras.council)),
    key("prompt.agents_file", ValueKind::File, "NIGHTWRIGHT_AGENTS_FILE",
        "The project's own words for the agent; the usual file need not be there, one that is set has to.").default(".nightwright/AGENTS.md"),
    key("notes.file", ValueKind::File, "NIGHTWRIGHT_NOTES_FILE",
        "The file in which iterations hand over to each other.").field(field!(notes_file)).unset("`NOTES.md` of the task, else `SHARED_TASK_NOTES.md`").flag("--notes-file"),
    key("commands.test", ValueKind::TextOrNothing, "NIGHTWRIGHT_COMMANDS_TEST",
        "How the tests are run. The agent is told of it, and may run it with `agent.permissions = \"usual\"`.").field(field!(commands.test)).unset("none").gated(),
    key("commands.build", ValueKind::TextOrNothing, "NIGHTWRIGHT_COMMANDS_BUILD",
        "How the project is built. The agent is told of it, and may run it with `agent.permissions = \"usual\"`.").field(field!(commands.build)).unset("none").gated(),
    key("commands.lint", ValueKind::TextOrNothing, "NIGHTWRIGHT_COMMANDS_LINT",
        "How the project is linted. The agent is told of it, and may run it with `agent.permissions = \"usual\"`.").field(field!(commands.lint)).unset("none").gated(),
    key("notify.url", ValueKind::Url, "NIGHTWRIGHT_NOTIFY_URL",
        "Where notifications of a run are sent. Several such tables are written as `[[notify]]`.").unset("nobody is told").gated(),
    key("notify.kind", ValueKind::Choice(&["auto", "ntfy", "slack", "discord", "webhook"]), "NIGHTWRIGHT_NOTIFY_KIND",
        "What is there; `auto` = by the name of the host, and a webhook if that says nothing.").default("auto").gated(),
    key("notify.events", ValueKind::List(Items::AnyOf(&Notice::NAMES)), "NIGHTWRIGHT_NOTIFY_EVENTS",
        "What is told; `[]` = nothing. All but `iteration` by default.").default(USUAL_NOTICES).gated(),
    key("notify.secret", ValueKind::Secret, "NIGHTWRIGHT_NOTIFY_SECRET",
        "What is sent to a webhook is signed with this: `X-Nightwright-Signature: sha256=...`, an HMAC-SHA256 of the body.").unset("what is sent is not signed").gated(),
    key("notify.secret_env", ValueKind::TextOrNothing, "NIGHTWRIGHT_NOTIFY_SECRET_ENV",
        "The variable that has the secret, where it should not stand in a file.").unset("none").gated(),
    key("notify.token", ValueKind::Secret, "NIGHTWRIGHT_NOTIFY_TOKEN",
        "The access token for ntfy or a webhook: `Authorization: Bearer ...`.").unset("none").gated(),
    key("notify.token_env", ValueKind::TextOrNothing, "NIGHTWRIGHT_NOTIFY_TOKEN_ENV",
        "The variable that has the token, where it should not stand in a file.").unset("none").gated(),
    key("notify.allow_http", ValueKind::Bool, "NIGHTWRIGHT_NOTIFY_ALLOW_HTTP",
        "Whether the address may be one without encryption; on this machine it always may.").default("false").gated(),
    key("notify", ValueKind::Tables { of: "notify", needs: "url" }, "NIGHTWRIGHT_NOTIFY",
        "Several addresses, as tables `[[notify]]` with the keys above. One that `[notify]` of another layer names is told, too.").unset("none").gated(),
    key("redact.variables", ValueKind::List(Items::Names), "NIGHTWRIGHT_REDACT_VARIABLES",
        "Variables whose values are masked in all that is kept and shown, beside those whose names say that they are secret. Every layer adds to the list.").default("[]"),
    key("redact.patterns", ValueKind::List(Items::Patterns), "NIGHTWRIGHT_REDACT_PATTERNS",
        "Regular expressions; what they match is masked in all that is kept and shown, of one with a group what the group matches. Every layer adds to the list.").default("[]"),
    key("output.level", ValueKind::Choice(&["quiet", "progress", "verbose", "json"]), "NIGHTWRIGHT_OUTPUT",
        "How much is shown; `json` prints the events of the journal on standard output.").default("progress").flag("--output"),
    key("output.color", ValueKind::Choice(&["auto", "always", "never"]), "NIGHTWRIGHT_COLOR",
        "Whether colours are used.").default("auto").flag("--color"),
    key("logs.dir", ValueKind::File, "NIGHTWRIGHT_LOGS_DIR",
        "A folder below `.nightwright/` in which a copy of the readable log of every run is written, such as `.nightwright/logs`.").unset("none"),
    key("logs.keep_runs", ValueKind::Count { least: 1, most: MAX_COUNT }, "NIGHTWRIGHT_LOGS_KEEP_RUNS",
        "So many ended runs of a project keep their prompts, output and logs; of older ones the journal stays.").default("20"),
    key("logs.max_bytes", ValueKind::Size, "NIGHTWRIGHT_LOGS_MAX_BYTES",
        "Prompts, output and logs of all runs of a project take at most so much room; the oldest of ended runs go first, never those of the last.").unset("no limit"),
];
