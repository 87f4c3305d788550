//! One question to the agent outside a run: contained, with a cost cap and a deadline, and
//! classified like an attempt. It never waits for a usage limit and never retries.

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
use nightwright_core::settings::{Completion, Deadlines};
use nightwright_core::stream::dialect::{AgentOptions, Dialect, InputShape, ToolAccess};
use nightwright_core::stream::message::{AgentMessage, MessageKind, ResultFacts};
use nightwright_core::stream::news::{AgentNews, AttemptReport};
use nightwright_core::stream::outcome::{AttemptOutcome, CancelReason, Consequence, Deadline};
use nightwright_core::units::{AttemptId, RunId, Usd};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};

use crate::agent::process::{AgentSetup, ProcessAgent, ShowFn};
use crate::agent::{Agent, AgentRequest, Attempt, NewsSender, NewsSource};
use crate::clock::{Clock, ClockSpeed};
use crate::error::Failure;
use crate::process::Containment;
use crate::signals::Signals;
use crate::store::temp_folder::TempHandle;

/// Capacity of the queue of agent news.
const MAX_NEWS: usize = 16;
/// Maximum bytes of the agent's text that are kept in addition to its result.
const MAX_WORDS: usize = 1 << 20;
/// Maximum length of the reason shown when there is no answer.
const MAX_WHY: usize = 400;

/// The agent that receives the question.
pub struct AgentEndpoint {
    pub program: PathBuf,
    /// Arguments that precede all others.
    pub before: Vec<OsString>,
    /// The format of its command line and output stream.
    pub dialect: Dialect,
    /// The program's environment, without the variables that are specific to each question.
    pub environment: Vec<(OsString, OsString)>,
    /// Secrets to mask in the recorded output.
    pub secrets: Secrets,
    /// The working directory of its process.
    pub project: PathBuf,
    /// The folder for its prompt and raw output.
    pub folder: PathBuf,
    /// The folder for its temporary files.
    pub temp: TempHandle,
}

impl fmt::Debug for AgentEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The environment is left out because it contains secrets.
        f.debug_struct("AgentEndpoint")
            .field("program", &self.program)
            .field("dialect", &self.dialect)
            .field("project", &self.project)
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

/// A question and the limits for its answer.
#[derive(Clone, Debug)]
pub struct AgentQuestion<'a> {
    /// The base name of its files.
    pub label: &'a str,
    pub prompt: &'a str,
    pub system: SystemPrompt<'a>,
    /// The JSON Schema that the answer must match.
    pub schema: Option<&'a str>,
    /// The maximum cost of the answer.
    pub cap: Usd,
    /// The maximum time until the answer.
    pub deadline: Duration,
    /// The model; `None` for the program's default.
    pub model: Option<&'a str>,
    /// The tools that the agent may use.
    pub tools: ToolAccess,
}

