//! The strings that `init` writes: the configuration with its comments, the samples of hooks and
//! the `.gitignore`.
//!
//! In the configuration, a line that starts with `# ` is a comment, and one that starts with `#`
//! and a key shows a default. The file is valid as it is, and with all these lines enabled.

use nightwright_core::permissions::Permissions;
use nightwright_core::settings::Commands;

use super::import::ImportedSettings;
use crate::config::ConfigValue;

/// The values for the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigChoices {
    /// The project's commands; the test command becomes the check.
    pub commands: Commands,
    /// The permissions of the agent.
    pub permissions: Permissions,
    /// Settings from another tool.
    pub taken: ImportedSettings,
}

/// Returns the commented configuration.
pub fn config_text(choices: &ConfigChoices) -> String {
    let ConfigChoices { commands, permissions, taken } = choices;
    let Commands { test, build, lint } = commands;
    let gate = test.as_deref().map(|test| format!("[{}]", quoted(test)));
    let command = |name: &str, value: &Option<String>| {
        line(name, value.as_deref().map(quoted), &format!("\"make {name}\""))
    };
    let text = [
        HEAD.to_owned(),
        COMMANDS.to_owned(),
        command("test", test),
        command("build", build),
        command("lint", lint),
        VERIFY.to_owned(),
        line("commands", gate, "[\"make test\"]"),
        VERIFY_MORE.to_owned(),
        AGENT.to_owned(),
        format!("permissions = {}\n", quoted(permissions.name())),
        REST.to_owned(),
    ]
    .concat();
    taken.iter().fold(text, |text, (name, value)| with_setting(&text, name, value))
}

/// Sets a key: in place of the line that shows its default, if any.
fn with_setting(text: &str, name: &str, value: &ConfigValue) -> String {
    let (section, key) = name.split_once('.').unwrap_or(("", name));
    let start = if section.is_empty() { Some(0) } else { text.find(&format!("\n[{section}]\n")) };
    let shown = start.and_then(|start| {
        let body = &text[start + 1..];
        let end = body.find("\n[").map_or(text.len(), |end| start + 1 + end);
        let line = text[start..end].find(&format!("\n#{key} = "))? + start + 1;
        let end = text[line..].find('\n').map_or(text.len(), |length| line + length);
        Some(line..end)
    });
    let line = format!("{key} = {}", value.to_toml());
    if let Some(range) = shown {
        return format!("{}{line}{}", &text[..range.start], &text[range.end..]);
    }
    match start {
        Some(start) => {
            // Below the header of the section, or at the beginning of the file.
            let at = text[start + 1..].find('\n').map_or(text.len(), |end| start + 2 + end);
            format!("{}{line}\n{}", &text[..at], &text[at..])
        }
        None => format!("{text}\n[{section}]\n{line}\n"),
    }
}

/// Quotes a string as TOML.
pub(super) fn quoted(text: &str) -> String {
    toml_edit::Value::from(text).to_string()
}

/// Returns a line that sets a key, or shows its default.
fn line(key: &str, value: Option<String>, shown: &str) -> String {
    match value {
        Some(value) => format!("{key} = {value}\n"),
        None => format!("#{key} = {shown}\n"),
    }
}

/// Returns the `.gitignore` with missing entries added; `None` if nothing is missing.
pub fn ignore_text(old: Option<&str>) -> Option<String> {
    let old = old.unwrap_or_default();
    let has = |name: &&str| {
        old.lines().any(|line| line.trim().trim_matches('/') == name.trim_matches('/'))
    };
    let missing: Vec<&str> = IGNORED.into_iter().filter(|name| !has(name)).collect();
    if missing.is_empty() {
        return None;
    }
    let gap = if old.is_empty() || old.ends_with('\n') { "" } else { "\n" };
    Some(format!("{old}{gap}{}\n", missing.join("\n")))
}

/// The files that record the state of runs are specific to the machine and not committed.
const IGNORED: [&str; 6] = [
    "archive/",
    "logs/",
    "tasks/*/.status.json",
    "tasks/*/.state.json*",
    "tasks/*/feedback.md",
    "tasks/*/.stop",
];

