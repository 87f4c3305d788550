//! What a model is asked beside the work: for a verdict, a review, advice, a decision.

use super::{cut_middle, section};
use crate::agent::report::{Blocker, Notice, WatchSignal};
use crate::input::{Boxes, CheckResult, Finding, Inspection, StatusReport};
use crate::settings::{EvidenceKind, Settings};

mod verify;

pub use verify::verify_question;

/// More of a check's output than this helps nobody to judge.
const OUTPUT_MAX: usize = 4 << 10;

/// Everything that a verifier is told.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// What the run was told.
    pub settings: &'a Settings,
    /// What claims completion.
    pub claim: &'a [EvidenceKind],
    /// What the checks came to.
    pub checks: &'a [CheckResult],
    /// What makes passing checks worth less.
    pub findings: &'a [Finding],
    /// What changed since the run began, if anybody looked.
    pub inspection: Option<&'a Inspection>,
    /// What the agent says it can't go on without.
    pub blockers: &'a [Blocker],
    /// The agent's last words.
    pub summary: &'a str,
    /// What the status file says.
    pub status: Option<&'a StatusReport>,
    /// The boxes of the list.
    pub boxes: Option<Boxes>,
    /// The list itself; empty if there is none.
    pub list: &'a str,
    /// How the answer comes.
    pub form: AnswerForm,
}

/// How the answer to a question comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerForm {
    /// In a shape that the agent program sees to.
    Shaped,
    /// In words, with a last line that can be read.
    LastLine,
}

/// Agent programs put a file that is named after an `@` before the model, from anywhere on the
/// disk. Whoever judges or advises is told what others wrote, and a word joiner keeps that from
/// naming files.
fn pointing_at_nothing(text: &str) -> String {
    text.replace('@', "@\u{2060}")
}

/// Asks for a second look at what the last iteration did, and for repairs.
pub fn review_question(settings: &Settings, wish: &str) -> String {
    let wish = match wish.trim() {
        "" => {
            "Look for mistakes, for cases that were forgotten, for tests that prove nothing, and \
             for anything that does not serve the goal."
        }
        wish => wish,
    };
    let mut text = "# Review\n\n\
        An agent has just worked on the goal below. Review what it changed last, and repair what is \
        wrong. Take nothing on trust. If nothing is wrong, change nothing.\n"
        .to_owned();
    section(&mut text, "The goal", settings.goal.trim());
    section(&mut text, "What to look for", wish);
    section(
        &mut text,
        "How to work",
        "You are alone and nobody will answer: choose and go on. Never leave work in the \
         background. End with a few sentences on what you found and what you changed.",
    );
    text
}

/// Asks for a way out for an agent that is stuck.
pub fn advice_question(settings: &Settings, notice: &Notice, round: u32) -> String {
    let signal = match notice.signal {
        WatchSignal::GivingUp => "it gives up",
        WatchSignal::Asking => "it asks a question, and there is nobody to answer",
        WatchSignal::Repetition => "it makes the same tool call over and over",
        WatchSignal::ToolErrors => "its tool calls fail one after the other",
        WatchSignal::Compaction => "it fills its context again and again",
    };
    let again = match round {
        0 | 1 => String::new(),
        round => format!(
            " The same problem was answered {} before, and that did not help: advise something \
             else.",
            match round - 1 {
                1 => "once".to_owned(),
                times => format!("{times} times"),
            }
        ),
    };
    let goal = cut_middle(settings.goal.trim(), OUTPUT_MAX);
    let words = cut_middle(notice.text.trim(), OUTPUT_MAX);
    pointing_at_nothing(&format!(
        "# A way out\n\n\
         An agent that works alone in this project is stuck: {signal}.{again}\n\n\
         <goal>\n{goal}\n</goal>\n\n\
         <words>\n{words}\n</words>\n\n\
         Look at the project as far as you need to, and change nothing. Answer with one sentence \
         that says what the real problem is, and then three to five concrete steps that the agent \
         can take by itself, without asking anybody. No introduction and no closing words.\n"
    ))
}

/// Asks for a decision between principles that contradict each other.
pub fn council_question(settings: &Settings, conflict: &str) -> String {
    let goal = cut_middle(settings.goal.trim(), OUTPUT_MAX);
    let conflict = cut_middle(conflict.trim(), OUTPUT_MAX);
    pointing_at_nothing(&format!(
        "# A decision between principles\n\n\
         An agent that works alone in this project found a conflict that it could not resolve:\n\n\
         <conflict>\n{conflict}\n</conflict>\n\n\
         What it works on:\n\n<goal>\n{goal}\n</goal>\n\n\
         Decide. First see whether both sides can be had. If they can't, constraints come before \
         objectives; after that: what the law demands, security, what the user wants, the integrity \
         of data, quality, speed, convenience, in this order. Change nothing in the project.\n\n\
         Answer with the decision in one sentence, then its reason in at most three. It holds for \
         the rest of the work.\n"
    ))
}
