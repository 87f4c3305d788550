//! How many models judge a claim: one more after several rejected claims.

use crate::machine::story::{Story, story};

#[test]
fn a_first_claim_is_judged_by_the_configured_gate_alone() {
    story(
        "
        given checks, baseline, every auto, model auto, evidence status
        > start
        > checks fail 5/14
        > iteration A->B status:complete
        > checks pass 0/14
          not call_started
          run_finished completed
        ",
    );
}

/// Four rejected claims, then one that a first model accepts.
fn fifth_claim(given: &str, then: &str) -> Story {
    story(&format!(
        "
        given checks, baseline, every auto, model auto, evidence status, {given}
        > start
        > checks fail 5/14
        > iteration A->B status:complete
        > checks fail 4/14
        > iteration B->C status:complete
        > checks pass 0/14
          -> start call 1, haiku, no tools
        > call no: not all
        > iteration C->D status:complete
        > checks pass 0/14
          -> start call 2, haiku, tools that read
        > call no: not yet
        > prepared same
        > agent finishes
        > surveyed E
        > checks fail 1/14
        > prepared same
        > agent finishes
        > surveyed F status complete
        > checks pass 0/14
        > call no: still not
        > prepared same
        > agent finishes
        > surveyed G status complete
        > checks pass 0/14
          -> start call 4, haiku, tools that read
        > call yes
          -> survey
        > surveyed G
        {then}
        "
    ))
}

#[test]
fn after_a_rejected_claim_a_model_is_always_asked_and_later_two_of_them_closely() {
    fifth_claim(
        "escalate opus",
        "
          -> start call 5, opus, tools that read
        > call yes
        > surveyed G
          run_finished completed
        ",
    );
}

#[test]
fn a_second_model_that_disagrees_rejects_the_claim() {
    fifth_claim(
        "escalate opus",
        "
          -> start call 5, opus, tools that read
        > call no: the edge case is missing
          feedback_added Verifier: You said that the work is complete. It is not: the edge case
          gate_finished rejected
          not run_finished completed
        ",
    );
}

#[test]
fn without_another_model_the_second_opinion_comes_from_the_same_one_and_is_called_so() {
    for given in ["escalate haiku", "ask for haiku"] {
        fifth_claim(
            given,
            "
          call_started 5 verify cap $0.25 SameModel
          -> start call 5, haiku, tools that read
        > call yes
        > surveyed G
          run_finished completed
        ",
        );
    }
}

#[test]
fn the_model_of_the_agent_gives_the_second_opinion_if_the_verifier_is_another_one() {
    fifth_claim(
        "ask for sonnet",
        "
          call_started 5 verify cap $0.25 OtherModel
          -> start call 5, sonnet, tools that read
        ",
    );
}
