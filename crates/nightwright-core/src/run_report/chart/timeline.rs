//! The timeline of a run: its iterations, and lanes for the activities below them.

use std::time::Duration;

use jiff::Timestamp;

use super::axis::times;
use super::{WIDTH, put, status_class};
use crate::phrases::{self, capitalized};
use crate::results::IterationStatus;
use crate::run_report::page::{Escaped, OwnText, clock};
use crate::run_report::parts::{SpanKind, TimelineSpan};
use crate::run_report::{IterationReport, RunReport, format};
use crate::units::human;

/// The height of a lane before stretching.
const HEIGHT: u32 = 20;
/// Minimum width of a mark, so that it stays visible.
const MIN_WIDTH: f64 = 1.5;
/// Maximum distance between marks that are merged in a crowded lane.
const NEAR: f64 = 1.0;
/// Maximum number of marks that a lane draws without merging.
const MAX_SINGLE_MARKS: usize = 150;
/// Minimum width of a band that shows its number, in percent of the whole.
const MIN_LABEL_WIDTH: f64 = 2.6;

/// The height of a failure inside a mark, in percent of the lane.
const TROUBLE: u32 = 45;

/// The legend: the CSS class of a color, the other classes that share it, and the text.
const LEGEND: [(&str, &[&str], &str); 12] = [
    ("work", &["agent"], "work"),
    ("accepted", &["passed"], "accepted, passed"),
    ("rejected", &[], "claim rejected"),
    ("failed", &["trouble"], "failed"),
    ("work-reported", &[], "work reported"),
    ("idle", &[], "no changes"),
    ("interrupted", &[], "interrupted"),
    ("going", &[], "in progress"),
    ("asked", &[], "model call"),
    ("wait", &[], "waiting"),
    ("away", &[], "no process"),
    ("unknown", &[], "unknown"),
];

/// The lanes below the iterations.
const LANES: [(&str, &[SpanKind]); 4] = [
    ("Agent", &[SpanKind::Attempt]),
    ("Verification", &[SpanKind::Checks, SpanKind::Call]),
    ("Waiting", &[SpanKind::Wait, SpanKind::Retry]),
    ("Idle", &[SpanKind::Pause, SpanKind::Away, SpanKind::Unknown]),
];

/// A mark in a lane.
#[derive(Clone, Debug)]
struct TimelineMark {
    start: f64,
    end: f64,
    class: &'static str,
    title: String,
    label: Option<u32>,
    count: usize,
    /// How much longer its class lasted than all other merged classes.
    lead: f64,
    /// Whether the mark shows a failure, which must stay visible.
    trouble: bool,
    /// The failures among the merged marks.
    inside: Vec<TroubleMark>,
}

/// A failure inside a mark that has another color or is wider.
#[derive(Clone, Debug)]
struct TroubleMark {
    start: f64,
    end: f64,
    class: &'static str,
}

impl TimelineMark {
    /// Merges an adjacent mark. The merged mark has the class that lasted longest, and failures
    /// stay visible.
    fn take_in(&mut self, other: &Self) {
        self.end = self.end.max(other.end);
        self.count += other.count;
        self.outvote(other);
        if other.trouble {
            self.inside.push(other.as_trouble());
        }
    }

    fn as_trouble(&self) -> TroubleMark {
        TroubleMark { start: self.start, end: self.end, class: self.class }
    }

    fn outvote(&mut self, other: &Self) {
        let lasted = other.end - other.start;
        self.lead += if self.class == other.class { lasted } else { -lasted };
        if self.lead < 0.0 {
            self.class = other.class;
            self.lead = -self.lead;
        }
    }
}

/// The scale from times of the run to positions.
#[derive(Clone, Copy, Debug)]
struct TimeScale {
    start: Timestamp,
    whole: Duration,
}

