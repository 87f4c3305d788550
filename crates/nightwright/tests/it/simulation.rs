//! Thousands of whole runs in virtual time, each generated from a seed. The machine and the
//! supervisor are real; the agent, the disk, the clock and the operator are simulated and
//! misbehave.
//!
//! `NIGHTWRIGHT_SEED=123` plays one run and prints its trace. `NIGHTWRIGHT_SEEDS=100000` sets the
//! total number of runs. A run that breaks a rule is played again with a full trace. The message
//! contains the seed: the same seed gives the same run.

mod agent;
mod checks;
mod dice;
mod faults;
mod lives;
mod random_inputs;
mod sim;
mod trace;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};

use nightwright_core::outcome;

use self::sim::Sim;
use self::trace::Trace;

/// The default number of runs.
const SEEDS: u64 = 10_000;
/// The number of test functions that share the runs, to use all cores.
const SHARES: u64 = 4;

/// Plays the seeds of one share.
#[expect(clippy::print_stdout, reason = "who asks for one seed wants to read what happens in it")]
fn play_share(share: u64) {
    if let Some(seed) = number("NIGHTWRIGHT_SEED") {
        if share == 0 {
            println!("{}", Trace::of(|trace| play(seed, trace)).unwrap_or_else(|trace| trace));
            play(seed, Trace::off());
        }
        return;
    }
    let seeds = number("NIGHTWRIGHT_SEEDS").unwrap_or(SEEDS);
    for seed in (share..seeds).step_by(usize::try_from(SHARES).expect("a few")) {
        if catch_unwind(AssertUnwindSafe(|| play(seed, Trace::off()))).is_err() {
            let trace = Trace::of(|trace| play(seed, trace)).unwrap_or_else(|trace| trace);
            panic!(
                "\n{trace}\nseed {seed} breaks a rule; to see it again: NIGHTWRIGHT_SEED={seed}\n"
            );
        }
    }
}

/// Plays one run to its end. Panics if a rule is broken.
fn play(seed: u64, trace: Trace) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without I/O needs nothing of the system");
    runtime.block_on(async {
        let sim = Sim::new(seed, trace);
        lives::play(&sim).await;
    });
}

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("`{name}` is no number: `{text}`")))
}

#[test]
fn no_fault_at_any_moment_breaks_a_rule_of_a_run_first_share() {
    play_share(0);
}

#[test]
fn no_fault_at_any_moment_breaks_a_rule_of_a_run_second_share() {
    play_share(1);
}

#[test]
fn no_fault_at_any_moment_breaks_a_rule_of_a_run_third_share() {
    play_share(2);
}

#[test]
fn no_fault_at_any_moment_breaks_a_rule_of_a_run_fourth_share() {
    play_share(3);
}

#[test]
fn the_same_seed_gives_the_same_run_to_the_last_line() {
    for seed in 0..20 {
        let trace = || Trace::of(|trace| play(seed, trace)).expect("a run that breaks no rule");
        assert_eq!(trace(), trace());
    }
}

/// Faults that end every run at its first step would find no bugs.
#[test]
fn the_runs_reach_every_outcome_and_every_kind_of_fault() {
    let trace: String =
        (0..600).map(|seed| Trace::of(|trace| play(seed, trace)).unwrap_or_default()).collect();
    // The simulated disk belongs to the run alone.
    let all = outcome::samples();
    let reached = all
        .iter()
        .filter(|outcome| !["journal_damaged", "sandbox_failed"].contains(&outcome.name()));
    let mut wanted: Vec<String> = reached
        .map(|outcome| format!("run_finished {outcome:?}"))
        .map(|name| name.split([' ', '{']).take(2).collect::<Vec<_>>().join(" "))
        .collect();
    let others = [
        "dies at Append",
        "dies at Synced",
        "dies at Effect",
        "is killed",
        "cannot append",
        "cannot sync",
        "clock jumps",
        "-> CancelChecks",
        "limit_wait_ended",
        "run_resumed",
        "stop_cancelled",
        "Lost",
        "AfterEnd",
    ];
    wanted.extend(others.map(str::to_owned));
    wanted.retain(|what| !trace.contains(what.as_str()));
    assert_eq!(wanted, [""; 0], "never reached");
}
