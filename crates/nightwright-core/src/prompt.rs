//! Prompts for the agent: fixed parts first, changing parts last, so that the provider's prompt
//! cache stays valid across iterations.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::time::Duration;

use crate::event::{FeedbackSource, IterationKind};
use crate::input::TaskProgress;
use crate::principles::Principles;
use crate::settings::{Limits, Settings};
use crate::units::{Iteration, Usd};

mod changing;
mod contract;
mod facts;
mod question;
mod quoted;
mod template;

pub(crate) use changing::{decided_before, decided_now, marker_ignored, undecided};
pub use contract::EXAMPLE as STATUS_EXAMPLE;
pub use facts::{CheckNews, EarlierIteration};
pub use question::{
    AnswerForm, ReviewInput, VerificationCase, advice_question, council_question, failure_question,
    impossible_question, review_question, verify_question,
};
pub(crate) use quoted::{block, quoted};
pub use template::{TOKENS, TemplateError, check, render};

/// The maximum length of notes. Longer ones are cut in the middle.
pub const MAX_NOTES: usize = 64 << 10;
/// The maximum length of notes and inbox after a prompt was too long.
pub const MAX_SHORT: usize = 16 << 10;
/// The maximum length of the inbox. The oldest entries are left out first.
pub const MAX_INBOX: usize = 16 << 10;
/// The maximum length of the decisions. The oldest are left out first.
pub const MAX_DECISIONS: usize = 8 << 10;
/// The maximum number of decisions in a prompt.
pub const MAX_DECISION_COUNT: usize = 20;

/// The machine's contribution to a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Briefing {
    pub iteration: Iteration,
    pub kind: IterationKind,
    /// Whether this is the last iteration, by the iteration limit.
    pub last: bool,
    /// Whether an earlier attempt of this iteration was cut off.
    pub cut_off: bool,
    /// Whether an earlier prompt was too long.
    pub shorten: bool,
    /// The inbox, oldest first.
    pub feedback: Vec<Feedback>,
    /// The decisions of this run's council, oldest first.
    pub decisions: Vec<Decision>,
    /// The facts about the last iterations, oldest first.
    pub earlier: Vec<EarlierIteration>,
    /// The state of the checks now, if they have run.
    pub checks: Option<CheckNews>,
    /// The previous iteration's report about itself.
    pub previous: Option<PreviousIteration>,
    /// The remaining part of the limits.
    pub remaining: RemainingLimits,
}

impl Briefing {
    /// The briefing of the first iteration of a run with these limits.
    pub fn first(limits: &Limits) -> Self {
        Self {
            iteration: Iteration(1),
            kind: IterationKind::Work,
            last: limits.max_iterations == Some(1),
            cut_off: false,
            shorten: false,
            feedback: Vec::new(),
            decisions: Vec::new(),
            earlier: Vec::new(),
            checks: None,
            previous: None,
            remaining: RemainingLimits {
                iterations: limits.max_iterations,
                cost: limits.max_cost,
                duration: limits.max_duration,
                tokens: limits.max_tokens,
            },
        }
    }
}

/// One entry of the inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feedback {
    pub source: FeedbackSource,
    pub text: String,
}

/// A conflict between principles that was decided, for the rest of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    pub iteration: Iteration,
    /// The conflict, in the agent's words.
    pub conflict: String,
    pub decision: String,
}

/// The previous iteration's report about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreviousIteration {
    pub summary: String,
    pub progress: Option<TaskProgress>,
    /// The phase of the task that it worked on.
    pub phase: Option<String>,
}

/// The remaining part of the limits; `None` for no limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemainingLimits {
    /// The number of iterations, including this one.
    pub iterations: Option<u32>,
    pub cost: Option<Usd>,
    pub duration: Option<Duration>,
    pub tokens: Option<u64>,
}

/// A prompt, ready to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// The addition to the agent's own system prompt.
    pub system: String,
    /// The message to the agent.
    pub user: String,
}

/// The content of the project that a prompt needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptContext {
    /// The notes of earlier iterations.
    pub notes: Option<NotesExcerpt>,
    /// The state of the file for principles.
    pub principles: CollectedPrinciples,
}

/// The notes of earlier iterations. Only both ends of very long notes are read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NotesExcerpt {
    pub head: String,
    /// The end, if something was left out before it.
    pub tail: String,
    /// The number of bytes left out between the two.
    pub left_out: u64,
}

impl From<String> for NotesExcerpt {
    fn from(head: String) -> Self {
        Self { head, ..Self::default() }
    }
}

/// The state of the file for principles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CollectedPrinciples {
    /// The file does not exist.
    #[default]
    Missing,
    /// The file is invalid, for this reason.
    Unusable(String),
    /// The file is valid, and applies from the next iteration on.
    Written,
}

