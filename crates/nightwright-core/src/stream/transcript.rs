//! Transcript of an attempt: read line by line while it runs, and turned into a report at its end.
//!
//! However much an attempt prints, only its last words, its last result, its first few blockers and
//! the running tool calls are kept.

use std::collections::VecDeque;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::dialect::{Dialect, FinishedAttempt, TextShape};
use super::message::{
    AgentMessage, DeniedCall, ErrorFacts, MessageKind, Owner, RateLimit, ResultFacts, TextPart,
    ToolStatus, UsageAt,
};
use super::news::{
    AgentNews, AttemptReport, Blocker, Pulse, QuotaNews, StatedDecision, StreamFacts, TextEvidence,
    TurnEnd, WatchdogFinding,
};
use super::outcome::{AttemptOutcome, CancelReason, ProcessExit};
use crate::event::CallPurpose;
use crate::permissions::denial::Denial;
use crate::redact::Secrets;
use crate::settings::Completion;
use last_text::{LastText, MAX_TEXT, end_of};
use loop_detector::LoopDetector;
pub use spend::RunningSpend;
use spend::{MessageUsage, SpendTracker};
use tools::{CallOwner, ToolTracker};
use turns::TurnState;
use unknown::UnknownEvents;

mod final_words;
mod last_text;
mod loop_detector;
mod masking;
mod spend;
mod tools;
mod turns;
mod unknown;

/// The maximum number of denials. The first few show which rules are missing.
const MAX_DENIED: usize = 64;
/// The maximum number of failed calls whose answer is kept.
const MAX_FAILED: usize = 32;
/// The maximum length of such an answer, as JSON. That of a denied call is short.
const MAX_ANSWER: usize = 1 << 10;

/// The HTTP status of a request without a valid login.
const UNAUTHORIZED: u16 = 401;

/// The options for reading an attempt.
#[derive(Clone, Copy, Debug)]
pub struct TranscriptOptions<'a> {
    pub dialect: Dialect,
    /// The completion settings, which define what is searched for.
    pub completion: &'a Completion,
    /// The secrets to mask in all texts that leave the transcript.
    pub secrets: &'a Secrets,
    /// The purpose of a call; `None` for the work itself.
    pub purpose: Option<CallPurpose>,
    /// Whether its input stays open after the prompt.
    pub live: bool,
    /// The time of its start, by a monotonic clock.
    pub started: Duration,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, Default)]
pub struct AttemptExit<'a> {
    /// The exit of the process; `None` if it was not seen.
    pub exit: Option<ProcessExit>,
    /// The reason why nightwright ended it, if it did.
    pub cut: Option<CancelReason>,
    /// The end of standard error.
    pub stderr: &'a str,
    /// The number of bytes on standard output.
    pub stdout_bytes: u64,
    /// The number of bytes on standard error.
    pub stderr_bytes: u64,
    /// The time zone of the machine, if it is known.
    pub zone: Option<&'a TimeZone>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinishedTranscript {
    /// The report for the state machine.
    pub report: AttemptReport,
    /// The agent's last message, truncated to its end if it is very long; empty if there was none.
    pub final_text: String,
}

/// The state of an attempt or call so far.
#[derive(Debug)]
pub struct Transcript {
    dialect: Dialect,
    completion: Completion,
    secrets: Secrets,
    purpose: Option<CallPurpose>,
    started: Duration,
    turn_state: TurnState,
    /// The time of the last line, or of the start.
    last_line: Duration,
    /// Whether a line was printed.
    has_output: bool,
    bad_lines: u64,
    unknown: UnknownEvents,
    was_ready: bool,
    /// The source of the API key.
    api_key: String,
    login_refused: bool,
    tools: ToolTracker,
    loop_detector: LoopDetector,
    spend: SpendTracker,
    turns: u32,
    result: Option<ResultFacts>,
    /// The error that belongs to the result.
    error_of_result: Option<ErrorFacts>,
    /// The error reported since the result.
    error: Option<ErrorFacts>,
    rate_limit: Option<RateLimit>,
    quotas: Vec<QuotaNews>,
    denied: Vec<Denial>,
    /// The calls that these denials are about.
    denied_calls: Vec<String>,
    /// The last failed calls and their answers. Old versions of Claude Code give the reason for a
    /// denial only there.
    failed_calls: VecDeque<(String, String)>,
    last_text: LastText,
    /// The words of the last turn, if a message was waiting when it ended.
    queued: Option<QueuedTurn>,
    /// The final words of the turn before that one.
    before: Option<QueuedTurn>,
    /// The blockers named in any message: an attempt that is cut off has no last one.
    blockers: Vec<Blocker>,
    /// The decisions reported in any message.
    decisions: Vec<StatedDecision>,
}

