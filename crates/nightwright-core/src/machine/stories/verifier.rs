//! The verifier: its model, its access, and the gate started by hand.

use std::time::Duration;

use crate::machine::story::story;

#[test]
fn how_closely_the_verifier_looks_decides_about_its_tools_and_its_time() {
    // A verifier that never becomes ready is given up sooner than one that is working.
    let cases = [
        ("depth quick, ", "no tools", 60),
        ("", "no tools", 120),
        ("depth deep, ", "tools that read", 120),
    ];
    for (depth, tools, seconds) in cases {
        let mut run = story(&format!(
            "
            given {depth}model always
            > start
            > iteration A->B promise
              -> start call 1, haiku, {tools}
            "
        ));
        let due = run.now.mono + Duration::from_secs(seconds);
        // A deadline that is not due yet is rescheduled.
        while !run.happen("deadline").iter().any(|line| line.starts_with("-> cut call")) {
            assert!(run.now.mono < due, "{depth}: nobody cuts it");
        }
        assert_eq!(run.now.mono, due, "{depth}");
    }
}

#[test]
fn a_plan_is_judged_by_who_can_look_at_the_project() {
    story(
        "
        given model always, evidence planned
        > start
        > prepared A
        > agent finishes promise
        > surveyed B boxes 2/3
          gate_started [Planned]
          -> start call 1, haiku, tools that read
        ",
    );
}

#[test]
fn the_model_that_is_named_is_asked() {
    story(
        "
        given model always, verifier called opus
        > start
        > iteration A->B promise
          -> start call 1, opus, no tools
        > call unclear
          -> start call 2, opus, no tools
        ",
    );
}

#[test]
fn a_verifier_that_loaded_extensions_has_not_judged() {
    story(
        "
        given model always
        > start
        > iteration A->B promise
          -> start call 1, haiku, no tools
        > call ready loaded=skills
        > call yes
          warning: ignored the answer of a `verify` call: its program loaded skills, which the agent could have written
          not verdict_given
          -> start call 2, haiku, no tools
        > call ready
        > call yes
          verdict_given Yes
        ",
    );
}

#[test]
fn a_model_that_there_is_not_is_asked_for_once_and_then_the_agents_own() {
    story(
        "
        given model always, verifier called nonesuch
        > start
        > iteration A->B promise
          -> start call 1, nonesuch, no tools
        > call fails model_not_found
          warning: no such model: so it said; using the agent's own model instead (`verify.model_name`)
          -> start call 2, its own model, no tools
        > call unclear
          -> start call 3, its own model, no tools
        > call unclear
          verdict_given Inconclusive
          gate_finished inconclusive
          not run_finished
        > iteration B->C promise
          -> start call 4, its own model, no tools
        ",
    );
    story(
        "
        given model always, verifier called nonesuch
        > start
        > iteration A->B promise
        > call fails model_not_found
        > call fails model_not_found
          run_finished bad_agent exit 1
        ",
    );
}

#[test]
fn the_gate_by_hand_needs_no_claim_and_starts_no_attempt() {
    story(
        "
        given only the gate, checks, model auto, tamper warn
        > start
        > prepared A
          iteration_started 0
          not -> start attempt
          -> survey
        > surveyed A files 0
          gate_started [Asked]
          -> run checks
        > checks pass
          -> inspect changes
        > inspected clean
          call_started 1 verify
        > call yes
          -> survey
        > surveyed A files 0
          gate_finished passed by checks
          run_finished completed exit 0
        ",
    );
}

#[test]
fn the_gate_by_hand_rejects_once() {
    story(
        "
        given only the gate, checks
        > start
        > prepared A
        > surveyed A files 0
        > checks fail boom
          gate_finished rejected: `make test` failed (exit 1)
          run_finished unverified exit 0
        ",
    );
    story(
        "
        given only the gate, model always
        > start
        > prepared A
        > surveyed A files 0
        > call no: half of it is missing
          run_finished unverified exit 0
        ",
    );
}

#[test]
fn the_gate_by_hand_is_inconclusive_once() {
    story(
        "
        given only the gate, model always
        > start
        > prepared A
        > surveyed A files 0
        > call unclear
          -> start call 2
        > call fails timed_out
          verdict_given Inconclusive
          run_finished unverified exit 0
        ",
    );
}

#[test]
fn the_gate_by_hand_waits_out_a_limit_and_asks_again() {
    story(
        "
        given only the gate, checks, model always
        > start
        > prepared A
        > surveyed A files 0
        > checks pass
        > call fails usage_limited until=2h
          limit_wait_started
          not run_finished
        > timer
          limit_wait_ended
          -> start call 2
        > call yes
        > surveyed A files 0
          run_finished completed exit 0
        ",
    );
}

#[test]
fn a_stop_ends_a_paused_gate_by_hand() {
    story(
        "
        given only the gate, checks, model always
        > start
        > prepared A
        > surveyed A files 0
        > pause
        > checks pass
        > stop
          run_finished
        ",
    );
}

#[test]
fn the_gate_by_hand_can_be_interrupted() {
    story(
        "
        given only the gate, model always
        > start
        > prepared A
        > surveyed A files 0
          -> start call 1
        > signal
          -> cut call 1
        > call fails interrupted
          not verdict_given
          run_finished interrupted exit 130
        ",
    );
}

#[test]
fn boxes_that_were_ticked_without_work_are_shown_to_a_model() {
    story(
        "
        given checks, model auto, tamper warn, evidence todo
        > start
        > prepared A boxes 3/0
        > agent finishes
        > surveyed B boxes 1/2
          not gate_started
        > prepared same
        > agent finishes
        > surveyed C boxes 0/3 files 4
          gate_started [Todo]
        > checks pass
        > inspected clean
          warning: the checklist: 2 checkboxes were checked in iteration 1, which changed nothing else
          -> start call 1 with findings
        ",
    );
}

#[test]
fn boxes_that_were_ticked_with_the_work_are_no_finding() {
    story(
        "
        given checks, model auto, tamper warn, evidence todo
        > start
        > prepared A boxes 2/0
        > agent finishes
        > surveyed B boxes 0/2 files 2
          gate_started [Todo]
        > checks pass
        > inspected clean
          not warning
          not call_started
          gate_finished passed by checks
          run_finished completed exit 0
        ",
    );
}

#[test]
fn unearned_ticks_reject_where_findings_do() {
    story(
        "
        given checks, tamper reject, evidence todo
        > start
        > prepared A boxes 1/0
        > agent finishes
        > surveyed B boxes 0/1
        > checks pass
        > inspected clean
          gate_finished rejected: findings of the tamper inspection: the checklist: a checkbox was checked in iteration 1
        ",
    );
}

#[test]
fn without_tamper_checks_and_verdict_the_changes_are_not_inspected() {
    story(
        "
        given checks, model auto, evidence todo
        > start
        > prepared A boxes 1/0
        > agent finishes
        > surveyed B boxes 0/1
        > checks pass
          not -> inspect changes
          run_finished completed exit 0
        ",
    );
}
