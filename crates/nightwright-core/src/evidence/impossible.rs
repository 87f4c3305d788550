//! Detects reports of impossibility: whether the final message says that the task contradicts
//! itself or cannot be done as specified. A model judges each such report, so a false one costs a
//! call, and a missed one costs iterations.

use super::identity;
use crate::stream::news::Blocker;

/// The number of lines at the end of a message that are examined.
const LAST_LINES: usize = 12;

/// The maximum length of a report in characters.
const MAX_CHARS: usize = 600;

/// A sentence with one of these phrases reports it.
const IMPOSSIBLE: &[&str] = &[
    "contradict each other",
    "contradict one another",
    "contradicts the other",
    "contradictory requirements",
    "contradictory tests",
    "requirements are contradictory",
    "requirements contradict",
    "tests are contradictory",
    "tests contradict",
    "conflict with each other",
    "cannot both",
    "can't both",
    "can not both",
    "mutually exclusive",
    "mutually incompatible",
    "cannot be satisfied",
    "can't be satisfied",
    "impossible to satisfy",
    "impossible to meet",
    "impossible to fulfil",
    "impossible to fulfill",
    "no implementation can",
    "no solution can",
    "no program can",
    "cannot be done as specified",
    "can't be done as specified",
    "cannot be completed as specified",
    "impossible as specified",
    "impossible as described",
    "not possible as specified",
    "the task is impossible",
    "this task is impossible",
    "the goal is impossible",
    "the task cannot be done",
    "this task cannot be done",
    "the task contradicts itself",
    "the specification contradicts itself",
    "is logically impossible",
    "is mathematically impossible",
];

/// With one of these words, the sentence speaks of something that was settled or imagined.
const SETTLED: &[&str] = &[
    " if ",
    " would ",
    " no longer ",
    " so i ",
    "resolved",
    "fixed",
    "solved",
    " not impossible",
    "do not contradict",
    "don't contradict",
    " never contradict",
    "i chose",
    "i decided",
    "looked impossible",
    "seemed impossible",
    "at first",
];

/// The report in the last of these lines of the agent's own words, as a blocker. `message` is the
/// whole message, which still has the names in code.
pub(super) fn report(message: &str, lines: &[String]) -> Option<Blocker> {
    let last = &lines[lines.len().saturating_sub(LAST_LINES)..];
    let last = last.join("\n");
    let found = sentences(&last).find(|sentence| says_impossible(sentence))?;
    // The sentence, and the rest of its paragraph: the evidence is often in the next sentence.
    let first = found.split_whitespace().next().unwrap_or_default();
    let at = message.rfind(found).or_else(|| {
        let line = lines.iter().position(|line| says_impossible(line))?;
        let own = message.lines().count().saturating_sub(lines.len()) + line;
        let line = message.lines().nth(own)?;
        Some(message.find(line)? + line.find(first).unwrap_or(0))
    });
    let evidence = at.map_or(found, |at| &message[at..]);
    let evidence = evidence.split("\n\n").next().unwrap_or_default();
    let evidence: String = evidence.split_whitespace().collect::<Vec<_>>().join(" ");
    let evidence: String = evidence.chars().take(MAX_CHARS).collect();
    Some(identity::blocker(&format!("{} {evidence}", Blocker::IMPOSSIBLE)))
}

/// The sentences of the text. A full stop inside a file name or a number ends none.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.trim().is_empty() {
            return None;
        }
        let end = rest
            .char_indices()
            .zip(rest.chars().skip(1).map(Some).chain([None]))
            .find(|((_, c), next)| {
                let is_end = next.is_none_or(char::is_whitespace);
                matches!(c, '.' | '!' | '?') && is_end || *c == '\n' && *next == Some('\n')
            })
            .map_or(rest.len(), |((at, c), _)| at + c.len_utf8());
        let (sentence, after) = rest.split_at(end);
        rest = after;
        Some(sentence.trim())
    })
}

fn says_impossible(sentence: &str) -> bool {
    let sentence = format!(" {} ", sentence.to_lowercase().replace('\u{2019}', "'"));
    let sentence = sentence.split_whitespace().collect::<Vec<_>>().join(" ");
    let sentence = format!(" {sentence} ");
    IMPOSSIBLE.iter().any(|phrase| sentence.contains(phrase))
        && !SETTLED.iter().any(|word| sentence.contains(word))
        && !sentence.trim_end().ends_with('?')
}

#[cfg(test)]
mod tests {
    use super::super::prose;
    use super::*;

    fn evidence_in(message: &str) -> Option<String> {
        report(message, &prose::own_lines(message)).and_then(|blocker| blocker.impossible)
    }

    #[test]
    fn a_contradiction_is_reported_with_the_sentence_that_explains_it() {
        for (message, part) in [
            (
                "I looked at both tests. test_a and test_b contradict each other: one wants 1, the \
                 other 2. Neither can be changed.",
                "one wants 1, the other 2. Neither can be changed.",
            ),
            ("These two tests cannot both pass.", "cannot both pass"),
            ("The requirements are mutually exclusive.\n\nI changed nothing.", "mutually"),
            ("This task can\u{2019}t be done as specified: there is no file `a.csv`.", "`a.csv`"),
        ] {
            let text = evidence_in(message).unwrap_or_else(|| panic!("nothing in {message}"));
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn what_was_settled_quoted_or_only_imagined_is_no_report() {
        for message in [
            "The tests contradicted each other at first. All pass now.",
            "The two rules contradict each other, so I followed the newer one.",
            "The requirements contradict each other at first sight, but both can be met.",
            "It would be impossible to satisfy both if the order were fixed.",
            "> the tests contradict each other",
            "Do the tests contradict each other?",
            "Everything is done.",
            "",
        ] {
            assert_eq!(evidence_in(message), None, "{message}");
        }
    }
}
