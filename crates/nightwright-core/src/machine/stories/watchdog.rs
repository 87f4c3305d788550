//! The watchdog's messages to a session, and what follows if they do not help.

use crate::machine::story::story;

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
          message_sent: You get no answer.
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
          message_sent
        > wait 59s
        > agent asks
          watchdog_noticed Asking
          not message_sent
          -> close input 1
        > agent finishes
        > surveyed A
          call_started 1 advise
        > call says: decide it yourself
          feedback_added Watchdog: In the last iteration, the agent asked a question … decide it yourself
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
          message_sent
        > wait 60s
        > agent asks
          message_sent
        > wait 60s
        > agent asks
          message_sent
        > wait 60s
        > agent asks
          not message_sent
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
          not message_sent
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
          message_sent: use sqlite
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
          feedback_added Watchdog: In the last iteration, the agent gave up: … item seven … try the other driver
        > iteration A->A gives-up
          call_started 2 advise
        > call says: try smaller
        > iteration A->A gives-up
          call_started 3 advise
        > call says: try again
        > iteration A->A gives-up
          not call_started
          feedback_added Watchdog: … item seven … The same problem came up in several iterations
        > iteration A->A gives-up
          not call_started
          feedback_added Watchdog: … item seven … reported it to the person
          blocker_reported item-seven: the agent gave up, in 5 iterations without progress
        > iteration A->A gives-up
          not blocker_reported
          run_finished blocked
        ",
    );
}

#[test]
fn progress_resets_the_rounds_of_a_problem() {
    story(
        "
        given watchdog next, threshold 0
        > start
        > iteration A->A gives-up
        > call says: one
        > iteration A->A gives-up
        > call says: two
        > iteration A->B gives-up
          not call_started
          iteration_finished 3 Work
        > iteration B->B gives-up
          call_started 3 advise
        > call says: three
        > iteration B->B gives-up
          call_started 4 advise
        ",
    );
}

#[test]
fn a_question_is_answered_by_the_principles_where_there_are_any() {
    story(
        "
        given watchdog live, principles
        > start
        > prepared A
        > agent ready
        > agent asks
          message_sent: You get no answer. Decide based on the principles
        ",
    );
    story(
        "
        given watchdog live
        > start
        > prepared A
        > agent ready
        > agent asks
          not message_sent … principles
          message_sent … claim completion as described under
        ",
    );
}

#[test]
fn an_agent_that_repeats_itself_receives_a_message_in_the_middle_of_its_turn() {
    story(
        "
        given watchdog live
        > start
        > prepared A
        > agent ready
        > agent repeats itself
          watchdog_noticed Repetition
          message_sent: Repeating the same tool call
          -> nudge 1
          not -> close input
        > agent finishes
        > surveyed A
          not call_started
          not feedback_added Watchdog
        ",
    );
}

#[test]
fn a_word_into_a_running_turn_keeps_the_session_open_until_it_is_taken_up() {
    story(
        "
        given watchdog live
        > start
        > prepared A
        > agent ready
        > agent repeats itself
          message_sent
        > agent turn ends before it reads on
          nothing
        > agent turn ends
          -> close input 1
        > agent finishes heard=1
        > surveyed A
          not call_started
          iteration_finished 1 Idle
        ",
    );
}

#[test]
fn a_word_into_a_running_turn_that_never_got_there_reaches_the_next_iteration() {
    story(
        "
        given watchdog live
        > start
        > prepared A
        > agent ready
        > agent repeats itself
          message_sent
        > agent finishes heard=0
        > surveyed B
          feedback_added Watchdog: In the last iteration, the agent repeated the same tool call
        ",
    );
}

#[test]
fn answers_to_rhythm_and_to_words_share_the_three_of_an_attempt() {
    story(
        "
        given watchdog live
        > start
        > prepared A
        > agent ready
        > agent repeats itself
          message_sent
        > agent stumbles
          message_sent
        > agent asks
          message_sent
        > wait 2m
        > agent asks
          not message_sent
          -> close input 1
        ",
    );
}

#[test]
fn the_rhythm_of_an_iteration_that_did_work_is_answered_in_the_next_prompt() {
    story(
        "
        given watchdog next
        > start
        > prepared A
        > agent ready
        > agent stumbles
          watchdog_noticed ToolErrors
          not message_sent
        > agent finishes
        > surveyed B
          not call_started
          feedback_added Watchdog: … \"no such file\". Several consecutive tool calls failed.
          iteration_finished 1 Work
        > prepared B
          -> start attempt 2 with feedback
        ",
    );
}

#[test]
fn the_rhythm_is_a_reason_for_advice_where_no_work_was_done() {
    story(
        "
        given watchdog next
        > start
        > prepared A
        > agent stumbles
        > agent finishes
        > surveyed A
          call_started 1 advise cap $0.10
        > call says: look at the path
          feedback_added Watchdog: … \"no such file\" … look at the path
        ",
    );
}

