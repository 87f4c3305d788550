//! Warnings, notes, changed files and commits.

use super::{clock, short};
use crate::input::{ChangedFile, Changes};
use crate::outcome::count;
use crate::phrases;
use crate::run_report::RunReport;
use crate::run_report::page::{OwnText, PageValue, fields};
use crate::run_report::parts::{Commit, CommitList, HostSummary, Note, NoteKind};
use crate::stream::news::Blocker;

/// Returns the first warnings, and the number of further ones.
pub(super) fn warnings(report: &RunReport, most: usize) -> (PageValue, PageValue) {
    let shown = report.warnings.len().min(most);
    let hidden = u32::try_from(report.warnings.len() - shown).unwrap_or(u32::MAX);
    (notes(report, &report.warnings[..shown]), hidden.saturating_add(report.more_warnings).into())
}

pub(super) fn blockers(blockers: &[Blocker]) -> PageValue {
    blockers.iter().map(Blocker::sentence).collect::<Vec<_>>().into()
}

pub(super) fn hosts(report: &RunReport) -> PageValue {
    let line = |one: &HostSummary| match &one.refused {
        None => one.host.clone(),
        Some(why) => format!("{}: refused, because {why}", one.host),
    };
    report.hosts.iter().map(line).collect::<Vec<_>>().into()
}

pub(super) fn notes(report: &RunReport, notes: &[Note]) -> PageValue {
    let note = |note: &Note| {
        fields! {
            at: clock(report, note.at),
            kind: label(note.kind),
            place: note.iteration.map(|number| OwnText(phrases::iteration(number))),
            text: &note.text,
        }
    };
    notes.iter().map(note).collect::<Vec<_>>().into()
}

fn label(kind: NoteKind) -> &'static str {
    match kind {
        NoteKind::Warning => "warning",
        NoteKind::Feedback => "feedback",
        NoteKind::Watchdog => "watchdog",
        NoteKind::Denied => "denied",
        NoteKind::Council => "council",
        NoteKind::Status => "status",
        NoteKind::Control => "control",
        NoteKind::Wait => "wait",
        NoteKind::Baseline => "baseline",
    }
}

pub(super) fn files(report: &RunReport) -> PageValue {
    let file = |file: &ChangedFile| {
        fields! { path: &file.path, added: file.added, removed: file.removed }
    };
    report.changes.listed.iter().map(file).collect::<Vec<_>>().into()
}

/// Number of changed files that are not listed.
pub(super) fn more_files(report: &RunReport) -> PageValue {
    let Changes { files, listed } = &report.changes;
    files.saturating_sub(u32::try_from(listed.len()).unwrap_or(u32::MAX)).into()
}

pub(super) fn commits(report: &RunReport, most: usize) -> PageValue {
    let CommitList { listed, unknown, .. } = &report.commits;
    let made = report.totals.commits;
    let shown = listed.len().min(most);
    // The list from git may itself be incomplete.
    let more = listed.len().max(made as usize) - shown;
    let commit = |commit: &Commit| {
        fields! {
            hash: short(&commit.hash),
            subject: &commit.subject,
            at: commit.at.map(|at| clock(report, at)),
        }
    };
    fields! {
        any: made > 0 || !listed.is_empty(),
        made: made,
        noun: OwnText(count(made, "commit")),
        listed: listed[..shown].iter().map(commit).collect::<Vec<_>>(),
        more: more,
        unknown: unknown,
    }
}
