//! `nightwright report`: generate a report of a run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use jiff::Timestamp;
use nightwright_core::run_report::{Commit, ReportContext, RunReport};
use nightwright_core::run_view::RunView;

use super::cli::known_secrets::{self, MaskedJournalTexts};
use super::cli::select_run::{RunSelector, SelectedRun};
use crate::console::{eprint_safe, json, print};
use crate::error::Failure;
use crate::files;
use crate::paste::from_here;
use crate::workspace;

/// Maximum number of commits that are listed individually.
const MAX_COMMITS: usize = 200;

/// The file name that stands for standard output.
const STANDARD_OUTPUT: &str = "-";

#[derive(Clone, Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub(super) struct ReportArgs {
    #[command(flatten)]
    selector: RunSelector,

    /// Write Markdown, for a pull request or an email (the default)
    #[arg(long, group = "format")]
    markdown: bool,

    /// Write one self-contained HTML page without scripts
    #[arg(long, group = "format")]
    html: bool,

    /// Write one JSON object
    #[arg(long, group = "format")]
    json: bool,

    /// Write to FILE; its extension (`.md`, `.html` or `.json`) selects the format (`-`: standard output)
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

const AFTER_HELP: &str = "\
Cost per accepted change is the cost of the run divided by its commits. For a run without commits, \
nightwright divides it by the iterations that made progress or had an accepted claim.

Fields of the --json object (times are in UTC, costs in US dollars, unknown values are null, and \
truncated texts end with a note):
  run, state        ID of the run; running, ended, crashed (the process exited before the run
                    ended) or unknown (not running, and the journal is unreadable)
  is_rehearsal      whether it is a rehearsal (--dry-run): it spends nothing, and every cost
                    comes from the script
  status            verified, judged (by a model), not_verified, not_done, running, crashed,
                    rehearsed (ended, but only a rehearsal) or unknown (unreadable journal)
  outcome, proof, sentence, note, verification
                    name of the outcome, proof of a completed run (checks, model or none), the
                    outcome in a sentence, a note, and the result of the last claim
  parameters        {task, goal, mode, only_gate, agent, agent_version, models, more_models,
                    project, git_head, containment, sandbox, checks, more_checks,
                    checks_outside}; more_... is the number of entries beyond those listed, here and
                    below; checks_outside are those outside the sandbox, if any
  limits            as in the event `run_started`
  started_at, last_at
                    time of the start, time of the last event
  totals            as in the event `run_finished`; for an active run, with the active time up to
                    now
  files_changed, progress
                    number of changed files; {completed, total} items of the task
  changes           {files, listed}: files that differ from the start of the run; listed has {path,
                    added, removed}, in lines, for up to 50 files
  failing_curve     history of failing tests or checks, as text
  flaky             list of the commands of flaky checks
  accepted          {unit (commits or iterations), count, cost_usd}: see above
  before, more_before
                    events before the first iteration: a list like `notes`
  iterations        each {number, kind, status, why, started_at, ended_at, duration_ms, cost_usd,
                    estimated_usd, tokens, files_changed, commits, work_progress, progress, phase,
                    checks {checks, uncounted (of them without counts), tests, change:
                    first, improved, same or worse},
                    claim, attempts, attempt_count, calls, claims, blockers, notes, omitted,
                    summary}; number is 0 for a verification without work; status is accepted,
                    rejected, unverified (no verdict), work, work_reported (no changes, but the
                    agent reports work), impossible (a model agreed), idle, failed, interrupted or
                    running
    attempts        {number, started_at, duration_ms, outcome, sentence, cost_usd, cost_source,
                    tokens, turns, tool_calls, tool_errors}; duration_ms is null without a
                    recorded end
    attempt_count   number of attempts
    calls           {number, purpose, duration_ms, sentence, cost_usd, cost_source, tokens}
    claims          {at, by, checks, more_checks, findings, more_findings, changes, verdict,
                    second_opinion, reason, missing, more_missing, outcome, why}; second_opinion is
                    other_model or same_model, or absent; outcome is open, verified, judged,
                    not_verified, rejected, impossible, inconclusive or unaffordable; checks has
                    {command, result, output, duration_ms}, findings has {path, what}, changes is
                    as in the event `changes_inspected`
    notes           {at, iteration, kind, text}; kind is warning, feedback, watchdog, denied,
                    council, status, control, wait or baseline
    omitted         number of attempts, calls, claims, blockers and notes beyond those listed
  spans, more_spans periods of time: {kind, iteration, start, end, trouble, text}; kind is attempt,
                    checks, call, wait, retry, pause, away (no process was running) or unknown (the
                    run crashed during it)
  denied            denied commands, each {tool, command, rule}: rule is the value for
                    --allowed-tools that allows it, or null
  hosts, more_hosts
                    hosts that programs in the sandbox contacted, each {host, refused, setting}:
                    refused is null, or why; setting is the line that allows it, or null
  blockers, more_blockers
                    blockers: things that only a person can resolve
  warnings, more_warnings
                    like `notes`, and the number of warnings beyond those listed
  commits           {from, to, listed, unknown}: listed has {hash, at, subject}; unknown says why
                    commits are missing
  next              next steps
  missing           unreadable parts of the journal
  paths             {run_folder, journal, log}: paths; log is the newest log";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReportFormat {
    Markdown,
    Html,
    Json,
}

