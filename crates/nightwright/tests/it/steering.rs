//! A word to a run that is going on, at every phase; seen in the journal.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Instant;

use rustix::process::Signal;

use super::fake_agent::{PATIENCE, send};
use super::harness::{Hermit, ending, finish, names};
use super::stage::NIGHTWRIGHT;

/// Waits until somebody says go, then works.
const PATIENT: &str = r#"
[[attempt]]
steps = [{ run = "while [ ! -e go ]; do sleep 0.02; done" }, { write = "a.txt", text = "a" }]
ending = { result = "Done with this part." }
[[attempt]]
steps = [{ write = "b.txt", text = "b" }]
ending = { result = "<promise>COMPLETE</promise>" }
"#;

/// The provider is down once.
const OVERLOADED: &str = r#"
[[attempt]]
ending = { overloaded = true }
[[attempt]]
steps = [{ write = "b.txt", text = "b" }]
ending = { result = "<promise>COMPLETE</promise>" }
"#;

/// The usage limit lasts for hours.
const LIMITED: &str = r#"
[[attempt]]
ending = { limit = "2h" }
[[attempt]]
steps = [{ write = "b.txt", text = "b" }]
ending = { result = "<promise>COMPLETE</promise>" }
"#;

/// Claims at once; the gate is where it waits.
const CLAIMING: &str = r#"
[[attempt]]
steps = [{ write = "a.txt", text = "a" }]
ending = { result = "<promise>COMPLETE</promise>" }
"#;

const SLOW_CHECK: &str = "while [ ! -e go ]; do sleep 0.02; done; test ! -e fail";

/// A phase of a run: how to get there, and by which event it is known.
struct Phase {
    name: &'static str,
    script: &'static str,
    arguments: &'static [&'static str],
    event: &'static str,
}

const PHASES: [Phase; 5] = [
    Phase { name: "attempt", script: PATIENT, arguments: &["--no-delay"], event: "agent_ready" },
    Phase {
        name: "back-off",
        script: OVERLOADED,
        arguments: &["--no-delay"],
        event: "retry_scheduled",
    },
    Phase {
        name: "limit wait",
        script: LIMITED,
        arguments: &["--no-delay"],
        event: "limit_wait_started",
    },
    Phase {
        name: "gate",
        script: CLAIMING,
        arguments: &["--no-delay", "--verify", SLOW_CHECK, "--no-baseline"],
        event: "checks_started",
    },
    Phase { name: "delay", script: PATIENT, arguments: &["-d", "1h"], event: "iteration_finished" },
];

impl Phase {
    /// A run that is in this phase.
    fn enter(&self) -> (Hermit, std::process::Child) {
        let hermit = Hermit::new();
        let script = hermit.script(self.script);
        if self.name == "delay" {
            go(&hermit);
        }
        let mut arguments = vec!["run", "-p", "do it", "-m", "5"];
        arguments.extend(self.arguments);
        arguments.extend(["--dry-run", "--rehearsal", &script]);
        let child = hermit.start(&arguments);
        hermit.wait_for(self.event);
        (hermit, child)
    }
}

fn go(hermit: &Hermit) {
    hermit.file("go", "");
}

#[test]
fn stop_now_ends_every_phase_as_interrupted() {
    for phase in PHASES {
        let (hermit, child) = phase.enter();
        hermit.run(&["stop", "--now"]).exits(0);
        let did = finish(child);
        assert_eq!(did.code, Some(130), "{}: {}", phase.name, did.err);
        assert_eq!(ending(&hermit.journal()), "interrupted", "{}", phase.name);
    }
}

#[test]
fn stop_ends_waits_at_once_and_lets_work_go_to_its_end() {
    for phase in PHASES {
        let (hermit, child) = phase.enter();
        let did = hermit.run(&["stop"]).exits(0);
        assert!(did.out.contains("stops after this iteration"), "{}", did.out);
        let waits = matches!(phase.name, "back-off" | "limit wait" | "delay");
        if !waits {
            hermit.wait_for("stop_requested");
            // The gate must fail, or the work is complete and the stop comes too late.
            hermit.file("fail", "");
            go(&hermit);
        }
        let did = finish(child);
        assert_eq!(did.code, Some(0), "{}: {}", phase.name, did.err);
        let journal = hermit.journal();
        assert_eq!(ending(&journal), "stopped", "{}", phase.name);
        let attempts = names(&journal).iter().filter(|name| **name == "attempt_started").count();
        assert_eq!(attempts, 1, "{}: nothing new was started", phase.name);
    }
}

