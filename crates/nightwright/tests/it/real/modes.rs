//! A whole run in each mode.

use std::path::Path;

use serde_json::json;

use super::{RealEnv, accepted};
use crate::harness::run_outcome;
use crate::messages_api::scenario::{ApiAnswer, call, say};

/// Writes a file of the project through the program's own tool.
fn write(project: &Path, file: &str, text: &str) -> ApiAnswer {
    call("Write", json!({ "file_path": project.join(file), "content": text }))
}

/// Makes a task in this mode, and runs it.
fn run_task(real: &RealEnv, mode: &str) {
    real.env.run(&["new", "port", "--mode", mode]).exits(0);
    real.env.file(".nightwright/tasks/port/INSTRUCTIONS.md", "Port the parser to Rust.\n");
    real.finish(real.command(&["run", "port", "--no-delay"]).spawn().unwrap())
        .exits(0)
        .says(&["judged complete by a model"]);
    assert_eq!(run_outcome(&real.journal()), "completed");
    let asked = real.asked_for_work();
    assert!(asked[0].says("Port the parser to Rust."), "the task is in the prompt");
}

#[test]
fn loop_ends_when_the_status_file_says_complete() {
    let scenario = |project: &Path| {
        accepted(vec![
            write(project, ".nightwright/tasks/port/TODO.md", "- [x] lexer\n- [ ] parser\n"),
            write(
                project,
                ".nightwright/tasks/port/.status.json",
                "{\"complete\": false, \"summary\": \"the lexer\"}",
            ),
            say("One item is done."),
            write(project, "parser.rs", "fn parse() {}\n"),
            call(
                "Bash",
                json!({ "command": "echo '{\"complete\": true}' > .nightwright/tasks/port/.status.json" }),
            ),
            say("The other one too."),
        ])
    };
    let Some(real) = RealEnv::begin_in(scenario) else { return };
    real.env.run(&["config", "set", "agent.allowed_tools", "Bash"]).exits(0);
    run_task(&real, "loop");
    assert_eq!(real.iterations().len(), 2);
    assert!(
        real.api()
            .asked()
            .iter()
            .any(|request| request.says("The previous iteration reported: “the lexer”"))
    );
}

#[test]
fn iterative_ends_when_the_promise_is_accepted() {
    let scenario = |project: &Path| {
        accepted(vec![
            write(project, "parser.rs", "fn parse() {}\n"),
            say("Done.\n\n<promise>COMPLETE</promise>"),
        ])
    };
    let Some(real) = RealEnv::begin_in(scenario) else { return };
    run_task(&real, "iterative");
}

#[test]
fn a_plan_is_written_and_then_built() {
    let scenario = |project: &Path| {
        accepted(vec![
            write(project, "IMPLEMENTATION_PLAN.md", "- [ ] the parser\n"),
            say("Planned.\n\n<promise>COMPLETE</promise>"),
            call("Read", json!({ "file_path": project.join("IMPLEMENTATION_PLAN.md") })),
            write(project, "parser.rs", "fn parse() {}\n"),
            write(project, "IMPLEMENTATION_PLAN.md", "- [x] the parser\n"),
            say("Built."),
        ])
    };
    let Some(real) = RealEnv::begin_in(scenario) else { return };
    real.finish(real.command(&["plan"]).spawn().unwrap())
        .exits(0)
        .says(&["judged complete by a model (checks do not apply to a plan) after 1 iteration"]);
    let verdict =
        real.api().asked().into_iter().any(|request| request.says("had the task to plan the goal"));
    assert!(verdict, "the verifier is asked about the plan and not about the work");
    real.finish(real.command(&["build", "-m", "3"]).spawn().unwrap())
        .exits(0)
        .says(&["judged complete by a model (no checks configured) after 1 iteration"]);
    assert_eq!(real.read("IMPLEMENTATION_PLAN.md").as_deref(), Some("- [x] the parser\n"));
}

#[test]
fn a_blocker_in_the_last_words_is_reported_and_ends_a_run_that_comes_no_further() {
    let words = "I can't go on.\n\n<blocker>\nDescription: there is no key\n</blocker>";
    let Some(real) = RealEnv::begin(accepted(vec![say(words), say(words)])) else { return };
    real.run("deploy it", &["-m", "5"]).exits(0).says(&["there is no key"]);
    assert_eq!(run_outcome(&real.journal()), "blocked");
}
