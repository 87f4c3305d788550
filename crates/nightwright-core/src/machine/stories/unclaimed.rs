//! Checks that pass without a claim: when that is proof of the work, and when a model is asked.

use crate::machine::story::story;

#[test]
fn a_check_that_the_agent_broke_and_repaired_proves_nothing() {
    for model in ["off", "auto"] {
        let model = if model == "auto" { ", model auto" } else { "" };
        story(&format!(
            "
            given checks, baseline, every auto{model}
            > start
            > checks pass 0/14
            > iteration A->B
            > checks fail 1/14
            > iteration B->C
            > checks pass 0/14
              not gate_started
              iteration_finished 2 Work: all checks pass
            "
        ));
    }
    story(
        "
        given checks, baseline, every auto, threshold 1
        > start
        > checks pass 0/14
        > iteration A->B
        > checks fail 1/14
        > iteration B->C
        > checks pass 0/14
        > iteration C->C
          gate_started [NoProgress]
        > checks pass 0/14
          gate_finished rejected
          run_finished stagnated
        ",
    );
}

#[test]
fn with_an_unknown_baseline_passing_checks_are_judged_by_a_model_alone() {
    story(
        "
        given checks, baseline, every always, model auto
        > start
        > checks time-out
        > iteration A->B
        > checks pass 0/14
          gate_started [ChecksPass]
          call_started 1 verify
        ",
    );
    story(
        "
        given checks, baseline, every always
        > start
        > checks time-out
        > iteration A->B
        > checks pass 0/14
          not gate_started
          iteration_finished 1 Work
        ",
    );
}

#[test]
fn a_check_that_is_flaky_from_the_start_proves_nothing_alone() {
    story(
        "
        given checks, baseline, every auto, model auto, evidence status
        > start
        > checks fail boom
        > prepared A
        > agent finishes
        > surveyed A status complete
        > checks pass
          call_started 1 verify
        ",
    );
}

#[test]
fn after_a_no_the_model_is_asked_less_and_less_often() {
    story(
        "
        given checks, baseline, every auto, model auto
        > start
        > checks fail 1/14
        > iteration A->B
        > checks pass 0/14
          gate_started [ChecksPass]
        > call no: one
        > iteration B->C
        > checks pass 0/14
          gate_started [ChecksPass]
        > call no: two
        > iteration C->D
        > checks pass 0/14
          not gate_started
        > iteration D->E
        > checks pass 0/14
          gate_started [ChecksPass]
        ",
    );
}

#[test]
fn checks_that_pass_although_a_blocker_was_reported_complete_nothing() {
    story(
        "
        given checks, baseline, every auto, model auto
        > start
        > checks fail 1/14
        > iteration A->B blocker=key
        > checks pass 0/14
          not gate_started
          iteration_finished 1 Work
        ",
    );
}

#[test]
fn boxes_that_stay_open_while_everything_passes_are_judged_by_a_model() {
    let mut text = String::from(
        "given checks, baseline, every auto, model auto, no_gain 2\n> start\n> checks fail 1/14\n",
    );
    for pair in ["A", "B", "C", "D"].windows(2) {
        text.extend([format!(
            "> prepared {}\n> agent finishes\n> surveyed {} boxes 2/1 files 2\n> checks pass 0/14\n\
             not gate_started\n",
            pair[0], pair[1]
        )]);
    }
    text.push_str(
        "> prepared D\n> agent finishes\n> surveyed E boxes 2/1 files 2\n> checks pass 0/14\n\
         gate_started [ChecksPass]\n",
    );
    story(&text);
}

#[test]
fn a_box_that_was_ticked_shows_that_the_others_are_really_open() {
    let mut text = String::from(
        "given checks, baseline, every auto, model auto, no_gain 2\n> start\n> checks fail 1/14\n",
    );
    for (index, pair) in ["A", "B", "C", "D", "E", "F"].windows(2).enumerate() {
        text.extend([format!(
            "> prepared {}\n> agent finishes\n> surveyed {} boxes {}/1 files 2\n\
             > checks pass 0/14\nnot gate_started\n",
            pair[0],
            pair[1],
            9 - index
        )]);
    }
    story(&text);
}

#[test]
fn slow_checks_run_after_the_last_iteration() {
    let slow = |limit: &str, then: &str| {
        story(&format!(
            "
            given checks, baseline, every auto, max_iterations {limit}
            > start
            > wait 10m
            > checks fail boom
            > prepared A
            > wait 20m
            > agent finishes
            > surveyed B
              {then}
            "
        ))
    };
    slow("1", "checks_started after the iteration");
    slow("2", "not checks_started");
}
