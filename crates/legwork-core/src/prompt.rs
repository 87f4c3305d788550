//! What the agent is told: fixed parts first, changing parts last, so that the provider's prompt
//! cache holds from one iteration to the next.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::time::Duration;

use crate::event::{FeedbackSource, IterationKind};
use crate::input::TaskProgress;
use crate::settings::{EvidenceKind, Settings};
use crate::units::{Iteration, Usd, human};

mod question;

pub use question::{advice_question, council_question, review_question, verify_question};

/// Notes longer than this are cut in the middle.
pub const NOTES_MAX: usize = 64 << 10;
/// Notes and inbox are cut to this after a prompt was too long.
pub const SHORT_MAX: usize = 16 << 10;
/// The inbox is cut to this, oldest entries out first.
pub const INBOX_MAX: usize = 16 << 10;

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
    /// What the previous iteration said it did.
    pub previous: Option<Previous>,
    /// What is left of the limits.
    pub left: Left,
}

/// One entry of the inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feedback {
    /// Who says it.
    pub source: FeedbackSource,
    /// What.
    pub text: String,
}

/// What the previous iteration said of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Previous {
    /// In its words.
    pub summary: String,
    /// How far the task was.
    pub progress: Option<TaskProgress>,
}

/// What is left of the limits. `None` = there is no such limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Left {
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

/// Composes what an iteration is told.
///
/// Everything up to the notes is the same in every iteration of a run, byte for byte.
pub fn compose(settings: &Settings, briefing: &Briefing, notes: Option<&str>) -> Prompt {
    let mut user = String::new();
    workflow(&mut user, settings);
    completion(&mut user, settings);
    section(&mut user, "The goal", settings.goal.trim());
    // From here on the text changes from one iteration to the next.
    if let Some(file) = &settings.notes_file {
        let most = if briefing.shorten { SHORT_MAX } else { NOTES_MAX };
        let notes = match notes.map(str::trim).filter(|notes| !notes.is_empty()) {
            Some(notes) => handed_over(file, notes, most),
            None => format!("There are no notes yet: `{file}` does not exist or is empty."),
        };
        section(&mut user, "CONTEXT FROM PREVIOUS ITERATION", &notes);
    }
    if !briefing.feedback.is_empty() {
        section(&mut user, "What you were told since", &inbox(briefing));
    }
    if let Some(file) = &settings.notes_file {
        section(&mut user, "Hand over", &hand_over(file));
    }
    section(&mut user, "This iteration", &this_iteration(briefing));
    Prompt { system: SYSTEM.to_owned(), user }
}

const SYSTEM: &str = "\
# You are on your own

You work unattended, as one of several iterations that each start with a fresh context.

- Nobody reads along and nobody will answer. Never ask a question and never wait for \
confirmation: choose what serves the goal best, write the choice down, and go on.
- What you don't write down is lost. The next iteration knows the project, its history and the \
notes, and nothing else of what you did or thought.
- Never leave work in the background: no process, server, watcher or task of yours may go on when \
you end. Run commands in the foreground and wait for them.
- If something can't be done without a person, say so plainly, and do all the other work first.
- Only your last message is read, and what you say there is checked against the project.
";

/// What one iteration is for. It opens the message, so that no text of the user can be taken for
/// a command of the agent program.
fn workflow(user: &mut String, settings: &Settings) {
    user.push_str(
        "# One iteration\n\n\
         The goal below is worked on in several iterations. This is one of them.\n\n\
         1. Find out how far the project is: read the notes and look at the project itself.\n\
         2. Choose the next piece of work that brings it closest to the goal, and do it \
         completely rather than several by halves.\n\
         3. Check what you did, and leave the project in a state that works.\n",
    );
    if !settings.verify.commands.is_empty() {
        user.push_str("\nThese commands have to pass in the end, and are run without you:\n\n");
        for command in &settings.verify.commands {
            writes(user, format_args!("- `{command}`\n"));
        }
    }
}

/// How completion is claimed, by the kinds of evidence that count in this run.
fn completion(user: &mut String, settings: &Settings) {
    let completion = &settings.completion;
    let mut ways = String::new();
    for kind in &completion.evidence {
        let way = match kind {
            EvidenceKind::Promise => format!(
                "When the whole goal is reached and you have checked that it is, put this alone \
                 on a line of your last message:\n\n    {}",
                crate::evidence::PROMISE
            ),
            EvidenceKind::Signal => format!(
                "When you looked for anything left to do for the goal and found nothing, put this \
                 on a line of your last message, without quotes or backticks:\n\n    {}",
                completion.signal
            ),
            EvidenceKind::EndPhrase => match &completion.end_phrase {
                Some(phrase) => {
                    format!("When the whole goal is reached, end your last message with: {phrase}")
                }
                None => continue,
            },
            EvidenceKind::Status => {
                "When the whole task is done, set `\"complete\": true` in the status file."
                    .to_owned()
            }
            EvidenceKind::Todo | EvidenceKind::Plan => {
                "Tick a box of the list when its item is done and checked, and no sooner."
                    .to_owned()
            }
            EvidenceKind::Planned => {
                "The plan needs a box for every piece of work that is open.".to_owned()
            }
            EvidenceKind::LastWords => continue,
        };
        if !ways.contains(&way) {
            writes(&mut ways, format_args!("- {way}\n"));
        }
    }
    let text = if ways.is_empty() {
        "Nothing you say ends the work: do the next useful piece of it.".to_owned()
    } else {
        format!(
            "{ways}\nA claim is put to the proof, and one that is not true costs an iteration. \
             While anything is open, leave these words out altogether."
        )
    };
    section(user, "When the goal is reached", &text);
}

