//! Messages into a running session, their effects, and agents that have no session.

use crate::machine::story::story;

#[test]
fn after_an_error_no_message_is_sent_and_the_input_is_closed() {
    story(
        "
        > start
        > prepared A
        > agent ready
        > agent asks after an error
          watchdog_noticed Asking
          not message_sent
          -> close input 1
        > agent fails overloaded
          retry_scheduled
        ",
    );
}

#[test]
fn a_pending_message_keeps_the_input_open_and_holds_back_answers() {
    story(
        "
        > start
        > prepared A
        > agent ready
        > tell: use sqlite
          message_sent: use sqlite
        > agent asks before it reads on
          nothing
        > agent turn ends
          -> close input 1
        ",
    );
}

#[test]
fn an_operator_message_to_a_failing_session_reaches_the_next_attempt() {
    story(
        "
        > start
        > prepared A
        > agent ready
        > tell: use sqlite
          message_sent: use sqlite
          -> nudge 1
          not feedback_added
        > agent fails crashed
        > timer
          -> start attempt 2 cut-off with feedback
        > agent finishes
        > surveyed B
          iteration_finished 1 Work
        > prepared B
          -> start attempt 3
          not -> start attempt 3 with feedback
        ",
    );
}

#[test]
fn an_operator_message_to_a_failing_iteration_reaches_the_next_one() {
    story(
        "
        > start
        > prepared A
        > agent ready
        > tell: use sqlite
        > agent fails bad_request
          iteration_finished 1 failed
        > timer
        > prepared A
          -> start attempt 2 with feedback
        ",
    );
}

#[test]
fn an_operator_message_to_a_lost_session_reaches_the_next_attempt() {
    story(
        "
        > start
        > prepared A
        > agent ready
        > tell: use sqlite
        > crash
        > continue
          attempt_finished 1 lost
        > timer
          -> start attempt 2 cut-off with feedback
        ",
    );
}

#[test]
fn an_operator_message_that_the_agent_received_is_not_repeated() {
    story(
        "
        > start
        > prepared A
        > agent ready
        > tell: use sqlite
        > agent finishes
        > surveyed B
        > prepared B
          -> start attempt 2
          not -> start attempt 2 with feedback
        ",
    );
}

#[test]
fn a_late_operator_message_reaches_the_next_iteration() {
    story(
        "
        > start
        > prepared A
        > agent ready
        > tell: use sqlite
        > tell: and mind the umlauts
        > agent finishes heard=1
        > surveyed B
        > prepared B
          -> start attempt 2 with feedback
        > agent finishes
        > surveyed C
        > prepared C
          -> start attempt 3
          not -> start attempt 3 with feedback
        ",
    );
}

#[test]
fn undelivered_messages_are_found_by_acknowledgements_not_by_counts() {
    story(
        "
        > start
        > prepared A
        > agent ready
        > tell: use sqlite
        > tell: this one was never written
        > agent finishes heard=0
        > surveyed B
        > prepared B
          -> start attempt 2 with feedback
        ",
    );
}

#[test]
fn a_message_that_a_suspect_attempt_missed_reaches_its_retry() {
    story(
        "
        > start
        > prepared A
        > agent ready
        > tell: use sqlite
        > agent fails suspect $0 heard=0
        > surveyed A
        > timer
          -> start attempt 2 cut-off with feedback
        > agent finishes
        > surveyed B
        > prepared B
          -> start attempt 3
          not -> start attempt 3 with feedback
        ",
    );
}

#[test]
fn an_answer_that_the_agent_never_received_does_not_count() {
    story(
        "
        > start
        > prepared A
        > agent ready
        > agent asks
          message_sent
        > agent finishes heard=0
        > surveyed A
          call_started 1 advise
        ",
    );
}

#[test]
fn an_agent_that_never_says_that_it_is_ready_is_not_waited_for() {
    story(
        "
        given agent command
        > start
        > prepared A
        > wait 3m
        > deadline
          attempt_cancelled 1 Deadline(Idle)
        ",
    );
    story(
        "
        given agent command, model always
        > start
        > iteration A->B promise
          call_started 1 verify
        > deadline
          call_cancelled 1 Deadline(Attempt)
        ",
    );
}

#[test]
fn an_agent_without_a_cost_option_gets_a_time_limit_from_its_cap() {
    // Ninety cents at half a cent per second.
    story(
        "
        given agent command, max_cost 1
        > start
        > prepared A
          attempt_started 1 cap $0.90
        > agent pulse quiet=0s
        > wait 100s
        > wait 79s
        > agent pulse quiet=0s
          not attempt_cancelled
        > deadline
          attempt_cancelled 1 Limit
        > agent exits
          attempt_finished 1 attempt_budget
        ",
    );
}

#[test]
fn a_word_for_an_agent_without_a_session_goes_into_the_inbox() {
    story(
        "
        given agent command, watchdog live
        > start
        > prepared A
        > tell: use sqlite
          feedback_added Human: use sqlite
          not message_sent
        ",
    );
    story(
        "
        given watchdog off
        > start
        > prepared A
        > agent ready
        > tell: use sqlite
          feedback_added Human: use sqlite
          not message_sent
        ",
    );
}

#[test]
fn another_model_than_the_one_asked_for_is_a_warning_once_a_run() {
    story(
        "
        given ask for opus
        > start
        > prepared A
        > agent ready model=claude-sonnet-5-5
          agent_ready
          warning: requested the model `opus`, but the agent uses `claude-sonnet-5-5`
        > agent fails overloaded
        > timer
        > agent ready model=claude-sonnet-5-5
          not warning
        ",
    );
    story(
        "
        given ask for opus
        > start
        > prepared A
        > agent ready model=claude-opus-5-5[1m]
          not warning
        ",
    );
    story(
        "
        > start
        > prepared A
        > agent ready model=claude-opus-5-5
          not warning
        ",
    );
}

#[test]
fn the_stronger_model_is_the_one_that_was_asked_for() {
    story(
        "
        given ask for haiku, escalate opus, threshold 9
        > start
        > iteration A->A
        > iteration A->A
        > iteration A->A
        > prepared A
          attempt_started 4 model opus
        > agent ready model=claude-opus-5-5
          not warning
        ",
    );
}

#[test]
fn servers_that_did_not_come_up_are_a_warning_once_a_run() {
    story(
        "
        > start
        > prepared A
        > agent ready failed=github failed=jira
          warning: MCP servers failed to start: github, jira
        > agent finishes
        > surveyed B
        > prepared B
        > agent ready failed=github failed=jira
          not warning
        ",
    );
}

#[test]
fn a_prompt_that_the_program_took_for_a_command_fails_the_iteration() {
    story(
        "
        > start
        > prepared A
        > agent fails local_command $0
          attempt_finished 1 suspect
          iteration_finished 1 failed: interpreted the prompt as a slash command
        ",
    );
}

#[test]
fn an_attempt_that_was_seen_to_ask_no_model_costs_nothing() {
    story(
        "
        given max_cost 10
        > start
        > prepared A
        > agent fails timed_out unasked
          attempt_finished 1 timed_out $0.00 estimated
        ",
    );
}
