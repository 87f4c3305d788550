//! Events of the gate (checks, tamper inspection, verdict), and of the checks before the first
//! iteration and after each.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::group::event_group;
use crate::input::{Changes, CheckPurpose, CheckResult, TamperFinding};
use crate::outcome::{Outcome, Proof};
use crate::settings::EvidenceKind;
use crate::units::{Fingerprint, Iteration};

event_group! {
    /// The gate, and the checks before the first iteration and after each.
    GateEvent {
        /// The agent claimed completion, and the gate began to verify the claim.
        "gate_started" => Started {
            /// The iteration that made the claim.
            iteration: Iteration,
            /// The evidence of the claim.
            claim: Vec<EvidenceKind>,
        },
        /// nightwright was about to run the checks.
        "checks_started" => ChecksStarted {
            /// The purpose of these checks.
            purpose: CheckPurpose,
            /// The commands of the checks.
            commands: Vec<String>,
        },
        /// The checks ended; the result of the gate applies to the project as they left it.
        "checks_finished" => ChecksFinished {
            /// The purpose of these checks.
            purpose: CheckPurpose,
            /// When the checks gave these results on the same tree, in this run or an earlier one;
            /// absent if the checks ran now.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            reused_from: Option<Timestamp>,
            /// The results, one per command.
            results: Vec<CheckResult>,
            /// The fingerprint of the project after the checks; the verdict applies only to it.
            fingerprint: Fingerprint,
            /// Files that the checks wrote, relative to the project. A name that ends with `/` is a
            /// folder with everything in it. These files do not count as work for the rest of the
            /// run.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            outputs: Vec<String>,
            /// The flaky checks. They passed only on rerun, or their result differs from the last
            /// one although the project did not change.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            flaky: Vec<String>,
            /// The results outside the sandbox of the checks that failed inside, before the first
            /// iteration.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            outside: Vec<CheckResult>,
        },
        /// The gate inspected the changes since the start of the run for tampering.
        "changes_inspected" => ChangesInspected {
            /// The findings; empty if there are none.
            findings: Vec<TamperFinding>,
            /// The changed files and lines since the start of the run.
            #[serde(default)]
            changes: Changes,
        },
        /// A model gave its verdict on a claim.
        "verdict_given" => VerdictGiven {
            /// The model's verdict on the claim.
            verdict: VerdictKind,
            /// The reason that the model gave.
            reason: String,
            /// The missing work, in the model's words.
            missing: Vec<String>,
        },
        /// The gate accepted or rejected the claim.
        "gate_finished" => Finished {
            /// The gate's decision and the reason for it.
            #[serde(flatten)]
            result: GateResult,
        },
    }
}

/// A model's verdict on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictKind {
    /// The model considers the work complete.
    Yes,
    /// The model considers the work incomplete.
    No,
    /// The model twice gave no readable verdict.
    Inconclusive,
}

/// The decision of the gate.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum GateResult {
    /// The gate accepted the claim.
    Passed {
        /// The proof that the completion rests on.
        proof: Proof,
    },
    /// The gate rejected the claim.
    Rejected {
        /// The reason for the rejection.
        why: String,
    },
    /// The gate accepted the agent's report that the task is impossible as specified.
    Impossible {
        /// The reason and the evidence, in the agent's words.
        why: String,
    },
    /// The gate could neither accept nor reject the claim.
    Inconclusive {
        /// Why the gate reached no decision.
        why: String,
    },
    /// The required model call did not fit into the limits.
    Unaffordable {
        /// The limit that ends the run.
        outcome: Outcome,
    },
}
