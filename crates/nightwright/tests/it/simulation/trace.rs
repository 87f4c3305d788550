//! The trace of a simulated run, one line per step, for debugging.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::time::Duration;

use nightwright_core::effect::Effect;
use nightwright_core::event::{AttemptEvent, CallEvent, Event, IterationEvent, RunEvent};
use nightwright_core::input::Input;
use nightwright_core::stream::news::AgentNews;
use tokio::time::Instant;

/// The longest line; reports can be long.
const WIDEST: usize = 180;

/// Records lines, or nothing for the thousands of runs that succeed.
#[derive(Clone, Debug)]
pub(super) struct Trace {
    lines: Option<Rc<RefCell<String>>>,
}

impl Trace {
    pub(super) fn off() -> Self {
        Self { lines: None }
    }

    /// Returns the trace of `work`; an error if it panics.
    pub(super) fn of(work: impl FnOnce(Self)) -> Result<String, String> {
        let lines = Rc::new(RefCell::new(String::new()));
        let trace = Self { lines: Some(Rc::clone(&lines)) };
        let done = catch_unwind(AssertUnwindSafe(|| work(trace)));
        let mut text = lines.take();
        match done {
            Ok(()) => Ok(text),
            Err(why) => {
                let why = why.downcast::<String>().map(|why| *why);
                let why = why.unwrap_or_else(|why| {
                    why.downcast::<&str>().map_or_else(|_| "?".to_owned(), |why| why.to_string())
                });
                let _ = writeln!(text, "broken: {why}");
                Err(text)
            }
        }
    }

    /// A line, made only if it is wanted.
    pub(super) fn line(&self, since: Instant, line: impl FnOnce() -> String) {
        let Some(lines) = &self.lines else { return };
        let mut line = line().replace('\n', " ");
        if let Some((end, _)) = line.char_indices().nth(WIDEST) {
            line.truncate(end);
            line.push('…');
        }
        let _ = writeln!(lines.borrow_mut(), "{} {line}", clock(since.elapsed()));
    }
}

/// Formats a time as `1d 02:03:04.567`.
fn clock(time: Duration) -> String {
    let (seconds, millis) = (time.as_secs(), time.subsec_millis());
    let (days, hours) = (seconds / 86_400, seconds / 3600 % 24);
    format!("{days}d {hours:02}:{:02}:{:02}.{millis:03}", seconds / 60 % 60, seconds % 60)
}

/// Formats an input as one line.
pub(super) fn input(input: &Input) -> String {
    match input {
        Input::Agent(id, news) => format!("> attempt {id}: {}", agent_news(news)),
        Input::Call(id, news) => format!("> call {id}: {}", agent_news(news)),
        Input::Surveyed(ticket, survey) => {
            format!("> surveyed {ticket}: {:?} {:?}", survey.mark.fingerprint.0, survey.status)
        }
        other => format!("> {other:?}"),
    }
}

fn agent_news(news: &AgentNews) -> String {
    match news {
        AgentNews::Exited(report) => {
            let (outcome, cost, words) = (&report.outcome, report.cost, &report.text_evidence);
            let tokens = report.tokens.counted();
            format!("exited {outcome:?} {cost:?} {tokens} tokens, promise {}", words.promise)
        }
        AgentNews::Pulse(pulse) => format!("pulse {} tokens", pulse.tokens.counted()),
        other => format!("{other:?}"),
    }
}

/// Formats an event as one line.
pub(super) fn event(event: &Event) -> String {
    let name = event.name();
    let facts = match event {
        Event::Attempt(AttemptEvent::Finished { attempt, cost, figure, report, .. }) => {
            format!("{attempt} {:?} {cost} {figure:?}", report.outcome)
        }
        Event::Call(CallEvent::Finished { call, purpose, cost, figure, report, .. }) => {
            format!("{call} {purpose:?} {:?} {cost} {figure:?}", report.outcome)
        }
        Event::Iteration(IterationEvent::Finished(finished)) => {
            let (number, result) = (finished.iteration, &finished.result);
            format!("{number} {result:?} {:?} ends {:?}", finished.progress, finished.ends)
        }
        Event::Run(RunEvent::Started(started)) => format!("{:?}", started.settings.limits),
        Event::Run(RunEvent::Finished { outcome, note, totals }) => {
            format!("{outcome:?} {note:?} {} {} iterations", totals.cost, totals.iterations)
        }
        other => format!("{other:?}"),
    };
    format!("    {name} {facts}")
}

/// Something is asked for.
pub(super) fn effect(effect: &Effect) -> String {
    match effect {
        Effect::StartAttempt(request) => {
            format!("    -> start attempt {} cap {:?}", request.attempt, request.cap)
        }
        Effect::StartCall(request) => {
            format!("    -> start call {} {:?}", request.call, request.purpose)
        }
        other => format!("    -> {other:?}"),
    }
}
