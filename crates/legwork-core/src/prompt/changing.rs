//! What changes from one iteration to the next: it comes last.

use super::{Briefing, INBOX_MAX, Left, NOTES_MAX, SHORT_MAX, cut_middle, writes};
use crate::event::{FeedbackSource, IterationKind};
use crate::input::TaskProgress;
use crate::settings::Settings;
use crate::units::human;

/// The notes of earlier iterations.
pub(super) fn notes(briefing: &Briefing, file: &str, notes: Option<&str>) -> String {
    let most = if briefing.shorten { SHORT_MAX } else { NOTES_MAX };
    match notes.map(str::trim).filter(|notes| !notes.is_empty()) {
        Some(notes) => handed_over(file, notes, most),
        None => format!("There are no notes yet: `{file}` does not exist or is empty."),
    }
}

fn handed_over(file: &str, notes: &str, most: usize) -> String {
    let notes = cut_middle(notes, most);
    format!("The notes of earlier iterations, from `{file}`:\n\n<notes>\n{notes}\n</notes>")
}

/// The inbox, oldest first. What does not fit is the oldest, and that is said.
pub(super) fn inbox(briefing: &Briefing) -> String {
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

/// What the next iteration has to be told, and where that goes.
pub(super) fn hand_over(settings: &Settings) -> Option<String> {
    let place = match (&settings.notes_file, &settings.files.list) {
        (Some(notes), _) => format!("create or update `{notes}`"),
        (None, Some(list)) => format!("keep the section `## Notes` at the end of `{list}` true"),
        (None, None) => return None,
    };
    Some(format!(
        "Before you end, {place} for the iteration that follows: what is done, what is open, what \
         to do next, and what you found out the hard way. Keep it short and true: remove what is \
         stale, and rewrite what no longer holds instead of adding to the end. It is no place for \
         anything that belongs into the project itself."
    ))
}

pub(super) fn this_iteration(briefing: &Briefing) -> String {
    let mut text = format!("This is iteration {}.", briefing.iteration);
    if let Some(previous) = &briefing.previous {
        if !previous.summary.trim().is_empty() {
            let summary = previous.summary.trim();
            writes(&mut text, format_args!(" The one before said: “{summary}”"));
        }
        if let Some(TaskProgress { completed, total }) = previous.progress {
            writes(&mut text, format_args!(" Done by then: {completed} of {total}."));
        }
        if let Some(phase) = previous.phase.as_deref().filter(|phase| !phase.trim().is_empty()) {
            writes(&mut text, format_args!(" It was at: {}.", phase.trim()));
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
        IterationKind::Work | IterationKind::Proof => {}
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
