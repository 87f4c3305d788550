//! Reads the output of an attempt or call of a crashed run.

use std::io::Read;
use std::time::Duration;

use jiff::tz::TimeZone;
use nightwright_core::event::AgentFacts;
use nightwright_core::machine::ledger::{Stage, State};
use nightwright_core::redact::Secrets;
use nightwright_core::stream::lines::StreamLine;
use nightwright_core::stream::news::AttemptReport;
use nightwright_core::stream::transcript::{AttemptExit, Transcript, TranscriptOptions};

use crate::files::open_regular;
use crate::store::run_dir::{RunDir, attempt_label, call_label};

/// Bytes per read of the raw output.
const CHUNK: usize = 256 << 10;

/// Reads the output of the attempt or call that was active when the process exited.
pub(super) fn read_resume_data(
    folder: &RunDir,
    agent: &AgentFacts,
    state: &State,
) -> Option<Box<AttemptReport>> {
    let current = state.current()?;
    let iteration = current.iteration.0;
    let (label, purpose) = match (&current.stage, current.call) {
        (Stage::Attempting { .. }, _) => (attempt_label(iteration, current.attempts), None),
        (_, Some(call)) => (call_label(iteration, call.purpose, call.call), Some(call.purpose)),
        (Stage::Begun | Stage::Attempted | Stage::Retrying { .. }, None) => return None,
    };
    // Without a file nothing was printed, so the attempt is lost as a whole.
    let mut file = open_regular(&folder.output().join(format!("{label}.ndjson"))).ok()?;
    let dialect = agent.kind().dialect();
    let mut transcript = Transcript::new(TranscriptOptions {
        dialect,
        completion: &state.settings.completion,
        // The recorded output is already masked.
        secrets: &Secrets::default(),
        purpose,
        live: false,
        started: Duration::ZERO,
    });
    if purpose.is_none() {
        // The output shows whether the agent received the messages.
        current.nudges.iter().for_each(|_| transcript.nudge_noted());
    }
    let mut bytes = 0;
    let mut each = |line: StreamLine<'_>| match line {
        StreamLine::Whole(line) => transcript.line(Duration::ZERO, line, &mut |_| {}, &mut |_| {}),
        StreamLine::TooLong { .. } => transcript.unreadable(Duration::ZERO),
    };
    let mut lines = dialect.lines();
    let mut buffer = vec![0; CHUNK];
    while let Ok(read @ 1..) = file.read(&mut buffer) {
        bytes += read as u64;
        lines.push(&buffer[..read], &mut each);
    }
    lines.finish(&mut each);
    let closing = AttemptExit {
        stdout_bytes: bytes,
        zone: Some(&TimeZone::system()),
        ..AttemptExit::default()
    };
    Some(Box::new(transcript.finish(Duration::ZERO, jiff::Timestamp::now(), closing)))
}
