//! What was found, for people and for programs.

use std::fmt::Write as _;

use nightwright_core::display::display_safe;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::error::Failure;
use crate::paste::from_here;

/// The version of the shape of `--json`.
const FORMAT: u32 = 1;
/// Lists are broken into lines of this width.
const WIDTH: usize = 96;
/// Where the text of a finding begins.
const INDENT: usize = 22;

/// How good or bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Grade {
    /// As it should be.
    Ok,
    /// Runs can start, and somebody should know.
    Warning,
    /// No run can start.
    Problem,
}

/// One thing that was looked at.
#[derive(Clone, Debug, Serialize)]
pub(super) struct DoctorFinding {
    topic: &'static str,
    grade: Grade,
    text: String,
    /// What to do about it.
    hints: Vec<String>,
    /// The same in figures and names, for programs. Which there are depends on the topic.
    facts: Map<String, Value>,
    /// Names that follow the text. They are among the facts.
    #[serde(skip)]
    names: Vec<String>,
}

/// Everything that was looked at.
#[derive(Debug)]
pub(super) struct DoctorReport {
    pub(super) findings: Vec<DoctorFinding>,
}

impl DoctorFinding {
    pub(super) fn new(grade: Grade, topic: &'static str, text: impl Into<String>) -> Self {
        Self {
            topic,
            grade,
            text: text.into(),
            hints: Vec::new(),
            facts: Map::new(),
            names: Vec::new(),
        }
    }

    pub(super) fn ok(topic: &'static str, text: impl Into<String>) -> Self {
        Self::new(Grade::Ok, topic, text)
    }

    pub(super) fn warning(topic: &'static str, text: impl Into<String>) -> Self {
        Self::new(Grade::Warning, topic, text)
    }

    pub(super) fn problem(topic: &'static str, text: impl Into<String>) -> Self {
        Self::new(Grade::Problem, topic, text)
    }

    /// Adds what to do, or where to look.
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(from_here(&hint.into()).into_owned());
        self
    }

    /// Whether one of these says the same.
    pub(super) fn repeats(&self, others: &[Self]) -> bool {
        others.iter().any(|other| other.text == self.text)
    }

    /// Whether all is as it should be.
    pub(super) fn is_ok(&self) -> bool {
        self.grade == Grade::Ok
    }

    /// Adds a fact for programs.
    pub(super) fn fact(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.facts.insert(name.to_owned(), value.into());
        self
    }

    /// Adds names, in their order, for people and for programs.
    pub(super) fn names(mut self, fact: &str, mut names: Vec<String>) -> Self {
        names.sort();
        self.names.clone_from(&names);
        self.fact(fact, names)
    }

    fn show(&self, text: &mut String) {
        let grade = match self.grade {
            Grade::Ok => "ok",
            Grade::Warning => "warning",
            Grade::Problem => "problem",
        };
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(text, "{grade:<8} {:<12} {}", self.topic, display_safe(&self.text));
        for line in lines(&self.names) {
            let _ = writeln!(text, "{:INDENT$}{}", "", display_safe(&line));
        }
        for hint in &self.hints {
            let _ = writeln!(text, "{:INDENT$}hint: {}", "", display_safe(hint));
        }
    }
}

/// Names in lines of a width that can be read.
fn lines(names: &[String]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for name in names {
        match lines.last_mut() {
            Some(line) if INDENT + line.len() + 1 + name.len() <= WIDTH => {
                line.push(' ');
                line.push_str(name);
            }
            Some(_) | None => lines.push(name.clone()),
        }
    }
    lines
}

impl DoctorReport {
    /// Whether nothing stands in the way of a run.
    pub(super) fn can_run(&self) -> bool {
        self.count(Grade::Problem) == 0
    }

    /// As text, or as JSON.
    pub(super) fn show(&self, json: bool) -> Result<String, Failure> {
        if json {
            return self.json();
        }
        let mut text = String::new();
        for finding in &self.findings {
            finding.show(&mut text);
        }
        text.push('\n');
        text.push_str(&self.sum());
        Ok(text)
    }

    fn json(&self) -> Result<String, Failure> {
        let value = serde_json::json!({
            "format": FORMAT,
            "can_run": self.can_run(),
            "findings": self.findings,
        });
        serde_json::to_string_pretty(&value)
            .map_err(|error| Failure::trouble(format!("cannot show the findings: {error}")))
    }

    fn sum(&self) -> String {
        let count = |number: usize, word: &str| match number {
            1 => format!("1 {word}"),
            number => format!("{number} {word}s"),
        };
        let warnings = match self.count(Grade::Warning) {
            0 => String::new(),
            number => format!(" ({})", count(number, "warning")),
        };
        match self.count(Grade::Problem) {
            0 => format!("Runs can start{warnings}."),
            number => format!("No run can start: {}{warnings}.", count(number, "problem")),
        }
    }

    fn count(&self, grade: Grade) -> usize {
        self.findings.iter().filter(|finding| finding.grade == grade).count()
    }
}