impl TimeScale {
    fn place(self, at: Timestamp) -> f64 {
        let since = Duration::try_from(at.duration_since(self.start)).unwrap_or(Duration::ZERO);
        let whole = self.whole.as_secs_f64();
        if whole > 0.0 { (WIDTH * since.as_secs_f64() / whole).min(WIDTH) } else { 0.0 }
    }
}

/// Draws the timeline; nothing if no time has passed.
pub(in crate::run_report) fn timeline(report: &RunReport) -> OwnText {
    let mut drawing = String::new();
    let ends = report.spans.iter().map(|span| span.end);
    let end = ends.chain(report.last_at).max();
    if let (Some(start), Some(end)) = (report.started_at, end) {
        draw(&mut drawing, report, start, end);
    }
    OwnText(drawing)
}

fn draw(out: &mut String, report: &RunReport, start: Timestamp, end: Timestamp) {
    let whole = Duration::try_from(end.duration_since(start)).unwrap_or(Duration::ZERO);
    let scale = TimeScale { start, whole };
    let mut lanes = vec![("Iterations", "bands", thinned(bands(report, scale, end)))];
    for (name, kinds) in LANES {
        let spans = report.spans.iter().filter(|span| kinds.contains(&span.kind));
        let marks: Vec<_> = spans.map(|span| mark(report, span, scale)).collect();
        if !marks.is_empty() {
            lanes.push((name, "", thinned(marks)));
        }
    }
    put!(out, "<div class=\"timeline\">");
    for (name, class, marks) in &lanes {
        lane(out, name, class, marks);
    }
    put!(out, "<div class=\"lane\"><span></span><div class=\"x\" aria-hidden=\"true\">");
    for (place, tick) in times(whole).iter().enumerate() {
        let left =
            if whole.is_zero() { 0.0 } else { 100.0 * tick.as_secs_f64() / whole.as_secs_f64() };
        let minor = if place % 2 == 1 { " class=\"minor\"" } else { "" };
        put!(out, "<span{minor} style=\"left:{left:.2}%\">{}</span>", tidy(*tick));
    }
    put!(out, "</div></div></div>\n");
    legend(out, lanes.iter().flat_map(|(_, _, marks)| marks));
}

/// Draws the legend of the colors in use.
fn legend<'a>(out: &mut String, marks: impl Iterator<Item = &'a TimelineMark>) {
    let mut there: Vec<&str> = Vec::new();
    for mark in marks {
        for class in mark.inside.iter().map(|trouble| trouble.class).chain([mark.class]) {
            if !there.contains(&class) {
                there.push(class);
            }
        }
    }
    put!(out, "<ul class=\"legend\">");
    for (class, others, words) in LEGEND {
        if there.iter().any(|there| *there == class || others.contains(there)) {
            put!(out, "<li><i class=\"{class}\"></i>{words}</li>");
        }
    }
    put!(out, "</ul>\n");
}

/// Shortens a duration on the axis: `2h` for `2h 00m`.
fn tidy(tick: Duration) -> String {
    let text = human(tick);
    let bare = [" 00s", " 00m", " 0h"].into_iter().find_map(|end| text.strip_suffix(end));
    bare.map_or_else(|| text.clone(), str::to_owned)
}

fn bands(report: &RunReport, scale: TimeScale, end: Timestamp) -> Vec<TimelineMark> {
    let iterations = &report.iterations;
    let next = iterations.iter().skip(1).map(|iteration| Some(iteration.started_at)).chain([None]);
    let band = |(iteration, next): (&IterationReport, Option<Timestamp>)| {
        let until = iteration.ended_at.or(next).unwrap_or(end);
        TimelineMark {
            start: scale.place(iteration.started_at),
            end: scale.place(until),
            class: status_class(iteration.status),
            title: format!(
                "{}: {}; {}",
                capitalized(&phrases::iteration_of_kind(iteration.number, iteration.kind)),
                phrases::iteration_status(iteration.status),
                format::figures(iteration).0
            ),
            label: Some(iteration.number).filter(|number| *number > 0),
            count: 1,
            lead: 0.0,
            trouble: is_trouble(iteration.status),
            inside: Vec::new(),
        }
    };
    iterations.iter().zip(next).map(band).collect()
}

