//! The real agent program in a sandbox: its tools work there, and everything else is out of reach.

use std::fs;
use std::path::Path;

use serde_json::json;

use super::{RealEnv, accepted, claim, installed};
use crate::git::git;
use crate::harness::{Output, finish};
use crate::messages_api::scenario::{bash, call};
use crate::sandbox::is_usable;

/// Runs the goal in a sandbox that shows the installed program.
fn run(real: &RealEnv) -> Output {
    let packages = installed().unwrap();
    let packages = packages.ancestors().nth(3).unwrap().display().to_string();
    let arguments = ["run", "--prompt", "write it", "--no-delay", "-m", "2", "--sandbox", "bwrap"];
    let mut command = real.command(&arguments);
    command.env("NIGHTWRIGHT_SANDBOX_READ", packages);
    finish(command.spawn().unwrap())
}

fn prepare(real: &RealEnv) {
    let home = real.env.path("home");
    fs::write(home.join(".gitconfig"), "[user]\n\tname = Jo\n\temail = jo@example.com\n").unwrap();
    fs::write(home.join("secret"), "the-secret-of-the-user").unwrap();
    git(&real.env.project(), &["init", "--quiet", "--initial-branch=main"]);
}

#[test]
fn edits_commands_and_commits_work_without_a_permission_and_the_home_is_out_of_reach() {
    if !is_usable() {
        return;
    }
    let scenario = |project: &Path| {
        let secret = project.with_file_name("home").join("secret");
        let file = project.join("b.txt").display().to_string();
        accepted(vec![
            call("Write", json!({ "file_path": file, "content": "one\n" })),
            call("Edit", json!({ "file_path": file, "old_string": "one", "new_string": "two" })),
            bash("curl --version >/dev/null; echo from-bash > c.txt; rm -rf /tmp/x; ls -a ~"),
            bash(&format!("cat {}; echo evil > .git/hooks/pre-commit", secret.display())),
            bash("git add -A && git commit -q -m inside && git log --format=%s"),
            claim(),
        ])
    };
    let Some(real) = RealEnv::begin_in(scenario) else { return };
    prepare(&real);
    let output = run(&real);
    real.assert_no_process_is_alive();
    assert_eq!(real.outcome().name(), "completed", "{}", output.err);
    assert!(output.err.contains("Sandbox: bwrap."), "{}", output.err);
    assert_eq!(real.read("b.txt").as_deref(), Some("two\n"));
    assert_eq!(real.read("c.txt").as_deref(), Some("from-bash\n"));
    let log = git(&real.env.project(), &["log", "--format=%an %s", "--name-only"]);
    assert_eq!(log.trim(), "Jo inside\n\nb.txt\nc.txt");
    assert!(!real.env.project().join(".git/hooks/pre-commit").exists());
    let asked = real.asked_for_work();
    assert!(!asked.iter().any(|request| request.body.to_string().contains("the-secret-of")));
    assert!(asked.iter().any(|request| request.body.to_string().contains("No such file")));
}
