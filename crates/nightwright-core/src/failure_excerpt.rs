//! The lines of a failed check's output that explain the first failure.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

/// How a test runner prints a failure.
struct FailureFormat {
    /// The line that names what failed.
    title: Regex,
    /// The line with the reason, below the title; `None` if it follows at once.
    reason: Option<Regex>,
}

/// The number of lines shown before the reason, if it is far below the title.
const BEFORE_REASON: usize = 2;

/// One entry per test runner: the pattern of the title and that of the reason, or an empty text. A
/// format that is not listed ends with its reason, as a compiler or `make` does.
const FORMATS: [(&str, &str); 8] = [
    // cargo test
    (r"^---- .+ stdout ----$", ""),
    // cargo nextest
    (r"^\s*FAIL \[", r"panicked at"),
    // pytest
    (r"^_{3,} .+ _{3,}$", r"^E  "),
    // node --test, as TAP
    (r"^\s*not ok \d+", r"^\s*error: "),
    // node --test, for people
    (r"^\s*✖ failing tests:", r"^\s*\S*(?:Error|AssertionError)\b.*: "),
    // jest and vitest
    (r"^\s*● .*\S$|^\s*FAIL\s+\S+ > ", ""),
    // go test
    (r"^\s*--- FAIL: ", ""),
    // unittest
    (r"^(?:FAIL|ERROR): \S+ \(", r"^\w*(?:Error|Exception)\b"),
];

/// Lines of these formats that explain nothing.
const NOISE: &str = concat!(
    r"^\s*(?:---|duration_ms: .*|type: '.*'|location: '.*'|failureType: '.*'",
    r"|at (?:async )?(?:.* \()?(?:node:|\S*/node_modules/).*",
    r"|note: .*`RUST_BACKTRACE=\w+`.*)?$",
);

/// A frame of a Rust backtrace: a number and a function, or the place in the line below.
const FRAME: &str = r"^(?:\s*\d+: .*|\s+at \S+:\d+(?::\d+)?)$";

static KNOWN: LazyLock<Vec<FailureFormat>> = LazyLock::new(|| {
    let compile = |pattern: &str| Regex::new(pattern).expect("the patterns are constants");
    FORMATS
        .iter()
        .map(|(title, reason)| FailureFormat {
            title: compile(title),
            reason: (!reason.is_empty()).then(|| compile(reason)),
        })
        .collect()
});

static WITHOUT_MEANING: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(NOISE).expect("the pattern is a constant"));

static BACKTRACE_FRAME: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(FRAME).expect("the pattern is a constant"));

/// Returns a function that says whether a line, given one after the other, is outside of backtraces.
/// Frames count as a backtrace only below its title, because other output also has numbered lines.
fn outside_backtraces() -> impl FnMut(&&str) -> bool {
    let mut inside = false;
    move |line| {
        inside = line.trim() == "stack backtrace:" || (inside && BACKTRACE_FRAME.is_match(line));
        !inside
    }
}

/// Returns an output without colors, without the Rust backtraces in it.
pub fn without_backtraces(output: &str) -> String {
    output.lines().filter(outside_backtraces()).collect::<Vec<_>>().join("\n")
}

/// Returns at most `most` lines of an output without colors: those of the first failure, otherwise
/// the last ones.
pub fn excerpt(output: &str, most: usize) -> Vec<&str> {
    let lines: Vec<_> = output.trim_end().lines().collect();
    let first = KNOWN.iter().find_map(|format| {
        let title = lines.iter().position(|line| format.title.is_match(line))?;
        Some((title, format))
    });
    let Some((title, format)) = first else {
        return lines[lines.len().saturating_sub(most)..].to_vec();
    };
    let below = title + 1;
    let reason = format.reason.as_ref().and_then(|reason| {
        lines[below..].iter().position(|line| reason.is_match(line)).map(|at| below + at)
    });
    let from = reason.map_or(below, |reason| reason.saturating_sub(BEFORE_REASON).max(below));
    let explains = |line: &&str| !WITHOUT_MEANING.is_match(line);
    let rest = lines[from..].iter().copied().filter(outside_backtraces()).filter(explains);
    [lines[title]].into_iter().chain(rest.take(most.saturating_sub(1))).collect()
}

/// The text that a test runner prints before and after the name of a failed test.
static TITLE: LazyLock<Regex> = LazyLock::new(|| {
    let titles = [
        r"---- (.+) stdout ----$",
        r"\s*FAIL \[[^\]]*\]\s+(.+)$",
        r"_{3,} (.+) _{3,}$",
        r"\s*not ok \d+(?: -)? (.+?)(?: # .*)?$",
        r"\s*✖ (.+?) \(\d[\d.]*m?s\)$",
        r"\s*● (.*\S)$",
        r"\s*FAIL\s+(\S+ > .+)$",
        r"\s*--- FAIL: (\S+)",
        r"(?:FAIL|ERROR): (\S+ \([^)]*\))",
        r"FAILED\s+(\S+)",
    ];
    Regex::new(&format!("(?m)^(?:{})", titles.join("|"))).expect("the patterns are constants")
});

/// The names of the failed tests in an output without colors, as far as the runner prints them.
pub fn titles(output: &str) -> BTreeSet<String> {
    let name = |found: regex::Captures<'_>| {
        found.iter().skip(1).flatten().next().map(|name| name.as_str().trim().to_owned())
    };
    TITLE.captures_iter(output).filter_map(name).collect()
}

#[cfg(test)]
mod tests;
