//! `nightwright log`: print or follow the log of a run, or the raw output of its agent.

use std::fs::{self, File};
use std::io::{self, IsTerminal as _, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use nightwright_core::display::display_safe;
use nightwright_core::event::Record;
use nightwright_core::run_view::RunView;

use super::cli::select_run::{RunSelector, SelectedRun, damaged};
use crate::console::{advise, eprint_safe};
use crate::error::Failure;
use crate::files::open_regular;
use crate::store::journal::{JournalError, JournalTail};
use crate::store::lock;
use crate::store::run_dir::{RunDir, output_label};

/// How often to check for new data while following.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// How long the process of a run may take to write the rest of its log after the end of the run.
const LOG_TIMEOUT: Duration = Duration::from_secs(8);

/// Bytes per read of a file.
const CHUNK: usize = 64 << 10;

/// Maximum bytes of an incomplete line that are held back.
const MAX_LINE_BYTES: usize = 1 << 20;

#[derive(Clone, Debug, Args)]
pub(super) struct LogArgs {
    #[command(flatten)]
    selector: RunSelector,

    /// Follow the log until the run ends
    #[arg(short, long)]
    follow: bool,

    /// Print the raw output of the agent
    #[arg(long, conflicts_with = "json")]
    raw: bool,

    /// Print the events of the run, one JSON object per line
    #[arg(long)]
    json: bool,
}

/// The data that the command prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LogSource {
    Log,
    Raw,
    Events,
}

pub(super) fn log(options: &LogArgs) -> Result<ExitCode, Failure> {
    let found = options.selector.find()?;
    let what = match (options.raw, options.json) {
        (true, _) => LogSource::Raw,
        (false, true) => LogSource::Events,
        (false, false) => LogSource::Log,
    };
    let mut printer = LogPrinter::new(&found.folder, what);
    match printer.print(options.follow) {
        // The reader closed the pipe, which is not an error.
        Err(LogError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            return Ok(ExitCode::SUCCESS);
        }
        Err(LogError::Output(error)) => {
            return Err(Failure::trouble(format!("cannot write to standard output: {error}")));
        }
        Err(LogError::Other(failure)) => return Err(failure),
        Ok(()) => {}
    }
    conclude(&found, &mut printer, options.follow)
}

/// Prints the final messages once everything is printed.
fn conclude(
    found: &SelectedRun,
    printer: &mut LogPrinter<'_>,
    follow: bool,
) -> Result<ExitCode, Failure> {
    let run = found.folder.id();
    match printer.damaged.take() {
        // Everything readable was printed, and whether the run has ended is unknown.
        Some(damaged) if printer.any => {
            eprint_safe(&damaged.to_string());
            return Ok(ExitCode::SUCCESS);
        }
        Some(damaged) => return Err(damaged),
        None if !printer.any => return nothing(found, printer),
        None => {}
    }
    if printer.view.finished.is_none() && !printer.alive {
        advise(&format!("run {run} crashed; to continue it, run `nightwright resume {run}`"));
    } else if printer.alive && !follow && io::stdout().is_terminal() {
        advise(&format!("run {run} is running; to follow it, run `nightwright log -f {run}`"));
    }
    Ok(ExitCode::SUCCESS)
}

fn nothing(found: &SelectedRun, printer: &LogPrinter) -> Result<ExitCode, Failure> {
    let run = found.folder.id();
    let what = match printer.what {
        LogSource::Log => "log",
        LogSource::Raw => "raw output",
        LogSource::Events => "events",
    };
    if printer.alive {
        advise(&format!(
            "run {run} has no {what} yet; to wait for it, run `nightwright log -f {run}`"
        ));
        return Ok(ExitCode::SUCCESS);
    }
    let failure = if found.folder.pruned().exists() {
        Failure::trouble(format!(
            "cannot print the {what} of run {run}: pruned to make room (`logs.keep_runs`, \
             `logs.max_bytes`)"
        ))
    } else {
        Failure::trouble(format!("run {run} has no {what}"))
    };
    Err(failure.hint(match printer.what {
        LogSource::Events => format!("look in its folder `{}`", found.folder.path().display()),
        LogSource::Log | LogSource::Raw => format!(
            "run `nightwright log {run} --json` to print its events, or `nightwright status {run}` to \
             show its outcome"
        ),
    }))
}

