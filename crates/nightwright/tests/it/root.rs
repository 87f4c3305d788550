//! The search for the project folder, from where a command is started.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use nightwright_core::run_view::shell_word;

use super::agent_env::NIGHTWRIGHT;
use super::git::git;
use super::harness::{Output, TestEnv, finish};
use super::terminal::Terminal;

const WORKS: &str = r#"
[[attempt]]
steps = [{ run = "echo more >> made.txt" }]
end = { result = "Some of it." }
"#;

/// A command in a folder of the test environment.
fn command(env: &TestEnv, folder: &str, arguments: &[&str]) -> Command {
    let mut command = env.command(arguments);
    command.current_dir(env.path(folder));
    command
}

/// A run of one iteration, started in a folder of the test environment.
fn run(env: &TestEnv, folder: &str, more: &[&str]) -> Output {
    let script = env.script(WORKS);
    let run = ["run", "-p", "x", "-m", "1", "--no-delay", "--dry-run", "--rehearsal", &script];
    finish(command(env, folder, &[&run[..], more].concat()).spawn().unwrap())
}

/// The folders in which the agent worked.
fn worked(env: &TestEnv) -> Vec<PathBuf> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() && !entry.ends_with(".git") {
                walk(&entry, found);
            } else if entry.ends_with("made.txt") {
                found.push(folder.to_owned());
            }
        }
    }
    let mut found = Vec::new();
    for name in ["project", "home"] {
        walk(&env.path(name), &mut found);
    }
    found
}

fn folders(env: &TestEnv, names: &[&str]) {
    for name in names {
        fs::create_dir_all(env.path(name)).unwrap();
    }
}

fn repository(env: &TestEnv, name: &str) {
    folders(env, &[name]);
    git(&env.path(name), &["init", "--quiet", "--initial-branch=main"]);
}

#[test]
fn the_nearest_folder_with_settings_is_the_project_and_the_run_says_so() {
    let env = TestEnv::new();
    repository(&env, "project");
    folders(&env, &["project/.nightwright", "project/a/.nightwright", "project/a/b/c"]);
    let output = run(&env, "project/a/b/c", &[]).exits(0);
    assert_eq!(worked(&env), [env.path("project/a")]);
    let root = env.path("project/a").canonicalize().unwrap();
    let line = format!("Project: `{}` (it has `.nightwright/`)", root.display());
    assert!(output.err.contains(&line), "{}", output.err);
}

#[test]
fn without_settings_the_root_of_the_repository_is_the_project() {
    let env = TestEnv::new();
    repository(&env, "project");
    folders(&env, &["project/a/b"]);
    run(&env, "project/a/b", &[]).exits(0).says(&["(the root of the git repository)"]);
    assert_eq!(worked(&env), [env.project()]);
    // All other commands use the same folder.
    let status = finish(command(&env, "project/a", &["status"]).spawn().unwrap());
    status.exits(0);
}

#[test]
fn in_the_root_or_with_a_name_there_is_no_message() {
    let env = TestEnv::new();
    repository(&env, "project");
    folders(&env, &["project/a"]);
    let output = run(&env, "project", &[]).exits(0);
    assert!(!output.err.contains("Project: "), "{}", output.err);
    let named = env.path("project/a").display().to_string();
    let output = run(&env, "project", &["-C", &named]).exits(0);
    assert!(!output.err.contains("Project: "), "{}", output.err);
    assert_eq!(worked(&env).len(), 2);
}

#[test]
fn without_settings_and_repository_the_current_folder_is_the_project() {
    let env = TestEnv::new();
    folders(&env, &["project/a"]);
    run(&env, "project/a", &[]).exits(0);
    assert_eq!(worked(&env), [env.path("project/a")]);
}

#[test]
fn the_search_stops_at_home() {
    let env = TestEnv::new();
    repository(&env, "home");
    folders(&env, &["home/.nightwright", "home/work/a"]);
    run(&env, "home/work/a", &[]).exits(0);
    assert_eq!(worked(&env), [env.path("home/work/a")]);
}

#[test]
fn a_git_folder_that_is_no_repository_is_ignored() {
    let env = TestEnv::new();
    repository(&env, "project");
    folders(&env, &["project/empty/.git", "project/dangling/a"]);
    fs::write(env.path("project/dangling/.git"), "gitdir: /nowhere/at/all\n").unwrap();
    for folder in ["project/empty", "project/dangling/a"] {
        run(&env, folder, &[]).exits(0).says(&["(the root of the git repository)"]);
        assert_eq!(worked(&env), [env.project()]);
    }
}

