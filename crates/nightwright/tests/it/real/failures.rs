//! Failures of the provider or on the way to it that are not limits.

use nightwright_core::event::{AttemptEvent, CostSource, Event, IterationResult};
use nightwright_core::stream::outcome::{AttemptOutcome, CancelReason, Deadline};

use super::{CALL, RealEnv, VERDICT, accepted, claim, why};
use crate::harness::{names, run_outcome};
use crate::messages_api::ApiRequest;
use crate::messages_api::scenario::{
    AnswerPhase, Fault, Scenario, bash, blocks, overloaded, refuse, say,
};

#[test]
fn a_refused_key_ends_the_run_before_the_program_has_asked_again_and_again() {
    let refused = refuse(401, "authentication_error", "invalid x-api-key");
    let Some(real) = RealEnv::begin(Scenario::of(vec![refused])) else { return };
    let output = real.run("x", &["-m", "3"]).exits(1);
    let journal = real.journal();
    assert_eq!(run_outcome(&journal), "auth", "{}", output.err);
    let cut = journal.iter().any(|record| {
        matches!(
            record.event,
            Event::Attempt(AttemptEvent::Cancelled { why: CancelReason::Auth, .. })
        )
    });
    assert!(cut, "it was ended at the first sign: {:?}", names(&journal));
    assert!(real.api().asked().len() < 3, "left alone it asks three times");
    assert_eq!(real.outcomes(), ["auth"]);
}

#[test]
fn a_refused_token_of_a_subscription_ends_the_run() {
    let text = "OAuth token has expired. Please obtain a new token or refresh your existing token.";
    let refused = refuse(401, "authentication_error", text);
    let Some(real) = RealEnv::begin(Scenario::of(vec![refused])) else { return };
    let real = real.subscribed();
    let output = real.run("x", &["-m", "3"]).exits(1);
    assert_eq!(run_outcome(&real.journal()), "auth", "{}", output.err);
    assert_eq!(
        real.api().asked()[0].header("authorization"),
        Some("Bearer a-token-that-opens-nothing")
    );
}

#[test]
fn an_overloaded_provider_is_tried_again_and_the_run_continues() {
    let answers = vec![overloaded(), overloaded(), overloaded(), claim()];
    let Some(real) = RealEnv::begin(accepted(answers)) else { return };
    real.run("x", &["-m", "3"])
        .exits(0)
        .says(&["judged complete by a model (no checks configured) after 1 iteration"]);
    assert_eq!(real.outcomes(), ["overloaded", "finished"]);
    assert!(names(&real.journal()).contains(&"retry_scheduled"));
    let cost = real.totals().cost.micros();
    assert_eq!(cost, CALL + VERDICT, "what was refused costs nothing");
}

#[test]
fn a_provider_that_can_t_be_reached_is_tried_again_until_it_can() {
    let Some(mut real) = RealEnv::begin(accepted(vec![claim()])) else { return };
    real.close_api();
    let child = real.start("x", &["-m", "3"]);
    real.env.wait_for("retry_scheduled");
    real.reopen_api(accepted(vec![claim()]));
    real.finish(child).exits(0);
    assert_eq!(real.outcomes(), ["network", "finished"]);
    assert_eq!(run_outcome(&real.journal()), "completed");
}

#[test]
fn silence_in_the_middle_of_an_answer_is_cut_off_and_tried_again() {
    let hangs = say("I have an idea which").but(Fault::Silence(AnswerPhase::Middle));
    let Some(real) = RealEnv::begin(accepted(vec![hangs, claim()])) else { return };
    real.run("x", &["-m", "3", "--idle-timeout", "5s"]).exits(0);
    assert_eq!(real.outcomes(), ["timed_out", "finished"]);
    let journal = real.journal();
    assert_eq!(run_outcome(&journal), "completed");
    let (cost, figure) = journal
        .iter()
        .find_map(|record| match &record.event {
            Event::Attempt(AttemptEvent::Finished { cost, figure, .. }) => Some((*cost, *figure)),
            _ => None,
        })
        .unwrap();
    assert!(cost.micros() > 0, "an answer that was begun is not free");
    assert_eq!(figure, CostSource::Estimated);
    assert!(real.asked_for_work()[1].says("An earlier attempt at this iteration ended early"));
}

#[test]
fn a_provider_that_never_answers_fails_the_iteration_in_the_end() {
    let hangs = say("never said").but(Fault::Silence(AnswerPhase::Headers));
    let Some(real) = RealEnv::begin(Scenario::of(vec![hangs])) else { return };
    let arguments = ["-m", "1", "--idle-timeout", "4s", "--max-retries", "0"];
    let output = real.run("x", &arguments).exits(1);
    let attempts = real.attempts();
    let idle = AttemptOutcome::TimedOut { which: Deadline::Idle };
    assert_eq!(attempts.iter().map(|it| &it.outcome).collect::<Vec<_>>(), [&idle]);
    assert!(matches!(real.iterations()[0].result, IterationResult::Failed { .. }));
    assert!(output.err.contains("Iteration 1 failed"), "{}", output.err);
}

#[test]
fn a_connection_lost_in_the_middle_is_the_program_s_own_business() {
    let lost = say("a long answer that").but(Fault::HangUp(AnswerPhase::Middle));
    let Some(real) = RealEnv::begin(Scenario::of(vec![lost, say("the whole answer")])) else {
        return;
    };
    real.run("x", &["-m", "1"]).exits(0);
    assert_eq!(real.outcomes(), ["finished"]);
    assert_eq!(real.attempts()[0].text_evidence.summary, "the whole answer");
    assert!(real.api().asked().len() >= 2);
}

