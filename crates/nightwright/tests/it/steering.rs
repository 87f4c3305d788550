//! Messages to a running run in every phase, as recorded in the journal.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Instant;

use rustix::process::Signal;

use super::agent_env::NIGHTWRIGHT;
use super::fake_agent::{TEST_TIMEOUT, send};
use super::harness::{RunningCommand, TestEnv, finish, names, run_outcome};

/// An agent that waits for the test, then works.
const PATIENT: &str = r#"
[[attempt]]
steps = [{ run = "while [ ! -e go ]; do sleep 0.02; done" }, { write = "a.txt", text = "a" }]
end = { result = "Done with this part." }
[[attempt]]
steps = [{ write = "b.txt", text = "b" }]
end = { result = "<promise>COMPLETE</promise>" }
"#;

/// The provider is overloaded once.
const OVERLOADED: &str = r#"
[[attempt]]
end = { overloaded = true }
[[attempt]]
steps = [{ write = "b.txt", text = "b" }]
end = { result = "<promise>COMPLETE</promise>" }
"#;

/// A usage limit that lasts for hours.
const LIMITED: &str = r#"
[[attempt]]
end = { limit = "2h" }
[[attempt]]
steps = [{ write = "b.txt", text = "b" }]
end = { result = "<promise>COMPLETE</promise>" }
"#;

/// An agent that claims at once, so that the run waits in the gate.
const CLAIMING: &str = r#"
[[attempt]]
steps = [{ write = "a.txt", text = "a" }]
end = { result = "<promise>COMPLETE</promise>" }
"#;

const SLOW_CHECK: &str = "while [ ! -e go ]; do sleep 0.02; done; test ! -e fail";

/// A phase of a run: how to reach it, and the event that marks it.
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
    /// Starts a run and waits until it is in this phase.
    fn enter(&self) -> (TestEnv, RunningCommand) {
        let env = TestEnv::new();
        let script = env.script(self.script);
        if self.name == "delay" {
            go(&env);
        }
        let mut arguments = vec!["run", "-p", "do it", "-m", "5"];
        arguments.extend(self.arguments);
        arguments.extend(["--dry-run", "--rehearsal", &script]);
        let child = env.start(&arguments);
        env.wait_for(self.event);
        (env, child)
    }
}

fn go(env: &TestEnv) {
    env.file("go", "");
}

#[test]
fn stop_now_ends_every_phase_as_interrupted() {
    for phase in PHASES {
        let (env, child) = phase.enter();
        env.run(&["stop", "--now"]).exits(0);
        let output = finish(child);
        assert_eq!(output.code, Some(130), "{}: {}", phase.name, output.err);
        assert_eq!(run_outcome(&env.journal()), "interrupted", "{}", phase.name);
    }
}

#[test]
fn stop_ends_waits_at_once_and_lets_work_go_to_its_end() {
    for phase in PHASES {
        let (env, child) = phase.enter();
        let output = env.run(&["stop"]).exits(0);
        assert!(output.out.contains("stops after this iteration"), "{}", output.out);
        let waits = matches!(phase.name, "back-off" | "limit wait" | "delay");
        if !waits {
            env.wait_for("stop_requested");
            // The gate must fail. Otherwise the work is complete, and the stop comes too late.
            env.file("fail", "");
            go(&env);
        }
        let output = finish(child);
        assert_eq!(output.code, Some(0), "{}: {}", phase.name, output.err);
        let journal = env.journal();
        assert_eq!(run_outcome(&journal), "stopped", "{}", phase.name);
        let attempts = names(&journal).iter().filter(|name| **name == "attempt_started").count();
        assert_eq!(attempts, 1, "{}: nothing new was started", phase.name);
    }
}

#[test]
fn a_passed_gate_beats_a_stop() {
    let gate = &PHASES[3];
    let (env, child) = gate.enter();
    env.run(&["stop"]).exits(0);
    env.wait_for("stop_requested");
    // A claim by text alone also needs a verdict, and the rehearsal's verifier accepts it.
    go(&env);
    finish(child).exits(0);
    assert_eq!(run_outcome(&env.journal()), "completed");
}

