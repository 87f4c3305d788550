//! Evidence: what files and text claim, and what does not count as a claim.

use crate::machine::story::story;

#[test]
fn complete_left_from_an_earlier_run_counts_nothing() {
    story(
        r#"
        given evidence status
        > status file appears
        > start
        > prepared A
        > agent finishes
        > surveyed B old-status {"complete":true}
          not gate_started
        > prepared same
        > agent finishes
        > surveyed C old-status {"complete":true}
          not gate_started
        > prepared same
        > agent finishes
        > surveyed D status {"complete":true}
          gate_started [Status]
        "#,
    );
}

#[test]
fn complete_written_earlier_in_this_run_still_counts() {
    story(
        r#"
        given evidence status, checks
        > start
        > prepared A
        > agent finishes
        > surveyed B status {"complete":true}
        > checks fail boom
        > prepared same
        > agent finishes
        > surveyed C old-status {"complete":true}
          gate_started [Status]
        "#,
    );
}

#[test]
fn complete_written_before_a_crash_still_counts() {
    story(
        r#"
        given evidence status, checks
        > start
        > prepared A
        > agent finishes
        > surveyed B status {"complete":true}
        > checks fail boom
        > prepared same
        > crash
        > continue with result
        > surveyed C old-status {"complete":true}
          gate_started [Status]
        "#,
    );
}

#[test]
fn boxes_of_a_to_do_list_count_only_without_a_valid_status_file() {
    story(
        r#"
        given evidence status todo
        > start
        > prepared A
        > agent finishes
        > surveyed B boxes 0/3 status {"complete":false}
          not gate_started
        > prepared same
        > agent finishes
        > surveyed C boxes 0/3 status {"complete":
          warning: it is not valid JSON
          gate_started [Todo]
        "#,
    );
}

#[test]
fn a_plan_without_a_box_is_not_complete() {
    story(
        "
        given evidence plan
        > start
        > prepared A
        > agent finishes
        > surveyed B
          not gate_started
        > prepared same
        > agent finishes
        > surveyed C boxes 0/0
          not gate_started
        > prepared same
        > agent finishes
        > surveyed D boxes 0/1
          gate_started [Plan]
        ",
    );
}

#[test]
fn a_plan_is_written_when_it_is_promised_and_has_an_open_box() {
    story(
        "
        given evidence planned
        > start
        > prepared A
        > agent finishes
        > surveyed B boxes 2/0
          not gate_started
        > prepared same
        > agent finishes promise
        > surveyed C
          not gate_started
        > prepared same
        > agent finishes promise
        > surveyed D boxes 0/2
          not gate_started
        > prepared same
        > agent finishes promise
        > surveyed E boxes 1/2
          gate_started [Planned]
        ",
    );
}

#[test]
fn failed_beats_every_claim_next_to_it() {
    story(
        r#"
        given evidence status promise
        > start
        > prepared A
        > agent finishes promise
        > surveyed B status {"complete":true,"status":"failed","error":"no-disk"}
          not gate_started
          run_finished failed exit 1
        "#,
    );
}

#[test]
fn failed_of_an_earlier_iteration_does_not_end_the_run_again() {
    story(
        r#"
        given evidence status promise
        > status file appears
        > start
        > prepared A
        > agent finishes
        > surveyed B old-status {"status":"failed"}
          not run_finished
          iteration_finished 1 Work
        "#,
    );
}

#[test]
fn five_of_three_is_a_warning_and_no_claim() {
    story(
        r#"
        given evidence status
        > start
        > prepared A
        > agent finishes
        > surveyed B status {"complete":false,"progress":{"completed":5,"total":3}}
          warning: it says that 5 of 3 are done
          not gate_started
        "#,
    );
}

#[test]
fn a_claim_that_contradicts_itself_goes_to_the_gate_with_the_contradiction() {
    story(
        r#"
        given evidence status, model always
        > start
        > prepared A
        > agent finishes
        > surveyed B status {"complete":true,"progress":{"completed":3,"total":5}}
          warning: it says complete, but 3 of 5 are done
          gate_started [Status]
          call_started 1 verify
          -> start call 1 with findings
        "#,
    );
}

#[test]
fn done_next_to_complete_false_claims_nothing() {
    story(
        r#"
        given evidence status
        > start
        > prepared A
        > agent finishes
        > surveyed B status {"complete":false,"status":"done"}
          warning: `complete` is false but `status` is "done": treated as not complete
          not gate_started
        "#,
    );
}

#[test]
fn a_blocker_in_the_status_file_is_reported_once() {
    story(
        r#"
        given evidence status
        > start
        > prepared A
        > agent finishes
        > surveyed B status {"status":"blocked","summary":"abc"}
          blocker_reported 352441c2
        > prepared same
        > agent finishes
        > surveyed C status {"complete":false,"blockers":["abc"]}
          not blocker_reported
        "#,
    );
}

#[test]
fn words_of_an_attempt_that_was_cut_off_claim_nothing() {
    story(
        "
        given retries 0
        > start
        > prepared A
        > agent fails timed_out promise
          not gate_started
        ",
    );
}

#[test]
fn a_marker_that_was_not_counted_is_explained_to_the_next_iteration() {
    story(
        "
        > start
        > iteration A->B ignored-marker
          feedback_added Marker: Your completion marker did not count because it stands in a quotation.
          not gate_started
        > prepared same
          -> start attempt 2 with feedback
        ",
    );
}

#[test]
fn a_marker_is_not_explained_next_to_a_claim_or_where_none_is_read() {
    story(
        "
        given evidence status promise, checks
        > start
        > iteration A->B ignored-marker status:complete
          gate_started
        > checks fail boom
          not feedback_added Marker
        ",
    );
    story(
        "
        given no detection
        > start
        > iteration A->B ignored-marker
          not feedback_added
        ",
    );
}
