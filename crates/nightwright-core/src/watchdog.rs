//! Watchdog: detects in an agent's last words that it asks a question, gives up, or reports a
//! conflict between principles.
//!
//! ```text
//! message -> own sentences at its end -> without polite closings -> the last six
//!   asks      a question that nothing answers after it, or a request
//!             unless it offers more after everything is done, or then decides by itself
//!   gives up  unless the same sentence or one soon after it reports a good outcome; work that is
//!             skipped counts whatever follows
//! ```
//!
//! If the message also says that everything is done, only an urgent question or giving up counts.
//!
//! A false finding costs a message, and a missed one may cost a night. But an answer to a question
//! that was not asked confuses the agent, so ambiguous messages are ignored.

use crate::evidence::{self, prose};
use crate::principles::CONFLICT;
use crate::stream::news::{WatchdogFinding, WatchdogSignal};
pub(crate) use key::key;
use phrases::PHRASES;
use sentences::{BlockKind, Sentence};

mod key;
mod phrases;
mod sentences;

/// The number of last sentences that can ask or give up.
const LAST: usize = 6;

/// The number of sentences after a surrender that can retract it.
const RETRACTION_WINDOW: usize = 2;

/// The maximum length of a finding in characters.
const MAX_TEXT: usize = 300;

/// The maximum length of the context in characters. At most as many follow the finding.
const MAX_CONTEXT: usize = 1500;
const MAX_BEHIND: usize = 500;

/// The maximum length of a conflict in bytes.
const MAX_CONFLICT: usize = 1 << 10;

/// A paragraph with fewer further words only names a conflict and does not describe it.
const MIN_CONFLICT_WORDS: usize = 3;

/// Another claim in the same message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AlsoClaims {
    Nothing,
    /// The message says that everything is done.
    Done,
}

/// Returns the question or surrender at the end of a turn, if any.
pub fn analyze(words: &str) -> Option<WatchdogFinding> {
    let words = words.trim_end();
    analyze_trimmed(words, &prose::own_lines(words), AlsoClaims::Nothing)
}

/// Like [`analyze`], for a trimmed message whose own lines are known.
pub(crate) fn analyze_trimmed(
    message: &str,
    own: &[String],
    beside: AlsoClaims,
) -> Option<WatchdogFinding> {
    let mut sentences = sentences::last(message, own);
    sentences.retain(|sentence| {
        let own = &sentence.own;
        !PHRASES.closing.are_in(own) || PHRASES.asking.offered.are_in(own)
    });
    let before = sentences.len().saturating_sub(LAST);
    let asked = match beside {
        AlsoClaims::Nothing => asking(&sentences, before),
        AlsoClaims::Done => question(&sentences, before, beside),
    };
    let (signal, from, end) = if let Some((from, end)) = asked {
        (WatchdogSignal::Asking, from, end)
    } else {
        let at = giving_up(&sentences, before)?;
        (WatchdogSignal::GivingUp, at, at + 1)
    };
    let quoted = sentences[from..end].iter().map(|sentence| &*sentence.written);
    let text = quoted.collect::<Vec<_>>().join(" ");
    Some(WatchdogFinding {
        signal,
        key: key(signal, &sentences[from].written),
        context: context(message, &sentences[end - 1].written, &text),
        text: shown(&text),
    })
}

/// The end of a message around the words that end with the sentence `last`; empty if they are the
/// whole message.
fn context(message: &str, last: &str, words: &str) -> String {
    // A sentence that spans several lines is not found: then the end of the message is used.
    let after = message.rfind(last).map_or(message.len(), |at| at + last.len());
    let behind = message[after..].char_indices().nth(MAX_BEHIND);
    let end = behind.map_or(message.len(), |(at, _)| after + at);
    let from = message[..end].char_indices().rev().nth(MAX_CONTEXT - 1).map_or(0, |(at, _)| at);
    let around = message[from..end].trim();
    let is_all = around.split_whitespace().eq(words.split_whitespace());
    if is_all { String::new() } else { around.to_owned() }
}

/// A conflict between principles that the agent says it cannot resolve: the paragraph that names it.
/// `message` is the whole message, `own` its lines that count.
pub(crate) fn conflict(message: &str, own: &[String]) -> Option<String> {
    let text = named(message, own).or_else(|| implicit_conflict(message, own))?;
    Some(text[..text.floor_char_boundary(MAX_CONFLICT)].to_owned())
}

