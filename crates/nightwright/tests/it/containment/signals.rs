//! Signals to a run in the middle of a tool call with everything below it that is hard to end.

use std::thread;
use std::time::{Duration, Instant};

use nightwright_core::event::{AttemptEvent, Event, OperatorEvent, StopSource};
use rustix::process::Signal;

use crate::fake_agent::{FakeAgentEnv, send};
use crate::harness::{finish, names, run_outcome, takes_less_than, wait_past_debounce};

/// All kinds of processes are running, and all of them ignore SIGTERM.
const STUBBORN: &str = "trap '' TERM; init; tool; family; sleep 300";
/// The time within which all processes must exit after nightwright.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);
/// The time that the agent has after the first signal, unless a second one arrives.
const GRACE: Duration = Duration::from_secs(5);

/// Cleans up after SIGTERM, which takes until the test lets it continue.
const TIDY: &str = "trap 'echo >\"$fake/asked\"; until_told go; echo >\"$fake/tidied\"; exit' TERM
     init; tool; echo >\"$fake/there\"; while :; do sleep 0.02; done";

#[test]
fn a_signal_ends_the_run_and_every_process_before_nightwright_exits() {
    thread::scope(|scope| {
        for signal in [Signal::TERM, Signal::INT, Signal::QUIT, Signal::HUP] {
            scope.spawn(move || {
                let scene = FakeAgentEnv::new(STUBBORN);
                let child = scene.start(&["-m", "3"]);
                scene.agent.wait_for("family", 1);
                send(&child, signal);
                finish(child).exits(130).says(&["Interrupted"]);
                scene.census().nobody("at our exit");
                assert_eq!(run_outcome(&scene.env.journal()), "interrupted");
                scene.all_is_kept("001-1");
            });
        }
    });
}

#[test]
fn a_second_signal_kills_everything_at_once() {
    takes_less_than(GRACE, || {
        let scene = FakeAgentEnv::new(STUBBORN);
        let child = scene.start(&["-m", "3"]);
        scene.agent.wait_for("family", 1);
        let asked = Instant::now();
        send(&child, Signal::TERM);
        scene.env.wait_for("stop_requested");
        wait_past_debounce();
        send(&child, Signal::TERM);
        finish(child).exits(130);
        let took = asked.elapsed();
        scene.census().empty_within(EXIT_TIMEOUT);
        assert_eq!(run_outcome(&scene.env.journal()), "interrupted");
        took
    });
}

#[test]
fn one_event_that_sends_two_signals_is_one_and_the_agent_has_its_time() {
    thread::scope(|scope| {
        for (both, who) in [
            ([Signal::TERM, Signal::HUP], StopSource::Terminate),
            ([Signal::HUP, Signal::HUP], StopSource::TerminalClosed),
            ([Signal::HUP, Signal::TERM], StopSource::Terminate),
            ([Signal::INT, Signal::TERM], StopSource::Terminate),
        ] {
            scope.spawn(move || {
                let scene = FakeAgentEnv::new(TIDY);
                let child = scene.start(&["-m", "3"]);
                scene.agent.wait_for("there", 1);
                scene.env.wait_for("agent_ready");
                // Both signals are pending when the process continues.
                for signal in [Signal::STOP, both[0], both[1], Signal::CONT] {
                    send(&child, signal);
                }
                scene.agent.wait_for("asked", 1);
                scene.env.wait_for("stop_requested");
                // A terminal that closes later does not shorten the grace period.
                send(&child, Signal::HUP);
                scene.env.run(&["status"]).exits(0);
                scene.agent.tell("go");
                finish(child).exits(130);
                assert!(scene.agent.file("tidied").exists(), "killed after {both:?}");
                let journal = scene.env.journal();
                assert_eq!(run_outcome(&journal), "interrupted");
                let asked: Vec<_> = journal
                    .iter()
                    .filter_map(|record| match record.event {
                        Event::Operator(OperatorEvent::StopRequested { by, .. }) => Some(by),
                        _ => None,
                    })
                    .collect();
                assert_eq!(asked, [who], "{both:?}");
            });
        }
    });
}

#[test]
fn time_while_suspended_counts_for_no_deadline() {
    // On a busy machine the agent may be idle for too long before and after the suspension. Then it
    // gets more time. If the suspension counted, the agent would be killed each time.
    let mut outcomes = Vec::new();
    for idle in [8, 20, 45] {
        outcomes.push(after_a_suspension(idle));
        if outcomes.ends_with(&["finished"]) {
            return;
        }
    }
    panic!("{outcomes:?}");
}

/// The outcome of an attempt with this idle timeout in seconds. The run is suspended for longer.
fn after_a_suspension(idle: u64) -> &'static str {
    let words = "init; says well; echo >\"$fake/waits\"; until_told go; result Done.";
    let scene = FakeAgentEnv::new(words);
    let timeout = format!("{idle}s");
    let child = scene.start(&["-m", "1", "--max-retries", "0", "--idle-timeout", &timeout]);
    scene.agent.wait_for("waits", 1);
    scene.env.wait_for("agent_ready");
    send(&child, Signal::STOP);
    thread::sleep(Duration::from_secs(idle + 2));
    send(&child, Signal::CONT);
    scene.agent.tell("go");
    finish(child);
    scene.census().nobody("the run is over");
    let journal = scene.env.journal();
    let outcome = journal.iter().find_map(|record| match &record.event {
        Event::Attempt(AttemptEvent::Finished { report, .. }) => Some(report.outcome.name()),
        _ => None,
    });
    let was_killed = names(&journal).contains(&"attempt_cancelled");
    assert_eq!(outcome == Some("finished"), !was_killed, "{:?}", names(&journal));
    outcome.expect("an attempt that has ended")
}
