//! How output reaches the screen, and what happens if the screen is blocked.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use nightwright::config::{ColorChoice, OutputLevel};
use nightwright::output::follow::{FollowTarget, FollowerFinish, FollowerHandle};
use nightwright::output::{Reporter, reporter};
use nightwright::store::journal;
use nightwright_core::event::{AttemptEvent, Event, Record};

use crate::report::{ClosedPipe, SharedBuffer, records, run, style};

/// More time than any display needs; only a failing test waits this long.
const LONG: Duration = Duration::from_mins(1);

/// A blocked terminal: every write waits until the test releases it.
struct StuckTerminal {
    reached: Sender<()>,
    let_go: Receiver<()>,
}

impl Write for StuckTerminal {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // The receiver is dropped once the test has ended.
        let _ = self.reached.send(());
        let _ = self.let_go.recv();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The run in this folder.
fn followed(folder: &Path) -> FollowTarget {
    FollowTarget {
        journal: folder.join("journal.jsonl"),
        output: folder.join("output"),
        after: 0,
        written: None,
    }
}

/// Writes the output of the first attempt: this number of tool calls.
fn output(folder: &Path, calls: usize) {
    fs::create_dir(folder.join("output")).unwrap();
    let line = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"make test"}}]}}"#;
    let text: String = std::iter::repeat_n(format!("{line}\n"), calls).collect();
    fs::write(folder.join("output/003-1.ndjson"), text).unwrap();
}

/// Returns a journal with these records, and a writer to continue it.
fn journal_with(path: &Path, records: &[Record]) -> journal::JournalWriter<journal::DiskFile> {
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
    let paper = SharedBuffer::default();
    let display = FollowerHandle::start(followed(folder.path()), json(&paper));
    writer.append(late).unwrap();
    display.wake();
    assert_eq!(display.finish(LONG), FollowerFinish::InTime);
    assert_eq!(paper.text().lines().count(), records.len());
}

#[test]
fn the_display_waits_for_a_journal_that_is_not_there_yet() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.jsonl");
    let paper = SharedBuffer::default();
    let display = FollowerHandle::start(followed(folder.path()), json(&paper));
    display.wake();
    let _writer = journal_with(&path, &records());
    assert_eq!(display.finish(LONG), FollowerFinish::InTime);
    assert_eq!(paper.text().lines().count(), records().len());
}

#[test]
fn a_run_taken_over_shows_only_what_is_new() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.jsonl");
    let _writer = journal_with(&path, &records());
    let paper = SharedBuffer::default();
    let last = records().len() as u64 - 1;
    let display = FollowerHandle::start(
        FollowTarget { after: last, ..followed(folder.path()) },
        json(&paper),
    );
    assert_eq!(display.finish(LONG), FollowerFinish::InTime);
    let text = paper.text();
    assert_eq!(text.lines().count(), 1);
    assert!(text.contains("run_finished"), "{text}");
}

#[test]
fn the_agents_words_come_before_the_end_of_its_attempt() {
    let folder = tempfile::tempdir().unwrap();
    let paper = SharedBuffer::default();
    output(folder.path(), 1);
    let style = style(true, ColorChoice::Never);
    let verbose = reporter(OutputLevel::Verbose, style, Box::new(paper.clone()));
    let display = FollowerHandle::start(followed(folder.path()), verbose);
    let _writer = journal_with(&folder.path().join("journal.jsonl"), &records());
    assert_eq!(display.finish(LONG), FollowerFinish::InTime);
    let text = paper.text();
    let (words, end) = (text.find("Bash: make test").unwrap(), text.find("attempt 1:").unwrap());
    assert!(words < end, "{text}");
}

