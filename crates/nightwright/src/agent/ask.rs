//! One question to the agent outside a run: contained, capped, with a deadline, and classified
//! exactly as an attempt is. Nobody waits for a limit here, and nothing is tried again.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use nightwright_core::display::one_line;
use nightwright_core::effect::{AnswerFormat, Grace};
use nightwright_core::input::Input;
use nightwright_core::permissions::Permissions;
use nightwright_core::prompt::Prompt;
use nightwright_core::redact::Secrets;
use nightwright_core::settings::Completion;
use nightwright_core::stream::dialect::{Dialect, InputShape, LaunchOptions, ToolAccess};
use nightwright_core::stream::message::{AgentMessage, MessageKind, ResultFacts, TextPart};
use nightwright_core::stream::outcome::{AttemptOutcome, CancelReason, Consequence, Deadline};
use nightwright_core::stream::report::{AgentNews, AttemptReport};
use nightwright_core::units::{AttemptId, RunId, Usd};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};

use crate::agent::process::{AgentSetup, ProcessAgent, ShowFn};
use crate::agent::{Agent, Attempt, LaunchRequest, NewsSender, NewsSource};
use crate::error::Failure;
use crate::process::Containment;
use crate::runtime::clock::{Clock, ClockSpeed};
use crate::runtime::signals::Signals;
use crate::store::temp_folder::TempHandle;

/// How long the program may stay after its result.
const AFTER_RESULT: Duration = Duration::from_secs(15);
/// News that wait to be heard.
const NEWS_MAX: usize = 16;
/// What is kept of the agent's words beside its result.
const WORDS_MAX: usize = 1 << 20;
/// The most that is shown of the reason for no answer.
const WHY_MAX: usize = 400;

/// Who is asked.
pub struct AgentEndpoint {
    /// The program.
    pub program: PathBuf,
    /// Arguments that come before all others.
    pub before: Vec<OsString>,
    /// The language it speaks.
    pub dialect: Dialect,
    /// Its environment, but for what each question has of its own.
    pub environment: Vec<(OsString, OsString)>,
    /// What is masked in what is kept of it.
    pub secrets: Secrets,
    /// Where it works.
    pub project: PathBuf,
    /// Where its prompt and its raw output go.
    pub folder: PathBuf,
    /// Where its temporary files go.
    pub temp: TempHandle,
}

impl fmt::Debug for AgentEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the environment: there are secrets in it.
        f.debug_struct("Respondent")
            .field("program", &self.program)
            .field("dialect", &self.dialect)
            .field("project", &self.project)
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

/// What is asked.
#[derive(Clone, Debug)]
pub struct AgentQuestion<'a> {
    /// The name of its files.
    pub label: &'a str,
    /// The question itself.
    pub prompt: &'a str,
    /// Who it is asked as.
    pub system: SystemPrompt<'a>,
    /// The shape that the answer has to have, as JSON Schema.
    pub schema: Option<&'a str>,
    /// What it may cost.
    pub cap: Usd,
    /// How long it may take.
    pub deadline: Duration,
    /// The model; `None` = the program's own choice.
    pub model: Option<&'a str>,
    /// What it may use.
    pub tools: ToolAccess,
}

