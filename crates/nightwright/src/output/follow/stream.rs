//! The raw output of the running attempt and calls, read while it grows.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

use nightwright_core::event::{AttemptEvent, CallEvent, Event, Record};
use nightwright_core::run_view::RunView;
use nightwright_core::stream::dialect::Dialect;
use nightwright_core::stream::lines::{LineSplitter, StreamLine};
use nightwright_core::stream::message::{AgentMessage, MessageKind, Owner, TextPart};

use crate::files::open_regular;
use crate::output::{Reporter, ReporterInput, Speaker};
use crate::store::run_dir::output_label;

/// The number of bytes at the end of an output that are read again for incomplete messages.
const MAX_REREAD_BYTES: u64 = 4 << 20;

/// The size of one read, in bytes.
const CHUNK: usize = 128 << 10;

/// Tracks from the events which outputs are open, and reads them.
#[derive(Debug)]
pub(super) struct OutputStreams {
    folder: PathBuf,
    dialect: Dialect,
    view: RunView,
    open: Option<OutputStream>,
}

#[derive(Debug)]
struct OutputStream {
    speaker: Speaker,
    path: PathBuf,
    /// `None` until the file exists.
    file: Option<File>,
    offset: u64,
    lines: LineSplitter,
    /// The offset of the first skipped piece of text. Pieces usually come again as a complete
    /// message.
    partial_from: Option<u64>,
}

impl OutputStreams {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder, dialect: Dialect::default(), view: RunView::default(), open: None }
    }

    /// Whether any attempt or call is running.
    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Takes an event of an earlier process. The output of attempts and calls from then is not
    /// shown.
    pub(super) fn past(&mut self, record: &Record) {
        self.after(record);
        self.open = None;
    }

    /// Prepares for an event: reads all output before it, and finishes the streams that end with
    /// it. Many events follow from a message of the agent, and make sense only below it.
    pub(super) fn before(&mut self, event: &Event, reporter: &mut dyn Reporter) -> io::Result<()> {
        if let Event::Attempt(AttemptEvent::AgentReady { .. }) = event {
            // This event comes before the agent's first message.
            return Ok(());
        }
        self.poll(reporter)?;
        match self.open.take_if(|_| event.ends_agent_output()) {
            Some(mut stream) => stream.finish(self.dialect, reporter),
            None => Ok(()),
        }
    }

    /// Opens the streams that begin with an event.
    pub(super) fn after(&mut self, record: &Record) {
        self.view.record(record);
        let agent = self.view.facts.as_ref().map(|facts| &facts.agent);
        self.dialect = agent.map(|agent| agent.kind().dialect()).unwrap_or_default();
        let speaker = if let Event::Attempt(AttemptEvent::Started { attempt, .. }) = &record.event {
            Speaker::Attempt(*attempt)
        } else if let Event::Call(CallEvent::Started { call, purpose, .. }) = &record.event {
            Speaker::Call(*call, *purpose)
        } else {
            return;
        };
        if let Some(label) = output_label(&self.view, &record.event) {
            self.begin(speaker, &label);
        }
    }

    /// Passes new output to the reporter.
    pub(super) fn poll(&mut self, reporter: &mut dyn Reporter) -> io::Result<()> {
        let wanted = match reporter.wants() {
            ReporterInput::Events => false,
            ReporterInput::Messages | ReporterInput::Everything => true,
        };
        match &mut self.open {
            Some(stream) if wanted => stream.read(self.dialect, reporter),
            Some(_) | None => Ok(()),
        }
    }

    fn begin(&mut self, speaker: Speaker, label: &str) {
        self.open = Some(OutputStream {
            speaker,
            path: self.folder.join(format!("{label}.ndjson")),
            file: None,
            offset: 0,
            lines: self.dialect.lines_to_show(),
            partial_from: None,
        });
    }
}

