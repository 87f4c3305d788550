//! Announced markers: whether a line above a marker announces it as an example, as in "Once the
//! tests pass I will say:". A condition of the work does not: "All tests pass when run with
//! --release:".

use super::{plain, words};
use crate::evidence::{done, prose};

/// Conditions that make the marker below a line an example, if that line ends with a colon and is
/// about writing the marker.
const CONDITIONS: &[&str] = &["once", "when", "whenever", "until", "unless", "would", "instead of"];

/// A line that ends with one of these and a colon has the marker as its object.
const TAKES_OBJECT: &[&str] = &[
    "be",
    "is",
    "was",
    "with",
    "as",
    "like",
    "see",
    "say",
    "says",
    "said",
    "read",
    "reads",
    "write",
    "writes",
    "print",
    "prints",
    "output",
    "emit",
    "send",
    "add",
    "append",
    "this",
    "these",
    "following",
    "follows",
];

/// Words for the marker itself and for the instructions.
const NAMES_MARKER: &[&str] = &[
    "marker",
    "promise",
    "completion signal",
    "the following",
    "this line",
    "last line",
    "final line",
    "this message",
    "last message",
    "final message",
    "the prompt",
    "the instructions",
];

/// Verbs of saying or writing.
const SAYING: &[&str] = &[
    "say", "write", "written", "print", "printed", "output", "emit", "emitted", "send", "sent",
    "reply", "respond", "declare", "announce", "claim", "conclude",
];

/// Words right before one of `SAYING` that make it a statement or an instruction.
const SPEAKERS: &[&str] = &[
    "i", "i'll", "i'd", "we", "we'll", "we'd", "you", "you'll", "he", "she", "it", "they", "agent",
    "to", "be", "will", "would", "shall", "should", "can", "could", "may", "must", "then",
    "please", "only", "finally", "not", "never", "and", "or",
];

/// The word by which a sentence that ends with a colon announces an example.
pub(super) fn by(sentence: &str) -> Option<&'static str> {
    const NEXT: &str = "next iteration";
    let sentence = plain(prose::after_list_markers(sentence));
    if done::has(&sentence, NEXT) {
        return Some(NEXT);
    }
    let condition = CONDITIONS.iter().find(|word| done::has(&sentence, word))?;
    (speaks_of_marker(&sentence) || is_only_condition(&sentence)).then_some(*condition)
}

/// Whether a sentence is about writing the marker, and not about the work.
fn speaks_of_marker(sentence: &str) -> bool {
    let clauses = sentence.split([',', ';', ':', '(', ')', '–', '—']);
    let orders = clauses.clone().filter_map(|clause| words(clause).next());
    let all: Vec<&str> = words(sentence).collect();
    NAMES_MARKER.iter().any(|name| done::has(sentence, name))
        || all.last().is_some_and(|last| TAKES_OBJECT.contains(last))
        || orders.into_iter().any(|first| SAYING.contains(&first))
        || (1..all.len()).any(|at| {
            let (speaker, verb) = (all[at - 1], all[at]);
            // "when you write to it" is a condition of the work.
            let is_condition = at > 1 && CONDITIONS.contains(&all[at - 2]);
            SAYING.contains(&verb)
                && (SPEAKERS.contains(&speaker) || speaker.ends_with("n't"))
                && !is_condition
        })
}

/// Whether the sentence is only a condition, such as "Once the tests pass:", and says nothing about
/// the work.
fn is_only_condition(sentence: &str) -> bool {
    let mut words = words(sentence).skip_while(|word| ["only", "but", "and", "for"].contains(word));
    words.next().is_some_and(|first| CONDITIONS.contains(&first)) && !sentence.contains(',')
}
