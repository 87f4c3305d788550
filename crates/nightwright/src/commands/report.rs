//! `nightwright report`: a whole run on a page.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use jiff::Timestamp;
use nightwright_core::run_report::{Commit, ReportContext, RunPaths, RunReport, RunReportBuilder};

use super::masks::{self, MaskedJournalTexts};
use super::select_run::{RunSelector, SelectedRun};
use super::{eprint_safe, json, print};
use crate::error::Failure;
use crate::files;
use crate::paste::from_here;
use crate::workspace;

/// The most commits that are told one by one.
const MAX_COMMITS: usize = 200;

/// What stands for standard output in the place of a file.
const STANDARD_OUTPUT: &str = "-";

/// What the command can be told.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub(super) struct ReportArgs {
    #[command(flatten)]
    which: RunSelector,

    /// As Markdown, for a pull request or a mail [the default]
    #[arg(long, group = "format")]
    markdown: bool,

    /// As one page of HTML that needs nothing else and runs nothing
    #[arg(long, group = "format")]
    html: bool,

    /// As one JSON object
    #[arg(long, group = "format")]
    json: bool,

    /// Write it into this file, `-` for standard output; `.html`, `.md` and `.json` choose the format
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

const AFTER_HELP: &str = "\
Cost per accepted change is the cost of the whole run divided by its commits; in a run without
commits, by the iterations that moved the project forward or whose claim of completion was believed.