/// Returns the samples of hooks, by name.
pub fn hook_samples() -> Vec<(&'static str, String)> {
    HOOKS.iter().map(|(name, about, example)| (*name, hook_sample(name, about, example))).collect()
}

/// Each hook with its purpose and an example.
const HOOKS: [(&str, &str, &str); 5] = [
    (
        "started",
        "Runs once, before the first iteration. Exit 0 continues, 2 ends the run.",
        "\
# This example prevents runs on the main branch.
case $(git rev-parse --abbrev-ref HEAD 2>/dev/null) in
main | master)
    echo \"runs on the main branch are not allowed\"
    exit 2
    ;;
esac
",
    ),
    (
        "next_iteration",
        "Runs before every iteration. Exit 0 continues, 1 skips the iteration, 2 ends the run.",
        "\
# This example pauses the run while the file `.nightwright/hold` exists. After each skip,
# nightwright waits for the delay, at least 1 second; ten consecutive skips end the run.
if [ -e .nightwright/hold ]; then
    exit 1
fi
",
    ),
    (
        "iteration_finished",
        "Runs after every iteration. A failure is only a warning.",
        "\
# This example logs one line per iteration.
mkdir -p .nightwright/logs
echo \"$(date) iteration $NIGHTWRIGHT_ITERATION: $NIGHTWRIGHT_COMMITS_MADE commits, \\
$NIGHTWRIGHT_LAST_DURATION s, $NIGHTWRIGHT_TOTAL_COST USD so far\" >> .nightwright/logs/iterations.txt
",
    ),
    (
        "finished",
        "Runs when a run ends, with any outcome. A failure is only a warning.",
        "\
# This example shows a desktop notification, except for rehearsals.
if [ -z \"$NIGHTWRIGHT_DRY_RUN\" ] && command -v notify-send > /dev/null; then
    notify-send \"nightwright: $NIGHTWRIGHT_FINISH_TYPE\" \\
        \"$NIGHTWRIGHT_TOTAL_ITERATIONS iterations, $NIGHTWRIGHT_TOTAL_COST USD\"
fi
",
    ),
    (
        "blocked",
        "Runs when the agent reports a blocker: something only you can resolve.",
        "\
# This example logs the blockers, one line of JSON each.
mkdir -p .nightwright/logs
cat >> .nightwright/logs/needed.txt
",
    ),
];

fn hook_sample(name: &str, about: &str, example: &str) -> String {
    format!(
        "#!/bin/sh\n\
         # {about}\n\
         #\n\
         # To use it: copy it to `.nightwright/hooks/{name}`, make that executable (chmod +x), and\n\
         # approve it with `nightwright trust`. It may run for up to 30 seconds\n\
         # (`hooks.timeout`). It receives the event as a JSON line on standard input. Its\n\
         # environment has NIGHTWRIGHT_RUN_ID, NIGHTWRIGHT_TASK, NIGHTWRIGHT_ITERATION and more.\n\
         # See `docs/hooks.md`.\n\
         \n\
         {example}"
    )
}

const HEAD: &str = "\
#:schema ./config.schema.json
# Settings of this project for nightwright. A key after a `#` shows its default or an example:
# remove the `#` to set it. `nightwright config explain KEY` shows where a value comes from.

# The mode of tasks that do not set one: loop, iterative, plan or build. It does not apply to goals
# given with `nightwright run -p GOAL`.
#mode = \"loop\"
# The delay between two iterations.
#delay = \"1s\"
";

const COMMANDS: &str = "
# The project's commands. The agent sees them.
[commands]
";

const VERIFY: &str = "
# The checks that nightwright runs before it accepts a claim that the work is done; all must exit 0.
[verify]
";

