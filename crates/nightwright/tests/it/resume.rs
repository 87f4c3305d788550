//! Resuming a run whose process was killed.

use std::collections::BTreeSet;
use std::fs;
use std::process::Child;
use std::time::{Duration, Instant};

use nightwright_core::event::{AttemptEvent, CallEvent, Event, IterationEvent, Record, RunEvent};
use nightwright_core::units::Usd;
use rustix::process::{Pid, Signal, kill_process};

use super::harness::{TestEnv, finish, names, run_outcome};

/// Three iterations of work, with a retry, a usage limit and a rejected claim.
const STORY: &str = r#"
[[attempt]]
cost = 0.10
steps = [{ say = "one" }, { write = "1.txt", text = "1" }]
end = { result = "One of three." }
[[attempt]]
cost = 0.01
end = { limit = "1s" }
[[attempt]]
cost = 0.10
steps = [{ write = "2.txt", text = "2" }]
end = { result = "I think it is all.\n<promise>COMPLETE</promise>" }
[[attempt]]
cost = 0.10
steps = [{ write = "3.txt", text = "3" }]
end = { result = "<promise>COMPLETE</promise>" }
"#;

fn kill(child: &mut Child) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
    child.wait().unwrap();
}

/// Waits until the journal has this number of lines or the run has ended.
fn lines_reached(env: &TestEnv, lines: usize, child: &mut Child) -> bool {
    let begun = Instant::now();
    loop {
        let there = env.runs().first().map_or(0, |run| {
            fs::read(run.join("journal.jsonl"))
                .map_or(0, |text| text.split(|byte| *byte == b'\n').count() - 1)
        });
        if there >= lines {
            return true;
        }
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        assert!(begun.elapsed() < Duration::from_mins(1), "stuck before line {lines}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Checks the invariants of the journal of a run that has ended.
fn check(env: &TestEnv, journal: &[Record], moment: usize) {
    let finished: Vec<_> = journal
        .iter()
        .filter_map(|record| match &record.event {
            Event::Iteration(IterationEvent::Finished(finished)) => Some(finished.iteration.0),
            _ => None,
        })
        .collect();
    let distinct: BTreeSet<_> = finished.iter().collect();
    assert_eq!(distinct.len(), finished.len(), "{moment}: an iteration was finished twice");

    let mut sum = Usd::ZERO;
    let mut begun = BTreeSet::new();
    for record in journal {
        match &record.event {
            Event::Attempt(AttemptEvent::Finished { cost, .. })
            | Event::Call(CallEvent::Finished { cost, .. }) => sum += *cost,
            Event::Attempt(AttemptEvent::Started { attempt, .. }) => {
                assert!(begun.insert(*attempt), "{moment}: attempt {attempt} began twice");
            }
            _ => {}
        }
    }
    let Some(Event::Run(RunEvent::Finished { totals, .. })) =
        journal.last().map(|record| &record.event)
    else {
        panic!("{moment}: no outcome")
    };
    assert_eq!(totals.cost, sum, "{moment}: the summary does not add up");
    assert!(totals.iterations <= 9, "{moment}: the limit of iterations does not hold");

    let asked = env.asked();
    let attempts: Vec<_> = asked.iter().filter(|line| line["part"] == "attempt").collect();
    let numbers: BTreeSet<_> = attempts.iter().map(|line| line["attempt"].to_string()).collect();
    assert_eq!(numbers.len(), attempts.len(), "{moment}: the agent was asked the same twice");
    assert!(attempts.len() <= begun.len(), "{moment}: the agent was asked off the record");
}

#[test]
fn killed_at_any_moment_a_run_is_resumed_and_nothing_finished_is_repeated() {
    // Most of the time is spent waiting before retries, so ten runs in parallel are not slower than
    // one.
    let mut killed = 0;
    for moments in (1..=30).collect::<Vec<_>>().chunks(10) {
        killed += std::thread::scope(|scope| {
            let runs: Vec<_> =
                moments.iter().map(|moment| scope.spawn(|| kill_and_resume(*moment))).collect();
            runs.into_iter().map(|run| run.join().unwrap()).filter(|killed| *killed).count()
        });
    }
    assert!(killed >= 20, "only {killed} of the runs were killed before their end");
}

/// The arguments of a run of the story with at most this many iterations.
fn story_run<'a>(script: &'a str, max_iterations: &'a str) -> [&'a str; 11] {
    [
        "run",
        "-p",
        "x",
        "-m",
        max_iterations,
        "--no-delay",
        "--verify",
        "test -e 3.txt",
        "--dry-run",
        "--rehearsal",
        script,
    ]
}

/// Kills a run when its journal has this number of lines, and resumes it. Returns whether the kill
/// succeeded.
fn kill_and_resume(moment: usize) -> bool {
    let env = TestEnv::new();
    let script = env.script(STORY);
    let mut child = env.start(&[
        "run",
        "-p",
        "three files",
        "-m",
        "9",
        "--max-cost",
        "5",
        "--no-delay",
        "--verify",
        "test -e 3.txt",
        "--dry-run",
        "--rehearsal",
        &script,
    ]);
    let in_time = lines_reached(&env, moment, &mut child);
    if in_time {
        kill(&mut child);
    }
    let before = env.journal();
    if names(&before).last() != Some(&"run_finished") {
        env.run(&["resume"]).exits(0);
        let journal = env.journal();
        assert_eq!(journal[..before.len()], before[..], "{moment}: the past was changed");
        assert_eq!(run_outcome(&journal), "completed", "{moment}");
    }
    check(&env, &env.journal(), moment);
    in_time
}

#[test]
fn an_ended_run_says_so_and_continues_with_more_room() {
    let env = TestEnv::new();
    let script = env.script(STORY);
    env.run(&story_run(&script, "1")).exits(0).says(&["Reached maximum iterations (1)"]);
    env.run(&["resume"])
        .exits(1)
        .says(&["ended because it reached 1 iteration", "--max-iterations 2"]);
    env.run(&["resume", "-m", "1"]).exits(1).says(&["ended because it reached 1 iteration"]);
    env.run(&["resume", "-m", "9"]).exits(0).says(&["Task completed successfully"]);
    let journal = env.journal();
    assert_eq!(run_outcome(&journal), "completed");
    assert!(names(&journal).contains(&"settings_changed"));
    env.run(&["resume"]).exits(1).says(&["has completed", "--again"]);
}

#[test]
fn a_torn_last_line_is_truncated_and_reported() {
    let env = TestEnv::new();
    let script = env.script(STORY);
    let mut child = env.start(&story_run(&script, "9"));
    lines_reached(&env, 4, &mut child);
    kill(&mut child);
    let path = env.runs()[0].join("journal.jsonl");
    let mut bytes = fs::read(&path).unwrap();
    bytes.extend(br#"{"v":1,"seq":99,"at":"2026"#);
    fs::write(&path, bytes).unwrap();
    env.run(&["resume"]).exits(0).says(&["incomplete last line"]);
    assert_eq!(run_outcome(&env.journal()), "completed");
}

#[test]
fn a_damaged_journal_is_refused_with_its_line_and_a_newer_one_with_what_to_do() {
    let env = TestEnv::new();
    let script = env.script(STORY);
    env.run(&["run", "-p", "x", "-m", "1", "--no-delay", "--dry-run", "--rehearsal", &script])
        .exits(0);
    let path = env.runs()[0].join("journal.jsonl");
    let good = fs::read_to_string(&path).unwrap();
    fs::write(&path, good.replacen("\"seq\":2,", "\"seq\":7,", 1)).unwrap();
    env.run(&["resume", "--again"]).exits(1).says(&["line 2", "journal.jsonl"]);
    assert!(fs::read_to_string(&path).unwrap().contains("\"seq\":7,"), "nothing was touched");
    // A complete line of a later version of nightwright, with a valid checksum.
    let (body, _) = good.lines().next().unwrap().rsplit_once(",\"crc\"").unwrap();
    let body = body.replacen("{\"v\":1,", "{\"v\":2,", 1);
    let crc = crc32fast::hash(body.as_bytes());
    fs::write(&path, format!("{body},\"crc\":\"{crc:08x}\"}}\n")).unwrap();
    env.run(&["resume", "--again"]).exits(1).says(&["journal.jsonl", "hint: update nightwright"]);
}

#[test]
fn a_run_interrupted_by_hand_continues_where_it_stopped() {
    let env = TestEnv::new();
    let script = env.script(STORY);
    let child = env.start(&[
        "run",
        "-p",
        "x",
        "-m",
        "9",
        "-d",
        "1h",
        "--verify",
        "test -e 3.txt",
        "--dry-run",
        "--rehearsal",
        &script,
    ]);
    env.wait_for("iteration_finished");
    env.run(&["stop"]).exits(0);
    finish(child).exits(0);
    let mut child = env.start(&["resume"]);
    env.wait_for("run_continued");
    let before = env.journal().len();
    lines_reached(&env, before + 4, &mut child);
    env.run(&["stop", "--now"]).exits(0);
    finish(child).exits(130);
    let journal = env.journal();
    let attempts: Vec<_> = journal
        .iter()
        .filter_map(|record| match &record.event {
            Event::Attempt(AttemptEvent::Started { attempt, .. }) => Some(attempt.0),
            _ => None,
        })
        .collect();
    assert_eq!(attempts, (1..=u32::try_from(attempts.len()).unwrap()).collect::<Vec<_>>());
}
