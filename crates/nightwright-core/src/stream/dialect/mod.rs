//! What differs between agent programs: the command line, the environment, the lines, and what
//! came of an attempt. All of it is pure.

use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::decode::LineSplitter;
use super::message::{AgentMessage, BadLine, ErrorFacts, RateLimit, ResultFacts};
use super::outcome::{AttemptOutcome, CancelReason, Consequence, ProcessExit};
use super::redacting_tee::StreamedPart;
use crate::permissions::Permissions;
use crate::prompt::AnswerForm;
use crate::settings::WatchdogResponse;
use crate::units::{Tokens, Usd};

pub mod claude;
mod command;
mod environment;

/// A line of text that is longer is not shown, nor one of JSON that is when its strings are cut.
const SHOWN_MAX: usize = 1 << 20;

/// What people are shown of one string, in bytes as it is written: the rest is cut off on its way,
/// and [`is_cut`](super::decode::is_cut) knows.
pub const SHOWN_TEXT_MAX: usize = 256 << 10;

/// The agent programs we can talk to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// Claude Code.
    #[default]
    Claude,
    /// Any program: the prompt on its standard input, plain text out, an exit code.
    Command,
}

/// How the words of an agent belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextShape {
    /// Each text is a message of its own, and the last one is what it ends with.
    Messages,
    /// All of it is one text.
    OneText,
}

/// What an attempt is to be started with. The prompt itself goes over standard input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaunchOptions<'a> {
    /// The model; `None` = the program's own choice.
    pub model: Option<&'a str>,
    /// Takes over when the model is overloaded.
    pub fallback_model: Option<&'a str>,
    /// Turns it may take; `None` = the program's own choice.
    pub max_turns: Option<u32>,
    /// What it may cost.
    pub cap: Option<Usd>,
    /// What it is told about itself instead of what its program tells it. Without the long text
    /// that explains tools a question is a fraction of the size.
    pub system_prompt: Option<&'a str>,
    /// A file with our part of the system prompt.
    pub system_prompt_file: Option<&'a str>,
    /// What it may do without asking.
    pub permissions: Permissions,
    /// What it may use at all.
    pub tools: ToolAccess,
    /// Tools it may use without asking.
    pub allowed_tools: &'a [String],
    /// Tools it may not use at all.
    pub disallowed_tools: &'a [String],
    /// Which of the user's own settings apply; empty = the program's own choice.
    pub setting_sources: &'a [String],
    /// The shape an answer has to have, as JSON.
    pub json_schema: Option<&'a str>,
    /// Whether messages can follow the prompt.
    pub input: InputShape,
    /// The user's own arguments, after all of ours.
    pub extra: &'a [String],
}

/// What the agent may use at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolAccess {
    /// Whatever the program has.
    #[default]
    Usual,
    /// What only reads.
    ReadOnly,
    /// Nothing: it answers from what it is told.
    None,
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
pub struct FinishedAttempt<'a> {
    /// Why we ended it, if we did.
    pub cut: Option<CancelReason>,
    /// How the process ended; `None` = nobody saw it.
    pub exit: Option<ProcessExit>,
    /// The last result.
    pub result: Option<&'a ResultFacts>,
    /// The last error in the shape of a message, since the result before the last.
    pub error: Option<&'a ErrorFacts>,
    /// The last word on the account's limits.
    pub rate_limit: Option<&'a RateLimit>,
    /// Where the key comes from that it works with; empty for a login or when it did not say.
    pub api_key: &'a str,
    /// Tool calls in all.
    pub tool_calls: u32,
    /// Tokens in all, as far as they were seen.
    pub tokens: Tokens,
    /// Whether anything but blank lines came on standard output.
    pub saw_stdout: bool,
    /// The end of standard error.
    pub stderr: &'a str,
    /// The wall clock at the end.
    pub now: Timestamp,
    /// The time zone of the machine, for times that name none; `None` = unknown.
    pub zone: Option<&'a TimeZone>,
}

