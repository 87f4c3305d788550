//! How it gets to the screen, and what happens when nobody looks.

use std::io::{self, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use legwork::journal;
use legwork::publish::{Display, Finished};
use legwork::report::{ColorChoice, Level, Reporter, Shown, reporter};
use legwork_core::event::Record;
use legwork_core::journal::Line;

use crate::report::{Closed, Paper, messages, records, run, style};

/// More than any display needs; only a test that fails waits so long.
const LONG: Duration = Duration::from_secs(20);

/// A terminal that nobody reads: every write waits until the test lets go.
struct Stuck {
    reached: Sender<()>,
    let_go: Receiver<()>,
}

impl Write for Stuck {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Once the test is over there is nobody to tell.
        let _ = self.reached.send(());
        let _ = self.let_go.recv();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A journal with these records, and a writer to go on with.
fn journal_with(path: &Path, records: &[Record]) -> journal::Writer<journal::DiskFile> {
    let mut writer = journal::create(path, run()).unwrap();
    writer.append(records).unwrap();
    writer
}

#[test]
fn the_display_shows_what_is_and_what_comes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.jsonl");
    let records = records();
    let (early, late) = records.split_at(10);
    let mut writer = journal_with(&path, early);
    let paper = Paper::default();
    let display = Display::start(path, json(&paper));
    writer.append(late).unwrap();
    display.wake();
    assert_eq!(display.finish(LONG), Finished::InTime);
    assert_eq!(paper.text().lines().count(), records.len());
}

#[test]
fn the_display_waits_for_a_journal_that_is_not_there_yet() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.jsonl");
    let paper = Paper::default();
    let display = Display::start(path.clone(), json(&paper));
    display.wake();
    let _writer = journal_with(&path, &records());
    assert_eq!(display.finish(LONG), Finished::InTime);
    assert_eq!(paper.text().lines().count(), records().len());
}

#[test]
fn a_run_taken_over_shows_only_what_is_new() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.jsonl");
    let _writer = journal_with(&path, &records());
    let paper = Paper::default();
    let last = records().len() as u64 - 1;
    let display = Display::start_after(path, last, json(&paper));
    assert_eq!(display.finish(LONG), Finished::InTime);
    let text = paper.text();
    assert_eq!(text.lines().count(), 1);
    assert!(text.contains("run_finished"), "{text}");
}

#[test]
fn the_agents_words_come_before_the_end_of_its_attempt() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.jsonl");
    let paper = Paper::default();
    let style = style(true, ColorChoice::Never);
    let display =
        Display::start(path.clone(), reporter(Level::Verbose, style, Box::new(paper.clone())));
    display.messages().send(messages()[1].clone());
    let _writer = journal_with(&path, &records());
    assert_eq!(display.finish(LONG), Finished::InTime);
    let text = paper.text();
    let (words, end) = (text.find("Bash: make test").unwrap(), text.find("attempt 7:").unwrap());
    assert!(words < end, "{text}");
}

#[test]
fn a_closed_terminal_ends_the_display_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.jsonl");
    let _writer = journal_with(&path, &records());
    let style = style(true, ColorChoice::Never);
    let display = Display::start(path, reporter(Level::Verbose, style, Box::new(Closed)));
    let sink = display.messages();
    for _ in 0..2_000 {
        sink.send(messages()[0].clone());
        display.wake();
    }
    assert_eq!(display.finish(LONG), Finished::InTime);
    sink.send(messages()[0].clone());
}

#[test]
fn a_terminal_that_nobody_reads_keeps_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.jsonl");
    let _writer = journal_with(&path, &records());
    let (reached, stuck) = channel();
    let (release, let_go) = channel();
    let out = Box::new(Stuck { reached, let_go });
    let display = Display::start(path, reporter(Level::Json, style(true, ColorChoice::Never), out));
    stuck.recv_timeout(LONG).unwrap();

    let begun = Instant::now();
    for _ in 0..10_000 {
        display.wake();
        display.messages().send(messages()[0].clone());
    }
    assert_eq!(display.finish(Duration::from_millis(50)), Finished::Abandoned);
    assert!(begun.elapsed() < LONG, "nobody waits for a screen");
    drop(release);
}

#[test]
fn messages_that_do_not_fit_are_counted_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.jsonl");
    let _writer = journal_with(&path, &records()[..1]);
    let paper = Paper::default();
    let (reached, waits) = channel();
    let (release, let_go) = channel();
    let inner = reporter(Level::Verbose, style(true, ColorChoice::Never), Box::new(paper.clone()));
    let display = Display::start(path, Box::new(Gated { inner, reached, let_go }));
    waits.recv_timeout(LONG).unwrap();

    let sink = display.messages();
    for _ in 0..1_007 {
        sink.send(messages()[1].clone());
    }
    // One that takes more memory than all may take together.
    sink.send(Shown::Text { text: "x".repeat(9 << 20) });
    drop(release);
    assert_eq!(display.finish(LONG), Finished::InTime);
    let text = paper.text();
    assert_eq!(text.matches("Bash: make test").count(), 1_000);
    assert!(text.contains("… 8 messages not shown"), "{text}");
}

/// A reporter that stops at its first event until the test lets go.
struct Gated {
    inner: Box<dyn Reporter + Send>,
    reached: Sender<()>,
    let_go: Receiver<()>,
}

impl Reporter for Gated {
    fn past(&mut self, line: &Line) {
        self.inner.past(line);
    }

    fn event(&mut self, line: &Line, raw: &[u8]) -> io::Result<()> {
        self.reached.send(()).unwrap();
        // Closed is what the test does to let go.
        let _ = self.let_go.recv();
        self.inner.event(line, raw)
    }

    fn message(&mut self, shown: &Shown) -> io::Result<()> {
        self.inner.message(shown)
    }

    fn note(&mut self, text: &str) -> io::Result<()> {
        self.inner.note(text)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }

    fn wants_messages(&self) -> bool {
        self.inner.wants_messages()
    }
}

fn json(paper: &Paper) -> Box<dyn Reporter + Send> {
    reporter(Level::Json, style(true, ColorChoice::Never), Box::new(paper.clone()))
}
