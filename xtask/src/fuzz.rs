//! `cargo xtask fuzz`: fuzzes the parsers of untrusted input.
//!
//! The targets are in `fuzz/`, a separate crate that needs a nightly compiler and `cargo-fuzz`.
//! They run two at a time and at the lowest priority, so that the machine stays usable.

mod seeds;

use std::collections::VecDeque;
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::thread;

use crate::program;

/// The folder with the fuzz targets.
const FOLDER: &str = "fuzz";
/// The default duration of each target.
const MINUTES: u64 = 10;
/// The number of targets that run at the same time.
const MAX_PARALLEL: usize = 2;
/// The memory limit, enough for the address sanitizer and the corpus.
const MEMORY: &str = "-rss_limit_mb=2048";
/// An input that takes longer than this is a finding.
const INPUT_TIMEOUT: &str = "-timeout=10";
/// The number of lines of a log that a finding prints.
const SHOWN_LINES: usize = 40;

/// All targets; those that read the agent's output come first.
pub(crate) const TARGETS: [&str; 9] = [
    "stream",
    "lines",
    "words",
    "classify",
    "journal",
    "reset",
    "display",
    "redact",
    "output_masker",
];

/// The options on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FuzzOptions {
    /// One target; `None` means all of them.
    only: Option<String>,
    minutes: u64,
}

impl FuzzOptions {
    pub(crate) fn parse(words: &[&str]) -> Result<Self, String> {
        let mut hunt = Self { only: None, minutes: MINUTES };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--minutes" => {
                    hunt.minutes = words
                        .next()
                        .and_then(|number| number.parse().ok())
                        .filter(|minutes| *minutes > 0)
                        .ok_or("`--minutes` takes a number from 1 on")?;
                }
                target if TARGETS.contains(&target) && hunt.only.is_none() => {
                    hunt.only = Some(target.to_owned());
                }
                other => {
                    let targets = TARGETS.join(", ");
                    return Err(format!(
                        "`fuzz` takes one of {targets} and `--minutes N`, not `{other}`"
                    ));
                }
            }
        }
        Ok(hunt)
    }
}

pub(crate) fn run(root: &Path, hunt: &FuzzOptions) -> Result<(), String> {
    let folder = root.join(FOLDER);
    ensure_programs(&folder)?;
    let targets: Vec<_> = TARGETS
        .into_iter()
        .filter(|target| hunt.only.as_deref().is_none_or(|only| only == *target))
        .collect();
    for target in &targets {
        seeds::plant(root, target, &folder.join("corpus").join(target))?;
    }
    program::run(cargo_fuzz(&folder).arg("build"))?;

    let logs = folder.join("target/logs");
    fs::create_dir_all(&logs)
        .map_err(|error| format!("cannot make {}: {error}", logs.display()))?;
    let queue = Mutex::new(VecDeque::from_iter(targets));
    let results = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..MAX_PARALLEL {
            scope.spawn(|| {
                while let Some(target) = next(&queue) {
                    eprintln!("==> {target}, {} min", hunt.minutes);
                    let log = logs.join(format!("{target}.log"));
                    let result = fuzz(&folder, target, hunt.minutes, &log);
                    eprintln!("<== {target} {}", if result.is_ok() { "ok" } else { "failed" });
                    results
                        .lock()
                        .expect("no thread panics while holding the lock")
                        .push((target, result));
                }
            });
        }
    });
    report(&results.into_inner().expect("no thread panicked while holding the lock"))
}

