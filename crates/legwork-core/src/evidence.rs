//! What the agent's last words amount to.
//!
//! A marker counts only where the agent itself says it: not in code, not in a quotation, not as a
//! part of another word. Words never decide anything alone; they make a claim, and the gate has
//! the last word.

use crate::agent::dialect::Speech;
use crate::agent::report::Words;
use crate::settings::Completion;

mod done;
mod prose;

/// The marker by which an agent promises that all is done.
pub const PROMISE: &str = "<promise>COMPLETE</promise>";

/// The end phrase counts within so many lines from the end, and every claim where all of the
/// output is one text.
const LAST_LINES: usize = 5;

/// What people are shown of a message, in characters.
const SUMMARY_MAX: usize = 200;

/// The findings in a final message.
///
/// Where all of the output is one text, the prompt may be repeated in it: there only the last lines
/// claim anything.
pub fn words(message: &str, completion: &Completion, speech: Speech) -> Words {
    let mut lines = prose::own_lines(message);
    // Code at the very end still is what the message ends with, so only blank lines are dropped.
    let end = message.trim_end().lines().count();
    lines.truncate(end);
    let tail = &lines[lines.len().saturating_sub(LAST_LINES)..];
    let claims = match speech {
        Speech::Messages => &lines[..],
        Speech::OneText => tail,
    };
    Words {
        promise: claims.iter().any(|line| line.trim() == PROMISE),
        signal: gives(claims, &completion.signal),
        end_phrase: completion.end_phrase.as_deref().is_some_and(|phrase| gives(tail, phrase)),
        says_done: done::says_done(claims),
        summary: summary(message),
        ..Words::default()
    }
}

/// The first words of a message, on one line, for people.
pub fn summary(message: &str) -> String {
    let mut words = String::new();
    for word in message.split_whitespace() {
        if words.chars().count() + word.chars().count() >= SUMMARY_MAX {
            let room = SUMMARY_MAX.saturating_sub(words.chars().count() + 2);
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

/// Whether the phrase is said in one of the lines, not merely spoken of in quotation marks.
fn gives(lines: &[String], phrase: &str) -> bool {
    let phrase = phrase.trim();
    !phrase.is_empty()
        && lines.iter().any(|line| {
            line.match_indices(phrase)
                .any(|(at, _)| stands_alone(line, at, phrase) && !is_quoted(line, at, phrase))
        })
}

/// Whether what is found there is not a part of a longer word.
fn stands_alone(text: &str, at: usize, phrase: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let before = text[..at].chars().next_back();
    let after = text[at + phrase.len()..].chars().next();
    let cut_before = phrase.starts_with(is_word) && before.is_some_and(is_word);
    let cut_after = phrase.ends_with(is_word) && after.is_some_and(is_word);
    !cut_before && !cut_after
}

fn is_quoted(text: &str, at: usize, phrase: &str) -> bool {
    let before = text[..at].chars().next_back();
    let after = text[at + phrase.len()..].chars().next();
    matches!(
        (before, after),
        (Some('"'), Some('"'))
            | (Some('\''), Some('\''))
            | (Some('“'), Some('”'))
            | (Some('‘'), Some('’'))
            | (Some('«'), Some('»'))
    )
}

#[cfg(test)]
mod tests;
