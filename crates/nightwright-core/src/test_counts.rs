//! Test counts of a check, parsed from its output.

mod runners;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::runners::{
    Family, INCOMPLETE, Meaning, OTHER_PROBLEMS, PROBLEMS, RUNNERS, SCRIPTS, meaning,
};

/// The test counts of one check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct TestCounts {
    /// The number of tests that failed.
    pub failed: u32,
    /// The number of tests that passed or failed.
    pub total: u32,
}

impl TestCounts {
    /// The number of tests that passed.
    pub fn passed(self) -> u32 {
        self.total.saturating_sub(self.failed)
    }

    /// The counts of two checks together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            failed: self.failed.saturating_add(other.failed),
            total: self.total.saturating_add(other.total),
        }
    }
}

/// The compiled patterns of a table.
type Patterns = LazyLock<Vec<Vec<Regex>>>;

static RUNNER_PATTERNS: Patterns = LazyLock::new(|| compiled(RUNNERS));
static SCRIPT_PATTERNS: Patterns = LazyLock::new(|| compiled(SCRIPTS));
static PROBLEM_PATTERNS: Patterns = LazyLock::new(|| compiled(PROBLEMS));
static OTHER_PROBLEM_PATTERNS: Patterns = LazyLock::new(|| compiled(OTHER_PROBLEMS));
static INCOMPLETE_PATTERNS: LazyLock<Vec<Regex>> =
    LazyLock::new(|| INCOMPLETE.iter().map(|pattern| regex(pattern)).collect());

/// The prefix that task runners and containers put before each line: `web:test: `, `web test: `,
/// `web-1  | ` or `[web] `.
const ORIGIN: &str = r"(?:(?-u:[\w@./:-])+(?: (?-u:[\w:-])*test(?-u:[\w:-])*)?: |(?-u:[\w@./:-])+ +\| |\[(?-u:[\w@./: -])+\]:? )?";

fn compiled(table: &[Family]) -> Vec<Vec<Regex>> {
    let compile = |pattern: &str| {
        let pattern = pattern.replace(r"\n", &format!(r"\n{ORIGIN}"));
        regex(&format!("(?m)^{ORIGIN}(?:{pattern})"))
    };
    let family = |family: &Family| family.iter().map(|one| compile(one.pattern)).collect();
    table.iter().map(family).collect()
}

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a test compiles every pattern of the tables")
}

/// Colors and other control sequences of a terminal, and carriage returns at the end of a line.
static CONTROLS: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?m)\x1b\[[0-?]*[ -/]*[@-~]|\x1b[()][0-9A-Z]|\r+$"));

/// The counts in this output: those of all runners, or those of the last line of a script. `None`
/// if there are none, or if tests that fail are missing in them.
pub fn of(output: &str) -> Option<TestCounts> {
    let output = plain(output);
    let output = without_captured(&output);
    if INCOMPLETE_PATTERNS.iter().any(|pattern| pattern.is_match(&output)) {
        return None;
    }
    let all = |pattern: &Regex| {
        let counts = pattern.captures_iter(&output).map(|found| counts(pattern, &found));
        counts.reduce(TestCounts::plus).filter(|counts| counts.total > 0)
    };
    let last = |pattern: &Regex| {
        let found = pattern.captures_iter(&output).last()?;
        Some(counts(pattern, &found)).filter(|counts| counts.total > 0)
    };
    let of_families = |families: &[Vec<Regex>], read: &dyn Fn(&Regex) -> Option<TestCounts>| {
        families.iter().filter_map(|family| family.iter().find_map(read)).reduce(TestCounts::plus)
    };
    of_families(&RUNNER_PATTERNS, &all).or_else(|| of_families(&SCRIPT_PATTERNS, &last))
}

/// The number of problems that linters and compilers report at their end; `None` if it is 0.
pub fn problems(output: &str) -> Option<u32> {
    let output = plain(output);
    let of_families = |families: &[Vec<Regex>]| {
        let found = families.iter().filter_map(|family| {
            family.iter().map(|pattern| problems_by(pattern, &output)).find(|found| *found > 0)
        });
        found.reduce(u32::saturating_add)
    };
    of_families(&PROBLEM_PATTERNS).or_else(|| of_families(&OTHER_PROBLEM_PATTERNS))
}

fn problems_by(pattern: &Regex, output: &str) -> u32 {
    let mut largest = BTreeMap::new();
    for found in pattern.captures_iter(output) {
        let start = found.get_match().start();
        let subject = found.name("subject").map_or(("", start), |subject| (subject.as_str(), 0));
        let number = found.name("one").map_or_else(|| number(&found, "found").unwrap_or(0), |_| 1);
        let most: &mut u32 = largest.entry(subject).or_default();
        *most = number.max(*most);
    }
    largest.into_values().fold(0, u32::saturating_add)
}

fn plain(output: &str) -> String {
    CONTROLS.replace_all(output, "").replace('\r', "\n")
}

/// The output without what cargo repeats of the output of failed tests, which may contain
/// summaries: from the name of the first to the list of all.
fn without_captured(output: &str) -> Cow<'_, str> {
    let mut kept = String::new();
    let mut rest = output;
    while let Some((before, name, after)) = captured(rest) {
        let Some(list) = list_with(name, after) else { break };
        kept.push_str(before);
        rest = list;
    }
    if kept.is_empty() { Cow::Borrowed(rest) } else { Cow::Owned(kept + rest) }
}

