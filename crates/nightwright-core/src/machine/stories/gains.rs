//! Whether the run gets closer: checks after each iteration, and the outcomes that follow from them.

use std::time::Duration;

use crate::machine::story::{Story, story};
use crate::outcome::Strictness;
use crate::settings::{Settings, Tamper, VerdictMode};

#[test]
fn the_checks_run_after_an_iteration_with_changes_before_the_next_one_starts() {
    story(
        "
        given checks, baseline, every auto
        > start
        > checks fail 5/14
        > iteration A->B
          checks_started after the iteration: make test
          -> run checks
          not iteration_finished
        > checks fail 3/14
          iteration_finished 1 Work: 3 of 14 tests fail, Better
          -> prepare
        ",
    );
}

#[test]
fn an_iteration_without_changes_runs_no_checks() {
    story(
        "
        given checks, every auto
        > start
        > iteration A->A
          not checks_started
          iteration_finished 1 Idle
        ",
    );
}

#[test]
fn with_every_claim_the_checks_run_only_for_a_claim() {
    story(
        "
        given checks, every claim
        > start
        > iteration A->B
          not checks_started
          iteration_finished 1 Work
        ",
    );
}

#[test]
fn a_claim_runs_the_checks_once_and_they_count_as_measured() {
    story(
        "
        given checks, baseline, every auto
        > start
        > checks fail 5/14
        > iteration A->B promise
          checks_started make test
          not checks_started after
        > checks fail 4/14
          iteration_finished 1 Work: 4 of 14 tests fail, Better
        ",
    );
}

#[test]
fn passing_without_a_claim_completes_the_run_and_runs_the_checks_once() {
    let run = story(
        "
        given checks, baseline, every auto
        > start
        > checks fail 5/14
        > iteration A->B
        > checks pass 0/14
          gate_started [ChecksPass]
          not checks_started
          gate_finished passed by checks
          iteration_finished 1 Work: all checks pass, Better
          run_finished completed exit 0
        ",
    );
    assert_eq!(run.outcome().sentence(1), "Task completed successfully after 1 iteration");
}

#[test]
fn without_a_claim_a_model_is_asked_too_and_its_no_goes_to_the_agent() {
    story(
        "
        given checks, baseline, every auto, model auto
        > start
        > checks fail 1/14
        > iteration A->B
        > checks pass 0/14
          call_started 1 verify
        > call no: the documentation is missing
          feedback_added Verifier: The work is not complete: the documentation is missing
          iteration_finished 1 Work
          -> prepare
        ",
    );
}

#[test]
fn checks_that_passed_from_the_start_complete_nothing_without_a_claim() {
    story(
        "
        given checks, baseline, every auto
        > start
        > checks pass 0/14
        > iteration A->B
        > checks pass 0/14
          not gate_started
          iteration_finished 1 Work: all checks pass
        ",
    );
}

#[test]
fn checks_that_pass_complete_nothing_while_boxes_or_items_are_open() {
    for open in ["boxes 2/1", "status half"] {
        story(&format!(
            "
            given checks, baseline, every auto
            > start
            > checks fail 1/14
            > prepared A
            > agent finishes
            > surveyed B {open}
            > checks pass 0/14
              not gate_started
              iteration_finished 1 Work
            "
        ));
    }
}

#[test]
fn rejections_end_a_run_only_if_none_of_them_was_better() {
    story(
        "
        given checks, baseline
        > start
        > checks fail 5/14
        > iteration A->B promise
        > checks fail 4/14
        > iteration B->C promise
        > checks fail 3/14
        > iteration C->D promise
        > checks fail 2/14
          gate_finished rejected
          not run_finished
        > iteration D->E promise
        > checks fail 1/14
        > iteration E->F promise
        > checks pass 0/14
          run_finished completed
        ",
    );
}

#[test]
fn three_rejections_after_the_last_gain_end_the_run() {
    story(
        "
        given checks, baseline
        > start
        > checks fail 5/14
        > iteration A->B promise
        > checks fail 4/14
        > iteration B->C promise
        > checks fail 4/14
        > iteration C->D promise
        > checks fail 4/14
          not run_finished
        > iteration D->E promise
        > checks fail 4/14
          run_finished unverified
        ",
    );
}

