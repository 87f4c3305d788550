//! Tests of the imports from each tool.

use insta::assert_snapshot;

use super::*;

fn view(files: &[(&str, &str)]) -> ProjectFiles {
    files.iter().fold(ProjectFiles::default(), |mut view, (path, text)| {
        for (at, _) in path.match_indices('/') {
            view = view.with(&path[..at], EntryContent::Folder);
        }
        if path.ends_with('/') {
            view
        } else {
            view.with(path, EntryContent::Text((*text).to_owned()))
        }
    })
}

fn only(files: &[(&str, &str)]) -> Import {
    let mut found = imports(&view(files));
    assert_eq!(found.imports.len(), 1, "{found:?}");
    found.imports.remove(0)
}

fn shown(import: &Import) -> String {
    let notes = import.notes.iter().map(|note| format!("note: {note}"));
    import.plan().into_iter().chain(notes).collect::<Vec<_>>().join("\n")
}

fn text(import: &Import, to: &str) -> String {
    let mut files = import.all_files().into_iter();
    files.find(|file| file.to == to).unwrap_or_else(|| panic!("no {to} in {import:?}")).text
}

const FRESHER: &str = r#"#!/bin/bash
# FRESHER_MAX_ITERATIONS=3
export FRESHER_MODE="${FRESHER_MODE:-planning}"
export FRESHER_MAX_ITERATIONS="${FRESHER_MAX_ITERATIONS:-25}"
export FRESHER_DANGEROUS_PERMISSIONS="${FRESHER_DANGEROUS_PERMISSIONS:-true}"
export FRESHER_MAX_TURNS="${FRESHER_MAX_TURNS:-50}"
export FRESHER_MODEL="${FRESHER_MODEL:-sonnet}"
export FRESHER_TEST_CMD="${FRESHER_TEST_CMD:-npm test}"
export FRESHER_BUILD_CMD="${FRESHER_BUILD_CMD:-}"
export FRESHER_LINT_CMD="$(find_linter)"
"#;

