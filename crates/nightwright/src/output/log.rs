//! The run log: everything about a run in one readable text file, in sections.
//!
//! ```text
//! NIGHTWRIGHT - EXECUTION LOG      settings and prompts, each once
//! ITERATION 1                  text and tool calls of the agent, and events
//!   STATUS: progress           result of the iteration
//! ITERATION 2
//! END OF RUN                   outcome and summary of the run
//! ```
//!
//! The log is buffered. The buffer is flushed after each iteration, when the run waits, after a
//! moment without new text, and at exit. Losing the log does no harm: the first failed write ends
//! it, causes one warning, and never stops or slows the run.

mod out;
mod text;

use std::fmt::{self, Write as _};
use std::io;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use nightwright_core::display::display_safe;
use nightwright_core::event::{
    AttemptEvent, CallEvent, Charge, Event, IterationEvent, IterationFinished, IterationKind,
    IterationResult, OperatorEvent, RunEvent, RunStarted, WaitEvent,
};
use nightwright_core::journal::JournalLine;
use nightwright_core::phrases;
use nightwright_core::redact::Secrets;
use nightwright_core::run_view::RunView;
use nightwright_core::settings::Scope;
use nightwright_core::stream::message::AgentMessage;
use nightwright_core::stream::outcome::{AttemptOutcome, Consequence};

pub use self::out::LogOutput;
use super::page::Page;
use super::style::{OutputCapabilities, Style};
use super::tools::ToolPrinter;
use super::{Reporter, ReporterInput, Speaker, lines, summary};
use crate::config::ColorChoice;

/// The maximum time that text stays in the buffer. Readers see new text soon, and writes are still
/// large.
const FLUSH_INTERVAL: jiff::SignedDuration = jiff::SignedDuration::from_secs(1);

/// Writes the log of a run.
pub struct LogReporter {
    out: LogOutput,
    style: Style,
    zone: TimeZone,
    secrets: Secrets,
    /// The log of an earlier process, which contains the settings and prompts.
    earlier: Option<String>,
    view: RunView,
    tools: ToolPrinter,
    opening: Option<(Timestamp, Box<RunStarted>)>,
    begun: bool,
    /// The event of the resumption, until the header is written.
    continued: Option<JournalLine>,
    /// Settings changed by the resumption.
    changed: Vec<JournalLine>,
    last_written: LastWritten,
    /// The failures of attempts in this iteration.
    failed: Vec<String>,
    flushed: Timestamp,
}

/// The kind of the text written last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LastWritten {
    /// A heading, which needs no gap below it.
    Heading,
    /// Text or tool calls of the agent.
    Words,
    /// Lines that nightwright itself wrote.
    Ours,
}

impl LogReporter {
    /// Writes to `out`. `earlier` is the log of the previous process of this run.
    pub fn new(out: LogOutput, secrets: Secrets, earlier: Option<String>) -> Self {
        let surroundings = OutputCapabilities { utf8: true, ..OutputCapabilities::default() };
        Self {
            out,
            style: Style::new(ColorChoice::Never, &surroundings),
            zone: TimeZone::system(),
            secrets,
            earlier,
            view: RunView::default(),
            tools: ToolPrinter::default(),
            opening: None,
            begun: false,
            continued: None,
            changed: Vec::new(),
            last_written: LastWritten::Heading,
            failed: Vec::new(),
            flushed: Timestamp::UNIX_EPOCH,
        }
    }

    /// Uses another time zone.
    #[must_use]
    pub fn in_zone(self, zone: TimeZone) -> Self {
        Self { style: self.style.in_zone(zone.clone()), zone, ..self }
    }

    fn put(&mut self, text: &str) -> io::Result<()> {
        let text = self.secrets.mask(text);
        self.out.write(text.as_bytes())
    }

    /// Writes an empty line between text of different kinds.
    fn gap(&mut self, next: LastWritten) -> io::Result<()> {
        let needed = self.last_written != next && self.last_written != LastWritten::Heading;
        self.last_written = next;
        if needed { self.put("\n") } else { Ok(()) }
    }

    /// Writes the text of an event, with the time in front.
    fn event_line(&mut self, at: Timestamp, text: &str) -> io::Result<()> {
        let text = text.trim_end();
        if text.is_empty() {
            return Ok(());
        }
        self.gap(LastWritten::Ours)?;
        self.tools.interrupted();
        let time = text::time(&self.zone, at);
        let mut lines = String::new();
        for (index, line) in text.lines().enumerate() {
            // Writing to a string cannot fail.
            let _ = match index {
                0 => writeln!(lines, "[{time}] {}", line.trim_start()),
                _ => writeln!(lines, "{:11}{line}", ""),
            };
        }
        self.put(&lines)
    }

