//! Reads a recording in the same way as an attempt.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use nightwright_core::event::CallPurpose;
use nightwright_core::redact::Secrets;
use nightwright_core::settings::Completion;
use nightwright_core::stream::dialect::Dialect;
use nightwright_core::stream::lines::StreamLine;
use nightwright_core::stream::news::{AgentNews, AttemptReport};
use nightwright_core::stream::outcome::{CancelReason, ProcessExit};
use nightwright_core::stream::transcript::{AttemptExit, Transcript, TranscriptOptions};
use serde::Deserialize;

/// The completion signal that the recorded model was instructed to print.
const SIGNAL: &str = "TASK COMPLETE";

/// The output of the program, and its exit.
#[derive(Clone, Debug)]
pub(crate) struct Recording {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    /// The time of each line of standard output.
    pub(crate) times: Vec<Duration>,
    pub(crate) ended: Duration,
    pub(crate) exit: Option<ProcessExit>,
}

/// The part of `meta.json` that an attempt would know too.
#[derive(Deserialize)]
struct RecordingMeta {
    exit_code: i32,
    signal: Option<i32>,
    line_s: Vec<f64>,
    wall_s: f64,
}

/// Options for reading a recording.
#[derive(Clone, Copy, Default)]
pub(crate) struct ReadOptions {
    pub(crate) cut: Option<CancelReason>,
    pub(crate) purpose: Option<CallPurpose>,
    pub(crate) live: bool,
}

/// The result of reading a recording.
#[derive(Debug, PartialEq)]
pub(crate) struct ReadRecording {
    pub(crate) news: Vec<AgentNews>,
    pub(crate) report: AttemptReport,
    /// The debug format of every message that was displayed.
    pub(crate) messages: Vec<String>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/claude")
}

/// Returns the names of all recordings, sorted.
pub(crate) fn names() -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder())
        .expect("the recordings are there")
        .map(|entry| entry.expect("a folder").file_name().into_string().expect("a plain name"))
        .collect();
    names.sort_unstable();
    names
}

pub(crate) fn read(name: &str) -> ReadRecording {
    read_as(name, ReadOptions::default())
}

pub(crate) fn read_as(name: &str, how: ReadOptions) -> ReadRecording {
    let recording = Recording::open(name);
    recording.read(how, recording.stdout.chunks(1000))
}

impl Recording {
    pub(crate) fn open(name: &str) -> Self {
        let file = |file: &str| fs::read(folder().join(name).join(file)).unwrap_or_default();
        let facts: RecordingMeta = serde_json::from_slice(&file("meta.json"))
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        Self {
            stdout: file("stdout.ndjson"),
            stderr: file("stderr.txt"),
            times: facts.line_s.into_iter().map(Duration::from_secs_f64).collect(),
            ended: Duration::from_secs_f64(facts.wall_s),
            exit: Some(
                facts.signal.map_or(ProcessExit::Code(facts.exit_code), ProcessExit::Signal),
            ),
        }
    }

    /// Returns the lines of standard output without line endings.
    pub(crate) fn lines(&self) -> Vec<&[u8]> {
        self.stdout.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).collect()
    }

    /// Returns the same recording with other lines, each with its time.
    pub(crate) fn with_lines(&self, lines: impl IntoIterator<Item = (Vec<u8>, Duration)>) -> Self {
        let (mut stdout, mut times) = (Vec::new(), Vec::new());
        for (line, time) in lines {
            stdout.extend(line);
            stdout.push(b'\n');
            times.push(time);
        }
        Self { stdout, times, ..self.clone() }
    }

    /// Returns the time of a line; a line without a recorded time arrived at once.
    pub(crate) fn time(&self, line: usize) -> Duration {
        self.times.get(line).copied().unwrap_or_default()
    }

    /// Reads the standard output in the given chunks.
    pub(crate) fn read<'a>(
        &self,
        how: ReadOptions,
        chunks: impl Iterator<Item = &'a [u8]>,
    ) -> ReadRecording {
        let completion = Completion { signal: SIGNAL.to_owned(), ..Completion::default() };
        let mut transcript = Transcript::new(TranscriptOptions {
            dialect: Dialect::Claude,
            completion: &completion,
            secrets: &Secrets::default(),
            purpose: how.purpose,
            live: how.live,
            started: Duration::ZERO,
        });
        let mut lines = Dialect::Claude.lines();
        let (mut news, mut messages, mut count) = (Vec::new(), Vec::new(), 0);
        let mut each = |line: StreamLine<'_>| {
            let time = self.time(count);
            count += 1;
            let StreamLine::Whole(line) = line else { panic!("line {count} is too long") };
            transcript.line(time, line, &mut |item| news.push(item), &mut |message| {
                messages.push(format!("{message:?}"));
            });
        };
        for chunk in chunks {
            lines.push(chunk, &mut each);
        }
        lines.finish(&mut each);

        let wall: Timestamp = "2026-11-15T20:00:00Z".parse().expect("a date");
        let closing = AttemptExit {
            exit: self.exit,
            cut: how.cut,
            stderr: &String::from_utf8_lossy(&self.stderr),
            stdout_bytes: self.stdout.len() as u64,
            stderr_bytes: self.stderr.len() as u64,
            zone: None,
        };
        ReadRecording { news, report: transcript.finish(self.ended, wall, closing), messages }
    }
}
