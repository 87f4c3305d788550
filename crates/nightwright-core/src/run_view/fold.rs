//! The fold of a run view: how each event changes it.

use jiff::Timestamp;

use super::estimate::FirstProgress;
use super::{
    Activity, CurrentIteration, FinalOutcome, GateView, MAX_BLOCKERS, RECENT, RECENT_WARNINGS,
    RunFacts, RunView,
};
use crate::baseline::{BaselineStatus, status};
use crate::event::{
    AgentFacts, AttemptEvent, CallEvent, CallPurpose, Continuation, Event, GateEvent,
    IterationEvent, IterationFinished, IterationResult, NoteEvent, OperatorEvent, Record, RunEvent,
    RunStarted, WaitEvent,
};
use crate::failing::Failing;
use crate::input::{CheckPurpose, CheckResult, TaskProgress, WorkspaceMark};
use crate::permissions::denial::DeniedCommand;
use crate::phrases;
use crate::settings::{SettingChange, Settings};
use crate::stream::news::Blocker;
use crate::units::AttemptId;

impl RunView {
    pub(super) fn fold(&mut self, record: &Record) {
        self.at = Some(record.at);
        self.totals.duration = record.active;
        if let Some(charge) = record.event.charge() {
            self.totals.add(charge);
        }
        match &record.event {
            Event::Run(event) => self.fold_run(event, record.at),
            Event::Iteration(event) => self.fold_iteration(event, record.at),
            Event::Attempt(AttemptEvent::Started { attempt, .. }) => self.attempt_started(*attempt),
            Event::Attempt(AttemptEvent::Finished { report, .. }) => {
                self.doing = Activity::Checking;
                self.last_attempt = Some(report.outcome.clone());
            }
            Event::Attempt(AttemptEvent::PermissionDenied { tool, command, rule, .. }) => {
                let (tool, command, rule) = (tool.clone(), command.clone(), rule.clone());
                self.tool_denied(DeniedCommand { tool, command, rule });
            }
            Event::Call(event) => self.fold_call(event),
            Event::Wait(event) => self.fold_wait(event),
            Event::Gate(event) => self.fold_gate(event, record.at),
            Event::Operator(event) => self.fold_operator(event),
            Event::Note(NoteEvent::StatusChanged { progress, .. }) => self.progressed(*progress),
            Event::Note(NoteEvent::BlockerReported { blocker }) => self.blocker_reported(blocker),
            Event::Note(NoteEvent::PrinciplesAdopted { principles }) => {
                self.principles = Some(principles.clone());
            }
            Event::Note(
                NoteEvent::HookFailed { .. }
                | NoteEvent::HostRefused { .. }
                | NoteEvent::Warning { .. },
            ) => {
                let phrase = phrases::event(&record.event, false);
                self.warned(phrase.map(|phrase| phrase.text).unwrap_or_default());
            }
            Event::Attempt(_) | Event::Note(_) => {}
        }
    }

    fn fold_run(&mut self, event: &RunEvent, at: Timestamp) {
        match event {
            RunEvent::Started(started) => self.run_started(started, at),
            RunEvent::Continued { why } => self.run_continued(*why),
            RunEvent::Finished { outcome, note, .. } => {
                self.doing = Activity::Ended;
                let (outcome, note) = (outcome.clone(), note.clone());
                self.finished = Some(FinalOutcome { outcome, note });
            }
        }
    }

    fn fold_iteration(&mut self, event: &IterationEvent, at: Timestamp) {
        match event {
            IterationEvent::Started { iteration, kind, start, .. } => {
                self.doing = Activity::Starting;
                self.seen(Some(start));
                let (number, kind) = (*iteration, *kind);
                self.iteration =
                    Some(CurrentIteration { number, kind, attempts: 0, started_at: at });
            }
            IterationEvent::Skipped { .. } => self.doing = Activity::Between,
            IterationEvent::Finished(finished) => {
                self.doing = Activity::Between;
                self.iteration_finished(finished);
            }
        }
    }

    fn attempt_started(&mut self, attempt: AttemptId) {
        self.doing = Activity::Working { attempt };
        self.totals.attempts = self.totals.attempts.saturating_add(1);
        if let Some(current) = &mut self.iteration {
            current.attempts = current.attempts.saturating_add(1);
        }
    }

    fn tool_denied(&mut self, denied: DeniedCommand) {
        if !self.denied.contains(&denied) {
            self.denied.push(denied);
        }
    }

