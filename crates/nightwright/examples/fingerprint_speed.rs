//! How long a look at a project takes, compared with `git status` in the same folder.
//!
//! `cargo xtask bench fingerprint` makes a repository and runs this; any other will do:
//! `cargo run --release -p nightwright --example fingerprint_speed -- FOLDER`.

#![expect(clippy::print_stdout, reason = "it prints its table")]

use std::error::Error;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nightwright::workspace::Workspace;

/// How often each is measured; the median counts.
const ROUNDS: usize = 15;
/// The most that a look may take, as a multiple of `git status`.
const WANTED: f64 = 1.5;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).ok_or("usage: fingerprint_speed FOLDER")?;
    let folder = PathBuf::from(folder);
    let mut workspace = Workspace::new(&folder, Vec::new());
    status(&folder)?;
    let first = workspace.snapshot();
    let [mut reference, mut ours] = [const { Vec::new() }; 2];
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        status(&folder)?;
        reference.push(begin.elapsed());
        let begin = Instant::now();
        let snapshot = black_box(workspace.snapshot());
        black_box(snapshot.fingerprint());
        ours.push(begin.elapsed());
        if snapshot.head().is_none() || snapshot.fingerprint() != first.fingerprint() {
            return Err("the project was not looked at through git, or changed meanwhile".into());
        }
    }
    let (reference, ours) = (median(reference), median(ours));
    let ratio = ours / reference;
    println!("\n{ROUNDS} rounds in turn, medians:\n");
    println!("| | ms | to the reference | wanted |");
    println!("| --- | ---: | ---: | ---: |");
    println!("| `git status --porcelain` | {reference:.1} | | |");
    println!("| fingerprint, second time | {ours:.1} | {ratio:.2}x | <= {WANTED}x |");
    if ratio > WANTED { Err("not reached: the multiple of git status".into()) } else { Ok(()) }
}

fn status(folder: &Path) -> Result<(), Box<dyn Error>> {
    let mut command = Command::new("git");
    command.args(["status", "--porcelain"]).current_dir(folder).stdout(Stdio::null());
    if command.status()?.success() { Ok(()) } else { Err("git status failed".into()) }
}

/// In milliseconds.
fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e3
}
