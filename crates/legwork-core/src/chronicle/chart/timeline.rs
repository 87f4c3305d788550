//! The run from left to right: its iterations, and below them who had something to do.

use std::time::Duration;

use jiff::Timestamp;

use super::super::html::{Escaped, fate_class, put};
use super::super::parts::{Span, SpanKind};
use super::super::{Chronicle, words};
use super::WIDTH;
use super::axis::times;
use crate::units::human;

/// The height of a lane, before it is stretched.
const HEIGHT: u32 = 20;
/// Nothing is narrower, or it would not be seen.
const NARROWEST: f64 = 1.5;
/// Marks nearer to each other than this become one, where there are many.
const NEAR: f64 = 1.0;
/// So many marks of a lane are drawn one by one.
const MANY: usize = 150;
/// A band has its number in it if it is at least so wide, in hundredths of the whole.
const ROOM: f64 = 2.6;

/// The lanes below the iterations.
const LANES: [(&str, &[SpanKind]); 4] = [
    ("Agent", &[SpanKind::Attempt]),
    ("Proof", &[SpanKind::Checks, SpanKind::Call]),
    ("Waiting", &[SpanKind::Wait, SpanKind::Retry]),
    ("Nobody", &[SpanKind::Pause, SpanKind::Away]),
];

/// A mark in a lane.
#[derive(Clone, Debug)]
struct Mark {
    start: f64,
    end: f64,
    class: &'static str,
    title: String,
    label: Option<u32>,
    count: usize,
    /// By how much more its class lasted than all others in it.
    lead: f64,
}

impl Mark {
    /// Of several marks that became one, the class is that which lasted longest.
    fn outvote(&mut self, other: &Self) {
        let lasted = other.end - other.start;
        self.lead += if self.class == other.class { lasted } else { -lasted };
        if self.lead < 0.0 {
            self.class = other.class;
            self.lead = -self.lead;
        }
    }
}

/// Where something is between the start and the end of the run.
#[derive(Clone, Copy, Debug)]
struct Scale {
    start: Timestamp,
    whole: Duration,
}

impl Scale {
    fn place(self, at: Timestamp) -> f64 {
        let since = Duration::try_from(at.duration_since(self.start)).unwrap_or(Duration::ZERO);
        let whole = self.whole.as_secs_f64();
        if whole > 0.0 { (WIDTH * since.as_secs_f64() / whole).min(WIDTH) } else { 0.0 }
    }
}

/// Draws the timeline; nothing if no time has passed.
pub(in super::super) fn timeline(out: &mut String, chronicle: &Chronicle) {
    let Some(start) = chronicle.started_at else { return };
    let ends = chronicle.spans.iter().map(|span| span.end);
    let Some(end) = ends.chain(chronicle.last_at).max() else { return };
    let whole = Duration::try_from(end.duration_since(start)).unwrap_or(Duration::ZERO);
    let scale = Scale { start, whole };
    put!(out, "<div class=\"timeline\">");
    lane(out, "Iterations", "bands", &thinned(bands(chronicle, scale, end)));
    for (name, kinds) in LANES {
        let spans = chronicle.spans.iter().filter(|span| kinds.contains(&span.kind));
        let marks: Vec<_> = spans.map(|span| mark(span, scale)).collect();
        if !marks.is_empty() {
            lane(out, name, "", &thinned(marks));
        }
    }
    put!(out, "<div class=\"lane\"><span></span><div class=\"x\" aria-hidden=\"true\">");
    for (place, tick) in times(whole).iter().enumerate() {
        let left =
            if whole.is_zero() { 0.0 } else { 100.0 * tick.as_secs_f64() / whole.as_secs_f64() };
        let minor = if place % 2 == 1 { " class=\"minor\"" } else { "" };
        put!(out, "<span{minor} style=\"left:{left:.2}%\">{}</span>", tidy(*tick));
    }
    put!(out, "</div></div></div>\n");
}

/// `2h`, where `2h 00m` would be said elsewhere.
fn tidy(tick: Duration) -> String {
    let text = human(tick);
    let bare = [" 00s", " 00m", " 0h"].into_iter().find_map(|end| text.strip_suffix(end));
    bare.map_or_else(|| text.clone(), str::to_owned)
}

fn bands(chronicle: &Chronicle, scale: Scale, end: Timestamp) -> Vec<Mark> {
    let chapters = &chronicle.iterations;
    let next = chapters.iter().skip(1).map(|chapter| Some(chapter.started_at)).chain([None]);
    let band = |(chapter, next): (&super::super::Chapter, Option<Timestamp>)| {
        let until = chapter.ended_at.or(next).unwrap_or(end);
        Mark {
            start: scale.place(chapter.started_at),
            end: scale.place(until),
            class: fate_class(chapter.fate),
            title: format!(
                "{}: {}; {}",
                words::name(chapter),
                words::fate(chapter.fate),
                words::figures(chapter)
            ),
            label: Some(chapter.number),
            count: 1,
            lead: 0.0,
        }
    };
    chapters.iter().zip(next).map(band).collect()
}

