//! The panel below the lines: progress, current activity and available keys. It has up to three
//! lines, rendered anew each time from the current state.
//!
//! ```text
//! ██████░░░░ 35/60 items · iteration 7/50 · 41m 12s · $1.20 of $10.00 · until about 17:45 · 6m 01s each
//! working · Bash: cargo test --workspace · silent for 12s
//! s stop after this iteration · r retry now
//! ```
//!
//! Parts that do not fit are dropped, the least important first. Lines are never wrapped.

mod current;
mod live;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use nightwright_core::display::one_line;
use nightwright_core::event::StopWhen;
use nightwright_core::phrases;
use nightwright_core::run_view::{Activity, Estimate, RunView};
use nightwright_core::stream::dialect::Dialect;
use nightwright_core::stream::transcript::RunningSpend;
use nightwright_core::units::{Usd, human};

use super::style::{Style, TextColor};
use super::width::columns;
use crate::paste::from_here;

pub(super) use self::live::{DRAW_INTERVAL, LivePanel};

/// Returns what the agent is doing, from the end of its output: the running tool, else its last
/// tool or sentence.
pub(crate) fn doing(dialect: Dialect, output: &Path) -> Option<String> {
    current::doing(dialect, output)
}

/// Returns the usage so far of a running attempt or call, from its output.
pub(crate) fn spent(dialect: Dialect, output: &Path) -> Option<RunningSpend> {
    current::spent(dialect, output)
}

/// The separator between two parts of a line.
const DOT: &str = " · ";

/// The minimum and maximum width of the progress bar, in columns.
const BAR: (usize, usize) = (6, 24);

/// The maximum length of a quoted text before it is fitted to the line, in characters.
const MAX_TEXT_CHARS: usize = 300;

/// The state of the panel that does not come from events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PanelActivity<'a> {
    /// The running tool with its arguments, else the last tool or sentence.
    pub(super) last: Option<&'a str>,
    /// How long the agent has printed nothing, if that is long enough to show.
    pub(super) silent: Option<Duration>,
    /// The estimated cost so far of the running attempt or call, which the totals do not include.
    pub(super) running: Usd,
    /// Whether the terminal accepts keys.
    pub(super) keys: bool,
}

/// Renders the panel. No line is wider than `width` columns.
pub(super) fn lines(
    view: &RunView,
    estimate: &Estimate,
    doing: PanelActivity<'_>,
    now: Timestamp,
    width: usize,
    style: &Style,
) -> Vec<String> {
    let activity = view.activity();
    if activity == Activity::Ended || view.started_at.is_none() {
        return Vec::new();
    }
    let mut lines = vec![
        progress(view, estimate, doing.running, now, width, style),
        what(view, &activity, doing, now, style).fit(width, style),
    ];
    if doing.keys {
        lines.push(keys(view, &activity).fit(width, style));
    }
    lines.retain(|line| !line.is_empty());
    lines
}

/// The line with the progress and the cost.
fn progress(
    view: &RunView,
    estimate: &Estimate,
    running: Usd,
    now: Timestamp,
    width: usize,
    style: &Style,
) -> String {
    let mut parts = PanelParts::default();
    let iteration = view.iteration.map_or(0, |current| current.number.0);
    let most = view.limits.max_iterations;
    let done = match (estimate.progress.filter(|progress| progress.total > 0), most) {
        (Some(progress), _) => {
            parts.add(0, format!("{}/{} items", progress.completed, progress.total));
            Some((progress.completed, progress.total))
        }
        (None, Some(most)) => Some((view.totals.iterations, most)),
        (None, None) => None,
    };
    if !view.is_only_the_gate() && iteration > 0 {
        let weight = if estimate.progress.is_some() { 5 } else { 0 };
        parts.add(
            weight,
            match most {
                Some(most) => format!("iteration {iteration}/{most}"),
                None => format!("iteration {iteration}"),
            },
        );
    }
    parts.add(2, human(whole(estimate.elapsed)));
    let estimated = view.totals.estimated + running;
    let about = if estimated.micros() > 0 { "about " } else { "" };
    let cost = estimate.cost + running;
    let of = estimate.budget.map(|budget| format!(" of {}", budget.exact())).unwrap_or_default();
    parts.add(1, format!("{about}{cost}{of}{}", view.rehearsed()));
    if estimate.idle > 0 {
        let text = phrases::toward_limit("idle", estimate.idle, estimate.idle_limit);
        parts.colored(3, Some(TextColor::Mixed), text);
    }
    let curve = phrases::failing_curve(&view.failing);
    parts.add(3, style.spelled(&curve).into_owned());
    if view.without_gain > 0 {
        let limit = view.facts.as_ref().map_or(0, |facts| facts.no_gain_limit);
        let text = phrases::toward_limit("no improvement", view.without_gain, limit);
        parts.colored(3, Some(TextColor::Mixed), text);
    }
    if let Some(end) = estimate.estimated_end {
        parts.add(4, format!("estimated end {}", style.clock(end, now)));
    }
    if let Some(mean) = estimate.mean {
        parts.add(6, format!("{} per iteration", human(whole(mean))));
    }
    match done.filter(|(_, total)| *total > 0) {
        Some(done) => with_bar(done, parts, width, style),
        None => parts.fit(width, style),
    }
}

