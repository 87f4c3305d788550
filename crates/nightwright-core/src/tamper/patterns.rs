//! What is looked for, as data. The formats are described at the top of `languages.toml` and
//! `checks.toml`.

use std::fmt;
use std::ops::Deref;
use std::sync::{LazyLock, OnceLock};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use regex::{Regex, RegexBuilder};
use serde::Deserialize;

/// A language and its test frameworks.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Language {
    extensions: Vec<String>,
    tests: Globs,
    inline: bool,
    pub(super) comments: Vec<String>,
    pub(super) blocks: Vec<[String; 2]>,
    pub(super) strings: Vec<[String; 2]>,
    pub(super) long: Vec<String>,
    pub(super) skip: Vec<String>,
    pub(super) pattern_literals: bool,
    pub(super) body: Body,
    pub(super) above: Vec<String>,
    pub(super) case: Vec<Pattern>,
    pub(super) case_behind: Vec<Behind>,
    pub(super) off: Vec<Pattern>,
    pub(super) off_said: Vec<Pattern>,
    pub(super) off_begin: Vec<Pattern>,
    pub(super) off_end: Vec<Pattern>,
    pub(super) off_file: Vec<Pattern>,
    pub(super) off_noted: Vec<Pattern>,
    pub(super) only: Vec<Pattern>,
    pub(super) only_begin: Vec<Pattern>,
    pub(super) only_end: Vec<Pattern>,
    pub(super) assertion: Vec<Pattern>,
    pub(super) trivial: Vec<Pattern>,
    pub(super) tests_in: Vec<Pattern>,
    pub(super) row: Vec<Pattern>,
    pub(super) rows: Vec<Pattern>,
    pub(super) part: Vec<Pattern>,
    pub(super) part_roots: Globs,
    pub(super) part_tests: Vec<Pattern>,
    pub(super) lint_off: Vec<Pattern>,
}

/// A test whose name stands in the call behind another one.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Behind {
    pub(super) call: Pattern,
    pub(super) name: Pattern,
}

/// Where a test ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Body {
    #[default]
    Braces,
    Call,
    Indent,
}

/// A kind of file that decides what the checks do.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Check {
    pub(super) files: Globs,
    pub(super) what: String,
    pub(super) parts: Parts,
    pub(super) keys: Option<Pattern>,
    pub(super) end: Option<Pattern>,
    pub(super) comments: Option<String>,
    pub(super) language: Option<String>,
    pub(super) added: Option<Pattern>,
    pub(super) ordinary: Option<Pattern>,
    pub(super) existing: bool,
    pub(super) placeholder: Option<Pattern>,
    pub(super) higher: Option<Pattern>,
    pub(super) levels: Vec<String>,
}

/// What the parts of such a file are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Parts {
    #[default]
    Whole,
    Lines,
    Blocks,
    Braces,
    Json,
    Toml,
}

/// A pattern that is compiled when it is first needed: most languages occur in no project.
#[derive(Deserialize)]
#[serde(from = "String")]
pub(super) struct Pattern {
    source: String,
    compiled: OnceLock<Regex>,
}

impl From<String> for Pattern {
    fn from(source: String) -> Self {
        Self { source, compiled: OnceLock::new() }
    }
}

impl Deref for Pattern {
    type Target = Regex;

    fn deref(&self) -> &Regex {
        self.compiled.get_or_init(|| {
            RegexBuilder::new(&self.source)
                .multi_line(true)
                .build()
                .expect("a test compiles every embedded pattern")
        })
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.source.fmt(f)
    }
}

/// Globs for whole paths, compiled when they are first needed.
#[derive(Debug, Default, Deserialize)]
#[serde(from = "Vec<String>")]
pub(super) struct Globs {
    sources: Vec<String>,
    compiled: OnceLock<GlobSet>,
}

impl From<Vec<String>> for Globs {
    fn from(sources: Vec<String>) -> Self {
        Self { sources, compiled: OnceLock::new() }
    }
}

impl Globs {
    /// Whether one of them stands for this path.
    pub(super) fn is_match(&self, path: &str) -> bool {
        let globs = self.compiled.get_or_init(|| {
            let mut set = GlobSetBuilder::new();
            for glob in &self.sources {
                let glob = GlobBuilder::new(glob).literal_separator(true).build();
                set.add(glob.expect("a test compiles every embedded glob"));
            }
            set.build().expect("a test compiles every embedded glob")
        });
        globs.is_match(path)
    }
}

/// All of it.
#[derive(Debug)]
pub(super) struct Patterns {
    pub(super) languages: Vec<Language>,
    pub(super) checks: Vec<Check>,
}

/// What is looked for.
pub(super) static PATTERNS: LazyLock<Patterns> = LazyLock::new(|| {
    let languages: Languages = toml::from_str(include_str!("languages.toml"))
        .expect("the embedded languages are parsed by a test");
    let checks: Checks = toml::from_str(include_str!("checks.toml"))
        .expect("the embedded checks are parsed by a test");
    Patterns { languages: languages.language, checks: checks.check }
});

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Languages {
    language: Vec<Language>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Checks {
    check: Vec<Check>,
}

/// The role of a file in its language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Test code as a whole.
    Tests,
    /// Tests may stand in it.
    Mixed,
    /// No tests are looked for in it.
    Code,
}

impl Patterns {
    /// The language of a file by its name, and its role there.
    pub(super) fn language(&self, path: &str) -> Option<(&Language, Role)> {
        let (_, extension) = path.rsplit_once('.')?;
        let language = self.extension(extension)?;
        let role = match (language.tests.is_match(path), language.inline) {
            (true, _) => Role::Tests,
            (false, true) => Role::Mixed,
            (false, false) => Role::Code,
        };
        Some((language, role))
    }

    /// The language whose files end in this.
    pub(super) fn extension(&self, extension: &str) -> Option<&Language> {
        self.languages.iter().find(|one| one.extensions.iter().any(|e| e == extension))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_patterns_are_whole() {
        for language in &PATTERNS.languages {
            let name = &language.extensions;
            assert!(!name.is_empty() && !language.assertion.is_empty(), "{name:?}");
            let names = language.case.iter().chain(language.case_behind.iter().map(|b| &b.name));
            for case in names {
                assert!(case.capture_names().flatten().next().is_some(), "no name: {case:?}");
            }
            language.tests.is_match("");
            language.part_roots.is_match("");
        }
        for check in &PATTERNS.checks {
            let needs_keys = check.parts != Parts::Whole;
            assert_eq!(check.keys.is_some(), needs_keys, "{}", check.what);
            assert_eq!(check.end.is_some(), check.parts == Parts::Blocks, "{}", check.what);
            let needs_language = matches!(check.parts, Parts::Json | Parts::Braces);
            assert!(!needs_language || check.language.is_some(), "{}", check.what);
            if let Some(extension) = &check.language {
                assert!(PATTERNS.extension(extension).is_some(), "{extension}");
            }
            check.files.is_match("");
        }
    }
}
