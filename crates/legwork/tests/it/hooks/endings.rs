//! The hook `finished`: told of every ending, once.

use super::*;

/// Waits for somebody to say go.
const WAITS: &str = r#"
[[attempt]]
steps = [{ run = "while [ ! -e go ]; do sleep 0.02; done" }]
ending = { result = "Some of it." }
"#;

const TELLS: &str = "echo $LEGWORK_FINISH_TYPE $LEGWORK_FINISH_CLASS >> SEEN/end; cat >> SEEN/line";

#[track_caller]
fn told(hermit: &Hermit, expected: &str) {
    assert_eq!(seen(hermit, "end"), format!("{expected}\n"));
    let line: serde_json::Value = serde_json::from_str(&seen(hermit, "line")).unwrap();
    assert_eq!(line["event"], "run_finished");
    assert_eq!(line["reason"], expected.split(' ').next().unwrap());
}

#[test]
fn every_ending_by_itself_is_told_once() {
    let failing = "[[attempt]]\nending = { auth = \"Please run /login\" }\n";
    let blocked = "[[attempt]]\nending = { result = \"<blocker>a key</blocker>\" }\n";
    for (script, more, code, expected) in [
        (WORKS, &["-m", "3"][..], 0, "completed complete"),
        (GOES_ON, &["-m", "1"], 0, "max_iterations max_iterations"),
        (GOES_ON, &["-m", "9", "--max-cost", "0.01"], 0, "max_cost other"),
        (IDLES, &["-m", "9", "--stagnation-threshold", "1"], 0, "stagnated no_changes"),
        (blocked, &["-m", "9"], 0, "blocked other"),
        (failing, &["-m", "9"], 1, "auth error"),
    ] {
        let hermit = project();
        hook(&hermit, "finished", TELLS);
        run(&hermit, script, more).exits(code);
        told(&hermit, expected);
    }
}

#[test]
fn every_way_to_stop_is_told_once() {
    for signal in [Signal::INT, Signal::TERM] {
        let hermit = project();
        hook(&hermit, "finished", TELLS);
        let child = command(&hermit, WAITS, &["-m", "3"]).spawn().unwrap();
        hermit.wait_for("agent_ready");
        send(&child, signal);
        finish(child).exits(130);
        told(&hermit, "interrupted manual");
    }
    for (arguments, code, expected) in
        [(&["stop", "--now"][..], 130, "interrupted manual"), (&["stop"], 0, "stopped manual")]
    {
        let hermit = project();
        hook(&hermit, "finished", TELLS);
        let child = command(&hermit, WAITS, &["-m", "3"]).spawn().unwrap();
        hermit.wait_for("agent_ready");
        hermit.run(arguments).exits(0);
        hermit.file("go", "");
        finish(child).exits(code);
        told(&hermit, expected);
    }
}

#[test]
fn a_run_that_never_began_tells_nobody() {
    let hermit = project();
    hook(&hermit, "finished", TELLS);
    let arguments = ["run", "-p", "x", "-m", "1", "--trust", "--agent-command", "/nonexistent"];
    assert_ne!(hermit.run(&arguments).code, Some(0));
    assert!(!hermit.path("seen/end").exists());
}

#[test]
fn whoever_does_not_want_to_wait_leaves_it_on_a_leash() {
    let hermit = project();
    let endless = "echo $$ > SEEN/pid.new; mv SEEN/pid.new SEEN/pid; while :; do sleep 0.05; done";
    hook(&hermit, "finished", endless);
    let child = command(&hermit, WAITS, &["-m", "3"]).spawn().unwrap();
    hermit.wait_for("agent_ready");
    send(&child, Signal::INT);
    wait_for(&hermit, "pid");
    send(&child, Signal::INT);
    finish(child).exits(130);
    assert!(lives(&hermit, "pid"), "it was not left running");
    until("its end", || !lives(&hermit, "pid"));
}

#[test]
fn a_run_that_only_judges_has_no_hooks() {
    let hermit = project();
    for name in ["started", "next_iteration", "iteration_finished", "finished"] {
        hook(&hermit, name, "touch SEEN/ran");
    }
    hermit.run(&["new", "t"]).exits(0);
    hermit.file(".legwork/tasks/t/INSTRUCTIONS.md", "Do it.\n");
    hermit.run(&["verify", "t", "--verify", "true", "--dry-run", "--trust"]).exits(0);
    assert!(!hermit.path("seen/ran").exists());
}
