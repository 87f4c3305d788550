//! Whole runs in small but real projects, by the commands that `init` finds in them.
//!
//! A project is a text file in `projects/`: `-- path --` begins each of its files. One of its tests
//! fails. `nightwright init --yes` sets the project up, and the rehearsal agent fixes the test with
//! a real edit. The run must complete because the project's own test command passed. Two of the
//! projects are also run with the real agent program, in `real::projects`.
//!
//! The tests need the toolchains of the projects, and no network. `cargo xtask test` installs the
//! toolchains, pinned in `projects/vitest` and `projects/pytest`, into `nightwright-tests` in the
//! user's cache folder. `NIGHTWRIGHT_TEST_TOOLCHAINS_DIR` selects another folder. A test whose
//! toolchain is missing reports that and tests nothing. The test command counts the others by the
//! files that they leave in the folder `NIGHTWRIGHT_TEST_TALLY`.

pub(crate) mod toolchain;

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use nightwright_core::event::{Event, RunEvent};
use nightwright_core::outcome::Outcome;

use self::toolchain::{MissingToolchain, Toolchain};
use super::git::git;
use super::harness::{Output, RunningCommand, TestEnv, finish_within};
use super::sandbox::is_usable;

/// A run consists of a baseline, an edit and a gate, each with a compiler on a shared machine.
const TEST_TIMEOUT: Duration = Duration::from_mins(4);

/// Waits for the end of a command that may run compilers.
pub(crate) fn finish(child: impl Into<RunningCommand>) -> Output {
    finish_within(child, TEST_TIMEOUT)
}

/// A project, the command that `init` finds in it, and the edit that makes its tests pass.
pub(crate) struct TestProject {
    pub(crate) name: &'static str,
    pub(crate) archive: &'static str,
    pub(crate) check: &'static str,
    pub(crate) fix: Fix,
}

/// A text that occurs once in a file, and its replacement.
pub(crate) struct Fix {
    pub(crate) file: &'static str,
    pub(crate) old: &'static str,
    pub(crate) new: &'static str,
}

pub(crate) const RUST_LIBRARY: TestProject = TestProject {
    name: "rust_library",
    archive: include_str!("projects/rust_library.txt"),
    check: "cargo test",
    fix: Fix {
        file: "src/lib.rs",
        old: r#"[(10, "X"), (5, "V"), (1, "I")]"#,
        new: r#"[(10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")]"#,
    },
};

const CARGO_WORKSPACE: TestProject = TestProject {
    name: "cargo_workspace",
    archive: include_str!("projects/cargo_workspace.txt"),
    check: "cargo test --workspace",
    fix: Fix { file: "units/src/lib.rs", old: "bytes / 1024", new: "bytes.div_ceil(1024)" },
};

pub(crate) const NPM_NODE_TEST: TestProject = TestProject {
    name: "npm_node_test",
    archive: include_str!("projects/npm_node_test.txt"),
    check: "npm test",
    fix: Fix {
        file: "src/slug.js",
        old: ".replaceAll(' ', '-')",
        new: ".replace(/[^a-z0-9 ]/g, '').replaceAll(' ', '-')",
    },
};

const NPM_VITEST: TestProject = TestProject {
    name: "npm_vitest",
    archive: include_str!("projects/npm_vitest.txt"),
    check: "npm test",
    fix: Fix { file: "src/cart.ts", old: "sum + item.price", new: "sum + item.price * item.count" },
};

const PYTHON_PYTEST: TestProject = TestProject {
    name: "python_pytest",
    archive: include_str!("projects/python_pytest.txt"),
    check: ".venv/bin/python -m pytest",
    fix: Fix { file: "wordcount/__init__.py", old: "text.split()", new: "text.lower().split()" },
};

const GO: TestProject = TestProject {
    name: "go",
    archive: include_str!("projects/go.txt"),
    check: "go test ./...",
    fix: Fix {
        file: "stack.go",
        old: "\tword := s.words[last]",
        new: "\tif last < 0 {\n\t\treturn \"\", false\n\t}\n\tword := s.words[last]",
    },
};

const MAKE_C: TestProject = TestProject {
    name: "make_c",
    archive: include_str!("projects/make_c.txt"),
    check: "make test",
    fix: Fix { file: "rle.c", old: " && length < 2", new: "" },
};

const MONOREPO: TestProject = TestProject {
    name: "monorepo",
    archive: include_str!("projects/monorepo.txt"),
    check: "npm test",
    fix: Fix { file: "tax.js", old: "1.9", new: "1.19" },
};

const WITHOUT_TESTS: TestProject = TestProject {
    name: "without_tests",
    archive: include_str!("projects/without_tests.txt"),
    check: "",
    fix: Fix { file: "index.html", old: "Helo", new: "Hello" },
};

const WITHOUT_GIT: TestProject = TestProject {
    name: "without_git",
    archive: include_str!("projects/without_git.txt"),
    check: "python3 -m unittest discover -s tests",
    fix: Fix {
        file: "leap.py",
        old: "year % 4 == 0",
        new: "year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)",
    },
};

