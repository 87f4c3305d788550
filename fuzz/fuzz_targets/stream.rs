//! Any output of a program becomes a report: without a panic, in bounded memory, and independent of
//! the chunks.
//!
//! The first three bytes select how the attempt is read and how it ends; the rest is its output.

#![no_main]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use libfuzzer_sys::fuzz_target;
use nightwright_core::event::CallPurpose;
use nightwright_core::settings::Completion;
use nightwright_core::stream::dialect::Dialect;
use nightwright_core::stream::lines::StreamLine;
use nightwright_core::stream::news::{AgentNews, AttemptReport};
use nightwright_core::stream::outcome::{CancelReason, Deadline, ProcessExit};
use nightwright_core::stream::transcript::{AttemptExit, Transcript, TranscriptOptions};

/// The memory limit of an attempt with little output: lists are cut at a thousand entries. An entry
/// of two bytes in the line takes a few hundred bytes as a value.
const MOST: usize = 2 << 20;
/// The memory limit per byte of output: a text is held in the line, as a parsed value, and in the
/// report.
const MOST_PER_BYTE: usize = 16;

/// Counts allocations, so that the limit applies to the code under test and not to the fuzzer.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all calls are passed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(now, Ordering::Relaxed);
        // SAFETY: the caller upholds the contract of `GlobalAlloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller upholds the contract of `GlobalAlloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fuzz_target!(|input: &[u8]| {
    let Some((&[how, end, chunk], output)) = input.split_first_chunk::<3>() else { return };

    let before = NOW.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let report = read(how, end, usize::from(chunk) + 1, output);
    let taken = PEAK.load(Ordering::Relaxed) - before;
    assert!(taken <= MOST + MOST_PER_BYTE * output.len(), "{taken} bytes for {}", output.len());

    let whole = read(how, end, output.len().max(1), output);
    assert_eq!(report, whole, "the chunks make a difference");

    // The journal must return the report unchanged.
    let json = serde_json::to_string(&report).expect("a report is JSON");
    assert_eq!(report, serde_json::from_str(&json).expect("it was just written"));
    assert!(!report.outcome.sentence().is_empty());
});

fn read(how: u8, end: u8, chunk: usize, output: &[u8]) -> AttemptReport {
    let completion = Completion::default();
    let mut transcript = Transcript::new(TranscriptOptions {
        dialect: Dialect::Claude,
        completion: &completion,
        purpose: match how & 0b111 {
            0 => Some(CallPurpose::Verify),
            1 => Some(CallPurpose::Advise),
            _ => None,
        },
        live: how & 0b1000 != 0,
        started: Duration::ZERO,
    });
    let mut lines = Dialect::Claude.lines();
    let mut reported = 0_usize;
    let mut count = 0;
    let mut each = |line: StreamLine<'_>| {
        count += 1;
        let mono = Duration::from_secs(count);
        match line {
            StreamLine::Whole(line) => {
                transcript.line(mono, line, &mut |news| reported += size(&news), &mut |_| {});
            }
            StreamLine::TooLong { .. } => transcript.unreadable(mono),
        }
        assert!(transcript.pulse(mono).quiet.is_zero());
    };
    for chunk in output.chunks(chunk) {
        lines.push(chunk, &mut each);
    }
    lines.finish(&mut each);

    let exit = match end & 0b11 {
        0 => Some(ProcessExit::Code(0)),
        1 => Some(ProcessExit::Code(1)),
        2 => Some(ProcessExit::Signal(15)),
        _ => None,
    };
    let cut = match end >> 2 & 0b111 {
        0 => Some(CancelReason::StopNow),
        1 => Some(CancelReason::AfterResult),
        2 => Some(CancelReason::Auth),
        3 => Some(CancelReason::Deadline(Deadline::Idle)),
        4 => Some(CancelReason::Limit),
        _ => None,
    };
    let closing = AttemptExit {
        exit,
        cut,
        stderr: if end & 0b10_0000 != 0 { "a word on standard error" } else { "" },
        stdout_bytes: output.len() as u64,
        stderr_bytes: 0,
    };
    transcript.finish(Duration::from_secs(count + 1), Timestamp::UNIX_EPOCH, closing)
}

/// Uses the news, so that the compiler cannot remove it.
fn size(news: &AgentNews) -> usize {
    match news {
        AgentNews::Ready(ready) => ready.failed_servers.len(),
        AgentNews::Denied { tool } => tool.len(),
        AgentNews::Exited(_) => panic!("only the process itself can exit"),
        AgentNews::Pulse(_)
        | AgentNews::TurnEnded { .. }
        | AgentNews::Noticed(_)
        | AgentNews::LoginRefused
        | AgentNews::Quota(_) => 1,
    }
}