    /// Writes text or tool calls of the agent.
    fn agent_text(&mut self, text: &str) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.gap(LastWritten::Words)?;
        self.put(text)
    }

    /// Writes the remaining text of an agent that has ended. Text is normally written when it is
    /// complete; after a crash, the last text is incomplete.
    fn end_text(&mut self) -> io::Result<()> {
        let mut page = Page::new(&self.style);
        self.tools.end(&mut page);
        let text = page.finish();
        self.agent_text(&text)
    }

    fn heading(&mut self, text: &str) -> io::Result<()> {
        self.last_written = LastWritten::Heading;
        self.tools.interrupted();
        self.put(text)
    }

    /// Writes the header: the settings and prompts, or the log that contains them.
    fn begin(&mut self, line: &JournalLine) -> io::Result<()> {
        if self.begun {
            return Ok(());
        }
        self.begun = true;
        lower_priority();
        if let Event::Run(RunEvent::Started(started)) = &line.record.event {
            self.opening = Some((line.record.at, started.clone()));
        }
        let Some((at, started)) = &self.opening else { return Ok(()) };
        let facts = text::LogHeader {
            run: &line.run,
            started,
            at: *at,
            now: line.record.at,
            earlier: self.earlier.as_deref(),
            limits: phrases::limits(&self.view.limits),
        };
        let mut text = text::head(&self.zone, &facts);
        if self.earlier.is_none() {
            text.push_str(&text::parameters(started));
        }
        self.heading(&text)?;
        let whole = started_scope(self.opening.as_ref()) == Scope::Whole;
        if let (Some(current), true, true) =
            (self.view.iteration, self.view.in_iteration().is_some(), whole)
        {
            let title = format!("ITERATION {} (continued)", current.number);
            self.heading(&text::iteration(&self.zone, &title, current.started_at))?;
        }
        let changed = std::mem::take(&mut self.changed);
        self.continued.take().iter().chain(&changed).try_for_each(|line| self.own(line))
    }

    fn iteration_started(
        &mut self,
        kind: IterationKind,
        number: u32,
        at: Timestamp,
    ) -> io::Result<()> {
        self.failed.clear();
        let title = match kind {
            IterationKind::Work => format!("ITERATION {number}"),
            IterationKind::WrapUp => format!("ITERATION {number} (wrap-up)"),
            IterationKind::VerifyOnly => "VERIFICATION".to_owned(),
        };
        self.heading(&text::iteration(&self.zone, &title, at))
    }

    fn attempt_started(&mut self) -> io::Result<()> {
        let name = text::agent_name(self.opening.as_ref().map(|(_, started)| &started.agent));
        let number = self.view.iteration.map_or(1, |current| current.attempts);
        let again =
            if number > 1 { format!(" ({})", phrases::attempt(number)) } else { String::new() };
        self.heading(&format!("\n{name} OUTPUT{again}:\n"))
    }

    fn attempt_finished(&mut self, at: Timestamp, charge: Charge<'_>) -> io::Result<()> {
        let number = self.view.iteration.map_or(1, |current| current.attempts);
        let outcome = &charge.report.outcome;
        let judged = match outcome.consequence() {
            Consequence::Assess | Consequence::AssessWorkTree => true,
            Consequence::Wait { .. }
            | Consequence::Retry
            | Consequence::FailIteration { .. }
            | Consequence::EndRun { .. } => false,
        };
        // An interrupted attempt has not failed.
        if !judged && *outcome != AttemptOutcome::Interrupted {
            self.failed.push(format!("{}: {}", phrases::attempt(number), outcome.sentence()));
        }
        self.event_line(at, &phrases::attempt_finished(number, charge, self.view.rehearsed()))
    }

    fn iteration_finished(
        &mut self,
        at: Timestamp,
        finished: &IterationFinished,
    ) -> io::Result<()> {
        let mut failed = std::mem::take(&mut self.failed);
        if let IterationResult::Failed { why, .. } = &finished.result {
            // Leave out the cause that is already shown as the error.
            failed.retain(|cause| !cause.ends_with(why.as_str()));
        }
        let text = text::footer(&self.zone, at, &self.view, finished, &failed);
        self.heading(&text)
    }

    fn run_finished(&mut self, line: &JournalLine) -> io::Result<()> {
        let summary = self.view.summary(&line.run);
        let closing = summary::render(&summary, &self.style, None);
        let ended = text::moment(&self.zone, line.record.at);
        let text = format!("{}Ended: {ended}\n\n{closing}", text::banner("END OF RUN"));
        self.heading(&text)
    }

    fn write_out(&mut self, now: Timestamp) -> io::Result<()> {
        self.flushed = now;
        self.out.flush()
    }
}

fn started_scope(opening: Option<&(Timestamp, Box<RunStarted>)>) -> Scope {
    opening.map(|(_, started)| started.settings.scope).unwrap_or_default()
}

