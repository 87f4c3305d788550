//! Dialects: the differences between agent programs in command line, environment, output lines and
//! outcome. No I/O happens here.

use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::lines::LineSplitter;
use super::message::{AgentMessage, BadLine, ErrorFacts, RateLimit, ResultFacts};
use super::outcome::{AttemptOutcome, CancelReason, Consequence, ProcessExit};
use super::output_masker::StreamedPart;
use crate::permissions::Permissions;
use crate::prompt::AnswerForm;
use crate::settings::WatchdogResponse;
use crate::units::{Tokens, Usd};

pub mod claude;
mod command;
mod passed_on;

/// The maximum length of a line to display. A line of JSON is measured after its strings are cut.
const MAX_SHOWN: usize = 1 << 20;

/// The maximum length of a displayed string in bytes, as written. [`is_cut`](super::lines::is_cut)
/// tells whether a string was cut.
pub const MAX_SHOWN_TEXT: usize = 256 << 10;

/// The supported agent programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    #[default]
    Claude,
    /// Any program that reads a prompt from standard input, prints plain text and returns an exit
    /// code.
    Command,
}

/// The relation between the strings of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextShape {
    /// Each text is a separate message, and the last one is the final message.
    Messages,
    /// All strings together are one message.
    OneText,
}

/// The options for starting an attempt. The prompt itself goes over standard input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentOptions<'a> {
    /// The model; `None` for the program's default.
    pub model: Option<&'a str>,
    /// The model to use when the first one is overloaded.
    pub fallback_model: Option<&'a str>,
    /// The maximum number of turns; `None` for the program's default.
    pub max_turns: Option<u32>,
    /// The maximum cost of the attempt.
    pub cap: Option<Usd>,
    /// A system prompt that replaces the program's own. Without the long explanation of tools, a
    /// question is much shorter.
    pub system_prompt: Option<&'a str>,
    /// A file with nightwright's part of the system prompt.
    pub system_prompt_file: Option<&'a str>,
    pub permissions: Permissions,
    /// The tools that are available at all.
    pub tools: ToolAccess,
    /// The tools allowed without asking.
    pub allowed_tools: &'a [String],
    /// The tools that are forbidden.
    pub disallowed_tools: &'a [String],
    /// The user settings that apply; empty for the program's default.
    pub setting_sources: &'a [String],
    pub extensions: Extensions,
    /// The JSON Schema of the answer.
    pub json_schema: Option<&'a str>,
    /// Whether messages can follow the prompt.
    pub input: InputShape,
    /// The user's own arguments, after all others.
    pub extra: &'a [String],
}

/// The tools that the agent can use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolAccess {
    /// All tools of the program.
    #[default]
    Usual,
    /// Only tools that read.
    ReadOnly,
    /// No tools: the agent answers from the prompt alone.
    None,
}

/// Whether the program uses MCP servers and skills that someone configured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Extensions {
    #[default]
    Configured,
    /// None but those in the user's arguments.
    None,
}

/// Whether messages can follow the prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InputShape {
    /// The prompt is the only input.
    #[default]
    Prompt,
    /// The prompt is the first of several messages.
    Messages,
}

/// All facts about a finished attempt.
#[derive(Clone, Copy, Debug)]
pub struct FinishedAttempt<'a> {
    /// The reason why nightwright ended it, if it did.
    pub cut: Option<CancelReason>,
    /// The exit of the process; `None` if it was not seen.
    pub exit: Option<ProcessExit>,
    /// The last result of the attempt.
    pub result: Option<&'a ResultFacts>,
    /// The last error reported as a message, since the result before the last.
    pub error: Option<&'a ErrorFacts>,
    /// The last report of the account's limits.
    pub rate_limit: Option<&'a RateLimit>,
    /// The source of the API key; empty for a login or if unknown.
    pub api_key: &'a str,
    /// The total number of tool calls.
    pub tool_calls: u32,
    /// The total tokens, as far as they were seen.
    pub tokens: Tokens,
    /// Whether anything but blank lines was printed on standard output.
    pub saw_stdout: bool,
    /// The end of standard error.
    pub stderr: &'a str,
    /// The wall clock at the end.
    pub now: Timestamp,
    /// The time zone of the machine, for times without one; `None` if unknown.
    pub zone: Option<&'a TimeZone>,
}

