//! The live panel: when it is drawn, and how lines are written above it.
//!
//! Lines wait for the next redraw, for up to 250 ms, and are written together with the panel. This
//! single write prevents flicker, however fast lines arrive.

use std::io::{self, Write};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use nightwright_core::event::{AttemptEvent, Event};
use nightwright_core::journal::JournalLine;
use nightwright_core::run_view::RunView;
use nightwright_core::stream::message::AgentMessage;
use nightwright_core::stream::transcript::RunningSpend;

use super::current::CurrentActivity;
use super::{PanelActivity, lines};
use crate::output::screen::Screen;
use crate::output::style::Style;

/// The minimum time between two redraws.
pub(in crate::output) const DRAW_INTERVAL: Duration = Duration::from_millis(250);

/// The maximum size of waiting lines, in bytes. Beyond it, they are written immediately.
const MAX_HELD_BYTES: usize = 64 << 10;

/// Events further ahead of the real time than this come from a simulated clock.
const AHEAD: SignedDuration = SignedDuration::from_secs(2);

/// A panel with its state, redrawn regularly.
#[derive(Debug)]
pub(in crate::output) struct LivePanel {
    screen: Screen,
    current: CurrentActivity,
    /// The usage of the running attempt or call, which the totals do not include yet.
    spend: RunningSpend,
    /// Lines waiting for the next redraw.
    held: Vec<u8>,
    /// The lines of the panel on the screen.
    drawn: Vec<String>,
    drawn_at: Option<Timestamp>,
    /// The time of the latest event since the last tick.
    happened: Option<Timestamp>,
    /// How far the run's clock is ahead of the real time, because a simulated run skips its waits.
    ahead: SignedDuration,
}

impl LivePanel {
    pub(in crate::output) fn new(screen: Screen) -> Self {
        Self {
            screen,
            current: CurrentActivity::default(),
            spend: RunningSpend::default(),
            held: Vec::new(),
            drawn: Vec::new(),
            drawn_at: None,
            happened: None,
            ahead: SignedDuration::ZERO,
        }
    }

    /// The width of the terminal, in columns.
    pub(in crate::output) fn width(&self) -> Option<usize> {
        self.screen.width()
    }

    /// Takes an event, which the view already includes.
    pub(in crate::output) fn event(&mut self, view: &RunView, line: &JournalLine) {
        let event = &line.record.event;
        self.current.event(event);
        if let Event::Attempt(AttemptEvent::Started { .. } | AttemptEvent::Finished { .. })
        | Event::Call(_) = event
        {
            let agent = view.facts.as_ref().map(|facts| facts.agent.kind().dialect());
            self.spend = RunningSpend::new(agent.unwrap_or_default());
        }
        self.happened = Some(line.record.at);
    }

    pub(in crate::output) fn message(&mut self, message: &AgentMessage<'_>) {
        self.current.message(message);
        self.spend.message(message);
    }

    pub(in crate::output) fn sign_of_life(&mut self) {
        self.current.sign_of_life();
    }

    /// Queues lines for the next redraw.
    pub(in crate::output) fn hold(&mut self, out: &mut dyn Write, text: &str) -> io::Result<()> {
        self.held.extend_from_slice(text.as_bytes());
        if self.held.len() > MAX_HELD_BYTES { self.clear(out) } else { Ok(()) }
    }

    /// Redraws the panel if it is due.
    pub(in crate::output) fn tick(
        &mut self,
        out: &mut dyn Write,
        view: &RunView,
        style: &Style,
        now: Timestamp,
    ) -> io::Result<()> {
        if self.screen.take_agent_output() {
            self.current.sign_of_life();
        }
        self.current.tick(now);
        if let Some(happened) = self.happened.take() {
            let ahead = happened.duration_since(now);
            self.ahead = if ahead > AHEAD { ahead } else { SignedDuration::ZERO };
        }
        // A redraw is also due if the clock was set back.
        let due = self.drawn_at.is_none_or(|drawn| {
            now < drawn
                || Duration::try_from(now.duration_since(drawn)).unwrap_or(DRAW_INTERVAL)
                    >= DRAW_INTERVAL
        });
        if !due {
            return Ok(());
        }
        let doing = PanelActivity {
            last: self.current.tool().or(self.current.last()),
            silent: self.current.silent(now),
            running: self.spend.cost(),
            keys: self.screen.has_keys(),
        };
        let then = now.checked_add(self.ahead).unwrap_or(now);
        let estimate = view.estimate(then);
        self.drawn = lines(view, &estimate, doing, then, self.screen.columns(), style);
        self.drawn.truncate(self.screen.room());
        self.drawn_at = Some(now);
        let held = std::mem::take(&mut self.held);
        self.screen.show(out, &held, Some(&self.drawn))
    }