/// Puts a bar before the parts, if both fit.
fn with_bar((done, total): (u32, u32), parts: PanelParts, width: usize, style: &Style) -> String {
    let size = (width / 8).clamp(BAR.0, BAR.1);
    let bar = bar(done, total, size.min(width), style);
    match width.checked_sub(size + 1) {
        Some(rest) => format!("{bar} {}", parts.fit(rest, style)),
        None => bar,
    }
}

fn bar(done: u32, total: u32, size: usize, style: &Style) -> String {
    let wide = u64::try_from(size).unwrap_or(0);
    let full = u64::from(done.min(total)) * wide / u64::from(total.max(1));
    let full = usize::try_from(full).unwrap_or(size).min(size);
    let done = style.choose("█", "#").repeat(full);
    let left = style.choose("░", "-").repeat(size - full);
    // Paint no empty text.
    let painted = |color, text: &str| match text {
        "" => String::new(),
        text => style.paint(color, text),
    };
    format!("{}{}", painted(TextColor::Good, &done), painted(TextColor::Faint, &left))
}

/// The line with the current activity.
fn what(
    view: &RunView,
    activity: &Activity,
    doing: PanelActivity<'_>,
    now: Timestamp,
    style: &Style,
) -> PanelParts {
    let mut parts = PanelParts::default();
    let until = |at: &Timestamp| {
        let left = Duration::try_from(at.duration_since(now)).unwrap_or_default();
        (style.clock(*at, now), human(whole(left)))
    };
    match activity {
        Activity::Starting => parts.add(0, "starting".to_owned()),
        Activity::Working { .. } => parts.add(0, "working".to_owned()),
        Activity::Waiting { limit, retry_at } => {
            let (clock, left) = until(retry_at);
            let text = format!("waiting until {clock} ({left} left)");
            parts.colored(0, Some(TextColor::Mixed), text);
            parts.add(2, phrases::limit(*limit).to_owned());
        }
        Activity::Retrying { at, why } => {
            let (_, left) = until(at);
            parts.colored(0, Some(TextColor::Mixed), format!("retrying in {left}"));
            parts.quote(2, why);
        }
        Activity::Checking => {
            parts.add(0, "checking".to_owned());
            for command in view.running_checks() {
                parts.quote(2, command);
            }
        }
        Activity::Asking { purpose } => {
            parts.add(0, phrases::call(*purpose, view.second_opinion()).to_owned());
        }
        Activity::Paused => {
            parts.colored(0, Some(TextColor::Mixed), "paused".to_owned());
            parts.add(2, from_here("`nightwright resume` continues it").into_owned());
        }
        Activity::Between => parts.add(0, "the next iteration is about to begin".to_owned()),
        Activity::Ended => {}
    }
    stopping(&mut parts, view);
    match activity {
        Activity::Working { .. } | Activity::Asking { .. } => {
            if let Some(silent) = doing.silent {
                parts.add(3, format!("silent for {}", human(whole(silent))));
            }
            if let Some(last) = doing.last {
                parts.quote(2, last);
            }
        }
        Activity::Starting
        | Activity::Waiting { .. }
        | Activity::Retrying { .. }
        | Activity::Checking
        | Activity::Paused
        | Activity::Between
        | Activity::Ended => {}
    }
    parts
}

/// Adds that the run is about to stop.
fn stopping(parts: &mut PanelParts, view: &RunView) {
    match view.stop {
        Some(StopWhen::AfterIteration) if view.in_iteration().is_some() => {
            parts.colored(1, Some(TextColor::Mixed), "stopping after this iteration".to_owned());
        }
        Some(StopWhen::AfterIteration | StopWhen::Now) => {
            parts.colored(1, Some(TextColor::Mixed), "stopping".to_owned());
        }
        None => {}
    }
}

