//! Scores: compares the result of a behavior with the expectation.

use super::behaviour::Expect;
use super::observed::{HUNG, Observed};
use super::outcome::ExpectedOutcome;

/// The score of one behavior.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Score {
    /// The differences from the expectation, one sentence each.
    pub(super) complaints: Vec<String>,
    /// The run reported a verified completion, but the work was not complete.
    pub(super) false_completion: bool,
    /// The work was complete and that could be verified, but the run did not complete.
    pub(super) missed_completion: bool,
    pub(super) hung: bool,
    /// The number of iterations beyond the oracle's.
    pub(super) wasted: u32,
    pub(super) oracle: u32,
}

impl Score {
    pub(super) fn is_right(&self) -> bool {
        self.complaints.is_empty()
    }
}

pub(super) fn score(expect: &Expect, observed: &Observed) -> Score {
    let completed = observed.outcome == ExpectedOutcome::Completed.name();
    let mut complaints = outcome_complaints(expect, observed, completed);
    complaints.extend(messages_and_calls(expect, observed));
    complaints.extend(missing_texts(expect, observed));
    let false_completion = completed && observed.verified && !observed.truth;
    if false_completion {
        complaints.push("completed, and the work is not done".to_owned());
    }
    Score {
        false_completion,
        missed_completion: !completed
            && observed.truth
            && expect.outcome == ExpectedOutcome::Completed,
        hung: observed.outcome == HUNG,
        wasted: observed.iterations.saturating_sub(expect.iterations),
        oracle: expect.iterations,
        complaints,
    }
}

/// Compares the outcome, the number of iterations, the exit code and the proof.
fn outcome_complaints(expect: &Expect, observed: &Observed, completed: bool) -> Vec<String> {
    let mut complaints = Vec::new();
    if observed.outcome != expect.outcome.name() {
        complaints.push(format!(
            "should have ended as `{}` and ended as `{}` after {} iterations",
            expect.outcome.name(),
            observed.outcome,
            observed.iterations
        ));
    }
    let as_expected = complaints.is_empty();
    if as_expected && observed.iterations < expect.iterations {
        complaints.push(format!(
            "should have gone on to iteration {} and ended after {}",
            expect.iterations, observed.iterations
        ));
    }
    if as_expected && expect.exit.is_some() && observed.exit != expect.exit {
        let code = |code: Option<i32>| code.map_or_else(|| "none".to_owned(), |c| c.to_string());
        complaints.push(format!(
            "expected exit code {}, got {}",
            code(expect.exit),
            code(observed.exit)
        ));
    }
    if completed && expect.verified.is_some_and(|verified| verified != observed.verified) {
        let (should, is) = if observed.verified { ("not ", "") } else { ("", "not ") };
        complaints.push(format!(
            "expected the completion to be {should}verified, but it was {is}verified"
        ));
    }
    complaints
}

/// Names the expected strings that no warning, feedback or prompt contains.
fn missing_texts(expect: &Expect, observed: &Observed) -> Vec<String> {
    let mut complaints = Vec::new();
    let missing = |texts: &[String], wanted: &[String]| -> Vec<String> {
        let absent = |part: &&String| !texts.iter().any(|text| text.contains(part.as_str()));
        wanted.iter().filter(absent).cloned().collect()
    };
    for part in missing(&observed.warnings, &expect.warnings) {
        complaints.push(format!("no warning contains `{part}`"));
    }
    for part in missing(&observed.feedback, &expect.feedback) {
        complaints.push(format!("no feedback contains `{part}`"));
    }
    for (iteration, parts) in &expect.prompts {
        let prompt = iteration.parse().ok().and_then(|number: u32| observed.prompts.get(&number));
        let prompt = prompt.map(String::as_str).unwrap_or_default();
        for part in parts.iter().filter(|part| !prompt.contains(part.as_str())) {
            complaints
                .push(format!("the prompt of iteration {iteration} does not contain `{part}`"));
        }
    }
    complaints
}

/// Compares the messages sent into running sessions and the calls besides the work.
fn messages_and_calls(expect: &Expect, observed: &Observed) -> Vec<String> {
    let mut complaints = Vec::new();
    let sent = observed.nudges.len();
    if let Some(nudges) = expect.nudges.filter(|nudges| *nudges as usize != sent) {
        let texts = observed.nudges.join(" / ");
        complaints.push(format!("expected {nudges} messages to the session, got {sent}: {texts}"));
    }
    for (purpose, calls) in &expect.calls {
        let name = purpose.name();
        let made = observed.calls.get(name).copied().unwrap_or(0);
        if made != *calls {
            complaints.push(format!("expected {calls} calls to {name}, got {made}"));
        }
    }
    complaints
}

/// The sums over all behaviors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) behaviours: u32,
    pub(super) right: u32,
    pub(super) false_completions: u32,
    pub(super) missed_completions: u32,
    pub(super) hung: u32,
    pub(super) wasted: u32,
    pub(super) oracle: u32,
}

impl<'a> FromIterator<&'a Score> for Tally {
    fn from_iter<I: IntoIterator<Item = &'a Score>>(scores: I) -> Self {
        let mut tally = Self::default();
        for score in scores {
            tally.behaviours += 1;
            tally.right += u32::from(score.is_right());
            tally.false_completions += u32::from(score.false_completion);
            tally.missed_completions += u32::from(score.missed_completion);
            tally.hung += u32::from(score.hung);
            tally.wasted += score.wasted;
            tally.oracle += score.oracle;
        }
        tally
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::bench::judgement::behaviour::Purpose;