#[test]
fn four_iterations_without_a_gain_end_the_run_with_what_keeps_failing() {
    let run = story(
        "
        given checks, baseline, every auto, escalate opus
        > start
        > checks fail 3/14
        > iteration A->B
        > checks fail 2/14
          iteration_finished 1 Work: 2 of 14 tests fail, Better
          not feedback_added
        > iteration B->C
        > checks fail 2/14
          feedback_added Idle: The last iteration did not fix any test or check: the same 2 tests have failed since iteration 1.
        > iteration C->D
        > checks fail 2/14
          call_started 1 advise
        > call says: the parser drops the sign
          feedback_added Idle: The last 2 iterations … the parser drops the sign
        > iteration D->E
        > checks fail 2/14
          feedback_added Idle: The last 3 iterations
        > prepared E
          attempt_started 5 model opus
        > agent finishes
        > surveyed F
        > checks fail 2/14
          not feedback_added
          run_finished stagnated exit 0
        ",
    );
    assert_eq!(
        run.outcome().sentence(5),
        "No progress in 4 consecutive iterations: the same 2 tests have failed since iteration 1"
    );
    assert_eq!(run.outcome().exit_code(Strictness::RequireComplete), 4);
}

#[test]
fn a_gain_starts_the_count_again() {
    story(
        "
        given checks, baseline, every auto, no_gain 2
        > start
        > checks fail 3/14
        > iteration A->B
        > checks fail 3/14
        > iteration B->C
        > checks fail 2/14
          iteration_finished 2 Work: 2 of 14 tests fail, Better
        > iteration C->D
        > checks fail 2/14
          -> prepare
        ",
    );
}

#[test]
fn an_iteration_without_changes_does_not_hide_that_the_checks_fail() {
    story(
        "
        given checks, baseline, every auto, no_gain 2, threshold 9
        > start
        > checks fail 3/14
        > iteration A->B
        > checks fail 3/14
        > iteration B->B
          run_finished stagnated
        ",
    );
}

#[test]
fn without_counts_another_failure_is_a_gain_and_one_seen_before_is_none() {
    story(
        "
        given checks, baseline, every auto, no_gain 2
        > start
        > checks fail one is missing
        > iteration A->B
        > checks fail two is missing
          iteration_finished 1 Work: 1 check fails, Better
        > iteration B->C
        > checks fail one is missing
          iteration_finished 2 Work: 1 check fails, Same
        > iteration C->D
        > checks fail two is missing
          run_finished stagnated
        ",
    );
}

#[test]
fn a_checklist_that_gets_shorter_is_a_gain_while_checks_fail() {
    let mut text = String::from(
        "given checks, baseline, every auto, no_gain 2\n> start\n> checks fail 3/14\n",
    );
    let trees = ["A", "B", "C", "D", "E", "F"];
    for (index, pair) in trees.windows(2).enumerate() {
        let open = 9 - index;
        text.extend([format!(
            "> prepared {}\n> agent finishes\n> surveyed {} boxes {open}/1 files 2\n\
             > checks fail 3/14\n-> prepare\n",
            pair[0], pair[1]
        )]);
    }
    story(&text);
}

#[test]
fn items_that_the_status_file_counts_are_a_gain_too() {
    let run = |step: usize| {
        let mut text = String::from(
            "given checks, baseline, every auto, no_gain 2, evidence promise\n> start\n\
             > checks fail 3/14\n",
        );
        for (index, pair) in ["A", "B", "C", "D", "E", "F"].windows(2).enumerate() {
            let done = 1 + index * step;
            let status =
                format!("{{\"complete\":false,\"progress\":{{\"completed\":{done},\"total\":9}}}}");
            text.extend([format!(
                "> prepared {}\n> agent finishes\n> surveyed {} status {status} files 2\n",
                pair[0], pair[1]
            )]);
            text.push_str("> checks fail 3/14\n");
            if index == 1 && step == 0 {
                text.push_str("run_finished stagnated\n");
                break;
            }
            if index > 0 {
                text.push_str("-> prepare\n");
            }
        }
        story(&text);
    };
    run(1);
    run(0);
}

