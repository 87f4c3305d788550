//! `bench stream`: a run whose agent prints without a pause, compared with `tee` and `jq`.
//!
//! `tee` writes the same output to a file without reading it, and `jq` parses it without storing
//! it. Nightwright does both.

use std::path::Path;
use std::time::Duration;

use super::bench_env::BenchEnv;
use super::material::{self, Extra, MEGABYTE};
use super::measure::{Taken, measure, median};
use crate::program::{self, cargo};

/// The number of rounds for each program.
const ROUNDS: usize = 5;

/// The targets: a share of the speed of `tee`, a multiple of `jq`, and the memory.
const OF_TEE: f64 = 0.65;
const OF_JQ: f64 = 4.0;
const MEMORY: u64 = 32 << 20;
const MEMORY_LONG: u64 = 64 << 20;

/// The size of the rest of the stream around a long line, in megabytes.
const AROUND: u64 = 50;

pub(crate) fn run(root: &Path, megabytes: u64) -> Result<(), String> {
    program::run(&mut cargo(root, &["build", "--release", "--package", "nightwright"]))?;
    let nightwright = program::built(root, "release");
    let env = BenchEnv::new("bench-stream")?;
    let stream = env.path("stream.ndjson");
    let bytes = material(&stream, megabytes, Extra::None)?;
    env.agent(&format!("exec cat '{}'", stream.display()))?;

    let mut rounds = [const { Vec::new() }; 3];
    for round in 0..ROUNDS {
        eprintln!("==> round {} of {ROUNDS}", round + 1);
        rounds[0].push(through(&env, "claude | tee \"$TMPDIR/raw\"")?);
        rounds[1].push(through_nightwright(&env, &nightwright, bytes)?);
        rounds[2].push(through(&env, "claude | jq -c .type")?);
    }
    let [tee, ours, jq] = rounds.map(|rounds| middle(&rounds));
    let rate = |taken: Taken| speed(bytes, taken.time);

    println!("\n{} MB of stream-json, {ROUNDS} alternating rounds, medians:\n", bytes / MEGABYTE);
    println!("| program | MB/s | ratio of nightwright | target | peak MiB | target |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: |");
    println!(
        "| `nightwright run -m 1 --quiet` | {:.0} | | | {:.1} | <= {} |",
        rate(ours),
        mebibytes(ours.peak),
        MEMORY >> 20
    );
    let (of_tee, of_jq) = (rate(ours) / rate(tee), rate(ours) / rate(jq));
    println!("| `tee` into a file | {:.0} | {of_tee:.2}x | >= {OF_TEE}x | | |", rate(tee));
    println!("| `jq -c .type` | {:.0} | {of_jq:.1}x | >= {OF_JQ}x | | |", rate(jq));

    let long = memory_of_the_unusual(&env, &nightwright)?;
    verdict(of_tee, of_jq, ours.peak, long)
}

/// Measures the peak memory with streams of unusual lines.
fn memory_of_the_unusual(env: &BenchEnv, nightwright: &Path) -> Result<u64, String> {
    println!("\nMemory of the supervisor, for streams of {AROUND} MB with additional lines:\n");
    println!("| additional line | peak MiB | target |");
    println!("| --- | ---: | ---: |");
    let cases = [
        ("nothing unusual", Extra::None, ""),
        ("tool results and answers of up to 20 MB", Extra::LongLines(20_000_000), ""),
        ("tool results and answers of up to 100 MB", Extra::LongLines(100_000_000), ""),
        ("answers of 24 MB in pieces of 1 MB", Extra::ManyBlocks(24_000_000), ""),
        ("200 MB without a newline", Extra::Endless(200_000_000), ""),
        ("200 MB on standard error", Extra::None, "head -c 200000000 /dev/zero >&2\n"),
    ];
    let mut worst = 0;
    for (name, extra, before) in cases {
        let stream = env.path("stream.ndjson");
        let bytes = material(&stream, AROUND, extra)?;
        env.agent(&format!("{before}exec cat '{}'", stream.display()))?;
        let taken = through_nightwright(env, nightwright, bytes)?;
        worst = worst.max(taken.peak);
        println!("| {name} | {:.1} | <= {} |", mebibytes(taken.peak), MEMORY_LONG >> 20);
    }
    Ok(worst)
}

fn verdict(of_tee: f64, of_jq: f64, memory: u64, memory_long: u64) -> Result<(), String> {
    let mut missed = Vec::new();
    for (name, reached) in [
        ("the share of `tee`", of_tee >= OF_TEE),
        ("the multiple of `jq`", of_jq >= OF_JQ),
        ("the memory for lines up to 1 MiB", memory <= MEMORY),
        ("the memory for any stream", memory_long <= MEMORY_LONG),
    ] {
        if !reached {
            missed.push(name);
        }
    }
    if missed.is_empty() { Ok(()) } else { Err(format!("targets missed: {}", missed.join(", "))) }
}

fn material(path: &Path, megabytes: u64, extra: Extra) -> Result<u64, String> {
    material::write(path, megabytes, extra)
        .map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// Runs the agent with its output in a shell pipeline.
fn through(env: &BenchEnv, pipeline: &str) -> Result<Taken, String> {
    let taken = measure(env.command(Path::new("/bin/sh")).args(["-c", pipeline]))?;
    env.tidy()?;
    Ok(taken)
}

/// Runs one iteration and checks that every byte was stored.
fn through_nightwright(env: &BenchEnv, nightwright: &Path, bytes: u64) -> Result<Taken, String> {
    let arguments = ["run", "-p", "move the handlers", "-m", "1", "--quiet", "--max-retries", "0"];
    let taken = measure(env.command(nightwright).args(arguments))?;
    let kept = env.keep();
    env.tidy()?;
    if kept == bytes { Ok(taken) } else { Err(format!("only {kept} of {bytes} bytes were stored")) }
}

/// Returns the median duration and the median peak.
fn middle(rounds: &[Taken]) -> Taken {
    Taken {
        time: median(rounds.iter().map(|taken| taken.time).collect()).unwrap_or_default(),
        peak: median(rounds.iter().map(|taken| taken.peak).collect()).unwrap_or_default(),
    }
}

#[expect(clippy::cast_precision_loss, reason = "an approximate figure for display")]
fn speed(bytes: u64, time: Duration) -> f64 {
    bytes as f64 / MEGABYTE as f64 / time.as_secs_f64()
}

#[expect(clippy::cast_precision_loss, reason = "an approximate figure for display")]
fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
