//! `nightwright task setup` and `nightwright task validate` with the real program.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Account, RealEnv};
use crate::harness::{Output, RunningCommand};
use crate::messages_api::scenario::{ApiAnswer, Scenario, call, say, usage_limit};
use crate::terminal::Terminal;

const INSTRUCTIONS: &str = ".nightwright/tasks/t/INSTRUCTIONS.md";
const REPORT: &str = ".nightwright/tasks/t/reports/validation-report.md";

/// The program asks people in a new home for their taste, for their trust in the folder, and
/// whether they mean the key. All of that was answered.
fn move_in(real: &RealEnv) {
    let project = real.env.project().canonicalize().unwrap();
    let (_, key) = Account::Key.variable();
    let home = json!({
        "hasCompletedOnboarding": true,
        "theme": "dark",
        "projects": { project.to_str().unwrap(): { "hasTrustDialogAccepted": true } },
        "customApiKeyResponses": { "approved": [&key[key.len() - 20..]], "rejected": [] },
    });
    fs::write(real.env.path("home/.claude.json"), home.to_string()).unwrap();
}

/// Validates instructions, with a model that answers like this.
fn validate(answers: Vec<ApiAnswer>, code: i32) -> Option<(RealEnv, Output)> {
    let real = RealEnv::begin(Scenario::of(answers))?;
    let output = judge(&real, code);
    Some((real, output))
}

fn judge(real: &RealEnv, code: i32) -> Output {
    real.env.task("t").file(INSTRUCTIONS, "# Goal\nAll tests pass.\n");
    let child = RunningCommand::from(
        real.command(&["task", "validate", "t", "--model", "sonnet"]).spawn().unwrap(),
    );
    real.finish(child).exits(code)
}

/// The model gives this judgement.
fn judgement(failed: &[&str]) -> Value {
    let failed: Vec<_> = failed.iter().map(|id| (*id).to_owned()).collect();
    let text = nightwright_core::validation::answer(&failed, "it is not there");
    serde_json::from_str(&text).unwrap()
}

#[test]
fn a_conversation_in_a_terminal_ends_with_instructions() {
    let real = RealEnv::begin_in(|project| {
        let file = project.join(INSTRUCTIONS);
        let input = json!({ "file_path": file, "content": "# Goal\nAll tests pass.\n" });
        Scenario::of(vec![call("Write", input), say("It is written.")])
    });
    let Some(real) = real else { return };
    move_in(&real);
    real.env.task("t");
    let (name, value) = Account::Key.variable();
    let line = real.env.line("task setup t");
    let line = format!("export ANTHROPIC_BASE_URL=http://{} {name}={value}; {line}", real.address);
    let terminal = Terminal::run(&real.env, &line);
    terminal.shows("It is written.");
    terminal.types(&["-l", "/exit"]);
    terminal.shows("❯ /exit");
    terminal.types(&["Enter"]);
    let screen = terminal.shows("exit=0");
    assert!(screen.contains("Instructions written"), "{screen}");
    assert_eq!(real.read(INSTRUCTIONS).as_deref(), Some("# Goal\nAll tests pass.\n"));
    real.env.terminal_is_as_before();
    drop(terminal);
    real.assert_no_process_is_alive();
    let asked = real.api().asked();
    assert!(asked[0].says("Help me write the instructions of the task t."));
    let system = asked[0].system().concat();
    assert!(system.contains("# Write instructions together with a user"), "{system}");
    assert!(system.contains(INSTRUCTIONS), "{system}");
}

#[test]
fn good_instructions_pass_with_one_question_and_tools_that_only_read() {
    let answer = call("StructuredOutput", judgement(&["examples"]));
    let Some((real, output)) = validate(vec![answer], 0) else { return };
    assert!(output.out.contains("pass: met 7 of 7 required criteria, 2 of 3"), "{}", output.out);
    output.says(&["cost $0.0"]);
    assert!(real.read(REPORT).unwrap().contains("| FAIL (recommended) | There is an example"));
    let asked = real.api().asked();
    assert!(asked[0].says("All tests pass.") && asked[0].model().contains("sonnet"));
    let tools = asked[0].body["tools"].as_array().unwrap();
    let tools: Vec<_> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert!(tools.contains(&"Read") && tools.contains(&"StructuredOutput"), "{tools:?}");
    for changes in ["Bash", "Write", "Edit", "Agent"] {
        assert!(!tools.contains(&changes), "{tools:?}");
    }
}

#[test]
fn bad_instructions_fail_with_the_reason() {
    let answer = call("StructuredOutput", judgement(&["scope"]));
    let Some((real, output)) = validate(vec![answer], 1) else { return };
    assert!(output.out.contains("what is not\n        it is not there\n"), "{}", output.out);
    output.says(&["nightwright task edit t"]);
    assert!(real.read(REPORT).unwrap().contains("**fail**"));
}

#[test]
fn a_judgement_in_words_is_read_all_the_same() {
    let words = say(format!("Here it is:\n\n```json\n{}\n```", judgement(&["steps"])));
    let Some((_, output)) = validate(vec![words], 1) else { return };
    assert!(output.out.contains("FAIL: met 6 of 7 required criteria"), "{}", output.out);
}

#[test]
fn a_usage_limit_is_reported_with_its_end_and_not_waited_for() {
    let limit = usage_limit(Duration::from_hours(2));
    let Some(real) = RealEnv::begin(Scenario::of(vec![limit])) else { return };
    let real = real.subscribed();
    judge(&real, 1).says(&["usage limit, which resets at 20", "retry then"]);
    assert_eq!(real.read(REPORT), None);
}
