//! The end of a run: notifications that are still being sent, and how long the run waits for them.

use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use nightwright::output::notify::FINAL_TIMEOUT;

use super::*;
use crate::harness::{takes_less_than, wait_past_debounce};

#[test]
fn how_it_ended_does_not_wait_for_what_is_stuck_before_it() {
    let env = TestEnv::new();
    let server = Server::start(vec![ServerAnswer::Never, ServerAnswer::With(200, "", "{}")]);
    configure(&env, &format!("notify.url = '{}'", server.url("/hook")));
    // The agent does nothing before the first one is stuck.
    let go = env.path("go");
    let wait = "until [ -e ../go ]; do sleep 0.02; done";
    let script =
        env.script(&DONE.replace("steps = [", &format!("steps = [{{ run = '{wait}' }}, ")));
    let child = env.start(&rehearsal(&script, &["-m", "3"]));
    let begun = Instant::now();
    while server.seen().is_empty() {
        assert!(begun.elapsed() < Duration::from_mins(1), "nothing was sent");
        std::thread::sleep(Duration::from_millis(5));
    }
    fs::write(go, "").unwrap();
    let output = finish(child).exits(0);
    assert_eq!(outcome_kinds(&server.seen()), ["completion"], "{}", output.err);
    // The one that is stuck, and `execution_start`, which waits behind it.
    assert_eq!(output.err.matches("2 notifications to webhook at").count(), 1, "{}", output.err);
}

#[test]
fn the_hook_is_notified_of_the_end_while_others_still_are() {
    let env = TestEnv::new();
    let begun = env.path("begun");
    let server = Server::start(vec![ServerAnswer::When(begun.clone())]);
    let wanted = "events = ['completion']";
    configure(&env, &format!("[notify]\nurl = '{}'\n{wanted}", server.url("/hook")));
    finished(&env, "touch ../begun");
    let script = env.script(DONE);
    let output = env.run(&rehearsal(&script, &["-m", "3", "--yes"])).exits(0);
    // A server that answers after the hook has started has answered in time.
    assert_eq!(kinds(&server.seen()), ["completion"]);
    assert!(!output.err.contains("did not deliver") && begun.exists(), "{}", output.err);
}

/// Gives a project this hook for the end.
fn finished(env: &TestEnv, text: &str) {
    fs::create_dir_all(env.project().join(".nightwright/hooks")).unwrap();
    let path = env.project().join(".nightwright/hooks/finished");
    fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_second_signal_does_not_wait_for_a_hanging_server() {
    takes_less_than(FINAL_TIMEOUT, || {
        let env = TestEnv::new();
        let server = Server::start(vec![ServerAnswer::Never]);
        configure(&env, &format!("notify.url = '{}'", server.url("/hook")));
        finished(&env, "cat > ../seen.new; mv ../seen.new ../seen");
        let script = env.script(HANGING);
        let child = env.start(&rehearsal(&script, &["-m", "3", "--yes"]));
        env.wait_for("agent_ready");
        let asked = Instant::now();
        send(&child, Signal::INT);
        env.wait_for("run_finished");
        wait_past_debounce();
        send(&child, Signal::INT);
        finish(child).exits(130);
        let took = asked.elapsed();
        while !env.path("seen").exists() {
            assert!(asked.elapsed() < Duration::from_mins(1), "the hook was never told");
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(fs::read_to_string(env.path("seen")).unwrap().contains("run_finished"));
        took
    });
}

#[test]
fn all_that_is_still_waiting_has_five_seconds_together() {
    // One after the other they would take ten.
    takes_less_than(Duration::from_secs(9), || {
        let env = TestEnv::new();
        let servers = [0, 1].map(|_| Server::start(vec![ServerAnswer::Never]));
        let table = |server: &Server| format!("[[notify]]\nurl = '{}'\n", server.url("/x"));
        configure(&env, &servers.each_ref().map(table).concat());
        let script = env.script(DONE);
        let child = env.start(&rehearsal(&script, &["-m", "3"]));
        env.wait_for("run_finished");
        let over = Instant::now();
        finish(child).exits(0).says(&["did not deliver ", " before the run ended"]);
        over.elapsed()
    });
}
