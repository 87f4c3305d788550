//! What people and programs see of a run while it goes on.
//!
//! A reporter reads events and messages and writes; it can ask for nothing and change nothing. How
//! it gets them without ever holding up the loop is [`publish`](crate::publish)'s business.
//!
//! | level | gets |
//! | --- | --- |
//! | quiet | nothing |
//! | progress | what happened, a line or two for each thing that matters |
//! | verbose | that, and what the agent says and does |
//! | json | the lines of the journal, byte by byte |
//!
//! Whatever came from the agent, its tools or the project passes
//! [`display_safe`](legwork_core::display::display_safe) on its way to a terminal. No colour
//! carries a meaning that the words do not.

mod json;
mod lines;
mod page;
mod progress;
mod shown;
pub mod style;
pub mod summary;
mod verbose;

use std::io::{self, BufWriter, Write};

use legwork_core::journal::Line;

pub use progress::Progress;
pub use shown::Shown;
pub use style::{ColorChoice, Style, Surroundings};

/// Shows a run. An error means that nobody can see it any more; it is not called again then.
pub trait Reporter {
    /// Something that happened before this process took the run over: good to know, and shown
    /// already.
    fn past(&mut self, line: &Line);

    /// Something happened. `raw` is the line as it stands in the journal, without its newline.
    fn event(&mut self, line: &Line, raw: &[u8]) -> io::Result<()>;

    /// The agent said or did something.
    fn message(&mut self, shown: &Shown) -> io::Result<()>;

    /// Something about the display itself.
    fn note(&mut self, text: &str) -> io::Result<()>;

    /// Gets out everything so far.
    fn flush(&mut self) -> io::Result<()>;

    /// Whether messages are wanted at all; preparing them costs something.
    fn wants_messages(&self) -> bool;
}

/// How much is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Level {
    /// Nothing.
    Quiet,
    /// What happened, a line each.
    #[default]
    Progress,
    /// That, and what the agent says and does.
    Verbose,
    /// The events as JSON, a line each.
    Json,
}

impl Level {
    /// Whether people are told more than errors.
    pub fn speaks(self) -> bool {
        match self {
            Self::Progress | Self::Verbose => true,
            Self::Quiet | Self::Json => false,
        }
    }
}

/// The reporter of a level.
pub fn reporter(
    level: Level,
    style: Style,
    out: Box<dyn Write + Send>,
) -> Box<dyn Reporter + Send> {
    match level {
        Level::Quiet => Box::new(Quiet),
        Level::Progress => Box::new(Progress::new(style, out)),
        Level::Verbose => Box::new(verbose::Verbose::new(style, out)),
        Level::Json => Box::new(json::Json::new(out)),
    }
}

/// Written through a buffer: what is shown together arrives together.
type Out = BufWriter<Box<dyn Write + Send>>;

/// Shows nothing.
#[derive(Debug)]
struct Quiet;

impl Reporter for Quiet {
    fn past(&mut self, _: &Line) {}

    fn event(&mut self, _: &Line, _: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn message(&mut self, _: &Shown) -> io::Result<()> {
        Ok(())
    }

    fn note(&mut self, _: &str) -> io::Result<()> {
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn wants_messages(&self) -> bool {
        false
    }
}
