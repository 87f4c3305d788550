//! Generates the reference pages for configuration and environment.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use nightwright_core::stream::dialect::Dialect;
use nightwright_core::withheld::withheld_patterns;

use super::keys::{KEYS, Key};
use super::tightening;
use super::variables::{VARIABLES, VariableReader};

/// Generates the page `docs/reference/config.md`.
pub fn keys_page() -> String {
    let mut text = String::from(
        "# Configuration keys\n\n\
         Files: `$XDG_CONFIG_HOME/nightwright/config.toml` (yours), `.nightwright/config.toml` (the \
         project's), `.nightwright/tasks/NAME/task.toml`\n(a task's). Later layers win: built-in < mode \
         < user < project < task < environment < flag. Tables merge by key; a list\nreplaces the list \
         of an earlier layer. See [configuration.md](../configuration.md) for their use. Editors can \
         use\n`config.schema.json` in this folder.\n\n\
         Keys marked **trust** run something on your machine or widen what the agent may do: a \
         project needs your approval to set them.\n",
    );
    let mut section = None;
    for key in KEYS {
        let table = key.name.split_once('.').map(|(table, _)| table);
        if table.is_none() || section != Some(table) {
            section = Some(table);
            let _ = match table {
                Some(table) => write!(text, "\n## `[{table}]`\n"),
                None => write!(text, "\n## `{}`\n", key.name),
            };
        }
        entry(&mut text, key);
    }
    text
}

fn entry(text: &mut String, key: &Key) {
    let trust = if key.gated { " **trust**" } else { "" };
    // Writing to a string cannot fail.
    let _ = write!(text, "\n### `{}`{trust}\n\n{}\n\n", key.name, key.about);
    let _ = writeln!(text, "- allowed: {}", key.kind.allowed());
    let mut default = match key.default_value() {
        Some(value) => format!("`{value}`"),
        None => format!("not set ({})", key.unset),
    };
    let by_mode: Vec<_> = key
        .mode_defaults()
        .into_iter()
        .map(|(value, modes)| format!("`{value}` (`{}`)", modes.join("`, `")))
        .collect();
    if !by_mode.is_empty() {
        default = format!("by mode: {}; otherwise {default}", by_mode.join(", "));
    }
    let _ = writeln!(text, "- default: {default}");
    let _ = write!(text, "- environment: `{}`", key.env);
    let flags: Vec<_> = key.flags().iter().map(|flag| format!("`{flag}`")).collect();
    if !flags.is_empty() {
        let _ = write!(text, "; flag: {}", flags.join(", "));
    }
    text.push('\n');
    if !key.gated && tightening::is_bound(key.name) {
        text.push_str("- trust: a project needs your approval to loosen it\n");
    }
}

/// Adds the variables of the user's environment that each kind of program gets.
fn add_passed_on(text: &mut String) {
    text.push_str(
        "\n## Passed on to the agent\n\n\
         `claude` gets these variables of your environment, and those in `agent.pass_env`. This \
         applies to attempts and to calls, such\nas a verdict. nightwright does not pass on a \
         credential that matches a pattern for tools, such as `CARGO_REGISTRY_TOKEN`.\n\n\
         | if this is set | variables |\n| --- | --- |\n",
    );
    let mut listed: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (pattern, switch) in Dialect::Claude.environment_listed() {
        listed.entry(switch).or_default().push(format!("`{pattern}`"));
    }
    for (switch, patterns) in listed {
        let switch = switch.map_or("(always)".to_owned(), |switch| format!("`{switch}`"));
        let _ = writeln!(text, "| {switch} | {} |", patterns.join(", "));
    }
    text.push_str(
        "\n## Withheld from checks and hooks\n\n\
         Checks and hooks get your environment without these variables. `verify.pass_env` lists \
         exceptions; a login needs its full name\nthere. `LD_LIBRARY_PATH` has no folders of the \
         project, for any program.\n\n| reason | variables |\n| --- | --- |\n",
    );
    for (reason, patterns) in withheld_patterns() {
        let patterns: Vec<_> = patterns.iter().map(|pattern| format!("`{pattern}`")).collect();
        let _ = writeln!(text, "| {reason} | {} |", patterns.join(", "));
    }
}

/// Generates the page `docs/reference/environment.md`.
pub fn environment_page() -> String {
    let mut text = String::from(
        "# Environment variables\n\n## Read by nightwright\n\n| variable | meaning |\n| --- | --- |\n",
    );
    for variable in VARIABLES.iter().filter(|variable| variable.used == VariableReader::ByUs) {
        let _ = writeln!(text, "| `{}` | {} |", variable.name, variable.about);
    }
    text.push_str(
        "\n## Keys of the configuration\n\n\
         Environment variables override all files, and flags override environment variables. An empty \
         variable counts as not set.\nTo clear a value, set it to `\"\"` in a file or with a flag. \
         A list has one item per line, or the form `[\"a\", \"b\"]`.\nVariables for the agent are \
         lines `NAME=VALUE`, or a table `{ NAME = \"VALUE\" }`.\n\n\
         | variable | key | allowed |\n| --- | --- | --- |\n",
    );
    for key in KEYS {
        let _ = writeln!(text, "| `{}` | `{}` | {} |", key.env, key.name, key.kind.allowed());
    }
    text.push_str(
        "\n## Set by nightwright\n\n\
         The agent program, checks, hooks and their child processes get the variables that apply to \
         them. `agent.pass_env` and\n`agent.env` select the variables of your environment that the \
         agent gets. Checks and hooks get all variables except\ncredentials; see `verify.pass_env`.\n\n\
         | variable | meaning |\n| --- | --- |\n",
    );
    for variable in VARIABLES.iter().filter(|variable| variable.used == VariableReader::ByPrograms)
    {
        let _ = writeln!(text, "| `{}` | {} |", variable.name, variable.about);
    }
    for name in Dialect::Claude.temp_variables() {
        let _ = writeln!(
            text,
            "| `{name}` | An empty folder for temporary files; nightwright removes it when the \
             program or the run ends. |"
        );
    }
    for (name, value) in Dialect::Claude.environment_sets() {
        let _ = writeln!(text, "| `{name}` | `{value}`, for `claude`. |");
    }
    for (name, value) in Dialect::Claude.environment_defaults() {
        let _ = writeln!(text, "| `{name}` | `{value}` unless you set it, for `claude`. |");
    }
    add_passed_on(&mut text);
    text
}