/// The reason why printing stopped.
enum LogError {
    /// Standard output cannot be written.
    Output(io::Error),
    Other(Failure),
}

impl From<io::Error> for LogError {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// Prints the available data, in order.
struct LogPrinter<'a> {
    folder: &'a RunDir,
    what: LogSource,
    tail: Option<JournalTail>,
    /// The output files of all attempts and calls so far.
    outputs: Vec<PathBuf>,
    view: RunView,
    /// The index of the file that is being printed, and the position in it.
    current: usize,
    offset: u64,
    /// Whether anything was printed.
    any: bool,
    /// The damage of the journal, if any.
    damaged: Option<Failure>,
    /// Whether a process is executing the run.
    alive: bool,
    /// Whether standard output is a terminal, which needs escaping; other outputs get the raw
    /// bytes.
    terminal: bool,
    /// An incomplete line, held back until the rest arrives.
    rest: Vec<u8>,
}

impl<'a> LogPrinter<'a> {
    fn new(folder: &'a RunDir, what: LogSource) -> Self {
        Self {
            folder,
            what,
            tail: None,
            outputs: Vec::new(),
            view: RunView::default(),
            current: 0,
            offset: 0,
            any: false,
            damaged: None,
            alive: false,
            terminal: io::stdout().is_terminal(),
            rest: Vec::new(),
        }
    }

