//! How fast lines become messages, compared with a plain typed decode of the same lines.
//!
//! `cargo xtask bench decode` makes up the lines and runs this; any file of lines of the agent
//! will do: `cargo run --release -p nightwright-core --example decode_speed -- FILE`.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a benchmark reads a file and a clock"
)]
#![expect(clippy::print_stdout, reason = "it prints its table")]

use std::borrow::Cow;
use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

use nightwright_core::redact::Secrets;
use nightwright_core::settings::Completion;
use nightwright_core::stream::dialect::Dialect;
use nightwright_core::stream::lines::StreamLine;
use nightwright_core::stream::transcript::{Transcript, TranscriptOptions};
use serde::Deserialize;

/// How often each is measured; the median counts.
const ROUNDS: usize = 7;
/// As much as one read from the agent's pipe gives.
const CHUNK: usize = 128 << 10;
/// The required speed of the decoder, as a share of the plain one.
const WANTED: f64 = 0.9;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: decode_speed FILE")?;
    let bytes = std::fs::read(&path)?;
    let mut times = [const { Vec::new() }; 3];
    for _ in 0..ROUNDS {
        times[0].push(timed(|| plain(&bytes)));
        times[1].push(timed(|| decoded(&bytes)));
        times[2].push(timed(|| folded(&bytes)));
    }
    let [reference, decoded, folded] = times.map(|times| speed(bytes.len(), median(times)));

    println!("\n{} MB from memory, {ROUNDS} rounds in turn, medians:\n", bytes.len() / 1_000_000);
    println!("| | MB/s | to the reference | wanted |");
    println!("| --- | ---: | ---: | ---: |");
    println!("| reference: typed decode with borrowed strings | {reference:.0} | | |");
    let share = decoded / reference;
    println!("| lines to messages | {decoded:.0} | {share:.2}x | >= {WANTED}x |");
    println!("| lines to messages to a report | {folded:.0} | {:.2}x | |", folded / reference);
    if share < WANTED { Err("not reached: the share of the plain decode".into()) } else { Ok(()) }
}

/// Bytes to lines to messages, as an attempt reads them.
fn decoded(bytes: &[u8]) -> u64 {
    let mut count = 0;
    each_line(bytes, |line| {
        let read = Dialect::Claude.decode(line, &mut |message| {
            black_box(&message);
            count += 1;
        });
        assert!(read.is_ok(), "{read:?}");
    });
    count
}

/// The same, and what is kept of them.
fn folded(bytes: &[u8]) -> u64 {
    let completion = Completion::default();
    let mut transcript = Transcript::new(TranscriptOptions {
        dialect: Dialect::Claude,
        completion: &completion,
        secrets: &Secrets::default(),
        purpose: None,
        live: false,
        started: Duration::ZERO,
    });
    let mut count = 0;
    each_line(bytes, |line| {
        transcript.line(Duration::ZERO, line, &mut |_| {}, &mut |_| count += 1);
    });
    count
}

fn each_line(bytes: &[u8], mut each: impl FnMut(&[u8])) {
    let mut lines = Dialect::Claude.lines();
    for chunk in bytes.chunks(CHUNK) {
        lines.push(chunk, |line| match line {
            StreamLine::Whole(line) => each(line),
            StreamLine::TooLong { bytes } => panic!("a line of {bytes} bytes"),
        });
    }
}

/// The reference: what one would write if every line were as the documentation says.
fn plain(bytes: &[u8]) -> u64 {
    let mut count = 0;
    let mut rest = bytes;
    while let Some(end) = memchr::memchr(b'\n', rest) {
        let line: Plain<'_> = serde_json::from_slice(&rest[..end]).expect("a line as documented");
        black_box(&line);
        rest = &rest[end + 1..];
        count += 1;
    }
    count
}

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "it is decoded, and nothing more")]
struct Plain<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    subtype: Option<&'a str>,
    #[serde(borrow, default)]
    parent_tool_use_id: Option<&'a str>,
    #[serde(borrow, default)]
    message: Option<Message<'a>>,
    #[serde(borrow, default)]
    event: Option<Event<'a>>,
    #[serde(default)]
    is_error: Option<bool>,
    #[serde(borrow, default)]
    result: Option<Cow<'a, str>>,
    #[serde(default)]
    total_cost_usd: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "it is decoded, and nothing more")]
struct Message<'a> {
    #[serde(borrow, default)]
    model: Option<&'a str>,
    #[serde(borrow, default)]
    content: Vec<Block<'a>>,
    #[serde(default)]
    usage: Option<Usage>,
}

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "it is decoded, and nothing more")]
struct Block<'a> {
    #[serde(rename = "type", borrow)]
    kind: &'a str,
    #[serde(borrow, default)]
    text: Cow<'a, str>,
    #[serde(borrow, default)]
    id: Option<&'a str>,
    #[serde(borrow, default)]
    name: Option<&'a str>,
    #[serde(borrow, default)]
    tool_use_id: Option<&'a str>,
}

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "it is decoded, and nothing more")]
struct Event<'a> {
    #[serde(rename = "type", borrow)]
    kind: &'a str,
    #[serde(borrow, default)]
    message: Option<Message<'a>>,
    #[serde(borrow, default)]
    delta: Option<Delta<'a>>,
    #[serde(default)]
    usage: Option<Usage>,
}

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "it is decoded, and nothing more")]
struct Delta<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Option<&'a str>,
    #[serde(borrow, default)]
    text: Cow<'a, str>,
}

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "it is decoded, and nothing more")]
struct Usage {
    #[serde(default, rename = "input_tokens")]
    input: u64,
    #[serde(default, rename = "output_tokens")]
    output: u64,
    #[serde(default, rename = "cache_read_input_tokens")]
    cache_read: u64,
    #[serde(default, rename = "cache_creation_input_tokens")]
    cache_write: u64,
}

fn timed(mut work: impl FnMut() -> u64) -> Duration {
    let begin = Instant::now();
    black_box(work());
    begin.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
fn speed(bytes: usize, time: Duration) -> f64 {
    bytes as f64 / 1e6 / time.as_secs_f64()
}
