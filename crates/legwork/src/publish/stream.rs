//! The raw output of whoever is at work, read while it grows.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

use legwork_core::agent::decode::{Line, Lines};
use legwork_core::agent::dialect::Dialect;
use legwork_core::event::Event;
use legwork_core::units::Iteration;

use crate::files::open_regular;
use crate::journal::{attempt_label, call_label};
use crate::report::{Reporter, Speaker, Wants};

/// One read.
const CHUNK: usize = 128 << 10;

/// Knows from the events whose output is to be read, and reads it.
#[derive(Debug)]
pub(super) struct Streams {
    folder: PathBuf,
    dialect: Dialect,
    /// The iteration that is going on.
    iteration: Iteration,
    /// Its attempts so far.
    attempts: u32,
    open: Option<Stream>,
}

/// The output of one attempt or call.
#[derive(Debug)]
struct Stream {
    speaker: Speaker,
    path: PathBuf,
    /// `None` until it is there.
    file: Option<File>,
    offset: u64,
    lines: Lines,
}

impl Streams {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            dialect: Dialect::default(),
            iteration: Iteration(0),
            attempts: 0,
            open: None,
        }
    }

    /// Whether somebody is at work.
    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// An event of an earlier process: whoever was at work then has been shown, or never will be.
    pub(super) fn past(&mut self, event: &Event) {
        self.after(event);
        self.open = None;
    }

    /// Before an event is shown: what was said before it is read, and what ends with it is read to
    /// its end. Much of what happens follows from something that the agent said or did, and would
    /// make no sense above it.
    pub(super) fn before(&mut self, event: &Event, reporter: &mut dyn Reporter) -> io::Result<()> {
        if let Event::AgentReady { .. } = event {
            // It is what the agent says first.
            return Ok(());
        }
        self.poll(reporter)?;
        match self.open.take_if(|_| event.ends_talk()) {
            Some(mut stream) => stream.finish(self.dialect, reporter),
            None => Ok(()),
        }
    }

    /// After an event was shown: what begins with it is read from now on.
    pub(super) fn after(&mut self, event: &Event) {
        if let Event::RunStarted(started) = event {
            self.dialect = Dialect::of_agent(&started.agent.name);
        } else if let Event::IterationStarted { iteration, .. } = event {
            self.iteration = *iteration;
            self.attempts = 0;
        } else if let Event::AttemptStarted { attempt, .. } = event {
            self.attempts += 1;
            let label = attempt_label(self.iteration.0, self.attempts);
            self.begin(Speaker::Attempt(*attempt), &label);
        } else if let Event::CallStarted { call, purpose, .. } = event {
            let label = call_label(self.iteration.0, *purpose, *call);
            self.begin(Speaker::Call(*call, *purpose), &label);
        }
    }

    /// Hands on what was said since the last time.
    pub(super) fn poll(&mut self, reporter: &mut dyn Reporter) -> io::Result<()> {
        let wanted = match reporter.wants() {
            Wants::Events => false,
            Wants::Messages | Wants::Everything => true,
        };
        match &mut self.open {
            Some(stream) if wanted => stream.read(self.dialect, reporter),
            Some(_) | None => Ok(()),
        }
    }

    fn begin(&mut self, speaker: Speaker, label: &str) {
        self.open = Some(Stream {
            speaker,
            path: self.folder.join(format!("{label}.ndjson")),
            file: None,
            offset: 0,
            lines: self.dialect.lines_to_show(),
        });
    }
}

impl Stream {
    fn read(&mut self, dialect: Dialect, reporter: &mut dyn Reporter) -> io::Result<()> {
        if self.file.is_none() {
            // Not there yet, or never: an output that can't be kept is told elsewhere.
            self.file = open_regular(&self.path).ok();
        }
        let Some(file) = &self.file else { return Ok(()) };
        // What is written meanwhile is for the next time: a talkative agent can't keep us here.
        let end = file.metadata().map_or(0, |facts| facts.len());
        let mut buffer =
            vec![0; CHUNK.min(usize::try_from(end.saturating_sub(self.offset)).unwrap_or(CHUNK))];
        while self.offset < end {
            let count = match file.read_at(&mut buffer, self.offset) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // It was there a moment ago; there is nothing more to be had from it.
                Err(_) => break,
            };
            self.offset += count as u64;
            let mut shown = Ok(());
            self.lines.push(&buffer[..count], |line| {
                if shown.is_ok() {
                    shown = show(dialect, self.speaker, line, reporter);
                }
            });
            shown?;
        }
        Ok(())
    }

    /// A last line that has no end.
    fn finish(&mut self, dialect: Dialect, reporter: &mut dyn Reporter) -> io::Result<()> {
        let mut shown = Ok(());
        self.lines.finish(|line| shown = show(dialect, self.speaker, line, reporter));
        shown
    }
}

/// Hands on what a line says, as far as the reporter wants to know.
pub(crate) fn show(
    dialect: Dialect,
    speaker: Speaker,
    line: Line<'_>,
    reporter: &mut dyn Reporter,
) -> io::Result<()> {
    let line = match line {
        Line::Whole(line) => line,
        Line::TooLong { bytes } => {
            let size = bytes.div_ceil(1 << 20);
            return reporter
                .note(&format!("a line of {size} MB is not shown; it is in the raw output"));
        }
    };
    // Nine lines of ten are pieces of what comes whole later.
    if reporter.wants() == Wants::Messages && dialect.is_only_a_part(line) {
        return Ok(());
    }
    reporter.raw(speaker, line)?;
    let mut shown = Ok(());
    // What is no message is counted where it matters; there is nothing to show of it.
    let _ = dialect.decode(line, &mut |message| {
        if shown.is_ok() {
            shown = reporter.message(speaker, &message);
        }
    });
    shown
}
