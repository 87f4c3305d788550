//! Real projects with the real program: `init` sets them up, the model reads, edits, runs the tests
//! itself and claims, and the project's own test command decides.

use std::path::Path;

use serde_json::json;

use super::{RealEnv, accepted, claim};
use crate::messages_api::scenario::{Scenario, bash, call};
use crate::projects::toolchain::{self, MissingToolchain, Toolchain};
use crate::projects::{Fix, NPM_NODE_TEST, RUST_LIBRARY, TestProject, commit_all, finish, proof};

/// The model reads the file, edits it, runs the tests and says that it is done.
fn works(folder: &Path, project: &TestProject) -> Scenario {
    let Fix { file, old, new } = project.fix;
    let path = folder.join(file);
    accepted(vec![
        call("Read", json!({ "file_path": path })),
        call("Edit", json!({ "file_path": path, "old_string": old, "new_string": new })),
        bash(project.check),
        claim(),
    ])
}

/// Sets a project up and runs it to its end.
fn completes(
    project: &TestProject,
    find: fn(&super::TestEnv) -> Result<Toolchain, MissingToolchain>,
) {
    let Some(real) = RealEnv::begin_in(|folder| works(folder, project)) else { return };
    project.unpack(&real.env);
    let toolchain = match find(&real.env) {
        Ok(toolchain) => toolchain,
        Err(MissingToolchain(why)) => {
            toolchain::skipped(project.name, &why);
            return real.skip();
        }
    };
    commit_all(&real.env);
    let run = |arguments: &[&str]| {
        let mut command = real.command(arguments);
        toolchain.add_to(&mut command);
        finish(command.spawn().unwrap())
    };
    run(&["init", "--yes"]).exits(0).says(&[project.check]);
    let goal = ["run", "-p", "make the tests pass", "-m", "3", "--no-delay"];
    let output = run(&goal).exits(0).says(&["verified"]);
    real.assert_no_process_is_alive();
    assert_eq!(proof(&real.outcome()), "checks", "{}", output.err);
    let asked = real.asked_for_work();
    let results = asked.last().unwrap().tool_results();
    assert!(results.iter().all(|(_, failed)| !failed), "the agent was kept from it: {results:?}");
    assert_eq!(real.iterations().len(), 1);
}

#[test]
fn a_rust_library() {
    completes(&RUST_LIBRARY, toolchain::cargo);
}

#[test]
fn npm_with_the_test_runner_of_node() {
    completes(&NPM_NODE_TEST, toolchain::node);
}
