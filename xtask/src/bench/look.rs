//! `bench listing`: the commands that show past runs, compared with `cat` of the journals.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::bench_env::BenchEnv;
use super::measure::{measure, median};
use crate::program::{self, built, cargo};

/// The number of rounds per command; the median counts.
const ROUNDS: usize = 11;
/// The mean number of iterations per run.
const ITERATIONS: &str = "20";
/// The maximum duration of a command.
const WANTED: Duration = Duration::from_millis(200);

const TASKS: [&str; 8] =
    ["api", "docs", "errors", "invoices", "orders", "payments", "search", "webhooks"];

/// The measured commands: a name and the arguments.
const LOOKS: [(&str, &[&str]); 5] = [
    ("`nightwright list`", &["list"]),
    ("`nightwright task show orders`", &["task", "show", "orders"]),
    ("`nightwright status`", &["status"]),
    ("`nightwright status orders`", &["status", "orders"]),
    ("`nightwright report`", &["report"]),
];

pub(crate) fn run(root: &Path, runs: u64) -> Result<(), String> {
    let release = ["build", "--release", "--package", "nightwright", "--bin", "nightwright"];
    program::run(&mut cargo(root, &release))?;
    let example = ["build", "--release", "--package", "nightwright", "--example", "made_up_runs"];
    program::run(&mut cargo(root, &example))?;
    let nightwright = built(root, "release");
    let env = BenchEnv::new("bench-look")?;
    println!("making {runs} runs");
    fill(&env, &nightwright, runs)?;

    let journals = env.path("state").join("*/runs/*/journal.jsonl");
    let cat = format!("cat {} | wc -c", journals.display());
    let bytes = program::stdout(Command::new("sh").args(["-c", &cat]))?;
    let megabytes = bytes.trim().parse::<u64>().unwrap_or(0) / 1_000_000;

    let notes: Vec<_> = TASKS.iter().map(|task| note(&env, task)).collect();
    let mut times: Vec<Vec<Duration>> = vec![Vec::new(); LOOKS.len() + 2];
    for _ in 0..ROUNDS {
        let mut reference = env.command(Path::new("sh"));
        reference.args(["-c", &format!("cat {} > /dev/null", journals.display())]);
        times[0].push(measure(&mut reference)?.time);
        for ((_, words), times) in LOOKS.iter().zip(&mut times[1..]) {
            times.push(look(&env, &nightwright, words)?);
        }
        // Moves the notes of the tasks away, so that all journals have to be read.
        for path in &notes {
            let moved = path.with_extension("away");
            fs::rename(path, moved).map_err(|error| format!("cannot move a note: {error}"))?;
        }
        times[LOOKS.len() + 1].push(look(&env, &nightwright, &["list"])?);
        for path in &notes {
            let moved = path.with_extension("away");
            fs::rename(moved, path).map_err(|error| format!("cannot move a note: {error}"))?;
        }
    }
    table(&times, megabytes)
}

fn note(env: &BenchEnv, task: &str) -> std::path::PathBuf {
    env.path("project").join(format!(".nightwright/tasks/{task}/.state.json"))
}

fn fill(env: &BenchEnv, nightwright: &Path, runs: u64) -> Result<(), String> {
    for task in TASKS {
        let mut new = env.command(nightwright);
        program::run(new.args(["new", task]).stderr(Stdio::null()))?;
        let text = env.path("project").join(format!(".nightwright/tasks/{task}/INSTRUCTIONS.md"));
        fs::write(text, "Do it.\n").map_err(|error| format!("cannot write: {error}"))?;
    }
    let example = nightwright.with_file_name("examples").join("made_up_runs");
    let mut made_up = env.command(&example);
    made_up.arg(env.path("project")).args([&runs.to_string(), ITERATIONS]).args(TASKS);
    program::run(&mut made_up)
}

fn look(env: &BenchEnv, nightwright: &Path, words: &[&str]) -> Result<Duration, String> {
    Ok(measure(env.command(nightwright).args(words).stderr(Stdio::null()))?.time)
}

/// Prints the table; the error names the commands that timed out.
fn table(times: &[Vec<Duration>], megabytes: u64) -> Result<(), String> {
    let middle = |times: &Vec<Duration>| median(times.clone()).unwrap_or_default();
    let milliseconds = |time: Duration| time.as_secs_f64() * 1000.0;
    let reference = middle(&times[0]);
    println!("\n| | ms | ratio to the reference | target |\n| --- | ---: | ---: | ---: |");
    println!("| `cat` of all journals ({megabytes} MB) | {:.0} | | |", milliseconds(reference));
    let names = LOOKS.iter().map(|(name, _)| *name).chain(["`nightwright list`, without notes"]);
    let mut missed = Vec::new();
    for ((place, name), times) in names.enumerate().zip(&times[1..]) {
        let time = middle(times);
        let ratio = time.as_secs_f64() / reference.as_secs_f64().max(1e-9);
        // Reading all journals has no limit.
        let is_wanted = place < LOOKS.len();
        let wanted =
            if is_wanted { format!("<= {} ms", WANTED.as_millis()) } else { String::new() };
        if is_wanted && time > WANTED {
            missed.push(name);
        }
        println!("| {name} | {:.0} | {ratio:.2}x | {wanted} |", milliseconds(time));
    }
    if missed.is_empty() { Ok(()) } else { Err(format!("targets missed: {}", missed.join(", "))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_that_takes_too_long_is_an_error_but_not_one_at_all_journals() {
        let mut times = vec![vec![WANTED]; LOOKS.len() + 2];
        times[LOOKS.len() + 1] = vec![10 * WANTED];
        assert_eq!(table(&times, 1), Ok(()));
        times[2] = vec![WANTED + Duration::from_millis(1)];
        assert_eq!(
            table(&times, 1),
            Err("targets missed: `nightwright task show orders`".to_owned())
        );
    }
}