/// Composes the prompt of an iteration.
///
/// Everything up to the notes is identical in every iteration of a run, unless a user's template
/// uses the iteration, or principles were adopted in between.
pub fn compose(
    settings: &Settings,
    briefing: &Briefing,
    found: &PromptContext,
) -> Result<Prompt, TemplateError> {
    let tokens = template::TemplateValues::new(settings, briefing.iteration);
    let mut user = settings.principles.as_ref().map(Principles::text).unwrap_or_default();
    if !user.is_empty() {
        user.push('\n');
    }
    user.push_str(&tokens.render(template::PROMPT_FILE, &settings.texts.prompt)?);
    contract::checks(&mut user, settings);
    contract::status(&mut user, settings);
    contract::completion(&mut user, settings);
    section(&mut user, "When only a person can help", contract::BLOCKERS.trim());
    if settings.extras.log_decisions {
        section(&mut user, "Your decisions", contract::DECISIONS.trim());
    }
    if let Some(text) = contract::notes_instructions(settings) {
        section(&mut user, "Hand over", &text);
    }
    section(&mut user, contract::task_heading(settings), settings.goal.trim());
    // From here on the text changes from one iteration to the next.
    if let Some(file) = &settings.notes_file {
        let notes = changing::notes(briefing, file, found.notes.as_ref());
        section(&mut user, "CONTEXT FROM PREVIOUS ITERATION", &notes);
    }
    if let Some(decided) = changing::decided(&briefing.decisions, &briefing.feedback) {
        section(&mut user, "Decided earlier", &decided);
    }
    if !briefing.feedback.is_empty() {
        section(&mut user, "New messages for you", &changing::inbox(briefing));
    }
    if let Some(text) = changing::principles_wanted(settings, briefing, &found.principles) {
        section(&mut user, "Principles to write down", &text);
    }
    if !briefing.earlier.is_empty() {
        section(&mut user, "The last iterations", &facts::earlier(&briefing.earlier));
    }
    if let Some(news) = &briefing.checks {
        section(&mut user, "The checks now", &facts::checks(news, briefing));
    }
    section(&mut user, "This iteration", &changing::this_iteration(briefing));
    Ok(Prompt { system: system(settings, &tokens)?, user })
}

/// The system prompt of an iteration, as [`compose`] creates it.
pub fn system_prompt(settings: &Settings, iteration: Iteration) -> Result<String, TemplateError> {
    system(settings, &template::TemplateValues::new(settings, iteration))
}

/// The instructions for the status file, as in [`compose`]; `None` if there is none.
pub fn status_instructions(settings: &Settings) -> Option<String> {
    let mut text = String::new();
    contract::status(&mut text, settings);
    let text = text.trim();
    // The heading belongs to the prompt.
    let text = text.split_once('\n').map_or(text, |(_, body)| body.trim());
    (!text.is_empty()).then(|| text.to_owned())
}

/// The prompts of the mode and the project, the contract, and the user's addition.
fn system(settings: &Settings, tokens: &template::TemplateValues) -> Result<String, TemplateError> {
    let mode = tokens.render(template::SYSTEM_FILE, &settings.texts.system)?;
    let parts = [&mode, &settings.texts.agents, contract::ALONE, &settings.texts.appended];
    let parts = parts.map(str::trim).into_iter().filter(|part| !part.is_empty());
    Ok(parts.fold(String::new(), |text, part| format!("{text}{part}\n\n")).trim_end().to_owned()
        + "\n")
}

/// The beginning and the end of a text that is too long, with a note about the gap.
pub(crate) fn cut_middle(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most {
        return Cow::Borrowed(text);
    }
    Cow::Owned(joined(text, text, 0, most))
}

/// The beginning of one text and the end of another, with a note about the gap. `gap` bytes belong
/// to neither; if it is zero, both are the same text.
fn joined(first: &str, last: &str, gap: u64, most: usize) -> String {
    let head = &first[..first.floor_char_boundary(most / 2)];
    let tail = &last[last.ceil_char_boundary(last.len().saturating_sub(most / 2))..];
    let both = if gap == 0 { first.len() } else { first.len() + last.len() };
    let omitted = (both - head.len() - tail.len()) as u64 + gap;
    format!("{head}\n\n[{omitted} bytes omitted]\n\n{tail}")
}

/// The inbox since the last iteration, readable by people too; empty if there is none.
pub fn inbox(briefing: &Briefing) -> String {
    if briefing.feedback.is_empty() { String::new() } else { changing::inbox(briefing) + "\n" }
}

fn section(text: &mut String, heading: &str, body: &str) {
    writes(text, format_args!("\n## {heading}\n\n{body}\n"));
}

fn writes(text: &mut String, what: fmt::Arguments<'_>) {
    text.write_fmt(what).expect("writing to a string does not fail");
}

#[cfg(test)]
mod tests;