#[test]
fn a_stop_can_be_taken_back() {
    let (env, child) = PHASES[0].enter();
    env.run(&["stop"]).exits(0);
    env.wait_for("stop_requested");
    env.run(&["stop", "--cancel"]).exits(0);
    env.wait_for("stop_cancelled");
    go(&env);
    finish(child).exits(0);
    assert_eq!(run_outcome(&env.journal()), "completed");
}

#[test]
fn a_paused_run_starts_nothing_new_until_it_is_resumed() {
    let (env, child) = PHASES[0].enter();
    let id = env.runs()[0].file_name().unwrap().to_str().unwrap().to_owned();
    env.run(&["resume", &id]).exits(1).says(&["is running (pid", "not paused"]);
    env.run(&["pause"]).exits(0);
    env.wait_for("run_paused");
    go(&env);
    env.wait_for("iteration_finished");
    assert!(!names(&env.journal()).contains(&"gate_started"));
    env.run(&["resume"]).exits(0);
    finish(child).exits(0);
    let journal = env.journal();
    assert_eq!(run_outcome(&journal), "completed");
    let names = names(&journal);
    let at = |name| names.iter().position(|n| *n == name).unwrap();
    let second = names.iter().rposition(|name| *name == "attempt_started").unwrap();
    assert!(at("run_paused") < at("run_resumed") && at("run_resumed") < second);
}

#[test]
fn a_pause_in_every_waiting_phase_holds_until_it_is_resumed() {
    for phase in PHASES.iter().filter(|phase| matches!(phase.name, "back-off" | "limit wait")) {
        let (env, child) = phase.enter();
        env.run(&["pause"]).exits(0);
        env.wait_for("run_paused");
        let id = env.runs()[0].file_name().unwrap().to_str().unwrap().to_owned();
        env.run(&["tell", &id, "--retry-now"]).exits(1).says(&["is paused"]);
        env.run(&["resume"]).exits(0);
        env.wait_for("run_resumed");
        env.run(&["tell", &id, "--retry-now"]).exits(0);
        finish(child).exits(0);
        assert_eq!(run_outcome(&env.journal()), "completed", "{}", phase.name);
    }
}

#[test]
fn a_pause_in_the_gate_lets_the_checks_end_and_no_verifier_start() {
    let (env, child) = PHASES[3].enter();
    env.run(&["pause"]).exits(0);
    env.wait_for("run_paused");
    go(&env);
    env.wait_for("checks_finished");
    // The results of the checks and the project are processed before the pause takes effect.
    until_paused(&env);
    env.run(&["resume"]).exits(0);
    finish(child).exits(0);
    let journal = env.journal();
    assert_eq!(run_outcome(&journal), "completed");
    let names = names(&journal);
    let at = |name| names.iter().position(|n| *n == name).unwrap();
    assert!(at("checks_finished") < at("run_resumed"));
    assert!(at("run_resumed") < at("call_started"));
}

/// Waits until the status of the run is paused.
fn until_paused(env: &TestEnv) {
    let begun = Instant::now();
    loop {
        let status = env.run(&["status", "--json"]).exits(0).out;
        let status: serde_json::Value = serde_json::from_str(&status).unwrap();
        if status["doing"]["what"] == "paused" {
            return;
        }
        assert!(begun.elapsed() < TEST_TIMEOUT, "never paused: {status}");
    }
}

#[test]
fn after_a_pause_in_the_delay_the_next_iteration_waits_for_the_resumption() {
    let env = TestEnv::new();
    let script = env.script(PATIENT);
    go(&env);
    let child =
        env.start(&["run", "-p", "x", "-m", "5", "-d", "1s", "--dry-run", "--rehearsal", &script]);
    env.wait_for("iteration_finished");
    env.run(&["pause"]).exits(0);
    env.wait_for("run_paused");
    env.run(&["resume"]).exits(0);
    finish(child).exits(0);
    let journal = env.journal();
    let names = names(&journal);
    let resumed = names.iter().position(|name| *name == "run_resumed").unwrap();
    let second = names.iter().rposition(|name| *name == "iteration_started").unwrap();
    assert!(resumed < second, "{names:?}");
}

