//! The table of all configuration keys. Files, variables, flags, the `config` commands, the schema
//! and the reference are derived from it.

use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use nightwright_core::mode::{EMBEDDED, EmbeddedMode};
use nightwright_core::notification::NotificationKind;
use nightwright_core::permissions::Permissions;
use nightwright_core::policy::retry;
use nightwright_core::sandbox::network::NetworkMode;
use nightwright_core::settings::{SandboxKind, Settings};

use super::amounts::MIN_RUN_DURATION;
use super::field::{Field, FieldValue, field};
use super::kind::{Items, MAX_DURATION, ValueKind};
use super::layer::ConfigLayer;
use super::option::OptionGroup::{Agent, Completion, General, Limits, Output, Pace};
use super::option::{KeyOption, switch, value};
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
    /// The options of `nightwright run` that set the key.
    pub options: &'static [KeyOption],
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
    Key { name, kind, default, set, unset: "", env, options: &[], gated: false, about }
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

    const fn options(self, options: &'static [KeyOption]) -> Self {
        Self { options, ..self }
    }

    const fn gated(self) -> Self {
        Self { gated: true, ..self }
    }

    /// The option that takes a value of the key.
    pub fn flag(&self) -> Option<&'static str> {
        self.options.iter().find(|option| option.fixed.is_none()).map(KeyOption::long)
    }

    /// All options that set the key, without their values.
    pub fn flags(&self) -> Vec<&'static str> {
        let name = |option: &KeyOption| match option.long() {
            "--" => "-- ARGS",
            long => long,
        };
        self.options.iter().map(name).collect()
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

    /// The defaults of the built-in modes: each value with the modes that share it.
    pub fn mode_defaults(&self) -> Vec<(ConfigValue, Vec<&'static str>)> {
        let mut all: Vec<(ConfigValue, Vec<&'static str>)> = Vec::new();
        for (mode, defaults) in MODE_DEFAULTS.iter() {
            let Some((_, value)) = defaults.get(self.name) else { continue };
            match all.iter_mut().find(|(known, _)| known == value) {
                Some((_, modes)) => modes.push(mode),
                None => all.push((value.clone(), vec![mode])),
            }
        }
        all
    }

    /// The default as text for the reference.
    pub fn default_text(&self) -> String {
        self.default_value().map_or_else(|| self.unset.to_owned(), |value| value.to_string())
    }
}

static DEFAULTS: LazyLock<Settings> = LazyLock::new(Settings::default);

/// The names and defaults of the built-in modes.
static MODE_DEFAULTS: LazyLock<Vec<(&'static str, ConfigLayer)>> = LazyLock::new(|| {
    let defaults = |mode: &EmbeddedMode| {
        let (_, layer) = ConfigLayer::parse_mode(mode.name, Path::new(mode.name), mode.definition)
            .expect("a test loads every built-in mode");
        (mode.name, layer)
    };
    EMBEDDED.iter().map(defaults).collect()
});

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