The object of --json; times are in UTC, costs in US dollars, what is not known is null, and what is
long is cut and says so:
  run, state        the id of the run; running, gone (its process is, and it has not ended), ended,
                    or unknown (nobody conducts it, and its journal can't be read to its end)
  is_rehearsal      whether the agent was a script (--dry-run): then nothing was spent, and every
                    cost is what the script says
  verdict           verified, judged (by a model), not_verified, not_done, going_on, gone,
                    rehearsed (over, and only a rehearsal) or unknown (the journal can't be read to
                    its end)
  ending, proof, sentence, note, verification
                    the name of the ending, what a completed run rests on (checks, model or
                    none), what it came to in a sentence, what else there is
                    to say, and what became of the last claim
  parameters        {task, goal, mode, only_gate, agent, agent_version, models, more_models,
                    project, git_head, containment, checks, more_checks}; more_... is how
                    many there are beyond those in a list, here and below
  limits            as in the event `run_started`
  started_at, last_at
                    when it began, and when something happened last
  totals            as in the event `run_finished`; while it runs, the time at work goes up to now
  files_changed, progress
                    files changed, each counted once; {completed, total} items of the task
  changes           {files, listed}: the files that differ from the start of the run; listed has
                    {path, added, removed}, in lines, of at most 50
  accepted          {unit (commits or iterations), count, cost_usd}: see above
  before, more_before
                    what happened before the first iteration: a list like `notes`
  iterations        each {number, kind, status, why, started_at, ended_at, duration_ms, cost_usd,
                    estimated_usd, tokens, files_changed, commits, work_progress, progress, phase, claim,
                    attempts, attempt_count, calls, claims, blockers, notes, left_off, summary};
                    number is 0 for a proof without work; status is believed, rejected, work, excused
                    (nothing changed, and the agent's word for it was taken), idle, failed,
                    interrupted or going_on
    attempts        {number, started_at, duration_ms, outcome, sentence, cost_usd, figure, tokens,
                    turns, tool_calls, tool_errors}; duration_ms is null where nobody saw the end
    attempt_count   how many there were
    calls           {number, purpose, duration_ms, sentence, cost_usd, figure, tokens}
    claims          {at, by, checks, more_checks, findings, more_findings, changes, verdict, reason,
                    missing, more_missing, judgement, why}; judgement is open, verified,
                    judged, not_verified, rejected, inconclusive or unaffordable; checks has {command,
                    verdict, output, duration_ms}, findings {path, what}, changes is as in the event
                    `changes_inspected`
    notes           {at, iteration, kind, text}; kind is warning, feedback, watchdog, denied,
                    council, status, steering, wait or baseline
    left_off        how many attempts, calls, claims, blockers and notes there were beyond those
  spans, more_spans what took time: {kind, iteration, start, end, trouble, text}; kind is attempt,
                    checks, call, wait, retry, pause, away (no process conducted the run) or unknown
                    (its process died while something went on, and nobody knows when)
  denied            what the agent was not allowed to do, each {tool, command, rule}: rule is what
                    --allowed-tools takes to allow it, null if no rule does
  blockers, more_blockers
                    what only a person can give
  warnings, more_warnings
                    like `notes`, and how many there were beyond those
  commits           {from, to, listed, unknown}: listed has {hash, at, subject}, unknown says why
                    there are none where there should be some
  next              what to do next
  missing           what of the journal could not be read
  places            {run_folder, journal, log}: where everything is; log is the newest one";

/// How it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReportFormat {
    Markdown,
    Html,
    Json,
}

pub(super) fn report(options: &ReportArgs) -> Result<ExitCode, Failure> {
    let file = options.output.as_deref().filter(|file| *file != Path::new(STANDARD_OUTPUT));
    if let Some(file) = file {
        check(file)?;
    }
    let chronicle = chronicle(&options.which.find()?)?;
    for text in &chronicle.missing {
        eprint_safe(&format!("warning: {text}"));
    }
    let text = match format(options) {
        ReportFormat::Markdown => chronicle.markdown(),
        ReportFormat::Html => chronicle.html(),
        ReportFormat::Json => json(&chronicle)?,
    };
    let text = text.trim_end();
    match file {
        None => print(text)?,
        Some(file) => {
            check(file)?;
            files::replace(file, format!("{text}\n").as_bytes())
                .map_err(|error| Failure::because(&error))?;
            eprint_safe(&format!(
                "wrote the report of run {} into `{}`",
                chronicle.run,
                file.display()
            ));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What was asked for, else what the name of the file says.
fn format(options: &ReportArgs) -> ReportFormat {
    let ending = options.output.as_deref().and_then(Path::extension);
    let ending = ending.map(|ending| ending.to_string_lossy().to_lowercase());
    match (options.markdown, options.html, options.json, ending.as_deref()) {
        (true, ..) => ReportFormat::Markdown,
        (_, true, ..) => ReportFormat::Html,
        (_, _, true, _) => ReportFormat::Json,
        (.., Some("html" | "htm")) => ReportFormat::Html,
        (.., Some("json")) => ReportFormat::Json,
        (.., Some(_) | None) => ReportFormat::Markdown,
    }
}

/// Fails if a file of that name is no plain file: a folder, a link, a device are not written over.
/// So it does without a folder to put it in, which may be a slip of the pen.
fn check(file: &Path) -> Result<(), Failure> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        let message = format!("the folder `{}` is not there", folder.display());
        return Err(Failure::usage(message).hint("make it, or give another name with -o"));
    }
    match fs::symlink_metadata(file) {
        Ok(facts) if !facts.is_file() => {
            let message = format!("`{}` is there and is not a plain file", file.display());
            Err(Failure::usage(message).hint("give another name with -o"))
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

/// The run, as far as its journal can be read.
fn chronicle(found: &SelectedRun) -> Result<RunReport, Failure> {
    let folder = &found.folder;
    let mut builder = RunReportBuilder::new(folder.id().clone());
    let mut masked = MaskedJournalTexts::default();
    let unread = found.walk(|record| {
        masked.record(&record.event);
        builder.record(&record);
    })?;
    let context = ReportContext { is_live: found.owner.is_some(), now: Timestamp::now() };
    let mut report = builder.finish(context, unread);
    for step in &mut report.next {
        *step = from_here(step).into_owned();
    }
    report.places = Some(RunPaths {
        run_folder: folder.path().to_owned(),
        journal: folder.journal(),
        log: folder.logs().pop(),
    });
    if report.totals.commits > 0 {
        match commits(found, &report, &masked) {
            Ok(listed) => report.commits.listed = listed,
            Err(why) => report.commits.unknown = Some(why),
        }
    }
    Ok(report)
}

/// What git says of the commits. Nobody has masked it yet: where we can't, it is not told.
fn commits(
    found: &SelectedRun,
    report: &RunReport,
    masked: &MaskedJournalTexts,
) -> Result<Vec<Commit>, String> {
    let (from, to) = report.commit_range().ok_or("the journal does not name them")?;
    let task = report.parameters.as_ref().and_then(|told| told.task.as_deref());
    let secrets = masks::secrets(&found.project, task, &masked.secrets(&found.folder));
    let secrets =
        secrets.map_err(|failure| format!("what is secret can't be found out: {failure}"))?;
    workspace::commits(&found.project, from, to, MAX_COMMITS, &secrets)
}
