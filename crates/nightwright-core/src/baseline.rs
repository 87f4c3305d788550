//! Baseline: the results of the checks before the first iteration, and their consequences.
//!
//! A check that passed before any work cannot show by passing again that the work is done. A check
//! that cannot run at all can show nothing, so the run refuses to start.

use std::sync::LazyLock;
use std::time::Duration;

use regex::Regex;

use crate::check_command::first_program;
use crate::input::{CheckPurpose, CheckResult, CheckVerdict};
use crate::phrases;
use crate::stream::outcome::ProcessExit;
use crate::units::human;

/// The factor by which a check may exceed its duration before the first iteration.
const DEADLINE_FACTOR: u32 = 3;

/// The exit codes of a shell if the program is not executable, or missing.
const NO_PROGRAM: [i32; 2] = [126, 127];

/// The number of last lines that are searched for a missing program.
const LINES_SEARCHED: usize = 20;

/// The commands that install a project's dependencies, by the first program of its check.
const INSTALLERS: [(&str, &str); 11] = [
    ("npm", "npm install"),
    ("npx", "npm install"),
    ("pnpm", "pnpm install"),
    ("yarn", "yarn install"),
    ("bun", "bun install"),
    ("uv", "uv sync"),
    ("poetry", "poetry install"),
    ("bundle", "bundle install"),
    ("composer", "composer install"),
    ("mix", "mix deps.get"),
    ("dotnet", "dotnet restore"),
];

/// The known state of a check before the first iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BaselineStatus {
    Passes,
    /// The check failed: a later pass shows progress.
    Fails,
    /// The check gave no result.
    Unknown,
}

/// The state of a check by its result.
pub fn status(result: &CheckResult) -> BaselineStatus {
    match &result.verdict {
        CheckVerdict::Passed | CheckVerdict::Flaky => BaselineStatus::Passes,
        CheckVerdict::Failed { how } => {
            let tests_failed = result.tests.is_some_and(|tests| tests.failed > 0);
            let without_program =
                matches!(how, ProcessExit::Code(code) if NO_PROGRAM.contains(code));
            if !tests_failed && (without_program || missing_program(result).is_some()) {
                BaselineStatus::Unknown
            } else {
                BaselineStatus::Fails
            }
        }
        CheckVerdict::TimedOut | CheckVerdict::NotStarted { .. } | CheckVerdict::Interrupted => {
            BaselineStatus::Unknown
        }
    }
}

/// The reason why the check cannot run here; `None` if it can. `withheld` are the variables that
/// checks do not get. A program that is missing *inside* the check is an ordinary failure.
pub fn cannot_run(result: &CheckResult, withheld: &[String]) -> Option<String> {
    let CheckResult { command, verdict, .. } = result;
    match verdict {
        CheckVerdict::NotStarted { why } => Some(format!("`{command}` cannot run: {why}")),
        CheckVerdict::Failed { .. } => {
            let variable = needed_variable(&result.output, withheld)?;
            Some(format!(
                "`{command}` cannot run: it needs `{variable}`, which checks do not get; add \
                 \"{variable}\" to verify.pass_env to pass it on"
            ))
        }
        CheckVerdict::Passed
        | CheckVerdict::Flaky
        | CheckVerdict::TimedOut
        | CheckVerdict::Interrupted => None,
    }
}

static LACKS: LazyLock<Regex> = LazyLock::new(|| {
    let words = r"(?i)\b(?:not (?:been )?(?:set|defined|found|provided|present)|unset|undefined|unbound|missing|required|must be|is empty|expected|KeyError|NotPresent|please (?:set|provide|export))\b";
    Regex::new(words).expect("the pattern is a constant")
});

/// The withheld variable that a line of the output reports as missing, if any.
fn needed_variable<'a>(output: &str, withheld: &'a [String]) -> Option<&'a str> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let lines = output.lines().filter(|line| LACKS.is_match(line));
    let mut words = lines.flat_map(|line| line.split(|letter| !is_part(letter)));
    words.find_map(|word| withheld.iter().find(|name| *name == word)).map(String::as_str)
}

/// Whether a check that ran in a sandbox is compared with a run outside.
pub fn is_compared(result: &CheckResult) -> bool {
    !result.outside && matches!(result.verdict, CheckVerdict::Failed { .. })
}