fn is_trouble(fate: IterationStatus) -> bool {
    match fate {
        IterationStatus::Failed
        | IterationStatus::Rejected
        | IterationStatus::Unverified
        | IterationStatus::Impossible
        | IterationStatus::Interrupted => true,
        IterationStatus::Accepted
        | IterationStatus::Work
        | IterationStatus::WorkReported
        | IterationStatus::Idle
        | IterationStatus::Running => false,
    }
}

fn mark(report: &RunReport, span: &TimelineSpan, scale: TimeScale) -> TimelineMark {
    let lasted = Duration::try_from(span.end.duration_since(span.start)).unwrap_or(Duration::ZERO);
    let what = match span.kind {
        SpanKind::Attempt => "agent working",
        SpanKind::Checks => "checks",
        SpanKind::Call => "model call",
        SpanKind::Wait => "waiting",
        SpanKind::Retry => "retry delay",
        SpanKind::Pause => "paused",
        SpanKind::Away => "no process",
        SpanKind::Unknown => "working for part of this time, then no process",
    };
    let said = if span.text.is_empty() { String::new() } else { format!(": {}", span.text) };
    let place = |number| format!("{}, ", capitalized(&phrases::iteration(number)));
    let place = span.iteration.map(place).unwrap_or_default();
    TimelineMark {
        start: scale.place(span.start),
        end: scale.place(span.end),
        class: class(span),
        title: format!("{place}{}, {}: {what}{said}", clock(report, span.start).0, human(lasted)),
        label: None,
        count: 1,
        lead: 0.0,
        trouble: class(span) == "trouble",
        inside: Vec::new(),
    }
}

fn class(span: &TimelineSpan) -> &'static str {
    match (span.kind, span.trouble) {
        (SpanKind::Attempt, false) => "agent",
        (SpanKind::Checks | SpanKind::Attempt, true) => "trouble",
        (SpanKind::Checks, false) => "passed",
        (SpanKind::Call, _) => "asked",
        (SpanKind::Wait | SpanKind::Retry, _) => "wait",
        (SpanKind::Pause | SpanKind::Away, _) => "away",
        (SpanKind::Unknown, _) => "unknown",
    }
}

/// Merges marks that would touch, if there are many.
fn thinned(marks: Vec<TimelineMark>) -> Vec<TimelineMark> {
    if marks.len() <= MAX_SINGLE_MARKS {
        return marks;
    }
    let mut kept: Vec<TimelineMark> = Vec::new();
    for mut mark in marks {
        mark.lead = mark.end - mark.start;
        match kept.last_mut() {
            Some(last) if mark.start - last.end < NEAR && mark.end - last.start < WIDTH / 100.0 => {
                if last.trouble && last.inside.is_empty() {
                    last.inside.push(last.as_trouble());
                }
                last.take_in(&mark);
            }
            Some(_) | None => kept.push(mark),
        }
    }
    for mark in kept.iter_mut().filter(|mark| mark.count > 1) {
        mark.label = None;
        mark.title = format!("{} and {} more", mark.title, mark.count - 1);
        if !mark.inside.is_empty() {
            put!(&mut mark.title, "; {} failed", mark.inside.len());
        }
    }
    kept
}

