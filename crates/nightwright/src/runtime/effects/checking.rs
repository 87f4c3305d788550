//! Runs the checks, for the gate or for the baseline before the first iteration.

use std::ffi::OsString;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use nightwright_core::input::{CheckReport, CheckResult, CheckVerdict, Input};
use nightwright_core::machine::ledger::State;
use nightwright_core::policy::outputs::TouchedFiles;
use nightwright_core::units::Ticket;
use tokio::sync::mpsc;

use super::EffectExecutor;
use crate::agent::environment;
use crate::process::StopHandle;
use crate::runtime::checks::CheckRunner;
use crate::runtime::observer::WorkspaceObserver;
use crate::store::baseline_cache::{BaselineCache, CachedBaseline};
use crate::workspace::Snapshot;

/// Variables of the user's environment that checks do not get.
#[derive(Clone, Debug, Default)]
pub(super) struct WithheldVariables {
    pub(super) names: Vec<String>,
    /// The warning about them, shown once.
    pub(super) line: Arc<Mutex<Option<String>>>,
}

impl WithheldVariables {
    fn take_line(&self) -> Option<String> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Whether a check may have failed because of a withheld variable. In the baseline, failing tests
/// are normal.
fn may_lack_a_variable(result: &CheckResult, is_baseline: bool) -> bool {
    match result.verdict {
        CheckVerdict::Failed { .. } => !is_baseline || result.tests.is_none(),
        CheckVerdict::Passed
        | CheckVerdict::Flaky
        | CheckVerdict::TimedOut
        | CheckVerdict::NotStarted { .. }
        | CheckVerdict::Interrupted => false,
    }
}

impl EffectExecutor {
    pub(super) fn run_checks(
        &mut self,
        ticket: Ticket,
        budget: Option<Duration>,
        state: &State,
        news: &mpsc::Sender<Input>,
    ) {
        let checks = CheckRunner {
            verify: state.settings.verify.clone(),
            project: self.project.clone(),
            environment: self.environment_of_checks(state),
            containment: self.containment.clone(),
            folder: self.folder.path().to_owned(),
            temp: self.temp.clone(),
            secrets: self.secrets.clone(),
            iteration: state.current().map_or(0, |current| current.iteration.0),
            before: state.baseline.clone().unwrap_or_default(),
        };
        let baselines = BaselineCache::of(self.folder.project_folder());
        let stop = StopHandle::default();
        let observer = Arc::clone(&self.workspace);
        let withheld = self.withheld.clone();
        let (news, stopped) = (news.clone(), stop.clone());
        let task = tokio::spawn(async move {
            let (before, results, reused) = match budget {
                None => {
                    let before =
                        observer.lock().unwrap_or_else(PoisonError::into_inner).now.clone();
                    (before, checks.run(&stopped).await, None)
                }
                Some(budget) => {
                    take_baseline(&checks, budget, &observer, &baselines, &stopped).await
                }
            };
            let tree = before.as_ref().map(Snapshot::fingerprint);
            let look = tokio::task::spawn_blocking(move || {
                let mut observer = observer.lock().unwrap_or_else(PoisonError::into_inner);
                let (mark, evidence, touches) = observer.observe_after_checks(before.as_ref());
                let mut warnings = std::mem::take(&mut observer.warnings);
                warnings.extend(evidence.warnings);
                (mark.fingerprint, touches, warnings)
            });
            if let Ok((fingerprint, TouchedFiles { mut outputs, changed }, mut warnings)) =
                look.await
            {
                if results.iter().any(|result| may_lack_a_variable(result, budget.is_some())) {
                    warnings.extend(withheld.take_line());
                }
                let reused_from = reused.as_ref().map(|reused| reused.at);
                match (reused, budget, tree) {
                    (Some(reused), ..) => outputs.extend(reused.outputs),
                    (None, Some(_), Some(fingerprint)) => {
                        let commands = checks.verify.commands.clone();
                        let (results, outputs) = (results.clone(), outputs.clone());
                        // If this fails, the next run runs the checks again.
                        let _ = baselines.keep(CachedBaseline {
                            commands,
                            fingerprint,
                            at: Timestamp::now(),
                            results,
                            outputs,
                        });
                    }
                    (None, ..) => {}
                }
                let withheld = withheld.names;
                let report = CheckReport {
                    results,
                    fingerprint,
                    reused_from,
                    outputs,
                    withheld,
                    changed,
                    warnings,
                };
                // A closed queue means that the run has ended.
                let _ = news.send(Input::Checked(ticket, report)).await;
            }
        });
        self.checks = Some((ticket, stop, task));
    }

    fn environment_of_checks(&self, state: &State) -> Vec<(OsString, OsString)> {
        let mut all = self.environment.clone();
        let place = environment::LaunchContext {
            run: self.folder.id(),
            task: state.settings.task.as_deref(),
            iteration: state.current().map_or(0, |current| current.iteration.0),
        };
        environment::add_for_check(&mut all, place);
        all
    }
}

/// Runs all checks on the project before the first iteration, or returns the results of an earlier
/// run on the same tree.
async fn take_baseline(
    checks: &CheckRunner,
    budget: Duration,
    observer: &Arc<Mutex<WorkspaceObserver>>,
    baselines: &BaselineCache,
    stop: &StopHandle,
) -> (Option<Snapshot>, Vec<CheckResult>, Option<CachedBaseline>) {
    let looks = Arc::clone(observer);
    let look = move || looks.lock().unwrap_or_else(PoisonError::into_inner).observe().0;
    let before = tokio::task::spawn_blocking(look).await.ok();
    let tree = before.as_ref().map(Snapshot::fingerprint);
    let commands = &checks.verify.commands;
    let found = tree.and_then(|tree| baselines.find(commands, &tree, Timestamp::now()));
    if let Some(found) = found {
        return (before, found.results.clone(), Some(found));
    }
    (before, checks.run_all(budget, stop).await, None)
}
