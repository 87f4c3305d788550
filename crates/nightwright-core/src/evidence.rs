//! Evidence: what the agent's last words and its files say about completion.
//!
//! A marker counts only as the agent's own statement: not in a code block, not in a quotation, not
//! as part of another word. Words alone never decide anything. They make a claim, which the gate
//! accepts or rejects.

use crate::settings::Completion;
use crate::stream::dialect::TextShape;
use crate::stream::news::TextEvidence;
use crate::watchdog::{self, AlsoClaims};
use marker::Marker;
pub(crate) use marker::retracts;

pub(crate) mod blockers;
pub mod checklist;
pub(crate) mod decisions;
mod done;
pub mod identity;
mod impossible;
mod marker;
pub mod plan;
pub(crate) mod prose;
pub mod status;

/// The marker with which an agent claims that everything is done.
pub const PROMISE: &str = "<promise>COMPLETE</promise>";

/// The number of lines from the end within which the end phrase counts, and every claim if all
/// output is one text.
const LAST_LINES: usize = 5;

/// The maximum length of a displayed message in characters.
const MAX_SUMMARY: usize = 200;

/// The findings in a final message.
///
/// If all output is one text, it may repeat the prompt: then only the last lines can claim
/// anything.
pub fn text_evidence(message: &str, completion: &Completion, speech: TextShape) -> TextEvidence {
    // Code at the very end is still the end of the message, so only blank lines are dropped.
    let message = message.trim_end();
    let lines = prose::own_lines(message);
    let marker = marker::read(message, speech);
    let tail = &lines[lines.len().saturating_sub(LAST_LINES)..];
    let claims = match speech {
        TextShape::Messages => &lines[..],
        TextShape::OneText => tail,
    };
    let mut words = TextEvidence {
        promise: marker == Marker::Counts,
        marker_ignored: marker.ignored(),
        signal: states(claims, &completion.signal),
        end_phrase: completion.end_phrase.as_deref().is_some_and(|phrase| states(tail, phrase)),
        states_done: done::says_done(claims),
        blockers: blockers::blockers(message),
        decisions: decisions::decisions(message),
        conflict: watchdog::conflict(message, claims),
        findings: Vec::new(),
        summary: summary(message),
    };
    let says_done = words.promise || words.signal || words.end_phrase || words.states_done;
    if words.blockers.is_empty() && words.conflict.is_none() && !says_done {
        words.blockers.extend(impossible::report(message, claims));
    }
    if !is_handled_elsewhere(&words) {
        let beside = if words.states_done { AlsoClaims::Done } else { AlsoClaims::Nothing };
        words.findings.extend(watchdog::analyze_trimmed(message, &lines, beside));
    }
    words
}

/// Whether a message that asks or gives up is answered in another way: a claim by the gate, a
/// blocker by a person, a conflict by a council. A conflict without the agreed word may be about
/// anything, so its question is answered like any other. Words like "the task is done" are not
/// enough of a claim, because they may be about a part of it.
fn is_handled_elsewhere(words: &TextEvidence) -> bool {
    let claims = words.promise || words.signal || words.end_phrase;
    let marked = words.conflict.as_deref().is_some_and(watchdog::is_marked);
    claims || !words.blockers.is_empty() || marked
}

/// The first words of a message, on one line, for display. The completion marker is left out if
/// there are other words.
pub fn summary(message: &str) -> String {
    let mut words = String::new();
    let only_marker = message.split_whitespace().all(|word| word.contains(PROMISE));
    for word in message.split_whitespace() {
        if word.contains(PROMISE) && !only_marker {
            continue;
        }
        if words.chars().count() + word.chars().count() >= MAX_SUMMARY {
            let room = MAX_SUMMARY.saturating_sub(words.chars().count() + 2);
            if words.is_empty() {
                words.extend(word.chars().take(room));
            }
            words.push('…');
            break;
        }
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(word);
    }
    words
}

/// The number of bytes of a line around a phrase that are examined.
const AROUND: usize = 400;

/// Words next to a phrase, in its sentence, that make it a mention.
const MENTION_WORDS: &[&str] =
    &["not", "'t", "never", "cannot", "without", "yet", "until", "unless", "once", "when", "if"];

/// Whether one of the lines states the phrase, and does not merely mention it.
pub(crate) fn states(lines: &[String], phrase: &str) -> bool {
    let phrase = phrase.trim();
    !phrase.is_empty()
        && lines.iter().any(|line| {
            line.match_indices(phrase).any(|(at, _)| {
                let before = &line[line.ceil_char_boundary(at.saturating_sub(AROUND))..at];
                let end = at + phrase.len();
                let after = &line[end..line.floor_char_boundary(end.saturating_add(AROUND))];
                stands_alone(line, at, phrase)
                    && !is_quoted(before, after)
                    && !is_only_mentioned(before, after)
            })
        })
}

/// Whether the match is not part of a longer word.
fn stands_alone(text: &str, at: usize, phrase: &str) -> bool {
    let is_word = |c: char| (c.is_alphanumeric() || c == '_') && !is_unspaced(c);
    let before = text[..at].chars().next_back();
    let after = text[at + phrase.len()..].chars().next();
    let cut_before = phrase.starts_with(is_word) && before.is_some_and(is_word);
    let cut_after = phrase.ends_with(is_word) && after.is_some_and(is_word);
    !cut_before && !cut_after
}

/// Whether the character belongs to a script that puts no spaces between words.
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}')
}

/// Whether the rest of the sentence makes the phrase a mention: "I cannot say X yet".
fn is_only_mentioned(before: &str, after: &str) -> bool {
    let is_end = |c: char| matches!(c, '.' | '!' | '?' | ';' | ':' | '—' | '–');
    let before = before.rsplit(is_end).next().unwrap_or_default();
    let after = after.split(is_end).next().unwrap_or_default();
    [before, after].iter().any(|side| {
        let side = side.to_lowercase().replace('’', "'");
        let has =
            |word: &&str| side.match_indices(*word).any(|(at, _)| stands_alone(&side, at, word));
        MENTION_WORDS.iter().any(has)
    })
}

/// Opening and closing quotation marks of several languages.
pub(crate) const QUOTES: &[(char, char)] = &[
    ('“', '”'),
    ('„', '“'),
    ('„', '”'),
    ('‘', '’'),
    ('‚', '‘'),
    ('«', '»'),
    ('‹', '›'),
    ('「', '」'),
    ('『', '』'),
    ('《', '》'),
];

/// Quotation marks that look the same on both sides, or are used either way. An apostrophe counts
/// only right next to the quoted text.
pub(crate) fn is_mark(c: char) -> bool {
    matches!(c, '"' | '\'' | '”' | '’' | '»' | '«' | '›' | '‹' | '＂')
        || QUOTES.iter().any(|(open, close)| c == *open || c == *close)
}

/// Whether the text between these two parts of a line is in quotation marks.
fn is_quoted(before: &str, after: &str) -> bool {
    let beside = before.trim_end().ends_with(is_mark) && after.trim_start().starts_with(is_mark);
    let within = QUOTES.iter().any(|(open, close)| {
        let opened = before.rfind(*open);
        opened.is_some() && opened > before.rfind(*close) && after.contains(*close)
    });
    let straight = before.matches('"').count() % 2 == 1 && after.contains('"');
    beside || within || straight
}

#[cfg(test)]
mod tests;
