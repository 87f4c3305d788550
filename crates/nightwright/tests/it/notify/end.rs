//! The end of a run: what is still on its way then, and who waits for it.

use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use nightwright::notify::AT_THE_END;

use super::*;
use crate::harness::{grow_impatient, takes_less_than};

#[test]
fn how_it_ended_does_not_wait_for_what_is_stuck_before_it() {
    let hermit = Hermit::new();
    let server = Server::start(vec![Answer::Never, Answer::With(200, "", "{}")]);
    configure(&hermit, &format!("notify.url = '{}'", server.url("/hook")));
    // The agent does nothing before the first one is stuck.
    let go = hermit.path("go");
    let wait = format!("until [ -e {} ]; do sleep 0.02; done", go.display());
    let script =
        hermit.script(&DONE.replace("steps = [", &format!("steps = [{{ run = '{wait}' }}, ")));
    let child = hermit.start(&rehearsal(&script, &["-m", "3"]));
    let begun = Instant::now();
    while server.seen().is_empty() {
        assert!(begun.elapsed() < Duration::from_mins(1), "nothing was sent");
        std::thread::sleep(Duration::from_millis(5));
    }
    fs::write(go, "").unwrap();
    let did = finish(child).exits(0);
    assert_eq!(endings(&server.seen()), ["completion"], "{}", did.err);
    // The one that is stuck, and `execution_start`, which waits behind it.
    assert_eq!(did.err.matches("2 notifications to webhook at").count(), 1, "{}", did.err);
}

#[test]
fn the_hook_is_told_of_the_end_while_others_still_are() {
    let hermit = Hermit::new();
    let begun = hermit.path("begun");
    let server = Server::start(vec![Answer::When(begun.clone())]);
    let wanted = "events = ['completion']";
    configure(&hermit, &format!("[notify]\nurl = '{}'\n{wanted}", server.url("/hook")));
    finished(&hermit, &format!("touch {}", begun.display()));
    let script = hermit.script(DONE);
    let did = hermit.run(&rehearsal(&script, &["-m", "3", "--trust"])).exits(0);
    // Whoever answers only when the hook has begun has answered in time.
    assert_eq!(kinds(&server.seen()), ["completion"]);
    assert!(!did.err.contains("did not arrive") && begun.exists(), "{}", did.err);
}

/// Gives a project this hook for the end.
fn finished(hermit: &Hermit, text: &str) {
    fs::create_dir_all(hermit.project().join(".nightwright/hooks")).unwrap();
    let path = hermit.project().join(".nightwright/hooks/finished");
    fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn whoever_wants_to_leave_does_not_wait_for_the_dead() {
    takes_less_than(AT_THE_END, || {
        let hermit = Hermit::new();
        let server = Server::start(vec![Answer::Never]);
        configure(&hermit, &format!("notify.url = '{}'", server.url("/hook")));
        finished(&hermit, "cat > ../seen.new; mv ../seen.new ../seen");
        let script = hermit.script(HANGING);
        let child = hermit.start(&rehearsal(&script, &["-m", "3", "--trust"]));
        hermit.wait_for("agent_ready");
        let asked = Instant::now();
        send(&child, Signal::INT);
        hermit.wait_for("run_finished");
        grow_impatient();
        send(&child, Signal::INT);
        finish(child).exits(130);
        let took = asked.elapsed();
        while !hermit.path("seen").exists() {
            assert!(asked.elapsed() < Duration::from_mins(1), "the hook was never told");
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(fs::read_to_string(hermit.path("seen")).unwrap().contains("run_finished"));
        took
    });
}

#[test]
fn all_that_is_still_waiting_has_five_seconds_together() {
    let hermit = Hermit::new();
    let servers = [0, 1].map(|_| Server::start(vec![Answer::Never]));
    let tables =
        servers.each_ref().map(|server| format!("[[notify]]\nurl = '{}'\n", server.url("/x")));
    configure(&hermit, &tables.concat());
    let script = hermit.script(DONE);
    let child = hermit.start(&rehearsal(&script, &["-m", "3"]));
    hermit.wait_for("run_finished");
    let over = Instant::now();
    let did = finish(child).exits(0).says(&["did not arrive before the end"]);
    // One after the other they would take ten.
    assert!(over.elapsed() < Duration::from_secs(9), "{:?}: {}", over.elapsed(), did.err);
}
