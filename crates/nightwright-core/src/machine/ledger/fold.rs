//! The change of each event. Every event is named here, and none falls under a wildcard: a resumed
//! run loses anything that is missing here.

use jiff::Timestamp;

use super::{InboxEntry, OpenCall, Phase, Stage, State, Wait};
use crate::event::{
    AttemptEvent, CallEvent, Event, GateEvent, IterationEvent, NoteEvent, OperatorEvent, Record,
    RunEvent, StatusFacts, VerdictKind, WaitEvent,
};
use crate::input::CheckPurpose;
use crate::permissions::denial::DeniedCommand;
use crate::prompt::Decision;

impl State {
    pub(super) fn fold(&mut self, record: &Record) {
        self.active = record.active;
        self.totals.duration = record.active;
        self.conclude_by(&record.event);
        self.status = StatusFacts::from_event(&record.event).or(self.status.take());
        if let Some(charge) = record.event.charge() {
            self.charge(charge);
        }
        match &record.event {
            Event::Run(event) => self.fold_run(event),
            Event::Iteration(event) => self.fold_iteration(event),
            Event::Attempt(event) => self.fold_attempt(event),
            Event::Call(event) => self.fold_call(event),
            Event::Wait(event) => self.fold_wait(event),
            Event::Gate(event) => self.fold_gate(event, record.at),
            Event::Operator(event) => self.fold_operator(event),
            Event::Note(event) => self.fold_note(event),
        }
    }