/// Whether a conflict is marked with the agreed word, in any case.
pub(crate) fn is_marked(conflict: &str) -> bool {
    conflict.to_ascii_uppercase().contains(CONFLICT)
}

/// The range of sentences that ask.
fn asking(sentences: &[Sentence], before: usize) -> Option<(usize, usize)> {
    question(sentences, before, AlsoClaims::Nothing).or_else(|| {
        (before..sentences.len())
            .find(|at| {
                let sentence = &sentences[*at];
                let asks = PHRASES.asking.requests.are_in(&sentence.own)
                    && !is_extra(sentences, *at, AlsoClaims::Nothing);
                (asks || PHRASES.asking.offered.are_in(&sentence.own))
                    && !PHRASES.asking.reported.are_in(&sentence.own)
                    && !decides(&sentences[at + 1..])
            })
            .map(|at| (at, at + 1))
    })
}

/// A question at the end, or followed only by its options and asides.
fn question(sentences: &[Sentence], before: usize, beside: AlsoClaims) -> Option<(usize, usize)> {
    let asking = &PHRASES.asking;
    let last = (before..sentences.len()).rev().find(|at| sentences[*at].is_question())?;
    let mut first = last;
    while first > before && sentences[first - 1].is_question() {
        first -= 1;
    }
    let after = &sentences[last + 1..];
    let asked = first..=last;
    let presses = asked.clone().any(|at| asking.pressing.are_in(&sentences[at].own));
    let counts = |sentence: &Sentence| {
        asking.questions.are_in(&sentence.own)
            && !asking.rhetorical.are_in(&sentence.own)
            && (presses || sentence.place != BlockKind::Heading)
    };
    let is_reported = asking.reported.are_in(&sentences[first].own)
        || first > 0
            && sentences[first - 1].own.ends_with(':')
            && asking.reported.are_in(&sentences[first - 1].own);
    let is_aside = |sentence: &Sentence| {
        sentence.place == BlockKind::Item
            || sentence.is_mute()
            || asking.asides.are_in(&sentence.own)
    };
    let stands = after.is_empty() || presses && after.iter().all(is_aside);
    let asks = stands
        && asked.clone().any(|at| counts(&sentences[at]))
        && !asking.reported_speech.are_in(&sentences[first].own)
        && (presses || !is_reported && beside == AlsoClaims::Nothing)
        && !asked.clone().all(|at| is_extra(sentences, at, beside))
        && !decides(after);
    asks.then(|| {
        let key = asked.clone().find(|at| counts(&sentences[*at])).unwrap_or(first);
        (key, sentences.len())
    })
}

/// Whether a sentence only offers more work after everything is done.
fn is_extra(sentences: &[Sentence], at: usize, beside: AlsoClaims) -> bool {
    let asking = &PHRASES.asking;
    let own = &sentences[at].own;
    if beside == AlsoClaims::Done && asking.courtesies.are_in(own) {
        return true;
    }
    asking.offers.are_in(own)
        && !asking.continues.are_in(own)
        && (beside == AlsoClaims::Done
            || sentences[..at].iter().any(|sentence| asking.finished.are_in(&sentence.own)))
}

/// Whether the agent has decided by itself, and waits for no answer.
fn decides(sentences: &[Sentence]) -> bool {
    sentences.iter().any(|sentence| {
        PHRASES.asking.decided.are_in(&sentence.own) && !PHRASES.asking.waits.are_in(&sentence.own)
    })
}

/// The sentence that gives up.
fn giving_up(sentences: &[Sentence], before: usize) -> Option<usize> {
    let lists = &PHRASES.giving_up;
    (before..sentences.len()).find(|at| {
        let sentence = &sentences[*at];
        let soon = sentences.iter().skip(*at).take(1 + RETRACTION_WINDOW);
        let story: Vec<&str> = soon.map(|sentence| &*sentence.own).collect();
        let is_resolved =
            || story.iter().any(|own| lists.resolved.are_in(own) && !lists.in_vain.are_in(own));
        let gives_up = lists.phrases.are_in(&sentence.own) && !is_resolved();
        (gives_up || lists.skipped.are_in(&sentence.own))
            && !sentence.is_question()
            && !lists.excused.are_in(&sentence.own)
            // The council decides it.
            && !describes_conflict(&sentence.own)
    })
}

