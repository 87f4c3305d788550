//! The world's side of an agent: something that can be started, spoken to and ended, and that
//! reports its exit once and last. [`process`] implements it; the tests have a second
//! implementation that plays a script in virtual time.

pub mod ask;
pub mod cancel;
pub mod environment;
pub mod process;
pub mod program;

use nightwright_core::effect::{AnswerFormat, Grace};
use nightwright_core::event::CallPurpose;
use nightwright_core::input::Input;
use nightwright_core::prompt::Prompt;
use nightwright_core::stream::dialect::ToolAccess;
use nightwright_core::stream::outcome::CancelReason;
use nightwright_core::stream::report::AgentNews;
use nightwright_core::units::{AttemptId, CallId, Usd};
use tokio::sync::mpsc;

/// Starts attempts and calls.
pub trait Agent {
    /// Starts one. What goes wrong at the start is news like everything else: an `Exited` report.
    fn start(&mut self, order: LaunchRequest, post: NewsSender) -> Box<dyn Attempt>;
}

/// One attempt or call that is going on. Dropping it ends whatever is left of it.
pub trait Attempt {
    /// A further message into the session. Ignored once the input is closed.
    fn send_message(&self, text: String);
    /// No more messages will come.
    fn close_input(&self);
    /// End it. A second call can only take away grace.
    fn cancel(&self, why: CancelReason, grace: Grace);
}

/// What to start.
#[derive(Clone, Debug)]
pub struct LaunchRequest {
    /// Who it is: its news carries this.
    pub source: NewsSource,
    /// What it is for; `None` = the work itself.
    pub purpose: Option<CallPurpose>,
    /// The iteration it belongs to, for the agent's environment.
    pub iteration: u32,
    /// The name of its files in the run folder, such as `003-1`.
    pub label: String,
    /// What it is told.
    pub prompt: Prompt,
    /// What it may cost.
    pub cap: Option<Usd>,
    /// The model to ask for.
    pub model: Option<String>,
    /// What it may use.
    pub tools: ToolAccess,
    /// The shape of its answer.
    pub shape: AnswerFormat,
}

/// Whose news it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NewsSource {
    /// An attempt's.
    Attempt(AttemptId),
    /// A call's.
    Call(CallId),
}

/// Carries the news of one attempt or call to the supervisor.
///
/// The queue is bounded: an attempt that has more to say than the supervisor can take waits, and
/// so, in the end, does the agent's own pipe.
#[derive(Clone, Debug)]
pub struct NewsSender {
    source: NewsSource,
    inputs: mpsc::Sender<Input>,
}

impl NewsSender {
    /// News of `source` go to `inputs`.
    pub fn new(source: NewsSource, inputs: mpsc::Sender<Input>) -> Self {
        Self { source, inputs }
    }

    /// Hands one piece of news over; waits while the queue is full.
    pub async fn send(&self, news: AgentNews) {
        let input = match self.source {
            NewsSource::Attempt(id) => Input::Agent(id, news),
            NewsSource::Call(id) => Input::Call(id, news),
        };
        self.send_input(input).await;
    }

    /// Tells people of something around the attempt that went wrong and does not end it.
    pub async fn trouble(&self, text: String) {
        self.send_input(Input::Trouble { text }).await;
    }

    async fn send_input(&self, input: Input) {
        // A closed queue means that the run is over: there is nobody left to tell.
        let _ = self.inputs.send(input).await;
    }
}
