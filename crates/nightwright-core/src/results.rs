//! The results of a run, its iterations and its claims, as views and reports state them.

use serde::Serialize;

use crate::event::{GateResult, IterationFinished, IterationResult, Progress, VerdictKind};
use crate::units::Iteration;

/// The overall result of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportStatus {
    /// Completed, and confirmed by checks.
    Verified,
    /// Completed in the judgement of a model.
    Judged,
    /// Completed by the agent's claim alone.
    NotVerified,
    /// The run ended without completion.
    NotDone,
    Running,
    /// Not ended, and no process controls the run.
    Crashed,
    /// A rehearsal that has ended; no real work was done, whatever its outcome.
    Rehearsed,
    /// Unknown, because the journal cannot be read to its end.
    Unknown,
}

/// The result of an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum IterationStatus {
    /// The gate accepted its claim.
    Accepted,
    /// The gate rejected its claim.
    Rejected,
    /// The gate reached no verdict on its claim.
    Unverified,
    /// The gate accepted the report that the task is impossible.
    Impossible,
    /// The iteration moved the project forward.
    Work,
    /// Nothing changed, but nightwright accepted the agent's report that it worked.
    WorkReported,
    Idle,
    Failed,
    Interrupted,
    Running,
}

impl IterationStatus {
    /// The result of an iteration that has ended. The gate may decide its claim later.
    pub fn of(finished: &IterationFinished, gate: Option<&GateResult>) -> Self {
        match finished.result {
            IterationResult::Failed { .. } => return Self::Failed,
            IterationResult::Interrupted => return Self::Interrupted,
            IterationResult::Done => {}
        }
        match (gate, finished.progress) {
            (Some(GateResult::Passed { .. }), _) => Self::Accepted,
            (Some(GateResult::Rejected { .. }), _) => Self::Rejected,
            (Some(GateResult::Impossible { .. }), _) => Self::Impossible,
            (Some(GateResult::Inconclusive { .. } | GateResult::Unaffordable { .. }), _) => {
                Self::Unverified
            }
            (None, Progress::Work) => Self::Work,
            (None, Progress::WorkReported) => Self::WorkReported,
            (None, Progress::Uncounted) if finished.files_changed > 0 || finished.commits > 0 => {
                Self::Work
            }
            (None, Progress::Idle | Progress::Uncounted) => Self::Idle,
        }
    }
}

/// The gate's decision on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimOutcome {
    /// The gate has not decided yet.
    Open,
    /// Accepted, and confirmed by checks.
    Verified,
    /// Accepted by a model.
    Judged,
    /// Accepted on the agent's claim alone.
    NotVerified,
    Rejected,
    /// The gate accepted the report that the task is impossible.
    Impossible,
    /// The gate could neither accept nor reject the claim.
    Inconclusive,
    /// The remaining budget did not suffice for the required model call.
    Unaffordable,
}

/// The result of the last completion claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verification {
    /// There was no claim, or its gate did not finish.
    NoClaim,
    /// The claim is confirmed by checks.
    Verified {
        /// The checks that passed.
        commands: Vec<String>,
        /// The verdict of a model, if one was called.
        verdict: Option<VerdictKind>,
    },
    /// A model accepted the claim; passing checks do not prove it.
    Judged {
        /// Checks that also passed before the run, or whose earlier result is unknown.
        commands: Vec<String>,
    },
    /// The claim was accepted without any proof.
    NotVerified {
        /// Checks that also passed before the run, or whose earlier result is unknown.
        commands: Vec<String>,
    },
    /// The gate did not accept the claim.
    NotAccepted {
        /// The iteration that made the claim.
        iteration: Iteration,
        why: String,
    },
}
