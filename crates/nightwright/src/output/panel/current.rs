//! The agent's current activity, from its output: the running tool, else the last tool or sentence,
//! and the time since the last output.

use std::io::{self, Read as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use nightwright_core::event::{AttemptEvent, CallEvent, Event};
use nightwright_core::stream::dialect::Dialect;
use nightwright_core::stream::lines::StreamLine;
use nightwright_core::stream::message::{AgentMessage, MessageKind};
use nightwright_core::stream::transcript::RunningSpend;

use crate::files::open_regular;
use crate::output::tools;

/// The maximum number of open calls to track. The oldest are dropped.
const MAX_OPEN_CALLS: usize = 64;

/// The number of bytes read from the end of the output to find the current activity.
const TAIL: u64 = 256 << 10;

/// The size of one read of a whole output, in bytes.
const CHUNK: usize = 128 << 10;

/// The minimum silence to show.
const SILENCE: Duration = Duration::from_secs(5);

/// The current activity of the agent.
#[derive(Debug, Default)]
pub(super) struct CurrentActivity {
    /// The IDs and titles of calls without a result, the newest last.
    open: Vec<(String, String)>,
    /// The last tool that returned, or the last sentence after it.
    last: Option<String>,
    /// Whether there was output since the last tick.
    has_output: bool,
    /// The time of the last output.
    since: Option<Timestamp>,
}

impl CurrentActivity {
    /// Resets the state when an attempt or a call starts or ends.
    pub(super) fn event(&mut self, event: &Event) {
        if let Event::Attempt(AttemptEvent::Started { .. })
        | Event::Call(CallEvent::Started { .. }) = event
        {
            self.open.clear();
            self.last = None;
            self.has_output = true;
        }
        if let Event::Attempt(AttemptEvent::Finished { .. })
        | Event::Call(CallEvent::Finished { .. }) = event
        {
            self.open.clear();
        }
    }

    /// Updates the state with a message of the agent.
    pub(super) fn message(&mut self, message: &AgentMessage<'_>) {
        self.has_output = true;
        if let MessageKind::ToolCall { id, name, input } = &message.kind {
            if self.open.len() == MAX_OPEN_CALLS {
                self.open.remove(0);
            }
            self.open.push((id.clone().into_owned(), tools::title(name, input)));
        } else if let MessageKind::ToolResult { id, .. } = &message.kind {
            if let Some(at) = self.open.iter().position(|(open, _)| open == id.as_ref()) {
                self.last = Some(self.open.remove(at).1);
            }
        } else if let MessageKind::Result(_) = &message.kind {
            self.open.clear();
        } else if let Some(text) = message.main_text() {
            self.last = last_sentence(text).or(self.last.take());
        }
    }

    /// Records that there was output of any kind.
    pub(super) fn sign_of_life(&mut self) {
        self.has_output = true;
    }

    pub(super) fn tick(&mut self, now: Timestamp) {
        if std::mem::take(&mut self.has_output) || self.since.is_none() {
            self.since = Some(now);
        }
    }

    /// The newest call without a result.
    pub(super) fn tool(&self) -> Option<&str> {
        self.open.last().map(|(_, text)| text.as_str())
    }

    /// The last tool or sentence, for when no tool is running.
    pub(super) fn last(&self) -> Option<&str> {
        self.last.as_deref()
    }

    /// How long the agent has printed nothing, if that is long enough to show.
    pub(super) fn silent(&self, now: Timestamp) -> Option<Duration> {
        let silent = Duration::try_from(now.duration_since(self.since?)).ok()?;
        (silent >= SILENCE).then_some(silent)
    }
}

/// Returns what the agent is doing, from the end of its output file.
pub(super) fn doing(dialect: Dialect, output: &Path) -> Option<String> {
    let file = open_regular(output).ok()?;
    let length = file.metadata().ok()?.len();
    let begin = length.saturating_sub(TAIL);
    let mut tail = vec![0; usize::try_from(length - begin).ok()?];
    file.read_exact_at(&mut tail, begin).ok()?;
    let mut current = CurrentActivity::default();
    let mut lines = dialect.lines_to_show();
    let mut hear = |line: StreamLine<'_>| {
        if let StreamLine::Whole(line) = line {
            // The first line may be incomplete, and then it is not a message.
            let _ = dialect.decode(line, &mut |message| current.message(&message));
        }
    };
    lines.push(&tail, &mut hear);
    lines.finish(&mut hear);
    current.tool().or(current.last()).map(str::to_owned)
}

