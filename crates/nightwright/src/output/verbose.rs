//! The verbose output: the progress output, and the agent's messages and tool calls.

use std::io::{self, Write};
use std::time::Duration;

use jiff::Timestamp;
use nightwright_core::event::{AttemptEvent, Event, FeedbackSource, GateEvent, NoteEvent};
use nightwright_core::journal::JournalLine;
use nightwright_core::phrases;
use nightwright_core::run_view::RunView;
use nightwright_core::stream::message::AgentMessage;

use super::page::Page;
use super::progress::ProgressReporter;
use super::style::Style;
use super::tools::ToolPrinter;
use super::{Reporter, ReporterInput, Speaker};

/// Writes the output of [`ProgressReporter`], and the text and tool calls of the agent.
#[derive(Debug)]
pub(super) struct VerboseReporter {
    progress: ProgressReporter,
    tools: ToolPrinter,
}

impl VerboseReporter {
    pub(super) fn new(style: Style, out: Box<dyn Write + Send>) -> Self {
        Self { progress: ProgressReporter::new(style, out), tools: ToolPrinter::default() }
    }

    /// Shows the rest of the text of an agent that has ended.
    fn end(&mut self) -> io::Result<()> {
        let Self { progress, tools } = self;
        progress.write(|page, _| tools.end(page))
    }
}

impl Reporter for VerboseReporter {
    fn past(&mut self, line: &JournalLine) {
        self.progress.past(line);
    }

    fn event(&mut self, line: &JournalLine, raw: &[u8]) -> io::Result<()> {
        let event = &line.record.event;
        if event.ends_agent_output() {
            self.end()?;
        }
        let before = self.progress.written();
        self.progress.event(line, raw)?;
        self.progress.write(|page, view| more(page, view, event))?;
        if self.progress.written() > before {
            self.tools.interrupted();
        }
        Ok(())
    }

    fn message(&mut self, speaker: Speaker, message: &AgentMessage<'_>) -> io::Result<()> {
        self.progress.message(speaker, message)?;
        let Self { progress, tools } = self;
        progress.write(|page, _| tools.message(page, speaker, message))
    }

    fn raw(&mut self, speaker: Speaker, line: &[u8]) -> io::Result<()> {
        self.progress.raw(speaker, line)
    }

    fn note(&mut self, text: &str) -> io::Result<()> {
        self.tools.interrupted();
        self.progress.note(text)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.progress.flush()
    }

    fn wants(&self) -> ReporterInput {
        ReporterInput::Everything
    }

    fn tick(&mut self, now: Timestamp) -> io::Result<()> {
        self.progress.tick(now)
    }

    fn pace(&self) -> Option<Duration> {
        self.progress.pace()
    }

    fn close(&mut self) -> io::Result<()> {
        self.end()?;
        self.progress.close()
    }
}

/// Writes the details of an event that only the verbose output shows.
fn more(page: &mut Page<'_>, view: &RunView, event: &Event) {
    if let Event::Attempt(AttemptEvent::AgentReady { ready, .. }) = event {
        page.aside(&format!("{}, version {}", ready.model, ready.version));
    } else if let (Event::Attempt(_), Some(charge)) = (event, event.charge()) {
        let number = view.iteration.map_or(1, |current| current.attempts);
        page.aside(&phrases::attempt_finished(number, charge, view.rehearsed()));
    } else if let Event::Gate(GateEvent::Started { claim, .. }) = event {
        page.aside(&phrases::claimed_by(claim));
    } else if let Event::Note(NoteEvent::FeedbackAdded { source, text }) = event
        && *source != FeedbackSource::Human
    {
        page.aside(&format!("for the next iteration: {text}"));
    }
}
