//! The effect that requests checks, before the first iteration, after each and for the gate: what
//! surrounds the commands, which [`CheckRunner`] runs. It looks at the project before and after
//! them, and reuses a baseline of an earlier run on the same tree.

use std::ffi::OsString;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use nightwright_core::baseline;
use nightwright_core::input::{CheckPurpose, CheckReport, CheckResult, Input, TimerKey};
use nightwright_core::machine::ledger::State;
use nightwright_core::policy::gains::Reruns;
use nightwright_core::policy::limits;
use nightwright_core::policy::outputs::TouchedFiles;
use nightwright_core::units::{Fingerprint, Ticket};
use tokio::sync::mpsc;

use super::EffectExecutor;
use super::check_runner::CheckRunner;
use super::host_comparison::HostComparison;
use crate::agent::environment;
use crate::process::StopHandle;
use crate::runtime::observer::WorkspaceObserver;
use crate::store::baseline_cache::{BaselineCache, CachedBaseline, CheckConditions};
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

impl EffectExecutor {
    pub(super) fn run_checks(
        &mut self,
        ticket: Ticket,
        purpose: CheckPurpose,
        budget: Option<Duration>,
        state: &State,
        news: &mpsc::Sender<Input>,
    ) {
        let checks = CheckRunner {
            verify: state.settings.verify.clone(),
            project: self.project.clone(),
            environment: self.environment_of_checks(state),
            containment: self.containment.clone(),
            sandbox: self.sandbox.clone(),
            folder: self.folder.path().to_owned(),
            temp: self.temp.clone(),
            secrets: self.secrets.clone(),
            iteration: state.current().map_or(0, |current| current.iteration.0),
            before: state.baseline.clone().unwrap_or_default(),
            reruns: Reruns::of(purpose, &state.settings.verify, &state.checks),
        };
        let job = CheckJob {
            checks,
            purpose,
            budget,
            observer: Arc::clone(&self.workspace),
            baselines: BaselineCache::of(self.folder.project_folder()),
            conditions: CheckConditions {
                commands: state.settings.verify.commands.clone(),
                outside: state.settings.verify.outside.clone(),
                sandbox: state.settings.sandbox.clone(),
            },
            withheld: self.withheld.clone(),
        };
        let stop = StopHandle::default();
        let (news, stopped) = (news.clone(), stop.clone());
        let task = tokio::spawn(async move {
            let input = match job.run(&stopped).await {
                Some(report) => Input::Checked(ticket, report),
                None => Input::Timer(TimerKey::Project(ticket)),
            };
            // A closed queue means that the run has ended.
            let _ = news.send(input).await;
        });
        self.checks = Some((ticket, stop, task));
    }

    fn environment_of_checks(&self, state: &State) -> Vec<(OsString, OsString)> {
        let mut all = self.environment.clone();
        let place = environment::ProgramContext {
            run: self.folder.id(),
            task: state.settings.task.as_deref(),
            iteration: state.current().map_or(0, |current| current.iteration.0),
        };
        environment::add_for_check(&mut all, place);
        all
    }
}

/// All checks, run once.
struct CheckJob {
    checks: CheckRunner,
    purpose: CheckPurpose,
    /// The time for all of them together, if it is limited.
    budget: Option<Duration>,
    observer: Arc<Mutex<WorkspaceObserver>>,
    baselines: BaselineCache,
    /// The conditions under which a later run reuses the results.
    conditions: CheckConditions,
    withheld: WithheldVariables,
}

/// The results of the checks, and the project on which they ran.
struct Measured {
    before: Option<Snapshot>,
    results: Vec<CheckResult>,
    /// The earlier run that they were taken over from.
    reused: Option<CachedBaseline>,
    /// The comparison with the machine outside the sandbox.
    host: HostComparison,
}

/// The effect of the checks on the project.
struct ChecksAftermath {
    fingerprint: Fingerprint,
    touched: TouchedFiles,
    warnings: Vec<String>,
}

