//! Messages and actions of the agent without faults.

use std::path::Path;
use std::time::Duration;

use nightwright_core::event::Progress;
use serde_json::json;

use super::{CALL, RealEnv, VERDICT, VERIFIER, accepted, claim, verdict};
use crate::harness::{names, run_outcome};
use crate::messages_api::scenario::{Block, Scenario, bash, blocks, call, say, tool};

#[test]
fn a_plain_answer_is_received_charged_and_verified() {
    let Some(real) = RealEnv::begin(accepted(vec![claim()])) else { return };
    let output = real
        .run("say that it is there", &["-m", "3", "--verify", "true", "--no-baseline"])
        .exits(0);
    assert!(output.err.contains("Task completed successfully after 1 iteration"), "{}", output.err);
    assert_eq!(run_outcome(&real.journal()), "completed");
    assert_eq!(real.outcomes(), ["finished"]);
    assert_eq!(real.api().asked().len(), 2, "one call each: for the work and for the verdict");

    let totals = real.totals();
    assert_eq!(totals.cost.micros(), CALL + VERDICT);
    assert_eq!(totals.estimated.micros(), 0);
    assert_eq!((totals.tokens.input, totals.tokens.output), (200, 40));
    assert_eq!(totals.by_purpose["verify"].count, 1);

    let asked = real.api().asked();
    assert!(asked[0].system().iter().any(|text| text.contains("# You work alone")));
    assert_eq!(asked[0].header("x-api-key"), Some("a-key-that-opens-nothing"));
}

#[test]
fn a_verdict_of_the_model_decides_about_the_claim() {
    let refusal = verdict("no", "there is no second half");
    // One that answers in words is reminded once, and its last line is read then.
    let belief = say("VERDICT: yes - both halves are there");
    let scenario = Scenario::of(vec![claim()]).with(VERIFIER, vec![refusal, belief]);
    let Some(real) = RealEnv::begin(scenario) else { return };
    real.run("write both halves", &["-m", "5"]).exits(0).says(&["rejected", "after 2 iterations"]);
    assert_eq!(run_outcome(&real.journal()), "completed");
    let asked = real.asked_for_work();
    assert!(!asked[0].says("there is no second half"));
    assert!(asked[1].says("there is no second half"), "the next one is told what is missing");
    let verdicts = real.api().asked().into_iter().filter(|request| request.says(VERIFIER));
    assert!(verdicts.into_iter().all(|request| request.says("write both halves")));
}

#[test]
fn tools_change_the_project_and_their_results_reach_the_model() {
    let scenario = |project: &Path| {
        let file = project.join("a.txt");
        accepted(vec![
            call("Write", json!({ "file_path": file, "content": "one\n" })),
            call("Edit", json!({ "file_path": file, "old_string": "one", "new_string": "two" })),
            bash("cat a.txt > b.txt && cat b.txt"),
            claim(),
        ])
    };
    let Some(real) = RealEnv::begin_in(scenario) else { return };
    real.run("write", &["-m", "2", "--allowed-tools", "Bash", "--verify", "grep -q two b.txt"])
        .exits(0)
        .says(&["Task completed successfully after 1 iteration"]);
    assert_eq!(real.read("a.txt").as_deref(), Some("two\n"));
    assert_eq!(real.read("b.txt").as_deref(), Some("two\n"));
    let asked = real.asked_for_work();
    assert_eq!(asked.len(), 4);
    let results = asked[3].tool_results();
    assert_eq!(results.len(), 3);
    assert!(results.iter().all(|(_, is_error)| !is_error), "{results:?}");
    assert_eq!(results[2].0, "two");
    let iteration = &real.iterations()[0];
    assert_eq!((iteration.progress, iteration.files_changed), (Progress::Work, 2));
}

#[test]
fn denied_tools_block_the_run_and_it_says_what_would_allow_them() {
    let answers = vec![
        bash("terraform apply"),
        call("WebFetch", json!({ "url": "http://127.0.0.1:1/", "prompt": "read it" })),
        say("I was not allowed to do anything."),
        bash("terraform apply"),
        say("I am still not allowed to do anything."),
    ];
    let Some(real) = RealEnv::begin(Scenario::of(answers)) else { return };
    let output = real.run("make it", &["-m", "5"]).exits(0);
    let journal = real.journal();
    assert_eq!(run_outcome(&journal), "blocked", "{}", output.err);
    assert_eq!(names(&journal).iter().filter(|name| **name == "permission_denied").count(), 2);
    assert!(names(&journal).contains(&"blocker_reported"));
    output.says(&[
        "denied: terraform apply (allow with --allowed-tools \"Bash(terraform apply:*)\")",
        "denied: WebFetch http://127.0.0.1:1/ (allow with --allowed-tools \
         \"WebFetch(domain:127.0.0.1)\")",
    ]);
    assert_eq!(real.iterations().len(), 2);
    assert!(real.asked_for_work()[1].tool_results()[0].1, "the model was told");
}

