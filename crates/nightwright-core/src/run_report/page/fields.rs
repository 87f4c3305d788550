//! The variables of the templates: what the pages show of a report, as records of page values.

mod claims;
mod figures;
mod iterations;
mod lists;

use jiff::Timestamp;

use super::{OwnText, PageFormat, PageValue, fields};
use crate::phrases::{self, capitalized};
use crate::results::ReportStatus;
use crate::run_report::parts::RunPaths;
use crate::run_report::{RunParameters, RunReport, chart, format};
use crate::run_view::Liveness;

const STYLE: &str = include_str!("style.css");

/// Explains the cost per accepted change.
const ACCEPTED_MEANING: &str = "Cost per accepted change is the cost of the run, including calls, \
    divided by its commits. Without commits, nightwright divides it by the iterations that made \
    progress or had an accepted claim.";

/// The maximum lengths of the lists on a page.
#[derive(Clone, Copy, Debug)]
struct PageLimits {
    claims: usize,
    /// Iterations at the beginning and at the end. Others are omitted.
    iterations: (usize, usize),
    commits: usize,
    warnings: usize,
}

/// A Markdown page is meant for a pull request. An HTML page must open in a browser.
const MARKDOWN: PageLimits =
    PageLimits { claims: 5, iterations: (0, 100), commits: 50, warnings: 20 };
const HTML: PageLimits =
    PageLimits { claims: 12, iterations: (1000, 1000), commits: usize::MAX, warnings: 40 };

/// Returns the variables of a template.
pub(super) fn of(report: &RunReport, format: PageFormat) -> PageValue {
    let limits = match format {
        PageFormat::Markdown => MARKDOWN,
        PageFormat::Html => HTML,
    };
    let (claims, hidden_claims) = claims::of(report, limits.claims);
    let (warnings, more_warnings) = lists::warnings(report, limits.warnings);
    let mut all = head(report);
    all.extend(figures::of(report));
    all.extend([
        ("claims", claims),
        ("hidden_claims", hidden_claims),
        ("flaky", (&report.flaky).into()),
        ("denied", report.denied.iter().map(phrases::denied).collect::<Vec<_>>().into()),
        ("hosts", lists::hosts(report)),
        ("more_hosts", report.more_hosts.into()),
        ("blockers", lists::blockers(&report.blockers)),
        ("more_blockers", report.more_blockers.into()),
        ("warnings", warnings),
        ("more_warnings", more_warnings),
        ("files", lists::files(report)),
        ("more_files", lists::more_files(report)),
        ("commits", lists::commits(report, limits.commits)),
        ("before", lists::notes(report, &report.before)),
        ("more_before", report.more_before.into()),
        ("iterations", iterations::of(report, limits.iterations)),
        ("parameters", report.parameters.as_ref().map(parameters).into()),
        ("limits", phrases::limits(&report.limits).into()),
        ("places", report.places.as_ref().map(places).into()),
        ("accepted_meaning", ACCEPTED_MEANING.into()),
    ]);
    if format == PageFormat::Html {
        all.extend([
            ("style", STYLE.into()),
            ("timeline", chart::timeline(report).into()),
            ("charts", figures::charts(report).into()),
        ]);
    }
    PageValue::record(all)
}

/// The headline and what belongs to it.
fn head(report: &RunReport) -> Vec<(&'static str, PageValue)> {
    let only_gate = report.parameters.as_ref().is_some_and(|parameters| parameters.only_gate);
    let headline = capitalized(phrases::report_status(report.status, only_gate));
    let goal = report.parameters.as_ref().filter(|parameters| parameters.task.is_some());
    vec![
        ("title", title(report).into()),
        ("headline", OwnText(headline).into()),
        ("tone", tone(report.status).into()),
        ("sentence", (&report.sentence).into()),
        ("verification", (&report.verification).into()),
        ("note", (&report.note).into()),
        ("banners", banners(report).into()),
        ("missing", (&report.missing).into()),
        ("next", report.next.iter().map(|step| capitalized(step)).collect::<Vec<_>>().into()),
        ("goal_line", goal.and_then(|parameters| first_line(&parameters.goal)).into()),
        ("run", (&report.run.0).into()),
        ("started", report.started_at.map(format::date).into()),
        ("last", report.last_at.map(format::date).into()),
        ("has_ended", report.outcome.is_some().into()),
        ("is_rehearsal", report.is_rehearsal.into()),
    ]
}

fn title(report: &RunReport) -> String {
    let parameters = report.parameters.as_ref();
    let name = parameters.and_then(|given| given.task.clone().or_else(|| first_line(&given.goal)));
    let name = name.unwrap_or_else(|| format!("run {}", report.run));
    let only_gate = parameters.is_some_and(|parameters| parameters.only_gate);
    if only_gate { format!("Verification of {name}") } else { name }
}

fn first_line(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    line.map(|line| crate::display::one_line(line, 120))
}

/// The CSS class for an overall result.
fn tone(status: ReportStatus) -> &'static str {
    match status {
        ReportStatus::Verified => "good",
        ReportStatus::NotDone | ReportStatus::Crashed => "bad",
        ReportStatus::Running => "live",
        ReportStatus::Judged
        | ReportStatus::NotVerified
        | ReportStatus::Rehearsed
        | ReportStatus::Unknown => "mixed",
    }
}

/// Prominent notices that the run is a rehearsal or that the report is incomplete.
fn banners(report: &RunReport) -> Vec<OwnText> {
    let rehearsal = format!("This is a rehearsal: {}.", phrases::REHEARSAL);
    let preliminary = match report.state {
        Liveness::Running => Some("The run is still in progress."),
        Liveness::Crashed => Some("The run crashed."),
        Liveness::Ended | Liveness::Unknown => None,
    };
    let rehearsal = report.is_rehearsal.then_some(rehearsal);
    rehearsal.into_iter().chain(preliminary.map(str::to_owned)).map(OwnText).collect()
}

fn parameters(parameters: &RunParameters) -> PageValue {
    let version = parameters.agent_version.clone();
    fields! {
        task: &parameters.task,
        goal: &parameters.goal,
        mode: &parameters.mode,
        agent: &parameters.agent,
        version: version.map_or_else(|| "unknown version".into(), PageValue::from),
        models: parameters.models.join(", "),
        more_models: parameters.more_models,
        project: &parameters.project,
        git_head: &parameters.git_head,
        short_head: parameters.git_head.as_deref().map(short),
        containment: &parameters.containment,
        sandbox: &parameters.sandbox,
        checks: parameters.checks.join(" · "),
        more_checks: parameters.more_checks,
        checks_outside: parameters.checks_outside.join(" · "),
    }
}

fn places(RunPaths { run_folder, journal, log }: &RunPaths) -> PageValue {
    fields! {
        run_folder: run_folder.display().to_string(),
        journal: journal.display().to_string(),
        log: log.as_ref().map(|log| log.display().to_string()),
    }
}

/// The first characters of a commit's hash.
fn short(hash: &str) -> String {
    hash.get(..10).unwrap_or(hash).to_owned()
}

/// A time of the run, with the day if the run spans several days.
pub(in crate::run_report) fn clock(report: &RunReport, at: Timestamp) -> OwnText {
    let day = |at: Timestamp| at.strftime("%F").to_string();
    let first = day(at);
    let mut known = [report.started_at, report.last_at].into_iter().flatten();
    let is_one_day = known.all(|other| day(other) == first);
    let format = if is_one_day { "%H:%M:%S" } else { "%m-%d %H:%M:%S" };
    OwnText(at.strftime(format).to_string())
}
