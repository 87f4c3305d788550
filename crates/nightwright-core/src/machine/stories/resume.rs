//! Resuming a run after each of its outcomes, with the same or changed settings.

use crate::input::ResumePolicy;
use crate::machine::ledger::Ledger;
use crate::machine::resume::ResumeRefusal;
use crate::machine::story::story;
use crate::outcome::{Outcome, Proof};

#[test]
fn only_a_completed_run_must_be_resumed_explicitly() {
    let mut run = story(
        "
        given checks
        > start
        > iteration A->B promise
        > checks pass
          run_finished completed
        > crash
        > continue
          nothing
        > continue with max_iterations 9
          nothing
        ",
    );
    assert_eq!(
        run.machine.refusal(&[], ResumePolicy::IfUnfinished),
        Some(ResumeRefusal::Completed)
    );
    assert_eq!(run.machine.refusal(&[], ResumePolicy::Always), None);
    run.happen("continue again");
    assert_eq!(run.machine.state().outcome(), None);
}

#[test]
fn after_every_other_outcome_a_run_continues_and_its_streaks_start_at_zero() {
    for (given, before, then) in [
        ("threshold 1", "> iteration A->A", "run_finished stagnated"),
        ("threshold 1, mode build", "> iteration A->A", "run_finished no_changes"),
        ("retries 5", "> prepared A\n> signal\n> agent exits", "run_finished interrupted"),
        ("retries 5", "> prepared A\n> hang up\n> agent exits", "run_finished interrupted"),
        ("retries 5", "> stop\n> prepared A", "run_finished stopped"),
        ("retries 5", "> prepared A\n> agent fails auth", "run_finished auth"),
        (
            "max_errors 1, retries 0",
            "> prepared A\n> agent fails overloaded",
            "run_finished consecutive_errors",
        ),
        ("hook started", "> hook aborts", "run_finished hook_abort"),
    ] {
        let prepared = if given.contains("hook") { "-> hook started" } else { "-> prepare" };
        let run = story(&format!(
            "given {given}\n> start\n{before}\n  {then}\n> crash\n> continue\n  \
             run_continued AfterEnd\n  {prepared}"
        ));
        let state = run.machine.state();
        assert_eq!(state.streaks, crate::machine::ledger::Streaks::default(), "{then}");
        assert_eq!(state.outcome(), None, "{then}");
    }
}

#[test]
fn a_blocked_run_continues_and_is_blocked_again_only_after_a_new_streak() {
    story(
        "
        > start
        > iteration A->A blocker=key
        > iteration A->A blocker=key
          run_finished blocked
        > crash
        > continue
          run_continued AfterEnd
        > iteration A->A blocker=key
          not run_finished
        > iteration A->A blocker=key
          run_finished blocked
        ",
    );
}

#[test]
fn a_limit_that_is_not_the_one_the_run_ended_by_has_to_leave_room_too() {
    let run = story(
        "
        given max_iterations 1
        > start
        > stop
        > prepared A
          run_finished stopped
        ",
    );
    assert_eq!(run.machine.refusal(&[], ResumePolicy::IfUnfinished), None);
    let run = story(
        "
        given max_iterations 1, threshold 1
        > start
        > iteration A->A
          run_finished stagnated
        ",
    );
    let limit = ResumeRefusal::Limit(Outcome::MaxIterations { limit: 1 });
    assert_eq!(run.machine.refusal(&[], ResumePolicy::IfUnfinished), Some(limit.clone()));
    assert_eq!(run.machine.refusal(&[], ResumePolicy::Always), Some(limit));
}

#[test]
fn a_closed_terminal_is_recorded_as_such() {
    story(
        "
        > start
        > prepared A
        > hang up
          stop_requested Now TerminalClosed
        > agent exits
          run_finished interrupted exit 130 (the terminal closed)
        ",
    );
    story(
        "
        > start
        > prepared A
        > signal
        > agent exits
          run_finished interrupted exit 130
          not run_finished interrupted exit 130 (
        ",
    );
}

#[test]
fn the_gate_that_counts_is_the_one_of_the_last_resume() {
    let run = story(
        "
        > start
        > stop
        > prepared A
          run_finished stopped
        > crash
        > continue with checks
          run_continued AfterEnd
          settings_changed verify.commands: none -> make test
        > iteration A->B promise
          -> run checks
        > checks pass
          run_finished completed
        ",
    );
    let replayed = Ledger::replay(&run.journal);
    assert_eq!(replayed.settings.verify.commands, ["make test"]);
    assert_eq!(replayed.settings, run.machine.state().settings);
    assert!(matches!(replayed.outcome(), Some(Outcome::Completed { proof: Proof::Checks, .. })));
}

#[test]
fn each_changed_setting_is_one_event_and_a_crash_before_the_next_iteration_keeps_them() {
    story(
        "
        given max_iterations 1
        > start
        > iteration A->B
          run_finished max_iterations
        > crash
        > continue with max_iterations 2, checks
          run_continued AfterEnd
          settings_changed verify.commands: none -> make test
          settings_changed limits.max_iterations: 1 -> 2
          -> prepare
        > crash
        > continue
          run_continued AfterCrash
          not settings_changed
        > iteration B->C promise
          -> run checks
        ",
    );
}
