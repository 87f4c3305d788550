//! The agent's messages as text: its words, its tool calls and their results.
//!
//! ```text
//!   ● I shall look at the tests.
//!   → Bash: make test (run the tests), timeout 2m 00s
//!     ❌ exit 2
//!     │ no rule to make `test`
//!   → Agent: find the tests (explorer)
//!       → Grep: #[test] in src
//!         found 3 files
//!         │ src/a.rs
//!   ← Agent: find the tests (explorer)
//!     ok, 1 line
//!     │ They are in `src`.
//! ```
//!
//! A result is shown below its call. If there was other output in between, it repeats the heading
//! of its call.

mod advice;
mod call;
mod diff;
mod input;
mod result;
mod words;

use std::collections::VecDeque;

use nightwright_core::display::one_line;
use nightwright_core::stream::message::{
    AgentMessage, MessageKind, Owner, TextPart, ToolStatus, UsageAt,
};

use self::call::{ToolCallView, ToolKind};
use self::result::{Background, SearchOutput, ToolRequest};
use self::words::StreamedText;
use super::Speaker;
use super::page::{Heading, LineStart, Page};

/// The maximum number of remembered calls. The oldest are dropped first.
const REMEMBERED: usize = 1_000;
/// The maximum size of each remembered part of a heading, in bytes. It exceeds the width of any
/// row.
const REMEMBERED_TEXT: usize = 600;
/// The maximum indentation level of nested subagents.
const MAX_DEPTH: usize = 4;

/// The maximum length of a call's title, in characters. It exceeds the width of any line, so that
/// callers can truncate it further.
const MAX_TITLE_CHARS: usize = 1_000;

/// A short title of a call: the tool and its most informative argument.
pub(super) fn title(name: &str, input: &str) -> String {
    let Heading { name, detail, .. } =
        ToolCallView::new(ToolKind::named(name), input).heading(name);
    match one_line(&detail, MAX_TITLE_CHARS).as_str() {
        "" => name,
        detail => format!("{name}: {detail}"),
    }
}

/// Writes the messages and tool calls of the agent to a page.
#[derive(Debug, Default)]
pub(super) struct ToolPrinter {
    /// The source of the last message.
    speaker: Option<Speaker>,
    /// The source of the last message that was shown.
    shown: Option<Speaker>,
    text: StreamedText,
    /// The ID of the current message.
    message: String,
    /// The newest come last and are searched first, because most results arrive soon.
    calls: VecDeque<PendingCall>,
    last: Option<LastShown>,
}

/// A call that was shown.
#[derive(Debug)]
struct PendingCall {
    speaker: Speaker,
    id: String,
    heading: Heading,
    asked: ToolRequest,
    depth: usize,
    /// The call that started the subagent which made this call; `None` for the main agent.
    within: Option<String>,
}

/// A call that is about to be shown.
#[derive(Clone, Copy, Debug)]
struct NewCall<'a> {
    id: &'a str,
    name: &'a str,
    input: &'a str,
}

#[derive(Clone, Copy, Debug)]
struct CallResult<'a> {
    went: ToolStatus,
    content: &'a str,
}

/// The last call whose heading or result was shown.
#[derive(Debug)]
struct LastShown {
    id: String,
    within: Option<String>,
}

impl ToolPrinter {
    /// Shows a message, unless it has no visible content.
    pub(super) fn message(
        &mut self,
        page: &mut Page<'_>,
        speaker: Speaker,
        message: &AgentMessage<'_>,
    ) {
        if self.speaker != Some(speaker) {
            self.end_text(page);
            self.speaker = Some(speaker);
        }
        let main = message.owner.is_main();
        match &message.kind {
            MessageKind::Text { text, part } if main => {
                let lines = match part {
                    TextPart::Delta => self.text.delta(text),
                    TextPart::End => self.text.end_of_block(),
                    TextPart::Whole => self.text.whole(text),
                };
                self.print_lines(page, lines);
            }
            MessageKind::ToolCall { id, name, input } => {
                self.pause(page);
                self.call(page, speaker, &message.owner, NewCall { id, name, input });
            }
            MessageKind::ToolResult { id, status, content } => {
                self.pause(page);
                self.result(page, speaker, id, CallResult { went: *status, content });
            }
            MessageKind::Usage { when: UsageAt::Start, id, .. } if main => {
                self.end_text(page);
                id.as_ref().clone_into(&mut self.message);
            }
            MessageKind::Usage { when: UsageAt::Part, id, .. } if main => {
                // A complete text without deltas then belongs to another message.
                if self.message != *id {
                    self.text.next_message();
                    id.as_ref().clone_into(&mut self.message);
                }
            }
            MessageKind::Result(_) | MessageKind::SyntheticError(_) if main => self.end_text(page),
            // Text of subagents and thinking are not shown.
            MessageKind::Text { .. }
            | MessageKind::Thinking
            | MessageKind::Usage { .. }
            | MessageKind::Result(_)
            | MessageKind::SyntheticError(_)
            | MessageKind::Ready(_)
            | MessageKind::Heartbeat { .. }
            | MessageKind::ApiRetry { .. }
            | MessageKind::RateLimit(_)
            | MessageKind::Denied { .. }
            | MessageKind::Compaction
            | MessageKind::Acknowledged { .. }
            | MessageKind::Other { .. }
            | MessageKind::Unknown { .. } => {}
        }
    }

    /// Records that there was other output, so that later results repeat the heading of their call.
    pub(super) fn interrupted(&mut self) {
        self.last = None;
    }

    /// Shows the incomplete text of an agent that has ended, and resets the state.
    pub(super) fn end(&mut self, page: &mut Page<'_>) {
        self.end_text(page);
        *self = Self::default();
    }