#[test]
fn a_passed_gate_beats_a_stop() {
    let gate = &PHASES[3];
    let (hermit, child) = gate.enter();
    hermit.run(&["stop"]).exits(0);
    hermit.wait_for("stop_requested");
    // Words alone are also judged by a model; the rehearsal's verifier says yes.
    go(&hermit);
    finish(child).exits(0);
    assert_eq!(ending(&hermit.journal()), "completed");
}

#[test]
fn a_stop_can_be_taken_back() {
    let (hermit, child) = PHASES[0].enter();
    hermit.run(&["stop"]).exits(0);
    hermit.wait_for("stop_requested");
    hermit.run(&["stop", "--cancel"]).exits(0);
    hermit.wait_for("stop_cancelled");
    go(&hermit);
    finish(child).exits(0);
    assert_eq!(ending(&hermit.journal()), "completed");
}

#[test]
fn a_paused_run_starts_nothing_new_until_it_is_resumed() {
    let (hermit, child) = PHASES[0].enter();
    let id = hermit.runs()[0].file_name().unwrap().to_str().unwrap().to_owned();
    hermit.run(&["resume", &id]).exits(1).says(&["is running (pid", "not paused"]);
    hermit.run(&["pause"]).exits(0);
    hermit.wait_for("run_paused");
    go(&hermit);
    hermit.wait_for("iteration_finished");
    assert!(!names(&hermit.journal()).contains(&"gate_started"));
    hermit.run(&["resume"]).exits(0);
    finish(child).exits(0);
    let journal = hermit.journal();
    assert_eq!(ending(&journal), "completed");
    let names = names(&journal);
    let at = |name| names.iter().position(|n| *n == name).unwrap();
    let second = names.iter().rposition(|name| *name == "attempt_started").unwrap();
    assert!(at("run_paused") < at("run_resumed") && at("run_resumed") < second);
}

#[test]
fn a_pause_in_every_waiting_phase_holds_until_it_is_resumed() {
    for phase in PHASES.iter().filter(|phase| matches!(phase.name, "back-off" | "limit wait")) {
        let (hermit, child) = phase.enter();
        hermit.run(&["pause"]).exits(0);
        hermit.wait_for("run_paused");
        let id = hermit.runs()[0].file_name().unwrap().to_str().unwrap().to_owned();
        hermit.run(&["tell", &id, "--retry-now"]).exits(1).says(&["is paused"]);
        hermit.run(&["resume"]).exits(0);
        hermit.wait_for("run_resumed");
        hermit.run(&["tell", &id, "--retry-now"]).exits(0);
        finish(child).exits(0);
        assert_eq!(ending(&hermit.journal()), "completed", "{}", phase.name);
    }
}

#[test]
fn a_pause_in_the_gate_lets_the_checks_end_and_no_verifier_start() {
    let (hermit, child) = PHASES[3].enter();
    hermit.run(&["pause"]).exits(0);
    hermit.wait_for("run_paused");
    go(&hermit);
    hermit.wait_for("checks_finished");
    // What the checks and the project came to is looked at before the pause is one.
    until_paused(&hermit);
    hermit.run(&["resume"]).exits(0);
    finish(child).exits(0);
    let journal = hermit.journal();
    assert_eq!(ending(&journal), "completed");
    let names = names(&journal);
    let at = |name| names.iter().position(|n| *n == name).unwrap();
    assert!(at("checks_finished") < at("run_resumed"));
    assert!(at("run_resumed") < at("call_started"));
}

/// Waits until people are told that the run is paused, and does nothing.
fn until_paused(hermit: &Hermit) {
    let begun = Instant::now();
    loop {
        let status = hermit.run(&["status", "--json"]).exits(0).out;
        let status: serde_json::Value = serde_json::from_str(&status).unwrap();
        if status["doing"]["what"] == "paused" {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "never paused: {status}");
    }
}

#[test]
fn after_a_pause_in_the_delay_the_next_iteration_waits_for_the_resumption() {
    let hermit = Hermit::new();
    let script = hermit.script(PATIENT);
    go(&hermit);
    let child = hermit.start(&[
        "run",
        "-p",
        "x",
        "-m",
        "5",
        "-d",
        "1s",
        "--dry-run",
        "--rehearsal",
        &script,
    ]);
    hermit.wait_for("iteration_finished");
    hermit.run(&["pause"]).exits(0);
    hermit.wait_for("run_paused");
    hermit.run(&["resume"]).exits(0);
    finish(child).exits(0);
    let journal = hermit.journal();
    let names = names(&journal);
    let resumed = names.iter().position(|name| *name == "run_resumed").unwrap();
    let second = names.iter().rposition(|name| *name == "iteration_started").unwrap();
    assert!(resumed < second, "{names:?}");
}

