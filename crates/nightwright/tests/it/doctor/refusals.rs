//! Everything that makes `run` refuse fails `doctor` too, and the checks can be tried.

use std::fs;

use super::{doctor, finding, healthy, json};
use crate::harness::{Did, Hermit};

fn configured(text: &str) -> Hermit {
    let hermit = healthy();
    fs::create_dir_all(hermit.project().join(".nightwright")).unwrap();
    hermit.file(".nightwright/config.toml", text);
    hermit
}

/// The grade and the text of the finding on a topic.
fn graded(did: &Did, topic: &str) -> (String, String) {
    let finding = finding(&json(did), topic);
    let text = |name: &str| finding[name].as_str().unwrap().to_owned();
    (text("grade"), text("text"))
}

/// What a run says when it refuses.
fn refusal(hermit: &Hermit) -> String {
    let did = hermit.run(&["run", "-p", "x", "-m", "1"]);
    assert_ne!(did.code, Some(0), "{}", did.err);
    did.err
}

#[test]
fn a_configuration_that_cannot_be_used_is_a_problem() {
    for text in ["limits.max_cost = \"much\"\n", "no TOML", "redact.patterns = [\"(\"]\n"] {
        let hermit = configured(text);
        refusal(&hermit);
        let did = doctor(&hermit, &["--json"], &[]).exits(1);
        assert_eq!(graded(&did, "config").0, "problem", "{text}");
    }
}

#[test]
fn what_nobody_approved_is_a_problem_until_it_is_approved() {
    let hermit = configured("verify.commands = [\"true\"]\n");
    refusal(&hermit);
    let did = doctor(&hermit, &["--json"], &[]).exits(1);
    let trust = finding(&json(&did), "trust");
    assert_eq!(trust["grade"], "problem");
    assert!(trust["hints"][0].as_str().unwrap().contains("nightwright trust"), "{trust}");
    hermit.run(&["trust", "--yes"]).exits(0);
    doctor(&hermit, &[], &[]).exits(0);
}

#[test]
fn the_agent_of_the_configuration_is_the_one_that_is_looked_for() {
    let hermit = healthy();
    let command = [("NIGHTWRIGHT_AGENT_COMMAND", "no-such-agent --fast")];
    let did = doctor(&hermit, &["--json"], &command).exits(1);
    let (grade, text) = graded(&did, "agent");
    assert!(grade == "problem" && text.contains("no-such-agent"), "{text}");
    fs::remove_file(hermit.path("bin/claude")).unwrap();
    doctor(&hermit, &[], &[("NIGHTWRIGHT_AGENT_COMMAND", "sh -c true")]).exits(0);
}

#[test]
fn a_project_in_use_and_a_home_folder_are_problems() {
    let hermit = healthy();
    let script = hermit.script("[[attempt]]\nsteps = [{ run = \"sleep 300\" }]\n");
    let mut run = hermit.start(&["run", "-p", "x", "-m", "1", "--dry-run", "--rehearsal", &script]);
    hermit.wait_for("attempt_started");
    let did = doctor(&hermit, &["--json"], &[]).exits(1);
    assert!(graded(&did, "project").1.contains("is at work in this project"), "{}", did.out);
    hermit.run(&["stop", "--now"]).exits(0);
    run.wait().unwrap();
    let mut at_home = hermit.command(&["doctor", "--json"]);
    at_home.current_dir(hermit.path("home"));
    let did = crate::harness::finish(at_home.spawn().unwrap()).exits(1);
    assert!(graded(&did, "project").1.contains("is your home folder"), "{}", did.out);
}

#[test]
fn checks_are_run_once_when_asked_for_in_the_environment_of_a_run() {
    let hermit = healthy();
    let run = |command: &str| {
        let variables = [("NIGHTWRIGHT_VERIFY_COMMANDS", command), ("NPM_TOKEN", "secret")];
        doctor(&hermit, &["--checks", "--json"], &variables)
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
    doctor(&hermit, &[], &untouched).exits(0);
    assert!(!hermit.project().join("proof").exists());
    assert_eq!(fs::read_dir(hermit.path("tmp")).unwrap().count(), 0);
}

#[test]
fn the_temporary_folder_of_checks_is_tried() {
    let hermit = healthy();
    let (grade, text) = graded(&doctor(&hermit, &["--json"], &[]).exits(0), "temp");
    assert!(grade == "warning" || text.contains("`mktemp` works in `"), "{text}");
    let long = hermit.path("a-folder-with-a-name-that-leaves-no-room-for-sockets");
    fs::create_dir(&long).unwrap();
    let variables = [("TMPDIR", long.to_str().unwrap())];
    let (grade, text) = graded(&doctor(&hermit, &["--json"], &variables).exits(0), "temp");
    assert_eq!(grade, "warning");
    assert!(text.contains("too long for unix sockets"), "{text}");
}