impl Dialect {
    /// The dialect of this name in settings and journal.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Claude, Self::Command].into_iter().find(|dialect| dialect.name() == name)
    }

    /// The dialect that an agent of this name speaks. The rehearsal agent is a stand-in for the
    /// usual one, and so is whatever an older journal calls otherwise.
    pub fn of_agent(name: &str) -> Self {
        Self::named(name).unwrap_or_default()
    }

    /// Its name in settings, journal and console.
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Command => "command",
        }
    }

    /// What puts its lines together.
    pub fn lines(self) -> LineSplitter {
        match self {
            Self::Claude => LineSplitter::default().of_json(claude::STRINGS),
            Self::Command => LineSplitter::default().of_text(),
        }
    }

    /// What puts its lines together for people, who want to see how a text begins.
    pub fn lines_to_show(self) -> LineSplitter {
        match self {
            Self::Claude => {
                LineSplitter::default().of_json_beginnings(claude::SHOWN_STRINGS, SHOWN_MAX)
            }
            Self::Command => LineSplitter::with_limit(SHOWN_MAX).of_text(),
        }
    }

    /// Whether a line is a piece of something that comes whole later, as far as can be told without
    /// reading it. Nothing is lost with it to whoever waits for the whole.
    pub fn is_only_a_part(self, line: &[u8]) -> bool {
        match self {
            Self::Claude => claude::is_only_a_part(line),
            Self::Command => false,
        }
    }

    /// Whether its output shows which tools it calls.
    pub fn shows_tools(self) -> bool {
        match self {
            Self::Claude => true,
            Self::Command => false,
        }
    }

    /// The file that a call of a tool writes or edits; empty if it can't be told. A shell may write
    /// files too, but most of what it runs does not.
    pub fn edited_file(self, tool: &str, input: &str) -> Option<String> {
        match self {
            Self::Claude => claude::edited_file(tool, input),
            Self::Command => None,
        }
    }

    /// Whether each line that it prints is JSON of its own, and not what somebody wanted to say.
    pub fn prints_json(self) -> bool {
        match self {
            Self::Claude => true,
            Self::Command => false,
        }
    }

    /// Whether what it says comes a few characters at a time.
    pub fn streams_deltas(self) -> bool {
        match self {
            Self::Claude => true,
            Self::Command => false,
        }
    }

    /// What a line brings of a message that is being written; `None` if it is another line.
    pub fn streamed(self, line: &[u8]) -> Option<StreamedPart<'_>> {
        match self {
            Self::Claude => claude::streamed(line),
            Self::Command => None,
        }
    }

    /// Whether the end of a turn is in these lines: nobody is writing anything any more.
    pub(crate) fn ends_turn(self, lines: &[u8]) -> bool {
        match self {
            Self::Claude => claude::ends_turn(lines),
            Self::Command => false,
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
            Self::Command => {
                command::decode(line, each);
                Ok(())
            }
        }
    }

    /// What a call of a tool is about, by what it is called with: the command, file or address.
    pub fn subject_of(self, input: &str) -> String {
        match self {
            Self::Claude => claude::subject_of(input),
            Self::Command => String::new(),
        }
    }

    /// How its words belong together.
    pub fn text_shape(self) -> TextShape {
        match self {
            Self::Claude => TextShape::Messages,
            Self::Command => TextShape::OneText,
        }
    }

    /// Whether it says when it is ready. One that does not is ready as soon as it is started.
    pub fn announces_itself(self) -> bool {
        match self {
            Self::Claude => true,
            Self::Command => false,
        }
    }

    /// How the answer to a question comes.
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

    /// Whether messages will follow the prompt, if questions are to be answered like this.
    pub fn input(self, respond: WatchdogResponse) -> InputShape {
        match respond {
            WatchdogResponse::Live if self.can_live() => InputShape::Messages,
            WatchdogResponse::Live | WatchdogResponse::Next | WatchdogResponse::Off => {
                InputShape::Prompt
            }
        }
    }

    /// The arguments of the program for an attempt or call.
    pub fn arguments(self, ask: &LaunchOptions<'_>) -> Vec<String> {
        match self {
            Self::Claude => claude::arguments(ask),
            Self::Command => command::arguments(ask),
        }
    }

    /// The prompt for a program that was started with [`InputShape::Prompt`], as it goes over its
    /// standard input. The system prompt is in it where no argument takes it.
    pub fn prompt_text(self, system: &str, user: &str) -> String {
        match self {
            Self::Claude => claude::prompt_text(user),
            Self::Command => command::prompt_text(system, user),
        }
    }

    /// One message for a program that was started with [`InputShape::Messages`], as a line with
    /// its end.
    pub fn message_line(self, text: &str) -> String {
        match self {
            Self::Claude => claude::message_line(text),
            // It takes none; whoever sends one all the same sends a plain line.
            Self::Command => format!("{text}\n"),
        }
    }

    /// How many bytes of prompt it takes at most, if there is a limit.
    pub fn longest_prompt(self) -> Option<usize> {
        match self {
            Self::Claude => Some(claude::PROMPT_MAX),
            Self::Command => None,
        }
    }

    /// Whether a variable of our own environment is passed on. Everything else is dropped.
    pub fn environment_allows(self, name: &str) -> bool {
        let also = match self {
            Self::Claude => claude::PASSED_ON,
            Self::Command => &[],
        };
        environment::allows(name, also)
    }

    /// Variables we set whatever the user's environment says.
    pub fn environment_sets(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Claude => claude::ENVIRONMENT,
            Self::Command => &[],
        }
    }

    /// The variable that says how many tokens one answer may have, if there is one.
    pub fn output_tokens_variable(self) -> Option<&'static str> {
        match self {
            Self::Claude => Some(claude::OUTPUT_TOKENS),
            Self::Command => None,
        }
    }

    /// Variables we set unless the user did.
    pub fn environment_defaults(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Claude => claude::ENVIRONMENT_DEFAULTS,
            Self::Command => &[],
        }
    }

    /// Variables that tell it where its temporary files go.
    pub fn temp_variables(self) -> &'static [&'static str] {
        match self {
            Self::Claude => claude::TEMP_VARIABLES,
            Self::Command => &["TMPDIR"],
        }
    }

    /// Whether the model that works can be the one that was asked for.
    pub fn is_model(self, asked: &str, working: &str) -> bool {
        match self {
            Self::Claude => claude::is_model(asked, working),
            // It is never asked for a model, and never says which one works.
            Self::Command => true,
        }
    }

    /// What these tokens cost by the price table. It errs on the dear side.
    pub fn price(self, model: &str, tokens: &Tokens) -> Usd {
        match self {
            // A program that reports no tokens is never asked; if it were, the dearest is safe.
            Self::Claude | Self::Command => claude::price(model, tokens),
        }
    }

    /// What so much time at work is assumed to have cost, where the program never says what it
    /// used.
    pub fn price_of_time(self, time: Duration) -> Option<Usd> {
        match self {
            Self::Claude => None,
            Self::Command => command::price_of(time),
        }
    }

    /// How long it may work for so much money, where time is all that its cost is known by.
    pub fn time_for(self, cost: Usd) -> Option<Duration> {
        match self {
            // It is told what it may cost, and keeps to it.
            Self::Claude => None,
            Self::Command => Some(command::time_for(cost)),
        }
    }

    /// What came of an attempt: total, pure, and the only place that says so.
    ///
    /// A good result that came before we ended the attempt stands. The exit code alone is never a
    /// success, except for a program that has no other way to say so.
    pub fn classify(self, ending: &FinishedAttempt<'_>) -> AttemptOutcome {
        let said = match self {
            Self::Claude => claude::classify(ending),
            Self::Command => command::classify(ending),
        };
        let Some(cut) = ending.cut else {
            return said.unwrap_or_else(|| died(self, ending));
        };
        match cut {
            CancelReason::AfterResult => said.unwrap_or(AttemptOutcome::Interrupted),
            // The login may have been renewed in the very moment in which we gave it up.
            CancelReason::Auth => {
                good(said).unwrap_or_else(|| AttemptOutcome::Auth { why: refusal(ending) })
            }
            CancelReason::Deadline(which) => {
                good(said).unwrap_or(AttemptOutcome::TimedOut { which })
            }
            CancelReason::Limit => good(said).unwrap_or(AttemptOutcome::AttemptBudget),
            CancelReason::StopNow => good(said).unwrap_or(AttemptOutcome::Interrupted),
        }
    }
}