#[test]
fn claims_are_not_rejected_for_good_while_boxes_are_ticked() {
    let mut text = String::from(
        "given checks, baseline, every auto, no_gain 0\n> start\n> checks fail 3/14\n",
    );
    for (index, pair) in ["A", "B", "C", "D", "E", "F"].windows(2).enumerate() {
        text.extend([format!(
            "> prepared {}\n> agent finishes promise\n> surveyed {} boxes {}/1 files 2\n\
             > checks fail 3/14\ngate_finished rejected\nnot run_finished\n",
            pair[0],
            pair[1],
            9 - index
        )]);
    }
    story(&text);
}

#[test]
fn while_everything_passes_the_tree_decides_about_progress() {
    let mut text =
        String::from("given checks, baseline, every auto, no_gain 2\n> start\n> checks pass 0/9\n");
    for pair in ["A", "B", "C", "D", "E"].windows(2) {
        text.extend([format!(
            "> iteration {}->{}\n> checks pass 0/9\n-> prepare\n",
            pair[0], pair[1]
        )]);
    }
    story(&text);
}

#[test]
fn a_different_result_for_the_same_project_is_flaky_and_no_gain() {
    let run = story(
        "
        given checks, baseline, every auto
        > start
        > checks fail boom
        > iteration A->B
        > checks fail bang
        > iteration B->B promise
        > checks fail boom
        > iteration B->B promise
        > checks flaky
        ",
    );
    assert!(run.machine.state().checks.flaky.contains("make test"));
}

#[test]
fn a_crash_during_the_checks_runs_them_again_and_one_after_them_does_not() {
    story(
        "
        given checks, baseline, every auto
        > start
        > checks fail 5/14
        > iteration A->B
          -> run checks
        > crash
        > continue
          -> survey
        > surveyed B
          checks_started after the iteration
        > checks fail 3/14
          iteration_finished 1 Work: 3 of 14 tests fail, Better
        ",
    );
    story(
        "
        given checks, baseline, every auto, model auto
        > start
        > checks fail 5/14
        > iteration A->B
        > checks pass 0/14
          -> start call 1
        > crash
        > continue
          -> survey
        > surveyed B
          not checks_started
          gate_started [ChecksPass]
          call_started
        ",
    );
}

#[test]
fn a_stop_request_skips_the_checks_after_the_iteration() {
    story(
        "
        given checks, baseline, every auto
        > start
        > checks fail 5/14
        > prepared A
        > stop
        > agent finishes
        > surveyed B
          not checks_started
          run_finished stopped
        ",
    );
}

#[test]
fn the_next_attempt_receives_what_fails() {
    story(
        "
        given checks, baseline, every auto
        > start
        > checks fail 5/14
        > prepared A
          -> start attempt 1 with failures
        ",
    );
}

#[test]
fn a_suite_of_ten_minutes_takes_less_than_a_fifth_of_the_active_time() {
    for minutes in [5, 20, 55] {
        let mut settings = Settings::default();
        settings.verify.commands = vec!["make test".to_owned()];
        settings.verify.model = VerdictMode::Off;
        settings.verify.tamper = Tamper::Off;
        settings.progress.no_gain = 0;
        settings.delay = Duration::ZERO;
        let mut run = Story::new(settings);
        run.happen("start");
        // The baseline is cut off after five minutes.
        run.happen("wait 5m");
        run.happen("checks time-out");
        let mut measured = 0;
        for tree in 1..=40 {
            run.happen(&format!("prepared {}", tree - 1));
            run.happen(&format!("wait {minutes}m"));
            run.happen("agent finishes");
            let decided = run.happen(&format!("surveyed {tree}"));
            if decided.iter().any(|line| line == "-> run checks") {
                run.happen("wait 10m");
                run.happen("checks fail 3/14");
                measured += 1;
                let state = run.machine.state();
                let share = state.checks.spent.as_secs_f64() / state.active.as_secs_f64();
                assert!(share < 0.2, "{share} of the time after iteration {tree} of {minutes}m");
            }
        }
        assert!(measured >= 4, "{measured} of 40 iterations of {minutes}m");
    }
}
