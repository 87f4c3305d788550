//! The last iterations, described for the next one so that it does not repeat what failed.

use crate::event::{GateResult, IterationFinished, IterationResult};
use crate::failing::Failing;
use crate::phrases;
use crate::prompt::{quoted, writes};
use crate::units::Iteration;

/// The maximum length of an iteration's own summary, in characters.
pub(super) const SUMMARY_CHARS: usize = 200;
/// The maximum length of the reason of a rejection or a failure, in characters.
pub(super) const REASON_CHARS: usize = 200;

/// The facts about one of the last iterations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EarlierIteration {
    pub iteration: Iteration,
    /// The agent's own words about what it did.
    pub summary: String,
    pub files_changed: u32,
    pub commits: u32,
    /// How much failed afterwards, if it is known.
    pub failing: Option<Failing>,
    /// Why its claim was refuted, or why it failed.
    pub refuted: Option<String>,
    /// The number of open boxes of the checklist afterwards.
    pub open: Option<u32>,
}

impl EarlierIteration {
    /// The number of iterations that are remembered.
    pub const MAX: usize = 4;

    /// The facts of an iteration that has ended.
    pub fn of(finished: &IterationFinished, gate: Option<&GateResult>) -> Self {
        let refuted = match (&finished.result, gate) {
            (IterationResult::Failed { why, .. }, _) => Some(format!("failed: {why}")),
            (_, Some(GateResult::Rejected { why })) if finished.is_claimed() => {
                Some(format!("claimed completion, rejected: {why}"))
            }
            (_, Some(GateResult::Rejected { why })) => Some(format!("not complete: {why}")),
            (_, Some(_) | None) => None,
        };
        Self {
            iteration: finished.iteration,
            summary: quoted(&finished.summary, SUMMARY_CHARS),
            files_changed: finished.files_changed,
            commits: finished.commits,
            failing: finished.checks.map(|checks| checks.failing),
            refuted: refuted.map(|why| quoted(&why, REASON_CHARS)),
            open: finished.checklist.map(|checklist| checklist.open),
        }
    }
}

/// The facts about the last iterations, oldest first. The summary of the last one follows in full
/// in the part about this iteration.
pub(crate) fn earlier(iterations: &[EarlierIteration]) -> String {
    let mut text =
        "Recorded by nightwright, with the agent's own words in quotation marks. Do not \
                    repeat what failed.\n"
            .to_owned();
    for (index, facts) in iterations.iter().enumerate() {
        let mut parts: Vec<String> = Vec::new();
        if !facts.summary.is_empty() && index + 1 < iterations.len() {
            parts.push(format!("“{}”", facts.summary));
        }
        let changes: Vec<_> = phrases::changes(facts.files_changed, facts.commits).collect();
        let changes = if changes.is_empty() { "no changes".to_owned() } else { changes.join(", ") };
        parts.push(changes);
        parts.extend(facts.failing.map(phrases::failing));
        parts.extend(facts.refuted.clone());
        parts.extend(facts.open.map(|open| match open {
            0 => "no unchecked checkbox".to_owned(),
            1 => "1 unchecked checkbox".to_owned(),
            open => format!("{open} unchecked checkboxes"),
        }));
        let name = match facts.iteration {
            Iteration(0) => "Verification".to_owned(),
            number => format!("Iteration {number}"),
        };
        writes(&mut text, format_args!("\n- {name}: {}", parts.join("; ")));
    }
    text
}