    /// Writes all waiting lines and removes the panel.
    pub(in crate::output) fn clear(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let held = std::mem::take(&mut self.held);
        self.screen.show(out, &held, None)
    }
}

#[cfg(test)]
mod tests {
    use nightwright_core::event::{OperatorEvent, Record, RunEvent, samples};
    use nightwright_core::units::RunId;

    use super::*;
    use crate::config::ColorChoice;
    use crate::output::screen::Terminal;
    use crate::output::style::OutputCapabilities;

    /// A terminal with this many rows.
    struct Rows(Option<usize>);

    impl Terminal for Rows {
        fn columns(&self) -> Option<usize> {
            None
        }

        fn rows(&self) -> Option<usize> {
            self.0
        }

        fn takes(&self) -> bool {
            true
        }

        fn is_ours(&self) -> bool {
            true
        }

        fn write(&self, _: &str) -> io::Result<()> {
            Ok(())
        }
    }

    /// A run whose panel is drawn. Times are seconds since its start.
    struct Drawn {
        view: RunView,
        live: LivePanel,
    }

    impl Drawn {
        fn on(rows: Option<usize>) -> Self {
            let screen = Screen::of(Box::new(Rows(rows)));
            screen.set_keys_active(true);
            let mut drawn = Self { view: RunView::default(), live: LivePanel::new(screen) };
            let mut all = samples().into_iter();
            let started = all.find(|event| matches!(event, Event::Run(RunEvent::Started(_))));
            drawn.event(0, started.expect("a sample of each kind"));
            drawn
        }

        fn at(seconds: i64) -> Timestamp {
            Timestamp::UNIX_EPOCH + SignedDuration::from_secs(seconds)
        }

        fn event(&mut self, seconds: i64, event: Event) {
            let record = Record { at: Self::at(seconds), active: Duration::ZERO, event };
            self.view.record(&record);
            let run = RunId("20261115-233412-7f3a".to_owned());
            self.live.event(&self.view, &JournalLine { seq: 1, run, record });
        }

        fn panel(&mut self, seconds: i64) -> Vec<String> {
            let style = Style::new(ColorChoice::Never, &OutputCapabilities::default());
            let mut out = Vec::new();
            let drawn = self.live.tick(&mut out, &self.view, &style, Self::at(seconds));
            drawn.expect("a vector takes anything");
            self.live.drawn.clone()
        }

        #[track_caller]
        fn has_run_for(&mut self, text: &str, seconds: i64) {
            let panel = self.panel(seconds);
            let parts: Vec<_> = panel[0].split(" - ").collect();
            assert!(parts.iter().any(|part| part.ends_with(text)), "not {text}: {panel:?}");
        }
    }

    #[test]
    fn a_screen_that_stood_still_shows_the_right_time_afterwards() {
        let mut drawn = Drawn::on(None);
        drawn.has_run_for("1s", 1);
        // An event that is read late, after the clock has moved on.
        drawn.event(14, Event::Operator(OperatorEvent::Paused));
        drawn.has_run_for("15s", 15);
        drawn.has_run_for("20s", 20);
    }

    #[test]
    fn in_fast_motion_the_clock_is_that_of_the_run() {
        let mut drawn = Drawn::on(None);
        drawn.event(7_200, Event::Operator(OperatorEvent::Paused));
        drawn.has_run_for("2h 00m", 1);
        drawn.event(10_800, Event::Operator(OperatorEvent::Resumed));
        drawn.has_run_for("3h 00m", 2);
    }

    #[test]
    fn an_agent_with_output_is_not_silent_before_anything_is_shown() {
        let mut drawn = Drawn::on(None);
        let mut all = samples().into_iter();
        for wanted in ["iteration_started", "attempt_started"] {
            drawn
                .event(1, all.find(|event| event.name() == wanted).expect("a sample of each kind"));
        }
        drawn.panel(1);
        let screen = drawn.live.screen.clone();
        for seconds in [4, 7, 10] {
            screen.agent_output_seen();
            let panel = drawn.panel(seconds).join("\n");
            assert!(panel.contains("working") && !panel.contains("silent"), "{panel}");
        }
        let panel = drawn.panel(16).join("\n");
        assert!(panel.contains("silent for 6s"), "{panel}");
    }

    #[test]
    fn a_panel_leaves_a_row_to_the_lines() {
        for (rows, most) in [(None, 3), (Some(4), 3), (Some(3), 2), (Some(2), 1), (Some(1), 0)] {
            assert_eq!(Drawn::on(rows).panel(1).len(), most, "{rows:?}");
        }
    }
}