/// Splits the output at the first `---- NAME stdout ----`: what is before, the name, and the rest.
fn captured(output: &str) -> Option<(&str, &str, &str)> {
    static CAPTURED: LazyLock<Regex> =
        LazyLock::new(|| regex(r"(?m)^---- (?<name>\S.*) stdout ----$"));
    let found = CAPTURED.captures(output)?;
    let place = found.get_match();
    let name = found.name("name")?.as_str();
    Some((&output[..place.start()], name, &output[place.end()..]))
}

/// The output from the list of failed tests on that contains this name.
fn list_with<'t>(name: &str, output: &'t str) -> Option<&'t str> {
    const TITLE: &str = "\nfailures:\n";
    let lists = output.match_indices(TITLE).map(|(at, _)| &output[at..]);
    let mut with_name = lists.filter(|list| {
        let names = list[TITLE.len()..].lines().map_while(|line| line.strip_prefix("    "));
        names.take(1 << 10).any(|listed| listed == name)
    });
    with_name.next()
}

/// The numbers of one summary.
fn counts(pattern: &Regex, found: &Captures<'_>) -> TestCounts {
    let mut tally = Tally::default();
    if found.name("not_counted").is_none() {
        for name in pattern.capture_names().flatten() {
            if let Some(text) = found.name(name) {
                tally.group(name.trim_end_matches(|c: char| c.is_ascii_digit()), text.as_str());
            }
        }
    }
    let Tally { failed, passed, skipped, total } = tally;
    let total = if total == 0 { passed } else { total.saturating_sub(skipped) };
    match number(found, "right") {
        Some(right) => TestCounts { failed: total.saturating_sub(right), total },
        None if tally.total == 0 => TestCounts { failed, total: total.saturating_add(failed) },
        // Several failures may belong to one test, or to none.
        None => TestCounts { failed, total: total.max(failed) },
    }
}

#[derive(Default)]
struct Tally {
    failed: u32,
    passed: u32,
    skipped: u32,
    total: u32,
}

impl Tally {
    /// Adds the text that a group of a pattern matched.
    fn group(&mut self, name: &str, text: &str) {
        let number = text.parse().unwrap_or(0);
        match name {
            "failed" => self.add(Meaning::Failed, number),
            "passed" => self.add(Meaning::Passed, number),
            "skipped" => self.add(Meaning::Skipped, number),
            "total" => self.add(Meaning::Total, number),
            "one_failed" => self.add(Meaning::Failed, 1),
            "one_passed" => self.add(Meaning::Passed, 1),
            "parts" => text.split([',', '|', '(', ')']).for_each(|part| self.part(part)),
            _ => {}
        }
    }