/// What the agent is told about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SystemPrompt<'a> {
    /// This, beside what its program tells it.
    Also(&'a str),
    /// This and nothing else.
    Only(&'a str),
}

/// What came back.
#[derive(Clone, Debug)]
pub struct AgentAnswer {
    /// What came of it, and what it used.
    pub report: AttemptReport,
    /// The last result, if there was one.
    pub result: Option<ResultFacts>,
    /// Whether nothing came after that.
    pub result_last: bool,
    /// The model that it said it works with.
    pub model: Option<String>,
    /// How long it took.
    pub took: Duration,
    /// What the program printed.
    pub raw: PathBuf,
    words: String,
}

/// Asks; `None` if it was interrupted.
pub async fn ask(
    respondent: &AgentEndpoint,
    question: &AgentQuestion<'_>,
    signals: &mut Signals,
) -> Option<AgentAnswer> {
    let witness = Arc::new(Mutex::new(AnswerCollector::default()));
    let mut agent = ProcessAgent::new(setup(respondent, question, &witness));
    let begin = Instant::now();
    let report = call(&mut agent, respondent.dialect, question, signals).await?;
    let took = begin.elapsed();
    drop(agent);
    let mut witness = witness.lock().unwrap_or_else(PoisonError::into_inner);
    let AnswerCollector { model, result, result_last, words } = std::mem::take(&mut *witness);
    let raw = raw_file(&respondent.folder, question.label);
    Some(AgentAnswer { report, result, result_last, model, took, raw, words })
}

/// Where what the program printed is kept.
fn raw_file(folder: &Path, label: &str) -> PathBuf {
    folder.join(format!("output/{label}.ndjson"))
}

impl AgentAnswer {
    /// The answer in words.
    pub fn text(&self) -> &str {
        let text = self.result.as_ref().and_then(|result| result.text.as_deref());
        text.unwrap_or(&self.words)
    }

    /// The answer in the shape that was asked for, if it came in it.
    pub fn structured(&self) -> Option<&str> {
        self.result.as_ref()?.structured.as_deref()
    }

    /// Why there is no answer to be read, if there is none. Whoever answered something odd has
    /// answered.
    pub fn failure(&self) -> Option<Failure> {
        let why = || one_line(&self.report.outcome.sentence(), WHY_MAX);
        let failure = match &self.report.outcome {
            AttemptOutcome::Finished | AttemptOutcome::Suspect { .. } => return None,
            AttemptOutcome::UsageLimited { until: Some(until) } => {
                let until = local(*until);
                Failure::trouble(format!("the account's usage limit is reached, until {until}"))
                    .hint("try again then; nothing was changed")
            }
            AttemptOutcome::UsageLimited { until: None } | AttemptOutcome::RateLimited => {
                Failure::trouble("the account's limit is reached; until when was not said")
                    .hint("try again in some minutes; nothing was changed")
            }
            AttemptOutcome::AttemptBudget => {
                Failure::trouble("the agent gave no answer for what it may cost")
            }
            AttemptOutcome::Auth { .. } | AttemptOutcome::Billing { .. } => {
                Failure::trouble(format!("the agent gave no answer: {}", why()))
                    .hint("run `claude` and log in, or set ANTHROPIC_API_KEY")
            }
            AttemptOutcome::TurnLimit
            | AttemptOutcome::Overloaded
            | AttemptOutcome::Network
            | AttemptOutcome::TimedOut { .. }
            | AttemptOutcome::Crashed { .. }
            | AttemptOutcome::BadStart { .. }
            | AttemptOutcome::NotStarted { .. }
            | AttemptOutcome::PromptTooLong
            | AttemptOutcome::ContextFull
            | AttemptOutcome::BadRequest { .. }
            | AttemptOutcome::ModelNotFound { .. }
            | AttemptOutcome::Refused
            | AttemptOutcome::OutputLimit
            | AttemptOutcome::Interrupted
            | AttemptOutcome::Lost => {
                Failure::trouble(format!("the agent gave no answer: {}", why()))
            }
        };
        Some(match self.report.outcome.consequence() {
            Consequence::Retry => failure.hint("try again; nothing was changed"),
            Consequence::Assess
            | Consequence::AssessWorkTree
            | Consequence::Wait { .. }
            | Consequence::FailIteration { .. }
            | Consequence::EndRun { .. } => failure,
        })
    }
}

/// A time as people here read it.
fn local(at: Timestamp) -> String {
    at.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M %Z").to_string()
}

fn setup(
    respondent: &AgentEndpoint,
    question: &AgentQuestion<'_>,
    witness: &Arc<Mutex<AnswerCollector>>,
) -> AgentSetup {
    let witness = Arc::clone(witness);
    let show: ShowFn = Arc::new(move |_, message| {
        witness.lock().unwrap_or_else(PoisonError::into_inner).record(message);
    });
    let clock = Clock::system(ClockSpeed::Real);
    let dialect = respondent.dialect;
    let only = match question.system {
        SystemPrompt::Only(text) => Some(text.to_owned()),
        SystemPrompt::Also(_) => None,
    };
    let sources = ["user".to_owned()];
    let schema = question.schema.map(str::to_owned);
    let max_turns = match question.tools {
        ToolAccess::None => Some(1),
        ToolAccess::Usual | ToolAccess::ReadOnly => None,
    };
    let (before, tools) = (respondent.before.clone(), question.tools);
    AgentSetup {
        program: respondent.program.clone(),
        arguments: Box::new(move |request, system| {
            let system = system.map(Path::to_string_lossy);
            let ask = LaunchOptions {
                model: request.model.as_deref(),
                max_turns,
                cap: request.cap,
                system_prompt: only.as_deref(),
                system_prompt_file: system.as_deref(),
                permissions: Permissions::None,
                tools,
                setting_sources: &sources,
                json_schema: schema.as_deref(),
                ..LaunchOptions::default()
            };
            let arguments = dialect.arguments(&ask).into_iter().map(OsString::from);
            before.iter().cloned().chain(arguments).collect()
        }),
        dialect,
        input: InputShape::Prompt,
        environment: respondent.environment.clone(),
        project: respondent.project.clone(),
        folder: respondent.folder.clone(),
        temp: respondent.temp.clone(),
        containment: Containment::choose(None),
        run: RunId(question.label.to_owned()),
        task: None,
        completion: Completion::default(),
        clock: Arc::new(move || clock.now()),
        show: Some(show),
        secrets: respondent.secrets.clone(),
    }
}

fn order(question: &AgentQuestion<'_>) -> LaunchRequest {
    let system = match question.system {
        SystemPrompt::Also(text) => text,
        SystemPrompt::Only(_) => "",
    };
    LaunchRequest {
        source: NewsSource::Attempt(AttemptId(1)),
        purpose: None,
        iteration: 1,
        label: question.label.to_owned(),
        prompt: Prompt { system: system.to_owned(), user: question.prompt.to_owned() },
        cap: Some(question.cap),
        model: question.model.map(str::to_owned),
        tools: question.tools,
        shape: AnswerFormat::Words,
    }
}

/// Waits for the end of the call, and sees to it that there is one.
async fn call(
    agent: &mut ProcessAgent,
    dialect: Dialect,
    question: &AgentQuestion<'_>,
    signals: &mut Signals,
) -> Option<AttemptReport> {
    let request = order(question);
    let (sender, mut news) = mpsc::channel(NEWS_MAX);
    let post = NewsSender::new(request.source, sender);
    let attempt: Box<dyn Attempt> = agent.start(request, post);
    // Where time is all that its cost is known by, the cap is a deadline too.
    let time = dialect
        .time_for(question.cap)
        .map_or(question.deadline, |time| time.min(question.deadline));
    let mut time_up = pin!(sleep(time));
    let mut leaving: Option<Instant> = None;
    let (mut late, mut interrupted) = (false, false);
    loop {
        let heard = tokio::select! {
            heard = news.recv() => heard?,
            () = &mut time_up, if !late => {
                late = true;
                attempt.cancel(CancelReason::Deadline(Deadline::Attempt), Grace::Usual);
                continue;
            }
            () = sleep_until(leaving.unwrap_or_else(Instant::now)), if leaving.is_some() => {
                leaving = None;
                attempt.cancel(CancelReason::AfterResult, Grace::Usual);
                continue;
            }
            () = signals.next() => {
                // A second signal takes away the grace.
                let grace = if interrupted { Grace::None } else { Grace::Usual };
                attempt.cancel(CancelReason::StopNow, grace);
                interrupted = true;
                continue;
            }
        };
        let Input::Agent(_, heard) = heard else { continue };
        match heard {
            AgentNews::Exited(report) => return (!interrupted).then_some(*report),
            AgentNews::LoginRefused => attempt.cancel(CancelReason::Auth, Grace::Usual),
            AgentNews::Pulse(pulse) if pulse.exiting && leaving.is_none() => {
                leaving = Some(Instant::now() + AFTER_RESULT);
            }
            AgentNews::Ready(_)
            | AgentNews::Pulse(_)
            | AgentNews::TurnEnded { .. }
            | AgentNews::Noticed(_)
            | AgentNews::Denied(_)
            | AgentNews::Quota(_) => {}
        }
    }
}

/// What was seen in the stream that a report does not tell.
#[derive(Debug, Default)]
struct AnswerCollector {
    model: Option<String>,
    result: Option<ResultFacts>,
    result_last: bool,
    /// The agent's own words, for programs that have no result.
    words: String,
}

impl AnswerCollector {
    fn record(&mut self, message: &AgentMessage<'_>) {
        self.result_last = false;
        match &message.kind {
            MessageKind::Ready(ready) => {
                self.model.get_or_insert_with(|| ready.model.clone());
            }
            MessageKind::Result(result) => {
                self.result_last = true;
                self.result = Some((**result).clone());
            }
            MessageKind::Text { text, part: TextPart::Whole }
                if message.owner.is_main() && self.words.len() + text.len() < WORDS_MAX =>
            {
                self.words.push_str(text);
                self.words.push('\n');
            }
            MessageKind::Text { .. }
            | MessageKind::Thinking
            | MessageKind::ToolCall { .. }
            | MessageKind::ToolResult { .. }
            | MessageKind::Heartbeat { .. }
            | MessageKind::ApiRetry { .. }
            | MessageKind::RateLimit(_)
            | MessageKind::Denied { .. }
            | MessageKind::Usage { .. }
            | MessageKind::SyntheticError(_)
            | MessageKind::Compaction
            | MessageKind::Acknowledged { .. }
            | MessageKind::Other { .. }
            | MessageKind::Unknown { .. } => {}
        }
    }
}
