//! Answers into the session, and what follows when they don't help.

use super::super::story::story;

#[test]
fn a_question_at_the_end_of_a_turn_is_answered_in_the_same_session() {
    story(
        "
        given watchdog live
        > start
        > prepared A
        > agent ready
        > agent asks
          watchdog_noticed Asking
          nudge_sent: Nobody is here to answer.
          -> nudge 1
        > agent turn ends
          -> close input 1
        ",
    );
}

#[test]
fn the_same_thing_is_not_answered_twice_within_a_minute() {
    story(
        "
        given watchdog live
        > start
        > prepared A
        > agent ready
        > agent asks
          nudge_sent
        > wait 59s
        > agent asks
          watchdog_noticed Asking
          not nudge_sent
          -> close input 1
        > agent finishes
        > surveyed A
          call_started 1 advise
        > call says: decide it yourself
          feedback_added Watchdog: decide it yourself
        ",
    );
}

#[test]
fn at_most_three_answers_go_into_one_attempt() {
    story(
        "
        given watchdog live
        > start
        > prepared A
        > agent ready
        > agent asks
          nudge_sent
        > wait 60s
        > agent asks
          nudge_sent
        > wait 60s
        > agent asks
          nudge_sent
        > wait 60s
        > agent asks
          not nudge_sent
          -> close input 1
        ",
    );
}

#[test]
fn without_live_answers_the_input_is_closed_at_once() {
    story(
        "
        given watchdog next
        > start
        > prepared A
        > agent ready
        > agent asks
          watchdog_noticed Asking
          not nudge_sent
          -> close input 1
        ",
    );
}

#[test]
fn a_word_of_the_operator_goes_into_an_open_session() {
    story(
        "
        given watchdog live
        > start
        > prepared A
        > agent ready
        > tell: use sqlite
          nudge_sent: use sqlite
          -> nudge 1
          not feedback_added
        ",
    );
}

#[test]
fn a_surrender_gets_advice_then_root_cause_then_becomes_a_blocker() {
    story(
        "
        given watchdog next, threshold 0
        > start
        > iteration A->A gives-up
          watchdog_noticed GivingUp
          call_started 1 advise
        > call says: try the other driver
          feedback_added Watchdog: try the other driver
        > iteration A->A gives-up
          call_started 2 advise
        > call says: try smaller
        > iteration A->A gives-up
          call_started 3 advise
        > call says: try again
        > iteration A->A gives-up
          not call_started
          feedback_added Watchdog: The same problem came up in several iterations: item seven.
        > iteration A->A gives-up
          not call_started
          blocker_reported item-seven
        ",
    );
}

#[test]
fn progress_resets_the_rounds_of_a_problem() {
    story(
        "
        given watchdog next
        > start
        > iteration A->A gives-up
        > call says: one
        > iteration A->B gives-up
        > call says: two
          iteration_finished 2 Work
        > iteration B->B gives-up
        > call says: three
        > iteration B->C gives-up
          call_started 4 advise
        ",
    );
}
