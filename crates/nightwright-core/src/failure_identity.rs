//! The identity of a failure of a check: the same failure has the same identity in every run,
//! although times, addresses and line numbers differ.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::display::display_safe;
use crate::failure_excerpt;
use crate::input::{CheckResult, CheckVerdict};

/// The number of lines of a failure that identify it.
const SIGNATURE_LINES: usize = 10;

/// Identifies how a check fails. One that times out stops at another line each time.
pub fn signature(result: &CheckResult) -> String {
    if result.verdict == CheckVerdict::TimedOut {
        return "timed out".to_owned();
    }
    let output = display_safe(&result.output);
    let mut hasher = crc32fast::Hasher::new();
    for line in failure_excerpt::excerpt(&output, SIGNATURE_LINES) {
        hasher.update(without_figures(line).as_bytes());
        hasher.update(b"\n");
    }
    format!("{:08x}", hasher.finalize())
}

/// The lines of an output that report problems.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProblemLines {
    /// The different lines, without figures: those that name a place in a file, or else all.
    pub lines: BTreeSet<String>,
    /// The number of different places in files.
    pub places: usize,
}

/// A place in a file: `src/a.rs:12:5`, `src/a.ts(3,1)`.
static PLACE: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"[\w./\\-]*\w\.[A-Za-z]\w*(?::\d+(?::\d+)?|\(\d+(?:,\d+)?\))"));

/// Lines that sum up the others.
static SUMMARY: LazyLock<Regex> = LazyLock::new(|| {
    compiled(r"could not compile|previous errors?\b|^Found \d|^\s*\d+ (?:errors?|problems?)\b")
});

/// The lines of this output that report problems.
pub fn problem_lines(output: &str) -> ProblemLines {
    let output = display_safe(output);
    let mut places = BTreeSet::new();
    let mut lines = BTreeSet::new();
    for line in output.lines() {
        if let Some(place) = PLACE.find(line) {
            places.insert(place.as_str());
            lines.insert(without_figures(line));
        }
    }
    if places.is_empty() {
        let others =
            output.lines().filter(|line| !line.trim().is_empty() && !SUMMARY.is_match(line));
        lines = others.map(without_figures).collect();
    }
    ProblemLines { lines, places: places.len() }
}

/// The replacements for character classes. With the boundaries and classes of Unicode, a search
/// takes ten times as long.
const CLASSES: [(&str, &str); 5] = [
    (r"\b", r"(?-u:\b)"),
    (r"\w", "[0-9A-Za-z_]"),
    (r"\d", "[0-9]"),
    (r"\S", r"[^ \t\r\n]"),
    (r"\s", r"[ \t\r\n]"),
];

fn compiled(pattern: &str) -> Regex {
    let mut pattern = pattern.to_owned();
    for (class, ascii) in CLASSES {
        // Inside brackets, a class needs no further brackets.
        let inner = ascii.trim_start_matches('[').trim_end_matches(']');
        pattern = pattern.replace(&format!("[{class}"), &format!("[{inner}"));
        pattern = pattern.replace(class, ascii);
    }
    Regex::new(&pattern).expect("the pattern is a constant")
}

/// The differences between two runs that do the same: addresses, hashes, temporary files, times.
const CHANGING: &str = r"\b0x[0-9a-fA-F]+|\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b|\b[0-9a-f]*\d[0-9a-f]{7,}\b|(?:/private)?(?:/var)?/(?:tmp|folders)/\S+|\btmp(?:[._-]\w+|\w*\d\w*)|\b\d+(?:[.,:]\d+)*\s?(?:ns|µs|ms|s|secs?|seconds|m|min|h)\b|\b\d\d:\d\d:\d\d\b";

static TIMES: LazyLock<Regex> = LazyLock::new(|| compiled(CHANGING));

/// The text without what differs between two runs that do the same.
pub fn without_times(text: &str) -> String {
    TIMES.replace_all(text, "#").into_owned()
}