#[test]
fn a_word_for_the_agent_is_recorded_at_every_phase_and_goes_into_an_open_session() {
    for phase in PHASES {
        let (hermit, child) = phase.enter();
        let id = hermit.runs()[0].file_name().unwrap().to_str().unwrap().to_owned();
        hermit.run(&["tell", &id, "mind the umlauts"]).exits(0);
        if phase.name == "attempt" {
            // A session is open, and hears it at once.
            hermit.wait_for("nudge_sent");
            go(&hermit);
            finish(child).exits(0);
            let asked = hermit.asked();
            assert!(asked.iter().any(|line| line["message"] == "mind the umlauts"), "{asked:?}");
            let next = asked.iter().filter(|line| line["prompt"].is_string()).nth(1).unwrap();
            assert!(!next["prompt"].as_str().unwrap().contains("mind the umlauts"));
        } else {
            hermit.wait_for("feedback_added");
            hermit.run(&["stop", "--now"]).exits(0);
            finish(child).exits(130);
        }
    }
}

#[test]
fn a_word_into_a_session_that_dies_reaches_the_next_prompt() {
    let hermit = Hermit::new();
    let script = hermit.script(
        r#"
        [[attempt]]
        steps = [{ run = "while [ ! -e go ]; do sleep 0.02; done" }]
        ending = { crash = 3 }
        [[attempt]]
        steps = [{ write = "b.txt", text = "b" }]
        ending = { result = "<promise>COMPLETE</promise>" }
        "#,
    );
    let arguments = ["run", "-p", "do it", "-m", "5", "--no-delay", "--dry-run", "--rehearsal"];
    let child = hermit.start(&[&arguments[..], &[&script]].concat());
    hermit.wait_for("agent_ready");
    let id = hermit.runs()[0].file_name().unwrap().to_str().unwrap().to_owned();
    hermit.run(&["tell", &id, "mind the umlauts"]).exits(0);
    hermit.wait_for("nudge_sent");
    go(&hermit);
    hermit.wait_for("retry_scheduled");
    hermit.run(&["tell", &id, "--retry-now"]).exits(0);
    finish(child).exits(0);
    let asked = hermit.asked();
    let next = asked.iter().filter(|line| line["prompt"].is_string()).nth(1).unwrap();
    assert!(next["prompt"].as_str().unwrap().contains("mind the umlauts"), "{asked:?}");
}

#[test]
fn retry_now_ends_waits_and_is_refused_elsewhere() {
    for phase in PHASES {
        let (hermit, child) = phase.enter();
        let id = hermit.runs()[0].file_name().unwrap().to_str().unwrap().to_owned();
        let waits = matches!(phase.name, "back-off" | "limit wait");
        if waits {
            hermit.run(&["tell", &id, "--retry-now"]).exits(0);
            finish(child).exits(0);
            assert_eq!(ending(&hermit.journal()), "completed", "{}", phase.name);
        } else {
            hermit.run(&["tell", &id, "--retry-now"]).exits(1).says(&["not waiting for anything"]);
            hermit.run(&["stop", "--now"]).exits(0);
            finish(child).exits(130);
        }
    }
}

#[test]
fn a_stop_file_stops_after_the_iteration_and_is_removed_when_seen() {
    let hermit = Hermit::new();
    let script = hermit.script(PATIENT);
    fs::create_dir(hermit.project().join(".nightwright")).unwrap();
    let file = hermit.project().join(".nightwright/.stop");
    // One left from before is not meant for this run.
    fs::write(&file, "").unwrap();
    let child = hermit.start(&[
        "run",
        "-p",
        "x",
        "-m",
        "5",
        "--no-delay",
        "--dry-run",
        "--rehearsal",
        &script,
    ]);
    hermit.wait_for("agent_ready");
    assert!(!file.exists());
    fs::write(&file, "").unwrap();
    hermit.wait_for("stop_requested");
    assert!(!file.exists());
    go(&hermit);
    finish(child).exits(0);
    assert_eq!(ending(&hermit.journal()), "stopped");
}

