//! Changes of the status file: which of them are reported, and how they are worded.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Event, IterationEvent, NoteEvent};
use crate::display::one_line;
use crate::evidence::identity;
use crate::input::{StatusReport, TaskProgress};
use crate::outcome::count;

/// Maximum length of a displayed summary, in characters.
const MAX_SUMMARY_CHARS: usize = 200;

/// A field of the status file.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum StatusField {
    /// Whether the work is complete.
    Complete,
    /// How many items are done.
    Progress,
    /// The agent's summary of its work.
    Summary,
    /// The current phase of the task.
    Phase,
    /// The blockers that stop the agent.
    Blockers,
    /// Any other field of the file.
    Other,
}

/// The contents of a status file, for comparison with later versions.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct StatusFacts {
    /// Whether the work is complete.
    pub complete: bool,
    /// Progress of the task; `null` if the file has none.
    pub progress: Option<TaskProgress>,
    /// The agent's summary of its work.
    pub summary: String,
    /// The current phase of the task; `null` if the file has none.
    pub phase: Option<String>,
    /// The keys of the reported blockers.
    pub blockers: Vec<String>,
    /// A key that distinguishes versions of the remaining fields; absent if nightwright ignores
    /// changes to them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other: Option<String>,
}

impl StatusFacts {
    /// Extracts the compared fields from a status file.
    pub fn of(report: &StatusReport, only_meaningful: bool) -> Self {
        Self {
            complete: report.complete,
            // A total of 0 items gives no meaningful progress.
            progress: report.progress.filter(|progress| progress.total > 0),
            summary: report.summary.clone(),
            phase: report.phase.clone(),
            blockers: report.blockers.iter().map(|blocker| blocker.key.clone()).collect(),
            other: (!only_meaningful).then(|| rest_of(report)),
        }
    }

    /// Returns the contents recorded in an event: a change, or the contents before the run.
    pub fn from_event(event: &Event) -> Option<Self> {
        if let Event::Iteration(IterationEvent::Started { status: Some(status), .. }) = event {
            return Some(Self::clone(status));
        }
        let Event::Note(NoteEvent::StatusChanged {
            progress,
            summary,
            complete,
            phase,
            blockers,
            other,
            ..
        }) = event
        else {
            return None;
        };
        Some(Self {
            complete: *complete,
            progress: *progress,
            summary: summary.clone(),
            phase: phase.clone(),
            blockers: blockers.clone(),
            other: other.clone(),
        })
    }

    /// Returns the fields that differ from the earlier contents.
    pub fn changes_since(&self, before: &Self) -> Vec<StatusField> {
        let Self { complete, progress, summary, phase, blockers, other } = self;
        [
            (StatusField::Complete, *complete != before.complete),
            (StatusField::Progress, *progress != before.progress),
            (StatusField::Summary, *summary != before.summary),
            (StatusField::Phase, *phase != before.phase),
            (StatusField::Blockers, *blockers != before.blockers),
            (StatusField::Other, *other != before.other),
        ]
        .into_iter()
        .filter_map(|(field, differs)| differs.then_some(field))
        .collect()
    }

    /// Returns the event for a change; `None` if nothing changed.
    pub fn news(self, before: &Self) -> Option<Event> {
        let changed = self.changes_since(before);
        let done = |facts: &Self| facts.progress.map(|progress| i64::from(progress.completed));
        let delta = done(&self).zip(done(before)).map(|(now, then)| now - then);
        let Self { complete, progress, summary, phase, blockers, other } = self;
        (!changed.is_empty()).then_some(Event::Note(NoteEvent::StatusChanged {
            progress,
            summary,
            complete,
            phase,
            blockers,
            delta,
            changed,
            other,
        }))
    }
}

/// A short key for the remaining fields, such as notes and time.
fn rest_of(report: &StatusReport) -> String {
    let StatusReport { notes, updated, worked, failed, .. } = report;
    identity::key(&format!("{notes:?} {updated:?} {worked:?} {failed:?}"))
}

/// A status change in one line: `35/60 items (+5) - orders moved`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusText<'a> {
    pub progress: Option<TaskProgress>,
    /// Number of items completed since the last report.
    pub delta: Option<i64>,
    pub summary: &'a str,
    pub phase: Option<&'a str>,
    /// Number of reported blockers.
    pub blockers: usize,
    pub complete: bool,
    pub changed: &'a [StatusField],
}

/// Makes a string one line of at most the given number of characters.
type Truncate<'c> = &'c dyn Fn(&str, usize) -> String;

