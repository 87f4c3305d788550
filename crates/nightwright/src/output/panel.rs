//! The panel below the lines: where the run is, what is going on, what can be done about it. At
//! most three lines, made anew each time from what is known.
//!
//! ```text
//! ██████░░░░ 35/60 items · iteration 7/50 · 41m 12s · $1.20 of $10.00 · until about 17:45 · 6m 01s each
//! working · Bash: cargo test --workspace · silent for 12s
//! s stop after this iteration · r retry now
//! ```
//!
//! What does not fit goes, the least telling first; nothing is wrapped.

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
use nightwright_core::units::human;

use super::style::{Style, TextColor};
use super::width::columns;
use crate::paste::from_here;

pub(super) use self::live::{DRAW_INTERVAL, LivePanel};

/// What the agent is doing by the end of its output: the running tool, else the last tool or sentence.
pub(crate) fn doing(dialect: Dialect, output: &Path) -> Option<String> {
    current::doing(dialect, output)
}

/// Between two things.
const DOT: &str = " · ";

/// The columns of the bar, at least and at most.
const BAR: (usize, usize) = (6, 24);

/// More of what somebody else wrote than this is not even looked at, in characters.
const MAX_TEXT_CHARS: usize = 300;

/// What the events do not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PanelActivity<'a> {
    /// The tool that is running, with what it was called with; else the last tool or sentence.
    pub(super) last: Option<&'a str>,
    /// How long the agent has been silent, once that is worth telling.
    pub(super) silent: Option<Duration>,
    /// Whether keys are heard.
    pub(super) keys: bool,
}

/// The panel, each line at most so many columns wide.
pub(super) fn lines(
    view: &RunView,
    outlook: &Estimate,
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
        progress(view, outlook, now, width, style),
        what(view, &activity, doing, now, style).fit(width, style),
    ];
    if doing.keys {
        lines.push(keys(view, &activity).fit(width, style));
    }
    lines.retain(|line| !line.is_empty());
    lines
}

/// How far it is, and what it has cost.
fn progress(
    view: &RunView,
    outlook: &Estimate,
    now: Timestamp,
    width: usize,
    style: &Style,
) -> String {
    let mut parts = PanelParts::default();
    let iteration = view.iteration.map_or(0, |current| current.number.0);
    let most = view.limits.max_iterations;
    let done = match (outlook.progress.filter(|progress| progress.total > 0), most) {
        (Some(progress), _) => {
            parts.add(0, format!("{}/{} items", progress.completed, progress.total));
            Some((progress.completed, progress.total))
        }
        (None, Some(most)) => Some((view.totals.iterations, most)),
        (None, None) => None,
    };
    if !view.is_only_the_gate() && iteration > 0 {
        let weight = if outlook.progress.is_some() { 5 } else { 0 };
        parts.add(
            weight,
            match most {
                Some(most) => format!("iteration {iteration}/{most}"),
                None => format!("iteration {iteration}"),
            },
        );
    }
    parts.add(2, human(whole(outlook.elapsed)));
    let about = if view.totals.estimated.micros() > 0 { "about " } else { "" };
    parts.add(
        1,
        match outlook.budget {
            Some(budget) => {
                format!("{about}{} of {}{}", outlook.cost, budget.exact(), view.rehearsed())
            }
            None => format!("{about}{}{}", outlook.cost, view.rehearsed()),
        },
    );
    if outlook.idle > 0 {
        let limit = match outlook.idle_limit {
            0 => String::new(),
            limit => format!(" of {limit}"),
        };
        parts.inked(3, Some(TextColor::Mixed), format!("idle {}{limit}", outlook.idle));
    }
    if let Some(end) = outlook.estimated_end {
        parts.add(4, format!("until about {}", style.clock(end, now)));
    }
    if let Some(mean) = outlook.mean {
        parts.add(6, format!("{} each", human(whole(mean))));
    }
    let Some((done, total)) = done.filter(|(_, total)| *total > 0) else {
        return parts.fit(width, style);
    };
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
    // An empty part needs no colour.
    let painted = |ink, text: &str| match text {
        "" => String::new(),
        text => style.paint(ink, text),
    };
    format!("{}{}", painted(TextColor::Good, &done), painted(TextColor::Faint, &left))
}

