//! The test command: every step a change must pass, in order, up to the first that fails.
//!
//! The cheap and talkative steps come first, so that a missing space costs a second and not the
//! whole suite. What the steps print goes straight to the terminal: a run that hangs or is cut
//! off has then already shown where.

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

/// Runs all steps, or the one of this name.
pub(crate) fn run(root: &Path, only: Option<&'static str>) -> Result<(), String> {
    let wanted = STEPS.into_iter().filter(|(name, _)| only.is_none_or(|only| only == *name));
    steps(root, &wanted.collect::<Vec<_>>())
}

/// The step of this name.
pub(crate) fn named(name: &str) -> Result<&'static str, String> {
    let names = STEPS.map(|(name, _)| name);
    let found = names.into_iter().find(|there| *there == name);
    found.ok_or_else(|| format!("there is no step `{name}`; the steps are {}", names.join(", ")))
}

/// Runs steps in order, up to the first that fails.
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

/// A link in a comment that leads nowhere is as wrong as one in a page, so private items count.
fn documentation(root: &Path) -> Result<(), String> {
    let arguments = ["doc", "--workspace", "--no-deps", "--document-private-items"];
    program::run(cargo(root, &arguments).env("RUSTDOCFLAGS", "-D warnings"))
}

/// On its own, so that what does not link is told apart from a test that fails. All steps that
/// follow need exactly this: another selection of packages would be compiled anew. The examples are
/// benchmarks, and no step needs them.
fn build(root: &Path) -> Result<(), String> {
    let arguments = ["test", "--quiet", "--workspace", "--no-run", "--lib", "--bins", "--tests"];
    program::run(&mut cargo(root, &arguments))
}

/// With nextest where it is installed: it ends tests that hang. Examples in comments follow. The
/// suites that need programs of their own are steps of their own.
fn tests(root: &Path) -> Result<(), String> {
    let [projects, real] = [&toolchains::SUITE, &claude::SUITE];
    let targets = ["--lib", "--bins", "--tests"];
    if program::works(&mut cargo(root, &["nextest", "--version"])) {
        let others = format!("not ({}) and not ({})", projects.filter(), real.filter());
        let mut arguments = vec!["nextest", "run", "--workspace", "--filterset", &others];
        arguments.extend(targets);
        program::run(&mut cargo(root, &arguments))?;
    } else {
        let mut arguments = vec!["test", "--workspace"];
        arguments.extend(targets);
        arguments.extend(["--", "--skip", projects.prefix, "--skip", real.prefix]);
        program::run(&mut cargo(root, &arguments))?;
    }
    doc_tests(root)
}

/// Examples in comments.
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
