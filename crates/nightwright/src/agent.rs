//! The interface to an agent process: it can be started, receive messages and be stopped, and
//! reports its exit once and last. [`process`] implements it; the tests have a second
//! implementation that plays a script in virtual time.

pub mod ask;
pub mod cancel;
pub mod environment;
pub mod judge_home;
pub mod process;
pub mod program;

use nightwright_core::effect::{AnswerFormat, Grace};
use nightwright_core::event::CallPurpose;
use nightwright_core::input::Input;
use nightwright_core::prompt::Prompt;
use nightwright_core::stream::dialect::ToolAccess;
use nightwright_core::stream::news::AgentNews;
use nightwright_core::stream::outcome::CancelReason;
use nightwright_core::units::{AttemptId, CallId, Usd};
use tokio::sync::mpsc;

/// Starts attempts and calls.
pub trait Agent {
    /// Starts an attempt or call. A failure to start is reported as news, in an `Exited` report.
    fn start(&mut self, request: AgentRequest, news: NewsSender) -> Box<dyn Attempt>;
}

/// A running attempt or call. Dropping it kills its remaining processes.
pub trait Attempt {
    /// Sends another message to the session. Ignored once the input is closed.
    fn send_message(&self, text: String);
    /// Closes the input: no more messages follow.
    fn close_input(&self);
    /// Cancels it. A second call can only remove the grace period.
    fn cancel(&self, why: CancelReason, grace: Grace);
}

/// An attempt or call to start.
#[derive(Clone, Debug)]
pub struct AgentRequest {
    /// The id that its news carries.
    pub source: NewsSource,
    /// The purpose of a call; `None` for an attempt.
    pub purpose: Option<CallPurpose>,
    /// The iteration it belongs to, for the agent's environment.
    pub iteration: u32,
    /// The base name of its files in the run folder, such as `003-1`.
    pub label: String,
    pub prompt: Prompt,
    /// The maximum cost, if limited.
    pub cap: Option<Usd>,
    /// The model to request.
    pub model: Option<String>,
    /// The tools that the agent may use.
    pub tools: ToolAccess,
    /// The required format of the answer.
    pub shape: AnswerFormat,
}

/// The attempt or call that news comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NewsSource {
    Attempt(AttemptId),
    Call(CallId),
}

/// Sends the news of one attempt or call to the supervisor.
///
/// The queue is bounded: when the supervisor falls behind, the attempt waits, and eventually the
/// agent blocks on its pipe.
#[derive(Clone, Debug)]
pub struct NewsSender {
    source: NewsSource,
    inputs: mpsc::Sender<Input>,
}

impl NewsSender {
    /// Creates a sender of the news of `source` to `inputs`.
    pub fn new(source: NewsSource, inputs: mpsc::Sender<Input>) -> Self {
        Self { source, inputs }
    }

    /// Sends one piece of news; waits while the queue is full.
    pub async fn send(&self, news: AgentNews) {
        let input = match self.source {
            NewsSource::Attempt(id) => Input::Agent(id, news),
            NewsSource::Call(id) => Input::Call(id, news),
        };
        self.send_input(input).await;
    }

    /// Warns the user about a problem that does not end the attempt.
    pub async fn warn(&self, text: String) {
        self.send_input(Input::Warning { text }).await;
    }

    async fn send_input(&self, input: Input) {
        // A closed queue means that the run has ended.
        let _ = self.inputs.send(input).await;
    }
}