#[test]
fn an_advisor_that_fails_or_says_nothing_leaves_the_usual_answer() {
    for end in ["call fails crashed", "call fails refused", "call unclear", "call says:  "] {
        story(&format!(
            "
            given watchdog next
            > start
            > iteration A->A gives-up
              call_started 1 advise
            > {end}
              not call_started
              feedback_added Watchdog: … You are the only agent on this task.
              not feedback_added Watchdog: … Advice from
              iteration_finished 1 Idle
            "
        ));
    }
}

#[test]
fn a_limit_met_by_the_advisor_is_waited_out_and_it_is_asked_again() {
    story(
        "
        given watchdog next
        > start
        > iteration A->A gives-up
          call_started 1 advise
        > call fails usage_limited until=1h
          limit_wait_started Usage
          not feedback_added
        > timer
          call_started 2 advise
        > call says: try smaller
          feedback_added Watchdog: … try smaller
        ",
    );
}

#[test]
fn several_problems_are_all_reported_with_one_call_for_advice() {
    story(
        "
        given watchdog next
        > start
        > prepared A
        > agent stumbles
        > agent finishes gives-up
          watchdog_noticed GivingUp
        > surveyed A
          call_started 1 advise
        > call says: look at the path
          not call_started
          feedback_added Watchdog: … no such file … item seven … look at the path
          iteration_finished 1 Idle
        ",
    );
}

#[test]
fn after_a_stop_no_answer_is_sent_and_no_advice_requested() {
    story(
        "
        given watchdog live
        > start
        > prepared A
        > agent ready
        > stop
        > agent repeats itself
          watchdog_noticed Repetition
          not message_sent
        > agent asks
          watchdog_noticed Asking
          not message_sent
          -> close input 1
        > agent finishes
        > surveyed A
          not call_started
          feedback_added Watchdog: … the same call … which database
          run_finished stopped
        ",
    );
}

#[test]
fn a_claim_is_judged_without_advice() {
    story(
        "
        given watchdog next, checks
        > start
        > prepared A
        > agent stumbles
        > agent finishes promise
        > surveyed A
          not call_started
          -> run checks
        > checks pass
          run_finished completed
        ",
    );
}

#[test]
fn a_question_of_an_attempt_that_was_retried_is_dropped() {
    story(
        "
        given watchdog next
        > start
        > prepared A
        > agent asks after an error
          watchdog_noticed Asking
        > agent fails crashed
        > timer
        > agent finishes
        > surveyed A
          not call_started
          not feedback_added Watchdog
        ",
    );
}

#[test]
fn a_problem_counts_once_for_an_iteration_however_many_attempts_meet_it() {
    let run = story(
        "
        given watchdog next
        > start
        > prepared A
        > agent fails crashed gives-up
        > timer
        > agent finishes gives-up
        > surveyed A
          call_started 1 advise
        ",
    );
    assert_eq!(run.machine.state().problems.values().copied().collect::<Vec<_>>(), [1]);
}

#[test]
fn work_between_makes_no_blocker_of_a_problem() {
    story(
        "
        given watchdog next, threshold 0
        > start
        > iteration A->A gives-up
        > call says: one
        > iteration A->A gives-up
        > call says: two
        > iteration A->A gives-up
        > call says: three
        > iteration A->A gives-up
        > iteration A->B gives-up
          not call_started
          not blocker_reported
          iteration_finished 5 Work
        ",
    );
}

#[test]
fn without_a_watchdog_what_is_noticed_is_only_noted() {
    story(
        "
        given watchdog off, threshold 0
        > start
        > prepared A
        > agent repeats itself
          watchdog_noticed Repetition
          not message_sent
        > agent finishes gives-up
        > surveyed A
          not call_started
          not feedback_added Watchdog
          not blocker_reported
        ",
    );
}

#[test]
fn resuming_an_ended_run_resets_its_problems() {
    story(
        "
        given watchdog next, max_iterations 2, threshold 0
        > start
        > iteration A->A gives-up
        > call says: one
        > iteration A->A gives-up
          run_finished max_iterations
        > crash
        > continue with max_iterations 9
        > iteration A->A gives-up
        > call says: two
        > iteration A->A gives-up
          call_started 3 advise
        > call says: three
        > iteration A->A gives-up
          call_started 4 advise
        ",
    );
}

#[test]
fn advice_that_came_before_a_crash_is_reported_once() {
    story(
        "
        given watchdog next
        > start
        > iteration A->A gives-up conflict
          call_started 1 advise
        > call says: try smaller
          feedback_added Watchdog: … try smaller
          call_started 2 council
        > crash
        > continue
        > surveyed A
          not feedback_added Watchdog
          not call_started
          iteration_finished 1 Idle
        ",
    );
}
