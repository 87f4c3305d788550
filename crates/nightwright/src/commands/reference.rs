//! `nightwright reference`: the generated pages of the documentation.

use std::fmt::Write as _;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use nightwright_core::event;
use nightwright_core::outcome::{self, Strictness};

use super::command;
use crate::config;
use crate::console::print;
use crate::error::Failure;
use crate::rehearsal;

#[derive(Clone, Debug, Args)]
pub(super) struct ReferenceArgs {
    page: ReferencePage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ReferencePage {
    Cli,
    Events,
    Outcomes,
    Rehearsal,
    Config,
    Environment,
    /// JSON, not a page for people.
    Schema,
    EventSchema,
}

pub(super) fn reference(options: &ReferenceArgs) -> Result<ExitCode, Failure> {
    let text = match options.page {
        ReferencePage::Cli => cli(),
        ReferencePage::Events => events()?,
        ReferencePage::Outcomes => outcomes(),
        ReferencePage::Rehearsal => rehearsal::script::reference(),
        ReferencePage::Config => config::keys_page(),
        ReferencePage::Environment => config::environment_page(),
        ReferencePage::Schema => format!("{:#}", config::schema()),
        ReferencePage::EventSchema => format!("{:#}", event::schema()),
    };
    print(text.trim_end())?;
    Ok(ExitCode::SUCCESS)
}

fn cli() -> String {
    let mut text = String::from("# Commands\n\nThe output of `nightwright COMMAND --help`.\n");
    let root = command().term_width(100);
    help(&root, "nightwright", &mut text);
    text
}

/// Writes the help of a command and its subcommands.
fn help(command: &clap::Command, title: &str, text: &mut String) {
    let shown = command.clone().bin_name(title.to_owned()).term_width(100).version(None::<&str>);
    let page = shown.disable_help_subcommand(true).render_long_help().to_string();
    let _ = write!(text, "\n## `{title}`\n\n```text\n{}\n```\n", page.trim_end());
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        help(inner, &format!("{title} {}", inner.get_name()), text);
    }
}

fn events() -> Result<String, Failure> {
    let mut text = String::from(
        "# Events\n\nEach line of `journal.jsonl` in the run folder, and of standard output with \
         `--output json`, is one event. Every line\nalso has `v` (format version), `seq` (line \
         number, from 1 without gaps), `at` (time), `active_ms` (active time so far)\nand `run`. \
         The last field is `crc`, the CRC-32 of all bytes before its comma. Ignore unknown \
         fields.\n\
         `events.schema.json` next to this page is the JSON Schema of a line. [Events as \
         JSON](../json-events.md) explains how to\nuse them.\n\n\
         With `--include-messages`, the output also contains every line that the agent prints, in \
         order. Such a line is\n`{\"v\":1,\"run\":\"...\",\"message\":{...},\"attempt\":7}`, with \
         the agent's own JSON as `message`. A line that is not JSON is in\n`\"text\":\"...\"`. \
         Lines from a call have `\"call\":3,\"purpose\":\"verify\"` instead of `attempt`. These \
         lines have no `event`,\n\
         `seq` or `crc`, and nightwright omits lines over 4 MiB.\n",
    );
    for event in event::samples() {
        let sample = serde_json::to_string_pretty(&event)
            .map_err(|error| Failure::trouble(format!("cannot show an event: {error}")))?;
        let _ = write!(
            text,
            "\n## `{}`\n\n{}\n\n```json\n{sample}\n```\n",
            event.name(),
            event.meaning()
        );
    }
    Ok(text)
}

fn outcomes() -> String {
    let mut text = String::from(
        "# Outcomes and exit codes\n\n\
         | outcome | exit | with `--require-complete` | sentence |\n| --- | --- | --- | --- |\n",
    );
    for outcome in outcome::samples() {
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} |",
            outcome.name(),
            outcome.exit_code(Strictness::Lenient),
            outcome.exit_code(Strictness::RequireComplete),
            outcome.sentence(3).replace('|', "\\|")
        );
    }
    let _ = write!(
        text,
        "| usage error | 2 | 2 | names the option, the value and the allowed values |\n\n\
         If no iteration finished, the sentence of `stopped` is: {}.\n\n\
         Other errors before a run starts, such as a missing agent program or a project in use, \
         exit 1.\n",
        outcome::Outcome::Stopped.sentence(0)
    );
    text
}
