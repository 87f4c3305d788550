//! Completion marker: whether a message claims completion with it.
//!
//! ```text
//! alone on a line          counts, whatever its decoration: bold, code span, heading, list item,
//!                          full stop, emoji
//! at the end of a sentence counts on the last line of the message, unless the sentence has a
//!                          negation, a condition or a future
//! anywhere else            does not count: in a code block, a quotation, a comment, mid-sentence
//! a retraction follows     does not count, wherever the marker is
//! ```
//!
//! Every occurrence that does not count has a reason, because the agent that wrote it would
//! otherwise never learn why the run continues.

mod announced;

use super::prose::{self, BLANK, LineKind, MarkdownLine};
use super::{LAST_LINES, PROMISE, done, is_quoted, stands_alone};
use crate::stream::dialect::TextShape;

/// The meaning of the marker in a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Marker {
    Absent,
    Counts,
    Ignored { because: String },
}

impl Marker {
    pub(super) fn ignored(self) -> Option<String> {
        match self {
            Self::Ignored { because } => Some(because),
            Self::Absent | Self::Counts => None,
        }
    }
}

/// Words before a marker in its sentence that make it a mention: negations, conditions, futures.
const MENTIONS: &[&str] = &[
    "not",
    "'t",
    "never",
    "cannot",
    "yet",
    "almost",
    "nearly",
    "partially",
    "if",
    "once",
    "when",
    "whenever",
    "until",
    "till",
    "unless",
    "as soon as",
    "assuming",
    "pending",
    "instead of",
    "rather than",
    "will",
    "'ll",
    "would",
    "'d",
    "should",
    "shall",
    "could",
    "might",
    "may",
    "going to",
    "next iteration",
    "next session",
    "previous iteration",
    "todo",
];

/// Words that make a marker a mention only right before it: "no item is open" claims, "no X" does
/// not.
const NEGATES_NEXT: &[&str] = &[
    "no", "without", "nor", "neither", "withhold", "omit", "skip", "said", "claimed", "must",
    "please",
];

/// The number of words that `NEGATES_NEXT` reaches.
const NEXT_WORDS: usize = 3;

/// Phrases that contain one of the words above without its meaning.
const HARMLESS: &[&str] = &["once more", "once again", "at once", "as before", "not only"];

/// Beginnings of a sentence that instruct the reader to write the marker.
const INSTRUCTS: &[&str] =
    &["say", "print", "output", "emit", "write", "append", "put", "add", "reply", "respond", "end"];

/// A sentence after the marker that begins with one of these retracts it.
const RETRACTIONS: &[&str] = &[
    "but",
    "however",
    "except",
    "although",
    "though",
    "unfortunately",
    "that said",
    "wait",
    "actually",
    "correction",
    "scratch that",
    "ignore",
    "never mind",
    "disregard",
];

/// Names of checks that can fail, as opposed to properties of the program.
const PROOFS: &[&str] = &[
    "test",
    "tests",
    "check",
    "checks",
    "build",
    "lint",
    "linter",
    "ci",
    "suite",
    "case",
    "cases",
    "clippy",
    "compilation",
];

const FAILS: &[&str] =
    &["fail", "fails", "failing", "failed", "broken", "breaks", "red", "does not compile"];

/// A sentence with one of these describes failures that are fixed or never happened.
const RESOLVED_FAILURES: &[&str] = &[
    "0 fail",
    "0 tests fail",
    "zero",
    "no fail",
    "no test",
    "no tests",
    "none",
    "nothing",
    "no longer",
    "never",
    "previously",
    "used to",
    "was failing",
    "were failing",
    "had failed",
    "that failed",
    "which failed",
    "now pass",
    "now passes",
    "i fixed",
    "is fixed",
    "are fixed",
    "was fixed",
    "were fixed",
    "been fixed",
    "without",
];

/// Phrases that may follow finished as well as unfinished work.
const EITHER_WAY: &[&str] = &["next step", "next steps", "next up"];

/// Symbols that contradict a marker on their line.
const DOUBTS: &[char] = &['❌', '✗', '✘', '✖', '🚫', '⛔', '🚧', '⏳', '⌛', '⚠', '❓', '❔', '🔄'];