#[test]
fn a_word_for_the_agent_is_recorded_at_every_phase_and_goes_into_an_open_session() {
    for phase in PHASES {
        let (env, child) = phase.enter();
        let id = env.runs()[0].file_name().unwrap().to_str().unwrap().to_owned();
        env.run(&["tell", &id, "mind the umlauts"]).exits(0);
        if phase.name == "attempt" {
            // A session is open and receives the message at once.
            env.wait_for("message_sent");
            go(&env);
            finish(child).exits(0);
            let asked = env.asked();
            assert!(asked.iter().any(|line| line["message"] == "mind the umlauts"), "{asked:?}");
            let next = asked.iter().filter(|line| line["prompt"].is_string()).nth(1).unwrap();
            assert!(!next["prompt"].as_str().unwrap().contains("mind the umlauts"));
        } else {
            env.wait_for("feedback_added");
            env.run(&["stop", "--now"]).exits(0);
            finish(child).exits(130);
        }
    }
}

#[test]
fn a_word_into_a_session_that_dies_reaches_the_next_prompt() {
    let env = TestEnv::new();
    let script = env.script(
        r#"
        [[attempt]]
        steps = [{ run = "while [ ! -e go ]; do sleep 0.02; done" }]
        end = { crash = 3 }
        [[attempt]]
        steps = [{ write = "b.txt", text = "b" }]
        end = { result = "<promise>COMPLETE</promise>" }
        "#,
    );
    let arguments = ["run", "-p", "do it", "-m", "5", "--no-delay", "--dry-run", "--rehearsal"];
    let child = env.start(&[&arguments[..], &[&script]].concat());
    env.wait_for("agent_ready");
    let id = env.runs()[0].file_name().unwrap().to_str().unwrap().to_owned();
    env.run(&["tell", &id, "mind the umlauts"]).exits(0);
    env.wait_for("message_sent");
    go(&env);
    env.wait_for("retry_scheduled");
    env.run(&["tell", &id, "--retry-now"]).exits(0);
    finish(child).exits(0);
    let asked = env.asked();
    let next = asked.iter().filter(|line| line["prompt"].is_string()).nth(1).unwrap();
    assert!(next["prompt"].as_str().unwrap().contains("mind the umlauts"), "{asked:?}");
}

#[test]
fn retry_now_ends_waits_and_is_refused_elsewhere() {
    for phase in PHASES {
        let (env, child) = phase.enter();
        let id = env.runs()[0].file_name().unwrap().to_str().unwrap().to_owned();
        let waits = matches!(phase.name, "back-off" | "limit wait");
        if waits {
            env.run(&["tell", &id, "--retry-now"]).exits(0);
            finish(child).exits(0);
            assert_eq!(run_outcome(&env.journal()), "completed", "{}", phase.name);
        } else {
            env.run(&["tell", &id, "--retry-now"]).exits(1).says(&["is not waiting"]);
            env.run(&["stop", "--now"]).exits(0);
            finish(child).exits(130);
        }
    }
}

