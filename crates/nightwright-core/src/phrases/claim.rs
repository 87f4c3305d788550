//! Phrases for claims: their evidence, the verdict of a model, and the result of the gate.

use crate::event::{GateResult, SecondOpinion, VerdictKind};
use crate::outcome::Proof;
use crate::results::{ClaimOutcome, Verification};
use crate::settings::EvidenceKind;
use crate::units::Iteration;

/// Why no model gave a verdict although one was required.
pub const NO_BUDGET_FOR_VERDICT: &str = "the remaining budget is too small to ask a model";

/// The source of a claim, or why the gate runs without one.
fn evidence(kind: EvidenceKind) -> &'static str {
    match kind {
        EvidenceKind::Status => "the status file",
        EvidenceKind::Todo => "the checklist",
        EvidenceKind::Plan => "the plan",
        EvidenceKind::Planned => "the written plan",
        EvidenceKind::Promise => "the completion marker",
        EvidenceKind::Signal => "the completion signal",
        EvidenceKind::EndPhrase => "the end phrase",
        EvidenceKind::NoProgress => "no claim: the gate runs before the run ends without progress",
        EvidenceKind::ChecksPass => "no claim: all checks pass",
        EvidenceKind::Impossible => "the report that the task is impossible",
        EvidenceKind::Asked => "requested with `nightwright verify`",
    }
}

/// The sources of a claim: `claimed by the status file, the completion marker`.
pub fn claimed_by(kinds: &[EvidenceKind]) -> String {
    match kinds {
        [EvidenceKind::Impossible] => "the agent reports that the task is impossible".to_owned(),
        [alone @ (EvidenceKind::NoProgress | EvidenceKind::ChecksPass | EvidenceKind::Asked)] => {
            evidence(*alone).to_owned()
        }
        kinds => {
            let kinds: Vec<_> = kinds.iter().map(|kind| evidence(*kind)).collect();
            format!("claimed by {}", kinds.join(", "))
        }
    }
}

/// The verdict of a model on this claim. `second` is the source of a second opinion.
pub fn verdict(
    verdict: VerdictKind,
    claim: &[EvidenceKind],
    second: Option<SecondOpinion>,
) -> String {
    let is_about_impossibility = claim == [EvidenceKind::Impossible];
    let answer = match (verdict, is_about_impossibility) {
        (VerdictKind::Yes, true) => "impossible",
        (VerdictKind::No, true) => "possible",
        (VerdictKind::Yes, false) => "complete",
        (VerdictKind::No, false) => "not complete",
        (VerdictKind::Inconclusive, _) => "unreadable",
    };
    let source = if second.is_some() { "a second opinion" } else { "a model's verdict" };
    format!("{source}: {answer}")
}

/// The name of a completion, by its proof. Only checks verify it.
pub(super) fn completion(proof: Proof) -> &'static str {
    match proof {
        Proof::Checks => "completed and verified",
        Proof::Model => "judged complete by a model",
        Proof::None => "completed, not verified",
    }
}

/// The name of an accepted claim, by its proof. Only checks verify it.
pub fn accepted(proof: Proof) -> &'static str {
    match proof {
        Proof::Checks => "verified",
        Proof::Model => "judged complete by a model",
        Proof::None => "accepted, not verified",
    }
}

/// The result of the gate: `rejected: a test is missing`.
pub fn gate_result(result: &GateResult) -> String {
    match result {
        GateResult::Passed { proof } => accepted(*proof).to_owned(),
        GateResult::Rejected { why, .. } => format!("rejected: {}", without_stop(why)),
        GateResult::Impossible { .. } => "a model agrees that the task is impossible".to_owned(),
        GateResult::Inconclusive { why } => format!("not verified: {}", without_stop(why)),
        GateResult::Unaffordable { .. } => format!("not verified: {NO_BUDGET_FOR_VERDICT}"),
    }
}

/// The result of a claim in one or two words.
pub fn claim_outcome(outcome: ClaimOutcome) -> &'static str {
    match outcome {
        ClaimOutcome::Open => "not decided yet",
        ClaimOutcome::Verified => accepted(Proof::Checks),
        ClaimOutcome::Judged => accepted(Proof::Model),
        ClaimOutcome::NotVerified => accepted(Proof::None),
        ClaimOutcome::Rejected => "rejected",
        ClaimOutcome::Impossible => "judged impossible by a model",
        ClaimOutcome::Inconclusive | ClaimOutcome::Unaffordable => "not verified",
    }
}

impl Verification {
    /// Returns the result as a sentence; `None` if there is nothing to report.
    pub fn sentence(&self) -> Option<String> {
        match self {
            Self::NoClaim => None,
            Self::Verified { commands, verdict } => {
                let mut by = quoted(commands);
                if *verdict == Some(VerdictKind::Yes) {
                    by.push("a model's verdict".to_owned());
                }
                Some(format!("verified by {}", and(&by)))
            }
            Self::Judged { commands } if commands.is_empty() => {
                Some("judged complete by a model, without checks".to_owned())
            }
            Self::Judged { commands } => Some(format!(
                "judged complete by a model; {} did not fail before the run",
                and(&quoted(commands))
            )),
            Self::NotVerified { commands } if commands.is_empty() => {
                Some("not verified: there are no checks, and no model judged the work".to_owned())
            }
            Self::NotVerified { commands } => Some(format!(
                "not verified: {} did not fail before the run, and no model judged the work",
                and(&quoted(commands))
            )),
            Self::NotAccepted { iteration: Iteration(0), why } => {
                Some(format!("not accepted: {}", without_stop(why)))
            }
            Self::NotAccepted { iteration, why } => {
                let why = without_stop(why);
                Some(format!("claim of iteration {iteration} not accepted: {why}"))
            }
        }
    }
}

fn without_stop(text: &str) -> &str {
    text.trim_end_matches('.')
}

fn quoted(commands: &[String]) -> Vec<String> {
    commands.iter().map(|command| format!("`{command}`")).collect()
}

/// Joins a list: `a`, `a and b`, `a, b and c`.
fn and(parts: &[String]) -> String {
    match parts {
        [] => "nothing".to_owned(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
