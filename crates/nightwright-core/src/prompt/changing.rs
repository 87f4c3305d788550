//! The parts of a prompt that change from one iteration to the next. They come last.

use super::quoted::{block, mark_quoted, quoted};
use super::{
    Briefing, CollectedPrinciples, Decision, Feedback, MAX_DECISION_COUNT, MAX_DECISIONS,
    MAX_INBOX, MAX_NOTES, MAX_SHORT, NotesExcerpt, RemainingLimits, cut_middle, joined, writes,
};
use crate::event::{FeedbackSource, IterationKind};
use crate::input::TaskProgress;
use crate::principles;
use crate::settings::Settings;
use crate::units::{Iteration, Usd, human};

/// The notes of earlier iterations.
pub(super) fn notes(briefing: &Briefing, file: &str, notes: Option<&NotesExcerpt>) -> String {
    let most = if briefing.shorten { MAX_SHORT } else { MAX_NOTES };
    let notes = match notes {
        Some(NotesExcerpt { head, tail, left_out: gap @ 1.. }) => joined(head, tail, *gap, most),
        Some(NotesExcerpt { head, .. }) => cut_middle(head.trim(), most).into_owned(),
        None => String::new(),
    };
    if notes.is_empty() {
        return format!("There are no notes yet: `{file}` does not exist or is empty.");
    }
    format!("The notes of earlier iterations, from `{file}`:\n\n<notes>\n{notes}\n</notes>")
}

/// The inbox, oldest first. The oldest entries are left out if they do not fit, with a note.
pub(super) fn inbox(briefing: &Briefing) -> String {
    let mut room = MAX_INBOX;
    let mut kept: Vec<String> = Vec::new();
    for feedback in briefing.feedback.iter().rev() {
        let source = match feedback.source {
            FeedbackSource::Checks => "The checks",
            FeedbackSource::Verifier => "The verifier, which rejected the claim of completion",
            FeedbackSource::Watchdog => "The watchdog",
            FeedbackSource::Council => "The council",
            FeedbackSource::Idle => "nightwright (progress)",
            FeedbackSource::Marker => "nightwright, about your completion marker",
            FeedbackSource::Human => "The person you work for",
        };
        let text = cut_middle(feedback.text.trim(), MAX_INBOX);
        let text = match feedback.source {
            // The person that the agent works for may write and name anything.
            FeedbackSource::Human => text.into_owned(),
            FeedbackSource::Checks
            | FeedbackSource::Verifier
            | FeedbackSource::Watchdog
            | FeedbackSource::Council
            | FeedbackSource::Idle
            | FeedbackSource::Marker => mark_quoted(&text),
        };
        let entry = format!("**{source}:**\n\n{text}");
        // The newest entry is always included.
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
        kept.push(format!("[{left_out} older {entries} omitted]"));
    }
    kept.reverse();
    kept.join("\n\n")
}

/// The maximum length of a quoted conflict in characters.
const MAX_CONFLICT: usize = 300;

/// The earlier decisions of the run that are not in the inbox, oldest first; `None` if there are
/// none. The oldest are left out if they do not fit, with a note.
pub(super) fn decided(decisions: &[Decision], feedback: &[Feedback]) -> Option<String> {
    let in_inbox = |decided: &&Decision| {
        let entries = [decided_now(decided), decided_before(decided)];
        feedback.iter().any(|feedback| {
            feedback.source == FeedbackSource::Council && entries.contains(&feedback.text)
        })
    };
    let listed: Vec<_> = decisions.iter().filter(|decided| !in_inbox(decided)).collect();
    let mut room = MAX_DECISIONS;
    let mut kept: Vec<String> = Vec::new();
    for Decision { iteration, conflict, decision } in listed.iter().rev().take(MAX_DECISION_COUNT) {
        let conflict = quoted(conflict, MAX_CONFLICT);
        let decision = block(&cut_middle(decision.trim(), MAX_DECISIONS / 2));
        let entry = format!("**In iteration {iteration}:** \"{conflict}\"\n\n{decision}");
        match room.checked_sub(entry.len()) {
            Some(left) => room = left,
            None => break,
        }
        kept.push(entry);
    }
    let left_out = listed.len() - kept.len();
    if left_out > 0 {
        let decisions = if left_out == 1 { "decision" } else { "decisions" };
        kept.push(format!("[{left_out} older {decisions} omitted]"));
    }
    kept.reverse();
    let intro = "These conflicts came up before. The decisions still apply:";
    (!kept.is_empty()).then(|| format!("{intro}\n\n{}", kept.join("\n\n")))
}

