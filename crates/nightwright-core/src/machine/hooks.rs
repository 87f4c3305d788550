//! Hooks: when the user's hooks run, and how their answers are interpreted.

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

    /// Queues the hooks for the iteration that is being recorded. The hook that calls for a person
    /// comes first.
    pub(super) fn queue_hooks(&mut self, blocked: bool) {
        let hooks = self.ledger.settings.hooks;
        let due = [(Hook::Blocked, blocked), (Hook::IterationFinished, true)];
        let due = due.into_iter().filter(|(hook, holds)| *holds && hooks.has(*hook));
        self.live.pending_hooks = due.map(|(hook, _)| hook).collect();
    }

    /// Returns the next hook to run for the last iteration; none if the run stops now.
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
        // Changes made by a hook are not the agent's work.
        self.live.untouched = false;
        // The answer is ignored because the run ends for another reason.
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
            // These hooks are only notified and cannot control the run.
            HookAnswer::Failed { why } | HookAnswer::Abort { why } => self.hook_failed(hook, why),
            HookAnswer::Skip => self.hook_failed(hook, "exited with 1".to_owned()),
        }
        if hook == Hook::NextIteration {
            self.live.setup = IterationSetup { prepared: None, hooked: true };
        }
        self.advance();
    }

    fn hook_failed(&mut self, hook: Hook, why: String) {
        self.record(NoteEvent::HookFailed { hook: hook.name().to_owned(), why });
    }
}
