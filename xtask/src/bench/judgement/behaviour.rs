//! What an agent does, and how a run with it should end: the files in `xtask/judgement`.
//!
//! `docs/internals/judgement.md` describes the format. Reading a file finds every mistake in it,
//! except mistakes inside a scene: a scene has the rehearsal's own format, and the rehearsal reports
//! them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path};

use serde::Deserialize;
use toml::Table;

use super::ending::{ExpectedOutcome, Strictness};

/// The name of the task in the modes that work on one.
pub(super) const TASK: &str = "work";
/// More iterations than any behaviour needs.
const MAX_ITERATIONS: u32 = 50;
/// What a run of a behaviour may take unless the behaviour says otherwise.
const ITERATIONS: u32 = 10;

/// One agent, and what is to be made of it.
#[derive(Clone, Debug)]
pub(super) struct Behaviour {
    pub(super) name: String,
    pub(super) mode: RunMode,
    pub(super) goal: String,
    /// Whether the project is a repository with everything committed.
    pub(super) git: bool,
    /// Paths and contents.
    pub(super) files: BTreeMap<String, String>,
    pub(super) checks: Vec<String>,
    pub(super) options: Vec<String>,
    /// A command that says whether the work is done, whatever anybody claims.
    pub(super) truth: String,
    pub(super) max_iterations: u32,
    /// Where it hangs, if it does: only that deadline is short.
    pub(super) hangs: Option<Hang>,
    pub(super) expect: Expect,
    pub(super) scenes: Scenes,
}

/// What the processes of the agent do.
#[derive(Clone, Debug, Default)]
pub(super) struct Scenes {
    pub(super) attempt: Vec<Table>,
    pub(super) verify: Vec<Table>,
    pub(super) review: Vec<Table>,
    pub(super) advise: Vec<Table>,
    pub(super) council: Vec<Table>,
}

/// How a run should end.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Expect {
    pub(super) ending: ExpectedOutcome,
    /// Whether completion is proved; without it, it is not asked.
    pub(super) verified: Option<bool>,
    /// As many as somebody needs who can't be fooled.
    pub(super) iterations: u32,
    /// Parts of warnings that people have to see.
    #[serde(default)]
    pub(super) warnings: Vec<String>,
    /// Parts of what the agent has to be told.
    #[serde(default)]
    pub(super) feedback: Vec<String>,
    /// Parts of what it has to be told at the start of an iteration, by its number.
    #[serde(default)]
    pub(super) prompts: BTreeMap<String, Vec<String>>,
    /// How often something is said into a running session; without it, it is not asked.
    pub(super) nudges: Option<u32>,
    /// How many calls of a purpose are made; the others are not asked.
    #[serde(default)]
    pub(super) calls: BTreeMap<Purpose, u32>,
    /// The exit code that is documented for the ending.
    #[serde(skip)]
    pub(super) exit: Option<i32>,
}

impl Expect {
    /// For those that neither prove nor say anything.
    pub(super) fn ending_alone(&self) -> Self {
        let Self { ending, iterations, .. } = *self;
        Self {
            ending,
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

/// What a call is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Purpose {
    Verify,
    Review,
    Advise,
    Council,
}

impl Purpose {
    /// Its name in the events of a run.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Verify => "verify",
            Self::Review => "review",
            Self::Advise => "advise",
            Self::Council => "council",
        }
    }
}

/// Where something hangs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Hang {
    /// The agent never says anything.
    Start,
    /// It falls silent in the middle.
    Silence,
    /// It does not leave after its result.
    Result,
    /// The verifier comes to no verdict.
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
    let trouble = |path: &Path, error| format!("can't read `{}`: {error}", path.display());
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
                    "can't use `{}`: there are two behaviours with the `name` `{}`",
                    path.display(),
                    behaviour.name
                ));
            }
            all.push(behaviour);
        }
    }
    if all.is_empty() {
        return Err(format!("there is no `[[behaviour]]` in `{}`", path.display()));
    }
    Ok(all)
}

/// Reads the text of a file.
pub(super) fn parse(text: &str, origin: &Path) -> Result<Vec<Behaviour>, String> {
    let named = |what: String| format!("can't use `{}`: {what}", origin.display());
    let BehaviourFile { project, behaviour } =
        toml::from_str(text).map_err(|error| named(error.to_string()))?;
    behaviour
        .into_iter()
        .map(|raw| {
            let name = raw.name.clone();
            raw.complete(&project).map_err(|what| named(format!("in `{name}`: {what}")))
        })
        .collect()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BehaviourFile {
    /// What several behaviours begin with.
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
    /// For readers of the file.
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
            return Err(format!("`max_iterations` has to be from 1 to {MAX_ITERATIONS}"));
        }
        if self.expect.iterations > max_iterations {
            return Err("`expect.iterations` is more than `max_iterations`".to_owned());
        }
        if self.expect.verified.is_some() && self.expect.ending != ExpectedOutcome::Completed {
            return Err("`expect.verified` goes with the ending `completed` only".to_owned());
        }
        if let Some(number) = self.expect.prompts.keys().find(|number| !is_iteration(number)) {
            return Err(format!(
                "`{number}` in `expect.prompts` has to be the number of an iteration, from 1 to \
                 {MAX_ITERATIONS}"
            ));
        }
        if self.attempt.is_empty() {
            return Err("needs at least one `[[behaviour.attempt]]`".to_owned());
        }
        let strictness = Strictness::of(&self.options);
        let exit = Some(self.expect.ending.exit_code(strictness));
        let Self { verify, review, advise, council, .. } = self;
        Ok(Behaviour {
            goal: self.goal.unwrap_or_else(|| "Do what README.md says.".to_owned()),
            truth: self.truth.or(project.truth).ok_or("needs a `truth`")?,
            checks: self.checks.unwrap_or(project.checks),
            scenes: Scenes { attempt: self.attempt, verify, review, advise, council },
            name: self.name,
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

/// It is the name of a folder too.
fn name_is_plain(name: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || !name.chars().all(plain) {
        return Err("`name` has to be of a-z, 0-9 and `-`".to_owned());
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
expect = { ending = "completed", verified = true, iterations = 1 }
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
        assert_eq!(behaviour.expect.ending, ExpectedOutcome::Completed);
    }

    #[test]
    fn what_is_wrong_names_the_file_the_key_and_what_is_allowed() {
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
            assert!(error.starts_with("can't use `lies.toml`: "), "{error}");
            for part in parts {
                assert!(error.contains(part), "{part} is not in: {error}");
            }
        }
    }

    /// What is not known is answered with all that is.
    #[test]
    fn every_key_and_every_ending_is_documented() {
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