impl CheckJob {
    /// The report; `None` if the project does not respond.
    async fn run(self, stop: &StopHandle) -> Option<CheckReport> {
        let Measured { before, results, reused, host } = match self.purpose {
            CheckPurpose::Progress | CheckPurpose::Gate => {
                let before = lock(&self.observer).now.clone();
                let results = self.checks.run(stop).await;
                Measured { before, results, reused: None, host: HostComparison::default() }
            }
            CheckPurpose::Baseline => self.take_baseline(stop).await?,
        };
        let tree = before.as_ref().map(Snapshot::fingerprint);
        let ChecksAftermath { fingerprint, touched, mut warnings } = self.look(before).await?;
        let TouchedFiles { mut outputs, rewritten, changed } = touched;
        let purpose = self.purpose;
        if results.iter().any(|result| baseline::may_lack_a_variable(result, purpose)) {
            warnings.extend(self.withheld.take_line());
        }
        if baseline::is_kept(purpose, reused.is_some(), &self.checks.verify.commands, &results)
            && let Some(tree) = tree
        {
            self.keep(tree, &results, &outputs);
        }
        let reused_from = reused.as_ref().map(|reused| reused.at);
        outputs.extend(reused.into_iter().flat_map(|reused| reused.outputs));
        let withheld = self.withheld.names;
        Some(CheckReport {
            results,
            fingerprint,
            reused_from,
            outputs,
            rewritten,
            withheld,
            changed,
            warnings,
            outside: host.outside,
            host_needs: host.needs,
        })
    }

    /// Runs all checks on the project as it is before the first iteration, or finds the results of
    /// an earlier run on the same tree.
    async fn take_baseline(&self, stop: &StopHandle) -> Option<Measured> {
        let observer = Arc::clone(&self.observer);
        let before = Some(look_at_project(move || lock(&observer).observe().0).await?);
        let tree = before.as_ref().map(Snapshot::fingerprint);
        let conditions = &self.conditions;
        let found = tree.and_then(|tree| self.baselines.find(conditions, &tree, Timestamp::now()));
        if let Some(found) = found {
            let results = found.results.clone();
            let host = HostComparison::default();
            return Some(Measured { before, results, reused: Some(found), host });
        }
        let budget = self.budget.unwrap_or(Duration::MAX);
        let results = self.checks.run_all(budget, stop).await;
        let host = HostComparison::run(&self.checks, &results, budget, stop).await;
        Some(Measured { before, results, reused: None, host })
    }

    /// Looks at the project after the checks.
    async fn look(&self, before: Option<Snapshot>) -> Option<ChecksAftermath> {
        let observer = Arc::clone(&self.observer);
        look_at_project(move || {
            let mut observer = lock(&observer);
            let (mark, evidence, touched) = observer.observe_after_checks(before.as_ref());
            let mut warnings = std::mem::take(&mut observer.warnings);
            warnings.extend(evidence.warnings);
            ChecksAftermath { fingerprint: mark.fingerprint, touched, warnings }
        })
        .await
    }

    fn keep(&self, fingerprint: Fingerprint, results: &[CheckResult], outputs: &[String]) {
        // Without the file, the next run measures again.
        let _ = self.baselines.keep(CachedBaseline {
            conditions: self.conditions.clone(),
            fingerprint,
            at: Timestamp::now(),
            results: results.to_vec(),
            outputs: outputs.to_vec(),
        });
    }
}

/// Looks at the project on another thread; `None` if it does not respond in time.
async fn look_at_project<T: Send + 'static>(
    look: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let looking = tokio::task::spawn_blocking(look);
    tokio::time::timeout(limits::PROJECT_TIMEOUT, looking).await.ok()?.ok()
}

fn lock(observer: &Mutex<WorkspaceObserver>) -> MutexGuard<'_, WorkspaceObserver> {
    observer.lock().unwrap_or_else(PoisonError::into_inner)
}