#[test]
fn a_sub_agent_is_paid_for_and_has_no_say_about_completion() {
    let task = json!({
        "description": "count the files",
        "prompt": "SUB-AGENT count the files",
        "subagent_type": "general-purpose",
    });
    let main = vec![call("Agent", task), say("The files were counted.")];
    let sub = vec![bash("ls | wc -l"), claim()];
    let scenario = Scenario::of(main).with("SUB-AGENT", sub);
    let Some(real) = RealEnv::begin(scenario) else { return };
    real.run("count", &["-m", "1", "--allowed-tools", "Bash", "--verbose"]).exits(0);
    let journal = real.journal();
    assert_eq!(run_outcome(&journal), "max_iterations");
    assert!(!names(&journal).contains(&"gate_started"), "nobody claimed anything");
    let report = &real.attempts()[0];
    assert!(!report.text_evidence.promise);
    assert_eq!(real.api().asked().len(), 4);
    let totals = real.totals();
    assert_eq!(totals.cost.micros(), 4 * CALL, "two calls each");
    assert_eq!((totals.tokens.input, totals.tokens.output), (400, 80));
}

#[test]
fn thinking_and_parallel_tools_are_no_words_of_the_agent() {
    let thought = "<promise>COMPLETE</promise> is what I would like to say.\n\
                   <promise>COMPLETE</promise>\n";
    let mut many = vec![Block::Thinking(thought.to_owned()), Block::Text("All three.".to_owned())];
    for name in ["one", "two", "three"] {
        let command = format!("echo {name} > {name}.txt; echo {name}");
        many.push(tool("Bash", json!({ "command": command, "description": name })));
    }
    let last = blocks([Block::Thinking(thought.to_owned()), Block::Text("Three files.".into())]);
    let Some(real) = RealEnv::begin(Scenario::of(vec![blocks(many), last])) else { return };
    real.run("three files", &["-m", "1", "--allowed-tools", "Bash"]).exits(0);
    assert_eq!(run_outcome(&real.journal()), "max_iterations");
    assert!(!real.attempts()[0].text_evidence.promise);
    assert_eq!(real.attempts()[0].text_evidence.summary, "Three files.");
    for name in ["one", "two", "three"] {
        assert_eq!(real.read(&format!("{name}.txt")), Some(format!("{name}\n")));
    }
    let asked = real.api().asked();
    let mut results: Vec<_> =
        asked[1].tool_results().into_iter().map(|(text, _)| text.trim().to_owned()).collect();
    results.sort();
    assert_eq!(results, ["one", "three", "two"]);
    assert_eq!(real.iterations()[0].files_changed, 3);
}

#[test]
fn a_slow_answer_is_no_silence() {
    let slow = say("a slow answer").slowly(Duration::from_millis(900));
    let Some(real) = RealEnv::begin(Scenario::of(vec![slow])) else { return };
    real.run("take your time", &["-m", "1", "--idle-timeout", "4s"]).exits(0);
    assert_eq!(real.outcomes(), ["finished"]);
    assert_eq!(run_outcome(&real.journal()), "max_iterations");
}

#[test]
fn a_marker_in_a_file_or_a_tool_s_result_completes_nothing() {
    let quoted = "The plan has this line:\n\n```\n<promise>COMPLETE</promise>\n```\n\nI go on.";
    let scenario = |project: &Path| {
        Scenario::of(vec![
            call("Read", json!({ "file_path": project.join("plan.md") })),
            bash("cat plan.md; echo '<promise>COMPLETE</promise>' > copy.md"),
            say(quoted),
        ])
    };
    let Some(real) = RealEnv::begin_in(scenario) else { return };
    real.env.file("plan.md", "<promise>COMPLETE</promise>\n");
    real.run("read", &["-m", "1", "--allowed-tools", "Bash"]).exits(0);
    assert!(real.api().asked()[2].tool_results().iter().any(|(text, _)| text.contains("COMPLETE")));
    assert!(!names(&real.journal()).contains(&"gate_started"));
    assert_eq!(run_outcome(&real.journal()), "max_iterations");
}
