//! Checks that pass because there is less to check.

use std::fs;
use std::path::Path;

use nightwright_core::event::{Event, GateEvent, GateResult};
use nightwright_core::input::TamperFinding;
use nightwright_core::outcome::Proof;
use serde_json::json;

use super::{gates, refusal, settled, warnings, write};
use crate::git::git;
use crate::harness::{Output, TestEnv, names};
use crate::messages_api::scenario::{ApiAnswer, Scenario, bash, call, say};
use crate::real::{RealEnv, VERIFIER, verdict};

/// The findings of the tamper inspection, at each gate.
fn findings(real: &RealEnv) -> Vec<Vec<TamperFinding>> {
    let events = real.journal().into_iter().map(|record| record.event);
    events
        .filter_map(|event| match event {
            Event::Gate(GateEvent::ChangesInspected { findings, .. }) => Some(findings),
            _ => None,
        })
        .collect()
}

const TESTS: &str = "\
#[test]
fn one_and_one_is_two() {
    assert_eq!(sum::of(1, 1), 2);
}

#[test]
fn nothing_and_nothing_is_nothing() {
    assert_eq!(sum::of(0, 0), 0);
}
";

/// The file without its first test.
fn half() -> &'static str {
    TESTS.split_once("\n\n").unwrap().1
}

/// A project under git's care with two tests, a command that passes whatever becomes of them, and
/// a task whose evidence is a file.
fn tested(env: &TestEnv) {
    fs::create_dir(env.project().join("tests")).unwrap();
    env.file("tests/sum.rs", TESTS).file("check.sh", "echo 'all tests passed'\n");
    env.run(&["new", "port", "--mode", "loop"]).exits(0);
    env.file(".nightwright/tasks/port/INSTRUCTIONS.md", "Make the sums right.\n");
    for arguments in [&["init", "-q", "-b", "main"][..], &["add", "-A"], &["commit", "-qm", "one"]]
    {
        git(&env.project(), arguments);
    }
}

/// The status file says so.
fn complete() -> ApiAnswer {
    bash("echo '{\"complete\": true}' > .nightwright/tasks/port/.status.json")
}

/// Runs the task of the tested project.
fn run_tested(real: &RealEnv) -> Output {
    tested(&real.env);
    let arguments = ["run", "port", "--no-delay", "-m", "4", "--verify", "sh check.sh"];
    let arguments = [&arguments[..], &["--no-baseline", "--allowed-tools", "Bash"]].concat();
    real.finish(real.command(&arguments).spawn().unwrap())
}

#[test]
fn deleted_tests_are_found_though_the_checks_pass_and_the_verifier_is_notified() {
    let scenario = |project: &Path| {
        let doubt = refusal("the tests are gone", &["tests/sum.rs as it was"]);
        let work = vec![
            bash("rm tests/sum.rs"),
            complete(),
            say("The checks pass."),
            write(project, "tests/sum.rs", TESTS),
            write(project, "sum.rs", "pub fn of(a: u8, b: u8) -> u8 { a + b }\n"),
            complete(),
            say("The checks pass, and the tests are back."),
        ];
        Scenario::of(work).with(VERIFIER, vec![doubt, verdict("yes", "they are back")])
    };
    let Some(real) = RealEnv::begin_in(scenario) else { return };
    let output = run_tested(&real).exits(0);
    assert_eq!(real.outcome(), settled(Proof::Checks), "{}", output.err);
    let found = findings(&real);
    let [first, second] = &found[..] else { panic!("{found:?}") };
    assert!(first.iter().any(|finding| finding.path == "tests/sum.rs"), "{first:?}");
    assert_eq!(second, &[], "what is as it was is no finding");
    let warned = warnings(&real);
    assert!(warned.iter().any(|text| text.contains("tests/sum.rs")), "{warned:?}");
    output.says(&["tests/sum.rs", "rejected: the tests are gone"]);
    let asked = real.asked_for_verdict();
    assert_eq!(asked.len(), 2, "asked because of the finding, and then because of the rejection");
    for finding in first {
        assert!(asked[0].says(&finding.what), "{:?}", asked[0].opening());
    }
    assert!(asked[0].says("tests/sum.rs") && asked[0].says("`sh check.sh`: passed"));
    let work = real.asked_for_work();
    assert!(work[3].says("the tests are gone") && work[3].says("tests/sum.rs as it was"));
}

#[test]
fn a_test_taken_out_of_its_file_rejects_the_claim_where_no_model_may_be_asked() {
    let scenario = |project: &Path| {
        let file = project.join("tests/sum.rs");
        let taken = TESTS.strip_suffix(half()).unwrap();
        Scenario::of(vec![
            call("Read", json!({ "file_path": file })),
            call("Edit", json!({ "file_path": file, "old_string": taken, "new_string": "" })),
            complete(),
            say("The checks pass."),
            write(project, "tests/sum.rs", TESTS),
            complete(),
            say("The checks pass, and the test is back."),
        ])
    };
    let Some(real) = RealEnv::begin_in(scenario) else { return };
    real.env.run(&["config", "set", "verify.model", "off"]).exits(0);
    let output = run_tested(&real).exits(0).says(&["rejected", "tests/sum.rs"]);
    assert_eq!(real.outcome(), settled(Proof::Checks), "{}", output.err);
    let results = gates(&real);
    let [GateResult::Rejected { why, .. }, GateResult::Passed { .. }] = &results[..] else {
        panic!("{results:?}")
    };
    assert!(why.contains("tests/sum.rs"), "{why}");
    assert_eq!(real.asked_for_verdict().len(), 0);
    let work = real.asked_for_work();
    assert!(work[4].says("tests/sum.rs") && work[4].says("You said that the work is complete"));
    assert!(!names(&real.journal()).contains(&"call_started"));
}
