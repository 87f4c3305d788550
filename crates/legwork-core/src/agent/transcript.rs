//! An attempt as it is heard: line by line while it goes on, and as a report when it is over.
//!
//! However long an attempt talks, only its last words, its last result and the tool calls that are
//! going on are kept.

use std::time::Duration;

use jiff::Timestamp;

use super::dialect::{Dialect, Ending};
use super::message::{
    AgentMessage, ErrorFacts, Owner, Part, RateLimit, ResultFacts, Said, UsageAt,
};
use super::outcome::{AttemptOutcome, Consequence, CutReason, Death};
use super::report::{AgentNews, Answer, AttemptReport, Pulse, QuotaNews, StreamFacts, Words};
use super::verdict::verdict;
use crate::event::Purpose;
use crate::evidence;
use crate::settings::Completion;
use spend::Spend;
use tools::{CallOf, Tools};

mod spend;
mod tools;

/// The most that is kept of a text. The end of a message matters more than its beginning.
const TEXT_MAX: usize = 1 << 20;

/// The most that is kept of an answer in words.
const ANSWER_MAX: usize = 16 << 10;

/// Further names of denied tools are left out: the first few say what has to be allowed.
const DENIED_MAX: usize = 32;

/// The status of an answer to somebody who is not logged in.
const UNAUTHORIZED: u16 = 401;

/// How an attempt is to be read.
#[derive(Clone, Copy, Debug)]
pub struct Reading<'a> {
    /// The language it speaks.
    pub dialect: Dialect,
    /// What its words are searched for.
    pub completion: &'a Completion,
    /// What it is for; `None` = the work itself.
    pub purpose: Option<Purpose>,
    /// Whether its input stays open after the prompt.
    pub live: bool,
    /// When it was started, by the clock that never goes back.
    pub started: Duration,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, Default)]
pub struct Closing<'a> {
    /// How the process ended; `None` = nobody saw it.
    pub exit: Option<Death>,
    /// Why we ended it, if we did.
    pub cut: Option<CutReason>,
    /// The end of standard error.
    pub stderr: &'a str,
    /// Bytes on standard output.
    pub stdout_bytes: u64,
    /// Bytes on standard error.
    pub stderr_bytes: u64,
}

/// What was heard of an attempt or call so far.
#[derive(Debug)]
pub struct Transcript {
    dialect: Dialect,
    completion: Completion,
    purpose: Option<Purpose>,
    input: Input,
    turn: Turn,
    /// When the last line came, or the attempt was started.
    last_line: Duration,
    bad_lines: u64,
    was_ready: bool,
    login_refused: bool,
    tools: Tools,
    spend: Spend,
    turns: u32,
    result: Option<ResultFacts>,
    /// The error that belongs to the result, or that came since.
    error: Option<ErrorFacts>,
    rate_limit: Option<RateLimit>,
    quotas: Vec<QuotaNews>,
    denied: Vec<String>,
    last_text: String,
}

/// Whether more can be said to the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Input {
    Open,
    Closed,
}

/// Whether the agent is at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    /// It is, or is about to be.
    GoesOn,
    /// It has given a result and not begun anew.
    Over,
}

impl Transcript {
    /// Nothing was heard yet.
    pub fn new(reading: Reading<'_>) -> Self {
        Self {
            dialect: reading.dialect,
            completion: reading.completion.clone(),
            purpose: reading.purpose,
            input: if reading.live { Input::Open } else { Input::Closed },
            turn: Turn::GoesOn,
            last_line: reading.started,
            bad_lines: 0,
            was_ready: false,
            login_refused: false,
            tools: Tools::default(),
            spend: Spend::default(),
            turns: 0,
            result: None,
            error: None,
            rate_limit: None,
            quotas: Vec::new(),
            denied: Vec::new(),
            last_text: String::new(),
        }
    }