fn mark(span: &Span, scale: Scale) -> Mark {
    let lasted = Duration::try_from(span.end.duration_since(span.start)).unwrap_or(Duration::ZERO);
    let what = match span.kind {
        SpanKind::Attempt => "the agent at work",
        SpanKind::Checks => "checks",
        SpanKind::Call => "a model was asked",
        SpanKind::Wait => "waited",
        SpanKind::Retry => "before another attempt",
        SpanKind::Pause => "paused",
        SpanKind::Away => "nobody conducted the run",
    };
    let said = if span.text.is_empty() { String::new() } else { format!(": {}", span.text) };
    let iteration =
        span.iteration.map(|number| format!("iteration {number}, ")).unwrap_or_default();
    Mark {
        start: scale.place(span.start),
        end: scale.place(span.end),
        class: class(span),
        title: format!("{iteration}{}, {}: {what}{said}", words::clock(span.start), human(lasted)),
        label: None,
        count: 1,
        lead: 0.0,
    }
}

fn class(span: &Span) -> &'static str {
    match (span.kind, span.trouble) {
        (SpanKind::Attempt, false) => "agent",
        (SpanKind::Checks | SpanKind::Attempt, true) => "trouble",
        (SpanKind::Checks, false) => "passed",
        (SpanKind::Call, _) => "asked",
        (SpanKind::Wait | SpanKind::Retry, _) => "wait",
        (SpanKind::Pause | SpanKind::Away, _) => "away",
    }
}

/// Where there are many, those that would touch become one.
fn thinned(marks: Vec<Mark>) -> Vec<Mark> {
    if marks.len() <= MANY {
        return marks;
    }
    let mut kept: Vec<Mark> = Vec::new();
    for mut mark in marks {
        mark.lead = mark.end - mark.start;
        match kept.last_mut() {
            Some(last) if mark.start - last.end < NEAR && mark.end - last.start < WIDTH / 100.0 => {
                last.end = last.end.max(mark.end);
                last.count += 1;
                last.outvote(&mark);
            }
            Some(_) | None => kept.push(mark),
        }
    }
    for mark in kept.iter_mut().filter(|mark| mark.count > 1) {
        mark.label = None;
        mark.title = format!("{} and {} more", mark.title, mark.count - 1);
    }
    kept
}

fn lane(out: &mut String, name: &str, class: &str, marks: &[Mark]) {
    put!(
        out,
        "<div class=\"lane\"><span class=\"name\">{name}</span><div class=\"track {class}\">\
         <svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" role=\"img\" \
         aria-label=\"{name}: {} in the order of time\">",
        marks.len()
    );
    for Mark { start, end, class, title, .. } in marks {
        // A hair less than it lasted, so that neighbours are told apart.
        let width = (end - start - 1.0).max(NARROWEST);
        let start = start.min(WIDTH - NARROWEST);
        put!(
            out,
            "<rect class=\"{class}\" x=\"{start:.2}\" y=\"0\" width=\"{width:.2}\" \
             height=\"{HEIGHT}\"><title>{}</title></rect>",
            Escaped(title)
        );
    }
    put!(out, "</svg>");
    for Mark { start, end, label, .. } in marks {
        let (left, room) = (100.0 * start / WIDTH, 100.0 * (end - start) / WIDTH);
        if let Some(number) = label.filter(|_| room >= ROOM) {
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

    #[test]
    fn many_marks_become_few_and_cover_the_same_time() {
        let one = |number: u64| Mark {
            start: length(number) / 10.0,
            end: length(number + 1) / 10.0,
            class: "agent",
            title: format!("mark {number}"),
            label: None,
            count: 1,
            lead: 0.0,
        };
        let kept = thinned((0..10_000).map(one).collect());
        assert!(kept.len() <= 110, "{}", kept.len());
        assert!((kept.last().unwrap().end - WIDTH).abs() < 0.01);
        assert!(kept[0].title.starts_with("mark 0 and "), "{}", kept[0].title);
    }

    #[test]
    fn marks_that_became_one_have_the_colour_of_what_lasted_longest() {
        let one = |number: u64| Mark {
            start: length(number),
            end: length(number + 1),
            class: if number.is_multiple_of(10) { "trouble" } else { "agent" },
            title: String::new(),
            label: None,
            count: 1,
            lead: 0.0,
        };
        let kept = thinned((0..1_000).map(one).collect());
        assert!(kept.iter().all(|mark| mark.count == 1 || mark.class == "agent"), "{kept:?}");
    }
}
