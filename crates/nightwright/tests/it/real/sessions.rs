//! Sessions of the agent with more than one question and answer.

use serde_json::json;

use super::{CALL, RealEnv, VERDICT, accepted, claim, session};
use crate::harness::run_outcome;
use crate::messages_api::scenario::{AnswerPhase, Fault, Scenario, bash, blocks, call, say, tool};

#[test]
fn a_structured_answer_is_a_finished_one() {
    let schema = json!({
        "type": "object",
        "properties": { "done": { "type": "boolean" } },
        "required": ["done"],
        "additionalProperties": false,
    });
    let answers = vec![call("StructuredOutput", json!({ "done": true }))];
    let Some(real) = RealEnv::begin(Scenario::of(answers)) else { return };
    real.run("x", &["-m", "1", "--", "--json-schema", &schema.to_string()]).exits(0);
    assert_eq!(real.outcomes(), ["finished"], "nothing about it is suspect");
    assert_eq!(real.api().asked().len(), 1);
}

#[test]
fn a_word_of_the_operator_reaches_the_session_that_is_open() {
    let answers = vec![bash("touch started; while [ ! -e go ]; do sleep 0.05; done"), claim()];
    let Some(real) = RealEnv::begin(accepted(answers)) else { return };
    let child = real.start("x", &["-m", "3", "--allowed-tools", "Bash"]);
    real.env.wait_for("agent_ready");
    super::signals::in_the_command(&real);
    real.env.run(&["tell", &real.id(), "mind the umlauts"]).exits(0);
    real.env.wait_for("message_sent");
    real.env.file("go", "");
    real.finish(child).exits(0);
    let asked = real.asked_for_work();
    let request = asked.iter().find(|request| request.says("mind the umlauts")).unwrap();
    assert!(!request.tool_results().is_empty(), "it has the history of the same session");
    assert_eq!(real.outcomes(), ["finished"], "one session");
    let calls = u64::try_from(real.api().asked().len()).unwrap();
    assert_eq!(real.totals().cost.micros(), (calls - 1) * CALL + VERDICT);
    assert_eq!(run_outcome(&real.journal()), "completed");
}

#[test]
fn a_message_after_a_turn_begins_a_new_turn_and_both_are_charged() {
    let last = say("The first part is done.").but(Fault::Pause(AnswerPhase::Middle));
    let Some(real) = RealEnv::begin(accepted(vec![last, claim()])) else { return };
    let child = real.start("x", &["-m", "3"]);
    real.env.wait_for("agent_ready");
    real.api().wait_for("for the work", |request| request.says("# One iteration"));
    real.env.run(&["tell", &real.id(), "/usage of umlauts: mind it"]).exits(0);
    real.env.wait_for("message_sent");
    real.api().go_on();
    real.finish(child).exits(0);
    assert_eq!(run_outcome(&real.journal()), "completed");
    assert_eq!(real.outcomes(), ["finished"], "one session");
    assert_eq!(real.iterations().len(), 1);
    let asked = real.asked_for_work();
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[1].answers(), 1, "what was said before is still known");
    assert!(asked[1].says("/usage of umlauts: mind it"), "it is no command of the program");
    let report = &real.attempts()[0];
    assert_eq!(report.stream.results, 2);
    assert_eq!(report.cost.unwrap().micros(), 2 * CALL);
    assert_eq!((report.tokens.input, report.tokens.output), (200, 40));
    assert_eq!(session(&asked[0]), session(&asked[1]));
}

#[test]
fn parallel_calls_of_which_one_fails_end_nothing() {
    let both = blocks([
        tool("Bash", json!({ "command": "echo fine", "description": "one" })),
        tool("Bash", json!({ "command": "echo broken; exit 3", "description": "two" })),
    ]);
    let Some(real) = RealEnv::begin(accepted(vec![both, claim()])) else { return };
    real.run("x", &["-m", "1", "--allowed-tools", "Bash"]).exits(0);
    assert_eq!(real.outcomes(), ["finished"]);
    let results = real.asked_for_work()[1].tool_results();
    assert!(results.iter().any(|(text, is_error)| *is_error && text.contains("Exit code 3")));
}

/// Why a silent agent gets no message before its idle deadline: only the end of the answer that is
/// missing would bring it to the model.
#[test]
fn a_message_does_not_reach_a_model_that_is_silent() {
    let hangs = say("I have an idea which").but(Fault::Silence(AnswerPhase::Middle));
    let Some(real) = RealEnv::begin(accepted(vec![hangs, claim()])) else { return };
    let child = real.start("x", &["-m", "3", "--idle-timeout", "8s"]);
    real.env.wait_for("agent_ready");
    real.api().wait_for("for the work", |request| request.says("# One iteration"));
    real.env.run(&["tell", &real.id(), "mind the umlauts"]).exits(0);
    real.env.wait_for("message_sent");
    real.finish(child).exits(0);
    assert_eq!(real.outcomes(), ["timed_out", "finished"]);
    let asked = real.asked_for_work();
    assert_eq!(asked.len(), 2, "the message alone starts no request");
    assert_ne!(session(&asked[0]), session(&asked[1]));
    assert!(!asked[0].says("mind the umlauts"));
}
