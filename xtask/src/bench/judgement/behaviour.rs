//! The files in `xtask/judgement`: what an agent does, and how a run with it should end.
//!
//! `docs/internals/judgement.md` describes the format. Reading a file finds every mistake in it,
//! except mistakes inside a scene: a scene has the rehearsal's own format, and the rehearsal reports
//! them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path};

use serde::Deserialize;
use toml::Table;

use super::outcome::{ExpectedOutcome, Strictness};

/// The name of the task in the modes that work on one.
pub(super) const TASK: &str = "work";
/// The upper limit for the iterations of a behavior.
const MAX_ITERATIONS: u32 = 50;
/// The iteration limit of a behavior that does not set one.
const ITERATIONS: u32 = 10;

/// An agent, and the expected result of a run with it.
#[derive(Clone, Debug)]
pub(super) struct Behaviour {
    pub(super) name: String,
    /// The name of its file, without the extension.
    pub(super) family: String,
    pub(super) mode: RunMode,
    pub(super) goal: String,
    /// Whether the project is a repository with everything committed.
    pub(super) git: bool,
    /// The content of each file, by path.
    pub(super) files: BTreeMap<String, String>,
    pub(super) checks: Vec<String>,
    pub(super) options: Vec<String>,
    /// A command that determines whether the work is done, independent of any claim.
    pub(super) truth: String,
    pub(super) max_iterations: u32,
    /// The place where the agent hangs, if it does; only the deadline for it is short.
    pub(super) hangs: Option<Hang>,
    pub(super) expect: Expect,
    pub(super) scenes: Scenes,
}

/// The actions of the agent's processes.
#[derive(Clone, Debug, Default)]
pub(super) struct Scenes {
    pub(super) attempt: Vec<Table>,
    pub(super) verify: Vec<Table>,
    pub(super) review: Vec<Table>,
    pub(super) advise: Vec<Table>,
    pub(super) council: Vec<Table>,
}

/// The expected end of a run.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Expect {
    pub(super) outcome: ExpectedOutcome,
    /// Whether the completion is verified; not compared if absent.
    pub(super) verified: Option<bool>,
    /// The number of iterations that an oracle needs.
    pub(super) iterations: u32,
    /// Parts of warnings that the run must print.
    #[serde(default)]
    pub(super) warnings: Vec<String>,
    /// Parts of the feedback that the agent must receive.
    #[serde(default)]
    pub(super) feedback: Vec<String>,
    /// Parts of the prompt of an iteration, by its number.
    #[serde(default)]
    pub(super) prompts: BTreeMap<String, Vec<String>>,
    /// The number of messages sent into running sessions; not compared if absent.
    pub(super) nudges: Option<u32>,
    /// The number of calls per purpose; other purposes are not compared.
    #[serde(default)]
    pub(super) calls: BTreeMap<Purpose, u32>,
    /// The documented exit code of the outcome.
    #[serde(skip)]
    pub(super) exit: Option<i32>,
}

impl Expect {
    /// Returns the expectation for plain loops, which neither verify nor print anything.
    pub(super) fn outcome_alone(&self) -> Self {
        let Self { outcome, iterations, .. } = *self;
        Self {
            outcome,
            iterations,
            verified: None,
            warnings: Vec::new(),
            feedback: Vec::new(),
            prompts: BTreeMap::new(),
            nudges: None,
            calls: BTreeMap::new(),
            exit: None,
        }
    }
}

/// The purpose of a call to the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Purpose {
    Verify,
    Review,
    Advise,
    Council,
}

impl Purpose {
    /// Returns the name in the events of a run.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Verify => "verify",
            Self::Review => "review",
            Self::Advise => "advise",
            Self::Council => "council",
        }
    }
}

/// The place where an agent or a verifier hangs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Hang {
    /// The agent never prints anything.
    Start,
    /// The agent stops printing in the middle.
    Silence,
    /// The agent does not exit after its result.
    Result,
    /// The verifier never gives a verdict.
    Verdict,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RunMode {
    Prompt,
    Loop,
    Iterative,
    Plan,
    Build,
}

/// Reads a file, or all `.toml` files of a folder, in the order of their names.
pub(super) fn read(path: &Path) -> Result<Vec<Behaviour>, String> {
    let trouble = |path: &Path, error| format!("cannot read `{}`: {error}", path.display());
    let mut paths = Vec::new();
    if path.is_dir() {
        for entry in fs::read_dir(path).map_err(|error| trouble(path, error))? {
            paths.push(entry.map_err(|error| trouble(path, error))?.path());
        }
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
        paths.sort();
    } else {
        paths.push(path.to_owned());
    }
    let mut all: Vec<Behaviour> = Vec::new();
    let mut names = BTreeSet::new();
    for path in paths {
        let text = fs::read_to_string(&path).map_err(|error| trouble(&path, error))?;
        for behaviour in parse(&text, &path)? {
            if !names.insert(behaviour.name.clone()) {
                return Err(format!(
                    "cannot use `{}`: two behaviours have the `name` `{}`",
                    path.display(),
                    behaviour.name
                ));
            }
            all.push(behaviour);
        }
    }
    if all.is_empty() {
        return Err(format!("no `[[behaviour]]` in `{}`", path.display()));
    }
    Ok(all)
}

