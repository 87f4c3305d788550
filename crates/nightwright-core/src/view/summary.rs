//! What is said of a run when it is over: data here, words about it in the shell.

use std::time::Duration;

use super::{GateView, RunView, WORK};
use crate::event::{GateResult, Spend, VerdictKind};
use crate::outcome::{Outcome, Proof, Tone, Unchecked};
use crate::permissions::denial::Refused;
use crate::units::{Iteration, RunId, Tokens, Usd, human};

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
    pub denied: Vec<Refused>,
    /// Warnings on the way.
    pub warnings: u32,
    /// What to do next, one plain sentence each.
    pub next: Vec<String>,
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
            unit: if name == WORK { "attempt" } else { "call" },
            spend: *spend,
        };
        let mut purposes: Vec<_> = self.totals.by_purpose.iter().map(by_name).collect();
        // Stable, so the others stay in the order of their names.
        purposes.sort_by_key(|purpose| purpose.name != WORK);
        purposes
    }

    /// What to do next, by how the run ended.
    fn next_steps(&self, run: &RunId) -> Vec<String> {
        if self.is_only_the_gate() {
            return self.after_judgement();
        }
        let Some(ending) = &self.ending else {
            return vec![format!(
                "`nightwright resume {run}` goes on with it if its process is gone"
            )];
        };
        let again = format!("`nightwright resume {run} --again`");
        let then = |first: &str| format!("{first}, then {again}");
        match &ending.outcome {
            Outcome::Completed { proof: Proof::Checks, .. } => {
                vec!["review the changes".to_owned()]
            }
            Outcome::Completed { proof: Proof::Model, unchecked } => vec![
                "review the changes: no check has verified them".to_owned(),
                next_check(*unchecked),
            ],
            Outcome::Completed { proof: Proof::None, unchecked } => vec![
                "review the changes: nothing has verified them".to_owned(),
                next_check(*unchecked),
            ],
            Outcome::MaxIterations { .. }
            | Outcome::MaxCost { .. }
            | Outcome::MaxDuration { .. }
            | Outcome::MaxTokens { .. } => raise_limit(run, &ending.outcome),
            Outcome::Stagnated { .. } | Outcome::NoChanges { .. } => {
                vec![then("say more exactly what is to be done")]
            }
            Outcome::Blocked { .. } => vec![then("give it what it needs")],
            Outcome::Unverified { .. } => vec![then("mend what keeps it from passing")],
            Outcome::Stopped | Outcome::Interrupted => {
                vec![format!("{again} goes on where it stopped")]
            }
            Outcome::Failed { .. } => vec![then("clear what made it fail")],
            Outcome::ConsecutiveErrors { .. } => vec![format!("{again} tries once more")],
            Outcome::AllIterationsFailed { limit, .. } => {
                let mut steps = vec!["fix the cause of the failures first".to_owned()];
                steps.extend(raise_limit(run, limit));
                steps
            }
            Outcome::Auth { why } => vec![then(&self.access(why))],
            Outcome::BadAgent { .. } => {
                vec![then(&format!(
                    "start `{}` once by hand and mend what it complains about",
                    self.agent_name()
                ))]
            }
            // A run keeps the hooks that it began with.
            Outcome::HookAbort { .. } => vec![
                then("mend what the hook complains about"),
                "if it is the hook that was wrong: mend it and begin a new run".to_owned(),
            ],
            Outcome::LimitWaitTooLong { .. } => vec![format!("once the limit has ended: {again}")],
            Outcome::DiskFull { .. } => vec![then("free some disk space")],
            // Its end may not be on record, and then there is no end to go on after.
            Outcome::JournalFailed { .. } => {
                vec![format!(
                    "make sure that the disk can be written, then `nightwright resume {run}`"
                )]
            }
            Outcome::PullRequestFailed { .. } => {
                vec!["the work is in its branch: make the pull request by hand".to_owned()]
            }
        }
    }

    /// Who only judged has nothing to go on with.
    fn after_judgement(&self) -> Vec<String> {
        let task = self.facts.as_ref().and_then(|facts| facts.task.as_deref()).unwrap_or("NAME");
        let again = format!("`nightwright verify {task}`");
        match self.ending.as_ref().map(|ending| &ending.outcome) {
            Some(Outcome::Completed { .. }) => vec!["review the changes".to_owned()],
            Some(Outcome::Unverified { .. }) => {
                vec![format!("mend what keeps it from passing, then {again}")]
            }
            Some(
                Outcome::MaxIterations { .. }
                | Outcome::MaxCost { .. }
                | Outcome::MaxDuration { .. }
                | Outcome::MaxTokens { .. }
                | Outcome::Stagnated { .. }
                | Outcome::NoChanges { .. }
                | Outcome::Blocked { .. }
                | Outcome::Stopped
                | Outcome::Interrupted
                | Outcome::Failed { .. }
                | Outcome::ConsecutiveErrors { .. }
                | Outcome::AllIterationsFailed { .. }
                | Outcome::Auth { .. }
                | Outcome::BadAgent { .. }
                | Outcome::HookAbort { .. }
                | Outcome::LimitWaitTooLong { .. }
                | Outcome::DiskFull { .. }
                | Outcome::JournalFailed { .. }
                | Outcome::PullRequestFailed { .. },
            )
            | None => vec![format!("{again} judges it once more")],
        }
    }

    /// What gives the agent access to its provider again.
    fn access(&self, why: &str) -> String {
        // A login does not help where a key is used instead.
        if why.contains("API key") {
            "set the API key (`ANTHROPIC_API_KEY`) to one that is valid, or unset it".to_owned()
        } else if why.contains("redit balance") {
            "give the account more credit".to_owned()
        } else {
            format!("log in: start `{}` once by hand", self.agent_name())
        }
    }

    fn agent_name(&self) -> &str {
        match &self.facts {
            Some(facts) if !facts.agent.name.is_empty() => &facts.agent.name,
            Some(_) | None => "claude",
        }
    }
}

