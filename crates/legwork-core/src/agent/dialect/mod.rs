//! What differs between agent programs: the command line, the environment, the lines, and what
//! came of an attempt. All of it is pure.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::message::{AgentMessage, BadLine, ErrorFacts, RateLimit, ResultFacts};
use super::outcome::{AttemptOutcome, Consequence, CutReason, Death};
use crate::units::{Tokens, Usd};

pub mod claude;

/// The agent programs we can talk to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// Claude Code.
    #[default]
    Claude,
}

/// What an attempt is to be started with. The prompt itself goes over standard input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ask<'a> {
    /// The model; `None` = the program's own choice.
    pub model: Option<&'a str>,
    /// Takes over when the model is overloaded.
    pub fallback_model: Option<&'a str>,
    /// Turns it may take; `None` = the program's own choice.
    pub max_turns: Option<u32>,
    /// What it may cost.
    pub cap: Option<Usd>,
    /// A file with our part of the system prompt.
    pub system_prompt_file: Option<&'a str>,
    /// What it may do without asking.
    pub permissions: Permissions,
    /// Tools it may use without asking.
    pub allowed_tools: &'a [String],
    /// Tools it may not use at all.
    pub disallowed_tools: &'a [String],
    /// Which of the user's own settings apply; empty = the program's own choice.
    pub setting_sources: &'a [String],
    /// A file of settings, or settings as JSON.
    pub settings: Option<&'a str>,
    /// Files that name servers for further tools.
    pub mcp_config: &'a [String],
    /// The shape an answer has to have, as JSON.
    pub json_schema: Option<&'a str>,
    /// Whether messages can follow the prompt.
    pub input: InputShape,
    /// The user's own arguments, after all of ours.
    pub extra: &'a [String],
}

/// What the agent may do without asking: there is nobody to ask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Permissions {
    /// What the program allows by itself.
    AskNothing,
    /// Changes to files, and the tools listed.
    #[default]
    Edits,
    /// The tools listed.
    Listed,
    /// Everything.
    Skip,
}

/// Whether messages can follow the prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InputShape {
    /// The prompt is all there is.
    #[default]
    Prompt,
    /// The prompt is the first of several messages.
    Messages,
}

/// Everything that is known about an attempt that is over.
#[derive(Clone, Copy, Debug)]
pub struct Ending<'a> {
    /// Why we ended it, if we did.
    pub cut: Option<CutReason>,
    /// How the process ended; `None` = nobody saw it.
    pub exit: Option<Death>,
    /// The last result.
    pub result: Option<&'a ResultFacts>,
    /// The last error in the shape of a message, since the result before the last.
    pub error: Option<&'a ErrorFacts>,
    /// The last word on the account's limits.
    pub rate_limit: Option<&'a RateLimit>,
    /// Tool calls in all.
    pub tool_calls: u32,
    /// Whether anything came on standard output.
    pub saw_stdout: bool,
    /// The end of standard error.
    pub stderr: &'a str,
    /// The wall clock at the end.
    pub now: Timestamp,
}

impl Dialect {
    /// Its name in settings, journal and console.
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
        }
    }

    /// Reads one line. A line can hold several messages; each is handed out in turn.
    pub fn decode(
        self,
        line: &[u8],
        each: &mut impl FnMut(AgentMessage<'_>),
    ) -> Result<(), BadLine> {
        match self {
            Self::Claude => claude::decode(line, each),
        }
    }

    /// The arguments of the program for an attempt or call.
    pub fn arguments(self, ask: &Ask<'_>) -> Vec<String> {
        match self {
            Self::Claude => claude::arguments(ask),
        }
    }

    /// One message for a program that was started with [`InputShape::Messages`], as a line with
    /// its end.
    pub fn message_line(self, text: &str) -> String {
        match self {
            Self::Claude => claude::message_line(text),
        }
    }

    /// Whether a variable of our own environment is passed on. Everything else is dropped.
    pub fn environment_allows(self, name: &str) -> bool {
        match self {
            Self::Claude => claude::environment_allows(name),
        }
    }

    /// Variables we set whatever the user's environment says.
    pub fn environment_sets(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Claude => claude::ENVIRONMENT,
        }
    }

    /// Variables we set unless the user did.
    pub fn environment_defaults(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Claude => claude::ENVIRONMENT_DEFAULTS,
        }
    }

    /// What these tokens cost by the price table. It errs on the dear side.
    pub fn price(self, model: &str, tokens: &Tokens) -> Usd {
        match self {
            Self::Claude => claude::price(model, tokens),
        }
    }

    /// What came of an attempt: total, pure, and the only place that says so.
    ///
    /// A good result that came before we ended the attempt stands. The exit code alone is never a
    /// success.
    pub fn classify(self, ending: &Ending<'_>) -> AttemptOutcome {
        let said = match self {
            Self::Claude => claude::judge(ending),
        };
        let Some(cut) = ending.cut else {
            return said.unwrap_or_else(|| died(ending));
        };
        match cut {
            CutReason::AfterResult => said.unwrap_or(AttemptOutcome::Interrupted),
            CutReason::Auth => AttemptOutcome::Auth { why: refusal(ending) },
            CutReason::Deadline(which) => good(said).unwrap_or(AttemptOutcome::TimedOut { which }),
            CutReason::Limit => good(said).unwrap_or(AttemptOutcome::AttemptBudget),
            CutReason::StopNow => good(said).unwrap_or(AttemptOutcome::Interrupted),
        }
    }
}

/// A result that stands even though we ended the attempt.
fn good(said: Option<AttemptOutcome>) -> Option<AttemptOutcome> {
    said.filter(|said| said.consequence() == Consequence::Judge)
}

/// What the program said when the login was refused.
fn refusal(ending: &Ending<'_>) -> String {
    let from_error = ending.error.map(|error| error.text.as_str());
    let from_result =
        ending.result.filter(|result| result.is_error).and_then(|result| result.text.as_deref());
    from_error
        .or(from_result)
        .filter(|text| !text.is_empty())
        .unwrap_or("the provider refused the login")
        .to_owned()
}

/// Programs that are ended by a signal they handle exit with 128 and its number.
const SIGNAL_CODES: i32 = 128;

/// The outcome of a process that left no result and that we did not end.
fn died(ending: &Ending<'_>) -> AttemptOutcome {
    let Some(how) = ending.exit else {
        return AttemptOutcome::Lost;
    };
    let stderr = ending.stderr.trim();
    match how {
        Death::Code(code)
            if !ending.saw_stdout && (1..=SIGNAL_CODES).contains(&code) && !stderr.is_empty() =>
        {
            AttemptOutcome::BadStart { why: stderr.to_owned() }
        }
        // What shells and launchers say for a program that is not there or can't be run.
        Death::Code(code @ (126 | 127)) if !ending.saw_stdout => {
            AttemptOutcome::BadStart { why: format!("it could not be run (exit code {code})") }
        }
        Death::Code(_) | Death::Signal(_) => AttemptOutcome::Crashed { how },
    }
}
