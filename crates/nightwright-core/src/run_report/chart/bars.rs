//! A bar chart with one bar per iteration, or per group of iterations if there are too many.

use super::axis::ticks;
use super::{WIDTH, length, put};
use crate::phrases::{self, capitalized};
use crate::run_report::page::{Escaped, OwnText};

/// Maximum number of bars that remain distinguishable.
const MAX_BARS: usize = 120;
/// The height of the drawing before stretching.
const HEIGHT: f64 = 200.0;
/// Maximum width of a bar, so that a single bar does not fill the chart.
const WIDEST: f64 = 70.0;
/// Maximum number of labels below the chart.
const MAX_LABELS: usize = 12;

/// The bar of one iteration.
#[derive(Clone, Debug)]
pub(in crate::run_report) struct Bar {
    /// The number of the iteration.
    pub(in crate::run_report) number: u32,
    /// The parts, from bottom to top.
    pub(in crate::run_report) parts: Vec<BarPart>,
}

#[derive(Clone, Copy, Debug)]
pub(in crate::run_report) struct BarPart {
    /// The CSS class that sets the color.
    pub(in crate::run_report) class: &'static str,
    pub(in crate::run_report) name: &'static str,
    pub(in crate::run_report) value: u64,
}

/// The labels and number formats of a chart.
#[derive(Clone, Copy)]
pub(in crate::run_report) struct BarChart<'a> {
    pub(in crate::run_report) title: &'a str,
    /// The summary of the values shown.
    pub(in crate::run_report) caption: &'a str,
    /// Formats a value for titles and labels.
    pub(in crate::run_report) shown: &'a dyn Fn(u64) -> String,
    /// Formats a value on the axis, given the value and the axis step.
    pub(in crate::run_report) tick: &'a dyn Fn(u64, u64) -> String,
}

/// Draws a chart. A bar for several iterations shows their sum.
pub(in crate::run_report) fn bars(chart: BarChart<'_>, bars: &[Bar]) -> OwnText {
    let mut drawing = String::new();
    draw_chart(&mut drawing, chart, bars);
    OwnText(drawing)
}

fn draw_chart(out: &mut String, chart: BarChart<'_>, bars: &[Bar]) {
    let BarChart { title, caption, shown, tick: on_axis } = chart;
    let size = group_size(bars.len());
    let mut groups: Vec<_> = bars.chunks(size).map(BarGroup::of).collect();
    let order: Vec<_> = kinds(&groups).iter().map(|kind| kind.class).collect();
    for group in &mut groups {
        group.parts.sort_by_key(|part| order.iter().position(|class| *class == part.class));
    }
    let most = groups.iter().map(BarGroup::sum).max().unwrap_or(0);
    let ticks = ticks(most);
    let top = ticks.last().copied().unwrap_or(0).max(1);
    let step = ticks.get(1).copied().unwrap_or(top);
    let together =
        if size > 1 { format!(" Each bar shows {size} iterations.") } else { String::new() };
    put!(
        out,
        "<figure class=\"chart\"><figcaption><h3>{}</h3><p>{}{together}</p></figcaption>\n\
         <div class=\"plot\"><div class=\"y\" aria-hidden=\"true\">",
        Escaped(title),
        Escaped(caption)
    );
    for tick in &ticks {
        let place = percent(length(*tick), length(top));
        put!(out, "<span style=\"bottom:{place}%\">{}</span>", Escaped(&on_axis(*tick, step)));
    }
    put!(
        out,
        "</div><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" role=\"img\" \
         aria-label=\"{}, {} of {} iterations, {} at most\">",
        Escaped(title),
        if size > 1 { "groups" } else { "a bar for each" },
        bars.len(),
        Escaped(&shown(most))
    );
    for tick in &ticks {
        let y = HEIGHT - HEIGHT * length(*tick) / length(top);
        put!(out, "<line class=\"grid\" x1=\"0\" x2=\"{WIDTH}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>");
    }
    for (place, group) in groups.iter().enumerate() {
        draw(out, group, place, groups.len(), top, shown);
    }
    put!(out, "</svg><div class=\"x\" aria-hidden=\"true\">");
    labels(out, &groups);
    put!(out, "</div></div>");
    legend(out, &groups);
    put!(out, "</figure>\n");
}

/// A group of iterations that share a bar.
#[derive(Debug)]
struct BarGroup {
    first: u32,
    last: u32,
    parts: Vec<BarPart>,
}

impl BarGroup {
    fn of(bars: &[Bar]) -> Self {
        let mut parts: Vec<BarPart> = Vec::new();
        for part in bars.iter().flat_map(|bar| &bar.parts) {
            match parts.iter_mut().find(|known| known.class == part.class) {
                Some(known) => known.value = known.value.saturating_add(part.value),
                None => parts.push(*part),
            }
        }
        let number = |bar: Option<&Bar>| bar.map_or(0, |bar| bar.number);
        Self { first: number(bars.first()), last: number(bars.last()), parts }
    }

