//! An attempt as it is heard: line by line while it goes on, and as a report when it is over.
//!
//! However long an attempt talks, only its last words, its last result, its first few blockers and
//! the tool calls that are going on are kept.

use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::dialect::{Dialect, Ending, Speech};
use super::message::{
    AgentMessage, DeniedCall, ErrorFacts, Owner, Part, RateLimit, ResultFacts, Said, UsageAt,
};
use super::outcome::{AttemptOutcome, Consequence, CutReason, Death};
use super::report::{
    AgentNews, Answer, AttemptReport, Blocker, Notice, Pulse, QuotaNews, StreamFacts, TurnEnd,
    Words,
};
use super::verdict::verdict;
use crate::event::Purpose;
use crate::evidence::{self, blockers};
use crate::permissions::denial::Denial;
use crate::settings::Completion;
use rhythm::Rhythm;
use said::{LastWords, TEXT_MAX, end_of};
use spend::{Sighting, Spend};
use talk::Talk;
use tools::{CallOf, Tools};
use unknown::Unknown;

mod rhythm;
mod said;
mod spend;
mod talk;
mod tools;
mod unknown;

/// The most that is kept of an answer in words.
const ANSWER_MAX: usize = 16 << 10;

/// Further uses of tools that were denied are left out: the first few say what has to be allowed.
const DENIED_MAX: usize = 64;

/// What is kept of the reason for a denial.
const REASON_MAX: usize = 8 << 10;

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
    /// The time zone of the machine, if it is known.
    pub zone: Option<&'a TimeZone>,
}

/// An attempt that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heard {
    /// What the machine wants to know of it.
    pub report: AttemptReport,
    /// What the agent said last, the end of it if it is very long; empty if it said nothing.
    pub final_text: String,
}

/// What was heard of an attempt or call so far.
#[derive(Debug)]
pub struct Transcript {
    dialect: Dialect,
    completion: Completion,
    purpose: Option<Purpose>,
    started: Duration,
    talk: Talk,
    /// When the last line came, or the attempt was started.
    last_line: Duration,
    /// Whether a line came.
    heard: bool,
    bad_lines: u64,
    unknown: Unknown,
    was_ready: bool,
    /// Where the key comes from that it works with.
    api_key: String,
    login_refused: bool,
    tools: Tools,
    rhythm: Rhythm,
    spend: Spend,
    turns: u32,
    result: Option<ResultFacts>,
    /// The error that belongs to the result.
    error_of_result: Option<ErrorFacts>,
    /// The error that came since.
    error: Option<ErrorFacts>,
    rate_limit: Option<RateLimit>,
    quotas: Vec<QuotaNews>,
    denied: Vec<Denial>,
    /// The calls that these are about.
    denied_calls: Vec<String>,
    last_words: LastWords,
    /// The words of the last turn, if a message of ours was waiting when it ended.
    queued: Option<Queued>,
    /// The same of the turn before the last one.
    before: Option<Queued>,
    /// What it said it can't go on without, in any of its messages: an attempt that is cut off has
    /// no last one.
    blockers: Vec<Blocker>,
}

/// A turn that ended while a message of ours was waiting.
#[derive(Debug)]
struct Queued {
    /// Tool calls until then.
    calls: u32,
    /// What its last words amount to.
    words: Words,
}

