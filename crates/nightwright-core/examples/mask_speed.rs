//! How fast secrets are masked in streams without secrets, for different numbers of known values.
//!
//! The material is made from the recordings of the tests:
//! `cargo run --release -p nightwright-core --example mask_speed`.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a benchmark reads files and a clock"
)]
#![expect(clippy::print_stdout, reason = "it prints its table")]

use std::error::Error;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use nightwright_core::redact::{Secrets, StreamMasker};
use nightwright_core::stream::dialect::Dialect;
use nightwright_core::stream::output_masker::OutputMasker;
use serde_json::Value;

/// The number of rounds; the median counts.
const ROUNDS: usize = 15;
/// The size of one read from the agent's pipe.
const CHUNK: usize = 128 << 10;
/// The size of each material.
const SIZE: usize = 16_000_000;
/// The number of known values; the first one is the reference.
const VALUES: [usize; 4] = [0, 5, 60, 200];
/// The maximum length of a short event.
const SHORT: usize = 1000;

fn main() -> Result<(), Box<dyn Error>> {
    let secrets = VALUES.map(|count| Secrets::new(values(count), [""; 0]));
    let secrets = secrets.into_iter().collect::<Result<Vec<_>, _>>()?;
    println!(
        "MB/s of the stream masker alone, then of the output masker; the ratio to no known values.\n"
    );
    println!("| material | values | masker | ratio | output masker | ratio |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: |");
    for (name, material) in materials()? {
        let mut times = vec![[const { Vec::new() }; 2]; VALUES.len()];
        for _ in 0..ROUNDS {
            for (times, secrets) in times.iter_mut().zip(&secrets) {
                times[0].push(timed(|| masked(&material, secrets)));
                times[1].push(timed(|| through_output_masker(&material, secrets)));
            }
        }
        let speeds: Vec<_> = times
            .into_iter()
            .map(|times| times.map(|times| speed(material.len(), median(times))))
            .collect();
        for (count, [masker, output]) in VALUES.iter().zip(&speeds) {
            let [of_masker, of_output] = [masker / speeds[0][0], output / speeds[0][1]];
            println!(
                "| {name} | {count} | {masker:.0} | {of_masker:.2}x | {output:.0} | {of_output:.2}x |"
            );
        }
    }
    Ok(())
}

/// A stream and its name.
type Material = (&'static str, Vec<u8>);

/// The three kinds of streams.
fn materials() -> Result<[Material; 3], Box<dyn Error>> {
    let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/claude");
    let mut folders = fs::read_dir(recordings)?.collect::<Result<Vec<_>, _>>()?;
    folders.sort_by_key(fs::DirEntry::file_name);
    let mut mixed = String::new();
    for folder in folders {
        let stream = folder.path().join("stdout.ndjson");
        if stream.exists() {
            mixed.push_str(&fs::read_to_string(stream)?);
        }
    }
    let is_event = |line: &&str| line.len() < SHORT && line.contains("\"stream_event\"");
    let short: Vec<_> = mixed.lines().filter(is_event).collect();
    let colored = mixed.lines().map(colored).collect::<Result<Vec<_>, _>>()?;
    Ok([
        ("mixed", repeated(&mixed)),
        ("short events", repeated(&(short.join("\n") + "\n"))),
        ("escapes and non-ASCII", repeated(&(colored.join("\n") + "\n"))),
    ])
}

fn repeated(text: &str) -> Vec<u8> {
    text.repeat(SIZE.div_ceil(text.len())).into_bytes()
}

/// The line with escapes, colors and other alphabets in its longer strings.
fn colored(line: &str) -> serde_json::Result<String> {
    fn color(value: &mut Value) {
        match value {
            Value::String(text) if text.contains(' ') => {
                *text = text
                    .split(' ')
                    .enumerate()
                    .map(|(index, word)| match index % 8 {
                        1 => format!("\"{word}\"\n\t"),
                        3 => format!("größer {word} für Пример"),
                        5 if index % 64 == 5 => format!("\u{1b}[01;31m{word}\u{1b}[0m"),
                        7 => format!("日本語 😀 {word}\r\n"),
                        _ => format!("{word} "),
                    })
                    .collect();
            }
            Value::Array(items) => items.iter_mut().for_each(color),
            Value::Object(members) => members.values_mut().for_each(color),
            _ => {}
        }
    }
    let mut value = serde_json::from_str(line)?;
    color(&mut value);
    serde_json::to_string(&value)
}

/// Random values as programs make them, the same every time: hexadecimal, base64 and words.
fn values(count: usize) -> Vec<String> {
    let mut state = 1_u64;
    let mut roll = move |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(state >> 33).unwrap_or(0) % below
    };
    let alphabets: [&[u8]; 3] = [
        b"0123456789abcdef",
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
        b"abcdefghijklmnopqrstuvwxyz-_ 0123456789",
    ];
    (0..count)
        .map(|index| {
            let alphabet = alphabets[index % alphabets.len()];
            let length = 16 + roll(48);
            (0..length).map(|_| char::from(alphabet[roll(alphabet.len())])).collect()
        })
        .collect()
}

fn masked(bytes: &[u8], secrets: &Secrets) -> usize {
    let mut masking = StreamMasker::of_json(secrets.clone());
    let mut length = 0;
    for chunk in bytes.chunks(CHUNK) {
        masking.push(chunk, |piece| length += black_box(piece).len());
    }
    masking.finish(|piece| length += piece.len());
    length
}

fn through_output_masker(bytes: &[u8], secrets: &Secrets) -> usize {
    let mut output = OutputMasker::new(Dialect::Claude, secrets.clone());
    let mut length = 0;
    for chunk in bytes.chunks(CHUNK) {
        output.push(chunk, |kept| length += black_box(kept).len());
    }
    output.finish(|kept| length += kept.len());
    length
}

fn timed(work: impl FnOnce() -> usize) -> Duration {
    let begin = Instant::now();
    black_box(work());
    begin.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

#[expect(clippy::cast_precision_loss, reason = "an approximate figure for display")]
fn speed(bytes: usize, time: Duration) -> f64 {
    bytes as f64 / 1e6 / time.as_secs_f64()
}
