//! The words and phrases that the documentation and the comments avoid, as data.

use super::prose::Word;

/// A phrase to avoid, and the wording to use instead.
#[derive(Debug, Clone, Copy)]
pub(super) struct Phrase {
    /// Words separated by spaces; alternatives of one word are separated by `|`.
    pub(super) words: &'static str,
    pub(super) instead: &'static str,
    /// A word that makes the phrase right if it comes directly before it.
    unless_after: Option<&'static str>,
}

const fn avoid(words: &'static str, instead: &'static str) -> Phrase {
    Phrase { words, instead, unless_after: None }
}

/// All forms of a verb are listed, because matching knows no grammar.
pub(super) const AVOIDED: [Phrase; 38] = [
    avoid("we|us|our|ours|ourselves", "name the program or the reader"),
    avoid("nobody|somebody|anybody", "name the person or the program"),
    avoid("whoever|whomever", "name the person or the program"),
    avoid("people who", "name the reader: `you`, `users`"),
    avoid("mend|mends|mended|mending", "fix"),
    avoid("is|are|was|were|be|been|being|isn't|aren't told", "is notified, receives"),
    avoid("go|goes|going|gone|went on", "continue, happen"),
    avoid("is|are|was|were over", "has ended, exceeds"),
    avoid("so many", "a number, `up to N`"),
    avoid("so much", "an amount, `up to N`"),
    avoid("so long", "a duration, `as long as`"),
    avoid("of its|their|his|her|your|my own", "its own, separate"),
    avoid("beside", "besides, next to, compared with"),
    avoid("put|puts|putting away", "archive"),
    avoid("hear|hears|heard|hearing|unheard", "detect, receive"),
    avoid("what is found", "name the thing: `each finding`"),
    avoid("ending|endings", "outcome, the end of").unless_after("line"),
    avoid("farewell|farewells", "name the thing"),
    avoid("impatience|impatient", "name the limit or the timeout"),
    avoid("doom|dooms|doomed", "fail"),
    avoid("perish|perishes|perished", "exit, fail"),
    avoid("vigil|vigils", "name the thing"),
    avoid("put|puts to the proof", "verify"),
    avoid("worked|work|works off", "implement"),
    avoid("want of", "not enough, without"),
    avoid("process is gone", "the run crashed, the process has exited"),
    avoid("torn off", "incomplete"),
    avoid("deaf", "ignores signals"),
    avoid("believe|believes|believed", "accept"),
    avoid("plain file|files", "regular file"),
    avoid("todo|to-do list", "checklist"),
    avoid("time at work", "active time"),
    avoid("speaks|speak against", "name the objection"),
    avoid("is|are there already", "already exists"),
    avoid("exists|exist already", "already exists"),
    avoid("orderly outcome", "an outcome that is not an error"),
    avoid("conflict|conflicts of principles", "a conflict between principles"),
    avoid("left-over", "leftover"),
];

/// Phrases that only messages and prompts avoid.
pub(super) const AVOIDED_IN_MESSAGES: [Phrase; 28] = [
    avoid("has|have to be", "must be"),
    avoid("take|takes|took|taken|taking back", "revert, undo"),
    avoid("not believed", "not accepted"),
    avoid("is|are|was|were|be|been not there", "does not exist"),
    avoid("is|are|was|were|be|been left out|alone", "skipped, omitted, unchanged"),
    avoid("could|can be got", "get: name who gets it"),
    avoid("one a line", "one per line"),
    avoid("was|were|be|been ended", "killed, stopped"),
    avoid("in good time", "before: name the limit"),
    avoid("last words", "final message"),
    avoid("is|are|was|were gone", "crashed, exited, does not exist"),
    avoid("no money|time", "not enough budget, the limit is reached"),
    avoid("is|are|was|were not waited", "is still running"),
    avoid("someone|no one", "name the person or the agent"),
    avoid("try|tries|trying|tried again", "retry"),
    avoid("took|takes|take too long", "timed out"),
    avoid("used up its", "reached its limit"),
    avoid("left out here", "omitted"),
    avoid("white space", "whitespace"),
    avoid("comes twice", "duplicate entry"),
    avoid("leads nowhere", "is a broken link"),
    avoid("fall asleep", "sleep, suspend"),
    avoid("the operator|supervisor", "you, nightwright"),
    avoid("at work", "active"),
    avoid("a text|texts", "a string, text"),
    avoid("no gain", "no improvement"),
    avoid("stay|stays there", "are left in place"),
    avoid("one sitting|session", "one iteration"),
];

/// Words that begin a clause which stands for a thing.
const RELATIVES: [&str; 9] =
    ["what", "whatever", "who", "whoever", "whom", "whomever", "wherever", "whichever", "where"];

