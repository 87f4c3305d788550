//! The responses of the provider as data: the recipient, and one answer after the other.

use std::time::Duration;

use serde_json::{Value, json};

/// The tool with which the model answers in a form.
pub(crate) const FORM: &str = "StructuredOutput";

/// Everything that one server does. The first route that fits a request answers it.
#[derive(Debug)]
pub(crate) struct Scenario {
    pub(crate) routes: Vec<Route>,
}

/// Answers for some of the requests, in their order. The last one repeats.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) when: When,
    pub(crate) answers: Vec<ApiAnswer>,
}

/// Which requests a route is for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum When {
    /// Those whose conversation begins with a message of the user that says this.
    Begins(&'static str),
    /// Matches every request of the program.
    Any,
}

/// The response to one request.
#[derive(Clone, Debug)]
pub(crate) enum ApiAnswer {
    Message(ModelMessage),
    Error(ApiErrorAnswer),
}

/// An answer of the model.
#[derive(Clone, Debug)]
pub(crate) struct ModelMessage {
    pub(crate) blocks: Vec<Block>,
    /// Why it ends; by itself it is for the tools, if it wants any.
    pub(crate) stop: Option<&'static str>,
    pub(crate) usage: Usage,
    pub(crate) headers: Vec<(&'static str, String)>,
    /// The time between two pieces of the stream.
    pub(crate) pace: Duration,
    pub(crate) fault: Option<Fault>,
}

/// A piece of a message.
#[derive(Clone, Debug)]
pub(crate) enum Block {
    Text(String),
    Thinking(String),
    Tool { name: &'static str, input: Value },
}

/// Tokens of one message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    pub(crate) input: u64,
    pub(crate) output: u64,
}

/// The fault of the connection, and its time.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    /// Nothing more is sent, and the connection stays.
    Silence(AnswerPhase),
    /// The connection is closed.
    HangUp(AnswerPhase),
    /// Nothing is sent until the test says so; then the rest.
    Pause(AnswerPhase),
}

/// How far an answer gets before something happens to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerPhase {
    /// Before the first byte.
    Headers,
    /// After the message was announced.
    Start,
    /// In the middle of its first block.
    Middle,
}

/// An answer of the provider itself.
#[derive(Clone, Debug)]
pub(crate) struct ApiErrorAnswer {
    pub(crate) status: u16,
    pub(crate) kind: &'static str,
    pub(crate) text: String,
    pub(crate) headers: Vec<(&'static str, String)>,
    /// The time between the answer and the reset of the usage limit.
    pub(crate) resets_in: Option<Duration>,
}

impl Scenario {
    /// One answer after the other for everybody.
    pub(crate) fn of(answers: Vec<ApiAnswer>) -> Self {
        Self { routes: vec![Route { when: When::Any, answers }] }
    }

    /// Answers for requests that begin with these words, before the existing ones.
    pub(crate) fn with(mut self, words: &'static str, answers: Vec<ApiAnswer>) -> Self {
        self.routes.insert(0, Route { when: When::Begins(words), answers });
        self
    }
}

impl Fault {
    pub(crate) fn moment(self) -> AnswerPhase {
        match self {
            Self::Silence(moment) | Self::HangUp(moment) | Self::Pause(moment) => moment,
        }
    }
}

impl Default for Usage {
    fn default() -> Self {
        Self { input: 100, output: 20 }
    }
}

impl ModelMessage {
    fn of(blocks: Vec<Block>) -> Self {
        let (headers, pace) = (Vec::new(), Duration::ZERO);
        Self { blocks, stop: None, usage: Usage::default(), headers, pace, fault: None }
    }
}

/// The model says this.
pub(crate) fn say(text: impl Into<String>) -> ApiAnswer {
    blocks([Block::Text(text.into())])
}

/// The model wants a tool to be used.
pub(crate) fn call(name: &'static str, input: Value) -> ApiAnswer {
    blocks([tool(name, input)])
}

/// The model wants a command to be run.
pub(crate) fn bash(command: &str) -> ApiAnswer {
    call("Bash", json!({ "command": command, "description": "a command" }))
}

/// The model says and wants several things at once.
pub(crate) fn blocks(blocks: impl IntoIterator<Item = Block>) -> ApiAnswer {
    ApiAnswer::Message(ModelMessage::of(blocks.into_iter().collect()))
}

/// The model wants a tool to be used, among other things.
pub(crate) fn tool(name: &'static str, input: Value) -> Block {
    Block::Tool { name, input }
}

/// The provider refuses with this status.
pub(crate) fn refuse(status: u16, kind: &'static str, text: &str) -> ApiAnswer {
    let (text, headers) = (text.to_owned(), Vec::new());
    ApiAnswer::Error(ApiErrorAnswer { status, kind, text, headers, resets_in: None })
}

/// The usage limit is exhausted and resets after this time.
pub(crate) fn usage_limit(resets_in: Duration) -> ApiAnswer {
    let text = "This request would exceed your account's rate limit. Please try again later.";
    let (kind, text) = ("rate_limit_error", text.to_owned());
    let (headers, resets_in) = (Vec::new(), Some(resets_in));
    ApiAnswer::Error(ApiErrorAnswer { status: 429, kind, text, headers, resets_in })
}

/// Too many requests; the next one is allowed after this time.
pub(crate) fn too_many(retry_after: Duration) -> ApiAnswer {
    let text = "This request would exceed your organization's rate limit.";
    refuse(429, "rate_limit_error", text).header("retry-after", retry_after.as_secs().to_string())
}

/// The provider says that it has too much to do.
pub(crate) fn overloaded() -> ApiAnswer {
    refuse(529, "overloaded_error", "Overloaded")
}

impl ApiAnswer {
    /// The same with another header.
    pub(crate) fn header(mut self, name: &'static str, value: String) -> Self {
        let headers = match &mut self {
            Self::Message(message) => &mut message.headers,
            Self::Error(error) => &mut error.headers,
        };
        headers.push((name, value));
        self
    }

    /// The same, with other figures.
    pub(crate) fn using(self, usage: Usage) -> Self {
        self.changed(|message| message.usage = usage)
    }

    /// The same, ended for this reason.
    pub(crate) fn because(self, stop: &'static str) -> Self {
        self.changed(|message| message.stop = Some(stop))
    }

    /// Returns the same answer, sent slowly.
    pub(crate) fn slowly(self, pace: Duration) -> Self {
        self.changed(|message| message.pace = pace)
    }

    /// The same, and something happens on the way.
    pub(crate) fn but(self, fault: Fault) -> Self {
        self.changed(|message| message.fault = Some(fault))
    }

    fn changed(mut self, change: impl FnOnce(&mut ModelMessage)) -> Self {
        match &mut self {
            Self::Message(message) => change(message),
            Self::Error(_) => panic!("errors come at once and whole"),
        }
        self
    }
}