impl OutputStream {
    fn read(&mut self, dialect: Dialect, reporter: &mut dyn Reporter) -> io::Result<()> {
        if self.file.is_none() {
            // The file may not exist yet, or never: another place reports outputs that cannot be
            // kept.
            self.file = open_regular(&self.path).ok();
        }
        let Some(file) = &self.file else { return Ok(()) };
        // Stop at the current length, so that a fast agent cannot keep the loop here forever.
        let end = file.metadata().map_or(0, |facts| facts.len());
        let mut buffer =
            vec![0; CHUNK.min(usize::try_from(end.saturating_sub(self.offset)).unwrap_or(CHUNK))];
        while self.offset < end {
            let count = match file.read_at(&mut buffer, self.offset) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // The file was readable before, so there is nothing more to get.
                Err(_) => break,
            };
            let here = self.offset;
            self.offset += count as u64;
            let Self { lines, speaker, partial_from, .. } = self;
            let mut shown = Ok(());
            lines.push(&buffer[..count], |line| {
                if shown.is_ok() {
                    shown = show_line(dialect, *speaker, line, reporter).map(|kind| match kind {
                        StreamLineKind::Piece => *partial_from = partial_from.or(Some(here)),
                        StreamLineKind::Whole => *partial_from = None,
                        StreamLineKind::Nothing => {}
                    });
                }
            });
            shown?;
        }
        Ok(())
    }

    /// Handles a last line without a newline.
    fn finish(&mut self, dialect: Dialect, reporter: &mut dyn Reporter) -> io::Result<()> {
        let mut shown = Ok(StreamLineKind::Nothing);
        self.lines.finish(|line| shown = show_line(dialect, self.speaker, line, reporter));
        match shown? {
            StreamLineKind::Whole => Ok(()),
            StreamLineKind::Piece | StreamLineKind::Nothing => self.partial_text(dialect, reporter),
        }
    }

    /// Passes on text that never came as a complete message, because the agent was killed in the
    /// middle of it.
    fn partial_text(&self, dialect: Dialect, reporter: &mut dyn Reporter) -> io::Result<()> {
        let (Some(begin), Some(file)) = (self.partial_from, &self.file) else { return Ok(()) };
        let begin = begin.max(self.offset.saturating_sub(MAX_REREAD_BYTES));
        let mut tail = vec![0; usize::try_from(self.offset - begin).unwrap_or(0)];
        if file.read_exact_at(&mut tail, begin).is_err() {
            // The file was readable before, so there is nothing more to get.
            return Ok(());
        }
        let mut words = String::new();
        let mut gather = |line: StreamLine<'_>| {
            let StreamLine::Whole(line) = line else { return };
            // Lines that are not messages have no text.
            let _ = dialect.decode(line, &mut |message| {
                if is_whole(&message) {
                    words.clear();
                } else if let MessageKind::Text { text, part } = &message.kind
                    && message.owner.is_main()
                {
                    match part {
                        TextPart::Delta | TextPart::Whole => words.push_str(text),
                        // The next text starts on a new line.
                        TextPart::End if words.is_empty() || words.ends_with('\n') => {}
                        TextPart::End => words.push('\n'),
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
        let kind = MessageKind::Text { text: words.into(), part: TextPart::Delta };
        reporter.message(self.speaker, &AgentMessage { owner: Owner::Main, kind })
    }
}

/// The kind of a line, for a reporter that takes only complete messages.
enum StreamLineKind {
    /// A piece of text that usually comes again as a whole. It was skipped.
    Piece,
    /// A complete text, or a message that comes after all text.
    Whole,
    Nothing,
}

/// Whether a message completes all pieces before it.
fn is_whole(message: &AgentMessage<'_>) -> bool {
    let is_result = matches!(message.kind, MessageKind::Result(_)) && message.owner.is_main();
    is_result || message.main_text().is_some()
}

/// Passes the messages of a line to the reporter, as far as the reporter wants them.
pub(crate) fn show(
    dialect: Dialect,
    speaker: Speaker,
    line: StreamLine<'_>,
    reporter: &mut dyn Reporter,
) -> io::Result<()> {
    show_line(dialect, speaker, line, reporter).map(|_| ())
}

fn show_line(
    dialect: Dialect,
    speaker: Speaker,
    line: StreamLine<'_>,
    reporter: &mut dyn Reporter,
) -> io::Result<StreamLineKind> {
    let line = match line {
        StreamLine::Whole(line) => line,
        StreamLine::TooLong { bytes } => {
            let size = bytes.div_ceil(1 << 20);
            reporter.note(&format!("skipped a line of {size} MB; it is in the raw output"))?;
            return Ok(StreamLineKind::Nothing);
        }
    };
    // Most lines are pieces of messages that come again as a whole.
    if reporter.wants() == ReporterInput::Messages && dialect.is_only_a_part(line) {
        return Ok(StreamLineKind::Piece);
    }
    reporter.raw(speaker, line)?;
    let mut shown = Ok(());
    let mut kind = StreamLineKind::Nothing;
    // Lines that are not messages are counted elsewhere, and cannot be shown.
    let _ = dialect.decode(line, &mut |message| {
        if is_whole(&message) {
            kind = StreamLineKind::Whole;
        }
        if shown.is_ok() {
            shown = reporter.message(speaker, &message);
        }
    });
    shown.map(|()| kind)
}
