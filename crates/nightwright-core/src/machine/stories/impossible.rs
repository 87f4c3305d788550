//! Tasks that cannot be done, and obstacles that only a person can remove.

use crate::machine::story::story;
use crate::outcome::Strictness;

#[test]
fn a_report_of_impossibility_ends_the_run_if_a_model_agrees() {
    let run = story(
        "
        given checks, baseline, every auto, model auto
        > start
        > checks fail 2/14
        > iteration A->A impossible=the-tests-contradict
          gate_started [Impossible]
          not checks_started
          -> start call 1, haiku, tools that read
        > call yes
          gate_finished impossible: the tests contradict
          blocker_reported
          run_finished impossible exit 0
        ",
    );
    assert_eq!(
        run.outcome().sentence(1),
        "The task is impossible as specified: the tests contradict"
    );
    assert_eq!(run.outcome().exit_code(Strictness::RequireComplete), 5);
}

#[test]
fn the_checks_run_before_a_model_judges_the_report() {
    story(
        "
        given checks, baseline, every auto, model auto
        > start
        > checks fail 2/14
        > iteration A->B impossible=the-tests-contradict
          checks_started after the iteration
        > checks fail 2/14
          gate_started [Impossible]
        > call yes
          run_finished impossible
        ",
    );
    story(
        "
        given checks, baseline, every auto, model auto
        > start
        > checks fail 2/14
        > iteration A->B impossible=the-tests-contradict
        > checks pass 0/14
          gate_started [ChecksPass]
        ",
    );
}

#[test]
fn a_model_that_disagrees_tells_the_agent_why_and_is_not_asked_again() {
    story(
        "
        given checks, baseline, every auto, model auto
        > start
        > checks fail 2/14
        > iteration A->A impossible=the-tests-contradict
        > call no: the second test runs on another platform
          feedback_added Verifier: You reported that the task is impossible. … the second test runs
          not run_finished
        > iteration A->A impossible=the-tests-contradict
          not gate_started
          run_finished blocked
        ",
    );
}

#[test]
fn without_a_model_a_report_of_impossibility_is_a_blocker() {
    story(
        "
        given checks, baseline, every auto
        > start
        > checks fail 2/14
        > iteration A->A impossible=the-tests-contradict
          blocker_reported
          not gate_started
        > iteration A->A impossible=the-tests-contradict
          run_finished blocked
        ",
    );
}

#[test]
fn a_claim_next_to_a_report_of_impossibility_goes_to_the_usual_gate() {
    story(
        "
        given checks, baseline, every auto, model always
        > start
        > checks fail 2/14
        > iteration A->B promise impossible=one-of-two
          gate_started [Promise]
        ",
    );
}

#[test]
fn an_obstacle_that_the_checks_meet_twice_is_a_blocker() {
    story(
        "
        given checks, baseline, every auto
        > start
        > checks fail boom
        > iteration A->B
        > checks fail getaddrinfo ENOTFOUND db.local
          not blocker_reported
        > iteration B->C
        > checks fail getaddrinfo ENOTFOUND db.local
          blocker_reported host `db.local`: `make test` cannot reach `db.local`
        ",
    );
}

#[test]
fn a_command_that_is_denied_in_two_iterations_is_a_blocker_even_with_work() {
    story(
        "
        > start
        > iteration A->B denied=Bash:npm_install
          not blocker_reported
        > iteration B->C denied=Bash:npm_install
          blocker_reported permissions: permission for npm install
        ",
    );
}

#[test]
fn a_blocker_is_the_reason_for_the_end_if_nothing_gets_better() {
    story(
        "
        given checks, baseline, every auto, no_gain 2
        > start
        > checks fail 2/14
        > iteration A->B
        > checks fail 2/14
        > iteration B->C blocker=password
        > checks fail 2/14
          run_finished blocked
        ",
    );
}