/// Returns the usage so far of an attempt or a call, from its output file.
pub(super) fn spent(dialect: Dialect, output: &Path) -> Option<RunningSpend> {
    let mut file = open_regular(output).ok()?;
    let mut spend = RunningSpend::new(dialect);
    let mut lines = dialect.lines_to_show();
    let mut count = |line: StreamLine<'_>| {
        if let StreamLine::Whole(line) = line
            && !dialect.is_only_a_part(line)
        {
            // Lines that are not messages report no usage.
            let _ = dialect.decode(line, &mut |message| spend.message(&message));
        }
    };
    let mut buffer = vec![0; CHUNK];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => lines.push(&buffer[..length], &mut count),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // The part that was read before is still a lower bound.
            Err(_) => break,
        }
    }
    Some(spend)
}

/// The last sentence of a string, without Markdown decoration.
fn last_sentence(text: &str) -> Option<String> {
    let line =
        text.lines().rev().map(str::trim).find(|line| line.contains(char::is_alphanumeric))?;
    let line = line.trim_start_matches(['#', '-', '*', '>', ' ']);
    // A full stop ends a sentence only before white space, not in `src/lib.rs` or `1.5`.
    let starts = line.trim_end_matches(['.', '!', '?']).rmatch_indices(['.', '!', '?']);
    let after = starts.map(|(at, stop)| at + stop.len()).find(|at| line[*at..].starts_with(' '));
    Some(line[after.unwrap_or(0)..].trim().to_owned())
}

#[cfg(test)]
mod tests {
    use nightwright_core::stream::message::{Owner, TextPart, ToolStatus};

    use super::*;

    fn say(current: &mut CurrentActivity, kind: MessageKind<'_>) {
        current.message(&AgentMessage { owner: Owner::Main, kind });
    }

    fn call(current: &mut CurrentActivity, id: &'static str, input: &str) {
        say(current, MessageKind::ToolCall { id: id.into(), name: "Bash".into(), input });
    }

    fn back(current: &mut CurrentActivity, id: &'static str) {
        say(
            current,
            MessageKind::ToolResult { id: id.into(), status: ToolStatus::Ok, content: "\"\"" },
        );
    }

    #[test]
    fn the_tool_shown_is_the_last_one_that_has_not_come_back() {
        let mut current = CurrentActivity::default();
        call(&mut current, "1", r#"{"command":"make"}"#);
        call(&mut current, "2", r#"{"command":"make test"}"#);
        assert_eq!(current.tool(), Some("Bash: make test"));
        back(&mut current, "2");
        assert_eq!(current.tool(), Some("Bash: make"));
        back(&mut current, "1");
        assert_eq!(current.tool(), None);
    }

    #[test]
    fn between_two_tools_the_last_tool_or_sentence_is_shown() {
        let mut current = CurrentActivity::default();
        let text =
            |text: &str| MessageKind::Text { text: text.to_owned().into(), part: TextPart::Whole };
        say(&mut current, text("I read `src/lib.rs` first. Now I run the tests.\n\n"));
        assert_eq!((current.tool(), current.last()), (None, Some("Now I run the tests.")));
        call(&mut current, "1", r#"{"command":"make test"}"#);
        assert_eq!(current.tool(), Some("Bash: make test"));
        back(&mut current, "1");
        assert_eq!((current.tool(), current.last()), (None, Some("Bash: make test")));
        say(&mut current, text("## All done\n\n---\n"));
        assert_eq!(current.last(), Some("All done"));
        say(&mut current, text("***"));
        assert_eq!(current.last(), Some("All done"), "decoration is no sentence");
    }

    #[test]
    fn silence_counts_from_the_last_sign_of_life() {
        let mut current = CurrentActivity::default();
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
        let mut current = CurrentActivity::default();
        for _ in 0..1000 {
            call(&mut current, "1", "{}");
        }
        assert_eq!(current.open.len(), MAX_OPEN_CALLS);
    }
}
