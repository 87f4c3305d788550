//! Imports from other tools: one fixture per tool, made as that tool makes it. Everything in it is
//! imported or named, a second import changes nothing, and the imported tasks run.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::harness::TestEnv;

const CLAUDE_ITERATE: &str = include_str!("import/claude_iterate.txt");
const FRESHER: &str = include_str!("import/fresher.txt");
const FRESHER_SHELL: &str = include_str!("import/fresher_shell.txt");
const CLAUDE_LOOP: &str = include_str!("import/claude_loop.txt");
const RALPH: &str = include_str!("import/ralph.txt");
const RALPH_ROOT: &str = include_str!("import/ralph_root.txt");
const IMPLEMENTER: &str = include_str!("import/implementer.txt");

const ALL: [&str; 7] =
    [CLAUDE_ITERATE, FRESHER, FRESHER_SHELL, CLAUDE_LOOP, RALPH, RALPH_ROOT, IMPLEMENTER];

/// The files of a fixture, by their paths.
fn files(fixture: &str) -> Vec<(&str, &str)> {
    let parts = fixture.split("\n-- ").map(|part| part.trim_start_matches("-- "));
    parts
        .map(|part| part.split_once(" --").unwrap())
        .map(|(name, text)| (name, text.trim_start_matches('\n')))
        .collect()
}

/// All files of the project with their contents.
fn contents(env: &TestEnv) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut open = vec![env.project()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(env.project()).unwrap().display().to_string();
                all.insert(name, fs::read(path).unwrap());
            }
        }
    }
    all
}

/// Whether the screen names a file: by its path, its folder or its pattern.
fn is_named(screen: &str, file: &str) -> bool {
    let imported = screen
        .lines()
        .filter_map(|line| line.trim().split_once(" -> "))
        .any(|(from, _)| from.split(" + ").any(|from| from == file));
    let named = screen.split('`').skip(1).step_by(2).any(|name| {
        name == file
            || name.ends_with('/') && file.starts_with(name)
            || name.split_once('*').is_some_and(|(start, end)| {
                file.starts_with(start) && file.ends_with(end.rsplit('*').next().unwrap_or(end))
            })
    });
    imported || named
}

#[test]
fn everything_of_another_tool_is_imported_or_named_and_stays_as_it_is() {
    for fixture in ALL {
        let files = files(fixture);
        let env = TestEnv::with_files(&files);
        let before = contents(&env);
        let output = env.run(&["init", "--yes"]).exits(0);
        for (file, _) in &files {
            assert!(is_named(&output.err, file), "`{file}` is not in:\n{}", output.err);
        }
        let after = contents(&env);
        assert!(
            before.iter().all(|(name, bytes)| after.get(name) == Some(bytes)),
            "{}",
            output.err
        );
    }
}

#[test]
fn a_second_import_changes_nothing() {
    for fixture in ALL {
        let env = TestEnv::with_files(&files(fixture));
        env.run(&["init", "--yes"]).exits(0);
        let first = contents(&env);
        let output = env.run(&["init", "--yes"]).exits(0);
        assert_eq!(contents(&env), first, "{}", output.err);
        // Work on an imported task does not make it another one.
        let tasks = env.project().join(".nightwright/tasks");
        let Ok(names) = fs::read_dir(&tasks) else { continue };
        for name in names {
            fs::write(name.unwrap().path().join("INSTRUCTIONS.md"), "Mine.\n").unwrap();
        }
        let worked = contents(&env);
        env.run(&["init", "--yes"]).exits(0);
        assert_eq!(contents(&env), worked);
    }
}

fn tasks(project: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(project.join(".nightwright/tasks")) else { return Vec::new() };
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn imported_tasks_run_to_completion() {
    for (fixture, names) in [
        (CLAUDE_ITERATE, &["migrate-api", "tidy-up"][..]),
        (FRESHER, &["fresher-building", "fresher-planning"]),
        (FRESHER_SHELL, &["fresher-building"]),
        (CLAUDE_LOOP, &["T001"]),
        (RALPH, &["checkout", "search"]),
        (RALPH_ROOT, &["ralph", "task-priority"]),
        (IMPLEMENTER, &["implementer"]),
    ] {
        let env = TestEnv::with_files(&files(fixture));
        env.run(&["init", "--yes"]).exits(0);
        assert_eq!(tasks(&env.project()), names);
        for name in names {
            let output = env.run(&["run", name, "--dry-run", "--require-complete", "--no-delay"]);
            output.exits(0).says(&["complete"]);
        }
    }
}
