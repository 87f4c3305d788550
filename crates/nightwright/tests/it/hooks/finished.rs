//! The hook `finished`: notified of every outcome, once.

use super::*;
use crate::harness::{RunningCommand, wait_past_debounce};

/// Waits until the test lets it continue.
const WAITS: &str = r#"
[[attempt]]
steps = [{ run = "while [ ! -e go ]; do sleep 0.02; done" }]
end = { result = "Some of it." }
"#;

const TELLS: &str = "echo $NIGHTWRIGHT_FINISH_TYPE $NIGHTWRIGHT_FINISH_CLASS $NIGHTWRIGHT_PROOF >> SEEN/end; \
     cat >> SEEN/line";

#[track_caller]
fn assert_reported(env: &TestEnv, expected: &str) {
    assert_eq!(seen(env, "end"), format!("{expected}\n"));
    let line: serde_json::Value = serde_json::from_str(&seen(env, "line")).unwrap();
    assert_eq!(line["event"], "run_finished");
    assert_eq!(line["outcome"], expected.split(' ').next().unwrap());
}

#[test]
fn every_outcome_is_reported_once() {
    let failing = "[[attempt]]\nend = { auth = \"Please run /login\" }\n";
    let blocked = "[[attempt]]\nend = { result = \"<blocker>a key</blocker>\" }\n";
    for (script, more, code, expected) in [
        (WORKS, &["-m", "3"][..], 0, "completed complete model"),
        (GOES_ON, &["-m", "1"], 0, "max_iterations max_iterations"),
        (GOES_ON, &["-m", "9", "--max-cost", "0.01"], 0, "max_cost other"),
        (IDLES, &["-m", "9", "--stagnation-threshold", "1"], 0, "stagnated no_changes"),
        (blocked, &["-m", "9"], 0, "blocked other"),
        (failing, &["-m", "9"], 1, "auth error"),
    ] {
        let env = project();
        hook(&env, "finished", TELLS);
        run(&env, script, more).exits(code);
        assert_reported(&env, expected);
    }
}

#[test]
fn every_way_to_stop_is_reported_once() {
    for signal in [Signal::INT, Signal::TERM] {
        let env = project();
        hook(&env, "finished", TELLS);
        let child = RunningCommand::from(command(&env, WAITS, &["-m", "3"]).spawn().unwrap());
        env.wait_for("agent_ready");
        send(&child, signal);
        finish(child).exits(130);
        assert_reported(&env, "interrupted manual");
    }
    for (arguments, code, expected) in
        [(&["stop", "--now"][..], 130, "interrupted manual"), (&["stop"], 0, "stopped manual")]
    {
        let env = project();
        hook(&env, "finished", TELLS);
        let child = RunningCommand::from(command(&env, WAITS, &["-m", "3"]).spawn().unwrap());
        env.wait_for("agent_ready");
        env.run(arguments).exits(0);
        env.file("go", "");
        finish(child).exits(code);
        assert_reported(&env, expected);
    }
}

#[test]
fn a_run_that_never_began_runs_no_hook() {
    let env = project();
    hook(&env, "finished", TELLS);
    let arguments = ["run", "-p", "x", "-m", "1", "--yes", "--agent-command", "/nonexistent"];
    assert_ne!(env.run(&arguments).code, Some(0));
    assert!(!env.path("seen/end").exists());
}

#[test]
fn a_second_signal_leaves_the_hook_running_for_a_limited_time() {
    let env = project();
    let endless = "echo $$ > SEEN/pid.new; mv SEEN/pid.new SEEN/pid; while :; do sleep 0.05; done";
    hook(&env, "finished", endless);
    let child = RunningCommand::from(command(&env, WAITS, &["-m", "3"]).spawn().unwrap());
    env.wait_for("agent_ready");
    send(&child, Signal::INT);
    wait_for(&env, "pid");
    wait_past_debounce();
    send(&child, Signal::INT);
    finish(child).exits(130);
    assert!(lives(&env, "pid"), "it was not left running");
    until("its end", || !lives(&env, "pid"));
}