/// Whether a later run on the same files may reuse this result.
///
/// A failure may have a cause outside the files: a service, a dependency, a variable. If that cause
/// disappears, reusing the failure would make a pass look like proof of work. A pass or a timeout
/// proves nothing, so reusing it is safe.
fn is_reusable(result: &CheckResult) -> bool {
    match result.verdict {
        CheckVerdict::Passed | CheckVerdict::TimedOut => true,
        CheckVerdict::Flaky
        | CheckVerdict::Failed { .. }
        | CheckVerdict::NotStarted { .. }
        | CheckVerdict::Interrupted => false,
    }
}

/// Whether later runs on the same files may reuse these results of the checks. Reused results are
/// not stored again, because they would never expire.
pub fn is_kept(
    purpose: CheckPurpose,
    is_reused: bool,
    commands: &[String],
    results: &[CheckResult],
) -> bool {
    purpose == CheckPurpose::Baseline
        && !is_reused
        && results.len() == commands.len()
        && results.iter().all(is_reusable)
}

/// Whether the check failed, possibly because it lacks a variable. Tests that fail before the first
/// iteration are the ordinary case.
pub fn may_lack_a_variable(result: &CheckResult, purpose: CheckPurpose) -> bool {
    matches!(result.verdict, CheckVerdict::Failed { .. })
        && (purpose != CheckPurpose::Baseline || result.tests.is_none())
}

/// How long the check may take, given how long it took before the first iteration.
pub fn deadline(configured: Duration, before: Option<&CheckResult>) -> Duration {
    let measured = before
        .filter(|result| status(result) != BaselineStatus::Unknown)
        .map(|result| result.duration.saturating_mul(DEADLINE_FACTOR));
    configured.max(measured.unwrap_or_default())
}

/// A warning about a check that has no result.
pub fn warning(result: &CheckResult) -> Option<String> {
    let command = &result.command;
    if result.verdict == CheckVerdict::TimedOut {
        return Some(match result.duration {
            Duration::ZERO => {
                format!("not enough time to run `{command}` before the first iteration")
            }
            duration => {
                let took = human(duration);
                format!("`{command}` timed out after {took} before the first iteration")
            }
        });
    }
    let CheckVerdict::Failed { how: ProcessExit::Code(code) } = &result.verdict else {
        return None;
    };
    let install = installer(command);
    let install = install.map(|install| format!(" (run `{install}`)")).unwrap_or_default();
    match missing_program(result) {
        Some(program) => {
            Some(format!("`{command}` failed because `{program}` is missing{install}"))
        }
        None if NO_PROGRAM.contains(code) => Some(format!(
            "`{command}` failed with exit code {code}: a program that it starts is missing or \
             not executable{install}"
        )),
        None => None,
    }
}

/// The result as a short sentence: `` `cargo test` failed: 2 of 14 ``.
pub fn sentence(result: &CheckResult) -> String {
    let outside = if result.outside { phrases::OUTSIDE } else { "" };
    format!("{}{outside}", plain_sentence(result))
}

fn plain_sentence(result: &CheckResult) -> String {
    let command = &result.command;
    match status(result) {
        BaselineStatus::Passes => format!("`{command}` passed"),
        BaselineStatus::Fails => match result.tests.filter(|tests| tests.failed > 0) {
            Some(tests) => {
                format!("`{command}` failed: {} of {} tests", tests.failed, tests.total)
            }
            None => format!("`{command}` failed"),
        },
        BaselineStatus::Unknown => cannot_run(result, &[])
            .or_else(|| warning(result))
            .unwrap_or_else(|| format!("`{command}` has no result")),
    }
}

pub(crate) fn installer(command: &str) -> Option<&'static str> {
    let first = first_program(command)?.name;
    INSTALLERS.iter().find(|(program, _)| *program == first).map(|(_, install)| *install)
}