fn handed_over(file: &str, notes: &str, most: usize) -> String {
    let notes = cut_middle(notes, most);
    format!("The notes of earlier iterations, from `{file}`:\n\n<notes>\n{notes}\n</notes>")
}

/// The inbox, oldest first. What does not fit is the oldest, and that is said.
fn inbox(briefing: &Briefing) -> String {
    let mut room = INBOX_MAX;
    let mut kept: Vec<String> = Vec::new();
    for feedback in briefing.feedback.iter().rev() {
        let source = match feedback.source {
            FeedbackSource::Checks => "The checks",
            FeedbackSource::Verifier => "The verifier, who did not believe that it is complete",
            FeedbackSource::Watchdog => "The watchdog",
            FeedbackSource::Council => "The council",
            FeedbackSource::Ladder => "The supervisor, about progress",
            FeedbackSource::Human => "The person you work for",
        };
        let text = cut_middle(feedback.text.trim(), INBOX_MAX);
        let entry = format!("**{source}:**\n\n{text}");
        // The newest is told in any case.
        match room.checked_sub(entry.len()) {
            Some(left) => room = left,
            None if kept.is_empty() => room = 0,
            None => break,
        }
        kept.push(entry);
    }
    let left_out = briefing.feedback.len() - kept.len();
    if left_out > 0 {
        let entries = if left_out == 1 { "entry" } else { "entries" };
        kept.push(format!("[{left_out} older {entries} left out here]"));
    }
    kept.reverse();
    kept.join("\n\n")
}

fn hand_over(file: &str) -> String {
    format!(
        "Before you end, create or update `{file}` for the iteration that follows: what is done, \
         what is open, what to do next, and what you found out the hard way. Keep it short and \
         true: rewrite what no longer holds instead of adding to the end. It is no place for \
         anything that belongs into the project itself."
    )
}

fn this_iteration(briefing: &Briefing) -> String {
    let mut text = format!("This is iteration {}.", briefing.iteration);
    if let Some(previous) = &briefing.previous {
        if !previous.summary.trim().is_empty() {
            let summary = previous.summary.trim();
            writes(&mut text, format_args!(" The one before said: “{summary}”"));
        }
        if let Some(TaskProgress { completed, total }) = previous.progress {
            writes(&mut text, format_args!(" Done by then: {completed} of {total}."));
        }
    }
    limits_left(&mut text, &briefing.left);
    if briefing.cut_off {
        text.push_str(
            "\n\nAn earlier attempt at this iteration was cut off, and its work may be half done. \
             Look at what it left in the project first, then finish it or take it back.",
        );
    }
    match briefing.kind {
        IterationKind::Work if briefing.last => text.push_str(
            "\n\nNo other iteration follows this one. Finish what is most worth finishing, and \
             leave everything so that somebody else can go on from it.",
        ),
        IterationKind::Work => {}
        IterationKind::WrapUp => text.push_str(
            "\n\nThe limits of this run are nearly used up, and this is the wrap-up. Start nothing \
             new: finish what is nearly finished, take back what is not, bring the project into \
             order, and write down where it stands.",
        ),
    }
    text
}

fn limits_left(text: &mut String, left: &Left) {
    let Left { iterations, cost, duration, tokens } = left;
    let parts: Vec<String> = [
        iterations.map(|count| match count {
            1 => "1 iteration, this one".to_owned(),
            count => format!("{count} iterations, this one included"),
        }),
        cost.map(|cost| cost.to_string()),
        duration.map(human),
        tokens.map(|tokens| format!("{tokens} tokens")),
    ]
    .into_iter()
    .flatten()
    .collect();
    if !parts.is_empty() {
        writes(text, format_args!("\n\nLeft for the whole run: {}.", parts.join("; ")));
    }
}

/// Head and tail of a text that is too long; what is missing between them is named.
fn cut_middle(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most {
        return Cow::Borrowed(text);
    }
    let head = &text[..text.floor_char_boundary(most / 2)];
    let tail = &text[text.ceil_char_boundary(text.len() - most / 2)..];
    let left_out = text.len() - head.len() - tail.len();
    Cow::Owned(format!("{head}\n\n[{left_out} bytes left out here]\n\n{tail}"))
}

fn section(text: &mut String, heading: &str, body: &str) {
    writes(text, format_args!("\n## {heading}\n\n{body}\n"));
}

fn writes(text: &mut String, what: fmt::Arguments<'_>) {
    text.write_fmt(what).expect("writing to a string does not fail");
}

#[cfg(test)]
mod tests;
