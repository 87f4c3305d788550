//! When the user's hooks are run, and what their answers mean.

use super::{IterationSetup, Machine, PendingKind};
use crate::effect::Effect;
use crate::event::{NoteEvent, StopWhen};
use crate::hook::Hook;
use crate::input::HookAnswer;
use crate::outcome::Outcome;
use crate::units::Ticket;

impl Machine {
    pub(super) fn run_hook(&mut self, hook: Hook) {
        let ticket = self.ask(PendingKind::Hook(hook));
        self.effect(Effect::RunHook { ticket, hook });
    }

    /// Notes which hooks are told of the iteration that is being written down. The one that calls
    /// for a person comes first.
    pub(super) fn queue_hooks(&mut self, blocked: bool) {
        let hooks = self.ledger.settings.hooks;
        let told = [(Hook::Blocked, blocked), (Hook::IterationFinished, true)];
        let told = told.into_iter().filter(|(hook, holds)| *holds && hooks.has(*hook));
        self.live.pending_hooks = told.map(|(hook, _)| hook).collect();
    }

    /// The next hook to be told of the last iteration. Whoever stops now waits for none.
    pub(super) fn next_hook(&mut self) -> Option<Hook> {
        if self.ledger.stop == Some(StopWhen::Now) {
            return None;
        }
        self.live.pending_hooks.pop_front()
    }

    pub(super) fn hook_answered(&mut self, ticket: Ticket, answer: HookAnswer) {
        let Some(PendingKind::Hook(hook)) = self.answered(ticket) else {
            return;
        };
        // Whatever it did to the project is not the agent's work.
        self.live.untouched = false;
        // Whatever it says: the run ends for another reason.
        if self.ledger.stop == Some(StopWhen::Now) || self.live.abort_outcome.is_some() {
            return self.advance();
        }
        match answer {
            HookAnswer::GoOn => {}
            HookAnswer::Abort { why } if hook.can_abort() => {
                let why = format!("`{}` {why}", hook.name());
                return self.finish(Outcome::HookAbort { why }, None);
            }
            HookAnswer::Skip if hook.can_skip() => return self.skip(),
            // It can't steer what it is only told of.
            HookAnswer::Failed { why } | HookAnswer::Abort { why } => self.hook_failed(hook, why),
            HookAnswer::Skip => self.hook_failed(hook, "exited with 1".to_owned()),
        }
        if hook == Hook::NextIteration {
            self.live.opening = IterationSetup { prepared: None, hooked: true };
        }
        self.advance();
    }

    fn hook_failed(&mut self, hook: Hook, why: String) {
        self.record(NoteEvent::HookFailed { hook: hook.name().to_owned(), why });
    }
}