/// The paragraph that contains the marker, as the agent wrote it.
fn named(message: &str, own: &[String]) -> Option<String> {
    let at = (0..own.len()).find(|at| names_conflict(&own[*at], &own[at + 1..]))?;
    let written: Vec<&str> = message.lines().collect();
    // The own lines may be only the last ones.
    let skipped = written.len().saturating_sub(own.len());
    let part = |from: usize, end: usize| {
        let lines = written.get(skipped + from..skipped + end).unwrap_or_default();
        lines.iter().flat_map(|line| line.split_whitespace()).collect::<Vec<_>>().join(" ")
    };
    let is_blank = |line: &String| line.is_empty();
    let from = own[..at].iter().rposition(is_blank).map_or(0, |blank| blank + 1);
    let end = own[at..].iter().position(is_blank).map_or(own.len(), |blank| at + blank);
    let text = part(from, end);
    if text.split_whitespace().count() > MIN_CONFLICT_WORDS {
        return Some(text);
    }
    let next = own[end..].iter().position(|line| !line.is_empty()).map(|line| end + line);
    let Some(next) = next else {
        let before = own[..from].iter().rposition(|line| !line.is_empty());
        let first = before.and_then(|last| own[..last].iter().rposition(is_blank));
        let from = first.map_or(0, |blank| blank + 1);
        return Some(part(if before.is_some() { from } else { at }, end));
    };
    let over = own[next..].iter().position(is_blank).map_or(own.len(), |blank| next + blank);
    Some(format!("{text} {}", part(next, over)))
}

/// Whether this line states the marker, in any case. Neither the rest of the line nor the text
/// below a marker that is alone may say that there is no conflict.
fn names_conflict(line: &str, below: &[String]) -> bool {
    let loud = line.replace('*', "").to_ascii_uppercase();
    let Some((before, after)) = loud.split_once(CONFLICT) else {
        return false;
    };
    // At the beginning of a line the marker counts, whatever explanation follows.
    let is_begun = |c: char| c.is_alphanumeric() || evidence::is_mark(c) || c == prose::BLANK;
    let is_explained = |c: char| matches!(c, ':' | '-' | '—' | '–' | '(' | ',' | '.' | '!');
    let after = after.trim_start();
    let leads = !before.contains(is_begun) && (after.is_empty() || after.starts_with(is_explained));
    // In brackets the marker refers to the sentence, even if that has a negation.
    let is_set_apart = before.trim_end().ends_with('(') && after.starts_with(')');
    let says = leads || is_set_apart || evidence::states(std::slice::from_ref(&loud), CONFLICT);
    let lines = [after].into_iter().chain(below.iter().map(String::as_str));
    let mut lines = lines.map(|line| line.replace(['*', '_'], " ").replace('’', "'"));
    let has_words = |text: &String| text.contains(char::is_alphanumeric);
    let is_denied = PHRASES.conflict.denied.are_in(&after.replace('’', "'"))
        || lines.find(has_words).is_some_and(|line| {
            let is_mark = |c: char| !c.is_alphanumeric();
            PHRASES.conflict.denied.are_in(line.trim_start_matches(is_mark))
        });
    says && !is_denied && !PHRASES.conflict.spoken_of.are_in(&loud)
}

/// Whether a text describes a conflict between principles, without the marker.
fn describes_conflict(text: &str) -> bool {
    let lists = &PHRASES.conflict;
    lists.phrases.are_in(text) && !lists.excused.are_in(text)
}

/// A conflict that is described without the marker.
fn implicit_conflict(message: &str, own: &[String]) -> Option<String> {
    let sentences = sentences::last(message, own);
    let found = sentences.iter().enumerate().find(|(at, sentence)| {
        let together = sentences.get(at + 1).filter(|next| next.block == sentence.block);
        let pair = together.map(|next| format!("{} {}", sentence.own, next.own));
        describes_conflict(&sentence.own) || pair.is_some_and(|pair| describes_conflict(&pair))
    });
    let block = found?.1.block;
    let paragraph = sentences.iter().filter(|sentence| sentence.block == block);
    Some(paragraph.map(|sentence| &*sentence.written).collect::<Vec<_>>().join(" "))
}

/// The text on one line for display, truncated if it is long.
pub(crate) fn shown(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text,
    }
}

#[cfg(test)]
mod tests;