/// What is going on.
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
            parts.inked(0, Some(TextColor::Mixed), text);
            parts.add(2, phrases::limit(*limit).to_owned());
        }
        Activity::Retrying { at, why } => {
            let (_, left) = until(at);
            parts.inked(0, Some(TextColor::Mixed), format!("trying again in {left}"));
            parts.quote(2, why);
        }
        Activity::Checking => {
            parts.add(0, "checking".to_owned());
            for command in view.running_checks() {
                parts.quote(2, command);
            }
        }
        Activity::Asking { purpose } => parts.add(0, phrases::call(*purpose).to_owned()),
        Activity::Paused => {
            parts.inked(0, Some(TextColor::Mixed), "paused".to_owned());
            parts.add(2, from_here("`nightwright resume` continues it").into_owned());
        }
        Activity::Between => parts.add(0, "the next iteration is about to begin".to_owned()),
        Activity::Ended => {}
    }
    match view.stop {
        Some(StopWhen::AfterIteration) if view.in_iteration().is_some() => {
            parts.inked(1, Some(TextColor::Mixed), "stopping after this iteration".to_owned());
        }
        Some(StopWhen::AfterIteration | StopWhen::Now) => {
            parts.inked(1, Some(TextColor::Mixed), "stopping".to_owned());
        }
        None => {}
    }
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

/// The keys that do something now.
fn keys(view: &RunView, activity: &Activity) -> PanelParts {
    let mut parts = PanelParts::default();
    let faint = Some(TextColor::Faint);
    if view.stop.is_none() {
        let stop =
            if view.in_iteration().is_some() { "s stop after this iteration" } else { "s stop" };
        parts.inked(1, faint, stop.to_owned());
    }
    if let Activity::Waiting { .. } = activity {
        parts.inked(0, faint, "r retry now".to_owned());
    }
    parts.inked(2, faint, "Ctrl-C stop now".to_owned());
    parts
}

/// Nobody watches milliseconds.
fn whole(duration: Duration) -> Duration {
    Duration::from_secs(duration.as_secs())
}

/// What could stand on a line.
#[derive(Debug, Default)]
struct PanelParts(Vec<PanelPart>);

#[derive(Debug)]
struct PanelPart {
    /// The higher, the sooner it goes when there is no room.
    weight: u8,
    ink: Option<TextColor>,
    text: String,
    /// What becomes of it when there is only some room.
    tight: OverflowPolicy,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OverflowPolicy {
    /// It goes: half a figure is none.
    Goes,
    /// Its end is cut off.
    Cut,
}

impl PanelParts {
    fn add(&mut self, weight: u8, text: String) {
        self.inked(weight, None, text);
    }

    fn inked(&mut self, weight: u8, ink: Option<TextColor>, text: String) {
        if !text.is_empty() {
            self.0.push(PanelPart { weight, ink, text, tight: OverflowPolicy::Goes });
        }
    }

    /// Words of somebody else, however many.
    fn quote(&mut self, weight: u8, text: &str) {
        // With one character more than is shown, so that whoever cuts it knows that there is more.
        let text = one_line(text, MAX_TEXT_CHARS + 1);
        if !text.is_empty() {
            self.0.push(PanelPart { weight, ink: None, text, tight: OverflowPolicy::Cut });
        }
    }

    /// The line, without what does not fit.
    fn fit(mut self, width: usize, style: &Style) -> String {
        for part in self.0.iter_mut().filter(|part| part.tight == OverflowPolicy::Cut) {
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
            line.push_str(&match part.ink {
                Some(ink) => style.paint(ink, &text),
                None => text,
            });
        }
        line
    }

    /// The first words that can be cut so that all the rest fits, and the room for them.
    fn longest_words(&self, width: usize) -> Option<(usize, usize)> {
        let all = self.columns();
        self.0.iter().enumerate().filter(|(_, part)| part.tight == OverflowPolicy::Cut).find_map(
            |(at, part)| {
                let room = width.checked_sub(all - columns(&part.text))?;
                (room >= MIN_PART_COLUMNS).then_some((at, room))
            },
        )
    }

    fn columns(&self) -> usize {
        let texts: usize = self.0.iter().map(|part| columns(&part.text)).sum();
        texts + columns(DOT) * self.0.len().saturating_sub(1)
    }
}

/// A part that has less room than this left is not worth it, in columns.
const MIN_PART_COLUMNS: usize = 12;
