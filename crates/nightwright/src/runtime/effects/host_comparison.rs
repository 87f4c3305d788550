//! Compares the sandbox with the machine: runs a check that failed inside once more outside, before
//! the agent exists.

use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nightwright_core::baseline;
use nightwright_core::input::CheckResult;
use nightwright_core::sandbox::hints::{self, HintContext, HostNeeds};

use super::check_runner::CheckRunner;
use crate::process::StopHandle;

/// The results outside the sandbox, and the needs that they reveal.
#[derive(Debug, Default)]
pub(super) struct HostComparison {
    pub(super) outside: Vec<CheckResult>,
    pub(super) needs: Vec<HostNeeds>,
}

impl HostComparison {
    /// Runs the checks outside that failed inside, within the time that the baseline has left.
    pub(super) async fn run(
        checks: &CheckRunner,
        inside: &[CheckResult],
        budget: Duration,
        stop: &StopHandle,
    ) -> Self {
        let mut found = Self::default();
        if checks.sandbox.is_none() {
            return found;
        }
        let used: Duration = inside.iter().map(|result| result.duration).sum();
        let mut left = budget.saturating_sub(used);
        for (index, result) in inside.iter().enumerate() {
            if !baseline::is_compared(result) || left.is_zero() {
                continue;
            }
            let said = checks.whole_output(result);
            let home = env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
            let existing = existing(&said, &home).await;
            let limit = left.min(checks.deadline(&result.command));
            let name = format!("baseline-{}-outside", index + 1);
            let outside = checks.run_outside(&result.command, &name, limit, stop).await;
            left = left.saturating_sub(outside.duration);
            if outside.verdict.is_pass() {
                let project = real(&checks.project);
                let context = HintContext { home: &home, project: &project, existing: &existing };
                let needs = hints::needs(&said, &checks.whole_output(&outside), context);
                found.needs.push(HostNeeds { command: result.command.clone(), needs });
            }
            found.outside.push(outside);
        }
        found
    }
}

/// The files of the machine that the output may be about.
async fn existing(said: &str, home: &Path) -> BTreeSet<PathBuf> {
    let candidates = hints::candidates(said, home);
    let looking = tokio::task::spawn_blocking(move || {
        candidates.into_iter().filter(|path| path.symlink_metadata().is_ok()).collect()
    });
    // A file system that does not respond ends the run later.
    looking.await.unwrap_or_default()
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
