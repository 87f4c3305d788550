//! `nightwright task validate` with the rehearsal agent and with a custom program.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use super::harness::TestEnv;

const REPORT: &str = ".nightwright/tasks/t/reports/validation-report.md";

fn with_task() -> TestEnv {
    let env = TestEnv::new();
    env.task("t");
    env.file(".nightwright/tasks/t/INSTRUCTIONS.md", "# Goal\nAll tests pass.\n");
    env
}

/// Validates with a script of the rehearsal agent.
fn rehearse(env: &TestEnv, script: &str, code: i32) -> super::harness::Output {
    let script = env.script(script);
    env.run(&["task", "validate", "t", "--dry-run", "--rehearsal", &script]).exits(code)
}

#[test]
fn instructions_that_meet_everything_pass_and_a_report_is_kept() {
    let env = with_task();
    env.file(".nightwright/tasks/t/TODO.md", "- [ ] the first test\n");
    let output = env.run(&["task", "validate", "t", "--dry-run"]).exits(0);
    insta::assert_snapshot!(output.out, @r"
    required
      pass  The goal is an outcome
      pass  An outsider can check that the work is done
      pass  Verification: exact commands
      pass  Scope: what is part of the work, and what is not
      pass  The work has small, ordered parts
      pass  No open questions, and no person needed
      pass  Constraints: what must not change
    recommended
      pass  Files and places have names
      pass  There is an example of the expected result
      pass  Guidance for getting stuck

    pass: met 7 of 7 required criteria, 3 of 3 recommended ones
    ");
    output.says(&["Next: `nightwright run t`", "cost $0.01 (rehearsed)", REPORT]);
    assert!(env.read(REPORT).starts_with("# Validation of `t`\n\n**pass**: met 7 of 7"));
    let asked = env.asked();
    assert_eq!(asked.len(), 1);
    let prompt = asked[0]["prompt"].as_str().unwrap();
    assert!(prompt.contains("All tests pass.") && prompt.contains("the first test"), "{prompt}");
    assert!(asked[0]["system"].as_str().unwrap().contains("You judge instructions"));
    let arguments = asked[0]["arguments"].as_array().unwrap();
    assert!(arguments.contains(&json!("--json-schema")), "{arguments:?}");
    assert!(env.runs().is_empty());
}

#[test]
fn a_required_criterion_that_fails_is_an_exit_code_and_a_recommended_one_is_not() {
    let env = with_task();
    let output = rehearse(&env, "[[validate]]\nfail = [\"examples\"]\nreason = \"none\"\n", 0);
    assert!(output.out.contains(
        "  FAIL (recommended)  There is an example of the expected result\n        none\n"
    ));
    let script = "[[validate]]\nfail = [\"scope\"]\nreason = \"no \\u001b[31mline\"\n";
    let output = rehearse(&env, script, 1);
    assert!(output.out.contains("FAIL: met 6 of 7 required criteria"), "{}", output.out);
    assert!(!output.out.contains('\u{1b}'), "{:?}", output.out);
    output.says(&["Next: `nightwright task edit t`"]);
    assert!(env.read(REPORT).contains("**fail**"), "{}", env.read(REPORT));
}

#[test]
fn json_has_every_criterion_and_the_cost() {
    let env = with_task();
    let script =
        env.script("[[validate]]\ncost = 0.5\nfail = [\"steps\"]\nreason = \"one lump\"\n");
    let output =
        env.run(&["task", "validate", "t", "--json", "--dry-run", "--rehearsal", &script]).exits(1);
    let value: Value = serde_json::from_str(&output.out).unwrap();
    assert_eq!((&value["passes"], &value["task"]), (&json!(false), &json!("t")));
    assert_eq!((&value["cost_usd"], &value["cost_estimated"]), (&json!(0.5), &json!(false)));
    assert_eq!(value["report"], REPORT);
    let criteria = value["criteria"].as_array().unwrap();
    assert_eq!(criteria.len(), 10);
    let steps = criteria.iter().find(|one| one["id"] == "steps").unwrap();
    assert_eq!((&steps["verdict"], &steps["reason"]), (&json!("fail"), &json!("one lump")));
}

#[test]
fn an_answer_that_can_not_be_read_is_asked_for_once_more() {
    let env = with_task();
    let unreadable = "[[validate]]\nend = { result = \"They are fine.\" }\n";
    rehearse(&env, &format!("{unreadable}[[validate]]\nfail = []\n"), 0).says(&["cost $0.02"]);
    let asked = env.asked();
    assert_eq!(asked.len(), 2);
    assert!(asked[1]["prompt"].as_str().unwrap().contains("cannot read an earlier answer"));
    fs::remove_file(env.project().join(REPORT)).unwrap();

    rehearse(&env, unreadable, 1)
        .says(&["answered twice, and neither answer was a valid result; cost $0.02"]);
    assert_eq!(env.read(REPORT), "");
    assert_eq!(fs::read_dir(env.path("tmp")).unwrap().count(), 0, "a rehearsal leaves nothing");
}

#[test]
fn validation_does_not_wait_for_a_limit() {
    let env = with_task();
    rehearse(&env, "[[validate]]\nend = { limit = \"2h\" }\n", 1).says(&[
        "usage limit, which resets at 20",
        " UTC",
        "retry then",
    ]);
    rehearse(&env, "[[validate]]\nend = { auth = \"no such key\" }\n", 1)
        .says(&["login refused: ", "log in"]);
    rehearse(&env, "[[validate]]\nend = { crash = 7 }\n", 1).says(&["exited with 7"]);
}

#[test]
fn any_program_can_judge_in_plain_text() {
    let env = with_task();
    let answer = nightwright_core::validation::answer(&["outcome".to_owned()], "an activity");
    env.file(
        "judge.sh",
        &format!("cat >asked\ncat <<'X'\nHere it is:\n{answer}\nThat is all.\nX\n"),
    );
    let output = env.run(&["task", "validate", "t", "--agent-command", "sh judge.sh"]).exits(1);
    assert!(output.out.contains("  FAIL  The goal is an outcome\n        an activity"));
    let asked = env.read("asked");
    assert!(asked.contains("You judge instructions") && asked.contains("All tests pass."));
}

#[test]
fn the_program_of_the_configuration_judges_unless_another_one_is_named() {
    let env = with_task();
    let answer = nightwright_core::validation::answer(&[], "");
    for name in ["one.sh", "other.sh"] {
        let text = format!("cat >/dev/null\necho {name} >>asked\ncat <<'X'\n{answer}\nX\n");
        env.file(name, &text);
    }
    let folder = env.path("home/.config/nightwright");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.toml"), "[agent]\ncommand = \"sh one.sh\"\n").unwrap();
    env.run(&["task", "validate", "t"]).exits(0);
    assert_eq!(env.read("asked"), "one.sh\n");
    env.run(&["task", "validate", "t", "--agent-command", "sh other.sh"]).exits(0);
    assert_eq!(env.read("asked"), "one.sh\nother.sh\n");
    env.run(&["task", "validate", "t", "--dry-run"]).exits(0);
    assert_eq!(env.read("asked"), "one.sh\nother.sh\n");
}