/// The system prompt of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SystemPrompt<'a> {
    /// Appended to the program's own system prompt.
    Also(&'a str),
    /// Replaces the program's own system prompt.
    Only(&'a str),
}

/// The agent's answer, and how the process ended.
#[derive(Clone, Debug)]
pub struct AgentAnswer {
    /// The outcome and the usage.
    pub report: AttemptReport,
    /// The last result, if any.
    pub result: Option<ResultFacts>,
    /// Whether the result was the last message of the stream.
    pub result_last: bool,
    /// The model that the program reported.
    pub model: Option<String>,
    /// Time from the start of the process to its end.
    pub took: Duration,
    /// The file with the raw output.
    pub raw: PathBuf,
    words: String,
}

/// Asks the agent; returns `None` if a signal interrupted the question.
pub async fn ask(
    endpoint: &AgentEndpoint,
    question: &AgentQuestion<'_>,
    signals: &mut Signals,
) -> Option<AgentAnswer> {
    let collector = Arc::new(Mutex::new(AnswerCollector {
        secrets: endpoint.secrets.clone(),
        ..AnswerCollector::default()
    }));
    let mut agent = ProcessAgent::new(setup(endpoint, question, &collector));
    let begin = Instant::now();
    let report = call(&mut agent, endpoint.dialect, question, signals).await?;
    let took = begin.elapsed();
    drop(agent);
    let mut collector = collector.lock().unwrap_or_else(PoisonError::into_inner);
    let AnswerCollector { secrets: _, model, result, result_last, words } =
        std::mem::take(&mut *collector);
    let raw = raw_file(&endpoint.folder, question.label);
    Some(AgentAnswer { report, result, result_last, model, took, raw, words })
}

/// The file that receives the program's raw output.
fn raw_file(folder: &Path, label: &str) -> PathBuf {
    folder.join(format!("output/{label}.ndjson"))
}

impl AgentAnswer {
    /// Returns the answer as text.
    pub fn text(&self) -> &str {
        let text = self.result.as_ref().and_then(|result| result.text.as_deref());
        text.unwrap_or(&self.words)
    }

    /// Returns the answer that matches the schema, if the agent gave one.
    pub fn structured(&self) -> Option<&str> {
        self.result.as_ref()?.structured.as_deref()
    }

    /// Returns the error to report when there is no answer. An unusual answer still counts as an
    /// answer.
    pub fn failure(&self) -> Option<Failure> {
        let why = || one_line(&self.report.outcome.sentence(), MAX_WHY);
        let failure = match &self.report.outcome {
            AttemptOutcome::Finished | AttemptOutcome::Suspect { .. } => return None,
            AttemptOutcome::UsageLimited { until: Some(until) } => {
                let until = local(*until);
                Failure::trouble(format!(
                    "the account has reached its usage limit, which resets at {until}"
                ))
                .hint("retry then")
            }
            AttemptOutcome::UsageLimited { until: None } | AttemptOutcome::RateLimited => {
                Failure::trouble("the account has reached a limit with an unknown reset time")
                    .hint("retry in a few minutes")
            }
            AttemptOutcome::AttemptBudget => {
                Failure::trouble("the agent reached the cost limit before it answered")
            }
            AttemptOutcome::Auth { .. } | AttemptOutcome::Billing { .. } => {
                Failure::trouble(format!("the agent did not answer: {}", why()))
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
                Failure::trouble(format!("the agent did not answer: {}", why()))
            }
        };
        Some(match self.report.outcome.consequence() {
            Consequence::Retry => failure.hint("retry"),
            Consequence::Assess
            | Consequence::AssessWorkTree
            | Consequence::Wait { .. }
            | Consequence::FailIteration { .. }
            | Consequence::EndRun { .. } => failure,
        })
    }
}

/// Formats a time in the system's time zone.
fn local(at: Timestamp) -> String {
    at.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M %Z").to_string()
}

fn setup(
    endpoint: &AgentEndpoint,
    question: &AgentQuestion<'_>,
    collector: &Arc<Mutex<AnswerCollector>>,
) -> AgentSetup {
    let collector = Arc::clone(collector);
    let show: ShowFn = Arc::new(move |_, message| {
        collector.lock().unwrap_or_else(PoisonError::into_inner).record(message);
    });
    let clock = Clock::system(ClockSpeed::Real);
    let dialect = endpoint.dialect;
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
    let (before, tools) = (endpoint.before.clone(), question.tools);
    AgentSetup {
        program: endpoint.program.clone(),
        arguments: Box::new(move |request, system| {
            let system = system.map(Path::to_string_lossy);
            let options = AgentOptions {
                model: request.model.as_deref(),
                max_turns,
                cap: request.cap,
                system_prompt: only.as_deref(),
                system_prompt_file: system.as_deref(),
                permissions: Permissions::None,
                tools,
                setting_sources: &sources,
                json_schema: schema.as_deref(),
                ..AgentOptions::default()
            };
            let arguments = dialect.arguments(&options).into_iter().map(OsString::from);
            before.iter().cloned().chain(arguments).collect()
        }),
        dialect,
        input: InputShape::Prompt,
        environment: endpoint.environment.clone(),
        project: endpoint.project.clone(),
        folder: endpoint.folder.clone(),
        temp: endpoint.temp.clone(),
        containment: Containment::choose(None),
        run: RunId(question.label.to_owned()),
        task: None,
        completion: Completion::default(),
        clock: Arc::new(move || clock.now()),
        show: Some(show),
        secrets: endpoint.secrets.clone(),
        judge: None,
        notices: None,
        sandbox: None,
    }
}

fn agent_request(question: &AgentQuestion<'_>) -> AgentRequest {
    let system = match question.system {
        SystemPrompt::Also(text) => text,
        SystemPrompt::Only(_) => "",
    };
    AgentRequest {
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

/// Waits for the call to end, and cancels it at the deadline, after the result or on a signal.
async fn call(
    agent: &mut ProcessAgent,
    dialect: Dialect,
    question: &AgentQuestion<'_>,
    signals: &mut Signals,
) -> Option<AttemptReport> {
    let request = agent_request(question);
    let (sender, mut news) = mpsc::channel(MAX_NEWS);
    let news_sender = NewsSender::new(request.source, sender);
    let attempt: Box<dyn Attempt> = agent.start(request, news_sender);
    // If the cost can only be estimated from time, the cap is a deadline too.
    let time = dialect
        .time_for(question.cap)
        .map_or(question.deadline, |time| time.min(question.deadline));
    let mut time_up = pin!(sleep(time));
    let mut leaving: Option<Instant> = None;
    let (mut late, mut interrupted) = (false, false);
    loop {
        let received = tokio::select! {
            received = news.recv() => received?,
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
                // The second signal removes the grace period.
                let grace = if interrupted { Grace::None } else { Grace::Usual };
                attempt.cancel(CancelReason::StopNow, grace);
                interrupted = true;
                continue;
            }
        };
        let Input::Agent(_, received) = received else { continue };
        match received {
            AgentNews::Exited(report) => return (!interrupted).then_some(*report),
            AgentNews::LoginRefused => attempt.cancel(CancelReason::Auth, Grace::Usual),
            AgentNews::Pulse(pulse) if pulse.exiting && leaving.is_none() => {
                leaving = Some(Instant::now() + Deadlines::default().after_result);
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

/// Facts from the stream that are not part of the report.
#[derive(Debug, Default)]
struct AnswerCollector {
    /// Secrets to mask in all texts.
    secrets: Secrets,
    model: Option<String>,
    result: Option<ResultFacts>,
    result_last: bool,
    /// The agent's text, for programs that print no result.
    words: String,
}

impl AnswerCollector {
    fn record(&mut self, message: &AgentMessage<'_>) {
        self.result_last = matches!(message.kind, MessageKind::Result(_));
        if let MessageKind::Ready(ready) = &message.kind {
            self.model.get_or_insert_with(|| ready.model.clone());
        } else if let MessageKind::Result(result) = &message.kind {
            self.result = Some(result.masked(&self.secrets));
        } else if let Some(text) = message.main_text()
            && self.words.len() + text.len() < MAX_WORDS
        {
            self.words.push_str(&self.secrets.mask(text));
            self.words.push('\n');
        }
    }
}