impl Dialect {
    /// The name in settings, journal and console.
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Command => "command",
        }
    }

    /// The splitter for its output lines.
    pub fn lines(self) -> LineSplitter {
        match self {
            Self::Claude => LineSplitter::default().of_json(claude::STRINGS),
            Self::Command => LineSplitter::default().of_text(),
        }
    }

    /// The splitter for displayed lines, which keeps the beginnings of strings.
    pub fn lines_to_show(self) -> LineSplitter {
        match self {
            Self::Claude => {
                LineSplitter::default().of_json_beginnings(claude::SHOWN_STRINGS, MAX_SHOWN)
            }
            Self::Command => LineSplitter::with_limit(MAX_SHOWN).of_text(),
        }
    }

    /// Whether a line is a piece of something that is repeated later as a whole, as far as that is
    /// visible without parsing it. A reader of the whole can skip it.
    pub fn is_only_a_part(self, line: &[u8]) -> bool {
        match self {
            Self::Claude => claude::is_only_a_part(line),
            Self::Command => false,
        }
    }

    /// Whether its output shows the tool calls.
    pub fn shows_tools(self) -> bool {
        match self {
            Self::Claude => true,
            Self::Command => false,
        }
    }

    /// The file that a tool call writes or edits; empty if unknown. A shell may write files too,
    /// but most commands do not.
    pub fn edited_file(self, tool: &str, input: &str) -> Option<String> {
        match self {
            Self::Claude => claude::edited_file(tool, input),
            Self::Command => None,
        }
    }

    /// Whether each output line is a JSON value, and not text to read.
    pub fn prints_json(self) -> bool {
        match self {
            Self::Claude => true,
            Self::Command => false,
        }
    }

    /// Whether strings arrive a few characters at a time.
    pub fn streams_deltas(self) -> bool {
        match self {
            Self::Claude => true,
            Self::Command => false,
        }
    }

    /// The part of a streamed message in a line; `None` for any other line.
    pub fn streamed(self, line: &[u8]) -> Option<StreamedPart<'_>> {
        match self {
            Self::Claude => claude::streamed(line),
            Self::Command => None,
        }
    }

    /// Whether these lines contain the end of a turn, which ends all streamed strings.
    pub(crate) fn ends_turn(self, lines: &[u8]) -> bool {
        match self {
            Self::Claude => claude::ends_turn(lines),
            Self::Command => false,
        }
    }

    /// Decodes one line. A line can contain several messages; each is passed to `each`.
    pub fn decode(
        self,
        line: &[u8],
        each: &mut impl FnMut(AgentMessage<'_>),
    ) -> Result<(), BadLine> {
        match self {
            Self::Claude => claude::decode(line, each),
            Self::Command => {
                command::decode(line, each);
                Ok(())
            }
        }
    }

    /// The subject of a tool call, from its input: the command, file or address.
    pub fn subject_of(self, input: &str) -> String {
        match self {
            Self::Claude => claude::subject_of(input),
            Self::Command => String::new(),
        }
    }

    pub fn text_shape(self) -> TextShape {
        match self {
            Self::Claude => TextShape::Messages,
            Self::Command => TextShape::OneText,
        }
    }

    /// Whether the agent program reports when it is ready. Any other program is ready as soon as it
    /// is started.
    pub fn announces_itself(self) -> bool {
        match self {
            Self::Claude => true,
            Self::Command => false,
        }
    }

    /// The form in which it answers a question.
    pub fn answer_form(self) -> AnswerForm {
        match self {
            Self::Claude => AnswerForm::Shaped,
            Self::Command => AnswerForm::LastLine,
        }
    }

    /// Whether messages can follow the prompt.
    pub fn can_live(self) -> bool {
        match self {
            Self::Claude => true,
            Self::Command => false,
        }
    }

    /// Whether messages will follow the prompt with this watchdog response.
    pub fn input(self, respond: WatchdogResponse) -> InputShape {
        match respond {
            WatchdogResponse::Live if self.can_live() => InputShape::Messages,
            WatchdogResponse::Live | WatchdogResponse::Next | WatchdogResponse::Off => {
                InputShape::Prompt
            }
        }
    }

    /// The arguments of the program for an attempt or call.
    pub fn arguments(self, options: &AgentOptions<'_>) -> Vec<String> {
        match self {
            Self::Claude => claude::arguments(options),
            Self::Command => command::arguments(options),
        }
    }

    /// The prompt for a program started with [`InputShape::Prompt`], as written to standard input.
    /// The text includes the system prompt if no argument takes it.
    pub fn prompt_text(self, system: &str, user: &str) -> String {
        match self {
            Self::Claude => claude::prompt_text(user),
            Self::Command => command::prompt_text(system, user),
        }
    }

    /// One message for a program started with [`InputShape::Messages`], as a line with its line
    /// ending.
    pub fn message_line(self, text: &str) -> String {
        match self {
            Self::Claude => claude::message_line(text),
            // The program takes no messages; if one is sent, it is a plain line.
            Self::Command => format!("{text}\n"),
        }
    }

    /// The maximum length of a prompt in bytes, if there is a limit.
    pub fn longest_prompt(self) -> Option<usize> {
        match self {
            Self::Claude => Some(claude::MAX_PROMPT),
            Self::Command => None,
        }
    }

    /// Whether a variable of nightwright's environment is passed on. All others are dropped. `is_on`
    /// tells which of the switches that configure the agent for a cloud are set.
    pub fn environment_allows(self, name: &str, is_on: &dyn Fn(&str) -> bool) -> bool {
        passed_on::allows(name, self.also_passed_on(), is_on)
    }

    /// The patterns of the variables that are passed on, with the switch that some of them need, for
    /// the documentation.
    pub fn environment_listed(self) -> Vec<(&'static str, Option<&'static str>)> {
        passed_on::listed(self.also_passed_on())
    }

    fn also_passed_on(self) -> &'static [&'static str] {
        match self {
            Self::Claude => claude::PASSED_ON,
            Self::Command => &[],
        }
    }

    /// The variables that override the user's environment.
    pub fn environment_sets(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Claude => claude::ENVIRONMENT,
            Self::Command => &[],
        }
    }

    /// The variable that limits the tokens of one answer, if any.
    pub fn output_tokens_variable(self) -> Option<&'static str> {
        match self {
            Self::Claude => Some(claude::OUTPUT_TOKENS),
            Self::Command => None,
        }
    }

    /// The variables set unless the user set them.
    pub fn environment_defaults(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Claude => claude::ENVIRONMENT_DEFAULTS,
            Self::Command => &[],
        }
    }

    /// The variables that name the folder for temporary files.
    pub fn temp_variables(self) -> &'static [&'static str] {
        match self {
            Self::Claude => claude::TEMP_VARIABLES,
            Self::Command => &["TMPDIR"],
        }
    }

    /// Whether the working model can be the requested one.
    pub fn is_model(self, asked: &str, working: &str) -> bool {
        match self {
            Self::Claude => claude::is_model(asked, working),
            // Such a program is never asked for a model, and never names one.
            Self::Command => true,
        }
    }

    /// The cost of these tokens by the price table, which rather overestimates.
    pub fn price(self, model: &str, tokens: &Tokens) -> Usd {
        match self {
            // Not called for a program that reports no tokens; the highest price would be safe.
            Self::Claude | Self::Command => claude::price(model, tokens),
        }
    }

    /// The assumed cost of this working time, for a program that never reports its usage.
    pub fn price_of_time(self, time: Duration) -> Option<Usd> {
        match self {
            Self::Claude => None,
            Self::Command => command::price_of(time),
        }
    }

    /// The working time that this cost allows, if the cost is estimated by time.
    pub fn time_for(self, cost: Usd) -> Option<Duration> {
        match self {
            // Claude Code receives the limit as an option, and enforces it.
            Self::Claude => None,
            Self::Command => Some(command::time_for(cost)),
        }
    }

    /// Classifies a finished attempt. This total function is the only place that decides an
    /// outcome.
    ///
    /// A good result that arrived before nightwright ended the attempt counts. The exit code alone
    /// is never a success, except for a program that reports nothing else.
    pub fn classify(self, attempt: &FinishedAttempt<'_>) -> AttemptOutcome {
        let reported = match self {
            Self::Claude => claude::classify(attempt),
            Self::Command => command::classify(attempt),
        };
        let Some(cut) = attempt.cut else {
            return reported.unwrap_or_else(|| died(self, attempt));
        };
        match cut {
            CancelReason::AfterResult => reported.unwrap_or(AttemptOutcome::Interrupted),
            // The login may have been renewed just when the attempt was ended.
            CancelReason::Auth => {
                good(reported).unwrap_or_else(|| AttemptOutcome::Auth { why: refusal(attempt) })
            }
            CancelReason::Deadline(which) => {
                good(reported).unwrap_or(AttemptOutcome::TimedOut { which })
            }
            CancelReason::Limit => good(reported).unwrap_or(AttemptOutcome::AttemptBudget),
            CancelReason::StopNow => good(reported).unwrap_or(AttemptOutcome::Interrupted),
        }
    }
}