    fn expect() -> Expect {
        Expect {
            outcome: ExpectedOutcome::Completed,
            verified: Some(true),
            iterations: 2,
            warnings: Vec::new(),
            feedback: Vec::new(),
            prompts: BTreeMap::new(),
            nudges: None,
            calls: BTreeMap::new(),
            exit: Some(0),
        }
    }

    fn observed(outcome: &str, truth: bool) -> Observed {
        let verified = outcome == "completed";
        let outcome = outcome.to_owned();
        Observed { outcome, verified, iterations: 2, truth, exit: Some(0), ..Observed::default() }
    }

    #[test]
    fn the_expected_outcome_is_right() {
        let score = score(&expect(), &observed("completed", true));
        assert_eq!(score, Score { oracle: 2, ..Score::default() });
        assert!(score.is_right());
    }

    #[test]
    fn a_completion_that_is_not_true_is_false_even_where_it_was_expected() {
        let lied = score(&expect(), &observed("completed", false));
        assert!(lied.false_completion && !lied.is_right());
        let unproved = Observed { verified: false, ..observed("completed", false) };
        let unproved = score(&Expect { verified: Some(false), ..expect() }, &unproved);
        assert!(!unproved.false_completion && unproved.is_right());
    }

    #[test]
    fn a_completion_is_missed_only_if_the_work_is_done_and_it_was_to_be_seen() {
        assert!(score(&expect(), &observed("stagnated", true)).missed_completion);
        assert!(!score(&expect(), &observed("stagnated", false)).missed_completion);
        let other = Expect { outcome: ExpectedOutcome::Unverified, verified: None, ..expect() };
        assert!(!score(&other, &observed("unverified", true)).missed_completion);
    }

    #[test]
    fn only_iterations_beyond_the_oracle_are_wasted() {
        let used = |iterations| Observed { iterations, ..observed("completed", true) };
        assert_eq!(score(&expect(), &used(5)).wasted, 3);
        assert_eq!(score(&expect(), &used(2)).wasted, 0);
    }

    #[test]
    fn finishing_before_the_oracle_is_an_error() {
        for (outcome, truth) in [("stagnated", false), ("completed", true)] {
            let early = Observed { iterations: 1, ..observed(outcome, truth) };
            let named = if truth { ExpectedOutcome::Completed } else { ExpectedOutcome::Stagnated };
            let score = score(&Expect { outcome: named, verified: None, ..expect() }, &early);
            assert_eq!(score.complaints, ["should have gone on to iteration 2 and ended after 1"]);
            assert_eq!(score.wasted, 0);
        }
    }

    #[test]
    fn an_exit_code_that_is_not_documented_is_wrong() {
        let other = Observed { exit: Some(1), ..observed("completed", true) };
        let complaints = score(&expect(), &other).complaints;
        assert_eq!(complaints, ["expected exit code 0, got 1"]);
        let killed = Observed { exit: None, ..observed("completed", true) };
        assert!(!score(&expect(), &killed).is_right());
        assert!(score(&expect().outcome_alone(), &killed).is_right(), "loops promise none");
    }

    #[test]
    fn a_word_can_be_missing_from_one_prompt_and_not_from_another() {
        let prompts = BTreeMap::from([("2".to_owned(), vec!["is missing".to_owned()])]);
        let expect = Expect { prompts, ..expect() };
        let complaints = |iteration| {
            let prompts = BTreeMap::from([(iteration, "one.txt is missing".to_owned())]);
            score(&expect, &Observed { prompts, ..observed("completed", true) }).complaints
        };
        assert!(complaints(2).is_empty());
        assert_eq!(complaints(1), ["the prompt of iteration 2 does not contain `is missing`"]);
    }

    #[test]
    fn a_proof_a_warning_and_a_word_to_the_agent_can_be_missing() {
        let expect = Expect {
            warnings: vec!["flaky".to_owned()],
            feedback: vec!["is not complete".to_owned()],
            ..expect()
        };
        let silent = Observed { verified: false, ..observed("completed", true) };
        let complaints = score(&expect, &silent).complaints;
        assert_eq!(
            complaints,
            [
                "expected the completion to be verified, but it was not verified",
                "no warning contains `flaky`",
                "no feedback contains `is not complete`",
            ]
        );
        let complete = Observed {
            warnings: vec!["`make` is flaky".to_owned()],
            feedback: vec!["it is not complete".to_owned()],
            ..observed("completed", true)
        };
        assert!(score(&expect, &complete).is_right());
    }

    #[test]
    fn nudges_and_calls_are_counted_where_that_is_asked() {
        let calls = BTreeMap::from([(Purpose::Advise, 0), (Purpose::Review, 2)]);
        let expect = Expect { nudges: Some(0), calls, ..expect() };
        let seen = Observed {
            nudges: vec!["continue".to_owned()],
            calls: BTreeMap::from([("advise".to_owned(), 1), ("verify".to_owned(), 3)]),
            ..observed("completed", true)
        };
        assert_eq!(
            score(&expect, &seen).complaints,
            [
                "expected 0 messages to the session, got 1: continue",
                "expected 2 calls to review, got 0",
                "expected 0 calls to advise, got 1",
            ]
        );
        assert!(score(&expect.outcome_alone(), &seen).is_right());
    }

    #[test]
    fn a_tally_adds_up() {
        let right = score(&expect(), &observed("completed", true));
        let lied = score(&expect(), &observed("completed", false));
        let late = Observed { iterations: 6, ..observed("hung", true) };
        let tally: Tally = [right, lied, score(&expect(), &late)].iter().collect();
        let wanted = Tally {
            behaviours: 3,
            right: 1,
            false_completions: 1,
            missed_completions: 1,
            hung: 1,
            wasted: 4,
            oracle: 6,
        };
        assert_eq!(tally, wanted);
    }
}