/// Tags that only change how the text looks.
const TAGS: &[&str] = &["b", "strong", "i", "em", "code", "p", "center", "br", "u", "mark", "big"];

/// The maximum number of lines above a marker that belong to its sentence.
const WRAPPED: usize = 3;

/// Reads the marker in a message, if any. If all output is one text, it may repeat the prompt: then
/// only the last lines count.
pub(super) fn read(message: &str, speech: TextShape) -> Marker {
    let message = message.trim_end();
    if memchr::memmem::find(message.as_bytes(), PROMISE.as_bytes()).is_none() {
        return if is_misspelt(message) {
            ignored(format!("it is not exactly `{PROMISE}`"))
        } else {
            Marker::Absent
        };
    }
    let lines = prose::lines(message);
    let first = match speech {
        TextShape::Messages => 0,
        TextShape::OneText => lines.len().saturating_sub(LAST_LINES),
    };
    let mut last_reason = None;
    for at in (first..lines.len()).rev() {
        if !lines[at].written.contains(PROMISE) {
            continue;
        }
        match ignored_at(&lines, at) {
            None => {
                return match retraction(&after(&lines, at)) {
                    Some(words) => ignored(format!("\"{words}\" after it retracts it")),
                    None => Marker::Counts,
                };
            }
            Some(because) => last_reason = last_reason.or(Some(because)),
        }
    }
    last_reason.map_or(Marker::Absent, ignored)
}

/// Whether the text says that something is still wrong or open.
pub(crate) fn retracts(text: &str) -> bool {
    let lines = prose::own_lines(text);
    retraction(&done::flowing(&lines)).is_some()
}

fn ignored(because: String) -> Marker {
    Marker::Ignored { because }
}

/// Whether the message contains a marker in another case or with spaces, which is not valid.
fn is_misspelt(message: &str) -> bool {
    let lower = message.to_lowercase();
    let Some((_, rest)) = lower.rsplit_once("<promise>") else { return false };
    rest.split_once("</promise>").is_some_and(|(inside, _)| inside.trim() == "complete")
}