/// A result that counts although nightwright ended the attempt.
fn good(reported: Option<AttemptOutcome>) -> Option<AttemptOutcome> {
    reported.filter(|reported| reported.consequence() == Consequence::Assess)
}

/// The program's message when the login was refused.
fn refusal(attempt: &FinishedAttempt<'_>) -> String {
    let from_error = attempt.error.map(|error| error.text.as_str());
    let from_result =
        attempt.result.filter(|result| result.is_error).and_then(|result| result.text.as_deref());
    from_error.or(from_result).filter(|text| !text.is_empty()).map_or_else(
        || match attempt.api_key {
            "" => "the provider answered with status 401".to_owned(),
            from => format!("the provider refused the API key from {from} (status 401)"),
        },
        short,
    )
}

/// The beginning of an explanation.
fn short(text: &str) -> String {
    let text = text.trim();
    text[..text.floor_char_boundary(MAX_WHY)].to_owned()
}

/// The maximum length of an explanation.
const MAX_WHY: usize = 2000;

/// A program that handles a fatal signal exits with 128 plus its number.
const SIGNAL_CODES: i32 = 128;

/// The outcome of a process that left no result and was not ended by nightwright.
fn died(dialect: Dialect, attempt: &FinishedAttempt<'_>) -> AttemptOutcome {
    let Some(how) = attempt.exit else {
        return AttemptOutcome::Lost;
    };
    let stderr = attempt.stderr.trim();
    // A program that announces itself and has not done so has done no work. For any other this is
    // unknown.
    let silent = !attempt.saw_stdout && dialect.announces_itself();
    match how {
        ProcessExit::Code(code)
            if silent && (1..=SIGNAL_CODES).contains(&code) && !stderr.is_empty() =>
        {
            AttemptOutcome::BadStart { why: stderr.to_owned() }
        }
        // The exit codes of shells and launchers for a program that is missing or cannot be
        // executed.
        ProcessExit::Code(code @ (126 | 127)) if !attempt.saw_stdout => {
            let why = match stderr {
                "" => format!("it could not start (exit code {code})"),
                stderr => stderr.to_owned(),
            };
            AttemptOutcome::BadStart { why }
        }
        ProcessExit::Code(_) | ProcessExit::Signal(_) => AttemptOutcome::Crashed { how },
    }
}