/// Verbs that follow such a clause if it is the subject of the sentence.
const COPULAS: [&str; 6] = ["is", "are", "was", "were", "has", "comes"];

/// A sentence with fewer words is a heading or a fragment.
const SHORTEST_CLAUSE: usize = 5;

/// Whether a sentence begins with a clause instead of naming the thing. Questions may.
pub(super) fn begins_with_relative(sentence: &[Word]) -> bool {
    let Some((first, rest)) = sentence.split_first() else { return false };
    let ends = |mark| sentence.last().is_some_and(|word| word.text.ends_with(mark));
    let has_predicate = rest.iter().any(|word| COPULAS.contains(&word.normal().as_str()))
        || rest.iter().any(|word| word.text.ends_with(':'));
    RELATIVES.contains(&first.normal().as_str())
        && !ends('?')
        && (ends('.') || (sentence.len() >= SHORTEST_CLAUSE && has_predicate))
}

/// Returns the indices at which a noun is negated instead of its verb: "this is not a table".
pub(super) fn negated_nouns(sentence: &[Word]) -> impl Iterator<Item = usize> {
    let is = |word: &Word, all: &[&str]| all.contains(&word.normal().as_str());
    let negated = move |(index, window): (usize, &[Word])| {
        let before = index.checked_sub(1).and_then(|before| sentence.get(before));
        let found = is(&window[0], &["is", "are", "was", "were"])
            && window[0].joins_next()
            && is(&window[1], &["no"])
            && window[1].joins_next()
            && !is(&window[2], &["longer", "more", "less", "different", "such"])
            && !before.is_some_and(|word| is(word, &["there", "if"]));
        found.then_some(index)
    };
    sentence.windows(3).enumerate().filter_map(negated)
}

/// Whether a comment begins with a clause instead of naming the thing. Questions may.
pub(super) fn begins_with_clause(sentence: &[Word]) -> bool {
    let is_question = sentence.last().is_some_and(|word| word.text.ends_with('?'));
    let first = sentence.first().map(Word::normal).unwrap_or_default();
    !is_question && ["what", "whatever", "who", "whoever", "whom", "of"].contains(&first.as_str())
}

/// Returns the indices of passive errors with a cause: "`x` cannot be read: permission denied".
pub(super) fn passive_errors(sentence: &[Word]) -> impl Iterator<Item = usize> {
    let passive = |(index, window): (usize, &[Word])| {
        let is_passive = ["cannot", "could"].contains(&window[0].normal().as_str())
            && window[..window.len() - 1].iter().all(Word::joins_next)
            && window[window.len() - 2].normal() == "be"
            && window[window.len() - 1].text.ends_with(':');
        is_passive.then_some(index)
    };
    let short = sentence.windows(3).enumerate().filter_map(passive);
    short.chain(sentence.windows(4).enumerate().filter_map(passive))
}

/// Returns the indices of amounts per unit with an article: "$0.25 an iteration". A placeholder is
/// no word, so "{} an iteration, ..." begins with the article.
pub(super) fn amounts_with_article(sentence: &[Word]) -> impl Iterator<Item = usize> {
    const UNITS: [&str; 6] = ["iteration", "attempt", "call", "verdict", "run", "line"];
    let has_unit = |window: &[Word]| {
        ["a", "an"].contains(&window[0].text.as_str())
            && UNITS.contains(&window[1].normal().as_str())
    };
    let is_amount =
        |word: &Word| word.text.ends_with('}') || word.text.ends_with(|c: char| c.is_ascii_digit());
    let amount = move |(index, window): (usize, &[Word])| {
        let follows = match index.checked_sub(1) {
            Some(before) => is_amount(&sentence[before]),
            None => window[1].text.ends_with(','),
        };
        (follows && has_unit(window)).then_some(index)
    };
    sentence.windows(2).enumerate().filter_map(amount)
}

impl Phrase {
    const fn unless_after(self, word: &'static str) -> Self {
        Self { unless_after: Some(word), ..self }
    }

