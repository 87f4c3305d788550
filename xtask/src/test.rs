//! The test command: every step that a change must pass, in order, up to the first failure.
//!
//! The fast steps come first, so that a formatting error costs a second and not the whole suite.
//! The output of the steps is not captured, so a run that hangs or is killed still shows where.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::bench::judgement;
use crate::program::{self, cargo};
use crate::{claude, deny, dist, docs, tidy, toolchains, tools};

pub(crate) type Step = (&'static str, fn(&Path) -> Result<(), String>);

const STEPS: [Step; 13] = [
    ("tools", |_| tools::ensure_tools()),
    ("format", format),
    ("clippy", clippy),
    ("docs", documentation),
    ("build", build),
    ("tests", tests),
    ("projects", toolchains::run),
    ("judgement", judgement::check),
    ("real agent", claude::run),
    ("dist", dist::check),
    ("tidy", tidy::run),
    ("deny", deny::run),
    ("pages", |root| docs::run(root, docs::DocsMode::Check)),
];

/// Runs all steps, or the step with this name.
pub(crate) fn run(root: &Path, only: Option<&'static str>) -> Result<(), String> {
    let wanted = STEPS.into_iter().filter(|(name, _)| only.is_none_or(|only| only == *name));
    steps(root, &wanted.collect::<Vec<_>>())
}

/// Returns the step with this name.
pub(crate) fn named(name: &str) -> Result<&'static str, String> {
    let names = STEPS.map(|(name, _)| name);
    let found = names.into_iter().find(|there| *there == name);
    found.ok_or_else(|| format!("unknown step `{name}`; the steps are {}", names.join(", ")))
}

/// Runs steps in order, up to the first failure.
pub(crate) fn steps(root: &Path, steps: &[Step]) -> Result<(), String> {
    let begin = Instant::now();
    for (name, step) in steps {
        eprintln!("==> {name}");
        let begin = Instant::now();
        let result = step(root);
        let word = if result.is_ok() { "ok" } else { "failed" };
        eprintln!("<== {name} {word}, {}", seconds(begin.elapsed()));
        result?;
    }
    if steps.len() > 1 {
        eprintln!("all {} steps passed, {}", steps.len(), seconds(begin.elapsed()));
    }
    Ok(())
}

pub(crate) fn format(root: &Path) -> Result<(), String> {
    program::run(&mut cargo(root, &["fmt", "--all", "--check"]))
        .map_err(|failure| format!("{failure}\nhint: run `cargo fmt --all`"))
}

pub(crate) fn clippy(root: &Path) -> Result<(), String> {
    let arguments = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
    program::run(&mut cargo(root, &arguments))
}

/// Builds the documentation, including private items, so that broken links in comments are errors.
fn documentation(root: &Path) -> Result<(), String> {
    let arguments = ["doc", "--workspace", "--no-deps", "--document-private-items"];
    program::run(cargo(root, &arguments).env("RUSTDOCFLAGS", "-D warnings"))
}

/// Builds the tests in a separate step, so that a build error is distinct from a failing test. The
/// following steps use the same selection of packages; another one would be compiled again.
/// Examples are benchmarks, which no step needs.
fn build(root: &Path) -> Result<(), String> {
    let arguments = ["test", "--quiet", "--workspace", "--no-run", "--lib", "--bins", "--tests"];
    program::run(&mut cargo(root, &arguments))
}

/// Runs the tests with nextest if it is installed, because it kills tests that hang; then the doc
/// tests. The suites that need other programs are separate steps.
fn tests(root: &Path) -> Result<(), String> {
    let [projects, real] = [&toolchains::SUITE, &claude::SUITE];
    let targets = ["--lib", "--bins", "--tests"];
    if program::works(&mut cargo(root, &["nextest", "--version"])) {
        let others = format!("not ({}) and not ({})", projects.filter(), real.filter());
        let mut command = cargo(root, &["nextest", "run", "--workspace", "--filterset", &others]);
        program::run(command.args(targets).args(program::parallel_tests()))?;
    } else {
        let mut arguments = vec!["test", "--workspace"];
        arguments.extend(targets);
        arguments.extend(["--", "--skip", projects.prefix, "--skip", real.prefix]);
        program::run(&mut cargo(root, &arguments))?;
    }
    doc_tests(root)
}

/// Runs the examples in doc comments.
fn doc_tests(root: &Path) -> Result<(), String> {
    program::run(&mut cargo(root, &["test", "--workspace", "--doc"]))
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_there_before_any_step_needs_them_and_pages_come_last() {
        let names: Vec<_> = STEPS.iter().map(|(name, _)| *name).collect();
        assert_eq!(
            names,
            [
                "tools",
                "format",
                "clippy",
                "docs",
                "build",
                "tests",
                "projects",
                "judgement",
                "real agent",
                "dist",
                "tidy",
                "deny",
                "pages"
            ]
        );
    }

    #[test]
    fn times_have_one_digit() {
        assert_eq!(seconds(Duration::from_millis(61_250)), "61.2 s");
    }
}
