//! Requests of the operator: stop, pause, resume, retry, and messages for the agent.

use std::time::Duration;

use super::ledger::Stage;
use super::{IterationSetup, Machine, Pending, PendingKind};
use crate::effect::{Effect, Grace};
use crate::event::{FeedbackSource, NoteEvent, OperatorEvent, StopSource, StopWhen, WaitEnd};
use crate::input::{Control, TimerKey};
use crate::outcome::Outcome;
use crate::policy::limits;
use crate::stream::outcome::{AttemptOutcome, CancelReason, Consequence};

/// The minimum time between two immediate retries that the operator requests.
const PROBE_GAP: Duration = Duration::from_mins(1);

impl Machine {
    pub(super) fn control(&mut self, control: Control) {
        match control {
            Control::Stop { when: StopWhen::Now, by } => self.stop_now(by),
            Control::Stop { when: StopWhen::AfterIteration, by } => self.stop_after(by),
            Control::HangUp => {
                if !self.is_stopping() {
                    self.stop_now(StopSource::TerminalClosed);
                }
            }
            Control::CancelStop => {
                if self.ledger.stop == Some(StopWhen::AfterIteration) {
                    self.record(OperatorEvent::StopCancelled);
                }
            }
            Control::Pause => {
                if !self.ledger.paused {
                    self.record(OperatorEvent::Paused);
                    // People pause in order to edit: what was found out before is stale then.
                    self.live.untouched = false;
                    self.live.setup = IterationSetup::default();
                }
            }
            Control::Resume => {
                if self.ledger.paused {
                    self.record(OperatorEvent::Resumed);
                    self.live.setup = IterationSetup::default();
                    self.advance();
                }
            }
            Control::Tell { text } => self.queue_operator_message(text),
            Control::RetryNow => self.retry_now(),
        }
    }

    /// Stops everything without evaluating it. A second signal does not wait for the end.
    fn stop_now(&mut self, by: StopSource) {
        if self.is_stopping() {
            match by {
                StopSource::Signal | StopSource::Terminate => self.kill(),
                StopSource::TerminalClosed
                | StopSource::Operator
                | StopSource::StopFile
                | StopSource::Key => {}
            }
            return;
        }
        self.record(OperatorEvent::StopRequested { when: StopWhen::Now, by });
        self.cancel_everything();
        self.finish_stop();
    }

    /// Whether everything is already being stopped.
    fn is_stopping(&self) -> bool {
        self.ledger.stop == Some(StopWhen::Now) || self.live.abort_outcome.is_some()
    }

    fn stop_after(&mut self, by: StopSource) {
        if self.ledger.stop.is_some() {
            return;
        }
        self.record(OperatorEvent::StopRequested { when: StopWhen::AfterIteration, by });
        // The state of the checks does not matter before an iteration that does not start.
        if self.ledger.current().is_none() {
            self.cancel_checks(Grace::Usual);
        }
        let waited =
            matches!(self.live.pending, Some(Pending { kind: PendingKind::Wait { .. }, .. }));
        self.end_waiting();
        // The attempt or call that was waiting is not retried. If it was an optional call, the gate
        // still judges the claim.
        if waited && self.ledger.current().is_some() && !self.is_attempted() {
            self.interrupt_iteration();
        }
        self.finish_stop();
    }

    /// Whether the attempts of this iteration have ended and its gate has not begun.
    fn is_attempted(&self) -> bool {
        self.ledger.current().is_some_and(|current| {
            let judged = current.report.as_ref().is_some_and(|report| {
                matches!(
                    report.outcome.consequence(),
                    Consequence::Assess | Consequence::AssessWorkTree
                )
            });
            current.stage == Stage::Attempted && judged && current.gate.is_none()
        })
    }

    /// Ends the run, because its project did not respond. A stop that was requested before has its
    /// own outcome.
    pub(super) fn project_unresponsive(&mut self) {
        if self.is_stopping() {
            return self.finish_stop();
        }
        let waited = limits::PROJECT_TIMEOUT;
        self.abort_when_idle(Outcome::ProjectUnresponsive { waited });
    }