/// How the next run can be verified.
fn next_check(unchecked: Option<Unchecked>) -> String {
    match unchecked {
        Some(Unchecked::NoChecks) | None => {
            "give the next run a check: `nightwright init`, or `--verify COMMAND`".to_owned()
        }
        Some(Unchecked::PassedBefore | Unchecked::UnknownBefore) => {
            "give the next run a check that fails until the work is done: `--verify COMMAND`"
                .to_owned()
        }
    }
}

fn quoted(commands: &[String]) -> Vec<String> {
    commands.iter().map(|command| format!("`{command}`")).collect()
}

/// How to continue a run that this limit ended.
fn raise_limit(run: &RunId, limit: &Outcome) -> Vec<String> {
    match limit {
        Outcome::MaxIterations { limit } => {
            more_room(run, "max-iterations", &limit.saturating_mul(2).to_string())
        }
        Outcome::MaxCost { limit } => {
            more_room(run, "max-cost", (*limit + *limit).exact().trim_start_matches('$'))
        }
        Outcome::MaxDuration { limit } => {
            let twice = human(limit.saturating_mul(2)).replace(' ', "");
            more_room(run, "max-duration", &twice)
        }
        Outcome::MaxTokens { limit } => {
            more_room(run, "max-tokens", &limit.saturating_mul(2).to_string())
        }
        // No other outcome is a limit.
        _ => Vec::new(),
    }
}

/// The three ways on from a limit: resume, raise, look.
fn more_room(run: &RunId, flag: &str, twice: &str) -> Vec<String> {
    vec![
        format!("`nightwright resume {run} --{flag} {twice}` goes on with more room"),
        format!("or begin a new run with `--{flag} {twice}`"),
        format!("look at what was done: `nightwright log {run}`"),
    ]
}

/// `a`, `a and b`, `a, b and c`.
fn and(parts: &[String]) -> String {
    match parts {
        [] => "nothing".to_owned(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