pub(super) fn report(options: &ReportArgs) -> Result<ExitCode, Failure> {
    let file = options.output.as_deref().filter(|file| *file != Path::new(STANDARD_OUTPUT));
    let format = format(options, file)?;
    if let Some(file) = file {
        check(file)?;
    }
    let report = of_run(&options.selector.find()?)?;
    for text in &report.missing {
        eprint_safe(&format!("warning: {text}"));
    }
    let text = match format {
        ReportFormat::Markdown => report.markdown(),
        ReportFormat::Html => report.html(),
        ReportFormat::Json => json(&report)?,
    };
    let text = text.trim_end();
    match file {
        None => print(text)?,
        Some(file) => {
            check(file)?;
            files::replace(file, format!("{text}\n").as_bytes())
                .map_err(|error| Failure::because(&error))?;
            eprint_safe(&format!("wrote the report of run {} to `{}`", report.run, file.display()));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the requested format, otherwise the one that the file name selects.
fn format(options: &ReportArgs, file: Option<&Path>) -> Result<ReportFormat, Failure> {
    let extension =
        file.and_then(Path::extension).map(|extension| extension.to_string_lossy().to_lowercase());
    match (options.markdown, options.html, options.json, extension.as_deref()) {
        (true, ..) => Ok(ReportFormat::Markdown),
        (_, true, ..) => Ok(ReportFormat::Html),
        (_, _, true, _) => Ok(ReportFormat::Json),
        (.., Some("md" | "markdown" | "txt") | None) => Ok(ReportFormat::Markdown),
        (.., Some("html" | "htm")) => Ok(ReportFormat::Html),
        (.., Some("json")) => Ok(ReportFormat::Json),
        (.., Some(extension)) => Err(Failure::usage(format!(
            "cannot write a report as `.{extension}`"
        ))
        .hint("use a name that ends in .md, .html or .json, or add the format, such as --html")),
    }
}

/// Fails if the path exists and is not a regular file: folders, links and devices are not
/// overwritten. Also fails if the parent folder does not exist, which may be a typo.
fn check(file: &Path) -> Result<(), Failure> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        let message = format!("the folder `{}` does not exist", folder.display());
        return Err(Failure::usage(message).hint("create it, or choose another name with -o"));
    }
    match fs::symlink_metadata(file) {
        Ok(facts) if !facts.is_file() => {
            let message = format!("`{}` exists and is not a regular file", file.display());
            Err(Failure::usage(message).hint("choose another name with -o"))
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Returns the report of a run, as far as its journal can be read.
pub(super) fn of_run(found: &SelectedRun) -> Result<RunReport, Failure> {
    let folder = &found.folder;
    let mut view = RunView::with_history();
    let mut masked = MaskedJournalTexts::default();
    let unread = found.walk(|record| {
        masked.record(&record.event);
        view.record(&record);
    })?;
    let context = ReportContext { is_live: found.owner.is_some(), now: Timestamp::now() };
    let mut report = RunReport::of(folder.id().clone(), view, context, unread);
    for step in &mut report.next {
        *step = from_here(step).into_owned();
    }
    report.places = Some(folder.paths());
    if report.totals.commits > 0 {
        match commits(found, &report, &masked) {
            Ok(listed) => report.commits.listed = listed,
            Err(why) => report.commits.unknown = Some(why),
        }
    }
    Ok(report)
}

/// Returns the commits according to git. Git's output is not masked yet; if the secrets cannot be
/// determined, it is omitted.
fn commits(
    found: &SelectedRun,
    report: &RunReport,
    masked: &MaskedJournalTexts,
) -> Result<Vec<Commit>, String> {
    let (from, to) = report.commit_range().ok_or("the journal does not name them")?;
    let task = report.parameters.as_ref().and_then(|parameters| parameters.task.as_deref());
    let secrets = known_secrets::secrets(&found.project, task, &masked.secrets(&found.folder));
    let secrets =
        secrets.map_err(|failure| format!("cannot determine which values to mask: {failure}"))?;
    workspace::commits(&found.project, from, to, MAX_COMMITS, &secrets)
}
