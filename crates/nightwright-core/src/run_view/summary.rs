//! What is said of a run when it is over: data here, words about it in the shell.

use std::time::Duration;

use super::{GateView, NextStep, RunView};
use crate::event::{GateResult, Spend, Totals, VerdictKind};
use crate::outcome::{Outcome, Proof, Tone};
use crate::permissions::denial::DeniedCommand;
use crate::units::{Iteration, RunId, Tokens, Usd};

/// What a run came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The run.
    pub run: RunId,
    /// How it ended; `None` if it has not.
    pub outcome: Option<Outcome>,
    /// How good an ending that is.
    pub tone: Tone,
    /// The ending in one sentence.
    pub reason: String,
    /// What else there is to say about it.
    pub note: Option<String>,
    /// Iterations finished.
    pub iterations: u32,
    /// Attempts.
    pub attempts: u32,
    /// Commits.
    pub commits: u32,
    /// Files changed, summed over the iterations.
    pub files_changed: u32,
    /// Time at work.
    pub duration: Duration,
    /// Time spent waiting for limits.
    pub waited: Duration,
    /// What it all cost.
    pub cost: Usd,
    /// Whether nobody spent that: the agent is a script.
    pub is_rehearsal: bool,
    /// The part of the cost that is an estimate.
    pub estimated: Usd,
    /// All tokens.
    pub tokens: Tokens,
    /// Cost and tokens by purpose: work first, then the others by name.
    pub purposes: Vec<PurposeSpend>,
    /// What was verified.
    pub verification: Verification,
    /// What the agent was not allowed to do.
    pub denied: Vec<DeniedCommand>,
    /// Warnings on the way.
    pub warnings: u32,
    /// What to do next.
    pub next: Vec<NextStep>,
}

/// What one purpose came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PurposeSpend {
    /// Its name.
    pub name: String,
    /// What is counted: `attempt` or `call`.
    pub unit: &'static str,
    /// What it came to.
    pub spend: Spend,
}

/// What became of the last claim of completion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verification {
    /// There was none, or its gate came to no end.
    NoClaim,
    /// Checks confirmed it.
    Verified {
        /// The checks that passed.
        commands: Vec<String>,
        /// Whether a model said so, too.
        verdict: Option<VerdictKind>,
    },
    /// A model accepted it, and passing checks could not show anything.
    Judged {
        /// Checks that passed before the run as well, or whose result then is unknown.
        commands: Vec<String>,
    },
    /// It was accepted, and nothing spoke for it.
    NotVerified {
        /// Checks that passed before the run as well, or whose result then is unknown.
        commands: Vec<String>,
    },
    /// It was not believed.
    NotBelieved {
        /// In which iteration.
        iteration: Iteration,
        /// Why.
        why: String,
    },
}

impl Verification {
    /// In a sentence; `None` if there is nothing to say.
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
                Some("a model judged it complete; no checks are configured".to_owned())
            }
            Self::Judged { commands } => Some(format!(
                "a model judged it complete; passing {} proves nothing new",
                and(&quoted(commands))
            )),
            Self::NotVerified { commands } if commands.is_empty() => {
                Some("not verified: no checks are configured and no model was asked".to_owned())
            }
            Self::NotVerified { commands } => Some(format!(
                "not verified: passing {} proves nothing new, and no model was asked",
                and(&quoted(commands))
            )),
            Self::NotBelieved { iteration: Iteration(0), why } => {
                Some(format!("not believed: {}", why.trim_end_matches('.')))
            }
            Self::NotBelieved { iteration, why } => {
                let why = why.trim_end_matches('.');
                Some(format!("claimed complete in iteration {iteration}, and not believed: {why}"))
            }
        }
    }
}

impl RunView {
    /// What is said when the run is over. The run's name is for the commands that go on with it.
    pub fn summary(&self, run: &RunId) -> Summary {
        let totals = &self.totals;
        let outcome = self.ending.as_ref().map(|ending| &ending.outcome);
        Summary {
            run: run.clone(),
            outcome: outcome.cloned(),
            tone: outcome.map_or(Tone::Mixed, Outcome::tone),
            reason: match outcome {
                Some(outcome) => outcome.sentence(totals.iterations),
                None => "The run has not ended".to_owned(),
            },
            note: self.ending.as_ref().and_then(|ending| ending.note.clone()),
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
            warnings: self.warnings,
            next: self.next_steps(run),
        }
    }

    fn verification(&self) -> Verification {
        let Some(GateView { iteration, checks, verdict, result: Some(result), .. }) = &self.gate
        else {
            return Verification::NoClaim;
        };
        let outcome = self.ending.as_ref().map(|ending| &ending.outcome);
        let not_believed =
            |why: &str| Verification::NotBelieved { iteration: *iteration, why: why.to_owned() };
        match result {
            // A run that went on after its completion is about something else by now.
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
            GateResult::Rejected { why, .. } | GateResult::Inconclusive { why } => {
                not_believed(why)
            }
            GateResult::Unaffordable { .. } => {
                not_believed("what is left of the limits is too little to ask a model")
            }
        }
    }

    fn purposes(&self) -> Vec<PurposeSpend> {
        let by_name = |(name, spend): (&String, &Spend)| PurposeSpend {
            name: name.clone(),
            unit: if name == Totals::WORK { "attempt" } else { "call" },
            spend: *spend,
        };
        let mut purposes: Vec<_> = self.totals.by_purpose.iter().map(by_name).collect();
        // Stable, so the others stay in the order of their names.
        purposes.sort_by_key(|purpose| purpose.name != Totals::WORK);
        purposes
    }
}

fn quoted(commands: &[String]) -> Vec<String> {
    commands.iter().map(|command| format!("`{command}`")).collect()
}

/// `a`, `a and b`, `a, b and c`.
fn and(parts: &[String]) -> String {
    match parts {
        [] => "nothing".to_owned(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
