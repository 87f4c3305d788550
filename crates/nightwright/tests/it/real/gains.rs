//! Whether a run gets closer, with the real agent program: it ends for the right reason.

mod projects;

use std::path::Path;

use nightwright_core::outcome::Outcome;
use serde_json::json;

use super::{RealEnv, accepted, claim, verdict};
use crate::harness::run_outcome;
use crate::messages_api::scenario::{ApiAnswer, Scenario, bash, call, say};

/// How the question begins whether a task is impossible.
const IMPOSSIBLE: &str = "# Is this task impossible?";

/// Prints what pytest prints, for three files.
const CHECK: &str = "\
failed=0
for name in one two three; do
  test -e $name.txt || { failed=$((failed + 1)); echo \"FAILED test_$name\"; }
done
[ $failed = 0 ] && { echo '3 passed in 0.01s'; exit 0; }
echo \"$failed failed, $((3 - failed)) passed in 0.01s\"
exit 1
";

fn write(project: &Path, name: &str) -> ApiAnswer {
    let file = project.join(format!("{name}.txt"));
    call("Write", json!({ "file_path": file, "content": name }))
}

fn run(real: &RealEnv) -> crate::harness::Output {
    real.env.file("check.sh", CHECK);
    let verify = ["-m", "12", "--verify", "sh check.sh", "--allowed-tools", "Bash"];
    real.run("write the three files", &verify)
}

#[test]
fn an_agent_that_fixes_one_test_per_iteration_and_claims_each_time_completes() {
    let scenario = |project: &Path| {
        let answers = ["one", "two", "three"].map(|name| [write(project, name), claim()]);
        accepted(answers.into_iter().flatten().collect())
    };
    let Some(real) = RealEnv::begin_in(scenario) else { return };
    run(&real).exits(0).says(&["failing 3 → 2 → 1", "completed successfully after 3 iterations"]);
    let asked = real.asked_for_work();
    assert!(asked[2].says("After iteration 1: 2 of 3 tests fail."), "{:?}", asked[2].opening());
    assert!(asked[4].says("That is the best result of this run."), "{:?}", asked[4].opening());
}

#[test]
fn an_agent_that_is_done_and_claims_nothing_completes_at_once() {
    let scenario = |project: &Path| {
        let mut answers: Vec<_> =
            ["one", "two", "three"].iter().map(|name| write(project, name)).collect();
        answers.push(say("I have written some files, and will polish them next."));
        accepted(answers)
    };
    let Some(real) = RealEnv::begin_in(scenario) else { return };
    run(&real).exits(0).says(&["all checks pass", "completed successfully after 1 iteration"]);
}

#[test]
fn an_agent_that_never_gets_further_ends_with_what_keeps_failing() {
    let answers = (0..9).flat_map(|_| [bash("date +%N >> work.txt"), say("Another approach.")]);
    let Some(real) = RealEnv::begin(Scenario::of(answers.collect())) else { return };
    run(&real).exits(0);
    let end = real.outcome();
    let Outcome::Stagnated { idle: 4, failing: Some(failing) } = end else { panic!("{end:?}") };
    assert_eq!(failing, "the same 3 tests have failed since the start of the run");
}

#[test]
fn an_agent_that_reports_a_contradiction_ends_as_impossible_if_a_model_agrees() {
    let words = "test_one and test_two contradict each other: one wants a file, the other none.";
    let scenario = Scenario::of(vec![say(words)])
        .with(IMPOSSIBLE, vec![verdict("yes", "the tests exclude each other")]);
    let Some(real) = RealEnv::begin(scenario) else { return };
    let output = run(&real).exits(0);
    assert_eq!(run_outcome(&real.journal()), "impossible", "{}", output.err);
    output.says(&["The task is impossible as specified: test_one and test_two contradict"]);
}
