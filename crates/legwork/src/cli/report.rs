//! `legwork report`: a whole run on a page.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use jiff::Timestamp;
use legwork_core::chronicle::{Chronicle, Chronicler, Teller};

use super::which::{Found, Which, damaged};
use super::{json, print, say};
use crate::error::Failure;
use crate::files;
use crate::journal::{self, JournalError};
use crate::workspace;

/// The most commits that are told one by one.
const MOST_COMMITS: usize = 200;

/// What the command can be told.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub(super) struct Options {
    #[command(flatten)]
    which: Which,

    /// As Markdown, for a pull request or a mail [the default]
    #[arg(long, group = "format")]
    markdown: bool,

    /// As one page of HTML that needs nothing else and runs nothing
    #[arg(long, group = "format")]
    html: bool,

    /// As one JSON object
    #[arg(long, group = "format")]
    json: bool,

    /// Write it into this file; `.html`, `.md` and `.json` choose the format
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

const AFTER_HELP: &str = "\
Cost per accepted change is the cost of the whole run divided by its commits; in a run without
commits, by the iterations that moved the project forward or whose claim of completion was believed.

The object of --json; times are in UTC, costs in US dollars, what is not known is null, and what is
long is cut and says so:
  run, state        the id of the run; running, gone (its process is, and it has not ended) or ended
  verdict           verified, not_verified, not_done, going_on or gone
  ending, sentence, note, verification
                    the name of the ending, what it came to in a sentence, what else there is to
                    say, and what became of the last claim
  told              {task, goal, mode, only_gate, agent, agent_version, models, project, git_head,
                    containment, sandbox, checks}
  limits            as in the event `run_started`
  started_at, last_at
                    when it began, and when something happened last
  totals            as in the event `run_finished`
  files_changed, progress
                    files, summed over the iterations; {completed, total} items of the task
  accepted          {unit (commits or iterations), count, cost_usd}: see above
  before            what happened before the first iteration: a list like `notes`
  iterations        each {number, kind, fate, why, started_at, ended_at, duration_ms, cost_usd,
                    estimated_usd, tokens, files_changed, commits, movement, progress, phase, claim,
                    attempts, calls, claims, blockers, notes, left_off, summary}; fate is believed,
                    rejected, work, idle, failed, interrupted or going_on
    attempts        {number, started_at, duration_ms, outcome, sentence, cost_usd, figure, tokens,
                    turns, tool_calls, tool_errors}
    calls           {number, purpose, duration_ms, sentence, cost_usd, figure, tokens}
    claims          {at, by, checks, findings, changes, verdict, reason, missing, judgement, why};
                    judgement is open, verified, not_verified, rejected, inconclusive or unaffordable
    notes           {at, iteration, kind, text}; kind is warning, feedback, watchdog, denied,
                    council, status, steering, wait or checkpoint
    left_off        how many attempts, calls, claims and notes there were beyond those
  spans             what took time: {kind, iteration, start, end, trouble, text}; kind is attempt,
                    checks, call, wait, retry, pause or away (no process conducted the run)
  blockers          what only a person can give
  warnings, more_warnings
                    like `notes`, and how many there were beyond those
  commits           {from, to, listed, unknown}: listed has {hash, at, subject}, unknown says why
                    there are none where there should be some
  next              what to do next
  missing           what of the journal could not be read";

/// How it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Markdown,
    Html,
    Json,
}

pub(super) fn report(options: &Options) -> Result<ExitCode, Failure> {
    if let Some(file) = &options.output {
        check(file)?;
    }
    let chronicle = chronicle(&options.which.find()?)?;
    for text in &chronicle.missing {
        say(&format!("warning: {text}"));
    }
    let text = match format(options) {
        Format::Markdown => chronicle.markdown(),
        Format::Html => chronicle.html(),
        Format::Json => json(&chronicle)?,
    };
    let text = text.trim_end();
    match &options.output {
        None => print(text)?,
        Some(file) => {
            check(file)?;
            files::replace(file, format!("{text}\n").as_bytes())
                .map_err(|error| Failure::because(&error))?;
            say(&format!("wrote the report of run {} into `{}`", chronicle.run, file.display()));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What was asked for, else what the name of the file says.
fn format(options: &Options) -> Format {
    let ending = options.output.as_deref().and_then(Path::extension);
    let ending = ending.map(|ending| ending.to_string_lossy().to_lowercase());
    match (options.markdown, options.html, options.json, ending.as_deref()) {
        (true, ..) => Format::Markdown,
        (_, true, ..) => Format::Html,
        (_, _, true, _) => Format::Json,
        (.., Some("html" | "htm")) => Format::Html,
        (.., Some("json")) => Format::Json,
        (.., Some(_) | None) => Format::Markdown,
    }
}

/// Fails if a file of that name is no plain file: a folder, a link, a device are not written over.
fn check(file: &Path) -> Result<(), Failure> {
    match fs::symlink_metadata(file) {
        Ok(facts) if !facts.is_file() => {
            let message = format!("`{}` is there and is not a plain file", file.display());
            Err(Failure::usage(message).hint("give another name with -o"))
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

/// The run, as far as its journal can be read.
fn chronicle(found: &Found) -> Result<Chronicle, Failure> {
    let Found { project, folder, owner } = found;
    let path = folder.journal();
    let mut chronicler = Chronicler::new(folder.id().clone());
    let walked = journal::walk(&path, |record| chronicler.record(&record));
    let missing = match walked {
        // Somebody who is just writing has not finished.
        Ok(Some(torn)) if owner.is_none() => {
            vec![format!("the last {} bytes of the journal were not written whole", torn.length)]
        }
        Ok(_) => Vec::new(),
        Err(error) => vec![unreadable(&error)?],
    };
    let teller = Teller { is_live: owner.is_some(), now: Timestamp::now() };
    let mut chronicle = chronicler.finish(teller, missing);
    if chronicle.totals.commits > 0 {
        let listed = match chronicle.commit_range() {
            Some((from, to)) => workspace::commits(project, from, to, MOST_COMMITS),
            None => Err("the journal does not name them".to_owned()),
        };
        match listed {
            Ok(listed) => chronicle.commits.listed = listed,
            Err(why) => chronicle.commits.unknown = Some(why),
        }
    }
    Ok(chronicle)
}

/// What is missing because of an error, if there is anything beside it to tell.
fn unreadable(error: &JournalError) -> Result<String, Failure> {
    match error {
        JournalError::Damaged { .. }
        | JournalError::Newer { .. }
        | JournalError::UnknownEvent { .. } => {
            let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
            Ok(format!("{}: that line and all after it are missing here{hint}", error.reason()))
        }
        JournalError::File(_)
        | JournalError::OtherRun { .. }
        | JournalError::CutBack { .. }
        | JournalError::Failed(_)
        | JournalError::Stopped(_) => Err(damaged(error)),
    }
}