fn lane(out: &mut String, name: &str, class: &str, marks: &[TimelineMark]) {
    put!(
        out,
        "<div class=\"lane\"><span class=\"name\">{name}</span><div class=\"track {class}\">\
         <svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" role=\"img\" \
         aria-label=\"{name}: {} in chronological order\">",
        marks.len()
    );
    let width = |start: f64, end: f64| {
        // Slightly narrower than its duration, so that neighbours stay distinguishable.
        (end - start - 1.0).max(MIN_WIDTH)
    };
    // Draw narrow marks last, so that a mark widened to the minimum is not hidden by its neighbour.
    let mut order: Vec<&TimelineMark> = marks.iter().collect();
    order.sort_by(|a, b| width(b.start, b.end).total_cmp(&width(a.start, a.end)));
    for TimelineMark { start, end, class, title, inside, .. } in order {
        put!(
            out,
            "<g><title>{}</title><rect class=\"{class}\" x=\"{:.2}\" y=\"0\" width=\"{:.2}\" \
             height=\"{HEIGHT}\"/>",
            Escaped(title),
            start.min(WIDTH - MIN_WIDTH),
            width(*start, *end)
        );
        let height = HEIGHT * TROUBLE / 100;
        for TroubleMark { start, end, class } in inside {
            put!(
                out,
                "<rect class=\"{class}\" x=\"{:.2}\" y=\"{}\" width=\"{:.2}\" height=\"{height}\"/>",
                start.min(WIDTH - MIN_WIDTH),
                HEIGHT - height,
                width(*start, *end)
            );
        }
        put!(out, "</g>");
    }
    put!(out, "</svg>");
    for TimelineMark { start, end, label, .. } in marks {
        let (left, room) = (100.0 * start / WIDTH, 100.0 * (end - start) / WIDTH);
        if let Some(number) = label.filter(|_| room >= MIN_LABEL_WIDTH) {
            let middle = left + room / 2.0;
            put!(out, "<b aria-hidden=\"true\" style=\"left:{middle:.2}%\">{number}</b>");
        }
    }
    put!(out, "</div></div>\n");
}

#[cfg(test)]
mod tests {
    use super::super::length;
    use super::*;

    fn mark(start: f64, end: f64, class: &'static str) -> TimelineMark {
        TimelineMark {
            start,
            end,
            class,
            title: format!("{class} from {start}"),
            label: None,
            count: 1,
            lead: 0.0,
            trouble: class == "trouble",
            inside: Vec::new(),
        }
    }

    #[test]
    fn many_marks_become_few_and_cover_the_same_time() {
        let one = |number: u64| mark(length(number) / 10.0, length(number + 1) / 10.0, "agent");
        let kept = thinned((0..10_000).map(one).collect());
        assert!(kept.len() <= 110, "{}", kept.len());
        assert!((kept.last().unwrap().end - WIDTH).abs() < 0.01);
        assert!(kept[0].title.starts_with("agent from 0 and "), "{}", kept[0].title);
    }

    #[test]
    fn trouble_is_seen_in_marks_that_became_one_and_does_not_color_the_rest() {
        let class = |number: u64| if number % 10 == 3 { "trouble" } else { "agent" };
        let one = |number: u64| mark(length(number), length(number + 1), class(number));
        let kept = thinned((0..1_000).map(one).collect());
        assert!(kept.iter().all(|mark| mark.class == "agent"), "{kept:?}");
        let inside: usize = kept.iter().map(|mark| mark.inside.len()).sum();
        assert_eq!(inside, 100, "{kept:?}");
        let mut out = String::new();
        lane(&mut out, "Agent", "", &kept);
        assert_eq!(out.matches("<rect class=\"trouble\"").count(), 100, "{out}");
        assert!(kept[0].title.ends_with("; 1 failed"), "{}", kept[0].title);
    }

    #[test]
    fn a_short_mark_lies_on_top_of_the_long_one_behind_it() {
        let mut out = String::new();
        lane(&mut out, "Agent", "", &[mark(10.0, 10.1, "trouble"), mark(10.1, 900.0, "agent")]);
        let [short, long] = ["trouble", "agent"].map(|class| {
            out.find(&format!("<rect class=\"{class}\"")).unwrap_or_else(|| panic!("{out}"))
        });
        assert!(long < short, "what comes later is drawn on top: {out}");
    }
}
