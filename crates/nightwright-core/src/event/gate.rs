//! The gate: checks, tamper inspection and verdict; and the checks before the first iteration.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::group::event_group;
use crate::input::{Changes, CheckPurpose, CheckResult, TamperFinding};
use crate::outcome::{Outcome, Proof};
use crate::settings::EvidenceKind;
use crate::units::{Fingerprint, Iteration};

event_group! {
    /// The gate, and the checks before the first iteration.
    GateEvent {
        /// The agent claimed completion, and the gate began to verify the claim.
        "gate_started" => Started {
            /// The iteration.
            iteration: Iteration,
            /// The evidence of the claim.
            claim: Vec<EvidenceKind>,
        },
        /// The checks were about to be run.
        "checks_started" => ChecksStarted {
            /// What they are run for.
            purpose: CheckPurpose,
            /// The commands.
            commands: Vec<String>,
        },
        /// The checks ended; the verdict is bound to the state of the project after them.
        "checks_finished" => ChecksFinished {
            /// What they were run for.
            purpose: CheckPurpose,
            /// When the results were measured, if an earlier run on the same tree measured them.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            reused_from: Option<Timestamp>,
            /// One for each command.
            results: Vec<CheckResult>,
            /// The project after them: the verdict is bound to it.
            fingerprint: Fingerprint,
            /// Files that the checks wrote, relative to the project; a name that ends with `/` is a
            /// folder with everything in it. They do not count as work for the rest of the run.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            outputs: Vec<String>,
        },
        /// The changes since the start of the run were inspected for tampering.
        "changes_inspected" => ChangesInspected {
            /// What was found.
            findings: Vec<TamperFinding>,
            /// What changed, in figures.
            #[serde(default)]
            changes: Changes,
        },
        /// A model gave its verdict on a claim.
        "verdict_given" => VerdictGiven {
            /// The verdict.
            verdict: VerdictKind,
            /// The model's reason.
            reason: String,
            /// What is missing.
            missing: Vec<String>,
        },
        /// The gate accepted or rejected the claim.
        "gate_finished" => Finished {
            /// The decision.
            #[serde(flatten)]
            result: GateResult,
        },
    }
}

/// What a model said to a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictKind {
    /// The work is complete.
    Yes,
    /// It is not.
    No,
    /// It gave no verdict that could be read, twice.
    Inconclusive,
}

/// What the gate came to.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum GateResult {
    /// The claim is believed.
    Passed {
        /// Whether anything was checked.
        proof: Proof,
    },
    /// It is not.
    Rejected {
        /// Why.
        why: String,
        /// Identifies a failure of the same checks with the same output on the same tree.
        failure: Option<String>,
    },
    /// Nobody could tell.
    Inconclusive {
        /// Why not.
        why: String,
    },
    /// The model that was needed did not fit into the limits.
    Unaffordable {
        /// The limit that ends the run.
        ending: Outcome,
    },
}
