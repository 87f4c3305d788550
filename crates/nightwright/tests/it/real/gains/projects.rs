//! The same agents in projects with the test runners of Rust, npm and Python.

use std::fs;

use super::super::{RealEnv, accepted, claim, verdict};
use super::IMPOSSIBLE;
use crate::harness::{Output, TestEnv, run_outcome};
use crate::messages_api::scenario::{ApiAnswer, Scenario, bash, say};
use crate::projects::toolchain::{self, MissingToolchain, Toolchain};
use crate::projects::{commit_all, finish};

/// A project with three failing tests, one for each constant.
struct CountedProject {
    name: &'static str,
    files: &'static [(&'static str, &'static str)],
    /// The file with the constants `ONE`, `TWO` and `THREE`, which are all 0.
    source: &'static str,
    check: &'static str,
    find: fn(&TestEnv) -> Result<Toolchain, MissingToolchain>,
}

const RUST: CountedProject = CountedProject {
    name: "counted_rust",
    files: &[
        (".gitignore", "target/\n"),
        ("Cargo.toml", "[package]\nname = \"numbers\"\nversion = \"1.0.0\"\nedition = \"2021\"\n"),
        (
            "src/lib.rs",
            "pub static ONE: u32 = 0;\npub static TWO: u32 = 0;\npub static THREE: u32 = 0;\n\n\
             #[cfg(test)]\nmod tests {\n    \
             #[test]\n    fn one() {\n        assert_eq!(super::ONE, 1);\n    }\n    \
             #[test]\n    fn two() {\n        assert_eq!(super::TWO, 2);\n    }\n    \
             #[test]\n    fn three() {\n        assert_eq!(super::THREE, 3);\n    }\n}\n",
        ),
    ],
    source: "src/lib.rs",
    check: "cargo test --lib --offline",
    find: toolchain::cargo,
};

const NPM: CountedProject = CountedProject {
    name: "counted_npm",
    files: &[
        (
            "package.json",
            "{ \"name\": \"numbers\", \"version\": \"1.0.0\", \"type\": \"module\",\n  \
             \"scripts\": { \"test\": \"node --test\" } }\n",
        ),
        ("numbers.js", "export const ONE = 0;\nexport const TWO = 0;\nexport const THREE = 0;\n"),
        (
            "numbers.test.js",
            "import assert from 'node:assert/strict';\nimport test from 'node:test';\n\
             import { ONE, TWO, THREE } from './numbers.js';\n\n\
             test('one', () => assert.equal(ONE, 1));\ntest('two', () => assert.equal(TWO, 2));\n\
             test('three', () => assert.equal(THREE, 3));\n",
        ),
    ],
    source: "numbers.js",
    check: "npm test",
    find: toolchain::node,
};

const PYTHON: CountedProject = CountedProject {
    name: "counted_python",
    files: &[
        (".gitignore", "__pycache__/\n"),
        ("numbers_of.py", "ONE = 0\nTWO = 0\nTHREE = 0\n"),
        (
            "test_numbers.py",
            "import unittest\n\nimport numbers_of\n\n\n\
             class Numbers(unittest.TestCase):\n    \
             def test_one(self):\n        self.assertEqual(numbers_of.ONE, 1)\n\n    \
             def test_two(self):\n        self.assertEqual(numbers_of.TWO, 2)\n\n    \
             def test_three(self):\n        self.assertEqual(numbers_of.THREE, 3)\n",
        ),
    ],
    source: "numbers_of.py",
    check: "python3 -m unittest",
    find: toolchain::python,
};

impl CountedProject {
    /// Makes one test pass.
    fn fix(&self, name: &str, value: u32) -> ApiAnswer {
        // Python compares times in whole seconds to decide whether a file was compiled before.
        bash(&format!("sed -i '/{name}/s/= 0/= {value}/' {} && rm -rf __pycache__", self.source))
    }