#[test]
fn a_hook_left_running_still_receives_the_outcome() {
    let env = project();
    hook(&env, "finished", "cat > SEEN/line.new; mv SEEN/line.new SEEN/line");
    let stubborn = r#"
[[attempt]]
steps = [{ run = "trap '' TERM INT; while [ ! -e go ]; do sleep 0.02; done" }]
end = { result = "Some of it." }
"#;
    let child = RunningCommand::from(command(&env, stubborn, &["-m", "3"]).spawn().unwrap());
    env.wait_for("agent_ready");
    send(&child, Signal::INT);
    env.wait_for("stop_requested");
    wait_past_debounce();
    send(&child, Signal::INT);
    finish(child).exits(130);
    wait_for(&env, "line");
    let line: serde_json::Value = serde_json::from_str(&seen(&env, "line")).unwrap();
    assert_eq!((&line["event"], &line["outcome"]), (&"run_finished".into(), &"interrupted".into()));
}

#[test]
fn the_end_is_reported_even_if_the_agent_damages_the_journal() {
    for harm in ["rm", "truncate -s 0", "sed -i s/run_started/run_stopped/", "chmod 0"] {
        let env = project();
        hook(&env, "finished", &format!("echo $NIGHTWRIGHT_MODE > SEEN/mode; {TELLS}"));
        let state = env.word("state");
        let script = format!(
            "[[attempt]]\nsteps = [{{ run = '''{harm} {state}/*/runs/*/journal.jsonl''' }}, \
             {{ run = \"echo more >> a.txt\" }}]\nend = {{ result = \"Some of it.\" }}\n"
        );
        run(&env, &script, &["-m", "1"]);
        let end = seen(&env, "end");
        let line: serde_json::Value = serde_json::from_str(&seen(&env, "line"))
            .unwrap_or_else(|error| panic!("{harm}: {error}"));
        assert_eq!(line["event"], "run_finished", "{harm}");
        assert_eq!(line["outcome"].as_str(), end.split(' ').next(), "{harm}");
        if harm == "chmod 0" {
            assert_eq!(line["totals"]["iterations"], 1, "{harm}");
        } else {
            // The run ends as soon as it notices, perhaps before the end of the attempt.
            assert_eq!(line["outcome"], "journal_damaged", "{harm}");
        }
        assert_eq!(seen(&env, "mode"), "prompt\n", "{harm}");
    }
}

#[test]
fn failures_after_the_end_are_reported_at_every_level_and_kept() {
    let beginnings = ["#!/bin/sh\necho oh; exit 3\n", "#!/nonexistent/shell\n"];
    let words = ["exited with 3: oh", "cannot start"];
    for (beginning, words) in beginnings.into_iter().zip(words) {
        for level in [&["--quiet"][..], &["--output", "json"], &["--verbose"]] {
            let env = project();
            file(&env, "finished", beginning, 0o755);
            let output = run(&env, WORKS, &[&["-m", "1"], level].concat()).exits(0);
            output.says(&["the hook `finished` failed: ", words]);
            let log = fs::read_to_string(env.runs()[0].join("hooks.log")).unwrap();
            let how = words.split(':').next().unwrap();
            assert!(log.contains(&format!("finished {how}")), "{level:?}: {log}");
        }
    }
}

#[test]
fn a_detached_run_waits_for_it_though_its_terminal_hangs_up_and_keeps_what_went_wrong() {
    let env = project();
    hook(
        &env,
        "finished",
        "while [ ! -s SEEN/pid ]; do sleep 0.02; done
         for i in 1 2 3; do kill -HUP $(cat SEEN/pid); sleep 0.1; done; echo oh; exit 3",
    );
    let mut detached = command(&env, WORKS, &["-m", "1", "--detach", "--output", "json"]);
    let output = finish(detached.spawn().unwrap()).exits(0);
    let word: serde_json::Value = serde_json::from_str(&output.out).unwrap();
    fs::write(env.path("seen/pid"), word["pid"].to_string()).unwrap();
    let kept = |name: &str| fs::read_to_string(env.runs()[0].join(name)).unwrap_or_default();
    until("its end", || kept("hooks.log").contains("finished"));
    assert!(kept("hooks.log").contains("finished exited with 3\noh\n"), "{}", kept("hooks.log"));
    until("its word", || {
        kept("detached.err").contains("the hook `finished` failed: exited with 3")
    });
}

#[test]
fn a_run_that_only_judges_has_no_hooks() {
    let env = project();
    for name in ["started", "next_iteration", "iteration_finished", "finished"] {
        hook(&env, name, "touch SEEN/ran");
    }
    env.run(&["new", "t"]).exits(0);
    env.file(".nightwright/tasks/t/INSTRUCTIONS.md", "Do it.\n");
    env.run(&["verify", "t", "--verify", "true", "--dry-run", "--yes"]).exits(0);
    assert!(!env.path("seen/ran").exists());
}
