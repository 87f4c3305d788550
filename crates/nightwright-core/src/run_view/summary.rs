//! The final summary of a run, as data. The program formats it.

use std::time::Duration;

use super::{GateView, NextStep, RunView};
use crate::event::{GateResult, Spend, Totals};
use crate::outcome::{Outcome, Proof, Tone};
use crate::permissions::denial::DeniedCommand;
use crate::phrases;
use crate::results::Verification;
use crate::units::{RunId, Tokens, Usd};

/// The final summary of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    pub run: RunId,
    /// Why the run ended; `None` if it has not.
    pub outcome: Option<Outcome>,
    /// How good the outcome is.
    pub tone: Tone,
    /// The outcome in one sentence.
    pub reason: String,
    /// Additional information about the outcome.
    pub note: Option<String>,
    pub iterations: u32,
    pub attempts: u32,
    pub commits: u32,
    /// Number of files changed, each counted once if they were compared with the start of the run.
    pub files_changed: u32,
    /// Working time, without waits and pauses.
    pub duration: Duration,
    /// Time spent waiting for limits.
    pub waited: Duration,
    pub cost: Usd,
    /// Whether this is a rehearsal, so that the cost was not really spent.
    pub is_rehearsal: bool,
    /// The estimated part of the cost.
    pub estimated: Usd,
    pub tokens: Tokens,
    /// Cost and tokens by purpose: work first, then the others by name.
    pub purposes: Vec<PurposeSpend>,
    /// The result of the last claim.
    pub verification: Verification,
    /// The commands and tools that the agent was denied.
    pub denied: Vec<DeniedCommand>,
    /// Number of warnings that the current process of the run has shown.
    pub warnings: u32,
    pub next: Vec<NextStep>,
}

impl Summary {
    /// The result of the verification, unless the outcome or its note mentions it.
    pub fn verified(&self) -> Option<String> {
        let is_mentioned =
            self.note.is_some() || matches!(self.outcome, Some(Outcome::Unverified { .. }));
        match &self.verification {
            Verification::NotAccepted { .. } if is_mentioned => None,
            verification => verification.sentence(),
        }
    }
}

/// Cost and tokens for one purpose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PurposeSpend {
    pub name: String,
    /// The unit that is counted: `attempt` or `call`.
    pub unit: &'static str,
    pub spend: Spend,
}

impl RunView {
    /// Returns the final summary. The run's id appears in the commands that resume it.
    pub fn summary(&self, run: &RunId) -> Summary {
        let totals = &self.totals;
        let outcome = self.finished.as_ref().map(|finished| &finished.outcome);
        Summary {
            run: run.clone(),
            outcome: outcome.cloned(),
            tone: outcome.map_or(Tone::Mixed, Outcome::tone),
            reason: match outcome {
                Some(outcome) => outcome.sentence(totals.iterations),
                None => "The run has not ended".to_owned(),
            },
            note: self.finished.as_ref().and_then(|finished| finished.note.clone()),
            iterations: totals.iterations,
            attempts: totals.attempts,
            commits: totals.commits,
            files_changed: self.files_changed,
            duration: totals.duration,
            waited: totals.waited,
            cost: totals.cost,
            is_rehearsal: self.is_rehearsal(),
            estimated: totals.estimated,
            tokens: totals.tokens,
            purposes: self.purposes(),
            verification: self.verification(),
            denied: self.denied.clone(),
            warnings: self.warnings.saturating_sub(self.earlier_warnings),
            next: self.next_steps(run),
        }
    }

    /// Returns the result of the last claim of completion.
    pub fn verification(&self) -> Verification {
        let Some(GateView { iteration, checks, verdict, result: Some(result), .. }) = &self.gate
        else {
            return Verification::NoClaim;
        };
        let outcome = self.finished.as_ref().map(|finished| &finished.outcome);
        let not_accepted =
            |why: &str| Verification::NotAccepted { iteration: *iteration, why: why.to_owned() };
        match result {
            // The run continued after its completion, so the old claim no longer applies.
            GateResult::Passed { .. } if !matches!(outcome, Some(Outcome::Completed { .. })) => {
                Verification::NoClaim
            }
            GateResult::Passed { proof } => {
                let commands = checks.iter().map(|check| check.command.clone()).collect();
                match proof {
                    Proof::Checks => Verification::Verified { commands, verdict: *verdict },
                    Proof::Model => Verification::Judged { commands },
                    Proof::None => Verification::NotVerified { commands },
                }
            }
            GateResult::Rejected { why } | GateResult::Inconclusive { why } => not_accepted(why),
            // The outcome says it.
            GateResult::Impossible { .. } => Verification::NoClaim,
            GateResult::Unaffordable { .. } => not_accepted(phrases::NO_BUDGET_FOR_VERDICT),
        }
    }

    fn purposes(&self) -> Vec<PurposeSpend> {
        let by_name = |(name, spend): (&String, &Spend)| PurposeSpend {
            name: name.clone(),
            unit: if name == Totals::WORK { "attempt" } else { "call" },
            spend: *spend,
        };
        let mut purposes: Vec<_> = self.totals.by_purpose.iter().map(by_name).collect();
        // The sort is stable, so the other purposes stay ordered by name.
        purposes.sort_by_key(|purpose| purpose.name != Totals::WORK);
        purposes
    }
}
