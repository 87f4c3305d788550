//! What the agent is told: fixed parts first, changing parts last, so that the provider's prompt
//! cache holds from one iteration to the next.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::time::Duration;

use crate::event::{FeedbackSource, IterationKind};
use crate::input::TaskProgress;
use crate::principles::Principles;
use crate::settings::Settings;
use crate::units::{Iteration, Usd};

mod changing;
mod contract;
mod question;
mod quoted;
mod template;

pub(crate) use changing::{decided_before, decided_now, marker_ignored, undecided};
pub use contract::EXAMPLE as STATUS_EXAMPLE;
pub use question::{
    AnswerForm, ReviewInput, VerificationCase, advice_question, council_question, review_question,
    verify_question,
};
pub(crate) use quoted::{block, quoted};
pub use template::{TOKENS, TemplateError, check, render};

/// Notes longer than this are cut in the middle.
pub const NOTES_MAX: usize = 64 << 10;
/// Notes and inbox are cut to this after a prompt was too long.
pub const SHORT_MAX: usize = 16 << 10;
/// The inbox is cut to this, oldest entries out first.
pub const INBOX_MAX: usize = 16 << 10;
/// Decisions are cut to this, oldest out first.
pub const DECISIONS_MAX: usize = 8 << 10;
/// No more decisions than this are told.
pub const MAX_DECISION_COUNT: usize = 20;

/// What the machine knows and the prompt has to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Briefing {
    /// The iteration.
    pub iteration: Iteration,
    /// Why it runs.
    pub kind: IterationKind,
    /// Whether no other will follow, by the limit of iterations.
    pub last: bool,
    /// Whether an earlier attempt of this iteration was cut off.
    pub cut_off: bool,
    /// Whether an earlier prompt was too long.
    pub shorten: bool,
    /// The inbox, oldest first.
    pub feedback: Vec<Feedback>,
    /// What the council of this run has decided, oldest first.
    pub decisions: Vec<Decision>,
    /// What the previous iteration said it did.
    pub previous: Option<PreviousIteration>,
    /// What is left of the limits.
    pub remaining: RemainingLimits,
}

/// One entry of the inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feedback {
    /// Who says it.
    pub source: FeedbackSource,
    /// What.
    pub text: String,
}

/// A conflict of principles that was decided, for the rest of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// In which iteration.
    pub iteration: Iteration,
    /// The conflict, in the agent's words.
    pub conflict: String,
    /// How it was decided.
    pub decision: String,
}

/// What the previous iteration said of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreviousIteration {
    /// In its words.
    pub summary: String,
    /// How far the task was.
    pub progress: Option<TaskProgress>,
    /// Where in the task it was.
    pub phase: Option<String>,
}

/// What is left of the limits. `None` = there is no such limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemainingLimits {
    /// Iterations, this one included.
    pub iterations: Option<u32>,
    /// Money.
    pub cost: Option<Usd>,
    /// Time.
    pub duration: Option<Duration>,
    /// Tokens.
    pub tokens: Option<u64>,
}

/// A prompt, ready to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// Appended to the agent's own system prompt.
    pub system: String,
    /// The message.
    pub user: String,
}

/// What was found in the project when the prompt was composed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptContext {
    /// The notes of earlier iterations.
    pub notes: Option<NotesExcerpt>,
    /// What became of the file that principles were to be written into.
    pub principles: CollectedPrinciples,
}

/// The notes of earlier iterations. Of very long ones only the two ends are read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NotesExcerpt {
    /// The beginning.
    pub head: String,
    /// The end, if something was left out before it.
    pub tail: String,
    /// Bytes that were left out between the two.
    pub left_out: u64,
}

impl From<String> for NotesExcerpt {
    fn from(head: String) -> Self {
        Self { head, ..Self::default() }
    }
}

/// What became of the file that principles were to be written into.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CollectedPrinciples {
    /// It is not there.
    #[default]
    Missing,
    /// It is there, and can't be used: what is wrong with it.
    Unusable(String),
    /// It is there, and will hold from the next iteration on.
    Written,
}

/// Composes what an iteration is told.
///
/// Everything up to the notes is the same in every iteration of a run, byte for byte, unless a
/// template of the user's speaks of the iteration, or principles were adopted on the way.
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
        section(&mut user, "What you were told since", &changing::inbox(briefing));
    }
    if let Some(text) = changing::principles_wanted(settings, briefing, &found.principles) {
        section(&mut user, "Principles to write down", &text);
    }
    if let Some(text) = changing::notes_instructions(settings) {
        section(&mut user, "Hand over", &text);
    }
    section(&mut user, "This iteration", &changing::this_iteration(briefing));
    Ok(Prompt { system: system(settings, &tokens)?, user })
}

/// The system prompt of an iteration, as [`compose`] makes it.
pub fn system_prompt(settings: &Settings, iteration: Iteration) -> Result<String, TemplateError> {
    system(settings, &template::TemplateValues::new(settings, iteration))
}

/// What the agent is told of the status file, as [`compose`] says it; `None` where there is none.
pub fn status_instructions(settings: &Settings) -> Option<String> {
    let mut text = String::new();
    contract::status(&mut text, settings);
    let text = text.trim();
    // The heading is the prompt's.
    let text = text.split_once('\n').map_or(text, |(_, body)| body.trim());
    (!text.is_empty()).then(|| text.to_owned())
}

/// The mode's words, the project's, the contract, and what the user adds.
fn system(settings: &Settings, tokens: &template::TemplateValues) -> Result<String, TemplateError> {
    let mode = tokens.render(template::SYSTEM_FILE, &settings.texts.system)?;
    let parts = [&mode, &settings.texts.agents, contract::ALONE, &settings.texts.appended];
    let parts = parts.map(str::trim).into_iter().filter(|part| !part.is_empty());
    Ok(parts.fold(String::new(), |text, part| format!("{text}{part}\n\n")).trim_end().to_owned()
        + "\n")
}

/// Head and tail of a text that is too long; what is missing between them is named.
pub(crate) fn cut_middle(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most {
        return Cow::Borrowed(text);
    }
    Cow::Owned(joined(text, text, 0, most))
}

/// The beginning of one text and the end of another, with what is missing between them named.
/// `gap` bytes of it belong to neither; where there is none, both are the same text.
fn joined(first: &str, last: &str, gap: u64, most: usize) -> String {
    let head = &first[..first.floor_char_boundary(most / 2)];
    let tail = &last[last.ceil_char_boundary(last.len().saturating_sub(most / 2))..];
    let both = if gap == 0 { first.len() } else { first.len() + last.len() };
    let left_out = (both - head.len() - tail.len()) as u64 + gap;
    format!("{head}\n\n[{left_out} bytes left out here]\n\n{tail}")
}

/// What the agent is told since the last iteration, as people can read it too; empty if nothing.
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
