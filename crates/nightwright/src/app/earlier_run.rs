//! An earlier run whose work is judged by hand.

use nightwright_core::input::CheckResult;

use crate::workspace::Baseline;

/// The start of an earlier run whose work is judged.
#[derive(Clone, Debug)]
pub(crate) struct EarlierRun {
    /// The project.
    pub(crate) tree: Baseline,
    /// What the checks came to before its first iteration, if they were run then.
    pub(crate) checks: Option<Vec<CheckResult>>,
}
