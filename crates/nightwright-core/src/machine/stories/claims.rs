//! Claims: their consequences, and the feedback for the next iteration.

use crate::machine::story::story;

#[test]
fn an_iteration_without_a_claim_does_not_help_a_verifier_that_gives_no_verdict() {
    story(
        "
        given model always
        > start
        > iteration A->B promise
        > call unclear
        > call unclear
        > iteration B->C
        > iteration C->D promise
        > call unclear
        > call unclear
          run_finished unverified
        ",
    );
}

#[test]
fn the_same_rejection_is_repeated_to_the_iteration_that_follows_it() {
    story(
        "
        given checks
        > start
        > iteration A->B promise
        > checks fail boom
          feedback_added Checks: You said that the work is complete
        > iteration B->C promise
        > checks fail boom
          feedback_added Checks: You said that the work is complete
        > prepared same
          -> start attempt 3 with feedback
        ",
    );
}

#[test]
fn a_plan_is_judged_as_a_plan_whatever_claims_it() {
    for claim in ["evidence planned promise", "evidence planned"] {
        story(&format!(
            "
            given {claim}, model always
            > start
            > prepared A
            > agent finishes promise
            > surveyed B boxes 2/0
              -> start call 1, haiku, tools that read
            "
        ));
    }
}

#[test]
fn the_verifier_sees_the_changes_even_without_tamper_inspection() {
    story(
        "
        given model always
        > start
        > iteration A->B promise
          -> inspect changes
          not warning
        ",
    );
}

#[test]
fn an_iteration_that_a_crash_interrupted_has_earned_what_it_ticked() {
    story(
        "
        given evidence plan promise, checks, tamper reject
        > start
        > prepared A boxes 2/0
          -> start attempt 1
        > crash
        > continue
          run_continued AfterCrash
        > timer
          -> start attempt 2
        > agent finishes
        > surveyed B boxes 0/2 beside unknown
        > checks pass
        > inspected clean
          gate_finished passed
        ",
    );
}