    /// Shows the rest of a text that has ended.
    fn end_text(&mut self, page: &mut Page<'_>) {
        let lines = self.text.end();
        self.print_lines(page, lines);
    }

    /// Shows the text so far, before a tool call or a result.
    fn pause(&mut self, page: &mut Page<'_>) {
        let lines = self.text.pause();
        self.print_lines(page, lines);
        self.begin(page);
    }

    fn print_lines(&mut self, page: &mut Page<'_>, lines: Vec<words::TextLine>) {
        if lines.is_empty() {
            return;
        }
        self.begin(page);
        self.last = None;
        for line in lines {
            match line {
                words::TextLine::First(line) => {
                    page.verbatim(LineStart { indent: 2, sign: "●" }, None, &line);
                }
                words::TextLine::More(line) => {
                    page.verbatim(LineStart { indent: 4, sign: "" }, None, &line);
                }
            }
        }
    }

    /// Names the source of the next output, if it has changed and is not obvious.
    fn begin(&mut self, page: &mut Page<'_>) {
        if self.shown == self.speaker {
            return;
        }
        match (self.shown, self.speaker) {
            (_, Some(Speaker::Call(_, purpose))) => page.detail(&format!("{}:", purpose.name())),
            (Some(Speaker::Call(..)), Some(Speaker::Attempt(_))) => page.detail("the agent:"),
            (None | Some(Speaker::Attempt(_)), Some(Speaker::Attempt(_))) | (_, None) => {}
        }
        self.shown = self.speaker;
    }

    fn call(&mut self, page: &mut Page<'_>, speaker: Speaker, owner: &Owner<'_>, new: NewCall<'_>) {
        let within = match owner {
            Owner::Main => None,
            Owner::Sub { call } => Some(call.as_ref().to_owned()),
        };
        let depth = match &within {
            None => 0,
            Some(call) => self.within(page, speaker, call),
        };
        let tool = ToolKind::named(new.name);
        let call = ToolCallView::new(tool, new.input);
        let mut heading = call.heading(new.name);
        page.heading(LineStart { indent: place(depth), sign: "→" }, &heading);
        call.body(page, place(depth) + 2);
        let Heading { name, detail, about, tail } = &mut heading;
        for text in [name, detail, about, tail] {
            if text.len() > REMEMBERED_TEXT {
                text.truncate(text.floor_char_boundary(REMEMBERED_TEXT));
                text.push_str(page.style().ellipsis());
            }
            text.shrink_to_fit();
        }
        let asked = call.asked();
        let id = new.id.to_owned();
        self.last = Some(LastShown { id: id.clone(), within: within.clone() });
        self.calls.push_back(PendingCall { speaker, id, heading, asked, depth, within });
        if self.calls.len() > REMEMBERED {
            self.calls.pop_front();
        }
    }

    /// Returns the indentation level for calls of the subagent that `call` started. Repeats the
    /// headings of the subagent and its parents, unless the last output belongs to it.
    fn within(&self, page: &mut Page<'_>, speaker: Speaker, call: &str) -> usize {
        let mut agents: Vec<&PendingCall> = Vec::new();
        let mut next = Some(call);
        while let Some(agent) = next.and_then(|call| Some(&self.calls[self.made(speaker, call)?])) {
            if self.is_open(&agent.id) || agents.len() == MAX_DEPTH {
                break;
            }
            agents.push(agent);
            next = agent.within.as_deref();
        }
        for agent in agents.into_iter().rev() {
            page.reminder(LineStart { indent: place(agent.depth), sign: "…" }, &agent.heading);
        }
        let agent = self.made(speaker, call).map(|at| &self.calls[at]);
        agent.map_or(1, |agent| (agent.depth + 1).min(MAX_DEPTH))
    }

    /// Whether the last output belongs to the subagent that `call` started.
    fn is_open(&self, call: &str) -> bool {
        let last = self.last.as_ref();
        last.is_some_and(|last| last.id == call || last.within.as_deref() == Some(call))
    }

    fn result(&mut self, page: &mut Page<'_>, speaker: Speaker, id: &str, came: CallResult<'_>) {
        let at = self.made(speaker, id);
        let unknown = PendingCall::unknown(speaker, id);
        let made = at.map_or(&unknown, |at| &self.calls[at]);
        if self.last.as_ref().is_none_or(|last| last.id != made.id) {
            if let Some(agent) = &made.within {
                self.within(page, speaker, agent);
            }
            page.reminder(LineStart { indent: place(made.depth), sign: "←" }, &made.heading);
        }
        result::show(page, place(made.depth) + 2, made.asked, came.went, came.content);
        self.last = Some(LastShown { id: made.id.clone(), within: made.within.clone() });
        // A subagent may continue after its call has returned.
        if made.asked.tool != ToolKind::Agent
            && let Some(at) = at
        {
            self.calls.remove(at);
        }
    }

    /// The index of a remembered call.
    fn made(&self, speaker: Speaker, id: &str) -> Option<usize> {
        self.calls.iter().rposition(|call| call.id == id && call.speaker == speaker)
    }
}

impl PendingCall {
    /// Stands for a call that was never seen or is no longer remembered.
    fn unknown(speaker: Speaker, id: &str) -> Self {
        let heading = Heading { name: "an earlier call".to_owned(), ..Heading::default() };
        let (background, finds) = (Background::NotWanted, SearchOutput::Files);
        let (tool, first_line, most_lines) = (ToolKind::Other, 1, None);
        let asked = ToolRequest { tool, first_line, most_lines, background, finds };
        Self { speaker, id: id.to_owned(), heading, asked, depth: 0, within: None }
    }
}

/// The indentation of calls at this depth, in columns.
fn place(depth: usize) -> usize {
    2 + 4 * depth
}

#[cfg(test)]
mod tests;