    /// Adds a number with its word, in either order: `2 failed`, `failed 2` or `failed=2`.
    fn part(&mut self, part: &str) {
        let part = part.trim_matches(|c: char| !c.is_alphanumeric());
        let is_digit = |c: char| c.is_ascii_digit();
        let (number, word) = if part.starts_with(is_digit) {
            part.split_at(part.len() - part.trim_start_matches(is_digit).len())
        } else {
            let (word, number) = part.split_at(part.trim_end_matches(is_digit).len());
            (number, word)
        };
        let word = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        if let (Ok(number), Some(meaning)) = (number.parse(), meaning(&word)) {
            self.add(meaning, number);
        }
    }

    fn add(&mut self, meaning: Meaning, number: u32) {
        let sum = match meaning {
            Meaning::Failed => &mut self.failed,
            Meaning::Passed => &mut self.passed,
            Meaning::Skipped => &mut self.skipped,
            Meaning::Total => &mut self.total,
        };
        *sum = sum.saturating_add(number);
    }
}

fn number(found: &Captures<'_>, name: &str) -> Option<u32> {
    found.name(name)?.as_str().parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Every sample: its pattern, the output, and the numbers of failed tests and of all.
    fn samples(tables: &[&'static [Family]]) -> Vec<(&'static str, &'static str, u32, u32)> {
        let rows = tables.iter().flat_map(|table| table.iter()).flat_map(|family| family.iter());
        let lines = rows.flat_map(|row| row.samples.iter().map(|sample| (row.pattern, sample)));
        lines
            .map(|(pattern, (output, failed, total))| (pattern, *output, *failed, *total))
            .collect()
    }

    #[test]
    fn each_runner_is_read_by_its_own_summary() {
        for (pattern, output, failed, total) in samples(&[RUNNERS, SCRIPTS]) {
            assert_eq!(of(output), Some(TestCounts { failed, total }), "{pattern}\n{output}");
        }
    }

    #[test]
    fn linters_and_compilers_count_their_problems() {
        for (pattern, output, expected, _) in samples(&[PROBLEMS, OTHER_PROBLEMS]) {
            assert_eq!(problems(output), Some(expected), "{pattern}\n{output}");
            assert_eq!(of(output), None, "{output}");
        }
    }

    #[test]
    fn the_name_of_a_package_or_service_before_each_line_changes_nothing() {
        for origin in ["web:test: ", "packages/web test: ", "web-1  | ", "api | ", "[web] "] {
            for output in [
                "==== 1 failed, 2 passed in 0.12s ====",
                "Tests:       1 failed, 2 passed, 3 total",
                "      Tests  1 failed | 2 passed (3)\n   Start at  15:20:01",
                "ℹ pass 2\nℹ fail 1\nℹ cancelled 0",
                "Ran 3 tests in 0.001s\n\nFAILED (failures=1)",
                "     Summary [   0.010s] 3 tests run: 2 passed, 1 failed, 1 skipped",
                "    test result: ok. 9 passed; 0 failed;\ntest result: FAILED. 2 passed; 1 failed;",
            ] {
                let lines: String =
                    output.lines().map(|line| [origin, line, "\r\n"].concat()).collect();
                let expected = TestCounts { failed: 1, total: 3 };
                assert_eq!(of(&lines), Some(expected), "{lines}");
            }
        }
    }

    #[test]
    fn the_runners_of_one_command_are_added() {
        let cargo = "test result: FAILED. 12 passed; 2 failed; 0 ignored\n";
        let pytest = "==== 1 failed, 3 passed in 0.12s ====\n";
        let script = "3 of 5 tests passed\n";
        let counts = of(&format!("{script}{cargo}{script}{pytest}{script}"));
        assert_eq!(counts, Some(TestCounts { failed: 3, total: 18 }), "scripts add nothing");
        let linters = "Found 5 errors in 2 files.\n✖ 12 problems (10 errors, 2 warnings)\n";
        assert_eq!(problems(linters), Some(17));
    }

    #[test]
    fn other_output_has_no_counts() {
        let none = "test result: ok. 0 passed; 0 failed; 0 ignored\n";
        for output in [
            "",
            "boom",
            "compiled in 3s",
            "finished in 0.10s",
            "1/3 done\n2/3 done\n",
            "12/31 ok",
            "========================== 2 tests collected in 0.02s ==========================",
            "Found 0 errors.\n0 errors, 5 warnings\n0 problems\n",
            none,
        ] {
            assert_eq!(of(output), None, "{output}");
            assert_eq!(problems(output), None, "{output}");
        }
    }

    #[test]
    fn go_tests_that_could_not_all_run_have_no_counts() {
        let failed = "--- FAIL: TestB (0.00s)\n";
        for end in [
            "panic: x [recovered]\n\tpanic: x\n\ngoroutine 7 [running]:\nFAIL\tx/pan\t0.014s\nFAIL\n",
            "# x/bad [x/bad.test]\nbad/a_test.go:3:27: undefined: x\nFAIL\tx/bad [build failed]\n",
            "# x/setup\nsetup/a_test.go:2:20: no required module\nFAIL\tx/setup [setup failed]\n",
            "{\"Action\":\"output\",\"Package\":\"x\",\"Output\":\"FAIL\\tx/bad [build failed]\\n\"}\n",
        ] {
            assert_eq!(of(&format!("{failed}{end}")), None, "{end}");
        }
        // Other programs may print the same words.
        assert!(of(&format!("panic: handled\n{failed}ok\tx/ok\t0.014s\n")).is_some());
    }

    #[test]
    fn the_captured_output_of_a_test_of_cargo_ends_at_the_list_that_names_the_test() {
        let inner = "test result: FAILED. 3 passed; 2 failed; 0 ignored\n";
        let section = |name: &str| {
            format!(
                "failures:\n\n---- {name} stdout ----\n{inner}\n\nfailures:\n    {name}\n\n\
                 test result: FAILED. 4 passed; 1 failed; 0 ignored\n"
            )
        };
        let twice = format!("{}{}", section("a"), section("b"));
        assert_eq!(of(&twice), Some(TestCounts { failed: 2, total: 10 }));
        // A section without an end hides nothing.
        let counts = of(&format!("---- a stdout ----\n{inner}"));
        assert_eq!(counts, Some(TestCounts { failed: 2, total: 5 }));
    }

    proptest! {
        #[test]
        fn no_output_makes_a_pattern_panic(noise in "(?s).{0,200}", at in any::<prop::sample::Index>(), digits in "[0-9]{1,30}") {
            let sample = at.get(&samples(&[RUNNERS, SCRIPTS])).1;
            let broken = sample.replace(|c: char| c.is_ascii_digit(), &digits);
            for output in [noise.clone(), format!("{noise}\n{sample}\n{noise}"), broken] {
                let counts = of(&output);
                prop_assert!(counts.is_none_or(|counts| counts.failed <= counts.total));
                let _ = problems(&output);
            }
        }

        #[test]
        fn what_is_quoted_in_words_is_never_counted(
            words in "[A-Za-z ,.]{0,40}",
            at in any::<prop::sample::Index>(),
            marks in prop::sample::select(vec![("`", "`"), ("\"", "\""), ("“", "”"), ("**", "**"), ("«", "»")]),
        ) {
            let summary = plain(at.get(&samples(&[RUNNERS, SCRIPTS])).1);
            let block: String = summary.lines().map(|line| ["> ", line, "\n"].concat()).collect();
            prop_assert_eq!(of(&format!("{words}\n\n{block}\n{words}")), None);
            let (open, close) = marks;
            let quoted: Vec<_> = summary.lines().map(|line| format!("{open}{line}{close}")).collect();
            prop_assert_eq!(of(&format!("I ran it: {}. {words}", quoted.join(" and "))), None);
        }
    }
}