static MISSING: LazyLock<Regex> = LazyLock::new(|| {
    let shell = r"^(?:\S*sh: (?:line )?(?:\d+: )?|\S+: (?:line )?\d+: )(?<program>[^\s:]+): (?:(?:command )?not found|No such file or directory)$";
    let denied =
        r"^\S+: (?:line )?(?:\d+: )?(?<denied>[^\s:]+): (?:Permission denied|cannot execute.*)$";
    let module = r"^\S*python[\d.]*: No module named (?<module>\S+)$";
    let starter = r"^(?:\S*/)?(?:env|make(?:\[\d+\])?): ['‘]?(?<started>[^\s:'’]+)['’]?: No such file or directory$";
    Regex::new(&format!("(?m){shell}|{denied}|{module}|{starter}"))
        .expect("the pattern is a constant")
});

/// The program that a shell, `env` or `make` did not find, or could not execute.
pub(crate) fn missing_program(result: &CheckResult) -> Option<String> {
    let CheckVerdict::Failed { how: ProcessExit::Code(code) } = &result.verdict else {
        return None;
    };
    let lines: Vec<_> = result.output.trim_end().lines().rev().take(LINES_SEARCHED).collect();
    lines.into_iter().find_map(|line| {
        let found = MISSING.captures(line.trim_end())?;
        let denied = found.name("denied").filter(|_| *code == NO_PROGRAM[0]);
        let named = ["program", "started", "module"].into_iter().find_map(|name| found.name(name));
        let program = named.or(denied)?;
        Some(program.as_str().to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_counts;

    fn failed(command: &str, code: i32, output: &str) -> CheckResult {
        ended(command, CheckVerdict::Failed { how: ProcessExit::Code(code) }, output)
    }

    fn ended(command: &str, verdict: CheckVerdict, output: &str) -> CheckResult {
        CheckResult {
            command: command.to_owned(),
            verdict,
            output: output.to_owned(),
            tests: test_counts::of(output),
            log: None,
            duration: Duration::from_mins(5),
            outside: false,
        }
    }

    #[test]
    fn a_check_that_was_not_started_cannot_run() {
        let why = "`pytest` is not in PATH".to_owned();
        let result = ended("pytest -q", CheckVerdict::NotStarted { why }, "");
        let message = "`pytest -q` cannot run: `pytest` is not in PATH";
        assert_eq!(cannot_run(&result, &[]).as_deref(), Some(message));
        assert_eq!(status(&result), BaselineStatus::Unknown);
    }

    #[test]
    fn a_check_that_lacks_a_withheld_variable_cannot_run() {
        let withheld = ["DB_PASSWORD".to_owned(), "GITHUB_TOKEN".to_owned()];
        for output in [
            "Error: DB_PASSWORD is not set",
            "KeyError: 'DB_PASSWORD'",
            "tests/db.sh: line 3: DB_PASSWORD: unbound variable",
            "Missing required environment variable: DB_PASSWORD",
        ] {
            let message = cannot_run(&failed("make test", 1, output), &withheld);
            assert!(message.is_some_and(|message| message.contains("`DB_PASSWORD`")), "{output}");
        }
        for output in [
            "left: \"DB_PASSWORD=x\"\nright: \"\"",
            "MY_DB_PASSWORD is not set",
            "assertion failed: API_URL is not set",
        ] {
            assert_eq!(cannot_run(&failed("make test", 1, output), &withheld), None, "{output}");
        }
    }

    #[test]
    fn a_program_missing_inside_the_check_is_a_warning_that_names_the_install_command() {
        let cases = [
            ("npm test", 127, "> test\n> vitest run\n\nsh: 1: vitest: not found", "`npm install`"),
            (
                "make test",
                2,
                "make: cargo: No such file or directory\nmake: *** Error 127",
                "cargo",
            ),
            ("./t.sh", 127, "/usr/bin/env: ‘node’: No such file or directory", "`node`"),
            ("CI=1 npm run vitest", 127, "sh: 1: vitest: not found", "`npm install`"),
            ("cd web && npm test", 127, "sh: line 1: vitest: command not found", "`npm install`"),
            (
                ".venv/bin/python -m pytest",
                1,
                ".venv/bin/python: No module named pytest",
                "`pytest`",
            ),
            ("./t.sh", 127, "/bin/sh: line 1: ./run: No such file or directory", "`./run`"),
            ("./t.sh", 126, "", "exit code 126"),
        ];
        for (command, code, output, named) in cases {
            let result = failed(command, code, output);
            assert_eq!(cannot_run(&result, &[]), None, "{command}");
            let message = warning(&result).unwrap_or_else(|| panic!("no warning for {command}"));
            assert!(message.contains(named), "{message}");
            assert_eq!(status(&result), BaselineStatus::Unknown);
        }
    }

    #[test]
    fn output_of_the_projects_own_code_is_no_missing_program() {
        for output in ["cat: data.txt: No such file or directory", "error: user: not found in db"] {
            let result = failed("make test", 1, output);
            assert_eq!(
                (warning(&result), status(&result)),
                (None, BaselineStatus::Fails),
                "{output}"
            );
        }
    }

    #[test]
    fn tests_that_failed_are_a_failure_whatever_else_is_missing() {
        let output = "jq.sh: line 3: jq: command not found\n2 failed, 12 passed in 0.1s";
        let result = failed("pytest", 1, output);
        assert_eq!(status(&result), BaselineStatus::Fails);
        assert!(warning(&result).is_some_and(|message| message.contains("`jq` is missing")));
    }

    #[test]
    fn the_sentence_counts_failed_tests() {
        let counted = failed("cargo test", 101, "test result: FAILED. 12 passed; 2 failed; 0");
        assert_eq!(sentence(&counted), "`cargo test` failed: 2 of 14 tests");
        assert_eq!(sentence(&failed("make", 2, "boom")), "`make` failed");
        let cut = ended("make", CheckVerdict::TimedOut, "");
        let message = "`make` timed out after 5m 00s before the first iteration";
        assert_eq!(sentence(&cut), message);
    }

    #[test]
    fn a_measured_duration_raises_the_deadline_and_never_lowers_it() {
        let ten = Duration::from_mins(10);
        let passed = ended("make", CheckVerdict::Passed, "");
        assert_eq!(deadline(ten, Some(&passed)), Duration::from_mins(15));
        assert_eq!(deadline(Duration::from_mins(20), Some(&passed)), Duration::from_mins(20));
        assert_eq!(deadline(ten, Some(&ended("make", CheckVerdict::TimedOut, ""))), ten);
        assert_eq!(deadline(ten, None), ten);
    }

    #[test]
    fn a_result_is_reused_unless_that_could_make_passing_look_like_proof() {
        assert!(is_reusable(&ended("make", CheckVerdict::Passed, "")));
        assert!(is_reusable(&ended("make", CheckVerdict::TimedOut, "")));
        assert!(!is_reusable(&failed("make", 1, "# pass 1\n# fail 1\n")));
        assert!(!is_reusable(&ended("make", CheckVerdict::Flaky, "")));
    }

    #[test]
    fn results_are_kept_only_if_all_checks_were_measured_before_the_first_iteration() {
        let commands = ["make".to_owned(), "make lint".to_owned()];
        let passed = |command| ended(command, CheckVerdict::Passed, "");
        let all = [passed("make"), passed("make lint")];
        assert!(is_kept(CheckPurpose::Baseline, false, &commands, &all));
        assert!(!is_kept(CheckPurpose::Baseline, true, &commands, &all), "taken over");
        assert!(!is_kept(CheckPurpose::Gate, false, &commands, &all), "after work");
        assert!(!is_kept(CheckPurpose::Baseline, false, &commands, &all[..1]), "one is missing");
        let one_failed = [passed("make"), failed("make lint", 1, "")];
        assert!(!is_kept(CheckPurpose::Baseline, false, &commands, &one_failed));
    }

    #[test]
    fn only_a_failure_that_work_does_not_explain_may_lack_a_variable() {
        let tests_failed = failed("pytest", 1, "2 failed, 12 passed in 0.1s");
        assert!(!may_lack_a_variable(&tests_failed, CheckPurpose::Baseline));
        assert!(may_lack_a_variable(&tests_failed, CheckPurpose::Gate));
        let failed = failed("make", 1, "boom");
        assert!(may_lack_a_variable(&failed, CheckPurpose::Baseline));
        for verdict in [CheckVerdict::Passed, CheckVerdict::Flaky, CheckVerdict::TimedOut] {
            assert!(!may_lack_a_variable(&ended("make", verdict, ""), CheckPurpose::Gate));
        }
    }
}