/// A turn that ended while a message was waiting.
#[derive(Debug)]
struct QueuedTurn {
    /// The number of tool calls until then.
    calls: u32,
    /// The evidence in its last words.
    text_evidence: TextEvidence,
}

impl Transcript {
    /// A transcript without any lines.
    pub fn new(reading: TranscriptOptions<'_>) -> Self {
        Self {
            dialect: reading.dialect,
            completion: reading.completion.clone(),
            secrets: reading.secrets.clone(),
            purpose: reading.purpose,
            started: reading.started,
            turn_state: TurnState::new(reading.live),
            last_line: reading.started,
            has_output: false,
            bad_lines: 0,
            unknown: UnknownEvents::default(),
            was_ready: false,
            api_key: String::new(),
            login_refused: false,
            tools: ToolTracker::default(),
            loop_detector: LoopDetector::new(reading.secrets.clone()),
            spend: SpendTracker::default(),
            turns: 0,
            result: None,
            error_of_result: None,
            error: None,
            rate_limit: None,
            quotas: Vec::new(),
            denied: Vec::new(),
            denied_calls: Vec::new(),
            failed_calls: VecDeque::new(),
            last_text: LastText::default(),
            queued: None,
            before: None,
            blockers: Vec::new(),
            decisions: Vec::new(),
        }
    }