/// The feedback about a conflict that was decided for the next iteration.
pub(crate) fn decided_now(decided: &Decision) -> String {
    let what = unresolved(&decided.conflict);
    format!("{what} This decision applies from now on:\n\n{}", block(&decided.decision))
}

/// The feedback about a conflict that had been decided before.
pub(crate) fn decided_before(decided: &Decision) -> String {
    let Decision { iteration, conflict, decision } = decided;
    let (what, decision) = (unresolved(conflict), block(decision));
    format!(
        "{what} The council already decided this in iteration {iteration}, and the decision still \
         applies:\n\n{decision}"
    )
}

/// The reason why a completion marker was not counted. Its first line is one sentence.
pub(crate) fn marker_ignored(because: &str) -> String {
    format!(
        "Your completion marker did not count because {because}.\n\
         If the whole goal is reached, put the marker alone on the last line of your last message. \
         If any work remains, do not write it."
    )
}

/// The feedback about a conflict that was not decided.
pub(crate) fn undecided(conflict: &str) -> String {
    format!("{} {BY_ITSELF}", unresolved(conflict))
}

const BY_ITSELF: &str = "The council did not decide the conflict. Decide it yourself, note the \
    decision and the reason, and continue. Constraints come before objectives. Then: legal > \
    security > user intent > data integrity > quality > speed > UX.";

fn unresolved(conflict: &str) -> String {
    format!("The last iteration could not resolve: \"{}\".", quoted(conflict, MAX_CONFLICT))
}

/// The request to write principles, if there are none and they are wanted: in the first iteration,
/// and later only to fix an invalid file. A wrap-up starts nothing new.
pub(super) fn principles_wanted(
    settings: &Settings,
    briefing: &Briefing,
    collected: &CollectedPrinciples,
) -> Option<String> {
    let file = settings.files.principles.as_deref()?;
    if settings.principles.is_some() || briefing.kind != IterationKind::Work {
        return None;
    }
    match collected {
        CollectedPrinciples::Missing if briefing.iteration == Iteration(1) => {
            Some(principles::request(file, None))
        }
        CollectedPrinciples::Unusable(wrong) => Some(principles::request(file, Some(wrong))),
        CollectedPrinciples::Missing | CollectedPrinciples::Written => None,
    }
}

/// The maximum length of an iteration's summary in the next prompt, in characters.
const MAX_SUMMARY: usize = 1_000;
const MAX_PHASE: usize = 200;

pub(super) fn this_iteration(briefing: &Briefing) -> String {
    let mut text = format!("This is iteration {}.", briefing.iteration);
    if let Some(previous) = &briefing.previous {
        if !previous.summary.trim().is_empty() {
            let summary = quoted(&previous.summary, MAX_SUMMARY);
            writes(&mut text, format_args!(" The previous iteration reported: “{summary}”"));
        }
        if let Some(TaskProgress { completed, total }) = previous.progress {
            writes(&mut text, format_args!(" {completed} of {total} items were done."));
        }
        if let Some(phase) = previous.phase.as_deref().filter(|phase| !phase.trim().is_empty()) {
            writes(&mut text, format_args!(" It was in the phase {}.", quoted(phase, MAX_PHASE)));
        }
    }
    remaining_limits(&mut text, &briefing.remaining);
    if briefing.cut_off {
        text.push_str(
            "\n\nAn earlier attempt at this iteration ended early, and its work may be incomplete. \
             Look at what it left in the project first, then finish or revert it.",
        );
    }
    match briefing.kind {
        IterationKind::Work if briefing.last => text.push_str(
            "\n\nThis is the last iteration. Finish the most valuable remaining work, and leave \
             the project in a state that another agent can continue from.",
        ),
        IterationKind::Work | IterationKind::VerifyOnly => {}
        IterationKind::WrapUp => text.push_str(
            "\n\nThis run has nearly reached its limits. Start nothing new. Finish what is \
             nearly finished, and revert what is not. Bring the project into a working state, and \
             write down where it stands.",
        ),
    }
    text
}

fn remaining_limits(text: &mut String, left: &RemainingLimits) {
    let RemainingLimits { iterations, cost, duration, tokens } = left;
    let parts: Vec<String> = [
        iterations.map(|count| match count {
            1 => "1 iteration (this one)".to_owned(),
            count => format!("{count} iterations, including this one"),
        }),
        cost.map(Usd::exact),
        duration.map(human),
        tokens.map(|tokens| format!("{tokens} tokens")),
    ]
    .into_iter()
    .flatten()
    .collect();
    if !parts.is_empty() {
        writes(text, format_args!("\n\nRemaining for the whole run: {}.", parts.join("; ")));
    }
}
