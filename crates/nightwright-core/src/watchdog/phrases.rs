//! Phrases of the watchdog, as data. The lists are described in `phrases.toml`.

use std::collections::HashSet;
use std::sync::{LazyLock, OnceLock};

use regex::{RegexSet, RegexSetBuilder};
use serde::Deserialize;

/// All lists of phrases.
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
    pub(super) offered: PhraseSet,
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
    pub(super) skipped: PhraseSet,
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
    pub(super) fn lists(&self) -> [&PhraseSet; 24] {
        let Self { closing, asking, giving_up, conflict, common: _ } = self;
        let Asking { questions, pressing, rhetorical, reported, reported_speech, asides, .. } =
            asking;
        let Asking { requests, offered, offers, continues, courtesies, finished, .. } = asking;
        let Asking { decided, waits, .. } = asking;
        let GivingUp { phrases, skipped, excused, resolved, in_vain } = giving_up;
        [
            closing,
            questions,
            pressing,
            rhetorical,
            reported,
            reported_speech,
            asides,
            requests,
            offered,
            offers,
            continues,
            courtesies,
            finished,
            decided,
            waits,
            phrases,
            skipped,
            excused,
            resolved,
            in_vain,
            &conflict.spoken_of,
            &conflict.denied,
            &conflict.phrases,
            &conflict.excused,
        ]
    }

    /// Whether a word is too common to identify a problem.
    pub(super) fn is_common(&self, word: &str) -> bool {
        self.common.contains(word)
    }
}

/// A list of patterns, any of which may match. They are in lower case, and are matched against
/// lower-case text.
#[derive(Debug, Deserialize)]
#[serde(from = "Vec<String>")]
pub(super) struct PhraseSet {
    sources: Vec<String>,
    /// Compiled on first use: most messages need only a few of the lists.
    set: OnceLock<RegexSet>,
}

/// The replacements for character classes. Full Unicode classes are large: compiling them would
/// take longer than matching all messages of a run.
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

    /// Compiles the set of all patterns.
    pub(super) fn compile(&self) -> Result<RegexSet, regex::Error> {
        let plain = |source: &String| {
            CLASSES
                .iter()
                .fold(source.clone(), |source, (class, plain)| source.replace(class, plain))
        };
        RegexSetBuilder::new(self.sources.iter().map(plain)).build()
    }
}

/// The embedded phrases, parsed on first use.
pub(super) static PHRASES: LazyLock<Phrases> = LazyLock::new(|| {
    toml::from_str(include_str!("phrases.toml")).expect("a test reads the embedded phrases")
});