/// The line with the available keys.
fn keys(view: &RunView, activity: &Activity) -> PanelParts {
    let mut parts = PanelParts::default();
    let faint = Some(TextColor::Faint);
    if view.stop.is_none() {
        let stop =
            if view.in_iteration().is_some() { "s stop after this iteration" } else { "s stop" };
        parts.colored(1, faint, stop.to_owned());
    }
    if let Activity::Waiting { .. } | Activity::Retrying { .. } = activity {
        parts.colored(0, faint, "r retry now".to_owned());
    }
    parts.colored(2, faint, "Ctrl-C stop now".to_owned());
    parts
}

/// Rounds down to whole seconds.
fn whole(duration: Duration) -> Duration {
    Duration::from_secs(duration.as_secs())
}

/// The parts of a line.
#[derive(Debug, Default)]
struct PanelParts(Vec<PanelPart>);

#[derive(Debug)]
struct PanelPart {
    /// Parts with a higher weight are dropped first.
    weight: u8,
    color: Option<TextColor>,
    text: String,
    /// The treatment of a part that fits only partially.
    overflow: OverflowPolicy,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OverflowPolicy {
    /// Drop the part, because half a figure would be wrong.
    Drop,
    /// Truncate the end of the part.
    Truncate,
}

impl PanelParts {
    fn add(&mut self, weight: u8, text: String) {
        self.colored(weight, None, text);
    }

    fn colored(&mut self, weight: u8, color: Option<TextColor>, text: String) {
        if !text.is_empty() {
            self.0.push(PanelPart { weight, color, text, overflow: OverflowPolicy::Drop });
        }
    }

    /// Adds a string of any length from the agent or the project.
    fn quote(&mut self, weight: u8, text: &str) {
        // Keep one more character than is shown, so that the final truncation is still visible.
        let text = one_line(text, MAX_TEXT_CHARS + 1);
        if !text.is_empty() {
            self.0.push(PanelPart {
                weight,
                color: None,
                text,
                overflow: OverflowPolicy::Truncate,
            });
        }
    }

    /// Renders the line, without the parts that do not fit.
    fn fit(mut self, width: usize, style: &Style) -> String {
        for part in self.0.iter_mut().filter(|part| part.overflow == OverflowPolicy::Truncate) {
            part.text = style.one_line(&part.text, MAX_TEXT_CHARS);
        }
        while self.0.len() > 1 && self.columns() > width {
            if let Some((at, room)) = self.longest_words(width) {
                self.0[at].text = style.cut(&self.0[at].text, room).into_owned();
                break;
            }
            let heaviest = self.0.iter().map(|part| part.weight).max();
            self.0.retain({
                let mut first = true;
                move |part| !(Some(part.weight) == heaviest && std::mem::take(&mut first))
            });
        }
        let dot = style.spell(DOT);
        let faint = style.paint(TextColor::Faint, dot);
        let mut left = width;
        let mut line = String::new();
        for (number, part) in self.0.iter().enumerate() {
            let (gap, shown) = if number == 0 { ("", "") } else { (dot, faint.as_str()) };
            let room = left.saturating_sub(columns(gap));
            if room == 0 {
                break;
            }
            let text = style.cut(&part.text, room).into_owned();
            left = room.saturating_sub(columns(&text));
            line.push_str(shown);
            line.push_str(&match part.color {
                Some(color) => style.paint(color, &text),
                None => text,
            });
        }
        line
    }

    /// Finds the first quotation that can be truncated to make the line fit, and the room for it.
    fn longest_words(&self, width: usize) -> Option<(usize, usize)> {
        let all = self.columns();
        self.0
            .iter()
            .enumerate()
            .filter(|(_, part)| part.overflow == OverflowPolicy::Truncate)
            .find_map(|(at, part)| {
                let room = width.checked_sub(all - columns(&part.text))?;
                (room >= MIN_PART_COLUMNS).then_some((at, room))
            })
    }

    fn columns(&self) -> usize {
        let texts: usize = self.0.iter().map(|part| columns(&part.text)).sum();
        texts + columns(DOT) * self.0.len().saturating_sub(1)
    }
}

/// The minimum width of a truncated part, in columns.
const MIN_PART_COLUMNS: usize = 12;