/// Sets the checks, and those of them that run outside the sandbox.
fn set_checks(settings: &mut Settings, value: &ConfigValue) {
    let (verify, all) = (&mut settings.verify, value.checks());
    let outside = all.iter().filter(|check| !check.sandbox).map(|check| check.run.clone());
    verify.outside = outside.collect();
    verify.commands = all.into_iter().map(|check| check.run).collect();
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

/// Whether the key concerns notifications.
pub(crate) fn is_notify_key(name: &str) -> bool {
    name.strip_prefix("notify").is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Parses the value of an option for this key; the error describes the allowed values.
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
        Failure::usage(format!("unknown key `{name}`")).hint(match closest(name) {
            Some(near) if is_table(near) => {
                format!("choose a key of the table `{near}`: {}", below(near).join(", "))
            }
            Some(near) => format!("did you mean `{near}`?"),
            None => "run `nightwright config list` to see all keys".to_owned(),
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
pub(crate) const BUILT_IN: &str = "builtin";
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
        "Mode of task runs: `loop`, `iterative`, `plan`, `build`, `prompt`, or your own mode. Runs with a goal use `prompt`, unless you pass `--mode`.").set_by(set_mode).unset("`loop` for tasks, `prompt` for goals").options(&[
            value(General, "--mode <MODE>").help("Mode of the run: `loop`, `iterative`, `plan`, `build`, `prompt`, or your own mode").common()]),

    key("limits.max_iterations", ValueKind::Count { least: 0, most: MAX_COUNT }, "NIGHTWRIGHT_MAX_ITERATIONS",
        "Stop after N iterations (0: unlimited).").field(field!(limits.max_iterations)).unset("no limit").options(&[value(Limits, "-m, --max-iterations <N>").common()]),
    key("limits.max_cost", ValueKind::Money, "NIGHTWRIGHT_MAX_COST",
        "Stop when the total cost of the run reaches USD.").field(field!(limits.max_cost)).unset("no limit").options(&[value(Limits, "--max-cost <USD>").common()]),
    key("limits.max_tokens", ValueKind::Tokens, "NIGHTWRIGHT_MAX_TOKENS",
        "Stop when the run has used N tokens (input, output and cache writes); `agent.max_output_tokens` limits a single answer.").field(field!(limits.max_tokens)).unset("no limit").options(&[value(Limits, "--max-tokens <N>")]),
    key("limits.max_duration", ValueKind::Duration { least: MIN_RUN_DURATION, most: MAX_DURATION }, "NIGHTWRIGHT_MAX_DURATION",
        "Stop after TIME of work, such as `8h`; waits for usage limits and pauses do not count.").field(field!(limits.max_duration)).unset("no limit").options(&[value(Limits, "--max-duration <TIME>").common()]),
    key("limits.reserve", ValueKind::Percent { least: 0, most: 90 }, "NIGHTWRIGHT_RESERVE",
        "Percentage of the cost and duration limits to reserve for one wrap-up iteration.").field(field!(limits.reserve)),
    key("limits.max_wait", ANY_DURATION, "NIGHTWRIGHT_MAX_WAIT",
        "End the run if a usage limit lasts longer than TIME.").field(field!(limits.max_wait)),
    key("limits.quota.five_hour", ValueKind::Percent { least: 1, most: 100 }, "NIGHTWRIGHT_QUOTA_FIVE_HOUR",
        "Start no iteration above this percentage of the account's five-hour quota, until the quota resets.").field(field!(limits.quota.five_hour)).unset("no limit below that of the account"),
    key("limits.quota.seven_day", ValueKind::Percent { least: 1, most: 100 }, "NIGHTWRIGHT_QUOTA_SEVEN_DAY",
        "Start no iteration above this percentage of the account's seven-day quota, until the quota resets.").field(field!(limits.quota.seven_day)).unset("no limit below that of the account"),

    key("retry.max_retries", ValueKind::Count { least: 0, most: MAX_SMALL_COUNT }, "NIGHTWRIGHT_MAX_RETRIES",
        "Retry up to N times per iteration after transient failures.").field(field!(retry.max_retries)).options(&[value(Pace, "--max-retries <N>")]),
    key("retry.delay", RETRY_DELAY, "NIGHTWRIGHT_RETRY_DELAY",
        "Delay before the first retry, at least 1 s; it doubles with every retry, up to 1 minute.").field(field!(retry.delay)).options(&[value(Pace, "--retry-delay <TIME>")]),
    key("retry.max_consecutive_errors", ValueKind::Count { least: 1, most: MAX_SMALL_COUNT }, "NIGHTWRIGHT_MAX_CONSECUTIVE_ERRORS",
        "End the run after N consecutive failed iterations.").field(field!(retry.max_consecutive_errors)),

    key("stagnation.threshold", ValueKind::Count { least: 0, most: MAX_SMALL_COUNT }, "NIGHTWRIGHT_STAGNATION_THRESHOLD",
        "End the run after N consecutive iterations without progress (0: never).").field(field!(progress.threshold)).options(&[value(Pace, "--stagnation-threshold <N>")]),
    key("stagnation.no_improvement", ValueKind::Count { least: 0, most: MAX_SMALL_COUNT }, "NIGHTWRIGHT_STAGNATION_NO_IMPROVEMENT",
        "End the run after N consecutive iterations in which no additional check or test passes while some still fail (0: never).").field(field!(progress.no_gain)),

    key("completion.detect", ValueKind::Bool, "NIGHTWRIGHT_COMPLETION_DETECT",
        "Whether to detect claims of completion; if not, only limits, errors or a stop end the run.").default("true").options(&[
            switch(Completion, "--no-detect", "false", "Ignore claims of completion: only limits, errors or a stop request end the run")]),
    key("completion.signal", ValueKind::Text, "NIGHTWRIGHT_COMPLETION_SIGNAL",
        "Phrase that the agent prints as the completion signal.").field(field!(completion.signal)).options(&[value(Completion, "--completion-signal <TEXT>")]),
    key("completion.threshold", ValueKind::Count { least: 1, most: MAX_SMALL_COUNT }, "NIGHTWRIGHT_COMPLETION_THRESHOLD",
        "Require the completion signal in N consecutive iterations.").field(field!(completion.signal_threshold)).options(&[value(Completion, "--completion-threshold <N>")]),
    key("completion.end_phrase", ValueKind::TextOrNothing, "NIGHTWRIGHT_COMPLETION_END_PHRASE",
        "Phrase that claims completion if it is in the last five lines of the agent's final message.").field(field!(completion.end_phrase)).unset("none"),

    key("verify.commands", ValueKind::Checks, "NIGHTWRIGHT_VERIFY_COMMANDS",
        "Commands that must pass before the work counts as complete. `{ run = \"make e2e\", sandbox = false }` runs outside the sandbox.").field(field!(verify.commands)).set_by(set_checks).options(&[
            value(Completion, "--verify <CMD>").help("Command that must pass before the work counts as complete").common()]).gated(),
    key("verify.pass_env", ValueKind::List(Items::Names), "NIGHTWRIGHT_VERIFY_PASS_ENV",
        "Variables to pass to checks and hooks even though they look like credentials (`*_TOKEN`, `*_SECRET*`, `*_KEY`, `*_PASSWORD`) or are the agent's login; `*`: all.").field(field!(verify.pass_environment)).gated(),
    key("verify.timeout", POSITIVE_DURATION, "NIGHTWRIGHT_VERIFY_TIMEOUT",
        "Time limit for each check.").field(field!(verify.timeout)),
    key("verify.baseline", ValueKind::DurationOrOff { least: Duration::from_secs(1) }, "NIGHTWRIGHT_VERIFY_BASELINE",
        "Time limit for all checks at the baseline, before the first iteration; `off` skips the baseline.").field(field!(verify.baseline)).options(&[
            switch(Completion, "--no-baseline", "off", "Do not run the checks before the first iteration")]),
    key("verify.every", ValueKind::Choice(&["auto", "always", "claim"]), "NIGHTWRIGHT_VERIFY_EVERY",
        "When to run `verify.commands` after an iteration that made changes but did not claim completion. `auto`: always if they take at most 2 minutes, otherwise up to a fifth of the active time, and after the last iteration. `claim`: never.").field(field!(verify.every)),
    key("verify.rerun", ValueKind::Choice(&["once", "never"]), "NIGHTWRIGHT_VERIFY_RERUN",
        "Whether to rerun a failed check once. Before the first iteration, nightwright reruns only a check that fails within 10 seconds.").field(field!(verify.rerun)),
    key("verify.model", ValueKind::Choice(&["auto", "always", "off"]), "NIGHTWRIGHT_VERIFY_MODEL",
        "When to ask a model for a verdict. `auto`: if there are no checks, if none failed at the baseline, if the claim is only text, or if the tamper inspection has findings.").field(field!(verify.model)),
    key("verify.model_name", ValueKind::TextOrNothing, "NIGHTWRIGHT_VERIFY_MODEL_NAME",
        "Model for the verdict (empty: the agent's default).").field(field!(verify.model_name)),
    key("verify.depth", ValueKind::Choice(&["quick", "standard", "deep"]), "NIGHTWRIGHT_VERIFY_DEPTH",
        "Input for the verdict. `quick`: 8 KiB of the diff. `standard`: 32 KiB. `deep`: the project itself (read-only).").field(field!(verify.depth)),
    key("verify.tamper", ValueKind::Choice(&["warn", "reject", "off"]), "NIGHTWRIGHT_VERIFY_TAMPER",
        "Response to weakened tests or checks. `warn`: ask a model. `reject`: reject the claim. `off`: ignore it.").field(field!(verify.tamper)),
    key("verify.max_cost", ValueKind::Money, "NIGHTWRIGHT_VERIFY_MAX_COST",
        "Cost limit for one verdict, in US dollars.").field(field!(verify.max_cost)),
    key("verify.model_timeout", POSITIVE_DURATION, "NIGHTWRIGHT_VERIFY_MODEL_TIMEOUT",
        "Time limit for one verdict.").field(field!(verify.model_timeout)).unset("1m, 2m or 10m, depending on `verify.depth`"),

    key("agent.command", ValueKind::TextOrNothing, "NIGHTWRIGHT_AGENT_COMMAND",
        "Program to use as the agent instead of Claude Code: it reads the prompt from standard input and answers in plain text.").field(field!(agent.command)).unset("claude").options(&[value(Agent, "--agent-command <CMD>")]).gated(),
    key("agent.args", ValueKind::List(Items::Any), "NIGHTWRIGHT_AGENT_ARGS",
        "Additional arguments for the agent program, appended to nightwright's own.").field(field!(agent.arguments)).options(&[value(Agent, "-- <ARGS>").common()]).gated(),
    key("agent.env", ValueKind::Variables, "NIGHTWRIGHT_AGENT_ENV",
        "Variables to set for the agent program; nightwright does not record their values.").default("{}").set_by(set_agent_environment).gated(),
    key("agent.pass_env", ValueKind::List(Items::Names), "NIGHTWRIGHT_AGENT_PASS_ENV",
        "Variables to pass to the agent program in addition to the usual ones; `*`: all.").field(field!(agent.pass_environment)).gated(),
    key("agent.permissions", ValueKind::Choice(Permissions::VALUES), "NIGHTWRIGHT_AGENT_PERMISSIONS",
        "Permissions of the agent. `usual`: edit files and run the usual commands of this type of project. `edits` (or `acceptEdits`): edit files. `bypass` (or `bypassPermissions`): everything. `none`: the agent's own settings decide.").field(field!(agent.permissions)).options(&[
            value(Agent, "--permissions <LEVEL>").common(),
            switch(Agent, "--dangerously-skip-permissions", "bypass", "Same as `--permissions bypass`")]).gated(),
    key("agent.allowed_tools", ValueKind::List(Items::Tools), "NIGHTWRIGHT_AGENT_ALLOWED_TOOLS",
        "Tools that the agent may use without asking, such as `Bash(cargo test:*)`, in addition to those of `usual` or `edits`.").field(field!(agent.allowed_tools)).options(&[
            value(Agent, "--allowed-tools <TOOL>").help("Allow a tool, such as `Bash(cargo test:*)`, in addition to the permissions and the configuration")]).gated(),
    key("agent.disallowed_tools", ValueKind::List(Items::Tools), "NIGHTWRIGHT_AGENT_DISALLOWED_TOOLS",
        "Tools that the agent may not use.").field(field!(agent.disallowed_tools)).options(&[
            value(Agent, "--disallowed-tools <TOOL>").help("Forbid a tool, in addition to the configuration")]).gated(),
    key("agent.settings", ValueKind::List(Items::Words(&["user", "project", "local"])), "NIGHTWRIGHT_AGENT_SETTINGS",
        "Settings files of the agent program to use.").field(field!(agent.sources)).gated(),
    key("agent.max_turns", ValueKind::Count { least: 1, most: MAX_COUNT }, "NIGHTWRIGHT_MAX_TURNS",
        "Maximum number of turns per attempt.").field(field!(model.max_turns)).unset("the agent's default").options(&[value(Agent, "--max-turns <N>")]),
    key("agent.max_output_tokens", ValueKind::Count { least: 1, most: MAX_COUNT }, "NIGHTWRIGHT_MAX_OUTPUT_TOKENS",
        "Maximum number of tokens in one answer of the agent.").field(field!(agent.max_output_tokens)).unset("the agent's default"),

    key("sandbox.kind", ValueKind::Choice(SandboxKind::VALUES), "NIGHTWRIGHT_SANDBOX",
        "Sandbox for the agent, the checks and the calls. `off`: none. `bwrap`: they change only the project, and the agent may do anything there. `external`: this machine is the sandbox, and the agent may do anything on it.").field(field!(sandbox.kind)).options(&[
            value(Agent, "--sandbox <KIND>")]),
    key("sandbox.read", ValueKind::List(Items::Texts), "NIGHTWRIGHT_SANDBOX_READ",
        "Files and folders outside the project to show read-only in the sandbox; `~/` is your home folder.").field(field!(sandbox.read)).gated(),
    key("sandbox.write", ValueKind::List(Items::Texts), "NIGHTWRIGHT_SANDBOX_WRITE",
        "Files and folders that the sandbox may write to: outside the project, or protected ones inside it, such as `.git/config`.").field(field!(sandbox.write)).gated(),
    key("sandbox.devices", ValueKind::List(Items::Texts), "NIGHTWRIGHT_SANDBOX_DEVICES",
        "Devices to show in the sandbox, such as `/dev/kvm`.").field(field!(sandbox.devices)).gated(),
    key("sandbox.userns", ValueKind::Bool, "NIGHTWRIGHT_SANDBOX_USERNS",
        "Whether programs in the sandbox may create user namespaces, as browsers and nested sandboxes do.").field(field!(sandbox.userns)).gated(),
    key("sandbox.registry_logins", ValueKind::Bool, "NIGHTWRIGHT_SANDBOX_REGISTRY_LOGINS",
        "Whether programs in the sandbox get your logins to package registries, such as those in `~/.npmrc`.").field(field!(sandbox.registry_logins)).gated(),
    key("sandbox.network", ValueKind::WordOrList(NetworkMode::WORDS, Items::Hosts), "NIGHTWRIGHT_SANDBOX_NETWORK",
        "Hosts that programs in the sandbox may contact. `on`: all public ones, and private ones that your settings name. `provider`: only those that the agent itself needs. `off`: none. `host`: the network of this machine, without limits and without a record. A list: these hosts, such as `example.com:443`, and those that the agent needs.").field(field!(sandbox.network)).gated(),
    key("sandbox.host_ports", ValueKind::Ports, "NIGHTWRIGHT_SANDBOX_HOST_PORTS",
        "Ports of this machine that programs in the sandbox reach on `localhost`, such as that of a database.").field(field!(sandbox.host_ports)).gated(),
    key("sandbox.private_hosts", ValueKind::List(Items::Hosts), "NIGHTWRIGHT_SANDBOX_PRIVATE_HOSTS",
        "Hosts that programs in the sandbox may contact even if they have a private address, such as `db.example:5432`.").field(field!(sandbox.private_hosts)).gated(),

    key("model.name", ValueKind::TextOrNothing, "NIGHTWRIGHT_MODEL",
        "Model for the agent.").field(field!(model.name)).unset("the agent's default").options(&[value(Agent, "--model <MODEL>").common()]),
    key("model.escalate", ValueKind::TextOrNothing, "NIGHTWRIGHT_MODEL_ESCALATE",
        "Stronger model to switch to after three consecutive iterations without progress in changes or checks.").field(field!(model.escalate)).unset("none"),
    key("model.fallback", ValueKind::TextOrNothing, "NIGHTWRIGHT_MODEL_FALLBACK",
        "Model to use while the main model is overloaded.").field(field!(model.fallback)).unset("none"),

    key("deadlines.start", POSITIVE_DURATION, "NIGHTWRIGHT_START_TIMEOUT",
        "Kill an attempt that is not ready after TIME.").field(field!(deadlines.start)),
    key("deadlines.idle", POSITIVE_DURATION, "NIGHTWRIGHT_IDLE_TIMEOUT",
        "Kill an attempt that prints nothing for TIME while no tool runs.").field(field!(deadlines.idle)).options(&[value(Pace, "--idle-timeout <TIME>")]),
    key("deadlines.tool", POSITIVE_DURATION, "NIGHTWRIGHT_TOOL_TIMEOUT",
        "Kill an attempt if one tool call takes longer than TIME.").field(field!(deadlines.tool)),
    key("deadlines.heartbeat", POSITIVE_DURATION, "NIGHTWRIGHT_HEARTBEAT_TIMEOUT",
        "Kill an attempt if a tool that reported progress reports none for TIME.").field(field!(deadlines.heartbeat)),
    key("deadlines.after_result", POSITIVE_DURATION, "NIGHTWRIGHT_AFTER_RESULT_TIMEOUT",
        "Kill the agent if it is still running TIME after its result.").field(field!(deadlines.after_result)),
    key("deadlines.attempt", ANY_DURATION, "NIGHTWRIGHT_TIMEOUT",
        "Kill an attempt after TIME (0: never).").field(field!(deadlines.attempt)).options(&[value(Pace, "--timeout <TIME>")]),

    key("delay", ANY_DURATION, "NIGHTWRIGHT_DELAY",
        "Time to wait between iterations.").field(field!(delay)).options(&[
            value(Pace, "-d, --delay <TIME>"),
            switch(Pace, "--no-delay", "0", "Do not wait between iterations")]),
    key("keep_awake", ValueKind::Bool, "NIGHTWRIGHT_KEEP_AWAKE",
        "Whether to keep the machine awake (with `systemd-inhibit`) while a run works or waits.").default("true"),
    key("watchdog.respond", ValueKind::Choice(&["live", "next", "off"]), "NIGHTWRIGHT_WATCHDOG_RESPOND",
        "Response if the agent asks a question or gives up. `live`: in the same session. `next`: in the next prompt. `off`: none.").field(field!(extras.watchdog)),
    key("status_watch.enabled", ValueKind::Bool, "NIGHTWRIGHT_STATUS_WATCH",
        "Whether to report changes of the task's status file while the agent works.").field(field!(status_watch.enabled)),
    key("status_watch.debounce", SHORT_DURATION, "NIGHTWRIGHT_STATUS_WATCH_DEBOUNCE",
        "Read the status file after TIME without changes, but at least once in 5 x TIME while it changes.").field(field!(status_watch.debounce)),
    key("status_watch.only_meaningful", ValueKind::Bool, "NIGHTWRIGHT_STATUS_WATCH_ONLY_MEANINGFUL",
        "Whether to report only changes of `complete`, `progress`, `summary`, `phase` and `blockers`, not of `notes` and `lastUpdated`.").field(field!(status_watch.only_meaningful)),
    key("hooks.timeout", WHILE, "NIGHTWRIGHT_HOOKS_TIMEOUT",
        "Time limit for each hook.").field(field!(hooks.timeout)),
    key("review.prompt", ValueKind::TextOrNothing, "NIGHTWRIGHT_REVIEW_PROMPT",
        "Prompt for a second agent that reviews and fixes the changes of each iteration. `builtin`: the built-in prompt.").set_by(set_review).unset("no review").options(&[
            value(Completion, "-r, --review-prompt [<TEXT>]").help("Review and fix the changes of each iteration with a second agent, using TEXT or the built-in prompt")]),
    key("principles.file", ValueKind::File, "NIGHTWRIGHT_PRINCIPLES_FILE",
        "File with the trade-off priorities. It must exist if the project, a task, a mode or the environment sets it.").default(".nightwright/principles.toml"),
    key("principles.collect", ValueKind::Bool, "NIGHTWRIGHT_PRINCIPLES_COLLECT",
        "Whether the first iteration writes `principles.file` if it does not exist. nightwright asks the agent to fix an invalid file.").default("false"),
    key("principles.log_decisions", ValueKind::Bool, "NIGHTWRIGHT_LOG_DECISIONS",
        "Whether to ask the agent to report its decisions. nightwright keeps them in `decisions.jsonl` in the run folder.").field(field!(extras.log_decisions)).options(&[
            switch(Agent, "--log-decisions", "true", "Ask the agent to report its decisions, and keep them in `decisions.jsonl`")]),
    key("council.enabled", ValueKind::Bool, "NIGHTWRIGHT_COUNCIL_ENABLED",
        "Whether one extra call decides conflicts between principles that the agent cannot resolve.").field(field!(extras.council)),
    key("prompt.agents_file", ValueKind::File, "NIGHTWRIGHT_AGENTS_FILE",
        "File with the project's instructions for the agent. The default file is optional; a file that you set must exist.").default(".nightwright/AGENTS.md"),
    key("notes.file", ValueKind::File, "NIGHTWRIGHT_NOTES_FILE",
        "File for notes between iterations (empty: none).").field(field!(notes_file)).unset("`NOTES.md` of the task; for a goal `SHARED_TASK_NOTES.md`, or none in a mode with a checklist").options(&[value(Agent, "--notes-file <FILE>")]),
    key("commands.test", ValueKind::TextOrNothing, "NIGHTWRIGHT_COMMANDS_TEST",
        "Command that runs the tests. The agent sees it, and may run it with `agent.permissions = \"usual\"`.").field(field!(commands.test)).unset("none").gated(),
    key("commands.build", ValueKind::TextOrNothing, "NIGHTWRIGHT_COMMANDS_BUILD",
        "Command that builds the project. The agent sees it, and may run it with `agent.permissions = \"usual\"`.").field(field!(commands.build)).unset("none").gated(),
    key("commands.lint", ValueKind::TextOrNothing, "NIGHTWRIGHT_COMMANDS_LINT",
        "Command that lints the project. The agent sees it, and may run it with `agent.permissions = \"usual\"`.").field(field!(commands.lint)).unset("none").gated(),
    key("notify.url", ValueKind::Url, "NIGHTWRIGHT_NOTIFY_URL",
        "URL for the notifications of a run. For several URLs, use `[[notify]]` tables.").unset("no notifications").gated(),
    key("notify.kind", ValueKind::Choice(&["auto", "ntfy", "slack", "discord", "webhook"]), "NIGHTWRIGHT_NOTIFY_KIND",
        "Service at the URL. `auto`: detect it from the host name; otherwise use a webhook.").default("auto").gated(),
    key("notify.events", ValueKind::List(Items::AnyOf(&NotificationKind::NAMES)), "NIGHTWRIGHT_NOTIFY_EVENTS",
        "Events to notify about; `[]`: none. Default: all but `iteration`.").default(USUAL_NOTICES).gated(),
    key("notify.secret", ValueKind::Secret, "NIGHTWRIGHT_NOTIFY_SECRET",
        "Secret that signs webhook requests: `X-Nightwright-Signature: sha256=...`, an HMAC-SHA256 of the body.").unset("unsigned requests").gated(),
    key("notify.secret_env", ValueKind::TextOrNothing, "NIGHTWRIGHT_NOTIFY_SECRET_ENV",
        "Variable with the secret, to keep it out of files.").unset("none").gated(),
    key("notify.token", ValueKind::Secret, "NIGHTWRIGHT_NOTIFY_TOKEN",
        "Access token for ntfy or a webhook: `Authorization: Bearer ...`.").unset("none").gated(),
    key("notify.token_env", ValueKind::TextOrNothing, "NIGHTWRIGHT_NOTIFY_TOKEN_ENV",
        "Variable with the token, to keep it out of files.").unset("none").gated(),
    key("notify.allow_http", ValueKind::Bool, "NIGHTWRIGHT_NOTIFY_ALLOW_HTTP",
        "Whether to allow an unencrypted URL (`http://`). nightwright always allows URLs on this machine.").default("false").gated(),
    key("notify", ValueKind::Tables { of: "notify", needs: "url" }, "NIGHTWRIGHT_NOTIFY",
        "Several URLs, as tables `[[notify]]` with the keys above, in addition to `[notify]` of another layer.").unset("none").gated(),
    key("redact.variables", ValueKind::List(Items::Names), "NIGHTWRIGHT_REDACT_VARIABLES",
        "Variables whose values nightwright masks, in addition to those with secret-like names. Every layer adds to the list.").default("[]"),
    key("redact.patterns", ValueKind::List(Items::Patterns), "NIGHTWRIGHT_REDACT_PATTERNS",
        "Regular expressions; nightwright masks each match, or only its first group if there is one. Every layer adds to the list.").default("[]").gated(),
    key("output.level", ValueKind::Choice(&["quiet", "progress", "verbose", "json"]), "NIGHTWRIGHT_OUTPUT",
        "Amount of output. `quiet`: only errors. `progress`: one or two lines per event. `verbose`: also messages and tool calls. `json`: the events of the journal, on standard output.").default("progress").options(&[
            switch(Output, "-v, --verbose", "verbose", "Also show the messages and tool calls of the agent").common(),
            switch(Output, "-q, --quiet", "quiet", "Show only errors").common(),
            value(Output, "--output <LEVEL>")]),
    key("output.color", ValueKind::Choice(&["auto", "always", "never"]), "NIGHTWRIGHT_COLOR",
        "When to use colors; `auto`: on a terminal, unless `NO_COLOR` or `CLICOLOR_FORCE` is set.").default("auto").options(&[value(Output, "--color <WHEN>")]),
    key("logs.dir", ValueKind::File, "NIGHTWRIGHT_LOGS_DIR",
        "Folder below `.nightwright/` for a copy of the log of every run, such as `.nightwright/logs`.").unset("none"),
    key("logs.keep_runs", ValueKind::Count { least: 1, most: MAX_COUNT }, "NIGHTWRIGHT_LOGS_KEEP_RUNS",
        "Keep prompts, output and logs of the last N ended runs per project; older runs keep only their journal.").default("20"),
    key("logs.max_bytes", ValueKind::Size, "NIGHTWRIGHT_LOGS_MAX_BYTES",
        "Maximum size of the prompts, output and logs of a project's runs. nightwright prunes the oldest ended runs first, and never the last run.").unset("no limit"),
];
