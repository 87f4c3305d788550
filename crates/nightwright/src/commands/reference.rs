//! `nightwright reference`: the generated pages of the documentation.

use std::fmt::Write as _;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use nightwright_core::event;
use nightwright_core::outcome::{self, Strictness};

use super::command;
use super::context::print;
use crate::config;
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
        "# Events\n\nOne event a line, in `journal.jsonl` of the run folder and on standard output \
         with `--output json`.\nEvery line also has `v` (the version of the format), `seq` \
         (gap-free, from 1), `at` (the time), `active_ms`\n(time at work so far), `run`, and as its \
         last member `crc` (CRC-32 of all bytes before its comma).\nUnknown members are to be \
         ignored. `events.schema.json` next to this page is the JSON Schema of a line;\n[events as \
         JSON](../json-events.md) tells how to use it.\n\nWith `--output json --include-messages` every line that the agent prints stands \
         between them, where it was\nprinted: `{\"v\":1,\"run\":\"...\",\"message\":{...},\
         \"attempt\":7}`, with the agent's own JSON as `message`. A line\nthat is no JSON is given as \
         `\"text\":\"...\"`; what another use of the agent printed has `\"call\":3,\
         \"purpose\":\"verify\"`\nin place of `attempt`. Such lines have no `event`, `seq` or `crc`, \
         and lines of more than 4 MiB are left out.\n",
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
        "| usage error | 2 | 2 | the flag, the value and what is allowed |\n\n\
         Where no iteration was finished, `stopped` says: {}.\n\n\
         Everything that cannot be carried out before a run begins (no agent program, the project \
         is in use) exits 1.\n",
        outcome::Outcome::Stopped.sentence(0)
    );
    text
}
