//! Only one run at a time in a project, however many are started.

use std::fs::File;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::harness::{RunningCommand, TestEnv, finish};

const HANGING: &str = "[[attempt]]\nend = { hang = true }\n";

/// The number of runs to start. `NIGHTWRIGHT_STARTS` overrides it.
fn starts() -> usize {
    std::env::var("NIGHTWRIGHT_STARTS")
        .map_or(200, |text| text.parse().expect("a number of starts"))
}

#[test]
fn one_of_two_hundred_simultaneous_starts_wins_and_the_others_name_it() {
    let env = TestEnv::new();
    let script = env.script(HANGING);
    let arguments = ["run", "-p", "x", "-m", "3", "--dry-run", "--rehearsal", &script];
    let mut children: Vec<_> = (0..starts()).map(|_| env.start(&arguments)).collect();
    env.wait_for("agent_ready");
    // The losers exit immediately, so the last running process has won.
    let begun = Instant::now();
    let mut losers = Vec::new();
    while losers.len() + 1 < starts() {
        assert!(begun.elapsed() < Duration::from_mins(2), "only {} have left", losers.len());
        let mut there = Vec::new();
        for mut child in children {
            match child.try_wait().unwrap() {
                Some(_) => losers.push(child),
                None => there.push(child),
            }
        }
        children = there;
        std::thread::sleep(Duration::from_millis(5));
    }
    let winner = children.pop().expect("one has won");
    let id = format!("pid {}", winner.id());
    for loser in losers {
        finish(loser).exits(1).says(&["is in use by run", &id, "nightwright stop"]);
    }
    env.run(&["stop", "--now"]).exits(0);
    finish(winner).exits(130);
    assert_eq!(env.runs().len(), 1, "those who lost leave nothing behind");
}

/// Starts a run that waits for the processes of an earlier one, because the lock says that some are
/// alive. Returns the ID of the earlier run.
fn waiting_start() -> (TestEnv, String, RunningCommand, File) {
    let env = TestEnv::new();
    let script = env.script("[[attempt]]\nend = { result = \"Done.\" }\n");
    let arguments = ["run", "-p", "x", "-m", "1", "--dry-run", "--rehearsal", &script];
    env.run(&arguments).exits(0);
    let first = env.runs().pop().unwrap();
    let mut options = File::options();
    let alive = options.create(true).append(true).open(first.join("tree.lock")).unwrap();
    alive.lock_shared().unwrap();
    let name = |run: &std::path::Path| run.file_name().unwrap().to_str().unwrap().to_owned();
    let child = env.start(&arguments);
    let begun = Instant::now();
    while !env.runs().iter().any(|run| *run != first && run.join("lock").exists()) {
        assert!(begun.elapsed() < Duration::from_mins(1), "it does not begin");
        std::thread::sleep(Duration::from_millis(5));
    }
    (env, name(&first), child, alive)
}

#[test]
fn a_start_that_is_interrupted_while_it_waits_leaves_nothing() {
    let (env, first, child, _alive) = waiting_start();
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    finish(child).exits(130);
    assert_eq!(env.runs().len(), 1, "{:?}", env.runs());
    let status = env.run(&["status"]).exits(0);
    assert!(status.out.contains(&first), "{}", status.out);
}

#[test]
fn a_start_that_is_killed_while_it_waits_is_no_run() {
    let (env, first, mut child, alive) = waiting_start();
    child.kill().unwrap();
    child.wait().unwrap();
    drop(alive);
    assert_eq!(env.runs().len(), 2, "{:?}", env.runs());
    let status = env.run(&["status"]).exits(0);
    assert!(status.out.contains(&first), "{}", status.out);
    env.run(&["log"]).exits(0);
    env.run(&["resume"]).exits(1).says(&[&first, "ended because it reached 1 iteration"]);
    env.run(&["service", "install", "--print"]).exits(1).says(&[&first, "has ended"]);
    env.run(&["run", "-p", "x", "-m", "1", "--dry-run"]).exits(0);
}