    fn sum(&self) -> u64 {
        self.parts.iter().fold(0, |sum, part| sum.saturating_add(part.value))
    }

    fn name(&self) -> String {
        if self.first == self.last {
            capitalized(&phrases::iteration(self.first))
        } else {
            format!("Iterations {} to {}", self.first, self.last)
        }
    }
}

/// Returns the number of iterations per bar: 1, or a round number.
fn group_size(count: usize) -> usize {
    let wanted = count.div_ceil(MAX_BARS).max(1);
    let mut power = 1;
    loop {
        for factor in [1, 2, 5] {
            if power * factor >= wanted {
                return power * factor;
            }
        }
        power *= 10;
    }
}

fn draw(
    out: &mut String,
    group: &BarGroup,
    place: usize,
    count: usize,
    top: u64,
    shown: &dyn Fn(u64) -> String,
) {
    let slot = WIDTH / length(count as u64);
    let width = (slot * 0.74).min(WIDEST);
    let x = slot * (length(place as u64) + 0.5) - width / 2.0;
    let mut y = HEIGHT;
    let mut title = format!("{}: {}", group.name(), shown(group.sum()));
    if let [_, _, ..] = group.parts[..] {
        for part in group.parts.iter().filter(|part| part.value > 0) {
            put!(&mut title, "\n{} {}", shown(part.value), part.name);
        }
    } else if let [part] = group.parts[..] {
        put!(&mut title, ", {}", part.name);
    }
    put!(out, "<g><title>{}</title>", Escaped(&title));
    for part in group.parts.iter().filter(|part| part.value > 0) {
        let height = HEIGHT * length(part.value) / length(top);
        y -= height;
        put!(
            out,
            "<rect class=\"{}\" x=\"{x:.2}\" y=\"{y:.2}\" width=\"{width:.2}\" height=\"{height:.2}\"/>",
            part.class
        );
    }
    // The title covers the full height, because a short bar is hard to point at.
    put!(
        out,
        "<rect class=\"hit\" x=\"{:.2}\" y=\"0\" width=\"{slot:.2}\" height=\"{HEIGHT}\"/></g>",
        slot * length(place as u64)
    );
}

fn labels(out: &mut String, groups: &[BarGroup]) {
    let every = groups.len().div_ceil(MAX_LABELS).max(1);
    for (place, group) in groups.iter().enumerate().step_by(every) {
        let center = percent(length(place as u64) + 0.5, length(groups.len() as u64));
        let minor = if place / every % 2 == 1 { " class=\"minor\"" } else { "" };
        let label = if group.first == 0 { "verify".to_owned() } else { group.first.to_string() };
        put!(out, "<span{minor} style=\"left:{center}%\">{label}</span>");
    }
}

/// The distinct parts of the bars, in order of first appearance.
fn kinds(groups: &[BarGroup]) -> Vec<BarPart> {
    let mut kinds: Vec<BarPart> = Vec::new();
    for part in groups.iter().flat_map(|group| &group.parts).filter(|part| part.value > 0) {
        if !kinds.iter().any(|known| known.class == part.class) {
            kinds.push(*part);
        }
    }
    kinds
}

/// Draws the legend of the colors.
fn legend(out: &mut String, groups: &[BarGroup]) {
    let kinds = kinds(groups);
    if kinds.is_empty() {
        return;
    }
    put!(out, "<ul class=\"legend\">");
    for kind in kinds {
        put!(out, "<li><i class=\"{}\"></i>{}</li>", kind.class, Escaped(kind.name));
    }
    put!(out, "</ul>");
}

fn percent(part: f64, whole: f64) -> String {
    format!("{:.2}", if whole > 0.0 { 100.0 * part / whole } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(count: u32) -> String {
        let one = |number| Bar {
            number,
            parts: vec![BarPart { class: "work", name: "work", value: u64::from(number) }],
        };
        let all: Vec<_> = (1..=count).map(one).collect();
        let shown = |value: u64| value.to_string();
        let tick = &|value: u64, _: u64| value.to_string();
        bars(BarChart { title: "Cost", caption: "all", shown: &shown, tick }, &all).0
    }

    #[test]
    fn a_few_iterations_have_a_bar_each() {
        for count in [1, 10, 120] {
            let out = drawn(count);
            assert_eq!(out.matches("class=\"work\" x=").count(), count as usize);
            assert!(!out.contains("Each bar"), "{out}");
        }
    }

    #[test]
    fn many_iterations_share_bars_and_the_page_says_so() {
        let out = drawn(1000);
        assert_eq!(out.matches("class=\"work\" x=").count(), 100);
        assert!(out.contains("Each bar shows 10 iterations."), "{out}");
        assert!(out.contains("Iterations 991 to 1000: 9955, work"), "{out}");
    }

    #[test]
    fn without_iterations_there_is_still_an_axis() {
        assert!(drawn(0).contains("class=\"grid\""));
    }
}
