//! What the agent says and does, for people: its words, its tool calls and what came of them.
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
//! A result stands below its call. Where something else came in between it names the call that it
//! belongs to.

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
use super::page::{Heading, LinePrefix, Page};

/// So many calls are remembered; the oldest are forgotten first.
const REMEMBERED: usize = 1_000;
/// What is remembered of each part of a heading, in bytes: more than a row has room for.
const REMEMBERED_TEXT: usize = 600;
/// Agents that agents start are no further in than this.
const MAX_DEPTH: usize = 4;

/// More of a call than this is not kept where there is one line for it, in characters: more than any
/// line shows, so that whoever shows it cuts it in its own way.
const MAX_TITLE_CHARS: usize = 1_000;

/// A call in a few words: the name of the tool, and what tells most about this call of it.
pub(super) fn title(name: &str, input: &str) -> String {
    let Heading { name, detail, .. } =
        ToolCallView::new(ToolKind::named(name), input).heading(name);
    match one_line(&detail, MAX_TITLE_CHARS).as_str() {
        "" => name,
        detail => format!("{name}: {detail}"),
    }
}

/// Puts what the agent says and does on a page.
#[derive(Debug, Default)]
pub(super) struct ToolPrinter {
    /// Who spoke last.
    speaker: Option<Speaker>,
    /// Of whom something was shown last.
    shown: Option<Speaker>,
    text: StreamedText,
    /// The message that is being said.
    message: String,
    /// The newest last, and looked for from there: most results come soon.
    calls: VecDeque<PendingCall>,
    last: Option<LastShown>,
}

/// A call that was made.
#[derive(Debug)]
struct PendingCall {
    speaker: Speaker,
    id: String,
    heading: Heading,
    asked: ToolRequest,
    depth: usize,
    /// The call that started the agent who made it, unless that is the main one.
    within: Option<String>,
}

/// A call that is being made.
#[derive(Clone, Copy, Debug)]
struct NewCall<'a> {
    id: &'a str,
    name: &'a str,
    input: &'a str,
}

/// What came of one.
#[derive(Clone, Copy, Debug)]
struct CallResult<'a> {
    went: ToolStatus,
    content: &'a str,
}

/// The call that was shown last, or whose result was.
#[derive(Debug)]
struct LastShown {
    id: String,
    within: Option<String>,
}

impl ToolPrinter {
    /// Shows a message, if there is something to show of it.
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
                // Words that come as a whole only are those of another message then.
                if self.message != *id {
                    self.text.next_message();
                    id.as_ref().clone_into(&mut self.message);
                }
            }
            MessageKind::Result(_) | MessageKind::SyntheticError(_) if main => self.end_text(page),
            // The words of agents that the agent started are its own affair, and thoughts nobody's.
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

    /// Something that is not from here was shown: what belongs to something above it has to say so.
    pub(super) fn interrupted(&mut self) {
        self.last = None;
    }

    /// Whoever spoke has ended: words that were cut off are shown as far as they came.
    pub(super) fn end(&mut self, page: &mut Page<'_>) {
        self.end_text(page);
        *self = Self::default();
    }

    /// No more words of this text come.
    fn end_text(&mut self, page: &mut Page<'_>) {
        let lines = self.text.end();
        self.print_lines(page, lines);
    }

    /// Something else than words comes.
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
                    page.verbatim(LinePrefix { indent: 2, sign: "●" }, None, &line);
                }
                words::TextLine::More(line) => {
                    page.verbatim(LinePrefix { indent: 4, sign: "" }, None, &line);
                }
            }
        }
    }

    /// Before anything of somebody is shown: who it is, unless that is plain.
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
        page.heading(LinePrefix { indent: place(depth), sign: "→" }, &heading);
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

    /// How far in the calls of an agent are that was started by this call. It is named, with those
    /// that it is within, unless it is plain that they are its own.
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
            page.reminder(LinePrefix { indent: place(agent.depth), sign: "…" }, &agent.heading);
        }
        let agent = self.made(speaker, call).map(|at| &self.calls[at]);
        agent.map_or(1, |agent| (agent.depth + 1).min(MAX_DEPTH))
    }

    /// Whether what is shown next is seen as that of the agent which this call started.
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
            page.reminder(LinePrefix { indent: place(made.depth), sign: "←" }, &made.heading);
        }
        result::show(page, place(made.depth) + 2, made.asked, came.went, came.content);
        self.last = Some(LastShown { id: made.id.clone(), within: made.within.clone() });
        // An agent may go on after its call came back.
        if made.asked.tool != ToolKind::Agent
            && let Some(at) = at
        {
            self.calls.remove(at);
        }
    }

    /// Where a call is among those that are remembered.
    fn made(&self, speaker: Speaker, id: &str) -> Option<usize> {
        self.calls.iter().rposition(|call| call.id == id && call.speaker == speaker)
    }
}

impl PendingCall {
    /// A call that nobody saw, or that was forgotten.
    fn unknown(speaker: Speaker, id: &str) -> Self {
        let heading = Heading { name: "an earlier call".to_owned(), ..Heading::default() };
        let (background, finds) = (Background::NotWanted, SearchOutput::Files);
        let (tool, first_line, most_lines) = (ToolKind::Other, 1, None);
        let asked = ToolRequest { tool, first_line, most_lines, background, finds };
        Self { speaker, id: id.to_owned(), heading, asked, depth: 0, within: None }
    }
}

/// Where the calls of agents so deep begin.
fn place(depth: usize) -> usize {
    2 + 4 * depth
}

#[cfg(test)]
mod tests;