    fn fold_run(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Started(started) => self.run_started(started),
            RunEvent::Continued { why } => self.run_continued(*why),
            RunEvent::Finished { outcome, totals, .. } => {
                // If the journal failed, events may be missing; the totals still include their
                // cost.
                self.totals = totals.clone();
                self.phase = Phase::Ended(outcome.clone());
            }
        }
    }

    fn fold_iteration(&mut self, event: &IterationEvent) {
        match event {
            IterationEvent::Started { iteration, kind, before, start, checklist, .. } => {
                self.wrap_up.clone_from(before);
                self.iteration_started(*iteration, *kind, start, *checklist);
            }
            IterationEvent::Skipped { .. } => {
                self.streaks.skips += 1;
                self.phase = Phase::Ready;
            }
            IterationEvent::Finished(finished) => self.iteration_finished(finished),
        }
    }

    fn fold_attempt(&mut self, event: &AttemptEvent) {
        match event {
            AttemptEvent::Started { attempt, cap, .. } => self.attempt_started(*attempt, *cap),
            AttemptEvent::Finished { report, .. } => self.attempt_finished(report),
            AttemptEvent::WatchdogNoticed { finding, .. } => self.watchdog_noticed(finding),
            AttemptEvent::MessageSent { answers, text, .. } => {
                self.message_sent(answers.as_ref(), text);
            }
            AttemptEvent::PermissionDenied { tool, command, rule, .. } => {
                let (tool, command, rule) = (tool.clone(), command.clone(), rule.clone());
                self.permission_denied(DeniedCommand { tool, command, rule });
            }
            AttemptEvent::AgentReady { .. } | AttemptEvent::Cancelled { .. } => {}
        }
    }

    fn fold_call(&mut self, event: &CallEvent) {
        match event {
            CallEvent::Started { call, purpose, cap, .. } => {
                self.last_call = *call;
                if let Some(current) = self.current_mut() {
                    current.call = Some(OpenCall { call: *call, purpose: *purpose, cap: *cap });
                }
            }
            CallEvent::Finished { purpose, report, .. } => self.call_finished(*purpose, report),
            CallEvent::Cancelled { .. } => {}
        }
    }

    fn fold_wait(&mut self, event: &WaitEvent) {
        match event {
            WaitEvent::RetryScheduled { at_time, .. } => {
                if let Some(current) = self.current_mut() {
                    current.stage = Stage::Retrying { at: *at_time };
                }
            }
            WaitEvent::Started { limit, retry_at, wait, .. } => {
                self.wait = Some(Wait { kind: *limit, retry_at: *retry_at, planned: *wait });
                self.wait_streak.rounds += 1;
            }
            WaitEvent::Ended { why, waited } => self.limit_wait_ended(*why, *waited),
            WaitEvent::QuotaReported { quota } => {
                self.quotas.insert(quota.window, *quota);
            }
        }
    }

    fn fold_gate(&mut self, event: &GateEvent, at: Timestamp) {
        match event {
            GateEvent::Started { claim, .. } => self.gate_started(claim),
            GateEvent::ChecksStarted { purpose, commands } => {
                self.checks_started(*purpose, commands);
            }
            GateEvent::ChecksFinished {
                purpose,
                reused_from,
                results,
                fingerprint,
                outputs,
                flaky,
                outside: _,
            } => {
                self.outputs.extend(outputs.iter().cloned());
                self.checks.flaky.extend(flaky.iter().cloned());
                // The gate takes over results that are in the history already.
                if *purpose != CheckPurpose::Gate || reused_from.is_none() {
                    self.checks_measured(at, *purpose, results, fingerprint);
                }
                self.checks_finished(*purpose, results, fingerprint);
            }
            GateEvent::ChangesInspected { findings, .. } => {
                self.at_gate(|gate| gate.findings = Some(findings.clone()));
            }
            GateEvent::VerdictGiven { verdict, .. } => {
                self.at_gate(|gate| {
                    gate.verdict = Some(*verdict);
                    gate.agreed += u32::from(*verdict == VerdictKind::Yes);
                });
            }
            GateEvent::Finished { result } => {
                self.at_gate(|gate| gate.result = Some(result.clone()));
            }
        }
    }

    fn fold_operator(&mut self, event: &OperatorEvent) {
        match event {
            OperatorEvent::StopRequested { when, by } => {
                self.stop = self.stop.max(Some(*when));
                self.stopped_by = Some(*by);
                self.stop_requests.add(*by);
            }
            OperatorEvent::StopCancelled => {
                (self.stop, self.stopped_by) = (None, None);
                self.stop_requests.by_person = false;
            }
            OperatorEvent::Paused => self.paused = true,
            OperatorEvent::Resumed => self.paused = false,
            OperatorEvent::RetryRefused => {}
            OperatorEvent::SettingsChanged { source, change } => {
                self.setting_changed(*source, change);
            }
        }
    }

    fn fold_note(&mut self, event: &NoteEvent) {
        match event {
            NoteEvent::BlockerReported { blocker } => {
                self.reported_blockers.insert(blocker.key.clone());
            }
            NoteEvent::CouncilDecided { iteration, conflict, decision } => {
                self.decisions.push(Decision {
                    iteration: *iteration,
                    conflict: conflict.clone(),
                    decision: decision.clone(),
                });
            }
            NoteEvent::PrinciplesAdopted { principles } => {
                self.settings.principles = Some(principles.clone());
            }
            NoteEvent::FeedbackAdded { source, text } => {
                self.inbox.push(InboxEntry { source: *source, text: text.clone(), given_to: None });
            }
            NoteEvent::StatusChanged { .. }
            | NoteEvent::HostContacted { .. }
            | NoteEvent::HostRefused { .. }
            | NoteEvent::HookFailed { .. }
            | NoteEvent::Warning { .. } => {}
        }
    }

    /// An event after a finished call proves that its answer was used. A resumed run still uses it.
    fn conclude_by(&mut self, event: &Event) {
        // A status file changes and programs contact hosts at any time, which shows nothing of the
        // kind.
        let resuming = matches!(
            event,
            Event::Run(RunEvent::Continued { .. })
                | Event::Operator(OperatorEvent::SettingsChanged { .. })
                | Event::Note(
                    NoteEvent::StatusChanged { .. }
                        | NoteEvent::HostContacted { .. }
                        | NoteEvent::HostRefused { .. }
                )
        );
        if let Some(current) = self.current_mut()
            && !resuming
        {
            current.unconcluded = None;
        }
    }
}