/// Lowers the priority of this thread: the agent's work is more urgent than the log.
fn lower_priority() {
    // This affects only the current thread. A failure is harmless.
    let _ = rustix::process::setpriority_process(None, 10);
}

impl Reporter for LogReporter {
    fn past(&mut self, line: &JournalLine) {
        if let Event::Run(RunEvent::Started(started)) = &line.record.event {
            self.opening = Some((line.record.at, started.clone()));
        }
        self.view.record(&line.record);
    }

    fn event(&mut self, line: &JournalLine, _: &[u8]) -> io::Result<()> {
        let at = line.record.at;
        if let Event::Run(RunEvent::Started(_)) = &line.record.event {
            self.view.record(&line.record);
            self.begin(line)?;
            return self.write_out(at);
        }
        if let (Event::Run(RunEvent::Continued { .. }), false) = (&line.record.event, self.begun) {
            // Wait for the changed settings in the next events, because the header shows the
            // limits.
            self.view.record(&line.record);
            self.continued = Some(line.clone());
            return Ok(());
        }
        if let (Event::Operator(OperatorEvent::SettingsChanged { .. }), false) =
            (&line.record.event, self.begun)
        {
            self.view.record(&line.record);
            self.changed.push(line.clone());
            return Ok(());
        }
        self.begin(line)?;
        if line.record.event.ends_agent_output() {
            self.end_text()?;
        }
        self.view.record(&line.record);
        let charge = line.record.event.charge();
        match &line.record.event {
            Event::Iteration(IterationEvent::Started { iteration, kind, .. }) => {
                self.iteration_started(*kind, iteration.0, at)
            }
            Event::Iteration(IterationEvent::Finished(finished)) => {
                self.iteration_finished(at, finished)
            }
            Event::Attempt(AttemptEvent::Started { .. }) => self.attempt_started(),
            Event::Attempt(AttemptEvent::Finished { .. }) => {
                charge.map_or(Ok(()), |charge| self.attempt_finished(at, charge))
            }
            Event::Call(CallEvent::Started { purpose, .. }) => {
                self.own(line)?;
                self.heading(&format!("\n{} OUTPUT:\n", purpose.name().to_uppercase()))
            }
            Event::Call(CallEvent::Finished { .. }) => {
                let rehearsed = self.view.rehearsed();
                let text = charge.map(|charge| phrases::call_finished(charge, rehearsed));
                self.event_line(at, &text.unwrap_or_default())?;
                self.own(line)
            }
            Event::Run(RunEvent::Finished { .. }) => self.run_finished(line),
            Event::Run(_)
            | Event::Iteration(_)
            | Event::Attempt(_)
            | Event::Call(_)
            | Event::Wait(_)
            | Event::Gate(_)
            | Event::Operator(_)
            | Event::Note(_) => self.own(line),
        }?;
        if waits(&line.record.event) { self.write_out(at) } else { Ok(()) }
    }

    fn message(&mut self, speaker: Speaker, message: &AgentMessage<'_>) -> io::Result<()> {
        let mut page = Page::new(&self.style);
        self.tools.message(&mut page, speaker, message);
        let text = page.finish();
        self.agent_text(&text)
    }

    fn note(&mut self, text: &str) -> io::Result<()> {
        self.tools.interrupted();
        self.put(&format!("[{}]\n", display_safe(text)))
    }

    /// Does nothing: [`LogReporter::tick`] flushes the log less often.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn wants(&self) -> ReporterInput {
        ReporterInput::Messages
    }

    fn tick(&mut self, now: Timestamp) -> io::Result<()> {
        let lingers = self.out.holds() && now.duration_since(self.flushed).abs() >= FLUSH_INTERVAL;
        if lingers { self.write_out(now) } else { Ok(()) }
    }

    fn close(&mut self) -> io::Result<()> {
        if let Some(continued) = self.continued.clone() {
            self.begin(&continued)?;
        }
        self.out.flush()
    }
}

impl LogReporter {
    /// Writes the same text for an event as other reporters, and the details that only the log has.
    fn own(&mut self, line: &JournalLine) -> io::Result<()> {
        let mut page = Page::new(&self.style);
        lines::event(&mut page, &self.view, line);
        text::more(&mut page, &line.record.event);
        let text = page.finish();
        self.event_line(line.record.at, &text)
    }
}

/// Whether a long pause may follow this event.
fn waits(event: &Event) -> bool {
    matches!(
        event,
        Event::Iteration(IterationEvent::Finished(_))
            | Event::Wait(WaitEvent::Started { .. } | WaitEvent::RetryScheduled { .. })
            | Event::Operator(OperatorEvent::Paused)
            | Event::Run(RunEvent::Finished { .. })
    )
}

impl fmt::Debug for LogReporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogReporter").field("begun", &self.begun).finish_non_exhaustive()
    }
}