impl<'a> StatusText<'a> {
    /// Returns the text of a status change; `None` for any other event.
    pub fn of(event: &'a Event) -> Option<Self> {
        let Event::Note(NoteEvent::StatusChanged {
            progress,
            summary,
            complete,
            phase,
            blockers,
            delta,
            changed,
            other: _,
        }) = event
        else {
            return None;
        };
        Some(Self {
            progress: *progress,
            delta: *delta,
            summary,
            phase: phase.as_deref(),
            blockers: blockers.len(),
            complete: *complete,
            changed,
        })
    }

    /// The text for the log and for pages, which also names other changed fields.
    pub fn line(&self) -> String {
        self.line_cut_by(one_line)
    }

    /// The text for a console. `cut` shortens long parts and knows which characters the console can
    /// show.
    pub fn line_cut_by(&self, cut: impl Fn(&str, usize) -> String) -> String {
        self.with_end(self.else_changed(&cut), "complete", &cut)
    }

    /// The text for a notification. It names other changed fields only if progress and summary are
    /// unchanged.
    pub fn notification(&self) -> String {
        let new = self.changed.iter().any(|field| match field {
            StatusField::Progress => self.items().is_some(),
            StatusField::Summary => !self.summary.is_empty(),
            StatusField::Complete => self.complete,
            StatusField::Phase | StatusField::Blockers | StatusField::Other => false,
        });
        let also = if new { Vec::new() } else { self.else_changed(&one_line) };
        self.with_end(also, "\u{2705} Complete!", &one_line)
    }

    fn with_end(&self, also: Vec<String>, end: &str, cut: Truncate<'_>) -> String {
        let summary = cut(self.summary, MAX_SUMMARY_CHARS);
        let mut parts: Vec<String> = self.items().into_iter().collect();
        if !summary.is_empty() {
            parts.push(summary);
        }
        parts.extend(also);
        if self.complete {
            parts.push(end.to_owned());
        }
        if parts.is_empty() {
            parts.push(self.otherwise(cut));
        }
        parts.join(" - ")
    }

    /// Changed fields other than progress and summary.
    fn else_changed(&self, cut: Truncate<'_>) -> Vec<String> {
        let parts = self.changed.iter().filter_map(|field| match field {
            StatusField::Phase => Some(match self.shown_phase(cut) {
                Some(phase) => format!("phase: {phase}"),
                None => "no phase".to_owned(),
            }),
            StatusField::Blockers if self.blockers == 0 => Some("no blockers".to_owned()),
            StatusField::Blockers => Some(self.shown_blockers()),
            StatusField::Complete => (!self.complete).then(|| "not complete".to_owned()),
            StatusField::Progress | StatusField::Summary | StatusField::Other => None,
        });
        parts.collect()
    }

    fn items(&self) -> Option<String> {
        // A total of 0 items gives no meaningful progress.
        let TaskProgress { completed, total } =
            self.progress.filter(|progress| progress.total > 0)?;
        let delta = self.delta.filter(|delta| *delta != 0);
        let delta = delta.map(|delta| format!(" ({delta:+})")).unwrap_or_default();
        Some(format!("{completed}/{total} items{delta}"))
    }

    fn shown_phase(&self, cut: Truncate<'_>) -> Option<String> {
        let phase = self.phase.map(|phase| cut(phase, MAX_SUMMARY_CHARS));
        phase.filter(|phase| !phase.is_empty())
    }

    fn shown_blockers(&self) -> String {
        count(u32::try_from(self.blockers).unwrap_or(u32::MAX), "blocker")
    }

