//! Corner cases: two rules apply at once, or a crash happens between two events.

use crate::input::{Input, ResumeData};
use crate::machine::story::{Story, story};
use crate::stream::news::{Answer, AttemptReport};
use crate::stream::outcome::AttemptOutcome;
use crate::units::Usd;

#[test]
fn retry_now_does_not_use_up_the_maximum_wait() {
    story(
        "
        > start
        > prepared A
        > agent fails usage_limited until=7h
          limit_wait_started
        > retry now
          attempt_started 2
        > agent fails usage_limited until=7h
          not run_finished
          limit_wait_started
    ",
    );
}

#[test]
fn a_limit_after_real_work_begins_a_new_row_of_waits() {
    story(
        "
        > start
        > prepared A
        > agent fails usage_limited until=5h $3 tokens=50000
        > timer
        > agent fails usage_limited until=5h $3 tokens=50000
        > timer
        > agent fails usage_limited until=5h $3 tokens=50000
          not run_finished
    ",
    );
}

#[test]
fn a_verdict_that_does_not_fit_ends_with_the_limit_it_does_not_fit_into() {
    story(
        "
        given model always, max_cost 100, max_tokens 5
        > start
        > iteration A->B promise tokens=5
          run_finished max_tokens
    ",
    );
}

#[test]
fn stop_now_beats_the_abort_of_a_hook() {
    story(
        "
        given hook next
        > start
        > prepared A
        > stop now
          run_finished interrupted
        > hook aborts
          nothing
    ",
    );
}

#[test]
fn a_failed_journal_beats_the_skip_of_a_hook() {
    story(
        "
        given hook next
        > start
        > prepared A
        > journal fails
          run_finished journal_failed
        > hook skips
          nothing
    ",
    );
}

#[test]
fn a_changed_journal_beats_a_claim_at_the_gate() {
    story(
        "
        given checks
        > start
        > iteration A->B promise
          -> run checks
        > journal damaged
        > checks pass
          run_finished journal_damaged
    ",
    );
}

#[test]
fn the_answer_of_a_call_that_finished_before_the_crash_is_taken() {
    // The story language has no line for a salvaged answer, so the test feeds it directly.
    let mut run = story(
        "
        given council
        > start
        > iteration A->B conflict
          call_started 1 council
        > crash
    ",
    );
    let mut report = AttemptReport::bare(AttemptOutcome::Finished);
    report.cost = Some(Usd::from_cents(5));
    report.answer = Some(Answer::Text { text: "safety first".to_owned() });
    let mut all = run.feed(Input::Resume(ResumeData {
        report: Some(Box::new(report)),
        ..ResumeData::default()
    }));
    all.extend(run.happen("surveyed B"));
    assert!(all.iter().any(|l| l.starts_with("council_decided")), "{all:#?}");
}

#[test]
fn a_limit_met_by_a_call_before_the_crash_is_waited_out() {
    let mut run = story(
        "
        given model always
        > start
        > iteration A->B promise
          call_started 1 verify
        > crash
    ",
    );
    let mut report = AttemptReport::bare(AttemptOutcome::UsageLimited {
        until: Some(run.now.plus(std::time::Duration::from_hours(2))),
    });
    report.cost = Some(Usd::from_cents(5));
    let mut all = run.feed(Input::Resume(ResumeData {
        report: Some(Box::new(report)),
        ..ResumeData::default()
    }));
    all.extend(run.happen("surveyed B"));
    assert!(all.iter().any(|l| l.starts_with("limit_wait_started")), "{all:#?}");
}

#[test]
fn edits_during_a_pause_are_no_work_of_the_agent() {
    story(
        "
        given threshold 1
        > start
        > iteration A->B
        > pause
        > resume
        > prepared same
          iteration_started 2
        ",
    );
    let mut run = story(
        "
        given delay 1h
        > start
        > iteration A->B
        > pause
        > timer
        > wait 8h
    ",
    );
    let all = run.happen("resume");
    assert!(all.iter().any(|l| l.starts_with("-> prepare Yes")), "{all:#?}");
}

#[test]
fn observations_before_a_pause_are_repeated() {
    let mut run = story(
        "
        > start
        > pause
        > prepared A
        > wait 8h
    ",
    );
    let all = run.happen("resume");
    assert!(all.iter().any(|l| l.starts_with("-> prepare")), "{all:#?}");
}

#[test]
fn after_a_crash_the_project_is_looked_at_anew() {
    let mut run = story(
        "
        given delay 1h
        > start
        > iteration A->B
        > crash
        > wait 8h
    ",
    );
    let all = run.happen("continue");
    assert!(all.iter().any(|l| l.starts_with("-> prepare Yes")), "{all:#?}");
}

#[test]
fn a_review_keeps_to_the_time_that_is_left() {
    let run = story(
        "
        given review, max_duration 10m, reserve 0
        > start
        > prepared A
        > wait 9m
        > agent finishes
        > surveyed B
          call_started 1 review
        > deadline
    ",
    );
    // The monotonic clock started at 1000 s; the limit is ten minutes.
    assert!(run.now.mono.as_secs() <= 1000 + 601, "cut at {:?}", run.now.mono);
}

#[test]
fn a_stop_ends_a_run_that_is_paused_in_its_gate() {
    story(
        "
        given model always
        > start
        > prepared A
        > pause
        > agent finishes promise
        > surveyed B
        > stop
          run_finished
    ",
    );
}

