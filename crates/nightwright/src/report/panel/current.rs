//! What the agent is at, by its own stream: the tool that is running, and since when nothing has
//! been heard.

use std::time::Duration;

use jiff::Timestamp;
use nightwright_core::agent::message::{AgentMessage, Said};
use nightwright_core::event::Event;

use crate::report::tools;

/// An agent that runs more tools at once than this is shown the last of them.
const MOST: usize = 64;

/// Shorter silences are nothing to tell.
const SILENCE: Duration = Duration::from_secs(5);

/// What the agent is at.
#[derive(Debug, Default)]
pub(super) struct Current {
    /// Calls that have not come back, the newest last: their ids, and what to show of them.
    open: Vec<(String, String)>,
    /// Whether something was heard since the last look at the clock.
    heard: bool,
    /// When something was heard last.
    since: Option<Timestamp>,
}

impl Current {
    /// Somebody begins to work, or has ended.
    pub(super) fn event(&mut self, event: &Event) {
        if let Event::AttemptStarted { .. } | Event::CallStarted { .. } = event {
            self.open.clear();
            self.heard = true;
        }
        if let Event::AttemptFinished { .. } | Event::CallFinished { .. } = event {
            self.open.clear();
        }
    }

    /// Something was said.
    pub(super) fn message(&mut self, message: &AgentMessage<'_>) {
        self.heard = true;
        match &message.said {
            Said::ToolCall { id, name, input } => {
                if self.open.len() == MOST {
                    self.open.remove(0);
                }
                self.open.push((id.clone().into_owned(), tools::title(name, input)));
            }
            Said::ToolResult { id, .. } => self.open.retain(|(open, _)| open != id.as_ref()),
            Said::Result(_) => self.open.clear(),
            Said::Ready(_)
            | Said::Text { .. }
            | Said::Thinking
            | Said::Heartbeat { .. }
            | Said::ApiRetry { .. }
            | Said::RateLimit(_)
            | Said::Denied { .. }
            | Said::Usage { .. }
            | Said::SyntheticError(_)
            | Said::Compaction
            | Said::TakenUp { .. }
            | Said::Other { .. }
            | Said::Unknown { .. } => {}
        }
    }

    /// Something came, whatever it was.
    pub(super) fn sign_of_life(&mut self) {
        self.heard = true;
    }

    pub(super) fn tick(&mut self, now: Timestamp) {
        if std::mem::take(&mut self.heard) || self.since.is_none() {
            self.since = Some(now);
        }
    }

    /// The tool that was called last and has not come back.
    pub(super) fn tool(&self) -> Option<&str> {
        self.open.last().map(|(_, text)| text.as_str())
    }

    /// How long nothing was heard, if that is worth telling.
    pub(super) fn silent(&self, now: Timestamp) -> Option<Duration> {
        let silent = Duration::try_from(now.duration_since(self.since?)).ok()?;
        (silent >= SILENCE).then_some(silent)
    }
}

#[cfg(test)]
mod tests {
    use nightwright_core::agent::message::{Owner, Went};

    use super::*;

    fn say(current: &mut Current, said: Said<'_>) {
        current.message(&AgentMessage { owner: Owner::Main, said });
    }

    fn call(current: &mut Current, id: &'static str, input: &str) {
        say(current, Said::ToolCall { id: id.into(), name: "Bash".into(), input });
    }

    fn back(current: &mut Current, id: &'static str) {
        say(current, Said::ToolResult { id: id.into(), went: Went::Well, content: "\"\"" });
    }

    #[test]
    fn the_tool_shown_is_the_last_one_that_has_not_come_back() {
        let mut current = Current::default();
        call(&mut current, "1", r#"{"command":"make"}"#);
        call(&mut current, "2", r#"{"command":"make test"}"#);
        assert_eq!(current.tool(), Some("Bash: make test"));
        back(&mut current, "2");
        assert_eq!(current.tool(), Some("Bash: make"));
        back(&mut current, "1");
        assert_eq!(current.tool(), None);
    }

    #[test]
    fn silence_counts_from_the_last_sign_of_life() {
        let mut current = Current::default();
        let start = Timestamp::UNIX_EPOCH;
        let after = |seconds: u64| start + Duration::from_secs(seconds);
        current.tick(start);
        assert_eq!(current.silent(after(4)), None);
        assert_eq!(current.silent(after(60)), Some(Duration::from_mins(1)));
        current.sign_of_life();
        current.tick(after(60));
        assert_eq!(current.silent(after(62)), None);
    }

    #[test]
    fn calls_that_never_come_back_are_forgotten_some_time() {
        let mut current = Current::default();
        for _ in 0..1000 {
            call(&mut current, "1", "{}");
        }
        assert_eq!(current.open.len(), MOST);
    }
}