#[test]
fn a_request_that_is_rejected_fails_the_iteration_with_the_provider_s_words() {
    let rejected = refuse(400, "invalid_request_error", "messages: something is odd about them");
    let Some(real) = RealEnv::begin(Scenario::of(vec![rejected])) else { return };
    let output = real.run("x", &["-m", "1"]).exits(1);
    assert_eq!(real.outcomes(), ["bad_request"]);
    assert!(why(&real.attempts()[0]).contains("something is odd about them"));
    assert!(output.err.contains("something is odd about them"), "{}", output.err);
}

#[test]
fn an_account_without_credit_ends_the_run_in_the_provider_s_words() {
    let text = "Your credit balance is too low to access the Anthropic API.";
    let poor = refuse(400, "invalid_request_error", text);
    let Some(real) = RealEnv::begin(Scenario::of(vec![poor])) else { return };
    let output = real.run("x", &["-m", "3"]).exits(1);
    assert_eq!(real.outcomes(), ["billing"]);
    assert_eq!(run_outcome(&real.journal()), "auth", "{}", output.err);
    assert!(output.err.contains("Credit balance is too low"), "{}", output.err);
}

#[test]
fn after_a_prompt_that_was_too_long_the_next_one_is_shorter() {
    let long = refuse(400, "invalid_request_error", "prompt is too long: 1200000 tokens > 1000000");
    let Some(real) = RealEnv::begin(Scenario::of(vec![long, say("I read it.")])) else { return };
    real.env.file("SHARED_TASK_NOTES.md", &"a note of earlier times\n".repeat(2_500));
    let output = real.run("x", &["-m", "2"]).exits(0);
    assert_eq!(real.outcomes(), ["prompt_too_long", "finished"], "{}", output.err);
    let asked = real.api().asked();
    let size = |request: &ApiRequest| request.opening().concat().len();
    let (first, last) = (size(&asked[0]), size(asked.last().unwrap()));
    assert!(last + 30_000 < first, "{first} and then {last}");
}

#[test]
fn a_model_that_declines_fails_the_iteration() {
    let declines = say("").because("refusal");
    let Some(real) = RealEnv::begin(Scenario::of(vec![declines])) else { return };
    let output = real.run("x", &["-m", "1"]).exits(1);
    assert_eq!(real.outcomes(), ["refused"], "{}", output.err);
    assert!(matches!(real.iterations()[0].result, IterationResult::Failed { .. }));
}

#[test]
fn an_answer_without_a_word_is_not_taken_for_work() {
    let Some(real) = RealEnv::begin(Scenario::of(vec![blocks([])])) else { return };
    let output = real.run("x", &["-m", "1", "--max-retries", "0"]).exits(1);
    assert_eq!(real.outcomes(), ["suspect"], "{}", output.err);
    assert!(matches!(real.iterations()[0].result, IterationResult::Failed { .. }));
}

#[test]
fn a_program_that_refuses_to_start_ends_the_run_with_its_own_words() {
    let Some(real) = RealEnv::begin(Scenario::of(vec![say("never asked")])) else { return };
    let output = real.run("x", &["-m", "3", "--", "--no-such-option"]).exits(1);
    assert_eq!(run_outcome(&real.journal()), "bad_agent", "{}", output.err);
    assert!(output.err.contains("unknown option '--no-such-option'"), "{}", output.err);
    assert_eq!(real.api().asked().len(), 0);
    assert_eq!(real.totals().cost.micros(), 0);
}

#[test]
fn with_permissions_skipped_every_tool_may_be_used_and_root_learns_what_that_takes() {
    let answers = vec![bash("env true > made.txt; echo made"), say("It is made.")];
    let Some(real) = RealEnv::begin(Scenario::of(answers)) else { return };
    let arguments = ["run", "-p", "x", "-m", "1", "--dangerously-skip-permissions"];
    let mut command = real.command(&arguments);
    if rustix::process::getuid().is_root() {
        let output = real.finish(command.spawn().unwrap()).exits(1);
        output.says(&["refuses to skip permissions as root", "IS_SANDBOX=1"]);
        assert!(real.api().asked().is_empty() && real.env.runs().is_empty());
        command.env("IS_SANDBOX", "1");
    }
    let output = real.finish(command.spawn().unwrap()).exits(0);
    output.says(&["the agent may do everything without asking"]);
    assert_eq!(real.outcomes(), ["finished"]);
    assert_eq!(real.api().asked()[1].tool_results(), [("made".to_owned(), false)]);
    assert!(real.read("made.txt").is_some());
}

#[test]
fn a_model_that_does_not_exist_ends_the_run_and_is_named() {
    let unknown = refuse(404, "not_found_error", "model: claude-none");
    let Some(real) = RealEnv::begin(Scenario::of(vec![unknown])) else { return };
    let output = real.run("x", &["-m", "3", "--model", "claude-none"]).exits(1);
    assert_eq!(run_outcome(&real.journal()), "bad_agent", "{}", output.err);
    assert!(output.err.contains("claude-none"), "{}", output.err);
    assert_eq!(real.api().asked()[0].model(), "claude-none");
}
