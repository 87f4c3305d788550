//! Reporters: the output of a run for people and programs while it is running.
//!
//! A reporter reads events and messages and writes output. It cannot request or change anything.
//! [`follow`] feeds reporters without delaying the loop.
//!
//! | level | output |
//! | --- | --- |
//! | quiet | nothing |
//! | progress | one or two lines per important event |
//! | verbose | also the messages and tool calls of the agent |
//! | json | the lines of the journal, unchanged; on request also the lines of the agent |
//!
//! All text from the agent, its tools or the project passes through
//! [`display_safe`](nightwright_core::display::display_safe) before it reaches a terminal. No
//! meaning depends on color alone.

pub mod decisions;
pub mod follow;
mod json;
mod lines;
pub mod log;
pub mod notify;
mod page;
mod panel;
mod progress;
mod screen;
pub mod style;
pub mod summary;
mod tools;
mod verbose;
mod width;
pub(crate) mod wrap;

use std::io::{self, BufWriter, Write};
use std::time::Duration;

use jiff::Timestamp;
use nightwright_core::event::CallPurpose;
use nightwright_core::journal::JournalLine;
use nightwright_core::stream::message::AgentMessage;
use nightwright_core::units::{AttemptId, CallId};

use crate::config::OutputLevel;
pub(crate) use panel::{doing, spent};
pub use progress::ProgressReporter;
pub use screen::Screen;
pub use style::{OutputCapabilities, Style};

/// Shows a run. After the first error, the reporter is not called again.
pub trait Reporter {
    /// Takes an event from before this process took over the run. It is already shown, so the
    /// reporter only updates its state.
    fn past(&mut self, _: &JournalLine) {}

    /// Shows an event. `raw` is its journal line, without the newline.
    fn event(&mut self, line: &JournalLine, raw: &[u8]) -> io::Result<()>;

    /// Shows a message of the agent.
    fn message(&mut self, _: Speaker, _: &AgentMessage<'_>) -> io::Result<()> {
        Ok(())
    }

    /// Takes a raw line of the agent's output, before the messages decoded from it.
    fn raw(&mut self, _: Speaker, _: &[u8]) -> io::Result<()> {
        Ok(())
    }

    /// Shows a note about the output itself.
    fn note(&mut self, _: &str) -> io::Result<()> {
        Ok(())
    }

    /// Writes out everything buffered so far.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// The input that the reporter needs; decoding the agent's messages has a cost.
    fn wants(&self) -> ReporterInput {
        ReporterInput::Events
    }

    /// Updates output that depends on the current time.
    fn tick(&mut self, _: Timestamp) -> io::Result<()> {
        Ok(())
    }

    /// The interval between calls of [`Reporter::tick`], if the reporter needs them.
    fn pace(&self) -> Option<Duration> {
        None
    }

    /// Ends the output. The current contents of the screen stay visible.
    fn close(&mut self) -> io::Result<()> {
        self.flush()
    }
}

/// The input that a reporter needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReporterInput {
    /// Only the events of the journal.
    Events,
    /// Events and complete messages of the agent.
    Messages,
    /// Events, complete messages and partial text.
    Everything,
}

/// The source of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// An attempt of the current iteration.
    Attempt(AttemptId),
    /// A call, such as a verdict or a review.
    Call(CallId, CallPurpose),
}

/// Creates the reporter for an output level.
pub fn reporter(
    level: OutputLevel,
    style: Style,
    out: Box<dyn Write + Send>,
) -> Box<dyn Reporter + Send> {
    match level {
        OutputLevel::Quiet => Box::new(QuietReporter),
        OutputLevel::Progress => Box::new(ProgressReporter::new(style, out)),
        OutputLevel::Verbose => Box::new(verbose::VerboseReporter::new(style, out)),
        OutputLevel::Json => Box::new(json::JsonReporter::new(out)),
        OutputLevel::JsonMessages => Box::new(json::JsonReporter::with_messages(out)),
    }
}

/// Buffered, so that related lines are written together.
type BufferedOutput = BufWriter<Box<dyn Write + Send>>;

/// A reporter without any output.
#[derive(Debug)]
struct QuietReporter;

impl Reporter for QuietReporter {
    fn event(&mut self, _: &JournalLine, _: &[u8]) -> io::Result<()> {
        Ok(())
    }
}
