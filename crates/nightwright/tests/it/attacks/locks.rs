//! Attempts to start a second run in a project by another way.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use nightwright::store::lock::{Lock, LockOwner};
use nightwright_core::units::RunId;

use crate::git::git;
use crate::harness::{Output, RunningCommand, TestEnv, finish};

/// Waits for the test, then works.
const PATIENT: &str = r#"
[[attempt]]
steps = [{ run = "while [ ! -e go ]; do sleep 0.02; done" }, { write = "a.txt", text = "a" }]
end = { result = "A part of it." }
"#;

const SECOND: &str = "[[attempt]]\nend = { result = \"Hm.\" }\n";

fn start(env: &TestEnv) -> RunningCommand {
    let script = env.script(PATIENT);
    let child = env.start(&["run", "-p", "x", "-m", "1", "--dry-run", "--rehearsal", &script]);
    env.wait_for("agent_ready");
    fs::write(env.path("second.toml"), SECOND).unwrap();
    child
}

/// Starts a run in this folder, with this state folder.
fn second(env: &TestEnv, folder: &str, state: &str) -> Output {
    let (folder, script) = (env.path(folder), env.path("second.toml"));
    let arguments = ["run", "-p", "x", "-m", "1", "--yes", "--dry-run", "--rehearsal"];
    let mut command = env.command(&arguments);
    command.arg(script).arg("-C").arg(folder).env("NIGHTWRIGHT_STATE_DIR", env.path(state));
    finish(command.spawn().unwrap())
}

#[test]
fn a_project_in_use_cannot_be_entered_by_another_way_and_is_free_afterwards() {
    let env = TestEnv::new();
    fs::create_dir_all(env.project().join("sub/.nightwright")).unwrap();
    fs::create_dir_all(env.path(".nightwright")).unwrap();
    let ways = [("project", "other"), ("project/sub", "state"), ("", "state")];
    let child = start(&env);
    for (folder, state) in ways {
        second(&env, folder, state).exits(1).says(&["is in use by"]);
    }
    // The lock file of another state folder would not have noticed.
    fs::create_dir_all(env.path("third")).unwrap();
    let owner = LockOwner::current(RunId("r".to_owned()), jiff::Timestamp::now());
    drop(Lock::take(&env.path("third/project.lock"), &owner).unwrap());
    env.file("go", "");
    finish(child).exits(0);
    for (folder, state) in ways {
        second(&env, folder, state).exits(0);
    }
}

#[test]
fn removed_lock_files_open_no_way_into_a_project_in_use() {
    let env = TestEnv::new();
    let child = start(&env);
    let run = env.runs()[0].clone();
    fs::remove_file(run.join("lock")).unwrap();
    fs::remove_file(run.ancestors().nth(2).unwrap().join("project.lock")).unwrap();
    second(&env, "project", "state").exits(1).says(&["is in use by"]);
    let status = env.run(&["status", "--json"]).exits(0);
    assert!(status.out.contains("\"working\""), "{}", status.out);
    env.run(&["resume"]).exits(1).says(&["is running"]);
    env.file("go", "");
    finish(child).exits(0);
}

#[test]
fn a_bind_mount_is_no_way_into_a_project_in_use() {
    let env = TestEnv::new();
    fs::create_dir(env.path("mounted")).unwrap();
    let child = start(&env);
    let line = format!(
        "mount --bind {} {} || exit 77; exec {} run -C {} -p x -m 1 --yes --dry-run --rehearsal {}",
        env.word("project"),
        env.word("mounted"),
        crate::agent_env::NIGHTWRIGHT,
        env.word("mounted"),
        env.word("second.toml"),
    );
    let mut command = Command::new("unshare");
    command.args(["-rm", "sh", "-c", &line]).env("NIGHTWRIGHT_STATE_DIR", env.path("other"));
    match command.env("HOME", env.path("home")).output() {
        Ok(output) if output.status.code() == Some(1) => {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(said.contains("is in use by") || said.contains("unshare"), "{said}");
        }
        Ok(output) if output.status.success() => panic!("a second run: {output:?}"),
        // This machine allows no mounts.
        other => println!("not tested: {other:?}"),
    }
    env.file("go", "");
    finish(child).exits(0);
}

#[test]
fn a_sibling_and_a_linked_worktree_inside_the_project_can_be_used_at_once() {
    let env = TestEnv::new();
    let project = env.project();
    git(&project, &["init", "--quiet"]);
    env.file("a", "one\n");
    git(&project, &["add", "."]);
    git(&project, &["commit", "--quiet", "-m", "one"]);
    git(&project, &["worktree", "add", "--quiet", "w"]);
    fs::create_dir_all(env.path("sibling/.nightwright")).unwrap();
    let child = start(&env);
    for folder in ["sibling", "project/w"] {
        second(&env, folder, "state").exits(0);
    }
    env.file("go", "");
    finish(child).exits(0);
}

#[test]
fn a_folder_around_the_project_that_another_program_has_locked_stops_no_run() {
    let env = TestEnv::new();
    fs::write(env.path("second.toml"), SECOND).unwrap();
    let mut other = Command::new("flock");
    other.args(["--exclusive", "--no-fork"]).arg(env.path("")).args(["sh", "-c"]);
    let other = other.arg("touch locked; exec cat").current_dir(env.path(""));
    let mut other = other.stdin(Stdio::piped()).spawn().unwrap();
    while !env.path("locked").exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
    second(&env, "project", "state").exits(0).says(&["iteration 1: no changes"]);
    drop(other.stdin.take());
    other.wait().unwrap();
}

#[test]
fn a_detached_run_locks_the_folders_inside_its_project_too() {
    let env = TestEnv::new();
    fs::create_dir_all(env.project().join("sub/.nightwright")).unwrap();
    fs::write(env.path("second.toml"), SECOND).unwrap();
    let script = env.script(PATIENT);
    let run = ["run", "-p", "x", "-m", "1", "--dry-run", "--rehearsal", &script, "--detach"];
    env.run(&run).exits(0);
    env.wait_for("agent_ready");
    second(&env, "project/sub", "state").exits(1).says(&["is in use"]);
    env.file("go", "");
    env.wait_for("run_finished");
}