    fn print(&mut self, follow: bool) -> Result<(), LogError> {
        let mut end = None;
        loop {
            // Checked first, so that everything the process wrote before it exited is printed
            // below.
            self.alive = lock::peek(&self.folder.lock()).is_some();
            self.read_journal()?;
            match self.what {
                LogSource::Log => self.print_files(&self.folder.logs())?,
                LogSource::Raw => {
                    let outputs = std::mem::take(&mut self.outputs);
                    let printed = self.print_files(&outputs);
                    self.outputs = outputs;
                    printed?;
                }
                LogSource::Events => {}
            }
            io::stdout().flush()?;
            let since = end.get_or_insert_with(Instant::now);
            if self.view.finished.is_none() {
                *since = Instant::now();
            }
            if !follow || !self.alive || since.elapsed() > LOG_TIMEOUT {
                return Ok(self.finish()?);
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// Reads new events from the journal. The log can be printed even if the journal is unreadable.
    fn read_journal(&mut self) -> Result<(), LogError> {
        if self.damaged.is_some() {
            return Ok(());
        }
        let path = self.folder.journal();
        let mut tail = match self.tail.take().map_or_else(|| JournalTail::open(&path), Ok) {
            Ok(tail) => tail,
            // The run has not begun, or the journal was deleted.
            Err(_) if path.symlink_metadata().is_err() => return Ok(()),
            Err(error) => return self.unreadable(&error),
        };
        let mut printed = Ok(());
        let read = tail.poll_raw(|line, raw| {
            self.record(&line.record);
            if self.what == LogSource::Events && printed.is_ok() {
                printed = self.bytes(raw).and_then(|()| self.bytes(b"\n"));
            }
        });
        printed?;
        match read {
            Ok(()) => self.tail = Some(tail),
            Err(error) => return self.unreadable(&error),
        }
        Ok(())
    }

    /// Continues without the journal, if its events are not what is printed.
    fn unreadable(&mut self, error: &JournalError) -> Result<(), LogError> {
        match self.what {
            LogSource::Events => Err(LogError::Other(damaged(error))),
            LogSource::Log | LogSource::Raw => {
                self.damaged = Some(damaged(error));
                self.other_outputs();
                Ok(())
            }
        }
    }

    fn record(&mut self, record: &Record) {
        self.view.record(record);
        if let Some(label) = output_label(&self.view, &record.event) {
            self.outputs.push(self.folder.output().join(format!("{label}.ndjson")));
        }
    }

    /// Adds output files, by name, that a damaged journal does not mention.
    fn other_outputs(&mut self) {
        let entries = fs::read_dir(self.folder.output()).into_iter().flatten().flatten();
        let mut others: Vec<_> = entries
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|end| end == "ndjson"))
            .filter(|path| !self.outputs.contains(path))
            .collect();
        others.sort();
        self.outputs.append(&mut others);
    }

    /// Prints new data in these files, in order.
    fn print_files(&mut self, files: &[PathBuf]) -> io::Result<()> {
        while let Some(path) = files.get(self.current) {
            // The file may not exist yet, or never: its output could not be stored, or its attempt
            // did not start.
            if let Ok(file) = open_regular(path) {
                self.print_file(&file)?;
            }
            if self.current + 1 == files.len() {
                return Ok(());
            }
            self.current += 1;
            self.offset = 0;
        }
        Ok(())
    }

    fn print_file(&mut self, file: &File) -> io::Result<()> {
        let mut buffer = vec![0; CHUNK];
        loop {
            match file.read_at(&mut buffer, self.offset) {
                Ok(0) => return Ok(()),
                Ok(count) => {
                    self.offset += count as u64;
                    self.bytes(&buffer[..count])?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // The file has disappeared, so there is nothing more to print.
                Err(_) => return Ok(()),
            }
        }
    }

    fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.any = true;
        if !self.terminal {
            return io::stdout().write_all(bytes);
        }
        let ready = ready(&mut self.rest, bytes);
        self.safe(ready)
    }

    /// Prints the held-back bytes up to `end`, escaped for the terminal.
    fn safe(&mut self, end: usize) -> io::Result<()> {
        let lines: Vec<_> = self.rest.drain(..end).collect();
        io::stdout().write_all(display_safe(&String::from_utf8_lossy(&lines)).as_bytes())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.safe(self.rest.len())?;
        io::stdout().flush()
    }
}

/// Appends new bytes to the held-back ones. Returns how many can be shown: complete lines, or all
/// complete characters of an overlong line.
fn ready(rest: &mut Vec<u8>, came: &[u8]) -> usize {
    let before = rest.len();
    rest.extend_from_slice(came);
    match came.iter().rposition(|byte| *byte == b'\n') {
        Some(end) => before + end + 1,
        None if rest.len() > MAX_LINE_BYTES => whole_characters(rest),
        None => 0,
    }
}

/// Returns the length without an incomplete character at the end.
fn whole_characters(bytes: &[u8]) -> usize {
    // A character has at most four bytes, and its first byte encodes the number.
    let last = bytes.iter().rev().take(4).position(|byte| byte & 0xc0 != 0x80);
    let Some(behind) = last else { return bytes.len() };
    let needed = match bytes[bytes.len() - 1 - behind] {
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xff => 4,
        0x00..=0xbf => 1,
    };
    if behind + 1 < needed { bytes.len() - 1 - behind } else { bytes.len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_held_back_until_it_is_complete_or_too_long() {
        let mut rest = b"a".to_vec();
        assert_eq!(ready(&mut rest, b"b"), 0);
        assert_eq!(ready(&mut rest, b"c\nd"), 4);
        let mut rest = Vec::new();
        let chunk = "\u{20ac}".repeat(CHUNK / 3);
        let (mut shown, mut held) = (0, 0);
        for _ in 0..100 {
            let end = ready(&mut rest, &chunk.as_bytes()[..chunk.len() - 1]);
            shown += rest.drain(..end).count();
            held = held.max(rest.len());
            let end = ready(&mut rest, &chunk.as_bytes()[chunk.len() - 1..]);
            shown += rest.drain(..end).count();
        }
        assert!(held <= MAX_LINE_BYTES + CHUNK, "{held} bytes were held back");
        assert_eq!((shown + rest.len(), rest.len() % 3), (100 * chunk.len(), 0));
    }

    #[test]
    fn nothing_is_cut_within_a_character() {
        let text = "a\u{e4}\u{20ac}\u{1f600}".as_bytes();
        let whole: Vec<_> = (0..=text.len()).map(|end| whole_characters(&text[..end])).collect();
        assert_eq!(whole, [0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10]);
        // Bytes that are not text may be split anywhere.
        assert_eq!(whole_characters(b"\x80\x80\x80\x80\x80"), 5);
        assert_eq!(whole_characters(b"a\xff"), 1);
    }
}