    fn fold_call(&mut self, event: &CallEvent) {
        match event {
            CallEvent::Started { purpose, second_opinion, .. } => {
                self.doing = Activity::Asking { purpose: *purpose };
                if *purpose == CallPurpose::Verify {
                    self.at_gate(|gate| gate.second_opinion = *second_opinion);
                }
            }
            CallEvent::Finished { .. } => self.doing = Activity::Checking,
            CallEvent::Cancelled { .. } => {}
        }
    }

    fn fold_wait(&mut self, event: &WaitEvent) {
        match event {
            WaitEvent::RetryScheduled { at_time: at, why } => {
                self.doing = Activity::Retrying { at: *at, why: why.clone() };
            }
            WaitEvent::Started { limit, retry_at, .. } => {
                self.doing = Activity::Waiting { limit: *limit, retry_at: *retry_at };
            }
            WaitEvent::Ended { waited, .. } => {
                self.doing = Activity::Starting;
                self.totals.waited = self.totals.waited.saturating_add(*waited);
            }
            WaitEvent::QuotaReported { .. } => {}
        }
    }

    fn fold_gate(&mut self, event: &GateEvent, at: Timestamp) {
        if let GateEvent::ChecksFinished { flaky, .. } = event {
            self.flaky.extend(flaky.iter().cloned());
        }
        match event {
            GateEvent::Started { iteration, claim } => {
                self.doing = Activity::Checking;
                let (iteration, claim) = (*iteration, claim.clone());
                self.gate = Some(GateView { iteration, at, claim, ..GateView::default() });
            }
            GateEvent::ChecksStarted { purpose, commands } => {
                self.doing = Activity::Checking;
                match purpose {
                    CheckPurpose::Baseline | CheckPurpose::Progress => {
                        self.other_checks.clone_from(commands);
                    }
                    CheckPurpose::Gate => self.at_gate(|gate| gate.commands.clone_from(commands)),
                }
            }
            GateEvent::ChecksFinished {
                purpose: purpose @ (CheckPurpose::Baseline | CheckPurpose::Progress),
                results,
                ..
            } => {
                self.doing = match purpose {
                    CheckPurpose::Baseline => Activity::Starting,
                    CheckPurpose::Progress | CheckPurpose::Gate => Activity::Checking,
                };
                self.other_checks.clear();
                self.measured(results, *purpose);
            }
            GateEvent::ChecksFinished {
                purpose: CheckPurpose::Gate, results, reused_from, ..
            } => {
                self.at_gate(|gate| gate.checks.clone_from(results));
                if reused_from.is_none() {
                    self.measured(results, CheckPurpose::Gate);
                }
            }
            GateEvent::ChangesInspected { findings, changes } => self.at_gate(|gate| {
                gate.inspected = true;
                gate.findings.clone_from(findings);
                gate.changes.clone_from(changes);
            }),
            GateEvent::VerdictGiven { verdict, reason, missing } => self.at_gate(|gate| {
                gate.verdict = Some(*verdict);
                gate.reason.clone_from(reason);
                gate.missing.clone_from(missing);
            }),
            GateEvent::Finished { result } => {
                self.at_gate(|gate| gate.result = Some(result.clone()));
            }
        }
    }

    fn fold_operator(&mut self, event: &OperatorEvent) {
        match event {
            OperatorEvent::StopRequested { when, .. } => self.stop = self.stop.max(Some(*when)),
            OperatorEvent::StopCancelled => self.stop = None,
            OperatorEvent::Paused => self.paused = true,
            OperatorEvent::Resumed => self.paused = false,
            OperatorEvent::RetryRefused => {}
            OperatorEvent::SettingsChanged { change, .. } => self.setting_changed(change),
        }
    }

    /// Adds results of the checks that were measured now. A baseline counts only if each check had
    /// a result.
    fn measured(&mut self, results: &[CheckResult], purpose: CheckPurpose) {
        let is_usable = |result: &CheckResult| status(result) != BaselineStatus::Unknown;
        if purpose == CheckPurpose::Baseline && !results.iter().all(is_usable) {
            return;
        }
        if let Some(failing) = Failing::of(results) {
            self.failing.add(failing);
        }
    }

    fn warned(&mut self, text: String) {
        self.warnings = self.warnings.saturating_add(1);
        if self.recent_warnings.len() >= RECENT_WARNINGS {
            self.recent_warnings.pop_front();
        }
        self.recent_warnings.push_back(text);
    }

