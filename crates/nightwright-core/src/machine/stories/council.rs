//! Conflicts between principles: decided once, reported once, and valid for the rest of the run.

use crate::machine::story::story;

#[test]
fn a_decision_reaches_the_next_iteration_and_stands_in_every_later_prompt() {
    let run = story(
        "
        > start
        > iteration A->B conflict
          call_started 1 council cap $0.10
        > call says: safety first
          council_decided: safety first
          feedback_added Council: The last iteration could not resolve: \"speed against safety\". This decision applies from now on: … > safety first
        > prepared B
          -> start attempt 2 with feedback with decisions
        > agent finishes
        > surveyed C
        > prepared C
          not -> start attempt 3 with feedback
          -> start attempt 3 with decisions
        ",
    );
    let decided = &run.machine.state().decisions[0];
    assert_eq!((decided.iteration.0, decided.conflict.as_str()), (1, "speed against safety"));
}

#[test]
fn the_same_conflict_is_not_decided_twice_and_the_decision_is_repeated() {
    story(
        "
        > start
        > iteration A->B conflict=speed-against-safety
        > call says: safety first
        > iteration B->C conflict=Speed,-against-safety!
          not call_started
          not council_decided
          feedback_added Council: … \"speed against safety\". The council already decided this in iteration 1, and the decision still applies: … > safety
          iteration_finished 2 Work
        > iteration C->D conflict=cost-against-safety
          call_started 2 council
        ",
    );
}

#[test]
fn a_council_that_comes_to_nothing_leaves_the_order_of_principles() {
    for end in ["call fails crashed", "call fails refused", "call unclear", "call says:  "] {
        story(&format!(
            "
            > start
            > iteration A->B conflict
              call_started 1 council
            > {end}
              warning: the council did not decide
              not council_decided
              not call_started
              feedback_added Council: … Constraints come before objectives … legal > security
              iteration_finished 1 Work
            > iteration B->C conflict
              call_started 2 council
            "
        ));
    }
}

#[test]
fn without_a_council_or_money_for_one_the_agent_has_to_decide_by_the_order() {
    for given in ["council off", "max_cost 1, reserve 0"] {
        story(&format!(
            "
            given {given}
            > start
            > iteration A->B $0.95 conflict
              not call_started
              feedback_added Council: … legal > security > user intent
              iteration_finished 1 Work
            "
        ));
    }
}

#[test]
fn a_limit_met_by_the_council_is_waited_out_and_it_is_asked_again() {
    story(
        "
        > start
        > iteration A->B conflict
        > call fails rate_limited
          limit_wait_started Rate
          not warning
        > timer
          call_started 2 council
        > call says: safety first
          council_decided
        ",
    );
}

#[test]
fn a_conflict_next_to_a_claim_waits_until_it_is_raised_again() {
    story(
        "
        given checks
        > start
        > iteration A->B promise conflict
          not call_started
          feedback_added Council: … The council did not decide the conflict.
          gate_started [Promise]
        > checks fail boom
        > iteration B->C conflict
          call_started 1 council
        ",
    );
}

#[test]
fn a_decision_survives_a_crash_and_is_reported_once() {
    let mut run = story(
        "
        given review
        > start
        > iteration A->B conflict
        > call says: fine
        > surveyed B
          call_started 2 council
        > call says: safety first
          council_decided
        ",
    );
    // The journal ends directly after the decision.
    let at = run.journal.iter().rposition(|r| r.event.name() == "council_decided").expect("there");
    run.journal.truncate(at + 1);
    run.happen("crash");
    let mut all = run.happen("continue");
    all.extend(run.happen("surveyed B"));
    let added: Vec<_> = all.iter().filter(|line| line.starts_with("feedback_added")).collect();
    let [added] = added.as_slice() else { panic!("{all:#?}") };
    assert!(added.ends_with("This decision applies from now on:\n\n> safety first"), "{added}");
    assert!(!all.iter().any(|line| line.starts_with("call_started")), "{all:#?}");
}

#[test]
fn words_of_an_attempt_that_looks_wrong_raise_no_conflict() {
    story(
        "
        > start
        > prepared A
        > agent fails suspect conflict
        > surveyed B
          not call_started
          iteration_finished 1 Work
        ",
    );
}