#[test]
fn fresher_brings_its_prompts_its_limits_and_its_words_for_the_agent() {
    let import = only(&[
        (".fresher/config.sh", FRESHER),
        (".fresher/PROMPT.planning.md", "Plan."),
        (".fresher/PROMPT.building.md", "Build."),
        (".fresher/PROMPT.empty.md", " \n"),
        (".fresher/AGENTS.md", "Use tabs."),
        ("IMPLEMENTATION_PLAN.md", "- [ ] one"),
    ]);
    assert_snapshot!(shown(&import), @r#"
    .fresher/PROMPT.planning.md -> .nightwright/tasks/fresher-planning/INSTRUCTIONS.md
    .fresher/PROMPT.building.md -> .nightwright/tasks/fresher-building/INSTRUCTIONS.md
    .fresher/AGENTS.md -> .nightwright/AGENTS.md
    .fresher/PROMPT.building.md -> .nightwright/tasks/fresher-building/task.toml: mode = "build"
    .fresher/PROMPT.planning.md -> .nightwright/tasks/fresher-planning/task.toml: mode = "plan"
    .fresher/config.sh -> .nightwright/config.toml: limits.max_iterations = 25, agent.max_turns = 50, model.name = "sonnet"
    commands.test = "npm test"
    note: nightwright does not run the file to read `FRESHER_LINT_CMD` (in `.fresher/config.sh`)
    note: `.fresher/PROMPT.empty.md` is empty
    note: `FRESHER_DANGEROUS_PERMISSIONS` of `.fresher/config.sh`: nightwright does not import the permission bypass; set `agent.permissions = "bypass"` if you need it
    note: `FRESHER_MODE` of `.fresher/config.sh`: the mode is part of the command: `nightwright plan` or `nightwright build`
    note: not imported: `IMPLEMENTATION_PLAN.md` (`nightwright plan` and `nightwright build` use it as it is)
    "#);
    let task = text(&import, ".nightwright/tasks/fresher-building/task.toml");
    assert_eq!(task, "# Imported from `.fresher/PROMPT.building.md`.\n\nmode = \"build\"\n");
    assert_eq!(text(&import, ".nightwright/AGENTS.md"), "Use tabs.");
}

#[test]
fn the_newer_configuration_of_fresher_is_read_too() {
    let config = "[fresher]\nmax_iterations = 0\nmax_turns = \"many\"\nmodel = \"opus\"\n\
                  dangerous_permissions = false\n[commands]\ntest = \"cargo test\"\nlint = \"\"\n";
    let import = only(&[(".fresher/config.toml", config), (".fresher/config.sh", FRESHER)]);
    assert_snapshot!(shown(&import), @r#"
    .fresher/config.toml -> .nightwright/config.toml: model.name = "opus"
    commands.test = "cargo test"
    note: skipped `fresher.max_turns = many` of `.fresher/config.toml`: it must be a whole number from 1 to 1000000
    note: not imported: `.fresher/config.sh` (replaced by `.fresher/config.toml`)
    "#);
}

#[test]
fn claude_iterate_brings_a_task_for_each_workspace() {
    let metadata = r#"{"name": "migrate", "created": "2025-10-15T10:00:00.000Z", "status": "completed",
        "mode": "iterative", "maxIterations": 30, "delay": 5, "stagnationThreshold": 2}"#;
    let import = only(&[
        ("claude-iterate/workspaces/migrate api/INSTRUCTIONS.md", "Migrate."),
        ("claude-iterate/workspaces/migrate api/TODO.md", "- [x] one\n- [ ] two\n"),
        ("claude-iterate/workspaces/migrate api/.metadata.json", metadata),
        ("claude-iterate/workspaces/broken/INSTRUCTIONS.md", "Mend."),
        ("claude-iterate/workspaces/broken/.metadata.json", "{"),
        ("claude-iterate/workspaces/odd/TODO.md", "- [ ] a"),
        ("claude-iterate/workspaces/odd/.metadata.json", r#"{"mode": 3, "maxIterations": -1}"#),
        ("claude-iterate/workspaces/empty/", ""),
        ("claude-iterate/workspaces/README.md", "not a task"),
    ]);
    assert_snapshot!(shown(&import), @r#"
    claude-iterate/workspaces/broken/INSTRUCTIONS.md -> .nightwright/tasks/broken/INSTRUCTIONS.md
    claude-iterate/workspaces/migrate api/INSTRUCTIONS.md -> .nightwright/tasks/migrate-api/INSTRUCTIONS.md
    claude-iterate/workspaces/migrate api/TODO.md -> .nightwright/tasks/migrate-api/TODO.md
    claude-iterate/workspaces/odd/TODO.md -> .nightwright/tasks/odd/TODO.md
    claude-iterate/workspaces/broken/INSTRUCTIONS.md -> .nightwright/tasks/broken/task.toml: mode = "loop"
    claude-iterate/workspaces/migrate api/.metadata.json -> .nightwright/tasks/migrate-api/task.toml: mode = "iterative", delay = "5s", limits.max_iterations = 30, stagnation.threshold = 2
    claude-iterate/workspaces/odd/.metadata.json -> .nightwright/tasks/odd/task.toml: mode = "loop"
    note: `claude-iterate/workspaces/broken/.metadata.json` is not valid JSON (EOF while parsing an object at line 1 column 1): skipped its settings
    note: skipped `maxIterations = -1` of `claude-iterate/workspaces/odd/.metadata.json`: it must be a whole number from 0 to 1000000
    note: skipped `mode = 3` of `claude-iterate/workspaces/odd/.metadata.json`: it must be one of loop, iterative
    note: there are no instructions for `claude-iterate/workspaces/odd/TODO.md` yet
    note: `status` of `claude-iterate/workspaces/migrate api/.metadata.json`: this task is complete
    note: not imported: `claude-iterate/workspaces/README.md` (nightwright does not use it)
    "#);
    assert_snapshot!(text(&import, ".nightwright/tasks/migrate-api/task.toml"), @r#"
    # Imported from `claude-iterate/workspaces/migrate api/INSTRUCTIONS.md`.

    mode = "iterative"
    delay = "5s"

    [limits]
    max_iterations = 30

    [stagnation]
    threshold = 2
    "#);
    assert_eq!(text(&import, ".nightwright/tasks/migrate-api/TODO.md"), "- [x] one\n- [ ] two\n");
}

#[test]
fn ralph_brings_one_task_from_its_folder() {
    let import = only(&[
        (".ralph/PROMPT.md", "# Ralph Development Instructions\n"),
        (".ralph/@fix_plan.md", "## High Priority\n- [ ] Set up\n"),
        (".ralph/AGENT.md", "# Build instructions\n"),
        (".ralphrc", "CLAUDE_TIMEOUT_MINUTES=20 # per call\nCB_NO_PROGRESS_THRESHOLD=lots\n"),
    ]);
    assert_snapshot!(shown(&import), @r#"
    .ralph/PROMPT.md -> .nightwright/tasks/ralph/INSTRUCTIONS.md
    .ralph/@fix_plan.md -> .nightwright/tasks/ralph/TODO.md
    .ralph/AGENT.md -> .nightwright/AGENTS.md
    .ralphrc -> .nightwright/tasks/ralph/task.toml: mode = "loop", deadlines.attempt = "20m"
    note: skipped `CB_NO_PROGRESS_THRESHOLD = lots` of `.ralphrc`: it must be a whole number from 0 to 1000
    "#);
    assert_snapshot!(text(&import, ".nightwright/tasks/ralph/task.toml"), @r#"
    # Imported from `.ralph/PROMPT.md`.

    mode = "loop"

    [deadlines]
    attempt = "20m"
    "#);
}

#[test]
fn a_prompt_in_the_root_is_imported_only_with_its_list() {
    assert_eq!(imports(&view(&[("PROMPT.md", "Write me a poem.")])), Imports::default());
    let import = only(&[("PROMPT.md", "Work."), ("fix_plan.md", "- [ ] a")]);
    assert_snapshot!(shown(&import), @r#"
    PROMPT.md -> .nightwright/tasks/ralph/INSTRUCTIONS.md
    fix_plan.md -> .nightwright/tasks/ralph/TODO.md
    PROMPT.md -> .nightwright/tasks/ralph/task.toml: mode = "loop"
    "#);
}

#[test]
fn stories_become_instructions_and_boxes() {
    let stories = r#"{
        "project": "TaskApp", "branchName": "ralph/task-priority", "description": "Priorities.",
        "userStories": [
            {"id": "US-002", "title": "Show it", "description": "As a user I see it.",
             "acceptanceCriteria": ["A badge", "Typecheck passes"], "priority": 2, "passes": false},
            {"id": "US-001", "title": "Store it\nsafely", "priority": 1, "passes": true},
            {"id": "US-003"}, "story", {"title": "Odd", "passes": "yes"}
        ]}"#;
    let import = only(&[("prd.json", stories)]);
    assert_snapshot!(shown(&import), @r#"
    prd.json -> .nightwright/tasks/task-priority/INSTRUCTIONS.md
    prd.json -> .nightwright/tasks/task-priority/TODO.md
    prd.json -> .nightwright/tasks/task-priority/task.toml: mode = "loop"
    note: skipped story 3 of `prd.json`: it has no title
    note: skipped story 4 of `prd.json`: it is not an object
    note: story 5 of `prd.json` has "yes" for `passes`: it counts as open
    "#);
    assert_snapshot!(text(&import, ".nightwright/tasks/task-priority/INSTRUCTIONS.md"), @"
    # TaskApp

    Priorities.

    ## How to work

    The stories below are in order. Their checkboxes are in `TODO.md`: check one when all of its criteria hold.

    ## US-001: Store it safely

    ## US-002: Show it

    As a user I see it.

    Acceptance criteria:

    - A badge
    - Typecheck passes

    ## Odd
    ");
    assert_snapshot!(text(&import, ".nightwright/tasks/task-priority/TODO.md"), @"
    # To do

    - [x] US-001: Store it safely
    - [ ] US-002: Show it
    - [ ] Odd
    ");
}

#[test]
fn a_source_that_makes_no_sense_is_a_note_and_no_import() {
    for (path, text) in [
        ("prd.json", "{"),
        ("prd.json", "{\"stories\": 1}"),
        ("prd.json", "{\"userStories\": [7]}"),
        (".fresher/run.sh", "true"),
        (".fresher/config.toml", "= 1"),
        (".ralph/logs/", ""),
        ("claude-iterate/workspaces/a/", ""),
    ] {
        let found = imports(&view(&[(path, text)]));
        assert_eq!(found.imports, [], "{path}");
        assert!(!found.notes.is_empty(), "{path}");
    }
    let elsewhere =
        ProjectFiles::default().with(".ralph", EntryContent::Broken("it leads out".to_owned()));
    assert!(imports(&elsewhere).notes.contains(&"it leads out".to_owned()));
}

#[test]
fn principles_of_another_tool_are_imported() {
    let yaml = "preset: startup\nlayer0:\n  auditability: 9\n";
    let import = only(&[(".claude/principles.yaml", yaml)]);
    assert_snapshot!(shown(&import), @".claude/principles.yaml -> .nightwright/principles.toml");
    let written = text(&import, ".nightwright/principles.toml");
    assert_eq!(
        nightwright_core::principles::Principles::parse_toml(&written),
        nightwright_core::principles::Principles::parse_yaml(yaml)
    );
}

#[test]
fn invalid_or_conflicting_principles_are_reported_and_not_imported() {
    let broken = "layer0:\n  auditability: 99\n";
    for (files, note) in [
        (vec![(".claude/principles.yaml", broken)], "line 2: `layer0.auditability` must be"),
        (
            vec![
                (".claude/principles.yaml", "preset: startup\n"),
                (".nightwright/principles.toml", "mine"),
            ],
            "`.nightwright/principles.toml` already exists",
        ),
    ] {
        let found = imports(&view(&files));
        assert_eq!(found.imports, []);
        assert!(found.notes.iter().any(|one| one.contains(note)), "{:?}", found.notes);
    }
}

#[test]
fn a_task_that_exists_is_not_overwritten() {
    let import = only(&[
        (".ralph/PROMPT.md", "Work."),
        (".ralph/AGENT.md", "Words."),
        (".nightwright/tasks/Ralph/INSTRUCTIONS.md", "Mine."),
        (".nightwright/tasks/ralph-2/INSTRUCTIONS.md", "Mine too."),
        (".nightwright/AGENTS.md", "My words."),
    ]);
    assert_snapshot!(shown(&import), @r#"
    .ralph/PROMPT.md -> .nightwright/tasks/ralph-3/INSTRUCTIONS.md
    .ralph/PROMPT.md -> .nightwright/tasks/ralph-3/task.toml: mode = "loop"
    note: skipped `.ralph/AGENT.md`: `.nightwright/AGENTS.md` already exists
    "#);
}

#[test]
fn any_name_can_be_made_a_name_of_a_task() {
    for (wanted, name) in [
        ("migrate-api", "migrate-api"),
        ("a_b C/d", "a_b-C-d"),
        ("--rf", "rf"),
        ("../../etc", "etc"),
        ("größe", "gr-e"),
        ("日本", "imported"),
        ("", "imported"),
    ] {
        assert_eq!(valid_name(wanted), name, "{wanted}");
    }
    assert!(valid_name(&"a-".repeat(500)).len() <= NAME_LENGTH);
}

#[test]
fn shell_expansions_are_not_guessed() {
    for (line, value) in [
        ("A=1", Ok("1")),
        ("A='x y'", Ok("x y")),
        ("  export  A=\"b c\"  # d", Ok("b c")),
        ("A=${A:-7}", Ok("7")),
        ("A=\"${A:-say \\\"hi\\\"}\"", Ok("say \"hi\"")),
        ("A=5 # five", Ok("5")),
        ("A=", Ok("")),
        ("A=1\nA=2", Ok("2")),
        ("A=$B", Err(())),
        ("A=`date`", Err(())),
        ("A=\"open", Err(())),
        ("A=${A:-7", Err(())),
    ] {
        let found = shell::value(line, "A").unwrap();
        assert_eq!(found.as_deref().map_err(|_| ()), value, "{line}");
    }
    assert_eq!(shell::value("AB=1\n#A=2", "A"), None);
}
