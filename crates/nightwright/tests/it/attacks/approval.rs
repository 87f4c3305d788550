//! Attacks on what the user approves.

use std::fs;

use nightwright_core::outcome::{Outcome, Proof, Strictness};
use serde_json::Value;

use crate::harness::TestEnv;

const USER: &str = "[limits]\nmax_cost = 1\nmax_iterations = 2\n\
    [verify]\nmodel = \"always\"\ntamper = \"reject\"\n\
    [completion]\nthreshold = 3\n";
const LOOSE: &str = "[limits]\nmax_cost = 50\nmax_iterations = 0\n\
    [verify]\nmodel = \"off\"\ntamper = \"off\"\n[completion]\nthreshold = 1\n";

fn project(file: &str) -> TestEnv {
    let env = TestEnv::new();
    let user = env.path("home").join(".config/nightwright");
    fs::create_dir_all(&user).unwrap();
    fs::write(user.join("config.toml"), USER).unwrap();
    fs::create_dir_all(env.project().join(".nightwright")).unwrap();
    env.file(".nightwright/config.toml", file);
    env
}

/// Runs a rehearsal, and returns the limits and the settings of the gate at its start.
fn start(env: &TestEnv) -> (Value, String) {
    let run = ["run", "-p", "x", "--dry-run", "--no-delay", "--verify", "true"];
    let output = env.run(&run);
    let newest = env.runs().pop().unwrap();
    let journal = fs::read_to_string(newest.join("journal.jsonl")).unwrap();
    let first: Value = serde_json::from_str(journal.lines().next().unwrap()).unwrap();
    (first["settings"].clone(), output.err)
}

fn facts(settings: &Value) -> String {
    let (limits, verify) = (&settings["limits"], &settings["verify"]);
    let threshold = &settings["completion"]["signal_threshold"];
    format!(
        "{} {} {} {} {threshold}",
        limits["max_cost"], limits["max_iterations"], verify["model"], verify["tamper"]
    )
}

#[test]
fn a_project_loosens_neither_limits_nor_the_gate_and_with_an_approval_it_does() {
    let env = project(LOOSE);
    let (settings, said) = start(&env);
    assert_eq!(facts(&settings), r#"1.0 2 "always" "reject" 3"#);
    for key in ["limits.max_cost", "limits.max_iterations", "verify.model", "verify.tamper"] {
        assert_eq!(said.matches(&format!("This project sets {key} = ")).count(), 1, "{said}");
    }
    let line = "This project sets limits.max_cost = 50, which is looser than yours (1)";
    assert!(said.contains(line), "{said}");

    let asked = env.run(&["trust", "--yes"]).exits(0).out;
    assert!(asked.contains("limits.max_cost = 50, looser than yours (1)"), "{asked}");
    let (settings, said) = start(&env);
    assert_eq!(facts(&settings), r#"50.0 null "off" "off" 1"#);
    assert!(!said.contains("looser"), "{said}");
}

#[test]
fn a_project_tightens_without_an_approval() {
    let env =
        project("[limits]\nmax_cost = 0.5\nmax_iterations = 1\n[completion]\nthreshold = 4\n");
    let (settings, said) = start(&env);
    assert_eq!(facts(&settings), r#"0.5 1 "always" "reject" 4"#);
    assert!(!said.contains("looser"), "{said}");
}

#[test]
fn a_mode_of_the_project_skips_the_users_checks_only_with_an_approval() {
    let env = project("");
    let user = env.path("home").join(".config/nightwright/config.toml");
    fs::write(user, "verify.commands = [\"false\"]\n").unwrap();
    fs::create_dir_all(env.project().join(".nightwright/modes/prompt")).unwrap();
    env.file(
        ".nightwright/modes/prompt/mode.toml",
        "description = \"plans\"\nworks_on = \"goal\"\nevidence = [\"planned\"]\n\
         list = { file = \"PLAN.md\", place = \"project\" }\nidle_unless = \"worked\"\n",
    );
    let checks = || {
        let output = env.run(&["run", "-p", "x", "-m", "1", "--dry-run", "--no-delay"]);
        let journal = env.runs().pop().unwrap().join("journal.jsonl");
        let journal = fs::read_to_string(journal).unwrap();
        let first: Value = serde_json::from_str(journal.lines().next().unwrap()).unwrap();
        (first["settings"]["verify"]["commands"].to_string(), output.err)
    };
    let (commands, said) = checks();
    assert_eq!(commands, r#"["false"]"#, "{said}");
    assert!(
        said.contains("The project's mode `prompt` would skip your checks. They run;"),
        "{said}"
    );
    let asked = env.run(&["trust", "--yes"]).exits(0).out;
    assert!(asked.contains("a run of this mode skips your checks"), "{asked}");
    let (commands, said) = checks();
    assert_ne!(commands, r#"["false"]"#, "{said}");
}

#[test]
fn a_completion_without_proof_fails_for_those_who_require_one() {
    let exit = |proof| Outcome::completed(proof).exit_code(Strictness::RequireComplete);
    assert_eq!([Proof::Checks, Proof::Model, Proof::None].map(exit), [0, 0, 6]);
}

#[test]
fn a_project_loosens_no_budget_of_several_tasks() {
    let env = project("[limits]\nmax_cost = 50\n");
    for name in ["a", "b", "c"] {
        env.run(&["new", name]).exits(0);
        env.file(&format!(".nightwright/tasks/{name}/INSTRUCTIONS.md"), "Write done.txt.\n");
    }
    let script = "[[attempt]]\nend = { result = \"<promise>COMPLETE</promise>\", cost = 0.6 }\n";
    let script = env.script(script);
    let fixed = ["run", "a", "b", "c", "--keep-going", "--dry-run", "--no-delay"];
    let output = env.run(&[&fixed[..], &["--rehearsal", &script]].concat());
    assert!(output.err.contains("the budget is used up"), "{}", output.err);
    env.run(&["trust", "--yes"]).exits(0);
    let output = env.run(&[&fixed[..], &["--rehearsal", &script]].concat());
    assert!(!output.err.contains("the budget is used up"), "{}", output.err);
}
