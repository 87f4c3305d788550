//! What people and programs see of a run while it goes on.
//!
//! A reporter reads events and messages and writes; it can ask for nothing and change nothing. How
//! it gets them without ever holding up the loop is [`publish`](crate::output::follow)'s business.
//!
//! | level | gets |
//! | --- | --- |
//! | quiet | nothing |
//! | progress | what happened, a line or two for each thing that matters |
//! | verbose | that, and what the agent says and does |
//! | json | the lines of the journal, byte by byte; the lines of the agent, if they are asked for |
//!
//! Whatever came from the agent, its tools or the project passes
//! [`display_safe`](nightwright_core::display::display_safe) on its way to a terminal. No colour
//! carries a meaning that the words do not.

pub mod decisions;
pub mod follow;
pub mod hooks;
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

use std::io::{self, BufWriter, Write};
use std::time::Duration;

use jiff::Timestamp;
use nightwright_core::event::CallPurpose;
use nightwright_core::journal::JournalLine;
use nightwright_core::stream::message::AgentMessage;
use nightwright_core::units::{AttemptId, CallId};

pub(crate) use panel::doing;
pub use progress::ProgressReporter;
pub use screen::Screen;
pub use style::{ColorChoice, OutputCapabilities, Style};

/// Shows a run. An error means that nobody can see it any more; it is not called again then.
pub trait Reporter {
    /// Something that happened before this process took the run over: good to know, and shown
    /// already.
    fn past(&mut self, line: &JournalLine);

    /// Something happened. `raw` is the line as it stands in the journal, without its newline.
    fn event(&mut self, line: &JournalLine, raw: &[u8]) -> io::Result<()>;

    /// The agent said or did something.
    fn message(&mut self, speaker: Speaker, message: &AgentMessage<'_>) -> io::Result<()>;

    /// The agent printed a line: the one whose messages follow.
    fn raw(&mut self, _: Speaker, _: &[u8]) -> io::Result<()> {
        Ok(())
    }

    /// Something about the display itself.
    fn note(&mut self, text: &str) -> io::Result<()>;

    /// Gets out everything so far.
    fn flush(&mut self) -> io::Result<()>;

    /// What it wants to know; reading the agent's words costs something.
    fn wants(&self) -> ReporterInput;

    /// Time goes by.
    fn tick(&mut self, _: Timestamp) -> io::Result<()> {
        Ok(())
    }

    /// How often it wants to know that time goes by, if it does.
    fn pace(&self) -> Option<Duration> {
        None
    }

    /// Nothing more will come: what is shown is left as it is to stay.
    fn close(&mut self) -> io::Result<()> {
        self.flush()
    }
}

/// What a reporter wants to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReporterInput {
    /// Events.
    Events,
    /// And what the agent said, once it has said it.
    Messages,
    /// And what it is just saying.
    Everything,
}

/// Whose words they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// The agent at work.
    Attempt(AttemptId),
    /// One that was asked for something else.
    Call(CallId, CallPurpose),
}

/// How much is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum OutputLevel {
    /// Only errors
    Quiet,
    /// One line per event
    #[default]
    Progress,
    /// Also the messages and tool calls of the agent
    Verbose,
    /// Events of the journal as JSON, one per line
    Json,
    /// That, and every line of the agent's output.
    #[value(skip)]
    JsonMessages,
}

impl OutputLevel {
    /// Whether people are told more than errors.
    pub fn shows_messages(self) -> bool {
        match self {
            Self::Progress | Self::Verbose => true,
            Self::Quiet | Self::Json | Self::JsonMessages => false,
        }
    }
}

/// The reporter of a level.
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

/// Written through a buffer: what is shown together arrives together.
type BufferedOutput = BufWriter<Box<dyn Write + Send>>;

/// Shows nothing.
#[derive(Debug)]
struct QuietReporter;

impl Reporter for QuietReporter {
    fn past(&mut self, _: &JournalLine) {}

    fn event(&mut self, _: &JournalLine, _: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn message(&mut self, _: Speaker, _: &AgentMessage<'_>) -> io::Result<()> {
        Ok(())
    }

    fn note(&mut self, _: &str) -> io::Result<()> {
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn wants(&self) -> ReporterInput {
        ReporterInput::Events
    }
}
