//! Which folder is the project, found from where a command is started.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::git::git;
use super::harness::{Did, Hermit, finish};
use super::stage::NIGHTWRIGHT;
use super::terminal::Terminal;

const WORKS: &str = r#"
[[attempt]]
steps = [{ run = "echo more >> made.txt" }]
ending = { result = "Some of it." }
"#;

/// A command that is started in a folder of the hermit's.
fn command(hermit: &Hermit, folder: &str, arguments: &[&str]) -> Command {
    let mut command = hermit.command(arguments);
    command.current_dir(hermit.path(folder));
    command
}

/// A run of one iteration, started in a folder of the hermit's.
fn run(hermit: &Hermit, folder: &str, more: &[&str]) -> Did {
    let script = hermit.script(WORKS);
    let run = ["run", "-p", "x", "-m", "1", "--no-delay", "--dry-run", "--rehearsal", &script];
    finish(command(hermit, folder, &[&run[..], more].concat()).spawn().unwrap())
}

/// Where the agent worked.
fn worked(hermit: &Hermit) -> Vec<PathBuf> {
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
        walk(&hermit.path(name), &mut found);
    }
    found
}

fn folders(hermit: &Hermit, names: &[&str]) {
    for name in names {
        fs::create_dir_all(hermit.path(name)).unwrap();
    }
}

fn repository(hermit: &Hermit, name: &str) {
    folders(hermit, &[name]);
    git(&hermit.path(name), &["init", "--quiet", "--initial-branch=main"]);
}

#[test]
fn the_nearest_folder_with_settings_is_the_project_and_the_run_says_so() {
    let hermit = Hermit::new();
    repository(&hermit, "project");
    folders(&hermit, &["project/.nightwright", "project/a/.nightwright", "project/a/b/c"]);
    let did = run(&hermit, "project/a/b/c", &[]).exits(0);
    assert_eq!(worked(&hermit), [hermit.path("project/a")]);
    let root = hermit.path("project/a").canonicalize().unwrap();
    let line = format!("Project: `{}` (it has `.nightwright/`)", root.display());
    assert!(did.err.contains(&line), "{}", did.err);
}

#[test]
fn without_settings_the_root_of_the_repository_is_the_project() {
    let hermit = Hermit::new();
    repository(&hermit, "project");
    folders(&hermit, &["project/a/b"]);
    run(&hermit, "project/a/b", &[]).exits(0).says(&["(the root of the git repository)"]);
    assert_eq!(worked(&hermit), [hermit.project()]);
    // Every other command means the same folder.
    let status = finish(command(&hermit, "project/a", &["status"]).spawn().unwrap());
    status.exits(0);
}

#[test]
fn in_the_root_itself_or_with_a_name_nothing_is_said() {
    let hermit = Hermit::new();
    repository(&hermit, "project");
    folders(&hermit, &["project/a"]);
    let did = run(&hermit, "project", &[]).exits(0);
    assert!(!did.err.contains("Project: "), "{}", did.err);
    let named = hermit.path("project/a").display().to_string();
    let did = run(&hermit, "project", &["-C", &named]).exits(0);
    assert!(!did.err.contains("Project: "), "{}", did.err);
    assert_eq!(worked(&hermit).len(), 2);
}

#[test]
fn without_settings_and_repository_the_current_folder_is_the_project() {
    let hermit = Hermit::new();
    folders(&hermit, &["project/a"]);
    run(&hermit, "project/a", &[]).exits(0);
    assert_eq!(worked(&hermit), [hermit.path("project/a")]);
}

#[test]
fn the_search_stops_at_home() {
    let hermit = Hermit::new();
    repository(&hermit, "home");
    folders(&hermit, &["home/.nightwright", "home/work/a"]);
    run(&hermit, "home/work/a", &[]).exits(0);
    assert_eq!(worked(&hermit), [hermit.path("home/work/a")]);
}

#[test]
fn a_git_folder_that_is_no_repository_is_ignored() {
    let hermit = Hermit::new();
    repository(&hermit, "project");
    folders(&hermit, &["project/empty/.git", "project/dangling/a"]);
    fs::write(hermit.path("project/dangling/.git"), "gitdir: /nowhere/at/all\n").unwrap();
    for folder in ["project/empty", "project/dangling/a"] {
        run(&hermit, folder, &[]).exits(0).says(&["(the root of the git repository)"]);
        assert_eq!(worked(&hermit), [hermit.project()]);
    }
}