#[test]
fn without_money_for_an_advisor_the_usual_answer_is_given() {
    story(
        "
        given watchdog next, max_cost 1, reserve 0
        > start
        > prepared A
        > agent finishes $0.95 gives-up
        > surveyed A
          not call_started
          feedback_added
    ",
    );
}

#[test]
fn nothing_is_concluded_from_findings_after_stop_now() {
    story(
        "
        given tamper reject
        > start
        > iteration A->B promise
          -> inspect changes
        > stop now
        > inspected tests/x
          not gate_finished
          not feedback_added
    ",
    );
}

#[test]
fn without_a_threshold_every_report_of_work_counts() {
    story(
        "
        given threshold 0, mode iterative, evidence status
        > start
        > iteration A->A status:worked
          not feedback_added
    ",
    );
}

#[test]
fn stop_now_does_not_wait_for_a_survey() {
    story(
        "
        > start
        > prepared A
        > agent finishes
          -> survey
        > stop now
          run_finished interrupted
    ",
    );
}

#[test]
fn stop_now_does_not_wait_for_a_hook() {
    story(
        "
        given hook next
        > start
        > prepared A
        > stop now
          run_finished interrupted
    ",
    );
}

#[test]
fn suspects_with_a_failure_between_them_are_not_in_a_row() {
    story(
        "
        > start
        > prepared A
        > agent fails suspect
        > surveyed A
        > timer
        > agent fails overloaded
        > timer
        > agent fails suspect
        > surveyed A
          not iteration_finished
    ",
    );
}

#[test]
fn a_crash_before_the_hook_s_word_asks_it_again() {
    story(
        "
        given hook started
        > start
          -> hook started
        > crash
        > continue
          -> hook started
    ",
    );
}

#[test]
fn resuming_a_run_that_was_killed_while_paused_ends_the_pause() {
    story(
        "
        > start
        > prepared A
        > pause
          run_paused
        > crash
        > continue
          run_continued
          run_resumed
    ",
    );
}

#[test]
fn a_run_that_ended_paused_continues_unpaused() {
    story(
        "
        > start
        > pause
        > prepared A
        > stop
          run_finished stopped
        > crash
        > continue again
          -> prepare
    ",
    );
}

#[test]
fn a_stop_during_a_limit_wait_of_a_call_ends_it_at_once() {
    story(
        "
        given model always
        > start
        > iteration A->B promise
          call_started 1
        > call fails usage_limited until=2h
          limit_wait_started
        > stop
          not call_started
          run_finished stopped
    ",
    );
}
/// Truncates the journal after the last event of this name, as a crash would.
fn torn(mut run: Story, last: &str) -> Story {
    let at = run.journal.iter().rposition(|r| r.event.name() == last).expect("there");
    run.journal.truncate(at + 1);
    run.happen("crash");
    run
}

#[test]
fn the_ladder_survives_a_journal_cut_off_in_its_middle() {
    let run = story(
        "
        given delay 1h
        > start
        > iteration A->A
          feedback_added Idle
          iteration_finished
    ",
    );
    let mut run = torn(run, "iteration_finished");
    run.happen("continue");
    let all = run.happen("prepared A");
    assert!(all.iter().any(|l| l.contains("with feedback")), "{all:#?}");
}

#[test]
fn the_council_s_word_survives_a_journal_cut_off_in_its_middle() {
    let run = story(
        "
        given council
        > start
        > iteration A->B conflict
        > call says: safety first
          council_decided
    ",
    );
    let mut run = torn(run, "call_finished");
    let mut all = run.happen("continue");
    all.extend(run.happen("surveyed B"));
    all.extend(run.happen("prepared B"));
    assert!(all.iter().any(|l| l.contains("with feedback")), "{all:#?}");
}

#[test]
fn a_rejection_told_twice_by_a_torn_journal_counts_once() {
    let run = story(
        "
        given checks, delay 1h
        > start
        > iteration A->B promise
        > checks fail boom
          gate_finished
    ",
    );
    let mut run = torn(run, "gate_finished");
    run.happen("continue");
    run.happen("surveyed B");
    run.happen("checks fail boom");
    let state = run.machine.state();
    assert_eq!((state.checks.without_gain, state.rejected_claims, state.inbox.len()), (0, 1, 1));
}

#[test]
fn checks_during_a_pause_count_as_active_time() {
    let run = story(
        "
        given checks
        > start
        > prepared A
        > pause
        > agent finishes promise
        > surveyed B
          -> run checks
        > wait 5m
        > checks pass
    ",
    );
    assert!(run.machine.state().active.as_secs() >= 300, "{:?}", run.machine.state().active);
}

#[test]
fn a_kill_keeps_the_tokens_seen() {
    let run = story(
        "
        > start
        > prepared A
        > agent ready
        > agent pulse tokens=700
        > signal
        > signal
          run_finished
    ",
    );
    assert!(run.machine.state().totals.tokens.counted() >= 700);
}

#[test]
fn a_call_that_is_ended_is_recorded_with_its_reason() {
    let run = story(
        "
        given model always
        > start
        > iteration A->B promise
          call_started 1
        > deadline
    ",
    );
    let names: Vec<_> = run.journal.iter().map(|r| r.event.name()).collect();
    assert!(names.iter().any(|n| n.contains("cancelled")), "{names:?}");
}