#[test]
fn a_stop_file_stops_after_the_iteration_and_is_removed_when_seen() {
    let env = TestEnv::new();
    let script = env.script(PATIENT);
    fs::create_dir(env.project().join(".nightwright")).unwrap();
    let file = env.project().join(".nightwright/.stop");
    // A file from before the run has no effect on it.
    fs::write(&file, "").unwrap();
    let child = env.start(&[
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
    env.wait_for("agent_ready");
    assert!(!file.exists());
    fs::write(&file, "").unwrap();
    env.wait_for("stop_requested");
    assert!(!file.exists());
    go(&env);
    finish(child).exits(0);
    assert_eq!(run_outcome(&env.journal()), "stopped");
}

#[test]
fn references_to_runs_are_exact_unique_or_refused() {
    let env = TestEnv::new();
    env.run(&["stop"]).exits(1).says(&["there is no run in"]);
    let script = env.script(CLAIMING);
    let arguments =
        ["run", "-p", "x", "-m", "5", "--no-delay", "--dry-run", "--rehearsal", &script];
    env.run(&arguments).exits(0);
    env.run(&arguments).exits(0);
    let ids: Vec<_> = env
        .runs()
        .iter()
        .map(|run| run.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    env.run(&["stop", &ids[0]]).exits(1).says(&[&ids[0], "has ended: completed"]);
    env.run(&["stop"]).exits(1).says(&[&ids[1], "has ended: completed"]);
    env.run(&["stop", "20"]).exits(2).says(&["is ambiguous", &ids[0], &ids[1]]);
    env.run(&["stop", "nobody"]).exits(1).says(&["there is no run `nobody`"]);
    env.run(&["stop", "../.."]).exits(1).says(&["there is no run"]);
    let elsewhere = env.path("home");
    let mut command = env.command(&["stop", &ids[0]]);
    command.current_dir(&elsewhere);
    finish(command.spawn().unwrap()).exits(1).says(&[
        "belongs to another project",
        &env.project().display().to_string(),
        "-C",
    ]);
}

#[test]
fn a_task_that_is_called_like_the_beginning_of_ids_is_meant_by_its_name() {
    let env = TestEnv::new();
    env.run(&["new", "20"]).exits(0);
    env.file(".nightwright/tasks/20/INSTRUCTIONS.md", "Do it.\n");
    let script = env.script(CLAIMING);
    let run = |what: &[&str]| {
        let before = env.runs();
        let fixed = ["-m", "5", "--no-delay", "--dry-run", "--rehearsal", &script];
        env.run(&[&["run"], what, &fixed[..]].concat()).exits(0);
        let run = env.runs().into_iter().find(|run| !before.contains(run)).unwrap();
        run.file_name().unwrap().to_str().unwrap().to_owned()
    };
    let other = run(&["-p", "x"]);
    let run_of_task = run(&["20"]);
    run(&["-p", "x"]);
    let needed = env.run(&["resume", "--if-needed", "20"]).exits(0);
    needed.says(&[&format!("run {run_of_task} has ended")]);
    env.run(&["stop", &other]).exits(1).says(&[&other]);
}

#[test]
fn a_run_that_was_started_to_outlive_its_terminal_does() {
    let env = TestEnv::new();
    let script = env.script(PATIENT);
    let plain = env.command(&["run", "-p", "do it", "-m", "5", "--no-delay", "--dry-run"]);
    let mut command = Command::new("sh");
    command
        .args(["-c", "trap '' HUP; exec \"$@\"", "sh", NIGHTWRIGHT])
        .args(plain.get_args())
        .args(["--rehearsal", &script])
        .current_dir(env.project())
        .env_clear()
        .envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = RunningCommand::from(command.spawn().unwrap());
    env.wait_for("agent_ready");
    send(&child, Signal::HUP);
    // The agent receives this after the signal.
    let run = env.runs()[0].file_name().unwrap().to_str().unwrap().to_owned();
    env.run(&["tell", &run, "go on"]).exits(0);
    go(&env);
    finish(child).exits(0);
    let journal = env.journal();
    assert!(!names(&journal).contains(&"stop_requested"), "{:?}", names(&journal));
    assert_eq!(run_outcome(&journal), "completed");
}

#[test]
fn text_alone_goes_to_the_run_that_is_running() {
    let env = TestEnv::new();
    env.run(&["tell", "use the old API"]).exits(1).says(&["no active run in"]);
    let script = env.script(PATIENT);
    let run = ["run", "-p", "x", "-m", "9", "--no-delay", "--verify", "true", "--dry-run"];
    let child = env.start(&[&run[..], &["--rehearsal", &script]].concat());
    env.wait_for("agent_ready");
    env.run(&["tell", "use the old API"]).exits(0);
    env.run(&["tell", "hurry"]).exits(0);
    let id = env.runs()[0].file_name().unwrap().to_str().unwrap().to_owned();
    env.run(&["tell", &id[..8]]).exits(2).says(&["no message for run", &id]);
    env.run(&["tell", "--loud"]).exits(2);
    env.run(&["tell", "--retry-now"]).exits(1).says(&["is not waiting"]);
    env.file("go", "");
    finish(child).exits(0);
    let journal = fs::read_to_string(env.runs()[0].join("journal.jsonl")).unwrap();
    for text in ["use the old API", "hurry"] {
        assert!(journal.contains(text), "the agent was not told `{text}`");
    }
}

#[test]
fn an_empty_text_for_the_agent_is_refused() {
    let env = TestEnv::new();
    env.file("a.txt", "x");
    for text in ["", "  "] {
        env.run(&["tell", text]).exits(2).says(&["no message for the agent", "hint: "]);
    }
    let output = env.run(&["status", ""]);
    assert!(!output.err.contains("another project"), "{}", output.err);
}

#[test]
fn a_second_request_to_retry_within_a_minute_is_refused_aloud() {
    let env = TestEnv::new();
    let limited = "[[attempt]]\nend = { limit = \"2h13m\" }\n";
    let script = env.script(&limited.repeat(3));
    let run = ["run", "-p", "x", "-m", "1", "--no-delay", "--dry-run", "--rehearsal", &script];
    let child = env.start(&run);
    env.wait_for("limit_wait_started");
    env.run(&["tell", "--retry-now"]).exits(0);
    env.wait_for_nth("limit_wait_started", 2);
    env.run(&["tell", "--retry-now"])
        .exits(1)
        .says(&["retried less than a minute ago; not retrying yet"]);
    env.run(&["stop", "--now"]).exits(0);
    finish(child).exits(130);
}

#[test]
fn a_run_with_long_folder_paths_can_be_stopped() {
    let env = TestEnv::new();
    let [temp, state] = ["tmp", "state"].map(|name| env.path(name).join("long/".repeat(30)));
    fs::create_dir_all(&temp).unwrap();
    let script = env.script(PATIENT);
    let command = |arguments: &[&str]| {
        let mut command = env.command(arguments);
        command.env("TMPDIR", &temp).env("NIGHTWRIGHT_STATE_DIR", &state);
        command
    };
    let run = command(&["run", "-p", "x", "-m", "2", "--dry-run", "--rehearsal", &script]);
    let run = RunningCommand::from({ run }.spawn().unwrap());
    let status = || finish(command(&["status", "--json"]).spawn().unwrap()).out;
    let begun = Instant::now();
    while !status().contains("\"working\"") {
        assert!(begun.elapsed() < TEST_TIMEOUT, "{}", status());
    }
    finish(command(&["stop", "--now"]).spawn().unwrap()).exits(0);
    finish(run).exits(130);
}

#[test]
fn the_hint_for_a_run_without_a_socket_stops_it() {
    for subject in [&["-p", "x"][..], &["t"]] {
        let env = TestEnv::new();
        env.run(&["new", "t"]).exits(0);
        env.file(".nightwright/tasks/t/INSTRUCTIONS.md", "Write b.txt.");
        let script = env.script(PATIENT);
        let options = ["-m", "2", "--no-delay", "--dry-run", "--rehearsal", &script];
        let run = env.start(&[&["run"], subject, &options].concat());
        env.wait_for("agent_ready");
        fs::remove_file(env.runs()[0].join("control.sock")).unwrap();
        let output = env.run(&["stop"]).exits(1).says(&["error: cannot reach run "]);
        let hint = output.err.split_once("hint: run `").unwrap().1.split('`').next().unwrap();
        env.paste(hint).exits(0);
        env.wait_for("stop_requested");
        go(&env);
        finish(run).exits(0);
        assert_eq!(run_outcome(&env.journal()), "stopped");
    }
}