#[test]
fn home_is_refused_without_a_terminal_unless_it_is_named() {
    let hermit = Hermit::new();
    // Its settings don't make it a project either.
    folders(&hermit, &["home/.nightwright"]);
    let did = run(&hermit, "home", &[]).exits(2);
    did.says(&["is your home folder, and no project was named", "hint: ", "-C "]);
    assert_eq!(worked(&hermit), [""; 0].map(PathBuf::from));
    let home = hermit.path("home").display().to_string();
    run(&hermit, "home", &["-C", &home]).exits(0);
    assert_eq!(worked(&hermit), [hermit.path("home")]);
    let init = finish(command(&hermit, "home", &["init", "--yes"]).spawn().unwrap());
    init.exits(2).says(&["is your home folder"]);
}

#[test]
fn the_root_folder_is_refused_without_a_terminal() {
    let hermit = Hermit::new();
    let script = hermit.script(WORKS);
    let run = ["run", "-p", "x", "-m", "1", "--dry-run", "--rehearsal", &script];
    let mut command = hermit.command(&run);
    command.current_dir("/");
    finish(command.spawn().unwrap()).exits(2).says(&["`/` is the root folder"]);
    assert!(!Path::new("/made.txt").exists());
}

#[test]
fn on_a_terminal_home_is_a_question() {
    let hermit = Hermit::new();
    let script = hermit.script(WORKS);
    let run = format!("{NIGHTWRIGHT} run -p x -m 1 --no-delay --dry-run --rehearsal {script}");
    let terminal = Terminal::run(&hermit, &format!("cd; {run}; echo first=$?; {run}"));
    terminal.shows("Use all of it as the project? [y/n]");
    terminal.types(&["n", "Enter"]);
    terminal.shows("first=2");
    assert!(worked(&hermit).is_empty());
    terminal.shows_when(|screen| screen.matches("[y/n]").count() == 2);
    terminal.types(&["y", "Enter"]);
    terminal.shows("exit=0");
    assert_eq!(worked(&hermit), [hermit.path("home")]);
}

#[test]
fn init_sets_up_a_package_with_its_own_manifest_and_otherwise_the_repository() {
    let hermit = Hermit::new();
    repository(&hermit, "project");
    folders(&hermit, &["project/packages/api/src", "project/docs"]);
    fs::write(hermit.path("project/packages/api/package.json"), "{\"name\": \"api\"}").unwrap();
    let init = |folder: &str| {
        finish(command(&hermit, folder, &["init", "--yes"]).spawn().unwrap()).exits(0)
    };
    init("project/packages/api");
    assert!(hermit.path("project/packages/api/.nightwright/config.toml").exists());
    assert!(!hermit.path("project/.nightwright").exists());
    init("project/docs").says(&["Project: `", "(the root of the git repository)"]);
    assert!(hermit.path("project/.nightwright/config.toml").exists());
    // From inside the package its own settings hold.
    run(&hermit, "project/packages/api/src", &[]).exits(0);
    assert_eq!(worked(&hermit), [hermit.path("project/packages/api")]);
}

#[test]
fn a_package_counts_its_own_files_and_commits_only() {
    let hermit = Hermit::new();
    repository(&hermit, "project");
    let package = hermit.path("project/api");
    folders(&hermit, &["project/api/.nightwright", "project/web"]);
    for name in ["api/a.txt", "web/b.txt"] {
        hermit.file(name, "one\n");
    }
    git(&hermit.project(), &["add", "--all"]);
    git(&hermit.project(), &["commit", "--quiet", "-m", "first"]);
    // Two commits, one of them elsewhere in the repository.
    let config = "-c user.name=a -c user.email=a@b";
    let script = hermit.script(&format!(
        "[[attempt]]\nsteps = [\n\
         {{ run = \"echo two >> ../web/b.txt && git {config} commit --quiet -am elsewhere\" }},\n\
         {{ run = \"echo two >> a.txt && git {config} commit --quiet -am here\" }},\n\
         {{ run = \"echo more >> ../web/b.txt\" }},\n]\nending = {{ result = \"Some of it.\" }}\n"
    ));
    let run = ["run", "-p", "x", "-m", "1", "--no-delay", "--dry-run", "--rehearsal", &script];
    let mut command = hermit.command(&run);
    command.current_dir(&package);
    finish(command.spawn().unwrap()).exits(0);
    let journal = fs::read_to_string(hermit.runs()[0].join("journal.jsonl")).unwrap();
    let finished =
        journal.lines().find(|line| line.contains("\"event\":\"iteration_finished\"")).unwrap();
    let finished: serde_json::Value = serde_json::from_str(finished).unwrap();
    assert_eq!((&finished["files_changed"], &finished["commits"]), (&1.into(), &1.into()));
    let mut report = hermit.command(&["report", "--json"]);
    report.current_dir(&package);
    let report = finish(report.spawn().unwrap()).exits(0).out;
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let listed = report["commits"]["listed"].as_array().unwrap();
    let subjects: Vec<_> = listed.iter().map(|commit| &commit["subject"]).collect();
    assert_eq!(subjects, ["here"], "{report:#}");
}
