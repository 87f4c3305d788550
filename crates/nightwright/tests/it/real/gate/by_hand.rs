//! `nightwright verify`: the same gate, because a person wants to know.

use std::path::Path;

use serde_json::{Value, json};

use super::refusal;
use crate::harness::Output;
use crate::messages_api::scenario::{FORM, Scenario, call};
use crate::real::{RealEnv, VERIFIER, verdict};

/// Makes a task, and asks for a verdict on it.
fn verify(real: &RealEnv, arguments: &[&str]) -> Output {
    real.env.run(&["new", "port", "--mode", "loop"]).exits(0);
    real.env.file(".nightwright/tasks/port/INSTRUCTIONS.md", "Port the parser to Rust.\n");
    let arguments = [&["verify", "port"], arguments].concat();
    real.finish(real.command(&arguments).spawn().unwrap())
}

const REPORT: &str = ".nightwright/tasks/port/verification-report.md";

#[test]
fn the_gate_by_hand_passes_only_what_the_verifier_accepts_and_leaves_a_report() {
    let belief = verdict("yes", "the parser is there");
    let Some(real) = RealEnv::begin(Scenario::of(vec![belief])) else { return };
    verify(&real, &["--depth", "standard"]).exits(0);
    let report = real.read(REPORT).expect("a report");
    assert!(report.contains("the parser is there"), "{report}");
    let asked = real.api().asked();
    assert_eq!(asked.len(), 1, "nothing but the verdict is asked for");
    assert!(asked[0].says(VERIFIER) && asked[0].says("Port the parser to Rust."));
    assert!(asked[0].model().starts_with("claude-haiku"), "{}", asked[0].model());
    assert_eq!(asked[0].tools(), [FORM]);
}

#[test]
fn the_gate_by_hand_that_is_not_passed_exits_with_6_and_says_what_is_missing() {
    let scenario = |project: &Path| {
        let doubt = refusal("half of it is there", &["the lexer"]);
        let look = call("Read", json!({ "file_path": project.join("parser.rs") }));
        Scenario::of(vec![look, doubt])
    };
    let Some(real) = RealEnv::begin_in(scenario) else { return };
    real.env.file("parser.rs", "fn parse() {}\n");
    let output = verify(&real, &["--depth", "deep", "--json"]).exits(6);
    let answer: Value = serde_json::from_str(&output.out).unwrap();
    assert_eq!(answer["verdict"], "fail", "{answer}");
    assert_eq!(answer["reason"], "half of it is there");
    assert_eq!(answer["missing"], json!(["the lexer"]));
    let report = real.read(REPORT).expect("a report");
    assert!(report.contains("half of it is there") && report.contains("the lexer"), "{report}");
    let asked = real.api().asked();
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[0].tools(), ["Glob", "Grep", "Read", FORM]);
    assert!(asked[1].tool_results()[0].0.contains("fn parse() {}"));
}

#[test]
fn the_gate_by_hand_asks_no_model_about_what_a_check_refutes() {
    let Some(real) = RealEnv::begin(Scenario::of(vec![verdict("yes", "never asked")])) else {
        return;
    };
    let command = "echo 'one test failed'; exit 1";
    real.env.run(&["config", "set", "verify.commands", command]).exits(0);
    let output = verify(&real, &[]).exits(6);
    assert!(output.out.contains("one test failed"), "{}", output.out);
    let report = real.read(REPORT).expect("a report");
    assert!(report.contains("one test failed"), "{report}");
    assert!(real.api().asked().is_empty());
}
