//! What is listened for, as data. The lists are described in `phrases.toml`.

use std::collections::HashSet;
use std::sync::{LazyLock, OnceLock};

use regex::{RegexSet, RegexSetBuilder};
use serde::Deserialize;

/// All of the lists.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Phrases {
    pub(super) closing: PhraseSet,
    pub(super) asking: Asking,
    pub(super) giving_up: GivingUp,
    pub(super) conflict: Conflict,
    common: HashSet<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asking {
    pub(super) questions: PhraseSet,
    pub(super) pressing: PhraseSet,
    pub(super) rhetorical: PhraseSet,
    pub(super) reported: PhraseSet,
    pub(super) reported_speech: PhraseSet,
    pub(super) asides: PhraseSet,
    pub(super) requests: PhraseSet,
    pub(super) offers: PhraseSet,
    pub(super) continues: PhraseSet,
    pub(super) courtesies: PhraseSet,
    pub(super) finished: PhraseSet,
    pub(super) decided: PhraseSet,
    pub(super) waits: PhraseSet,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GivingUp {
    pub(super) phrases: PhraseSet,
    pub(super) excused: PhraseSet,
    pub(super) resolved: PhraseSet,
    pub(super) in_vain: PhraseSet,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Conflict {
    pub(super) spoken_of: PhraseSet,
    pub(super) denied: PhraseSet,
    pub(super) phrases: PhraseSet,
    pub(super) excused: PhraseSet,
}

impl Phrases {
    /// Every list of patterns.
    #[cfg(test)]
    pub(super) fn lists(&self) -> [&PhraseSet; 22] {
        let Self { closing, asking, giving_up, conflict, common: _ } = self;
        let Asking { questions, pressing, rhetorical, reported, reported_speech, asides, .. } =
            asking;
        let Asking { requests, offers, continues, courtesies, finished, decided, waits, .. } =
            asking;
        let GivingUp { phrases, excused, resolved, in_vain } = giving_up;
        [
            closing,
            questions,
            pressing,
            rhetorical,
            reported,
            reported_speech,
            asides,
            requests,
            offers,
            continues,
            courtesies,
            finished,
            decided,
            waits,
            phrases,
            excused,
            resolved,
            in_vain,
            &conflict.spoken_of,
            &conflict.denied,
            &conflict.phrases,
            &conflict.excused,
        ]
    }

    /// Whether a word says nothing about what a problem is about.
    pub(super) fn is_common(&self, word: &str) -> bool {
        self.common.contains(word)
    }
}

/// Patterns of which one has to be found. They are written in small letters, and what is searched is
/// put into small letters first.
#[derive(Debug, Deserialize)]
#[serde(from = "Vec<String>")]
pub(super) struct PhraseSet {
    sources: Vec<String>,
    /// Made when it is first needed: most messages need only a few of the lists.
    set: OnceLock<RegexSet>,
}

/// What the classes stand for. Those of all scripts of the world are large: they would cost more time
/// at the first word of every run than all the words that follow.
const CLASSES: [(&str, &str); 5] = [
    (r"\b", r"(?-u:\b)"),
    (r"\w", "[a-z0-9_]"),
    (r"\W", "[^a-z0-9_]"),
    (r"\d", "[0-9]"),
    (r"\s", "[ \t]"),
];

impl From<Vec<String>> for PhraseSet {
    fn from(sources: Vec<String>) -> Self {
        Self { sources, set: OnceLock::new() }
    }
}

impl PhraseSet {
    pub(super) fn are_in(&self, text: &str) -> bool {
        let set = self.set.get_or_init(|| self.compile().expect("a test compiles every list"));
        set.is_match(&text.to_lowercase())
    }

    #[cfg(test)]
    pub(super) fn sources(&self) -> &[String] {
        &self.sources
    }

    /// The set of all patterns.
    pub(super) fn compile(&self) -> Result<RegexSet, regex::Error> {
        let plain = |source: &String| {
            CLASSES
                .iter()
                .fold(source.clone(), |source, (class, plain)| source.replace(class, plain))
        };
        RegexSetBuilder::new(self.sources.iter().map(plain)).build()
    }
}

/// What is listened for.
pub(super) static PHRASES: LazyLock<Phrases> = LazyLock::new(|| {
    toml::from_str(include_str!("phrases.toml")).expect("a test reads the embedded phrases")
});