#[test]
fn home_is_refused_without_a_terminal_unless_it_is_named() {
    let env = TestEnv::new();
    // The user's settings do not make the home folder a project.
    folders(&env, &["home/.nightwright"]);
    let output = run(&env, "home", &[]).exits(2);
    output.says(&["it is your home folder", "hint: ", "-C "]);
    assert_eq!(worked(&env), [""; 0].map(PathBuf::from));
    let home = env.path("home").display().to_string();
    run(&env, "home", &["-C", &home]).exits(0);
    assert_eq!(worked(&env), [env.path("home")]);
    let init = finish(command(&env, "home", &["init", "--yes"]).spawn().unwrap());
    init.exits(2).says(&["is your home folder"]);
}

#[test]
fn the_root_folder_is_refused_without_a_terminal() {
    let env = TestEnv::new();
    let script = env.script(WORKS);
    let run = ["run", "-p", "x", "-m", "1", "--dry-run", "--rehearsal", &script];
    let mut command = env.command(&run);
    command.current_dir("/");
    finish(command.spawn().unwrap()).exits(2).says(&["it is the root folder"]);
    assert!(!Path::new("/made.txt").exists());
}

#[test]
fn on_a_terminal_home_is_a_question() {
    let env = TestEnv::new();
    let script = shell_word(&env.script(WORKS));
    let run = format!("{NIGHTWRIGHT} run -p x -m 1 --no-delay --dry-run --rehearsal {script}");
    let terminal = Terminal::run(&env, &format!("cd; {run}; echo first=$?; {run}"));
    terminal.shows("Use all of it as the project? [y/N]");
    terminal.types(&["n", "Enter"]);
    terminal.shows("first=2");
    assert!(worked(&env).is_empty());
    terminal.shows_when(|screen| screen.matches("[y/N]").count() == 2);
    terminal.types(&["y", "Enter"]);
    terminal.shows("exit=0");
    assert_eq!(worked(&env), [env.path("home")]);
}

#[test]
fn init_sets_up_a_package_with_its_own_manifest_and_otherwise_the_repository() {
    let env = TestEnv::new();
    repository(&env, "project");
    folders(&env, &["project/packages/api/src", "project/docs"]);
    fs::write(env.path("project/packages/api/package.json"), "{\"name\": \"api\"}").unwrap();
    let init =
        |folder: &str| finish(command(&env, folder, &["init", "--yes"]).spawn().unwrap()).exits(0);
    init("project/packages/api");
    assert!(env.path("project/packages/api/.nightwright/config.toml").exists());
    assert!(!env.path("project/.nightwright").exists());
    init("project/docs").says(&["Project: `", "(the root of the git repository)"]);
    assert!(env.path("project/.nightwright/config.toml").exists());
    // Inside the package, its own settings apply.
    run(&env, "project/packages/api/src", &[]).exits(0);
    assert_eq!(worked(&env), [env.path("project/packages/api")]);
}

#[test]
fn a_package_counts_its_own_files_and_commits_only() {
    let env = TestEnv::new();
    repository(&env, "project");
    let package = env.path("project/api");
    folders(&env, &["project/api/.nightwright", "project/web"]);
    for name in ["api/a.txt", "web/b.txt"] {
        env.file(name, "one\n");
    }
    git(&env.project(), &["add", "--all"]);
    git(&env.project(), &["commit", "--quiet", "-m", "first"]);
    // Two commits, one of them elsewhere in the repository.
    let config = "-c user.name=a -c user.email=a@b";
    let script = env.script(&format!(
        "[[attempt]]\nsteps = [\n\
         {{ run = \"echo two >> ../web/b.txt && git {config} commit --quiet -am elsewhere\" }},\n\
         {{ run = \"echo two >> a.txt && git {config} commit --quiet -am here\" }},\n\
         {{ run = \"echo more >> ../web/b.txt\" }},\n]\nend = {{ result = \"Some of it.\" }}\n"
    ));
    let run = ["run", "-p", "x", "-m", "1", "--no-delay", "--dry-run", "--rehearsal", &script];
    let mut command = env.command(&run);
    command.current_dir(&package);
    finish(command.spawn().unwrap()).exits(0);
    let journal = fs::read_to_string(env.runs()[0].join("journal.jsonl")).unwrap();
    let finished =
        journal.lines().find(|line| line.contains("\"event\":\"iteration_finished\"")).unwrap();
    let finished: serde_json::Value = serde_json::from_str(finished).unwrap();
    assert_eq!((&finished["files_changed"], &finished["commits"]), (&1.into(), &1.into()));
    let mut report = env.command(&["report", "--json"]);
    report.current_dir(&package);
    let report = finish(report.spawn().unwrap()).exits(0).out;
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let listed = report["commits"]["listed"].as_array().unwrap();
    let subjects: Vec<_> = listed.iter().map(|commit| &commit["subject"]).collect();
    assert_eq!(subjects, ["here"], "{report:#}");
}