const VERIFY_MORE: &str = "\
# Environment variables with credentials to pass to the checks (default: none).
#pass_env = [\"EXAMPLE_TOKEN\"]
#timeout = \"10m\"
# Maximum time for running them before the first iteration, to see what already fails; or \"off\".
#baseline = \"5m\"
# When to run the checks after an iteration without a claim: auto, always, or claim (never).
#every = \"auto\"
# Whether to rerun a failed check.
#rerun = \"once\"
# How to handle changes that weaken the checks: warn, reject or off.
#tamper = \"warn\"
# When to ask a model for a verdict: auto, always or off.
#model = \"auto\"
# The model for the verdict, and its depth: quick, standard or deep (reads the project).
#model_name = \"haiku\"
#depth = \"standard\"
# The maximum cost of one verdict, in dollars.
#max_cost = 0.25
";

const AGENT: &str = "
# Permissions of the agent. It cannot ask: everything else is denied.
[agent]
# usual: edit files and run the usual commands of this type of project; edits: edit files;
# bypass: everything; none: the agent's own settings decide. `allowed_tools` adds to the first two.
";

const REST: &str = "\
#allowed_tools = [\"Bash(docker compose:*)\"]
#disallowed_tools = [\"WebFetch\"]
# Additional arguments for the agent program.
#args = []
# Variables to set for it, and names of variables to pass on.
#env = { EXAMPLE = \"value\" }
#pass_env = [\"EXAMPLE_*\"]
# The agent's own settings to use: user, project, local.
#settings = [\"user\"]
# The maximum number of turns per attempt.
#max_turns = 50

# The limits of a run. Every built-in mode limits iterations; set other limits here.
[limits]
#max_iterations = 50
# In dollars; unlimited by default.
#max_cost = 10.0
# Unlimited by default.
#max_tokens = 5000000
# Unlimited by default.
#max_duration = \"8h\"
# Percentage of cost and duration reserved for a last iteration that cleans up.
#reserve = 10
# The maximum wait for a usage limit of the account.
#max_wait = \"12h\"

# The model for the work; by default that of the agent.
[model]
#name = \"sonnet\"
# Used after three consecutive iterations without progress in changes or checks.
#escalate = \"opus\"
# Used when the model is overloaded.
#fallback = \"haiku\"

# Retries after a failed attempt.
[retry]
#max_retries = 5
# The first delay, which doubles with each retry.
#delay = \"5s\"
# End the run after N consecutive failed iterations.
#max_consecutive_errors = 3

# End the run after N consecutive iterations without progress (0: never).
[stagnation]
#threshold = 3
# End the run after N such iterations in which no additional check or test passes while some still fail.
#no_improvement = 4

# The claims of completion that count.
[completion]
#detect = true
#signal = \"CONTINUOUS_CLAUDE_PROJECT_COMPLETE\"
# Consecutive iterations that must print the signal.
#threshold = 3
# There is none by default.
#end_phrase = \"ALL DONE\"

# Timeouts: nightwright kills an attempt that exceeds one.
[deadlines]
#start = \"2m\"
# Kill an attempt that prints nothing while no tool runs.
#idle = \"10m\"
#tool = \"30m\"
# The whole attempt; 0 = no deadline.
#attempt = \"1h\"

# How to respond when the agent asks a question or gives up: live, next or off.
[watchdog]
#respond = \"live\"

# The prompt for a second, fresh agent that reviews and fixes the work of each iteration;
# builtin = the default prompt. There is no review by default.
[review]
#prompt = \"builtin\"

# The trade-off priorities; `nightwright principles` sets them.
[principles]
#file = \".nightwright/principles.toml\"
# Whether the first iteration writes `principles.file` if it is missing.
#collect = false

# Whether one extra call decides a conflict between principles that the agent cannot resolve.
[council]
#enabled = true

# The file in which iterations leave notes for each other.
[notes]
#file = \"SHARED_TASK_NOTES.md\"

# Notifications to ntfy, Slack, Discord or any webhook. The URL is visible to all readers of this
# file, so your user configuration is a better place for it:
# `nightwright config set --user notify.url URL`. For several, write `[[notify]]` instead.
[notify]
# There is none by default.
#url = \"https://ntfy.sh/a-name-only-you-know\"
# auto, ntfy, slack, discord or webhook.
#kind = \"auto\"
";

#[cfg(test)]
mod tests;