/// A number, with the word and the characters before it, that does not belong to a name.
static FIGURE: LazyLock<Regex> = LazyLock::new(|| {
    let number = r"(?:(?<word>\w*[A-Za-z])[\s#:]+)?(?<number>\b\d[\d.,:]*(?:\s?(?:ns|µs|ms|s|sec|m|min|h)\b)?\b)";
    compiled(&format!("{CHANGING}|{number}"))
});

/// The words after which a number is a name: `test 3`.
const NAMES: [&str; 10] =
    ["case", "check", "example", "exercise", "item", "level", "part", "step", "task", "test"];

/// The line without what differs between two runs of the same failure.
fn without_figures(line: &str) -> String {
    let replaced = FIGURE.replace_all(line.trim(), |found: &Captures<'_>| {
        let word = found.name("word").map_or("", |word| word.as_str());
        let is_name = NAMES.contains(&word.to_ascii_lowercase().as_str());
        match found.name("number") {
            Some(_) if is_name => found[0].to_owned(),
            Some(number) => {
                format!("{}#", &found[0][..found[0].len() - number.as_str().len()])
            }
            None => "#".to_owned(),
        }
    });
    replaced.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::stream::outcome::ProcessExit;

    fn ended(verdict: CheckVerdict, output: &str) -> CheckResult {
        let (command, output) = ("make test".to_owned(), output.to_owned());
        CheckResult {
            command,
            verdict,
            output,
            tests: None,
            log: None,
            duration: Duration::ZERO,
            outside: false,
        }
    }

    fn of(output: &str) -> String {
        signature(&ended(CheckVerdict::Failed { how: ProcessExit::Code(1) }, output))
    }

    #[test]
    fn the_same_failure_has_the_same_signature_whatever_its_figures() {
        for (one, other) in [
            ("got 7 in 0.12s", "got 12 in 3.4 s"),
            ("src/a.rs:12:5: boom", "src/a.rs:40:1:  boom"),
            ("at 0x7ffe01 in /tmp/x.1", "at 0x55aa in /tmp/y.22"),
            (
                "boom 1b4e28ba-2fa1-11d2-883f-0016d3cca427",
                "boom 6fa459ea-ee8a-3ca4-894e-db77e160355e",
            ),
            ("no /srv/build/tmp3kq/a", "no /srv/build/tmp9zz/a"),
            ("no /var/folders/xx/yy/a", "no /var/folders/xx/zz/b"),
            (
                "test a ... ok\n\nfailures:\n\n---- b stdout ----\nboom\n",
                "test c ... ok\ntest a ... ok\n\nfailures:\n\n---- b stdout ----\nboom\n",
            ),
        ] {
            assert_eq!(of(one), of(other), "{one} / {other}");
        }
    }

    #[test]
    fn another_failure_has_another_signature() {
        for (one, other) in [
            ("one.txt is missing", "two.txt is missing"),
            ("file1 is missing", "file2 is missing"),
            ("test 1 is wrong", "test 2 is wrong"),
            ("no template here", "no temple here"),
        ] {
            assert_ne!(of(one), of(other), "{one} / {other}");
        }
    }

    #[test]
    fn a_check_that_times_out_fails_in_the_same_way_wherever_it_stops() {
        let timed_out = |output: &str| signature(&ended(CheckVerdict::TimedOut, output));
        assert_eq!(timed_out("running a"), timed_out("running a\nrunning b"));
    }

    #[test]
    fn problems_are_the_lines_with_a_place_or_else_all_but_the_summary() {
        let typescript = "src/a.ts(1,1): error TS2304: no `x`\nsrc/b.ts(3,9): error TS2304: no `y`";
        let found = problem_lines(typescript);
        assert_eq!((found.places, found.lines.len()), (2, 2));
        let rust = "error: expected `;`\nerror: could not compile `x` due to 1 previous error";
        let found = problem_lines(rust);
        assert_eq!((found.places, found.lines.len()), (0, 1));
    }
}