    /// The text without progress or summary, if no changed field is named.
    fn otherwise(&self, cut: Truncate<'_>) -> String {
        match (self.shown_phase(cut), self.blockers) {
            (Some(phase), _) => format!("phase: {phase}"),
            (None, 0) => "not complete".to_owned(),
            (None, _) => self.shown_blockers(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(completed: u32, delta: Option<i64>, summary: &str) -> StatusText<'_> {
        StatusText {
            progress: Some(TaskProgress { completed, total: 60 }),
            delta,
            summary,
            phase: None,
            blockers: 0,
            complete: false,
            changed: &[StatusField::Progress, StatusField::Summary],
        }
    }

    #[test]
    fn figures_come_first_and_say_how_many_more() {
        assert_eq!(text(35, Some(5), "orders").line(), "35/60 items (+5) - orders");
        assert_eq!(text(35, Some(-2), "orders").line(), "35/60 items (-2) - orders");
        assert_eq!(text(35, Some(0), "orders").line(), "35/60 items - orders");
        assert_eq!(text(35, None, "").line(), "35/60 items");
    }

    #[test]
    fn the_caller_can_choose_how_to_cut_long_texts() {
        let long = "x".repeat(500);
        let text = StatusText {
            phase: Some(&long),
            changed: &[StatusField::Phase],
            ..text(35, Some(0), &long)
        };
        let line = text.line_cut_by(|text, most| format!("{} of {}", most, text.len()));
        assert_eq!(line, "35/60 items - 200 of 500 - phase: 200 of 500");
        assert!(text.line().ends_with("x…"));
    }

    #[test]
    fn complete_comes_last_and_with_a_sign_in_notifications() {
        let done = StatusText { complete: true, ..text(60, Some(25), "all moved") };
        assert_eq!(done.line(), "60/60 items (+25) - all moved - complete");
        assert_eq!(done.notification(), "60/60 items (+25) - all moved - \u{2705} Complete!");
    }

    #[test]
    fn without_counts_and_summary_the_line_names_the_phase_or_the_blockers() {
        let bare = StatusText { progress: None, ..text(0, None, "") };
        assert_eq!(StatusText { phase: Some("tests"), ..bare }.line(), "phase: tests");
        assert_eq!(StatusText { blockers: 2, ..bare }.line(), "2 blockers");
        assert_eq!(bare.line(), "not complete");
        assert_eq!(StatusText { complete: true, ..bare }.line(), "complete");
    }

    #[test]
    fn a_phase_and_blockers_are_named_where_they_changed() {
        let same = StatusText { phase: Some("tests"), blockers: 2, ..text(35, Some(0), "orders") };
        let with = |changed| StatusText { changed, ..same };
        assert_eq!(with(&[StatusField::Phase]).line(), "35/60 items - orders - phase: tests");
        assert_eq!(with(&[StatusField::Blockers]).line(), "35/60 items - orders - 2 blockers");
        let both = with(&[StatusField::Phase, StatusField::Blockers]);
        assert_eq!(both.line(), "35/60 items - orders - phase: tests - 2 blockers");
        let gone = StatusText { phase: None, blockers: 0, ..both };
        assert_eq!(gone.line(), "35/60 items - orders - no phase - no blockers");
        let back = with(&[StatusField::Complete]);
        assert_eq!(back.line(), "35/60 items - orders - not complete");
        let unsafe_phase =
            StatusText { phase: Some("a\nb\u{1b}[2J"), ..with(&[StatusField::Phase]) };
        assert_eq!(unsafe_phase.line(), "35/60 items - orders - phase: a b");
    }

    #[test]
    fn a_notification_names_them_only_where_nothing_else_is_new() {
        let text = StatusText { phase: Some("tests"), blockers: 1, ..text(35, Some(5), "orders") };
        let all = [StatusField::Progress, StatusField::Phase, StatusField::Blockers];
        let with = |changed| StatusText { changed, ..text }.notification();
        assert_eq!(with(&all), "35/60 items (+5) - orders");
        assert_eq!(with(&all[1..]), "35/60 items (+5) - orders - phase: tests - 1 blocker");
    }

    #[test]
    fn a_total_of_nothing_gives_no_figures() {
        let none = Some(TaskProgress { completed: 7, total: 0 });
        let text = StatusText { progress: none, ..text(0, Some(7), "orders") };
        assert_eq!(text.line(), "orders");
        assert_eq!(text.notification(), "orders");
        assert_eq!(StatusText { summary: "", ..text }.line(), "not complete");
    }

    #[test]
    fn a_summary_is_one_safe_line() {
        let shown = text(1, None, "first\nsecond\u{1b}[2J").line();
        assert_eq!(shown, "1/60 items - first second");
    }

    #[test]
    fn only_what_differs_is_news() {
        let before = StatusFacts {
            progress: Some(TaskProgress { completed: 30, total: 60 }),
            summary: "orders".to_owned(),
            ..StatusFacts::default()
        };
        assert_eq!(before.clone().news(&before), None);
        let now = StatusFacts {
            progress: Some(TaskProgress { completed: 35, total: 60 }),
            ..before.clone()
        };
        let Some(Event::Note(NoteEvent::StatusChanged { delta, changed, .. })) = now.news(&before)
        else {
            panic!("five more items are news")
        };
        assert_eq!((delta, changed), (Some(5), vec![StatusField::Progress]));
    }

    #[test]
    fn the_rest_of_the_file_differs_only_where_it_counts() {
        let none = Some(TaskProgress { completed: 7, total: 0 });
        let report = StatusReport::default();
        let of_nothing = StatusReport { progress: none, ..report.clone() };
        assert_eq!(StatusFacts::of(&of_nothing, true), StatusFacts::of(&report, true));
        let later = StatusReport { updated: Some("now".to_owned()), ..report.clone() };
        let facts = |report, only| StatusFacts::of(report, only);
        assert!(facts(&later, true).changes_since(&facts(&report, true)).is_empty());
        let changes = facts(&later, false).changes_since(&facts(&report, false));
        assert_eq!(changes, [StatusField::Other]);
    }
}