    /// Completes the requested stop once nothing is running any more.
    fn finish_stop(&mut self) {
        let idle =
            self.live.pending.is_none() && self.live.attempt.is_none() && self.live.call.is_none();
        if idle && self.ledger.stop == Some(StopWhen::Now) && self.ledger.current().is_some() {
            self.interrupt_iteration();
        }
        self.advance();
    }

    pub(super) fn cancel_everything(&mut self) {
        self.cancel_attempt(CancelReason::StopNow, Grace::Usual);
        self.cancel_call(CancelReason::StopNow, Grace::Usual);
        self.cancel_checks(Grace::Usual);
        self.end_waiting();
        self.drop_pending();
    }

    /// Drops pending surveys and hooks: they may take long, and their answers are no longer needed.
    /// Only checks are awaited, because they are being killed.
    fn drop_pending(&mut self) {
        if let Some(pending) = self.live.pending
            && !pending.is_checks()
        {
            self.forget_pending();
        }
    }

    fn cancel_checks(&mut self, grace: Grace) {
        if let Some(pending) = self.live.pending
            && pending.is_checks()
        {
            self.effect(Effect::CancelChecks { ticket: pending.ticket, grace });
        }
    }

    /// Ends every wait at once when a stop arrives.
    fn end_waiting(&mut self) {
        let Some(pending) = self.live.pending else {
            return;
        };
        match pending.kind {
            PendingKind::Delay => {
                self.live.pending = None;
                self.effect(Effect::ClearTimer { key: TimerKey::Delay(pending.ticket) });
            }
            PendingKind::Wait { since } => {
                self.live.pending = None;
                self.effect(Effect::ClearTimer { key: TimerKey::Wait(pending.ticket) });
                self.wait_ended(WaitEnd::Stopped, since);
            }
            PendingKind::Hook(_)
            | PendingKind::Prepare
            | PendingKind::Survey
            | PendingKind::Checks(_)
            | PendingKind::Changes => {}
        }
    }

    /// Kills everything and exits without waiting.
    fn kill(&mut self) {
        self.cancel_attempt(CancelReason::StopNow, Grace::None);
        self.cancel_call(CancelReason::StopNow, Grace::None);
        self.cancel_checks(Grace::None);
        let report = self.attempt_so_far(AttemptOutcome::Interrupted);
        if let Some(live) = self.live.attempt.take() {
            let duration = self.now.mono.saturating_sub(live.process.watch.started);
            self.record_attempt(live.id, report, duration);
        }
        let report = self.call_so_far(AttemptOutcome::Interrupted);
        if let Some(live) = self.live.call.take() {
            let duration = self.now.mono.saturating_sub(live.process.watch.started);
            self.record_call(live.id, live.purpose, report, duration);
        }
        self.live.pending = None;
        let outcome = self.live.abort_outcome.clone().unwrap_or(Outcome::Interrupted);
        self.abort_now(outcome);
    }

    fn queue_operator_message(&mut self, text: String) {
        let open = self.live.attempt.as_ref().filter(|attempt| {
            attempt.open && attempt.process.watch.ready && attempt.process.cancelled.is_none()
        });
        match open.map(|attempt| attempt.id) {
            Some(attempt) => self.nudge(attempt, None, text),
            None => self.record(NoteEvent::FeedbackAdded { source: FeedbackSource::Human, text }),
        }
    }

    /// Retries at once instead of waiting, at most once per [`PROBE_GAP`].
    fn retry_now(&mut self) {
        let Some(pending) = self.live.pending else {
            return;
        };
        let PendingKind::Wait { since } = pending.kind else {
            return;
        };
        let now = self.now.mono;
        if self.live.probed.is_some_and(|probed| now.saturating_sub(probed) < PROBE_GAP) {
            return self.record(OperatorEvent::RetryRefused);
        }
        self.live.probed = Some(now);
        self.live.pending = None;
        self.effect(Effect::ClearTimer { key: TimerKey::Wait(pending.ticket) });
        self.wait_ended(WaitEnd::RetryNow, since);
        self.advance();
    }
}