/// Parses the text of a file.
pub(super) fn parse(text: &str, origin: &Path) -> Result<Vec<Behaviour>, String> {
    let named = |what: String| format!("cannot use `{}`: {what}", origin.display());
    let BehaviourFile { project, behaviour } =
        toml::from_str(text).map_err(|error| named(error.to_string()))?;
    behaviour
        .into_iter()
        .map(|raw| {
            let name = raw.name.clone();
            let behaviour = raw.complete(&project);
            let behaviour = behaviour.map_err(|what| named(format!("in `{name}`: {what}")))?;
            let family = origin.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            Ok(Behaviour { family, ..behaviour })
        })
        .collect()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BehaviourFile {
    /// Projects that several behaviors share, by name.
    #[serde(default)]
    project: BTreeMap<String, Project>,
    #[serde(default)]
    behaviour: Vec<Raw>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Project {
    files: BTreeMap<String, String>,
    checks: Vec<String>,
    truth: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    name: String,
    /// A comment for readers of the file.
    #[serde(rename = "about")]
    _about: Option<String>,
    mode: RunMode,
    goal: Option<String>,
    project: Option<String>,
    #[serde(default = "yes")]
    git: bool,
    #[serde(default)]
    files: BTreeMap<String, String>,
    checks: Option<Vec<String>>,
    #[serde(default)]
    options: Vec<String>,
    truth: Option<String>,
    max_iterations: Option<u32>,
    hangs: Option<Hang>,
    expect: Expect,
    #[serde(default)]
    attempt: Vec<Table>,
    #[serde(default)]
    verify: Vec<Table>,
    #[serde(default)]
    review: Vec<Table>,
    #[serde(default)]
    advise: Vec<Table>,
    #[serde(default)]
    council: Vec<Table>,
}

fn yes() -> bool {
    true
}

impl Raw {
    fn complete(self, projects: &BTreeMap<String, Project>) -> Result<Behaviour, String> {
        let project = match &self.project {
            None => Project::default(),
            Some(name) => projects.get(name).cloned().ok_or_else(|| {
                let known: Vec<_> = projects.keys().map(String::as_str).collect();
                format!("`project` is `{name}`; this file has {}", list(&known))
            })?,
        };
        name_is_plain(&self.name)?;
        let mut files = project.files;
        files.extend(self.files);
        if let Some(path) = files.keys().find(|path| !stays_inside(path)) {
            return Err(format!("`{path}` in `files` must be a path inside the project"));
        }
        let max_iterations = self.max_iterations.unwrap_or(ITERATIONS);
        if !(1..=MAX_ITERATIONS).contains(&max_iterations) {
            return Err(format!("`max_iterations` must be from 1 to {MAX_ITERATIONS}"));
        }
        if self.expect.iterations > max_iterations {
            return Err("`expect.iterations` exceeds `max_iterations`".to_owned());
        }
        if self.expect.verified.is_some() && self.expect.outcome != ExpectedOutcome::Completed {
            return Err("`expect.verified` is valid only with the outcome `completed`".to_owned());
        }
        if let Some(number) = self.expect.prompts.keys().find(|number| !is_iteration(number)) {
            return Err(format!(
                "`{number}` in `expect.prompts` has to be the number of an iteration, from 1 to \
                 {MAX_ITERATIONS}"
            ));
        }
        if self.attempt.is_empty() {
            return Err("at least one `[[behaviour.attempt]]` is required".to_owned());
        }
        let strictness = Strictness::of(&self.options);
        let exit = Some(self.expect.outcome.exit_code(strictness));
        let Self { verify, review, advise, council, .. } = self;
        Ok(Behaviour {
            goal: self.goal.unwrap_or_else(|| "Do what README.md says.".to_owned()),
            truth: self.truth.or(project.truth).ok_or("needs a `truth`")?,
            checks: self.checks.unwrap_or(project.checks),
            scenes: Scenes { attempt: self.attempt, verify, review, advise, council },
            name: self.name,
            family: String::new(),
            mode: self.mode,
            git: self.git,
            files,
            options: self.options,
            max_iterations,
            hangs: self.hangs,
            expect: Expect { exit, ..self.expect },
        })
    }
}

/// Checks the name, because it is also the name of a folder.
fn name_is_plain(name: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || !name.chars().all(plain) {
        return Err("`name` may only contain a-z, 0-9 and `-`".to_owned());
    }
    Ok(())
}

fn is_iteration(number: &str) -> bool {
    number.parse().is_ok_and(|number: u32| (1..=MAX_ITERATIONS).contains(&number))
}

fn stays_inside(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    !path.is_empty() && parts.all(|part| matches!(part, Component::Normal(_)))
}

fn list(names: &[&str]) -> String {
    if names.is_empty() { "no `[project.NAME]`".to_owned() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
[project.one]
files = { "README.md" = "one", "a/b.txt" = "b" }
checks = ["sh check.sh"]
truth = "test -e one.txt"

[[behaviour]]
name = "finishes"
mode = "prompt"
project = "one"
files = { "README.md" = "another" }
expect = { outcome = "completed", verified = true, iterations = 1 }
[[behaviour.attempt]]
says = "Done."
"#;

    fn wrong(from: &str, to: &str) -> String {
        assert!(GOOD.contains(from), "{from}");
        parse(&GOOD.replace(from, to), "lies.toml".as_ref()).unwrap_err()
    }

    #[test]
    fn a_behaviour_begins_with_its_project_and_may_differ_from_it() {
        let behaviour = parse(GOOD, "lies.toml".as_ref()).unwrap().remove(0);
        assert_eq!(behaviour.files["README.md"], "another");
        assert_eq!(behaviour.files["a/b.txt"], "b");
        assert_eq!(behaviour.checks, ["sh check.sh"]);
        assert_eq!((behaviour.max_iterations, behaviour.git), (10, true));
        assert_eq!(behaviour.expect.outcome, ExpectedOutcome::Completed);
    }

    #[test]
    fn errors_name_the_file_the_key_and_the_allowed_values() {
        for (from, to, parts) in [
            ("mode = \"prompt\"", "mode = \"promt\"", &["`promt`", "`iterative`"][..]),
            ("\"completed\"", "\"complete\"", &["`complete`", "`stagnated`"]),
            ("verified", "verfied", &["`verfied`", "`verified`"]),
            ("project = \"one\"", "project = \"two\"", &["`finishes`", "`project`", "one"]),
            ("name = \"finishes\"", "name = \"Finishes!\"", &["`name`", "a-z"]),
            ("\"a/b.txt\"", "\"../b.txt\"", &["`../b.txt`", "`files`", "inside the project"]),
            ("mode =", "max_iterations = 0\nmode =", &["`max_iterations`", "from 1 to 50"]),
            ("iterations = 1", "iterations = 11", &["`expect.iterations`"]),
            ("\"completed\"", "\"blocked\"", &["`expect.verified`", "`completed`"]),
            ("mode =", "hangs = \"often\"\nmode =", &["`often`", "`silence`"]),
            (
                "iterations = 1",
                "iterations = 1, prompts = { 0 = [] }",
                &["`0`", "`expect.prompts`"],
            ),
            (
                "iterations = 1",
                "iterations = 1, calls = { advice = 1 }",
                &["`advice`", "`advise`", "`council`"],
            ),
            ("truth = \"test -e one.txt\"", "", &["`truth`"]),
            ("[[behaviour.attempt]]\nsays = \"Done.\"", "", &["`[[behaviour.attempt]]`"]),
        ] {
            let error = wrong(from, to);
            assert!(error.starts_with("cannot use `lies.toml`: "), "{error}");
            for part in parts {
                assert!(error.contains(part), "{part} is not in: {error}");
            }
        }
    }

    /// Uses the error for an unknown key or outcome, which lists all known ones.
    #[test]
    fn every_key_and_every_outcome_is_documented() {
        let page = include_str!("../../../../docs/internals/judgement.md");
        for (from, to) in [
            ("truth =", "thruth ="),
            ("name =", "nmae ="),
            ("verified =", "verfied ="),
            ("\"completed\"", "\"complete\""),
            ("\"prompt\"", "\"promt\""),
            ("mode =", "hangs = \"often\"\nmode ="),
            ("iterations = 1", "iterations = 1, calls = { advice = 1 }"),
        ] {
            let error = wrong(from, to);
            let (_, known) = error.split_once("expected").unwrap_or_else(|| panic!("{error}"));
            let words: Vec<_> = known.split('`').skip(1).step_by(2).collect();
            assert!(words.len() >= 3, "{error}");
            for word in words {
                assert!(
                    page.contains(&format!("`{word}`")),
                    "{word} is not in docs/internals/judgement.md"
                );
            }
        }
    }

    #[test]
    fn the_files_of_this_repository_can_be_read() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("judgement");
        assert!(read(&folder).unwrap().len() >= 45);
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        assert!(read("no/such.toml".as_ref()).unwrap_err().contains("`no/such.toml`"));
    }
}