impl TestProject {
    /// Writes the files of the project.
    pub(crate) fn unpack(&self, env: &TestEnv) {
        for file in self.archive.split("\n-- ") {
            let (name, text) = file.trim_start_matches("-- ").split_once(" --\n").unwrap();
            let path = env.project().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{}\n", text.trim_end_matches('\n'))).unwrap();
        }
    }

    /// A script for the rehearsal agent: the edit, and the claim that all is done.
    fn script(&self) -> String {
        let Fix { file, old, new } = self.fix;
        format!(
            "[[attempt]]\nsteps = [\n  {{ read = '{file}' }},\n  \
             {{ edit = '{file}', old = '''{old}''', new = '''{new}''' }},\n]\n\
             end = {{ result = \"Fixed.\\n<promise>COMPLETE</promise>\" }}\n"
        )
    }
}

/// Commits everything in a new repository.
pub(crate) fn commit_all(env: &TestEnv) {
    git(&env.project(), &["init", "--quiet", "--initial-branch=main"]);
    git(&env.project(), &["add", "--all"]);
    git(&env.project(), &["commit", "--quiet", "-m", "first"]);
}

/// The proof of a completion, by its name in the events.
pub(crate) fn proof(outcome: &Outcome) -> String {
    let value = serde_json::to_value(outcome).unwrap();
    value["proof"].as_str().unwrap_or_else(|| panic!("not completed: {value}")).to_owned()
}

/// A test project with its toolchain installed.
struct ProjectTrial<'a> {
    project: &'a TestProject,
    env: TestEnv,
    toolchain: Toolchain,
    /// The folder in which the commands run.
    folder: PathBuf,
    /// The kind of the sandbox.
    sandbox: &'static str,
}

impl<'a> ProjectTrial<'a> {
    /// Returns `None` if the toolchain is missing.
    fn new(
        project: &'a TestProject,
        find: fn(&TestEnv) -> Result<Toolchain, MissingToolchain>,
    ) -> Option<Self> {
        let env = TestEnv::new();
        project.unpack(&env);
        match find(&env) {
            Ok(toolchain) => {
                Some(Self { project, folder: env.project(), env, toolchain, sandbox: "off" })
            }
            Err(MissingToolchain(why)) => {
                toolchain::skipped(project.name, &why);
                None
            }
        }
    }

    /// Commits the project to a new Git repository.
    fn committed(self) -> Self {
        commit_all(&self.env);
        self
    }

    /// Runs the commands in a folder of the project.
    fn typed_in(mut self, folder: &str) -> Self {
        self.folder = self.env.project().join(folder);
        self
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.env.command(arguments);
        command.current_dir(&self.folder).env("NIGHTWRIGHT_SANDBOX", self.sandbox);
        self.toolchain.add_to(&mut command);
        command
    }

    fn in_sandbox(self) -> Self {
        Self { sandbox: "bwrap", ..self }
    }

    fn init(&self) -> Output {
        finish(self.command(&["init", "--yes"]).spawn().unwrap()).exits(0)
    }