/// The reason why the marker on this line does not count; `None` if it counts.
fn ignored_at(lines: &[MarkdownLine<'_>], at: usize) -> Option<String> {
    let line = &lines[at];
    let because = match line.kind {
        LineKind::Own => return ignored_in(lines, at),
        LineKind::Fenced => "it is in a code block",
        LineKind::Indented => "its line is indented like a code block",
        LineKind::Quoted => "it is in a quotation",
        LineKind::Commented => "it is in a comment",
    };
    Some(because.to_owned())
}

/// Like [`ignored_at`], for a line of the agent's own words.
fn ignored_in(lines: &[MarkdownLine<'_>], at: usize) -> Option<String> {
    let line = &lines[at];
    let begin = line.written.rfind(PROMISE)?;
    let (before, after) = (&line.written[..begin], &line.written[begin + PROMISE.len()..]);
    if is_in_longer_code(line, begin) {
        return Some("it is inside a longer code span".to_owned());
    }
    if is_quoted(near_end(before), near_start(after)) {
        return Some("it is in quotation marks".to_owned());
    }
    if let Some(doubt) = doubt(before, after) {
        return Some(doubt.to_owned());
    }
    if is_decoration(&before.replace(PROMISE, "")) && is_decoration(after) {
        return announced(lines, at).map(|word| spoken_of(&word));
    }
    if at + 1 < lines.len() {
        return Some(
            "other text is on its line, which is not the last line of the message".to_owned(),
        );
    }
    if !ends_sentence(after) {
        return Some("its sentence continues after it".to_owned());
    }
    mention(&sentence_before(lines, at, before)).map(|word| spoken_of(&word))
}

fn spoken_of(word: &str) -> String {
    format!("its sentence has \"{word}\", so it mentions the marker and claims nothing")
}

/// Whether the marker is part of a code span that contains more than the marker.
fn is_in_longer_code(line: &MarkdownLine<'_>, begin: usize) -> bool {
    let chars = line.written[..begin].chars().count();
    let is_code = line.own.chars().nth(chars) == Some(BLANK);
    let before = line.written[..begin].trim_end();
    let after = line.written[begin + PROMISE.len()..].trim_start();
    is_code && !(before.ends_with('`') && after.starts_with('`'))
}

/// The contradiction in the symbols around the marker, if any.
fn doubt(before: &str, after: &str) -> Option<&'static str> {
    let near = near_end(before);
    if before.trim_end().ends_with("~~") || near.matches("~~").count() % 2 == 1 {
        Some("it is struck out")
    } else if prose::after_list_markers(before).starts_with("[ ]") {
        Some("it follows an open checkbox")
    } else if near.contains(DOUBTS) || near_start(after).contains(DOUBTS) {
        Some("a symbol on its line says that the work is not done")
    } else if after.trim_start_matches(['*', '_', '`', ' ']).starts_with('?') {
        Some("it ends a question")
    } else {
        None
    }
}

/// Whether the text only changes how the text next to it looks.
fn is_decoration(text: &str) -> bool {
    let mut text = prose::after_list_markers(text).to_owned();
    for tag in TAGS {
        for form in [format!("<{tag}>"), format!("</{tag}>"), format!("<{tag}/>")] {
            text = text.replace(&form, "");
        }
    }
    let text = text.trim_start();
    let text = text.strip_prefix("[x]").or_else(|| text.strip_prefix("[X]")).unwrap_or(text);
    text.chars().all(is_ornament)
}

fn is_ornament(c: char) -> bool {
    c.is_whitespace()
        || matches!(c, '*' | '_' | '`' | '#' | '+' | '-' | '=' | '.' | '!' | ',' | ';' | ':')
        || matches!(c, '(' | ')' | '•' | '·' | '–' | '—' | '…' | '。' | '！')
        || matches!(c, '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}' | '\u{fe0f}')
        || matches!(c, '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
}

/// Whether the sentence ends here: the line ends, or another sentence begins.
fn ends_sentence(after: &str) -> bool {
    let rest = after.trim_start_matches(|c| is_ornament(c) && !is_full_stop(c));
    let stopped = rest.trim_start_matches(is_full_stop);
    let behind = stopped.trim_start_matches(['*', '_', '`', ')']);
    rest.is_empty()
        || (stopped.len() < rest.len() && (behind.is_empty() || behind.starts_with(' ')))
}

fn is_full_stop(c: char) -> bool {
    matches!(c, '.' | '!' | '。' | '！')
}

/// The text before the marker in its sentence, which may begin on an earlier line.
fn sentence_before(lines: &[MarkdownLine<'_>], at: usize, before: &str) -> String {
    let mut words = before.to_owned();
    for above in (at.saturating_sub(WRAPPED)..at).rev() {
        let below = lines[above + 1].written;
        let line = &lines[above];
        if line.own.is_empty() || prose::begins_block(below) || line.written.starts_with('#') {
            break;
        }
        words = format!("{} {words}", line.own);
    }
    last_sentence(&words).to_owned()
}

fn last_sentence(text: &str) -> &str {
    let ends = ['.', '!', '?'].iter().filter_map(|stop| {
        let text = text.trim_end();
        text.rmatch_indices(*stop)
            .find(|(at, _)| {
                text[at + 1..].starts_with([' ', '*', '_', ')']) || at + 1 == text.len()
            })
            .map(|(at, _)| at + 1)
    });
    &text[ends.max().unwrap_or(0)..]
}

/// The word before a marker that makes it a mention.
fn mention(sentence: &str) -> Option<String> {
    let sentence = plain(sentence);
    let open = done::OPEN.iter().copied();
    let word = MENTIONS.iter().copied().chain(open).find(|word| done::has(&sentence, word));
    let words: Vec<&str> = words(&sentence).collect();
    let next = &words[words.len().saturating_sub(NEXT_WORDS)..];
    word.or_else(|| next.iter().copied().find(|word| NEGATES_NEXT.contains(word)))
        .or_else(|| words.first().copied().filter(|word| INSTRUCTS.contains(word)))
        .map(|word| if word == "'t" { "n't".to_owned() } else { word.to_owned() })
}

/// Finds the word that makes a marker on its own line a mention. It is in a sentence wrapped around
/// the marker, or in a condition that announces an example.
fn announced(lines: &[MarkdownLine<'_>], at: usize) -> Option<String> {
    if let Some(below) = lines.get(at + 1) {
        let below = plain(&below.own);
        let continues = ["when", "once", "until", "if", "unless", "as soon as"];
        if let Some(word) =
            continues.iter().find(|word| below.starts_with(*word) && stands_alone(&below, 0, word))
            && lines[at + 1].own.starts_with(char::is_lowercase)
        {
            return Some((*word).to_owned());
        }
    }
    let above = (0..at).rev().take(2).find(|above| !lines[*above].own.is_empty())?;
    let text = lines[above].own.trim_end().trim_end_matches(['*', '_']);
    if text.ends_with(':') {
        return announced::by(last_sentence(text)).map(str::to_owned);
    }
    let wrapped = above + 1 == at
        && text.ends_with(|c: char| c.is_alphanumeric() || c == ',')
        && !prose::begins_block(lines[at].written)
        && !lines[above].written.trim_start().starts_with('#');
    wrapped.then(|| mention(&sentence_before(lines, at, "")))?
}

fn words(text: &str) -> impl Iterator<Item = &str> + Clone {
    text.split_whitespace()
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
        .filter(|word| !word.is_empty())
}

/// The agent's own words after the marker on this line.
fn after(lines: &[MarkdownLine<'_>], at: usize) -> String {
    let line = lines[at].written;
    let rest = line.rfind(PROMISE).map_or("", |begin| &line[begin + PROMISE.len()..]);
    let below = lines[at + 1..].iter().map(|line| line.own.clone());
    done::flowing(&std::iter::once(rest.to_owned()).chain(below).collect::<Vec<_>>())
}

/// The sentence that retracts a claim, if any.
fn retraction(text: &str) -> Option<String> {
    let found = sentences(text).find(|sentence| takes_back(&plain(sentence)))?;
    let words: String = found.chars().filter(|c| *c != BLANK).take(MAX_SHOWN).collect();
    Some(words.trim().trim_end_matches('.').to_owned())
}

/// The maximum length of a retraction shown to the agent, in characters.
const MAX_SHOWN: usize = 80;

fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(['\n', '.', '!', '?', ';'])
        .map(|sentence| sentence.trim().trim_start_matches(is_ornament))
        .filter(|sentence| sentence.chars().any(char::is_alphanumeric))
}

fn takes_back(sentence: &str) -> bool {
    let begins = |word: &&str| sentence.starts_with(*word) && stands_alone(sentence, 0, word);
    let gone = || {
        RESOLVED_FAILURES
            .iter()
            .any(|phrase| done::has(sentence, phrase) || is_zero(sentence, phrase))
    };
    let fails = || {
        FAILS.iter().any(|word| done::has(sentence, word))
            && (PROOFS.iter().any(|word| done::has(sentence, word)) || counts_failures(sentence))
    };
    let open = || {
        let tells = |phrase: &&&str| !EITHER_WAY.contains(*phrase) && done::has(sentence, phrase);
        done::OPEN.iter().any(|phrase| tells(&phrase))
    };
    RETRACTIONS.iter().any(begins) || ((open() || fails()) && !gone())
}

/// Whether the phrase reports zero failures: "0 fail" begins "0 failed" and "0 failures", but not
/// "10 failed".
fn is_zero(sentence: &str, phrase: &str) -> bool {
    phrase.ends_with("fail")
        && sentence
            .match_indices(phrase)
            .any(|(at, _)| !sentence[..at].ends_with(|c: char| c.is_ascii_digit() || c == '.'))
}

/// Whether the sentence counts failures, as in "2 failed".
fn counts_failures(sentence: &str) -> bool {
    let words: Vec<&str> = sentence.split_whitespace().collect();
    words.windows(2).any(|pair| {
        pair[1].starts_with("fail") && pair[0].parse::<u32>().is_ok_and(|number| number > 0)
    })
}

/// The text in lower case, with one kind of apostrophe, and without harmless phrases.
fn plain(text: &str) -> String {
    let mut text = text.to_lowercase().replace('’', "'");
    for phrase in HARMLESS {
        text = text.replace(phrase, "");
    }
    text
}

/// The length of the text around a phrase that is examined.
const AROUND: usize = super::AROUND;

fn near_end(text: &str) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(AROUND))..]
}

fn near_start(text: &str) -> &str {
    &text[..text.floor_char_boundary(AROUND)]
}

#[cfg(test)]
mod tests;