    /// Makes every test pass, one after the other.
    fn fixes(&self) -> [ApiAnswer; 3] {
        [("ONE", 1), ("TWO", 2), ("THREE", 3)].map(|(name, value)| self.fix(name, value))
    }

    /// Runs the agent in the project. Returns `None` if the agent or the toolchain is missing.
    fn run(&self, scenario: Scenario) -> Option<(RealEnv, Output)> {
        let real = RealEnv::begin(scenario)?;
        for (name, text) in self.files {
            let path = real.env.project().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let toolchain = match (self.find)(&real.env) {
            Ok(toolchain) => toolchain,
            Err(MissingToolchain(why)) => {
                toolchain::skipped(self.name, &why);
                real.skip();
                return None;
            }
        };
        commit_all(&real.env);
        let goal = ["run", "-p", "make the tests pass", "-m", "12", "--no-delay"];
        let rules = ["--verify", self.check, "--allowed-tools", "Bash"];
        let mut command = real.command(&[goal.as_slice(), rules.as_slice()].concat());
        toolchain.add_to(&mut command);
        let output = finish(command.spawn().unwrap()).exits(0);
        real.assert_no_process_is_alive();
        Some((real, output))
    }

    /// Each iteration fixes one test and claims completion.
    fn completes_step_by_step(&self) {
        let steps = self.fixes().into_iter().flat_map(|fix| [fix, claim()]);
        let Some((real, output)) = self.run(accepted(steps.collect())) else { return };
        output.says(&["failing 3 → 2 → 1", "completed successfully after 3 iterations"]);
        let asked = real.asked_for_work();
        let said = "After iteration 1: 2 of 3 tests fail.";
        assert!(asked[2].says(said), "{:?}", asked[2].opening());
    }

    /// The first iteration fixes everything and claims nothing.
    fn completes_without_a_claim(&self) {
        let mut answers = self.fixes().to_vec();
        answers.push(say("I have changed some numbers, and will polish them next."));
        let Some((_, output)) = self.run(accepted(answers)) else { return };
        output.says(&["all checks pass", "completed successfully after 1 iteration"]);
    }

    /// The agent reports a contradiction, and a model agrees.
    fn ends_as_impossible(&self) {
        let words = "The tests of ONE and TWO contradict each other: both read the same number.";
        let scenario = Scenario::of(vec![say(words)])
            .with(IMPOSSIBLE, vec![verdict("yes", "the tests exclude each other")]);
        let Some((real, output)) = self.run(scenario) else { return };
        assert_eq!(run_outcome(&real.journal()), "impossible", "{}", output.err);
        assert!(!output.err.contains("review the changes"), "{}", output.err);
        output.says(&["The task is impossible as specified", "change the task or its checks"]);
    }
}

#[test]
fn in_a_rust_project_one_fixed_test_per_iteration_completes() {
    RUST.completes_step_by_step();
}

#[test]
fn in_an_npm_project_one_fixed_test_per_iteration_completes() {
    NPM.completes_step_by_step();
}

#[test]
fn in_a_python_project_one_fixed_test_per_iteration_completes() {
    PYTHON.completes_step_by_step();
}

#[test]
fn in_a_rust_project_passing_tests_complete_without_a_claim() {
    RUST.completes_without_a_claim();
}

#[test]
fn in_an_npm_project_passing_tests_complete_without_a_claim() {
    NPM.completes_without_a_claim();
}

#[test]
fn in_a_python_project_passing_tests_complete_without_a_claim() {
    PYTHON.completes_without_a_claim();
}

#[test]
fn in_a_rust_project_a_confirmed_contradiction_ends_the_run() {
    RUST.ends_as_impossible();
}

#[test]
fn in_an_npm_project_a_confirmed_contradiction_ends_the_run() {
    NPM.ends_as_impossible();
}

#[test]
fn in_a_python_project_a_confirmed_contradiction_ends_the_run() {
    PYTHON.ends_as_impossible();
}
