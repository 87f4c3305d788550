//! The status file: which of its changes are reported.

use crate::machine::story::story;

#[test]
fn progress_is_reported_with_how_many_items_more() {
    story(
        r#"
        > start
        > prepared A status {"complete":false,"progress":{"completed":30,"total":60}}
          iteration_started 1
          not status_changed
        > status {"complete":false,"progress":{"completed":35,"total":60},"summary":"orders"}
          status_changed [Progress, Summary]: 35/60 items (+5) - orders
        > status {"complete":false,"progress":{"completed":34,"total":60},"summary":"orders"}
          status_changed [Progress]: 34/60 items (-1) - orders
        "#,
    );
}

#[test]
fn every_field_that_matters_is_reported_alone() {
    story(
        r#"
        > start
        > prepared A
        > status {"complete":false,"summary":"begun"}
          status_changed [Summary]: begun
        > status {"complete":false,"summary":"begun","phase":"tests"}
          status_changed [Phase]: begun - phase: tests
        > status {"complete":false,"summary":"begun","phase":"tests","blockers":["key"]}
          status_changed [Blockers]: begun - 1 blocker
        > status {"complete":false,"summary":"begun","phase":"tests","blockers":["host"]}
          status_changed [Blockers]: begun - 1 blocker
        > status {"complete":true,"summary":"begun","phase":"tests","blockers":["host"]}
          status_changed [Complete]: begun - complete
        "#,
    );
}

#[test]
fn a_time_or_notes_alone_are_not_reported() {
    story(
        r#"
        > start
        > prepared A
        > status {"complete":false,"summary":"a","lastUpdated":"1"}
          status_changed
        > status {"complete":false,"summary":"a","lastUpdated":"2","notes":"slow"}
          nothing
        > status {"complete":false,"summary":"a","worked":true}
          nothing
        > status {"complete":false,"summary":"b","lastUpdated":"3"}
          status_changed [Summary]: b
        "#,
    );
}

#[test]
fn a_time_alone_is_reported_where_every_change_is_wanted() {
    story(
        r#"
        given status of any kind
        > start
        > prepared A status {"complete":false,"lastUpdated":"1"}
        > status {"complete":false,"lastUpdated":"1"}
          nothing
        > status {"complete":false,"lastUpdated":"2"}
          status_changed [Other]: not complete
        > status {"complete":false,"lastUpdated":"2"}
          nothing
        > status {"complete":false,"lastUpdated":"2","notes":"slow"}
          status_changed [Other]
        "#,
    );
}

#[test]
fn the_content_before_the_run_is_no_change() {
    story(
        r#"
        > start
        > status {"complete":false,"summary":"old"}
          nothing
        > prepared A status {"complete":false,"summary":"old"}
        > status {"complete":false,"summary":"old"}
          nothing
        > agent finishes
        > surveyed B old-status {"complete":false,"summary":"old"}
          not status_changed
        > prepared same
        > status {"complete":false,"summary":"new"}
          status_changed [Summary]: new
        "#,
    );
}

#[test]
fn a_file_that_was_not_there_is_reported_once_it_says_something() {
    story(
        r#"
        > start
        > prepared A
        > status {"complete":false}
          nothing
        > status {"complete":false,"progress":{"completed":1,"total":3}}
          status_changed [Progress]: 1/3 items
        "#,
    );
}

#[test]
fn the_last_change_is_reported_with_the_survey_and_not_again() {
    story(
        r#"
        > start
        > prepared A
        > status {"complete":false,"summary":"begun"}
          status_changed [Summary]: begun
        > agent finishes
        > surveyed B status {"complete":false,"summary":"ended"}
          status_changed [Summary]: ended
          iteration_finished
        > status {"complete":false,"summary":"ended"}
          nothing
        "#,
    );
}

#[test]
fn the_last_change_is_reported_before_the_gate_begins() {
    story(
        r#"
        given evidence status
        > start
        > prepared A
        > agent finishes
        > surveyed B status {"complete":true,"summary":"all"}
          status_changed [Complete, Summary]: all - complete
          gate_started [Status]
          run_finished completed
        "#,
    );
}

#[test]
fn a_change_while_the_agent_works_interrupts_nothing_and_claims_nothing() {
    story(
        r#"
        given evidence status
        > start
        > prepared A
        > status {"complete":true}
          status_changed [Complete]: complete
          not gate_started
          not attempt_cancelled
          not ->
        > status {"status":"failed","summary":"no"}
          status_changed
          not run_finished
        > agent finishes
        > surveyed B status {"complete":false,"summary":"no"}
          not status_changed
          not gate_started
        "#,
    );
}

#[test]
fn nothing_is_reported_where_reports_are_off() {
    story(
        r#"
        given status watch off
        > start
        > prepared A status {"complete":false,"summary":"old"}
        > status {"complete":false,"summary":"new"}
          nothing
        > agent finishes
        > surveyed B status {"complete":false,"summary":"newer"}
          not status_changed
        "#,
    );
}

#[test]
fn a_resumed_run_knows_which_status_was_reported() {
    story(
        r#"
        > start
        > prepared A status {"complete":false,"progress":{"completed":1,"total":9}}
        > status {"complete":false,"progress":{"completed":3,"total":9}}
          status_changed [Progress]: 3/9 items (+2)
        > crash
        > continue
          not status_changed
        > status {"complete":false,"progress":{"completed":3,"total":9}}
          nothing
        > status {"complete":false,"progress":{"completed":4,"total":9}}
          status_changed [Progress]: 4/9 items (+1)
        "#,
    );
}

#[test]
fn a_run_that_crashed_before_its_first_report_knows_its_initial_status() {
    story(
        r#"
        > start
        > prepared A status {"complete":false,"progress":{"completed":1,"total":9}}
        > crash
        > continue
        > status {"complete":false,"progress":{"completed":4,"total":9}}
          status_changed [Progress]: 4/9 items (+3)
        "#,
    );
}

#[test]
fn nothing_is_reported_after_the_end() {
    story(
        r#"
        > start
        > prepared A
        > stop now
        > agent exits
          run_finished interrupted
        > status {"complete":true}
          not status_changed
        "#,
    );
}