    /// Reads one line: passes its messages to `show`, and news for the state machine to `tell`.
    pub fn line(
        &mut self,
        mono: Duration,
        line: &[u8],
        tell: &mut impl FnMut(AgentNews),
        show: &mut impl FnMut(&AgentMessage<'_>),
    ) {
        self.last_line = mono;
        self.has_output = true;
        let dialect = self.dialect;
        let read = dialect.decode(line, &mut |message| {
            show(&message);
            self.fold(mono, message, tell);
        });
        if read.is_err() {
            self.bad_lines += 1;
        }
    }

    /// Records a line that was too long to be read, as a sign of life.
    pub fn unreadable(&mut self, mono: Duration) {
        self.last_line = mono;
        self.has_output = true;
        self.bad_lines += 1;
    }

    /// Records that the input was closed: after the next result, only the exit is outstanding.
    pub fn close_input_noted(&mut self) {
        self.turn_state.close();
    }

    /// Records a further message, which the agent will take up later.
    pub fn nudge_noted(&mut self) {
        self.turn_state.message_sent();
    }

    /// A sign of life for the state machine.
    pub fn pulse(&self, mono: Duration) -> Pulse {
        Pulse {
            quiet: mono.saturating_sub(self.last_line),
            tool: self.tools.running(mono),
            exiting: self.turn_state.is_exiting(),
            tokens: self.spend.tokens(),
        }
    }

    /// The report of an attempt that has ended and whose processes are gone.
    pub fn finish(
        self,
        mono: Duration,
        wall: Timestamp,
        closing: AttemptExit<'_>,
    ) -> AttemptReport {
        self.conclude(mono, wall, closing).report
    }

    /// Like [`Transcript::finish`], with the agent's last message.
    pub fn conclude(
        mut self,
        mono: Duration,
        wall: Timestamp,
        closing: AttemptExit<'_>,
    ) -> FinishedTranscript {
        if self.dialect.text_shape() == TextShape::OneText {
            let text = std::mem::take(&mut self.last_text);
            self.collect(text.as_str());
            self.last_text = text;
        }
        let outcome = self.outcome(wall, closing);
        let text = self.final_message();
        let shown = masking::final_text(&self.secrets, text);
        let text_evidence = self.text_evidence(&outcome, closing.cut, (text, &shown));
        let answer = self.answer(&outcome, text, &shown);
        // A program that printed anything, even if it cannot be read, may have called a model.
        let worked =
            self.has_output || closing.stdout_bytes > 0 || !self.dialect.announces_itself();
        let bill = self.spend.bill(self.dialect, worked);
        let mask = |text: &String| self.secrets.mask(text).into_owned();
        let by_time = || self.dialect.price_of_time(mono.saturating_sub(self.started));
        let report = AttemptReport {
            outcome,
            cost: bill.cost,
            priced: bill.priced.or_else(by_time),
            tokens: bill.tokens,
            turns: self.turns,
            text_evidence,
            denied: self.denied,
            edited: self.dialect.shows_tools().then(|| self.tools.edited().to_vec()),
            answer,
            acknowledged: self.turn_state.acknowledged(),
            stream: StreamFacts {
                stdout_bytes: closing.stdout_bytes,
                stderr_bytes: closing.stderr_bytes,
                bad_lines: self.bad_lines,
                unknown_events: self.unknown.events(),
                results: self.turn_state.results(),
                tool_calls: self.tools.calls(),
                tool_errors: self.tools.errors(),
                quiet: mono.saturating_sub(self.last_line),
            },
            unknown: self.unknown.into_kinds().iter().map(mask).collect(),
        };
        FinishedTranscript { report, final_text: shown }
    }

    /// The outcome, by what the agent printed and in masked words.
    fn outcome(&self, wall: Timestamp, closing: AttemptExit<'_>) -> AttemptOutcome {
        let result = self.current_result();
        let error = self.error.as_ref().or(result.and(self.error_of_result.as_ref()));
        let classify = |result: Option<&ResultFacts>, error: Option<&ErrorFacts>| {
            self.dialect.classify(&FinishedAttempt {
                cut: closing.cut,
                exit: closing.exit,
                result,
                error,
                rate_limit: self.rate_limit.as_ref(),
                api_key: &self.api_key,
                tool_calls: self.tools.calls(),
                tokens: self.spend.tokens(),
                saw_stdout: self.has_output,
                stderr: closing.stderr,
                now: wall,
                zone: closing.zone,
            })
        };
        let masked_result = result.map(|result| result.masked(&self.secrets));
        let masked_error = error.map(|error| masking::error(&self.secrets, error));
        let masked = classify(masked_result.as_ref(), masked_error.as_ref());
        masking::outcome(&self.secrets, classify(result, error), masked)
    }

    fn fold(
        &mut self,
        mono: Duration,
        message: AgentMessage<'_>,
        tell: &mut impl FnMut(AgentNews),
    ) {
        let AgentMessage { owner, kind } = message;
        match kind {
            MessageKind::Ready(mut ready) => {
                for server in &mut ready.failed_servers {
                    *server = self.secrets.mask(server).into_owned();
                }
                self.turn_state.begin_turn();
                self.api_key.clone_from(&ready.api_key);
                if !std::mem::replace(&mut self.was_ready, true) {
                    tell(AgentNews::Ready(ready));
                }
            }
            MessageKind::Text { text, part: TextPart::Whole } if owner.is_main() => {
                self.text(&text);
            }
            MessageKind::ToolCall { id, name, input } => {
                let is_main = owner.is_main();
                let is_new = self.tool_called(mono, owner, (&id, &name, input));
                if is_new && is_main {
                    self.watch(|loops| loops.call(&id, &name, input), tell);
                }
            }
            MessageKind::ToolResult { id, status: went, content } => {
                let name = self.tools.end(&id, went).unwrap_or_default();
                if went == ToolStatus::Failed {
                    self.call_failed(&id, content);
                }
                if owner.is_main() {
                    self.watch(|loops| loops.content(&id, went, content), tell);
                    self.watch(|loops| loops.result(&id, &name, went), tell);
                }
            }
            MessageKind::Compaction if owner.is_main() => {
                self.watch(LoopDetector::compaction, tell);
            }
            MessageKind::Heartbeat { id } => self.tools.beat(mono, &id),
            MessageKind::ApiRetry { status, .. } => self.retry(status, tell),
            MessageKind::RateLimit(limit) => self.limited(limit, tell),
            MessageKind::Denied { tool, id, why } => {
                let denial = self.denial(tool.into_owned(), &id, &why);
                self.deny(&id, denial, tell);
            }
            MessageKind::Usage { when, id, model, tokens } => {
                self.used(MessageUsage { owner: &owner, when, id: &id, model: &model, tokens });
            }
            MessageKind::SyntheticError(error) if owner.is_main() => self.error = Some(error),
            MessageKind::Result(result) => self.turn_ended(*result, tell),
            MessageKind::Acknowledged { messages } => self.turn_state.acknowledge(messages),
            MessageKind::Unknown { kind } => self.unknown.event(&kind),
            MessageKind::Text { .. }
            | MessageKind::SyntheticError(_)
            | MessageKind::Thinking
            | MessageKind::Compaction
            | MessageKind::Other { .. } => {}
        }
    }

    /// Reads a complete text of the main agent.
    fn text(&mut self, text: &str) {
        match self.dialect.text_shape() {
            TextShape::Messages => {
                self.collect(text);
                self.last_text.replace(text);
            }
            TextShape::OneText => self.last_text.append(text),
        }
    }

    /// Notes a tool call, of which the id, the tool and the input are known. Returns whether it is
    /// new.
    fn tool_called(
        &mut self,
        mono: Duration,
        owner: Owner<'_>,
        (id, name, input): (&str, &str, &str),
    ) -> bool {
        let subject = self.dialect.subject_of(input);
        let is_new = self.tools.begin(mono, id, (name, subject), CallOwner::new(owner));
        if is_new && let Some(path) = self.dialect.edited_file(name, input) {
            self.tools.note_edit(self.secrets.mask(&path).into_owned());
        }
        is_new
    }

    /// Keeps the answer of a failed call, which may be the reason for a denial.
    fn call_failed(&mut self, id: &str, answer: &str) {
        let is_short = answer.len() <= MAX_ANSWER;
        if let Some(answer) = is_short.then(|| serde_json::from_str(answer).ok()).flatten() {
            self.failed_calls.truncate(MAX_FAILED - 1);
            self.failed_calls.push_front((id.to_owned(), answer));
        }
    }

    /// Describes the denial of a tool call, which is no sign of a loop.
    fn denial(&mut self, tool: String, id: &str, why: &str) -> Denial {
        self.loop_detector.denied(id);
        let input = self.tools.subject(id).unwrap_or_default();
        masking::denial(&self.secrets, tool, input, why)
    }

    fn used(&mut self, usage: MessageUsage<'_>) {
        if usage.when == UsageAt::Start && *usage.owner == Owner::Main {
            self.turn_state.begin_turn();
            self.tools.main_is_running();
        }
        self.spend.message(self.dialect, usage);
    }

    /// Runs loop detection. Calls are short and cannot be answered, so they are not watched.
    fn watch(
        &mut self,
        see: impl FnOnce(&mut LoopDetector) -> Option<WatchdogFinding>,
        tell: &mut impl FnMut(AgentNews),
    ) {
        if self.purpose.is_none()
            && let Some(finding) = see(&mut self.loop_detector)
        {
            tell(AgentNews::Noticed(finding));
        }
    }

    /// Reports a refused login. The program would keep retrying for minutes.
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

    /// Records a denial. Each is reported twice: when it happens, with the reason, and at the end
    /// of the turn.
    fn deny(&mut self, call: &str, denial: Denial, tell: &mut impl FnMut(AgentNews)) {
        let is_known = !call.is_empty() && self.denied_calls.iter().any(|known| known == call);
        if is_known || self.denied_calls.len() >= MAX_DENIED {
            return;
        }
        self.denied_calls.push(call.to_owned());
        if !self.denied.contains(&denial) {
            self.denied.push(denial.clone());
            tell(AgentNews::Denied(denial));
        }
    }

    fn turn_ended(&mut self, mut result: ResultFacts, tell: &mut impl FnMut(AgentNews)) {
        self.spend.result(self.dialect, &result);
        self.unknown.fields(&std::mem::take(&mut result.unknown_fields));
        self.turns = self.turns.saturating_add(result.turns.unwrap_or(0));
        for DeniedCall { id, tool, input } in std::mem::take(&mut result.denied) {
            let answer = self.failed_calls.iter().find(|(failed, _)| *failed == id);
            let why = answer.map_or("", |(_, why)| why);
            let denial = masking::denial(&self.secrets, tool, &input, why);
            self.deny(&id, denial, tell);
        }
        self.error_of_result = self.error.take().filter(|_| result.is_error);
        if let Some(text) = &mut result.text {
            *text = end_of(text, MAX_TEXT).to_owned();
        }
        self.tools.clear();
        self.turn_state.end_turn();
        self.before = None;
        if self.turn_state.is_open() {
            let how = match result.is_error {
                true => TurnEnd::Failed,
                false if self.turn_state.waiting() > 0 => TurnEnd::Queued,
                false => TurnEnd::Well,
            };
            let text = result.text.as_deref().unwrap_or(self.last_text.as_str());
            let text_evidence = self.turn_evidence(how, text);
            let noticed = text_evidence
                .as_ref()
                .and_then(|text_evidence| text_evidence.findings.first().cloned());
            self.before = self.queued.take();
            if how == TurnEnd::Queued {
                self.queued = text_evidence
                    .map(|text_evidence| QueuedTurn { calls: self.tools.calls(), text_evidence });
            }
            tell(AgentNews::TurnEnded { how, noticed });
        }
        self.result = Some(result);
    }

    /// The last result, unless it is outdated: an agent that died while answering a further message
    /// has not finished.
    fn current_result(&self) -> Option<&ResultFacts> {
        self.result.as_ref().filter(|_| !self.turn_state.is_answering())
    }

    /// The agent's last message: from its result, or from an earlier message if the result has
    /// none.
    fn final_message(&self) -> &str {
        let good = self.current_result().filter(|result| !result.is_error);
        good.and_then(|result| result.text.as_deref()).unwrap_or(self.last_text.as_str())
    }
}

#[cfg(test)]
mod tests;
