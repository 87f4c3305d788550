//! Everything that makes `run` refuse fails `doctor` too, and the checks can be tried.

use std::fs;

use super::{doctor, finding, healthy, json};
use crate::harness::{Output, TestEnv};
use crate::tasks::disk::{is_root, skip};

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
    for text in [
        "limits.max_cost = \"much\"\n",
        "no TOML",
        "redact.patterns = [\"(\"]\n",
        "agent.allowed_tools = [\"Bash(npm\"]\n",
        "agent.disallowed_tools = [\"Bash()\"]\n",
        "principles.file = \"missing.toml\"\n",
    ] {
        is_refused_by_both(&configured(text), &["run", "-p", "x", "-m", "1"], text);
    }
}

/// Fails unless `run` and `doctor` refuse the configuration for the same reason.
fn is_refused_by_both(env: &TestEnv, run: &[&str], what: &str) {
    let said = env.run(run);
    assert_ne!(said.code, Some(0), "{what}: {}", said.err);
    let output = doctor(env, &["--json"], &[]).exits(1);
    let (grade, text) = graded(&output, "config");
    assert_eq!(grade, "problem", "{what}");
    assert!(said.err.contains(&text), "{what}: doctor says `{text}`, run says:\n{}", said.err);
    let people = doctor(env, &[], &[]).exits(1).out;
    assert!(!people.contains("Runs can start"), "{what}: {people}");
}

#[test]
fn a_run_without_an_effective_limit_is_a_problem() {
    let run = ["run", "fix it"];
    is_refused_by_both(&configured("limits.max_iterations = 0\n"), &run, "no limit");
    let env = healthy();
    let folder = env.path("home/.config/nightwright");
    fs::create_dir_all(&folder).unwrap();
    let tokens = "limits.max_iterations = 0\nlimits.max_tokens = 1000\n";
    fs::write(folder.join("config.toml"), tokens).unwrap();
    doctor(&env, &[], &[]).exits(0);
    // This program does not report tokens.
    fs::write(folder.join("config.toml"), format!("agent.command = \"cat\"\n{tokens}")).unwrap();
    is_refused_by_both(&env, &run, "tokens alone");
    // Any other limit is enough.
    let both = format!("agent.command = \"cat\"\n{tokens}limits.max_cost = 2\n");
    fs::write(folder.join("config.toml"), both).unwrap();
    doctor(&env, &[], &[]).exits(0);
}

#[test]
fn a_broken_mode_of_the_project_is_a_problem() {
    let env = healthy();
    fs::create_dir_all(env.project().join(".nightwright/modes/prompt")).unwrap();
    env.file(".nightwright/modes/prompt/mode.toml", "works_on = \"nothing\"\n");
    is_refused_by_both(&env, &["run", "-p", "x", "-m", "1"], "a broken mode");
    fs::remove_file(env.project().join(".nightwright/modes/prompt/mode.toml")).unwrap();
    env.file(".nightwright/modes/prompt/prompt.md", "# Mine\n\n{{ nope }}\n");
    is_refused_by_both(&env, &["run", "-p", "x", "-m", "1"], "a broken prompt");
}

#[test]
fn bypass_as_root_is_a_problem() {
    if !is_root() {
        return skip("only root is refused");
    }
    let env = configured("agent.permissions = \"bypass\"\n");
    env.run(&["trust", "--yes"]).exits(0);
    let said = refusal(&env);
    assert!(said.contains("the agent refuses to skip permissions as root"), "{said}");
    let output = doctor(&env, &["--json"], &[]).exits(1);
    let problems: Vec<_> = json(&output)["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| finding["grade"] == "problem")
        .map(|finding| finding["text"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(problems, ["the agent refuses to skip permissions as root"]);
    doctor(&env, &[], &[("IS_SANDBOX", "1")]).exits(0);
}

#[test]
fn a_project_that_may_not_be_written_to_is_a_problem() {
    let env = healthy();
    let run = ["run", "-p", "x", "-m", "1", "--dry-run"];
    let Some(refused) = env.run_without_write_access(&run) else { return };
    let refused = refused.exits(2).says(&["cannot write to the project folder"]);
    assert!(env.runs().is_empty());
    let output = env.run_without_write_access(&["doctor", "--json"]).unwrap().exits(1);
    let (grade, text) = graded(&output, "project");
    assert_eq!(grade, "problem");
    assert!(refused.err.contains(&text), "doctor says `{text}`, run says:\n{}", refused.err);
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
    assert!(grade == "ok" && text.contains("passed"), "{text}");
    // A check that fails now may pass in the morning.
    let (grade, text) = graded(&run("echo 2 of 14 fail; false").exits(0), "checks");
    assert!(grade == "warning" && text.contains("failed") && text.contains("2 of 14"), "{text}");
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
