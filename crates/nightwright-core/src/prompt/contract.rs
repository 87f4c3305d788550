//! The parts of a prompt that hold in every iteration of a run: how to report progress, and how to
//! claim completion.

use super::{section, writes};
use crate::evidence::PROMISE;
use crate::settings::{EvidenceKind, Settings};

/// The rules for unattended work.
pub(super) const ALONE: &str = include_str!("../../modes/contract.md");

/// The instructions for reporting a blocker.
pub(super) const BLOCKERS: &str = include_str!("../../modes/blockers.md");

/// The instructions for reporting decisions.
pub(super) const DECISIONS: &str = include_str!("../../modes/decisions.md");

/// The heading of the task in the prompt.
pub(super) fn task_heading(settings: &Settings) -> &'static str {
    if settings.task.is_some() { "The task" } else { "The goal" }
}

/// The commands that must pass in the end.
pub(super) fn checks(user: &mut String, settings: &Settings) {
    if settings.verify.commands.is_empty() {
        return;
    }
    user.push_str(
        "\nnightwright runs these commands before it accepts a claim; all must pass:\n\n",
    );
    let outside = settings.checks_outside();
    for command in &settings.verify.commands {
        let place = if outside.contains(command) { OUTSIDE } else { "" };
        writes(user, format_args!("- `{command}`{place}\n"));
    }
}

/// The note on a check that the agent cannot run itself.
const OUTSIDE: &str = " (outside your sandbox; it may fail if you run it)";

/// The instructions for the status file, if any.
pub(super) fn status(user: &mut String, settings: &Settings) {
    let Some(file) = &settings.files.status else { return };
    if let Some(words) = &settings.texts.status {
        return section(user, "The status file", words.trim());
    }
    let evidence = &settings.completion.evidence;
    let complete = if evidence.contains(&EvidenceKind::Status) {
        "`complete` is `true` only when the whole task is done and you have verified that. \
         nightwright checks it."
    } else if evidence.is_empty() {
        "`complete` is informational only."
    } else {
        "`complete` is informational only. To claim completion, see below."
    };
    // Without evidence, the file is not read.
    let failed = if evidence.is_empty() {
        ""
    } else {
        "\n- If the task is entirely impossible, write `\"status\": \"failed\"`, and the reason \
         into `summary`. That ends the run."
    };
    let text = format!(
        "Keep `{file}` up to date: write it when you finish something, and before you end. It is \
         one JSON object:\n\n```json\n{EXAMPLE}\n```\n\n\
         - {complete}\n\
         - `progress` counts the pieces of the whole task, not of this iteration.\n\
         - `worked` is `false` if there was nothing for you to do in this iteration.\n\
         - `summary` says in one sentence what you did. `phase` names the part of the task.\n\
         - `blockers` lists the things that only a person can provide, in one sentence each; \
         otherwise it is empty.\
         {failed}"
    );
    section(user, "The status file", &text);
}

/// An example of a status file. The parser is tested with it.
pub const EXAMPLE: &str = r#"{
  "complete": false,
  "progress": { "completed": 3, "total": 7 },
  "worked": true,
  "summary": "The parser reads dates; time zones are not done yet.",
  "phase": "parser",
  "blockers": []
}"#;

/// The instructions for claiming completion, by the kinds of evidence that count in this run.
///
/// Markers are indented, as code, so that an agent that repeats its instructions claims nothing.
pub(super) fn completion(user: &mut String, settings: &Settings) {
    let completion = &settings.completion;
    let mut ways: Vec<String> = Vec::new();
    for kind in &completion.evidence {
        let way = match kind {
            EvidenceKind::Promise => format!(
                "When the whole goal is reached and you have verified that, put this alone on the \
                 last line of your last message:\n\n    {PROMISE}"
            ),
            EvidenceKind::Signal => format!(
                "If you have searched for remaining work and found none, put this on a line of \
                 your last message, not indented, without quotes or backticks:\n\n    {}",
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
                "Check off a checkbox when its item is done and verified, never before.".to_owned()
            }
            EvidenceKind::Planned => format!(
                "When the plan has a checkbox for all remaining work and needs no change, put this \
                 alone on the last line of your last message:\n\n    {PROMISE}"
            ),
            EvidenceKind::NoProgress
            | EvidenceKind::ChecksPass
            | EvidenceKind::Impossible
            | EvidenceKind::Asked => continue,
        };
        if !ways.contains(&way) {
            ways.push(way);
        }
    }
    let text = if ways.is_empty() {
        "Nothing you write ends the run. Do the next useful piece of work.".to_owned()
    } else {
        format!(
            "{}\n\nnightwright verifies every claim; a false claim wastes an iteration. While any \
             work remains, do not claim completion.",
            ways.join("\n\n")
        )
    };
    section(user, "When the goal is reached", &text);
}

/// The instructions for the notes to the next iteration.
pub(super) fn notes_instructions(settings: &Settings) -> Option<String> {
    let place = match (&settings.notes_file, &settings.files.list) {
        (Some(notes), _) => format!("create or update `{notes}`"),
        (None, Some(list)) => format!("update the section `## Notes` at the end of `{list}`"),
        (None, None) => return None,
    };
    Some(format!(
        "Before you end, {place} for the next iteration: what is done, what remains, what to do \
         next, and what was hard to find out. Keep it short and accurate: remove or rewrite outdated \
         text instead of adding to the end. Do not write anything there that belongs in the \
         project itself."
    ))
}