#[test]
fn a_report_is_never_written_outside_the_project() {
    let env = with_task();
    let elsewhere = env.path("home");
    symlink(&elsewhere, env.project().join(".nightwright/tasks/t/reports")).unwrap();
    env.run(&["task", "validate", "t", "--dry-run"]).exits(1).says(&["outside the project"]);
    assert_eq!(fs::read_dir(elsewhere).unwrap().count(), 0);
    assert_eq!(env.asked().len(), 0);
}

#[test]
fn without_instructions_there_is_nothing_to_judge() {
    let env = TestEnv::new();
    env.task("t");
    let words = ["Instructions not found. Run: nightwright task setup t"];
    env.run(&["task", "validate", "t", "--dry-run"]).exits(2).says(&words);
    env.file(".nightwright/tasks/t/INSTRUCTIONS.md", "  \n");
    env.run(&["task", "validate", "t", "--dry-run"]).exits(2).says(&words);
    env.run(&["task", "validate", "x", "--dry-run"]).exits(2).says(&["Task not found: x"]);
}

#[test]
fn a_script_that_fails_what_is_no_criterion_is_refused() {
    let env = with_task();
    rehearse(&env, "[[validate]]\nfail = [\"beauty\"]\n", 2)
        .says(&["`beauty` is not a criterion; the criteria are outcome, checkable"]);
}
