//! Every outcome of a run, with its exit code.

use crate::machine::story::story;
use crate::outcome::{Outcome, Strictness, samples};

/// Returns a story for each outcome, with the name of the outcome.
fn outcome_stories() -> Vec<(&'static str, String)> {
    let mut stories: Vec<(&'static str, &'static str)> = vec![
        ("completed", "> start\n> iteration A->B promise"),
        ("stagnated", "given threshold 1\n> start\n> iteration A->A"),
        ("no_changes", "given threshold 1, mode build\n> start\n> iteration A->A"),
        ("max_iterations", "given max_iterations 1\n> start\n> iteration A->B"),
        ("max_cost", "given max_cost 1, reserve 0\n> start\n> iteration A->B $1"),
        ("max_tokens", "given max_tokens 9\n> start\n> iteration A->B tokens=9"),
        (
            "max_duration",
            "given max_duration 1m\n> start\n> prepared A\n> wait 1m\n> agent finishes\n> surveyed B",
        ),
        ("blocked", "> start\n> iteration A->A blocker=key\n> iteration A->A blocker=key"),
        ("stopped", "> start\n> prepared A\n> stop\n> agent finishes\n> surveyed B"),
        ("failed", "> start\n> iteration A->B status:failed"),
        ("consecutive_errors", "given max_errors 1\n> start\n> prepared A\n> agent fails refused"),
        (
            "all_iterations_failed",
            "given max_iterations 1\n> start\n> prepared A\n> agent fails refused",
        ),
        ("auth", "> start\n> prepared A\n> agent fails auth"),
        ("bad_agent", "> start\n> prepared A\n> agent fails bad_start"),
        ("checks_cannot_run", "given checks, baseline\n> start\n> checks missing"),
        ("check_needs_host", "given sandbox, checks, baseline\n> start\n> checks fail-inside"),
        ("hook_abort", "given hook started\n> start\n> hook aborts"),
        ("limit_wait_too_long", "> start\n> prepared A\n> agent fails usage_limited until=99h"),
        ("impossible", "given model auto\n> start\n> iteration A->A impossible=it\n> call yes"),
        ("disk_full", "> start\n> prepared A disk 1/2"),
        ("project_unresponsive", "> start\n> project hangs"),
        ("journal_failed", "> start\n> journal fails\n> prepared A"),
        ("journal_damaged", "> start\n> journal damaged\n> prepared A"),
        ("sandbox_failed", "> start\n> prepared A\n> crash\n> continue without sandbox"),
        ("interrupted", "> start\n> prepared A\n> signal\n> agent exits"),
    ];
    let unverified = "given checks\n> start\n\
        > iteration A->B promise\n> checks fail boom\n\
        > iteration B->C promise\n> checks fail boom\n\
        > iteration C->D promise\n> checks fail boom";
    stories.push(("unverified", unverified));
    stories.into_iter().map(|(name, text)| (name, text.to_owned())).collect()
}

#[test]
fn every_outcome_is_reached_by_a_story() {
    let stories = outcome_stories();
    for sample in samples() {
        let (_, text) = stories
            .iter()
            .find(|(name, _)| *name == sample.name())
            .unwrap_or_else(|| panic!("no story ends as {}", sample.name()));
        assert_eq!(story(text).outcome().name(), sample.name());
    }
}

#[test]
fn every_outcome_has_its_exit_code() {
    let expected = [
        ("completed", 0, 0),
        ("stagnated", 0, 4),
        ("no_changes", 0, 4),
        ("max_iterations", 0, 3),
        ("max_cost", 0, 3),
        ("max_duration", 0, 3),
        ("max_tokens", 0, 3),
        ("blocked", 0, 5),
        ("impossible", 0, 5),
        ("unverified", 0, 6),
        ("stopped", 0, 7),
        ("failed", 1, 1),
        ("consecutive_errors", 1, 1),
        ("all_iterations_failed", 1, 1),
        ("auth", 1, 1),
        ("bad_agent", 1, 1),
        ("checks_cannot_run", 2, 2),
        ("check_needs_host", 2, 2),
        ("hook_abort", 1, 1),
        ("limit_wait_too_long", 1, 1),
        ("disk_full", 1, 1),
        ("project_unresponsive", 1, 1),
        ("journal_failed", 1, 1),
        ("journal_damaged", 1, 1),
        ("sandbox_failed", 1, 1),
        ("interrupted", 130, 130),
    ];
    let codes: Vec<_> = samples()
        .iter()
        .map(|outcome| {
            let lenient = outcome.exit_code(Strictness::Lenient);
            (outcome.name(), lenient, outcome.exit_code(Strictness::RequireComplete))
        })
        .collect();
    assert_eq!(codes, expected);
}

#[test]
fn every_outcome_survives_the_journal() {
    for outcome in samples() {
        let text = serde_json::to_string(&outcome).unwrap();
        assert_eq!(serde_json::from_str::<Outcome>(&text).unwrap(), outcome);
        assert!(text.contains(outcome.name()), "{text}");
    }
}

#[test]
fn the_sentences_are_those_that_users_know() {
    let sentence =
        |name: &str| samples().iter().find(|outcome| outcome.name() == name).unwrap().sentence(4);
    assert_eq!(sentence("completed"), "Task completed successfully after 4 iterations");
    assert_eq!(sentence("stagnated"), "Stagnation detected: 3 consecutive iterations with no work");
    assert_eq!(sentence("no_changes"), "No changes in 2 iterations");
    assert_eq!(sentence("max_iterations"), "Reached maximum iterations (10)");
    assert_eq!(sentence("stopped"), "Stopped after iteration 4, as requested");
    assert_eq!(Outcome::Stopped.sentence(0), "Stopped before the first iteration, as requested");
}