#[test]
fn references_to_runs_are_exact_unique_or_refused() {
    let hermit = Hermit::new();
    hermit.run(&["stop"]).exits(1).says(&["there is no run in"]);
    let script = hermit.script(CLAIMING);
    let arguments =
        ["run", "-p", "x", "-m", "5", "--no-delay", "--dry-run", "--rehearsal", &script];
    hermit.run(&arguments).exits(0);
    hermit.run(&arguments).exits(0);
    let ids: Vec<_> = hermit
        .runs()
        .iter()
        .map(|run| run.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    hermit.run(&["stop", &ids[0]]).exits(1).says(&[&ids[0], "has ended: completed"]);
    hermit.run(&["stop"]).exits(1).says(&[&ids[1], "has ended: completed"]);
    hermit.run(&["stop", "20"]).exits(2).says(&["can mean", &ids[0], &ids[1]]);
    hermit.run(&["stop", "nobody"]).exits(1).says(&["there is no run `nobody`"]);
    hermit.run(&["stop", "../.."]).exits(1).says(&["there is no run"]);
    let elsewhere = hermit.path("home");
    let mut command = hermit.command(&["stop", &ids[0]]);
    command.current_dir(&elsewhere);
    finish(command.spawn().unwrap()).exits(1).says(&[
        "belongs to another project",
        &hermit.project().display().to_string(),
        "-C",
    ]);
}

#[test]
fn a_task_that_is_called_like_the_beginning_of_ids_is_meant_by_its_name() {
    let hermit = Hermit::new();
    hermit.run(&["new", "20"]).exits(0);
    hermit.file(".nightwright/tasks/20/INSTRUCTIONS.md", "Do it.\n");
    let script = hermit.script(CLAIMING);
    let run = |what: &[&str]| {
        let before = hermit.runs();
        let fixed = ["-m", "5", "--no-delay", "--dry-run", "--rehearsal", &script];
        hermit.run(&[&["run"], what, &fixed[..]].concat()).exits(0);
        let run = hermit.runs().into_iter().find(|run| !before.contains(run)).unwrap();
        run.file_name().unwrap().to_str().unwrap().to_owned()
    };
    let other = run(&["-p", "x"]);
    let run_of_task = run(&["20"]);
    run(&["-p", "x"]);
    let needed = hermit.run(&["resume", "--if-needed", "20"]).exits(0);
    needed.says(&[&format!("run {run_of_task} has ended")]);
    hermit.run(&["stop", &other]).exits(1).says(&[&other]);
}

#[test]
fn a_run_that_was_started_to_outlive_its_terminal_does() {
    let hermit = Hermit::new();
    let script = hermit.script(PATIENT);
    let plain = hermit.command(&["run", "-p", "do it", "-m", "5", "--no-delay", "--dry-run"]);
    let mut command = Command::new("sh");
    command
        .args(["-c", "trap '' HUP; exec \"$@\"", "sh", NIGHTWRIGHT])
        .args(plain.get_args())
        .args(["--rehearsal", &script])
        .current_dir(hermit.project())
        .env_clear()
        .envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    hermit.wait_for("agent_ready");
    send(&child, Signal::HUP);
    // It hears this after the signal.
    let run = hermit.runs()[0].file_name().unwrap().to_str().unwrap().to_owned();
    hermit.run(&["tell", &run, "go on"]).exits(0);
    go(&hermit);
    finish(child).exits(0);
    let journal = hermit.journal();
    assert!(!names(&journal).contains(&"stop_requested"), "{:?}", names(&journal));
    assert_eq!(ending(&journal), "completed");
}

#[test]
fn text_alone_goes_to_the_run_that_is_running() {
    let hermit = Hermit::new();
    hermit.run(&["tell", "use the old API"]).exits(1).says(&["no run is running in"]);
    let script = hermit.script(PATIENT);
    let run = ["run", "-p", "x", "-m", "9", "--no-delay", "--verify", "true", "--dry-run"];
    let child = hermit.start(&[&run[..], &["--rehearsal", &script]].concat());
    hermit.wait_for("agent_ready");
    hermit.run(&["tell", "use the old API"]).exits(0);
    hermit.run(&["tell", "hurry"]).exits(0);
    let id = hermit.runs()[0].file_name().unwrap().to_str().unwrap().to_owned();
    hermit.run(&["tell", &id[..8]]).exits(2).says(&["nothing to tell run", &id]);
    hermit.run(&["tell", "--loud"]).exits(2);
    hermit.run(&["tell", "--retry-now"]).exits(1).says(&["is not waiting for anything"]);
    hermit.file("go", "");
    finish(child).exits(0);
    let journal = fs::read_to_string(hermit.runs()[0].join("journal.jsonl")).unwrap();
    for text in ["use the old API", "hurry"] {
        assert!(journal.contains(text), "the agent was not told `{text}`");
    }
}