/// A result that stands even though we ended the attempt.
fn good(said: Option<AttemptOutcome>) -> Option<AttemptOutcome> {
    said.filter(|said| said.consequence() == Consequence::Assess)
}

/// What the program said when the login was refused.
fn refusal(ending: &FinishedAttempt<'_>) -> String {
    let from_error = ending.error.map(|error| error.text.as_str());
    let from_result =
        ending.result.filter(|result| result.is_error).and_then(|result| result.text.as_deref());
    from_error.or(from_result).filter(|text| !text.is_empty()).map_or_else(
        || match ending.api_key {
            "" => "the provider answered with status 401".to_owned(),
            from => format!("the provider refused the API key from {from} (status 401)"),
        },
        short,
    )
}

/// The beginning of an explanation.
fn short(text: &str) -> String {
    let text = text.trim();
    text[..text.floor_char_boundary(WHY_MAX)].to_owned()
}

/// The longest explanation that is kept.
const WHY_MAX: usize = 2000;

/// Programs that are ended by a signal they handle exit with 128 and its number.
const SIGNAL_CODES: i32 = 128;

/// The outcome of a process that left no result and that we did not end.
fn died(dialect: Dialect, ending: &FinishedAttempt<'_>) -> AttemptOutcome {
    let Some(how) = ending.exit else {
        return AttemptOutcome::Lost;
    };
    let stderr = ending.stderr.trim();
    // One that announces itself and has not has done no work. Of another nobody knows.
    let silent = !ending.saw_stdout && dialect.announces_itself();
    match how {
        ProcessExit::Code(code)
            if silent && (1..=SIGNAL_CODES).contains(&code) && !stderr.is_empty() =>
        {
            AttemptOutcome::BadStart { why: stderr.to_owned() }
        }
        // What shells and launchers say for a program that is not there or can't be run.
        ProcessExit::Code(code @ (126 | 127)) if !ending.saw_stdout => {
            let why = match stderr {
                "" => format!("it could not be run (exit code {code})"),
                stderr => stderr.to_owned(),
            };
            AttemptOutcome::BadStart { why }
        }
        ProcessExit::Code(_) | ProcessExit::Signal(_) => AttemptOutcome::Crashed { how },
    }
}