    /// Runs the rehearsal agent until it has made the edit and the gate has decided.
    fn run(&self) -> Output {
        let script = self.env.script(&self.project.script());
        let arguments = ["run", "-p", "make the tests pass", "-m", "3", "--no-delay"];
        let arguments = [&arguments[..], &["--dry-run", "--rehearsal", &script]].concat();
        finish(self.command(&arguments).spawn().unwrap())
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.folder.join(file)).unwrap()
    }

    /// The proof of the completion, from the journal.
    fn proof(&self) -> String {
        match self.env.journal().last().map(|record| &record.event) {
            Some(Event::Run(RunEvent::Finished { outcome, .. })) => proof(outcome),
            other => panic!("the last event is {other:?}"),
        }
    }

    /// Checks that `init` finds the test command, and that the run completes because it passes.
    #[track_caller]
    fn completes(&self) -> Output {
        let TestProject { check, fix, .. } = self.project;
        self.init().says(&[check]);
        let set = format!("commands = [\"{check}\"]");
        let config = self.read(".nightwright/config.toml");
        assert!(config.contains(&set), "no `{set}` in\n{config}");
        let output = self.run().exits(0);
        assert_eq!(self.proof(), "checks", "{}", output.err);
        assert!(output.err.contains("verified"), "{}", output.err);
        assert!(self.read(fix.file).contains(fix.new));
        self.leaves_nothing();
        output
    }

    /// Checks that the temporary folder is empty, and counts the test.
    fn leaves_nothing(&self) {
        let left: Vec<_> = fs::read_dir(self.env.path("tmp"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert!(left.is_empty(), "{left:?} are left in the temporary folder");
        toolchain::count(self.project.name);
    }

    /// Returns the changes that Git reports, without the folder of nightwright.
    fn changed(&self) -> Vec<String> {
        let status = git(&self.env.project(), &["status", "--porcelain", "-uall"]);
        let lines = status.lines().map(|line| line.trim().to_owned());
        lines.filter(|line| !line.contains(".nightwright/")).collect()
    }
}

#[test]
fn a_rust_library_with_doc_tests() {
    let Some(trial) = ProjectTrial::new(&RUST_LIBRARY, toolchain::cargo) else { return };
    let trial = trial.committed();
    trial.completes();
    assert_eq!(trial.changed(), ["M src/lib.rs"]);
}

#[test]
fn a_cargo_workspace() {
    let Some(trial) = ProjectTrial::new(&CARGO_WORKSPACE, toolchain::cargo) else { return };
    trial.committed().completes();
}

#[test]
fn npm_with_the_test_runner_of_node() {
    let Some(trial) = ProjectTrial::new(&NPM_NODE_TEST, toolchain::node) else { return };
    let trial = trial.committed();
    trial.completes();
    assert_eq!(trial.changed(), ["M src/slug.js"]);
}

#[test]
fn npm_with_vitest() {
    let Some(trial) = ProjectTrial::new(&NPM_VITEST, toolchain::vitest) else { return };
    let trial = trial.committed();
    trial.completes();
    assert_eq!(trial.changed(), ["M src/cart.ts"]);
}

#[test]
fn python_with_pytest_in_an_environment_that_is_not_activated() {
    let Some(trial) = ProjectTrial::new(&PYTHON_PYTEST, toolchain::pytest) else { return };
    let trial = trial.committed();
    trial.completes();
    assert_eq!(trial.changed(), ["M wordcount/__init__.py"]);
}

#[test]
fn go() {
    let Some(trial) = ProjectTrial::new(&GO, toolchain::go) else { return };
    let trial = trial.committed();
    trial.completes();
    assert_eq!(trial.changed(), ["M stack.go"]);
}

#[test]
fn make_and_c() {
    let Some(trial) = ProjectTrial::new(&MAKE_C, toolchain::c) else { return };
    let trial = trial.committed();
    trial.completes();
    assert_eq!(trial.changed(), ["M rle.c"]);
}

#[test]
fn a_package_of_a_monorepo_leaves_the_others_alone() {
    let Some(trial) = ProjectTrial::new(&MONOREPO, toolchain::node) else { return };
    let trial = trial.committed().typed_in("services/billing");
    trial.env.file("services/web/index.js", "console.log('half done');\n");
    trial.completes();
    assert!(!trial.env.project().join(".nightwright").exists(), "the whole repository is set up");
    assert_eq!(trial.changed(), ["M services/billing/tax.js", "M services/web/index.js"]);
}

#[test]
fn a_project_without_tests_is_judged_by_a_model_and_never_called_verified() {
    let Some(trial) = ProjectTrial::new(&WITHOUT_TESTS, toolchain::none) else { return };
    let trial = trial.committed();
    trial.init().says(&["only a model judges"]);
    let output = trial.run().exits(0).says(&["judged complete by a model"]);
    assert_eq!(trial.proof(), "model");
    let report = finish(trial.command(&["report"]).spawn().unwrap()).exits(0);
    let status = finish(trial.command(&["status"]).spawn().unwrap());
    for text in [&output.err, &output.out, &report.out, &status.out, &status.err] {
        assert!(!text.to_lowercase().contains("verified"), "{text}");
    }
    trial.leaves_nothing();
}

/// Runs a project in a sandbox, with the default settings.
#[track_caller]
fn completes_in_a_sandbox(
    project: &TestProject,
    find: fn(&TestEnv) -> Result<Toolchain, MissingToolchain>,
    changed: &str,
) {
    if !is_usable() {
        return;
    }
    let Some(trial) = ProjectTrial::new(project, find) else { return };
    let trial = trial.committed().in_sandbox();
    let output = trial.completes();
    assert!(output.err.contains("Sandbox: bwrap."), "{}", output.err);
    assert_eq!(trial.changed(), [changed]);
}

#[test]
fn a_rust_library_in_a_sandbox() {
    completes_in_a_sandbox(&RUST_LIBRARY, toolchain::cargo, "M src/lib.rs");
}

#[test]
fn npm_with_the_test_runner_of_node_in_a_sandbox() {
    completes_in_a_sandbox(&NPM_NODE_TEST, toolchain::node, "M src/slug.js");
}

#[test]
fn python_with_pytest_in_a_sandbox() {
    completes_in_a_sandbox(&PYTHON_PYTEST, toolchain::pytest, "M wordcount/__init__.py");
}

#[test]
fn make_and_c_in_a_sandbox() {
    completes_in_a_sandbox(&MAKE_C, toolchain::c, "M rle.c");
}

#[test]
fn a_package_of_a_monorepo_in_a_sandbox() {
    if !is_usable() {
        return;
    }
    let Some(trial) = ProjectTrial::new(&MONOREPO, toolchain::node) else { return };
    let trial = trial.committed().typed_in("services/billing").in_sandbox();
    trial.completes();
    assert_eq!(trial.changed(), ["M services/billing/tax.js"]);
}

#[test]
fn a_folder_without_git() {
    let Some(trial) = ProjectTrial::new(&WITHOUT_GIT, toolchain::python) else { return };
    trial.completes();
}
