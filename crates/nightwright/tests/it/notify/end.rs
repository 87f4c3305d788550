//! The end of a run: what is still on its way then, and who waits for it.

use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use super::*;
use crate::harness::grow_impatient;

#[test]
fn how_it_ended_does_not_wait_for_what_is_stuck_before_it() {
    let hermit = Hermit::new();
    let server = Server::start(vec![Answer::Never, Answer::With(200, "", "{}")]);
    configure(&hermit, &format!("notify.url = '{}'", server.url("/hook")));
    let script = hermit.script(DONE);
    let did = hermit.run(&rehearsal(&script, &["-m", "3"])).exits(0);
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
    let hermit = Hermit::new();
    let server = Server::start(vec![Answer::Never]);
    configure(&hermit, &format!("notify.url = '{}'", server.url("/hook")));
    finished(&hermit, "cat > ../seen.new; mv ../seen.new ../seen");
    let script = hermit.script(HANGING);
    let child = hermit.start(&rehearsal(&script, &["-m", "3", "--trust"]));
    hermit.wait_for("agent_ready");
    send(&child, Signal::INT);
    hermit.wait_for("run_finished");
    grow_impatient();
    send(&child, Signal::INT);
    let asked = Instant::now();
    finish(child).exits(130);
    // It is a second; a dead address would keep us for five.
    assert!(asked.elapsed() < Duration::from_secs(4), "{:?}", asked.elapsed());
    while !hermit.path("seen").exists() {
        assert!(asked.elapsed() < Duration::from_mins(1), "the hook was never told");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(fs::read_to_string(hermit.path("seen")).unwrap().contains("run_finished"));
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
