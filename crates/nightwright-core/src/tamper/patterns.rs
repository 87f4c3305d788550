//! Patterns of the tamper inspection, as data. The formats are described at the top of
//! `languages.toml` and `checks.toml`.

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
    pub(super) case: Vec<LazyRegex>,
    pub(super) case_behind: Vec<ChainedTest>,
    pub(super) off: Vec<LazyRegex>,
    pub(super) off_said: Vec<LazyRegex>,
    pub(super) off_begin: Vec<LazyRegex>,
    pub(super) off_end: Vec<LazyRegex>,
    pub(super) off_file: Vec<LazyRegex>,
    pub(super) off_noted: Vec<LazyRegex>,
    pub(super) only: Vec<LazyRegex>,
    pub(super) only_begin: Vec<LazyRegex>,
    pub(super) only_end: Vec<LazyRegex>,
    pub(super) assertion: Vec<LazyRegex>,
    pub(super) trivial: Vec<LazyRegex>,
    pub(super) tests_in: Vec<LazyRegex>,
    pub(super) row: Vec<LazyRegex>,
    pub(super) rows: Vec<LazyRegex>,
    pub(super) part: Vec<LazyRegex>,
    pub(super) part_roots: Globs,
    pub(super) part_tests: Vec<LazyRegex>,
    pub(super) lint_off: Vec<LazyRegex>,
}

/// A test whose name stands in the call after another one.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ChainedTest {
    pub(super) call: LazyRegex,
    pub(super) name: LazyRegex,
}

/// The end of a test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Body {
    #[default]
    Braces,
    Call,
    Indent,
}

/// A kind of file that defines the checks.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct CheckFileRule {
    pub(super) files: Globs,
    pub(super) what: String,
    pub(super) parts: ConfigSyntax,
    pub(super) keys: Option<LazyRegex>,
    pub(super) end: Option<LazyRegex>,
    pub(super) comments: Option<String>,
    pub(super) language: Option<String>,
    pub(super) added: Option<LazyRegex>,
    pub(super) ordinary: Option<LazyRegex>,
    pub(super) existing: bool,
    pub(super) placeholder: Option<LazyRegex>,
    pub(super) higher: Option<LazyRegex>,
    pub(super) levels: Vec<String>,
}

/// The syntax that divides such a file into parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ConfigSyntax {
    #[default]
    Whole,
    Lines,
    Blocks,
    Braces,
    Json,
    Toml,
}

/// A pattern that is compiled on first use: most languages do not occur in a project.
#[derive(Deserialize)]
#[serde(from = "String")]
pub(super) struct LazyRegex {
    source: String,
    compiled: OnceLock<Regex>,
}

impl From<String> for LazyRegex {
    fn from(source: String) -> Self {
        Self { source, compiled: OnceLock::new() }
    }
}

impl Deref for LazyRegex {
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

impl fmt::Debug for LazyRegex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.source.fmt(f)
    }
}

/// Globs for whole paths, compiled on first use.
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
    /// Whether one of the globs matches this path.
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

/// All embedded languages and check files.
#[derive(Debug)]
pub(super) struct TamperPatterns {
    pub(super) languages: Vec<Language>,
    pub(super) checks: Vec<CheckFileRule>,
}

/// The embedded patterns, parsed on first use.
pub(super) static PATTERNS: LazyLock<TamperPatterns> = LazyLock::new(|| {
    let languages: Languages = toml::from_str(include_str!("languages.toml"))
        .expect("a test parses the embedded languages");
    let checks: Checks =
        toml::from_str(include_str!("checks.toml")).expect("a test parses the embedded checks");
    TamperPatterns { languages: languages.language, checks: checks.check }
});

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Languages {
    language: Vec<Language>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Checks {
    check: Vec<CheckFileRule>,
}

/// The role of a file in its language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileRole {
    /// The whole file is test code.
    Tests,
    /// The file may contain tests.
    Mixed,
    /// The file is not searched for tests.
    Code,
}

impl TamperPatterns {
    /// The language of a file by its name, and its role there.
    pub(super) fn language(&self, path: &str) -> Option<(&Language, FileRole)> {
        let (_, extension) = path.rsplit_once('.')?;
        let language = self.extension(extension)?;
        let role = match (language.tests.is_match(path), language.inline) {
            (true, _) => FileRole::Tests,
            (false, true) => FileRole::Mixed,
            (false, false) => FileRole::Code,
        };
        Some((language, role))
    }

    /// The language with this file extension.
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
            let needs_keys = check.parts != ConfigSyntax::Whole;
            assert_eq!(check.keys.is_some(), needs_keys, "{}", check.what);
            assert_eq!(check.end.is_some(), check.parts == ConfigSyntax::Blocks, "{}", check.what);
            let needs_language = matches!(check.parts, ConfigSyntax::Json | ConfigSyntax::Braces);
            assert!(!needs_language || check.language.is_some(), "{}", check.what);
            if let Some(extension) = &check.language {
                assert!(PATTERNS.extension(extension).is_some(), "{extension}");
            }
            check.files.is_match("");
        }
    }
}