#[test]
fn events_caused_by_a_message_are_shown_below_it() {
    let folder = tempfile::tempdir().unwrap();
    let paper = SharedBuffer::default();
    output(folder.path(), 1);
    let mut records = records();
    let of = |records: &[Record], wanted: fn(&Event) -> bool| {
        records.iter().position(|record| wanted(&record.event)).unwrap()
    };
    let denied = of(&records, |event| {
        matches!(event, Event::Attempt(AttemptEvent::PermissionDenied { .. }))
    });
    let denied = records.remove(denied);
    let ready =
        of(&records, |event| matches!(event, Event::Attempt(AttemptEvent::AgentReady { .. })));
    records.insert(ready + 1, denied);
    let _writer = journal_with(&folder.path().join("journal.jsonl"), &records);
    let style = style(true, ColorChoice::Never);
    let verbose = reporter(OutputLevel::Verbose, style, Box::new(paper.clone()));
    let display = FollowerHandle::start(followed(folder.path()), verbose);
    assert_eq!(display.finish(LONG), FollowerFinish::InTime);
    let text = paper.text();
    let (call, denied) =
        (text.find("Bash: make test").unwrap(), text.find("denied: docker").unwrap());
    assert!(call < denied, "{text}");
    let ready = text.find(", version ").unwrap();
    assert!(ready < call, "{text}");
}

#[test]
fn a_closed_terminal_ends_the_display_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    output(folder.path(), 2_000);
    let _writer = journal_with(&folder.path().join("journal.jsonl"), &records());
    let style = style(true, ColorChoice::Never);
    let (sender, errors) = channel();
    let display = FollowerHandle::start_with(
        followed(folder.path()),
        reporter(OutputLevel::Verbose, style, Box::new(ClosedPipe)),
        move |error| sender.send(error.kind()).unwrap(),
    );
    for _ in 0..2_000 {
        display.wake();
    }
    assert_eq!(display.finish(LONG), FollowerFinish::InTime);
    assert_eq!(errors.recv(), Ok(io::ErrorKind::BrokenPipe));
}

#[test]
fn a_blocked_terminal_never_blocks_the_exit() {
    let folder = tempfile::tempdir().unwrap();
    let _writer = journal_with(&folder.path().join("journal.jsonl"), &records());
    let (reached, stuck) = channel();
    let (release, let_go) = channel();
    let out = Box::new(StuckTerminal { reached, let_go });
    let json = reporter(OutputLevel::Json, style(true, ColorChoice::Never), out);
    let display = FollowerHandle::start(followed(folder.path()), json);
    stuck.recv_timeout(LONG).unwrap();

    let begun = Instant::now();
    for _ in 0..10_000 {
        display.wake();
    }
    assert_eq!(display.finish(Duration::from_millis(50)), FollowerFinish::Abandoned);
    assert!(begun.elapsed() < LONG, "nobody waits for a screen");
    drop(release);
}

#[test]
fn a_terminal_that_is_read_late_misses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    output(folder.path(), 5_000);
    let _writer = journal_with(&folder.path().join("journal.jsonl"), &records());
    let paper = SharedBuffer::default();
    let (reached, stuck) = channel();
    let (release, let_go) = channel();
    let out =
        Box::new(LateTerminal { paper: paper.clone(), stuck: StuckTerminal { reached, let_go } });
    let verbose = reporter(OutputLevel::Verbose, style(true, ColorChoice::Never), out);
    let display = FollowerHandle::start(followed(folder.path()), verbose);
    stuck.recv_timeout(LONG).unwrap();
    drop(release);
    assert_eq!(display.finish(LONG), FollowerFinish::InTime);
    assert_eq!(paper.text().matches("Bash: make test").count(), 5_000);
}

/// A terminal that blocks until the test releases it.
struct LateTerminal {
    paper: SharedBuffer,
    stuck: StuckTerminal,
}

impl Write for LateTerminal {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = self.stuck.write(bytes)?;
        self.paper.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn json(paper: &SharedBuffer) -> Box<dyn Reporter + Send> {
    reporter(OutputLevel::Json, style(true, ColorChoice::Never), Box::new(paper.clone()))
}
