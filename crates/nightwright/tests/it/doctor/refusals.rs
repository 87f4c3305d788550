//! Everything that makes `run` refuse fails `doctor` too, and the checks can be tried.

use std::fs;

use super::{doctor, finding, healthy, json};
use crate::harness::{Output, TestEnv};

fn configured(text: &str) -> TestEnv {
    let env = healthy();
    fs::create_dir_all(env.project().join(".nightwright")).unwrap();
    env.file(".nightwright/config.toml", text);
    env
}

/// The grade and the text of the finding on a topic.
fn graded(output: &Output, topic: &str) -> (String, String) {
    let finding = finding(&json(output), topic);
    let text = |name: &str| finding[name].as_str().unwrap().to_owned();
    (text("grade"), text("text"))
}

/// Returns the message of a run that refuses to start.
fn refusal(env: &TestEnv) -> String {
    let output = env.run(&["run", "-p", "x", "-m", "1"]);
    assert_ne!(output.code, Some(0), "{}", output.err);
    output.err
}

#[test]
fn a_configuration_that_cannot_be_used_is_a_problem() {
    for text in ["limits.max_cost = \"much\"\n", "no TOML", "redact.patterns = [\"(\"]\n"] {
        let env = configured(text);
        refusal(&env);
        let output = doctor(&env, &["--json"], &[]).exits(1);
        assert_eq!(graded(&output, "config").0, "problem", "{text}");
    }
}

#[test]
fn missing_approvals_are_a_problem_until_they_are_given() {
    let env = configured("verify.commands = [\"true\"]\n");
    refusal(&env);
    let output = doctor(&env, &["--json"], &[]).exits(1);
    let trust = finding(&json(&output), "trust");
    assert_eq!(trust["grade"], "problem");
    assert!(trust["hints"][0].as_str().unwrap().contains("nightwright trust"), "{trust}");
    env.run(&["trust", "--yes"]).exits(0);
    doctor(&env, &[], &[]).exits(0);
}

#[test]
fn the_agent_of_the_configuration_is_the_one_that_is_looked_for() {
    let env = healthy();
    let command = [("NIGHTWRIGHT_AGENT_COMMAND", "no-such-agent --fast")];
    let output = doctor(&env, &["--json"], &command).exits(1);
    let (grade, text) = graded(&output, "agent");
    assert!(grade == "problem" && text.contains("no-such-agent"), "{text}");
    fs::remove_file(env.path("bin/claude")).unwrap();
    doctor(&env, &[], &[("NIGHTWRIGHT_AGENT_COMMAND", "sh -c true")]).exits(0);
}

#[test]
fn a_project_in_use_and_a_home_folder_are_problems() {
    let env = healthy();
    let script = env.script("[[attempt]]\nsteps = [{ run = \"sleep 300\" }]\n");
    let mut run = env.start(&["run", "-p", "x", "-m", "1", "--dry-run", "--rehearsal", &script]);
    env.wait_for("attempt_started");
    let output = doctor(&env, &["--json"], &[]).exits(1);
    assert!(graded(&output, "project").1.contains("is active in this project"), "{}", output.out);
    env.run(&["stop", "--now"]).exits(0);
    run.wait().unwrap();
    let mut at_home = env.command(&["doctor", "--json"]);
    at_home.current_dir(env.path("home"));
    let output = crate::harness::finish(at_home.spawn().unwrap()).exits(1);
    assert!(graded(&output, "project").1.contains("is your home folder"), "{}", output.out);
}

#[test]
fn checks_are_run_once_when_asked_for_in_the_environment_of_a_run() {
    let env = healthy();
    let run = |command: &str| {
        let variables = [("NIGHTWRIGHT_VERIFY_COMMANDS", command), ("NPM_TOKEN", "secret")];
        doctor(&env, &["--checks", "--json"], &variables)
    };
    let uses = "test -z \"$NPM_TOKEN\" && file=$(mktemp) && test -w \"$file\"";
    let (grade, text) = graded(&run(uses).exits(0), "checks");
    assert!(grade == "ok" && text.contains("passes"), "{text}");
    // A check that fails now may pass in the morning.
    let (grade, text) = graded(&run("echo 2 of 14 fail; false").exits(0), "checks");
    assert!(grade == "warning" && text.contains("fails now") && text.contains("2 of 14"), "{text}");
    let (grade, text) = graded(&run("no-such-program --test").exits(1), "checks");
    assert!(grade == "problem" && text.contains("cannot run"), "{text}");
    // Nothing is run unless it is asked for, and nothing is left.
    let untouched = [("NIGHTWRIGHT_VERIFY_COMMANDS", "touch proof")];
    doctor(&env, &[], &untouched).exits(0);
    assert!(!env.project().join("proof").exists());
    assert_eq!(fs::read_dir(env.path("tmp")).unwrap().count(), 0);
}

#[test]
fn the_temporary_folder_of_checks_is_tried() {
    let env = healthy();
    let (grade, text) = graded(&doctor(&env, &["--json"], &[]).exits(0), "temp");
    assert!(grade == "warning" || text.contains("`mktemp` works in `"), "{text}");
    let long = env.path("a-folder-with-a-name-that-leaves-no-room-for-sockets");
    fs::create_dir(&long).unwrap();
    let variables = [("TMPDIR", long.to_str().unwrap())];
    let (grade, text) = graded(&doctor(&env, &["--json"], &variables).exits(0), "temp");
    assert_eq!(grade, "warning");
    assert!(text.contains("too long for Unix sockets"), "{text}");
}
