//! The raw output of whoever is at work, read while it grows.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

use nightwright_core::agent::decode::{Line, Lines};
use nightwright_core::agent::dialect::Dialect;
use nightwright_core::agent::message::{AgentMessage, Owner, Part, Said};
use nightwright_core::event::Event;
use nightwright_core::units::Iteration;

use crate::files::open_regular;
use crate::journal::{attempt_label, call_label};
use crate::report::{Reporter, Speaker, Wants};

/// So much of the end of an output is read again for words that never came whole.
const LAST_WORDS: u64 = 4 << 20;

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
    /// Where pieces of words may be that were left out, because they usually come again as a whole.
    unsaid: Option<u64>,
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
            unsaid: None,
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
            let here = self.offset;
            self.offset += count as u64;
            let Self { lines, speaker, unsaid, .. } = self;
            let mut shown = Ok(());
            lines.push(&buffer[..count], |line| {
                if shown.is_ok() {
                    shown = hand_on(dialect, *speaker, line, reporter).map(|heard| match heard {
                        Heard::Piece => *unsaid = unsaid.or(Some(here)),
                        Heard::Whole => *unsaid = None,
                        Heard::Nothing => {}
                    });
                }
            });
            shown?;
        }
        Ok(())
    }

    /// A last line that has no end.
    fn finish(&mut self, dialect: Dialect, reporter: &mut dyn Reporter) -> io::Result<()> {
        let mut shown = Ok(Heard::Nothing);
        self.lines.finish(|line| shown = hand_on(dialect, self.speaker, line, reporter));
        match shown? {
            Heard::Whole => Ok(()),
            Heard::Piece | Heard::Nothing => self.last_words(dialect, reporter),
        }
    }

    /// Hands on what was said and never came whole: whoever was ended in the middle of a sentence
    /// has said that much.
    fn last_words(&self, dialect: Dialect, reporter: &mut dyn Reporter) -> io::Result<()> {
        let (Some(begin), Some(file)) = (self.unsaid, &self.file) else { return Ok(()) };
        let begin = begin.max(self.offset.saturating_sub(LAST_WORDS));
        let mut tail = vec![0; usize::try_from(self.offset - begin).unwrap_or(0)];
        if file.read_exact_at(&mut tail, begin).is_err() {
            // It was there a moment ago; there is nothing more to be had from it.
            return Ok(());
        }
        let mut words = String::new();
        let mut gather = |line: Line<'_>| {
            let Line::Whole(line) = line else { return };
            // What is no message has no words.
            let _ = dialect.decode(line, &mut |message| {
                if is_whole(&message) {
                    words.clear();
                } else if let Said::Text { text, part } = &message.said
                    && message.owner.is_main()
                {
                    match part {
                        Part::Delta | Part::Whole => words.push_str(text),
                        // What comes next is another text, and begins a line.
                        Part::End if words.is_empty() || words.ends_with('\n') => {}
                        Part::End => words.push('\n'),
                    }
                }
            });
        };
        let mut lines = dialect.lines_to_show();
        lines.push(&tail, &mut gather);
        lines.finish(&mut gather);
        if words.is_empty() {
            return Ok(());
        }
        let said = Said::Text { text: words.into(), part: Part::Delta };
        reporter.message(self.speaker, &AgentMessage { owner: Owner::Main, said })
    }
}

/// What a line was to somebody who does not want pieces.
enum Heard {
    /// A piece of what usually comes whole later. It was left out.
    Piece,
    /// Words as a whole, or what comes only after all words did.
    Whole,
    Nothing,
}

/// Whether no piece that came before it is still to come as a whole.
fn is_whole(message: &AgentMessage<'_>) -> bool {
    match &message.said {
        Said::Text { part: Part::Whole, .. } | Said::Result(_) => message.owner.is_main(),
        Said::Text { part: Part::Delta | Part::End, .. }
        | Said::Ready(_)
        | Said::Thinking
        | Said::ToolCall { .. }
        | Said::ToolResult { .. }
        | Said::Heartbeat { .. }
        | Said::ApiRetry { .. }
        | Said::RateLimit(_)
        | Said::Denied { .. }
        | Said::Usage { .. }
        | Said::SyntheticError(_)
        | Said::Compaction
        | Said::TakenUp { .. }
        | Said::Other { .. }
        | Said::Unknown { .. } => false,
    }
}

/// Hands on what a line says, as far as the reporter wants to know.
pub(crate) fn show(
    dialect: Dialect,
    speaker: Speaker,
    line: Line<'_>,
    reporter: &mut dyn Reporter,
) -> io::Result<()> {
    hand_on(dialect, speaker, line, reporter).map(|_| ())
}

fn hand_on(
    dialect: Dialect,
    speaker: Speaker,
    line: Line<'_>,
    reporter: &mut dyn Reporter,
) -> io::Result<Heard> {
    let line = match line {
        Line::Whole(line) => line,
        Line::TooLong { bytes } => {
            let size = bytes.div_ceil(1 << 20);
            reporter.note(&format!("a line of {size} MB is not shown; it is in the raw output"))?;
            return Ok(Heard::Nothing);
        }
    };
    // Nine lines of ten are pieces of what comes whole later.
    if reporter.wants() == Wants::Messages && dialect.is_only_a_part(line) {
        return Ok(Heard::Piece);
    }
    reporter.raw(speaker, line)?;
    let mut shown = Ok(());
    let mut heard = Heard::Nothing;
    // What is no message is counted where it matters; there is nothing to show of it.
    let _ = dialect.decode(line, &mut |message| {
        if is_whole(&message) {
            heard = Heard::Whole;
        }
        if shown.is_ok() {
            shown = reporter.message(speaker, &message);
        }
    });
    shown.map(|()| heard)
}
