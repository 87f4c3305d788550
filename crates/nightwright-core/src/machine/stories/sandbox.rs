//! Checks in a sandbox: those that need more than it has decide before anything is spent.

use crate::event::{Event, GateEvent};
use crate::input::ResumePolicy;
use crate::machine::resume::ResumeRefusal;
use crate::machine::story::story;
use crate::outcome::Outcome;

#[test]
fn a_check_that_passes_only_outside_ends_the_run_before_anything_is_spent() {
    let run = story(
        "
        given sandbox, checks, baseline
        > start
        > checks fail-inside port 5432
          checks_finished
          run_finished check_needs_host exit 2
          not -> start attempt
        ",
    );
    assert_eq!(
        run.outcome().sentence(0),
        "Not started: `make test` fails in the sandbox and passes outside; it needs port 5432 of \
         this machine"
    );
    let Outcome::CheckNeedsHost { settings, .. } = run.outcome() else { panic!() };
    assert_eq!(settings, ["sandbox.host_ports = [5432]"]);
}

#[test]
fn a_check_without_a_known_need_is_offered_to_run_outside() {
    let run = story(
        "
        given sandbox, checks, check ./db.sh, outside ./db.sh, baseline
        > start
        > checks fail-inside
        ",
    );
    let Outcome::CheckNeedsHost { settings, .. } = run.outcome() else { panic!() };
    let line = "verify.commands = [{ run = \"make test\", sandbox = false }, \
                { run = \"./db.sh\", sandbox = false }]";
    assert_eq!(settings, [line]);
}

#[test]
fn a_check_that_fails_outside_too_is_an_ordinary_failure() {
    let run = story(
        "
        given sandbox, checks, baseline, evidence status
        > start
        > checks fail-everywhere
          checks_finished
        > iteration A->B status:complete
        > checks pass
          gate_finished passed by checks
          run_finished completed
        ",
    );
    let outside = run.journal.iter().find_map(|record| match &record.event {
        Event::Gate(GateEvent::ChecksFinished { outside, .. }) => Some(outside.len()),
        _ => None,
    });
    assert_eq!(outside, Some(1), "the second result is recorded");
}

#[test]
fn such_a_run_continues_only_with_other_checks_or_another_sandbox_and_compares_again() {
    let start = "given sandbox, checks, baseline\n> start\n> checks fail-inside write /srv/e2e\n";
    let refused = story(start).machine.refusal(&[], ResumePolicy::Always);
    assert_eq!(refused, Some(ResumeRefusal::NeedsHost));
    for change in ["sandbox off", "check ./other.sh"] {
        story(&format!(
            "
            {start}
            > continue with {change}
              checks_started
            > checks fail
              -> prepare
            "
        ));
    }
    story(&format!("{start}> continue with max_iterations 3\n  not run_continued"));
}