    /// Returns the indices in `words` at which the phrase begins.
    pub(super) fn positions<'a>(&self, words: &'a [Word]) -> impl Iterator<Item = usize> + 'a {
        let parts: Vec<Vec<&'static str>> =
            self.words.split(' ').map(|part| part.split('|').collect()).collect();
        let last = parts.len() - 1;
        let indices = words.windows(parts.len()).enumerate();
        let matching = indices.filter(move |(_, window)| {
            window.iter().zip(&parts).enumerate().all(|(index, (word, alternatives))| {
                let is_joined = index == last || word.joins_next();
                is_joined && alternatives.contains(&word.normal().as_str())
            })
        });
        let excuse = self.unless_after;
        let is_excused = move |index: &usize| {
            let before = index.checked_sub(1).map(|before| words[before].normal());
            before.is_some_and(|before| Some(before.as_str()) == excuse)
        };
        matching.map(|(index, _)| index).filter(move |index| !is_excused(index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::language::prose;

    fn found(text: &str) -> Vec<&'static str> {
        let paragraphs = prose::paragraphs(text.lines().zip(1..).map(|(text, line)| (line, text)));
        let words: Vec<Word> = paragraphs.into_iter().flat_map(|p| p.words).collect();
        AVOIDED
            .iter()
            .filter(|phrase| phrase.positions(&words).next().is_some())
            .map(|phrase| phrase.words.split(['|', ' ']).next().unwrap_or_default())
            .collect()
    }

    #[test]
    fn phrases_match_in_any_case_and_form() {
        assert_eq!(found("Nobody waits."), ["nobody"]);
        assert_eq!(found("The run WENT on; it was Over."), ["go", "is"]);
        assert_eq!(found("the run goes\non."), ["go"]);
        assert_eq!(found("It's a task of its own, and (we) know it"), ["we", "of"]);
        assert_eq!(found("nobody's task, and we've seen it"), ["we", "nobody"]);
    }

    #[test]
    fn parts_of_words_code_and_acronyms_do_not_match() {
        assert_eq!(found("US dollars, the web, besides, recommend, us-east"), [""; 0]);
        assert_eq!(found("`nobody` and `goes on`"), [""; 0]);
    }

    #[test]
    fn line_endings_are_the_only_ones() {
        assert_eq!(found("The ending of a run, and other endings"), ["ending"]);
        assert_eq!(
            found("A line ending is normalized. Line\nendings differ; pending, bending"),
            [""; 0]
        );
    }

    fn sentence(text: &str) -> Vec<Word> {
        prose::paragraphs([(1, text)]).remove(0).words
    }

    #[test]
    fn a_sentence_that_begins_with_a_clause_is_found() {
        for text in [
            "What is left of the limits is too little.",
            "what is secret cannot be found out: `x`",
            "Whatever is not in the instructions, it will not know",
            "Where programs are looked for.",
            "what proves it was weakened: `x`",
        ] {
            assert!(begins_with_relative(&sentence(text)), "{text}");
        }
        for text in [
            "What changed",
            "What the agent says it did",
            "a blocker",
            "Is it what it is?",
            "What is it?",
            "The check that is run",
        ] {
            assert!(!begins_with_relative(&sentence(text)), "{text}");
        }
    }

    #[test]
    fn a_negated_noun_is_found_and_an_absence_is_not() {
        for (text, count) in [
            ("this is no table at all", 1),
            ("lines that are no messages of it", 1),
            ("there is no table in it", 0),
            ("it is no longer there", 0),
            ("the answer is no, and final", 0),
        ] {
            assert_eq!(negated_nouns(&sentence(text)).count(), count, "{text}");
        }
    }

    #[test]
    fn a_comment_that_begins_with_a_clause_is_found() {
        for text in ["What the agent says.", "Of each kind, the last run.", "Who asked for it"] {
            assert!(begins_with_clause(&sentence(text)), "{text}");
        }
        for text in ["What is it?", "Where to find the file.", "The agent, of course."] {
            assert!(!begins_with_clause(&sentence(text)), "{text}");
        }
    }

    #[test]
    fn a_passive_error_needs_a_cause() {
        for (text, count) in [
            ("`x` cannot be read: {error}", 1),
            ("the journal could not be written: {why}", 1),
            ("unknown: its journal cannot be read to its end", 0),
            ("cannot read `x`: {error}", 0),
        ] {
            assert_eq!(passive_errors(&sentence(text)).count(), count, "{text}");
        }
    }

    #[test]
    fn an_amount_needs_per() {
        for (text, count) in [
            ("6m 01 an iteration", 1),
            ("{} an iteration, mean of the last five", 1),
            ("$0.25 per verdict, an iteration", 0),
            ("iteration {number} a line", 1),
            ("2 attempts in a run", 0),
            ("an iteration that fails is retried", 0),
        ] {
            assert_eq!(amounts_with_article(&sentence(text)).count(), count, "{text}");
        }
    }

    #[test]
    fn a_phrase_does_not_match_across_punctuation() {
        assert_eq!(found("If it goes, on the other hand"), [""; 0]);
        assert_eq!(found("whether it is. Told twice"), [""; 0]);
    }

    #[test]
    fn every_phrase_is_lower_case_and_has_a_replacement() {
        for Phrase { words, instead, .. } in AVOIDED {
            assert_eq!(words, words.to_lowercase());
            assert!(!instead.is_empty(), "{words}");
        }
    }
}