impl Transcript {
    /// Nothing was heard yet.
    pub fn new(reading: Reading<'_>) -> Self {
        Self {
            dialect: reading.dialect,
            completion: reading.completion.clone(),
            purpose: reading.purpose,
            started: reading.started,
            talk: Talk::new(reading.live),
            last_line: reading.started,
            heard: false,
            bad_lines: 0,
            unknown: Unknown::default(),
            was_ready: false,
            api_key: String::new(),
            login_refused: false,
            tools: Tools::default(),
            rhythm: Rhythm::default(),
            spend: Spend::default(),
            turns: 0,
            result: None,
            error_of_result: None,
            error: None,
            rate_limit: None,
            quotas: Vec::new(),
            denied: Vec::new(),
            denied_calls: Vec::new(),
            last_words: LastWords::default(),
            queued: None,
            before: None,
            blockers: Vec::new(),
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
        self.heard = true;
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
        self.heard = true;
        self.bad_lines += 1;
    }

    /// The input was closed: after the next result only the exit is missing.
    pub fn close_input_noted(&mut self) {
        self.talk.close();
    }

    /// A further message was sent: the agent will take it up, sooner or later.
    pub fn nudge_noted(&mut self) {
        self.talk.say();
    }

    /// A sign of life.
    pub fn pulse(&self, mono: Duration) -> Pulse {
        Pulse {
            quiet: mono.saturating_sub(self.last_line),
            tool: self.tools.running(mono),
            leaving: self.talk.is_leaving(),
            tokens: self.spend.tokens(),
        }
    }

    /// The report of an attempt that is over and whose processes are gone.
    pub fn finish(self, mono: Duration, wall: Timestamp, closing: Closing<'_>) -> AttemptReport {
        self.conclude(mono, wall, closing).report
    }

    /// The same, with what was said last.
    pub fn conclude(self, mono: Duration, wall: Timestamp, closing: Closing<'_>) -> Heard {
        let tokens = self.spend.tokens();
        let result = self.standing_result();
        let outcome = self.dialect.classify(&Ending {
            cut: closing.cut,
            exit: closing.exit,
            result,
            error: self.error.as_ref().or(result.and(self.error_of_result.as_ref())),
            rate_limit: self.rate_limit.as_ref(),
            api_key: &self.api_key,
            tool_calls: self.tools.calls(),
            tokens,
            saw_stdout: self.heard,
            stderr: closing.stderr,
            now: wall,
            zone: closing.zone,
        });
        let text = self.final_message();
        let words = self.words(&outcome, closing.cut, text);
        let answer = self.answer(&outcome, text);
        let final_text = text.to_owned();
        let worked = self.was_ready
            || !self.dialect.announces_itself()
            || self.result.is_some()
            || self.tools.calls() > 0
            || !self.last_words.as_str().is_empty();
        let bill = self.spend.bill(self.dialect, worked);
        let by_time = || self.dialect.price_of_time(mono.saturating_sub(self.started));
        let report = AttemptReport {
            outcome,
            cost: bill.cost,
            priced: bill.priced.or_else(by_time),
            tokens: bill.tokens,
            turns: self.turns,
            words,
            denied: self.denied,
            edited: self.dialect.tells_tools().then(|| self.tools.edited().to_vec()),
            answer,
            heard: self.talk.heard(),
            stream: StreamFacts {
                stdout_bytes: closing.stdout_bytes,
                stderr_bytes: closing.stderr_bytes,
                bad_lines: self.bad_lines,
                unknown_events: self.unknown.events(),
                results: self.talk.results(),
                tool_calls: self.tools.calls(),
                tool_errors: self.tools.errors(),
                quiet: mono.saturating_sub(self.last_line),
            },
            unknown: self.unknown.into_kinds(),
        };
        Heard { report, final_text }
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
                self.talk.begin_turn();
                self.api_key.clone_from(&ready.api_key);
                if !std::mem::replace(&mut self.was_ready, true) {
                    tell(AgentNews::Ready(ready));
                }
            }
            Said::Text { text, part: Part::Whole } if owner.is_main() => {
                match self.dialect.speech() {
                    Speech::Messages => {
                        blockers::hear(&text, &mut self.blockers);
                        self.last_words.replace(&text);
                    }
                    Speech::OneText => self.last_words.append(&text),
                }
            }
            Said::ToolCall { id, name, input } => {
                let is_main = owner.is_main();
                let subject = self.dialect.subject_of(input);
                let is_new = self.tools.begin(mono, &id, (&name, subject), CallOf::new(owner));
                if is_new && let Some(path) = self.dialect.edited_file(&name, input) {
                    self.tools.note_edit(path);
                }
                if is_main && is_new {
                    self.watch(|rhythm| rhythm.call(&name, input), tell);
                }
            }
            Said::ToolResult { id, went, content: _ } => {
                let name = self.tools.end(&id, went).unwrap_or_default();
                if owner.is_main() {
                    self.watch(|rhythm| rhythm.result(&id, &name, went), tell);
                }
            }
            Said::Compaction if owner.is_main() => self.watch(Rhythm::compaction, tell),
            Said::Heartbeat { id } => self.tools.beat(mono, &id),
            Said::ApiRetry { status, .. } => self.retry(status, tell),
            Said::RateLimit(limit) => self.limited(limit, tell),
            Said::Denied { tool, id, why } => {
                self.rhythm.denied(&id);
                let input = self.tools.subject(&id).unwrap_or_default().to_owned();
                let why = why[..why.floor_char_boundary(REASON_MAX.min(why.len()))].to_owned();
                self.deny(&id, Denial { tool: tool.into_owned(), input, why }, tell);
            }
            Said::Usage { when, id, model, tokens } => {
                if when == UsageAt::Start && owner == Owner::Main {
                    self.talk.begin_turn();
                    self.tools.main_goes_on();
                }
                let seen = Sighting { owner: &owner, when, id: &id, model: &model, tokens };
                self.spend.message(self.dialect, seen);
            }
            Said::SyntheticError(error) if owner.is_main() => self.error = Some(error),
            Said::Result(result) => self.turn_over(*result, tell),
            Said::TakenUp { messages } => self.talk.take_up(messages),
            Said::Unknown { kind } => self.unknown.event(&kind),
            Said::Text { .. }
            | Said::SyntheticError(_)
            | Said::Thinking
            | Said::Compaction
            | Said::Other { .. } => {}
        }
    }

    /// Follows the rhythm of work. Calls are short, and nobody would answer them.
    fn watch(
        &mut self,
        see: impl FnOnce(&mut Rhythm) -> Option<Notice>,
        tell: &mut impl FnMut(AgentNews),
    ) {
        if self.purpose.is_none()
            && let Some(notice) = see(&mut self.rhythm)
        {
            tell(AgentNews::Noticed(notice));
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

    /// A call is told of twice: when it is denied, and at the end of the turn. The first has the
    /// reason.
    fn deny(&mut self, call: &str, denial: Denial, tell: &mut impl FnMut(AgentNews)) {
        let is_told = !call.is_empty() && self.denied_calls.iter().any(|told| told == call);
        if is_told || self.denied_calls.len() >= DENIED_MAX {
            return;
        }
        self.denied_calls.push(call.to_owned());
        if !self.denied.contains(&denial) {
            self.denied.push(denial.clone());
            tell(AgentNews::Denied(denial));
        }
    }

    fn turn_over(&mut self, mut result: ResultFacts, tell: &mut impl FnMut(AgentNews)) {
        self.spend.result(self.dialect, &result);
        self.unknown.fields(&std::mem::take(&mut result.unknown_fields));
        self.turns = self.turns.saturating_add(result.turns.unwrap_or(0));
        for DeniedCall { id, tool, input } in std::mem::take(&mut result.denied) {
            self.deny(&id, Denial { tool, input, why: String::new() }, tell);
        }
        self.error_of_result = self.error.take().filter(|_| result.is_error);
        if let Some(text) = &mut result.text {
            *text = end_of(text, TEXT_MAX).to_owned();
        }
        self.tools.clear();
        self.talk.end_turn();
        self.before = None;
        if self.talk.is_open() {
            let how = match result.is_error {
                true => TurnEnd::Failed,
                false if self.talk.waiting() > 0 => TurnEnd::Queued,
                false => TurnEnd::Well,
            };
            let text = result.text.as_deref().unwrap_or(self.last_words.as_str());
            let words = self.words_of_turn(how, text);
            let noticed = words.as_ref().and_then(|words| words.noticed.first().cloned());
            self.before = self.queued.take();
            if how == TurnEnd::Queued {
                self.queued = words.map(|words| Queued { calls: self.tools.calls(), words });
            }
            tell(AgentNews::TurnEnded { how, noticed });
        }
        self.result = Some(result);
    }

    /// What the last words of a turn amount to. After an error they are none of the agent's.
    fn words_of_turn(&self, how: TurnEnd, text: &str) -> Option<Words> {
        match how {
            TurnEnd::Well | TurnEnd::Queued if self.purpose.is_none() => {
                Some(evidence::words(text, &self.completion, self.dialect.speech()))
            }
            TurnEnd::Well | TurnEnd::Queued | TurnEnd::Failed => None,
        }
    }

    /// A claim stands when all that came after it was an answer in words to something that we had
    /// said before: the agent said it once, and did nothing since.
    fn with_claim_before(&self, mut words: Words, text: &str) -> Words {
        if let Some(Queued { calls, words: before }) = &self.before
            && *calls == self.tools.calls()
            && words.noticed.is_empty()
            && words.blockers.is_empty()
            && words.conflict.is_none()
            && !evidence::retracts(text)
        {
            words.promise |= before.promise;
            words.signal |= before.signal;
            words.end_phrase |= before.end_phrase;
            words.says_done |= before.says_done;
            if words.promise {
                words.marker_ignored = None;
            }
        }
        words
    }

    /// The last result, unless it was overtaken: an agent that died over a further message of
    /// ours has not come to its end.
    fn standing_result(&self) -> Option<&ResultFacts> {
        self.result.as_ref().filter(|_| !self.talk.is_answering())
    }

    /// What the agent said last: in its result, or where that is none of its own, before.
    fn final_message(&self) -> &str {
        let good = self.standing_result().filter(|result| !result.is_error);
        good.and_then(|result| result.text.as_deref()).unwrap_or(self.last_words.as_str())
    }

    /// Only an attempt that came to an end can claim anything. What it needs it may have said
    /// before it was cut off, unless somebody wanted it stopped: then nothing is concluded.
    fn words(&self, outcome: &AttemptOutcome, cut: Option<CutReason>, text: &str) -> Words {
        let mut words = match outcome.consequence() {
            Consequence::Judge if self.purpose.is_none() => {
                let words = evidence::words(text, &self.completion, self.dialect.speech());
                self.with_claim_before(words, text)
            }
            Consequence::Judge
            | Consequence::JudgeTree
            | Consequence::Wait { .. }
            | Consequence::Retry
            | Consequence::FailIteration { .. }
            | Consequence::EndRun { .. } => {
                Words { summary: evidence::summary(text), ..Words::default() }
            }
        };
        if self.purpose.is_some() || cut == Some(CutReason::StopNow) {
            words.blockers.clear();
            return words;
        }
        let mut heard = self.blockers.clone();
        if self.dialect.speech() == Speech::OneText {
            blockers::hear(self.last_words.as_str(), &mut heard);
        }
        blockers::add(std::mem::take(&mut words.blockers), &mut heard);
        Words { blockers: heard, ..words }
    }

    fn answer(&self, outcome: &AttemptOutcome, text: &str) -> Option<Answer> {
        let purpose = self.purpose?;
        if outcome.consequence() != Consequence::Judge {
            return None;
        }
        let structured = self.standing_result().and_then(|result| result.structured.as_deref());
        match purpose {
            Purpose::Verify => verdict(text, structured).map(Answer::Verdict),
            // Who ran out of money or turns was not through: what it said last is no decision.
            Purpose::Advise | Purpose::Council if *outcome != AttemptOutcome::Finished => None,
            Purpose::Review | Purpose::Advise | Purpose::Council => {
                let text = end_of(text.trim(), ANSWER_MAX);
                (!text.is_empty()).then(|| Answer::Text { text: text.to_owned() })
            }
        }
    }
}

#[cfg(test)]
mod tests;