    fn progressed(&mut self, progress: Option<TaskProgress>) {
        let Some(progress) = progress else { return };
        let beginning =
            FirstProgress { completed: progress.completed, iterations: self.totals.iterations };
        self.beginning.get_or_insert(beginning);
        self.progress = Some(progress);
    }

    fn blocker_reported(&mut self, blocker: &Blocker) {
        if self.blockers.len() < MAX_BLOCKERS {
            self.blockers.push(blocker.clone());
        } else {
            self.more_blockers = self.more_blockers.saturating_add(1);
        }
    }

    fn run_started(&mut self, started: &RunStarted, at: Timestamp) {
        let RunStarted { settings, agent, project, git_head, .. } = started;
        self.doing = Activity::Starting;
        self.started_at = Some(at);
        self.configured(settings, agent, project, git_head.as_deref());
    }

    pub(super) fn configured(
        &mut self,
        settings: &Settings,
        agent: &AgentFacts,
        project: &str,
        git_head: Option<&str>,
    ) {
        self.limits = settings.limits.clone();
        self.principles.clone_from(&settings.principles);
        self.allowed.clone_from(&settings.agent.allowed_tools);
        self.facts = Some(RunFacts {
            task: settings.task.clone(),
            scope: settings.scope,
            mode: settings.mode.clone(),
            goal: settings.goal.trim().lines().next().unwrap_or_default().to_owned(),
            agent: agent.clone(),
            sandbox: settings.sandbox.kind,
            checks_outside: settings.checks_outside(),
            agent_command: settings.agent.command.clone(),
            notes_file: settings.notes_file.clone(),
            list_file: settings.files.list.clone(),
            project: project.to_owned(),
            git_head: git_head.map(str::to_owned),
            idle_limit: settings.progress.threshold,
            no_gain_limit: settings.progress.no_gain,
        });
    }

    fn seen(&mut self, mark: Option<&WorkspaceMark>) {
        if let Some(head) = mark.and_then(|mark| mark.head.as_ref()) {
            self.head = Some(head.clone());
        }
    }

    /// Resets the activities that the earlier process left unfinished, because they start again.
    fn run_continued(&mut self, why: Continuation) {
        self.stop = None;
        self.earlier_warnings = self.warnings;
        self.other_checks.clear();
        if self.gate.as_ref().is_some_and(|gate| gate.result.is_none()) {
            self.gate = None;
        }
        match why {
            Continuation::AfterCrash => {
                // A wait continues; every other activity of the earlier process has ended.
                if !matches!(self.doing, Activity::Waiting { .. } | Activity::Retrying { .. }) {
                    self.doing = Activity::Starting;
                }
            }
            Continuation::AfterEnd => {
                self.doing = Activity::Between;
                self.finished = None;
                self.idle = 0;
                self.without_gain = 0;
                // Blockers that still apply are reported again.
                self.blockers.clear();
                self.more_blockers = 0;
            }
        }
    }

    fn setting_changed(&mut self, change: &SettingChange) {
        if let (SettingChange::Sandbox { new, .. }, Some(facts)) = (change, &mut self.facts) {
            facts.sandbox = *new;
        }
        self.limits = change.limits(&self.limits);
        if let SettingChange::AllowedTools { new, .. } = change {
            self.allowed.clone_from(new);
            self.denied.retain(|refused| {
                let rule = refused.rule.as_ref();
                !rule.is_some_and(|rule| new.contains(rule))
            });
        }
    }

    fn at_gate(&mut self, change: impl FnOnce(&mut GateView)) {
        if let Some(gate) = &mut self.gate {
            change(gate);
        }
    }

    fn iteration_finished(&mut self, finished: &IterationFinished) {
        if finished.iteration.0 > 0 {
            self.totals.iterations = self.totals.iterations.saturating_add(1);
        }
        self.totals.commits = self.totals.commits.saturating_add(finished.commits);
        match &finished.changes {
            Some(changes) => {
                self.files_changed = changes.files;
                self.changes = Some(changes.clone());
            }
            None => {
                self.files_changed = self.files_changed.saturating_add(finished.files_changed);
            }
        }
        self.progressed(finished.task);
        self.seen(finished.end.as_ref());
        (self.idle, self.without_gain) = (finished.idle, finished.without_gain);
        match finished.result {
            IterationResult::Done => {
                self.recent.push_back(finished.duration);
                while self.recent.len() > RECENT {
                    self.recent.pop_front();
                }
            }
            IterationResult::Failed { .. } | IterationResult::Interrupted => {}
        }
        self.last = Some(finished.clone());
    }
}