    /// Takes one line: shows what it says, and tells what matters to the machine.
    pub fn line(
        &mut self,
        mono: Duration,
        line: &[u8],
        tell: &mut impl FnMut(AgentNews),
        show: &mut impl FnMut(&AgentMessage<'_>),
    ) {
        self.last_line = mono;
        let dialect = self.dialect;
        let read = dialect.decode(line, &mut |message| {
            show(&message);
            self.fold(mono, message, tell);
        });
        if read.is_err() {
            self.bad_lines += 1;
        }
    }

    /// A line came that was too long to be read: a sign of life and no more.
    pub fn unreadable(&mut self, mono: Duration) {
        self.last_line = mono;
        self.bad_lines += 1;
    }

    /// The input was closed: after the next result only the exit is missing.
    pub fn close_input_noted(&mut self) {
        self.input = Input::Closed;
    }

    /// A further message was sent: the agent will go on.
    pub fn nudge_noted(&mut self) {
        self.turn = Turn::GoesOn;
    }

    /// A sign of life.
    pub fn pulse(&self, mono: Duration) -> Pulse {
        Pulse {
            quiet: mono.saturating_sub(self.last_line),
            tool: self.tools.longest(mono),
            leaving: self.turn == Turn::Over && self.input == Input::Closed,
            tokens: self.spend.tokens(),
        }
    }

    /// The report of an attempt that is over and whose processes are gone.
    pub fn finish(self, mono: Duration, wall: Timestamp, closing: Closing<'_>) -> AttemptReport {
        let outcome = self.dialect.classify(&Ending {
            cut: closing.cut,
            exit: closing.exit,
            result: self.result.as_ref(),
            error: self.error.as_ref(),
            rate_limit: self.rate_limit.as_ref(),
            tool_calls: self.tools.calls(),
            saw_stdout: closing.stdout_bytes > 0,
            stderr: closing.stderr,
            now: wall,
        });
        let text = self.final_message(&outcome);
        let words = self.words(&outcome, text);
        let answer = self.answer(&outcome, text);
        let bill = self.spend.bill(self.dialect, self.was_ready);
        AttemptReport {
            outcome,
            cost: bill.cost,
            priced: bill.priced,
            tokens: bill.tokens,
            turns: self.turns,
            words,
            denied: self.denied,
            answer,
            stream: StreamFacts {
                stdout_bytes: closing.stdout_bytes,
                stderr_bytes: closing.stderr_bytes,
                bad_lines: self.bad_lines,
                quiet: mono.saturating_sub(self.last_line),
            },
        }
    }

    fn fold(
        &mut self,
        mono: Duration,
        message: AgentMessage<'_>,
        tell: &mut impl FnMut(AgentNews),
    ) {
        let AgentMessage { owner, said } = message;
        match said {
            Said::Ready(ready) => {
                self.turn = Turn::GoesOn;
                if !std::mem::replace(&mut self.was_ready, true) {
                    tell(AgentNews::Ready(ready));
                }
            }
            Said::Text { text, part: Part::Whole } if owner.is_main() => {
                end_of(&text, TEXT_MAX).clone_into(&mut self.last_text);
            }
            Said::ToolCall { id, name, .. } => {
                let of = if owner.is_main() { CallOf::Main } else { CallOf::Sub };
                self.tools.begin(mono, &id, &name, of);
            }
            Said::ToolResult { id, .. } => self.tools.end(&id),
            Said::Heartbeat { id } => self.tools.beat(mono, &id),
            Said::ApiRetry { status, .. } => self.retry(status, tell),
            Said::RateLimit(limit) => self.limited(limit, tell),
            Said::Denied { tool } => self.deny(&tool, tell),
            Said::Usage { when, model, tokens } => {
                if when == UsageAt::Start && owner == Owner::Main {
                    self.turn = Turn::GoesOn;
                    self.tools.main_goes_on();
                }
                self.spend.message(self.dialect, &owner, when, &model, tokens);
            }
            Said::SyntheticError(error) if owner.is_main() => self.error = Some(error),
            Said::Result(result) => self.turn_over(*result, tell),
            Said::Text { .. }
            | Said::SyntheticError(_)
            | Said::Thinking
            | Said::Compaction
            | Said::Other { .. } => {}
        }
    }

    /// The program would go on asking for minutes; the machine knows better what to do.
    fn retry(&mut self, status: Option<u16>, tell: &mut impl FnMut(AgentNews)) {
        if status == Some(UNAUTHORIZED) && !std::mem::replace(&mut self.login_refused, true) {
            tell(AgentNews::LoginRefused);
        }
    }

    fn limited(&mut self, limit: RateLimit, tell: &mut impl FnMut(AgentNews)) {
        for news in &limit.windows {
            if !self.quotas.contains(news) {
                self.quotas.retain(|known| known.window != news.window);
                self.quotas.push(*news);
                tell(AgentNews::Quota(*news));
            }
        }
        self.rate_limit = Some(limit);
    }

    fn deny(&mut self, tool: &str, tell: &mut impl FnMut(AgentNews)) {
        let known = self.denied.iter().any(|known| known == tool);
        if !known && self.denied.len() < DENIED_MAX {
            self.denied.push(tool.to_owned());
            tell(AgentNews::Denied { tool: tool.to_owned() });
        }
    }

    fn turn_over(&mut self, mut result: ResultFacts, tell: &mut impl FnMut(AgentNews)) {
        self.spend.result(&result);
        self.turns = self.turns.saturating_add(result.turns);
        for tool in std::mem::take(&mut result.denied) {
            self.deny(&tool, tell);
        }
        if !result.is_error {
            self.error = None;
        }
        if let Some(text) = &mut result.text {
            *text = end_of(text, TEXT_MAX).to_owned();
        }
        self.tools.clear();
        self.turn = Turn::Over;
        self.result = Some(result);
        if self.input == Input::Open {
            tell(AgentNews::TurnEnded { noticed: None });
        }
    }

    /// What the agent said last: in its result, or where a limit left it without one, before.
    fn final_message(&self, outcome: &AttemptOutcome) -> &str {
        let of_result = self.result.as_ref().and_then(|result| result.text.as_deref());
        if *outcome == AttemptOutcome::Finished {
            of_result.unwrap_or(&self.last_text)
        } else {
            &self.last_text
        }
    }

    /// Only an attempt that came to an end can claim anything.
    fn words(&self, outcome: &AttemptOutcome, text: &str) -> Words {
        if self.purpose.is_none() && outcome.consequence() == Consequence::Judge {
            evidence::words(text, &self.completion)
        } else {
            Words { summary: evidence::summary(text), ..Words::default() }
        }
    }

    fn answer(&self, outcome: &AttemptOutcome, text: &str) -> Option<Answer> {
        let purpose = self.purpose?;
        if outcome.consequence() != Consequence::Judge {
            return None;
        }
        let structured = self.result.as_ref().and_then(|result| result.structured.as_deref());
        match purpose {
            Purpose::Verify => verdict(text, structured).map(Answer::Verdict),
            Purpose::Review | Purpose::Advise | Purpose::Council => {
                let text = end_of(text.trim(), ANSWER_MAX);
                (!text.is_empty()).then(|| Answer::Text { text: text.to_owned() })
            }
        }
    }
}

/// The last so many bytes, from the beginning of a character on.
fn end_of(text: &str, most: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(most))..]
}

#[cfg(test)]
mod tests;