fn next(queue: &Mutex<VecDeque<&'static str>>) -> Option<&'static str> {
    queue.lock().expect("no thread panics while holding the lock").pop_front()
}

/// The figures that a target reports.
#[derive(Debug, PartialEq, Eq)]
struct FuzzStats {
    inputs: u64,
    inputs_per_second: u64,
    peak_megabytes: u64,
}

/// Runs one target until its time is up or it finds something.
fn fuzz(folder: &Path, target: &str, minutes: u64, log: &Path) -> Result<FuzzStats, String> {
    let unusable = |error| format!("cannot write {}: {error}", log.display());
    let file = File::create(log).map_err(unusable)?;
    let both = file.try_clone().map_err(unusable)?;
    let mut command = cargo_fuzz(folder);
    command
        .args(["run", target, "--", MEMORY, INPUT_TIMEOUT, "-print_final_stats=1"])
        .arg(format!("-max_total_time={}", minutes * 60))
        .stdout(file)
        .stderr(both);
    let ended = program::run(&mut command);
    let text = String::from_utf8_lossy(&fs::read(log).map_err(unusable)?).into_owned();
    match ended {
        Ok(()) => figures(&text).ok_or_else(|| format!("{target} left no figures in its log")),
        Err(failure) => {
            let lines: Vec<_> = text.lines().collect();
            let shown = lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n");
            Err(format!("{failure}\n{shown}"))
        }
    }
}

/// Parses the figures that the fuzzer prints at the end.
fn figures(log: &str) -> Option<FuzzStats> {
    let figure = |name: &str| {
        log.lines().find_map(|line| {
            line.strip_prefix("stat::")?.strip_prefix(name)?.strip_prefix(':')?.trim().parse().ok()
        })
    };
    Some(FuzzStats {
        inputs: figure("number_of_executed_units")?,
        inputs_per_second: figure("average_exec_per_sec")?,
        peak_megabytes: figure("peak_rss_mb")?,
    })
}

fn report(results: &[(&str, Result<FuzzStats, String>)]) -> Result<(), String> {
    println!("| target | inputs | per second | peak MB | found |");
    println!("| --- | ---: | ---: | ---: | --- |");
    let mut failures = Vec::new();
    for (target, result) in results {
        match result {
            Ok(FuzzStats { inputs, inputs_per_second, peak_megabytes }) => {
                println!(
                    "| {target} | {inputs} | {inputs_per_second} | {peak_megabytes} | nothing |"
                );
            }
            Err(failure) => {
                println!("| {target} | | | | **see below** |");
                failures.push(format!("{target}: {failure}"));
            }
        }
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n\n")) }
}

/// Returns `cargo +nightly fuzz` at the lowest priority. The cargo that runs xtask is a stable one.
fn cargo_fuzz(folder: &Path) -> Command {
    let mut command = Command::new("nice");
    command.args(["-n", "19", "cargo", "+nightly", "fuzz"]).current_dir(folder);
    for name in ["CARGO", "RUSTUP_TOOLCHAIN", "CARGO_TARGET_DIR"] {
        command.env_remove(name);
    }
    command
}

fn ensure_programs(folder: &Path) -> Result<(), String> {
    if program::works(cargo_fuzz(folder).arg("--version")) {
        return Ok(());
    }
    Err("cannot run `cargo +nightly fuzz`\n\
         hint: rustup toolchain install nightly --profile minimal && cargo install cargo-fuzz"
        .to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_name_all_targets_run_for_ten_minutes() {
        assert_eq!(FuzzOptions::parse(&[]), Ok(FuzzOptions { only: None, minutes: 10 }));
        let one = FuzzOptions { only: Some("lines".to_owned()), minutes: 3 };
        assert_eq!(FuzzOptions::parse(&["lines", "--minutes", "3"]), Ok(one.clone()));
        assert_eq!(FuzzOptions::parse(&["--minutes", "3", "lines"]), Ok(one));
        for wrong in [&["limes"][..], &["--minutes"], &["--minutes", "0"], &["lines", "reset"]] {
            assert!(FuzzOptions::parse(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn every_target_is_built_and_every_built_one_is_run() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz");
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        assert_eq!(manifest.matches("[[bin]]").count(), TARGETS.len());
        for target in TARGETS {
            assert!(manifest.contains(&format!("name = \"{target}\"")), "{target}");
            assert!(folder.join(format!("fuzz_targets/{target}.rs")).exists(), "{target}");
        }
    }

    #[test]
    fn the_figures_are_those_of_the_log() {
        let log = "#2 INITED\nDone 77 runs in 601 second(s)\nstat::number_of_executed_units: 77\n\
                   stat::average_exec_per_sec:     12\nstat::peak_rss_mb:              345\n";
        let expected = FuzzStats { inputs: 77, inputs_per_second: 12, peak_megabytes: 345 };
        assert_eq!(figures(log), Some(expected));
        assert_eq!(figures("Done 77 runs"), None);
    }
}
