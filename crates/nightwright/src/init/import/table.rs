//! The table of other tools: their files and settings, as data. `tools.toml` describes the columns.

use std::sync::LazyLock;

use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolTable {
    tool: Vec<Tool>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tool {
    pub(super) name: String,
    marks: Vec<String>,
    pub(super) folders: Vec<String>,
    #[serde(rename = "file")]
    pub(super) files: Vec<FileRule>,
    pub(super) keys: Vec<KeyRule>,
}

/// How a file is imported.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileRule {
    pub(super) path: String,
    pub(super) to: Option<String>,
    pub(super) plan: Option<String>,
    pub(super) settings: Option<String>,
    pub(super) left: Option<String>,
    pub(super) unless: Option<String>,
    pub(super) mode: Option<String>,
    pub(super) instructions: Option<String>,
    pub(super) note: Option<String>,
}

/// How a setting is imported.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KeyRule {
    key: String,
    pub(super) to: Option<String>,
    #[serde(default)]
    pub(super) suffix: String,
    pub(super) only: Option<Vec<String>>,
    default: Option<String>,
    when: Option<String>,
    pub(super) without: Option<String>,
    pub(super) note: Option<String>,
}

static TABLE: LazyLock<ToolTable> = LazyLock::new(|| {
    toml::from_str(include_str!("tools.toml")).expect("a test reads the embedded table")
});

/// Returns all known tools.
pub(super) fn tools() -> &'static [Tool] {
    &TABLE.tool
}

/// Returns the folders of the tools that left their marks; `exists` looks for a path.
pub(in crate::init) fn folders(exists: impl Fn(&str) -> bool) -> Vec<&'static str> {
    let marked = tools().iter().filter(|tool| !tool.found(&exists).is_empty());
    marked.flat_map(|tool| &tool.folders).map(String::as_str).collect()
}

/// Whether the text of the file at this path is needed.
pub(in crate::init) fn is_read(path: &str) -> bool {
    tools().iter().any(|tool| tool.rule(path).is_some_and(|(rule, _)| rule.left.is_none()))
}

/// Whether everything in this folder has one rule, so that it need not be listed.
pub(in crate::init) fn is_one(folder: &str) -> bool {
    let folder = format!("{folder}/");
    tools().iter().any(|tool| tool.rule(&folder).is_some())
}

impl Tool {
    /// Returns the marks of the tool that exist, as shown to the user.
    pub(super) fn found(&self, exists: impl Fn(&str) -> bool) -> Vec<String> {
        let is_there = |mark: &&String| mark.split(" + ").all(&exists);
        let shown = |mark: &String| format!("`{}`", mark.replace(" + ", "` and `"));
        self.marks.iter().filter(is_there).map(shown).collect()
    }

    /// Returns the first rule for a path, and the part of the path that a `*` stands for.
    pub(super) fn rule<'a>(&self, path: &'a str) -> Option<(&FileRule, &'a str)> {
        self.files.iter().find_map(|rule| Some((rule, fits(&rule.path, path)?)))
    }
}

impl KeyRule {
    /// Whether the rule is about this setting with this value.
    pub(super) fn is_about(&self, key: &str, value: &[String]) -> bool {
        let is_meant = self.when.as_ref().is_none_or(|when| value == std::slice::from_ref(when));
        is_meant && self.key.split(' ').any(|pattern| fits(pattern, key).is_some())
    }

    /// Whether the value is the one that the tool has without a setting.
    pub(super) fn is_default(&self, value: &[String]) -> bool {
        self.default.as_ref().is_some_and(|default| value == std::slice::from_ref(default))
    }
}

/// Returns the part of a path that the first `*` of the pattern stands for, which has no `/`; empty
/// without a `*`. `None` if the path does not fit.
pub(super) fn fits<'a>(pattern: &str, path: &'a str) -> Option<&'a str> {
    let Some((start, end)) = pattern.split_once('*') else {
        return (pattern == path).then_some("");
    };
    let rest = path.strip_prefix(start)?;
    let part = rest.split('/').next().unwrap_or_default();
    let mut lengths = part.char_indices().map(|(at, c)| at + c.len_utf8());
    let length = lengths.find(|length| fits(end, &rest[*length..]).is_some())?;
    Some(&rest[..length])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::config;

    #[test]
    fn a_star_is_a_part_of_a_name() {
        for (pattern, path, part) in [
            ("a", "a", Some("")),
            ("a", "b", None),
            ("plans/*.md", "plans/my plan.md", Some("my plan")),
            ("plans/*.md", "plans/a/b.md", None),
            ("plans/*.md", "plans/.md", None),
            ("w/*/log-*.txt", "w/größe/log-1.txt", Some("größe")),
            ("w/*/", "w/a/", Some("a")),
        ] {
            assert_eq!(fits(pattern, path), part, "{pattern} {path}");
        }
    }

    #[test]
    fn every_rule_says_one_thing_and_names_what_exists() {
        for tool in tools() {
            let mut seen = BTreeSet::new();
            for rule in &tool.files {
                let fates = [&rule.to, &rule.plan, &rule.settings, &rule.left];
                assert_eq!(fates.iter().filter(|fate| fate.is_some()).count(), 1, "{rule:?}");
                assert!(seen.insert(&rule.path), "{rule:?}");
            }
            for rule in &tool.keys {
                if let Some(to) = &rule.to {
                    assert!(config::find(to).is_some(), "{rule:?}");
                }
            }
        }
    }
}
