//! `nightwright init`: the files that it writes, its errors and its questions.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use insta::assert_snapshot;

use super::agent_env::NIGHTWRIGHT;
use super::agent_program::program;
use super::harness::{TestEnv, finish};
use super::terminal::Terminal;

const CONFIG: &str = ".nightwright/config.toml";

fn text(env: &TestEnv, name: &str) -> String {
    fs::read_to_string(env.project().join(name)).unwrap()
}

/// The settings in the file, without comments and empty sections.
fn set(env: &TestEnv) -> String {
    let config = text(env, CONFIG);
    let mut kept: Vec<&str> = Vec::new();
    for line in config.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if line.starts_with('[') && kept.last().is_some_and(|last| last.starts_with('[')) {
            kept.pop();
        }
        kept.push(line);
    }
    if kept.last().is_some_and(|last| last.starts_with('[')) {
        kept.pop();
    }
    kept.join("\n")
}

/// All paths in a folder, without following links.
fn tree(folder: &Path) -> Vec<String> {
    let mut all = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                open.push(entry.path());
            }
            all.push(entry.path().strip_prefix(folder).unwrap().display().to_string());
        }
    }
    all.sort();
    all
}

#[test]
fn a_cargo_project_gets_a_commented_configuration_with_its_commands() {
    let env = TestEnv::with_files(&[("Cargo.toml", "[package]\nname = \"a\"\n")]);
    let output = env.run(&["init"]).exits(0).says(&[
        "Project type: cargo (`Cargo.toml`)",
        "Not a terminal: using the detected commands and the permissions `usual`.",
        "This approves the command",
        "nightwright run \"make the tests pass\" -m 10",
        "nightwright new NAME",
    ]);
    assert_snapshot!(output.out, @"
    .nightwright/config.schema.json
    .nightwright/.gitignore
    .nightwright/hooks/started.sample
    .nightwright/hooks/next_iteration.sample
    .nightwright/hooks/iteration_finished.sample
    .nightwright/hooks/finished.sample
    .nightwright/hooks/blocked.sample
    .nightwright/config.toml
    ");
    assert_snapshot!(set(&env), @r#"
    [commands]
    test = "cargo test"
    build = "cargo build"
    lint = "cargo clippy --all-targets"
    [verify]
    commands = ["cargo test"]
    [agent]
    permissions = "usual"
    "#);
    assert_snapshot!(text(&env, ".nightwright/.gitignore"), @r"
    archive/
    logs/
    tasks/*/.status.json
    tasks/*/.state.json*
    tasks/*/feedback.md
    tasks/*/.stop
    ");
    toml::from_str::<toml::Table>(&text(&env, CONFIG)).unwrap();
    serde_json::from_str::<serde_json::Value>(&text(&env, ".nightwright/config.schema.json"))
        .unwrap();
    assert!(!env.project().join(".nightwright/tasks").exists());
}

#[test]
fn an_npm_project_gets_the_scripts_that_it_has() {
    let package = r#"{"scripts": {"test": "vitest run", "lint": "eslint ."}}"#;
    let env = TestEnv::with_files(&[("package.json", package), ("pnpm-lock.yaml", "")]);
    env.run(&["init", "--yes"]).exits(0);
    assert_snapshot!(set(&env), @r#"
    [commands]
    test = "pnpm test"
    lint = "pnpm run lint"
    [verify]
    commands = ["pnpm test"]
    [agent]
    permissions = "usual"
    "#);
}

#[test]
fn a_project_of_no_known_kind_learns_that_it_has_no_gate() {
    let env = TestEnv::new();
    let output = env.run(&["init", "--yes"]).exits(0).says(&["No test command found"]);
    assert!(!output.err.contains("Not a terminal"), "{}", output.err);
    assert_snapshot!(set(&env), @r#"
    [agent]
    permissions = "usual"
    "#);
}

#[test]
fn sample_hooks_are_valid_shell_scripts_but_not_executable() {
    let env = TestEnv::new();
    env.run(&["init"]).exits(0);
    for name in ["started", "next_iteration", "iteration_finished", "finished", "blocked"] {
        let path = env.project().join(format!(".nightwright/hooks/{name}.sample"));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o111, 0, "{name}");
        assert!(Command::new("sh").arg("-n").arg(&path).status().unwrap().success(), "{name}");
    }
    assert_snapshot!(text(&env, ".nightwright/hooks/next_iteration.sample"), @r##"
    #!/bin/sh
    # Runs before every iteration. Exit 0 continues, 1 skips the iteration, 2 ends the run.
    #
    # To use it: copy it to `.nightwright/hooks/next_iteration`, make that executable (chmod +x), and
    # approve it with `nightwright trust`. It may run for up to 30 seconds
    # (`hooks.timeout`). It receives the event as a JSON line on standard input. Its
    # environment has NIGHTWRIGHT_RUN_ID, NIGHTWRIGHT_TASK, NIGHTWRIGHT_ITERATION and more.
    # See `docs/hooks.md`.

    # This example pauses the run while the file `.nightwright/hold` exists. After each skip,
    # nightwright waits for the delay, at least 1 second; ten consecutive skips end the run.
    if [ -e .nightwright/hold ]; then
        exit 1
    fi
    "##);
}

#[test]
fn a_configuration_that_exists_is_not_overwritten_without_yes() {
    let env = TestEnv::with_files(&[(CONFIG, "mine"), ("Cargo.toml", "")]);
    let output = env.run(&["init"]).exits(1);
    assert_snapshot!(output.err, @"
    error: .nightwright/config.toml already exists
    hint: replace it with `--yes`; nightwright keeps the old one as `config.toml.bak`
    ");
    assert_eq!(tree(&env.project().join(".nightwright")), ["config.toml"]);
    assert_eq!(text(&env, CONFIG), "mine");
}

#[test]
fn a_replaced_configuration_and_the_tasks_are_kept() {
    let env = TestEnv::with_files(&[
        (CONFIG, "mine"),
        (".nightwright/.gitignore", "secret\n"),
        (".nightwright/tasks/a/INSTRUCTIONS.md", "Work."),
        (".nightwright/hooks/started", "#!/bin/sh"),
        (".nightwright/hooks/started.sample", "changed"),
    ]);
    env.run(&["init", "--yes"]).exits(0);
    assert_eq!(text(&env, ".nightwright/config.toml.bak"), "mine");
    assert!(text(&env, CONFIG).starts_with("#:schema ./config.schema.json\n"));
    assert!(text(&env, ".nightwright/.gitignore").starts_with("secret\narchive/\nlogs/\ntasks/*/"));
    assert_eq!(text(&env, ".nightwright/tasks/a/INSTRUCTIONS.md"), "Work.");
    assert_eq!(text(&env, ".nightwright/hooks/started"), "#!/bin/sh");
    assert_ne!(text(&env, ".nightwright/hooks/started.sample"), "changed");

    // The same configuration needs no backup, and a newer backup does not overwrite an older one.
    env.run(&["init", "--yes"]).exits(0);
    assert!(!env.project().join(".nightwright/config.toml.bak2").exists());
    env.run(&["config", "set", "delay", "7s"]).exits(0);
    env.run(&["init", "--yes"]).exits(0);
    assert_eq!(text(&env, ".nightwright/config.toml.bak"), "mine");
    assert!(text(&env, ".nightwright/config.toml.bak2").starts_with("#:schema"));
}

#[test]
fn without_a_configuration_what_is_there_stays() {
    let env = TestEnv::with_files(&[
        (".nightwright/hooks/started.sample", "changed"),
        (".nightwright/.gitignore", "archive/\nlogs/\nmine\n"),
        (".nightwright/tasks/a/INSTRUCTIONS.md", "Work."),
    ]);
    env.run(&["init"]).exits(0).says(&["started.sample` exists; nightwright leaves it unchanged"]);
    assert_eq!(text(&env, ".nightwright/hooks/started.sample"), "changed");
    let ignored = text(&env, ".nightwright/.gitignore");
    assert!(ignored.starts_with("archive/\nlogs/\nmine\ntasks/*/.status.json\n"), "{ignored}");
}

#[test]
fn a_link_out_of_the_project_is_refused_before_anything_is_written() {
    for link in [
        ".nightwright",
        ".nightwright/hooks",
        ".nightwright/tasks",
        CONFIG,
        ".nightwright/.gitignore",
    ] {
        let env = TestEnv::with_files(&[(".ralph/PROMPT.md", "Work.")]);
        let outside = env.path("outside");
        let path = env.project().join(link);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if link == CONFIG || link.ends_with("ignore") {
            fs::write(&outside, "theirs").unwrap();
        } else {
            fs::create_dir(&outside).unwrap();
        }
        symlink(&outside, &path).unwrap();
        let before = tree(&env.project());
        env.run(&["init", "--yes"]).exits(1).says(&["outside the project"]);
        assert_eq!(tree(&env.project()), before, "{link}");
        match fs::read_to_string(&outside) {
            Ok(text) => assert_eq!(text, "theirs"),
            Err(_) => assert_eq!(tree(&outside), [""; 0]),
        }
    }
}

#[test]
fn broken_and_foreign_files_of_a_project_are_notes() {
    let env = TestEnv::with_files(&[("package.json", "{\"scripts\":"), ("prd.json", "[")]);
    fs::write(env.path("outside.toml"), "secret = true").unwrap();
    symlink(env.path("outside.toml"), env.project().join("Cargo.toml")).unwrap();
    fs::create_dir(env.path("ralph")).unwrap();
    fs::write(env.path("ralph/PROMPT.md"), "secret").unwrap();
    symlink(env.path("ralph"), env.project().join(".ralph")).unwrap();
    fs::write(env.project().join("Makefile"), b"test:\n\t\xff\n").unwrap();
    let output = env.run(&["init"]).exits(0).says(&[
        "note: `package.json` is not valid JSON",
        "Cargo.toml` resolves to",
        ".ralph` resolves to",
        "note: `Makefile` is not UTF-8",
        "note: `prd.json` is not valid JSON",
    ]);
    assert!(!output.err.contains("secret"), "{}", output.err);
    assert!(!env.project().join(".nightwright/tasks").exists());
}

#[test]
fn something_else_in_the_place_of_the_folder_is_refused() {
    let env = TestEnv::with_files(&[(".nightwright", "a file")]);
    env.run(&["init"]).exits(1).says(&["cannot write", ".nightwright"]);
    let env = TestEnv::with_files(&[(".nightwright/hooks", "a file")]);
    let output = env.run(&["init"]).exits(1).says(&[".nightwright/hooks"]);
    assert_eq!(output.out, "");
    assert_eq!(tree(&env.project().join(".nightwright")), ["hooks"]);
}

#[test]
fn a_folder_that_may_not_be_written_to_stays_as_it_is() {
    let env = TestEnv::with_files(&[("Cargo.toml", "")]);
    let Some(output) = env.run_without_write_access(&["init"]) else { return };
    let output = output.exits(1).says(&["cannot write", "Permission denied"]);
    assert_eq!(output.out, "");
    assert_eq!(tree(&env.project()), ["Cargo.toml"]);
}

#[test]
fn a_path_with_spaces_and_other_letters_works() {
    let env = TestEnv::new();
    let project = env.path("mein größtes Projekt 日本");
    fs::create_dir(&project).unwrap();
    fs::write(project.join("go.mod"), "module a").unwrap();
    env.run(&["init", "-C", project.to_str().unwrap()]).exits(0).says(&["go test ./..."]);
    assert!(project.join(CONFIG).exists());
    assert_eq!(tree(&env.project()), [""; 0]);
}

#[test]
fn a_folder_that_is_not_there_is_a_usage_error() {
    TestEnv::new()
        .run(&["init", "-C", "nowhere"])
        .exits(2)
        .says(&["cannot use the project folder `nowhere`"]);
}

/// A project with the files of several other tools.
fn used() -> TestEnv {
    TestEnv::with_files(&[
        (
            ".fresher/config.sh",
            "export FRESHER_MAX_ITERATIONS=\"${FRESHER_MAX_ITERATIONS:-25}\"\nexport FRESHER_TEST_CMD='evil'\n",
        ),
        (".fresher/PROMPT.building.md", "Build it."),
        (".fresher/AGENTS.md", "Use tabs."),
        (".ralph/PROMPT.md", "Work."),
        (".ralph/fix_plan.md", "- [ ] one\n"),
        (".ralph/AGENT.md", "Use spaces."),
        ("claude-iterate/workspaces/mi grate/INSTRUCTIONS.md", "Migrate."),
        (
            "claude-iterate/workspaces/mi grate/.metadata.json",
            r#"{"mode": "loop", "maxIterations": 9}"#,
        ),
        (
            "prd.json",
            r#"{"project": "App", "userStories": [{"id": 1, "title": "A", "passes": true}]}"#,
        ),
        (".claude/principles.yaml", "preset: startup\n"),
        ("Cargo.toml", ""),
    ])
}

#[test]
fn files_of_other_tools_are_imported_and_stay_in_place() {
    let env = used();
    let before: Vec<_> = tree(&env.project())
        .into_iter()
        .filter_map(|name| Some((name.clone(), fs::read(env.project().join(name)).ok()?)))
        .collect();
    let output = env.run(&["init", "--yes"]).exits(0).says(&[
        ".ralph/fix_plan.md -> .nightwright/tasks/ralph/TODO.md",
        ".fresher/config.sh -> .nightwright/config.toml: limits.max_iterations = 25",
        "skipped the commands of fresher (`.fresher`), because nightwright could not ask you",
        "skipped `.ralph/AGENT.md`: `.nightwright/AGENTS.md` has another source",
        ".claude/principles.yaml -> .nightwright/principles.toml",
    ]);
    assert_snapshot!(output.out, @"
    .nightwright/config.schema.json
    .nightwright/.gitignore
    .nightwright/hooks/started.sample
    .nightwright/hooks/next_iteration.sample
    .nightwright/hooks/iteration_finished.sample
    .nightwright/hooks/finished.sample
    .nightwright/hooks/blocked.sample
    .nightwright/tasks/mi-grate/INSTRUCTIONS.md
    .nightwright/tasks/mi-grate/task.toml
    .nightwright/tasks/fresher-building/INSTRUCTIONS.md
    .nightwright/AGENTS.md
    .nightwright/tasks/fresher-building/task.toml
    .nightwright/principles.toml
    .nightwright/tasks/ralph/INSTRUCTIONS.md
    .nightwright/tasks/ralph/TODO.md
    .nightwright/tasks/ralph/task.toml
    .nightwright/tasks/App/INSTRUCTIONS.md
    .nightwright/tasks/App/TODO.md
    .nightwright/tasks/App/task.toml
    .nightwright/config.toml
    ");
    assert_snapshot!(set(&env), @r#"
    [commands]
    test = "cargo test"
    build = "cargo build"
    lint = "cargo clippy --all-targets"
    [verify]
    commands = ["cargo test"]
    [agent]
    permissions = "usual"
    [limits]
    max_iterations = 25
    "#);
    assert_eq!(text(&env, ".nightwright/AGENTS.md"), "Use tabs.");
    assert_eq!(text(&env, ".nightwright/tasks/App/TODO.md"), "# To do\n\n- [x] 1: A\n");
    for (name, bytes) in before {
        assert_eq!(fs::read(env.project().join(&name)).unwrap(), bytes, "{name}");
    }
}

#[test]
fn imported_files_are_named_and_not_imported_again() {
    let env = TestEnv::with_files(&[
        (".ralph/PROMPT.md", "Work."),
        (".ralph/fix_plan.md", "- [ ] one\n"),
    ]);
    env.run(&["init", "--yes"]).exits(0).says(&["Next:\n  nightwright run ralph   "]);
    let before = tree(&env.project());
    let output = env.run(&["init", "--yes"]).exits(0);
    assert!(output.err.contains("the task `ralph` already exists"), "{}", output.err);
    assert!(!output.err.contains("nightwright run ralph"), "{}", output.err);
    assert_eq!(tree(&env.project()), before);
    // A different task of the same name does not prevent the import.
    env.file(".nightwright/tasks/ralph/INSTRUCTIONS.md", "Something else.");
    env.file(".nightwright/tasks/ralph/task.toml", "mode = \"loop\"\n");
    env.run(&["init", "--yes"]).exits(0).says(&["nightwright run ralph-2 "]);
}

#[test]
fn no_import_leaves_other_tools_alone() {
    let env = used();
    let output = env.run(&["init", "--yes", "--no-import"]).exits(0);
    assert!(!output.err.contains("fresher") && !output.err.contains("ralph"), "{}", output.err);
    assert!(!env.project().join(".nightwright/tasks").exists());
}

fn answers(terminal: &Terminal, all: &[(&str, &str)]) {
    for (question, answer) in all {
        terminal.shows(question);
        terminal.tmux(&["send-keys", "-l", answer]);
        terminal.tmux(&["send-keys", "Enter"]);
    }
}

/// Starts `init` at a terminal, on a machine with `cargo` and `make`.
fn asking(env: &TestEnv) -> Terminal {
    for name in ["cargo", "make"] {
        program(env, name, "#!/bin/sh\n");
    }
    Terminal::run(env, &format!("PATH={}:$PATH {NIGHTWRIGHT} init", env.word("bin")))
}

#[test]
fn on_a_terminal_commands_permissions_and_imports_are_asked_for() {
    let env = used();
    let terminal = asking(&env);
    answers(
        &terminal,
        &[
            ("Found claude-iterate", "n"),
            ("Found fresher", "n"),
            ("Found claude-loop", "n"),
            ("Found ralph", "y"),
            ("Found user stories", "no"),
            ("test  [cargo test]", "mkae-check"),
            ("`mkae-check` is not in PATH. Enter the command again", "make check"),
            ("build [cargo build]", "n"),
            ("lint  [cargo clippy --all-targets]", ""),
            ("permissions [1]", "3"),
        ],
    );
    let screen = terminal.shows("exit=0");
    assert!(screen.contains("warning: the agent can run any command"), "{screen}");
    assert_snapshot!(set(&env), @r#"
    [commands]
    test = "make check"
    lint = "cargo clippy --all-targets"
    [verify]
    commands = ["make check"]
    [agent]
    permissions = "bypass"
    "#);
    assert_eq!(text(&env, ".nightwright/AGENTS.md"), "Use spaces.");
    assert!(!env.project().join(".nightwright/tasks/App").exists());
}

#[test]
fn ctrl_c_or_the_end_of_input_at_a_question_writes_nothing() {
    for (key, code) in [("C-c", "exit=130"), ("C-d", "exit=1")] {
        let env = TestEnv::with_files(&[("Cargo.toml", "")]);
        let terminal = asking(&env);
        answers(&terminal, &[("test  [cargo test]", "make check")]);
        terminal.shows("build [cargo build]");
        terminal.tmux(&["send-keys", key]);
        let screen = terminal.shows(code);
        assert!(screen.to_lowercase().contains("nightwright wrote nothing"), "{screen}");
        assert_eq!(tree(&env.project()), ["Cargo.toml"]);
    }
}

#[test]
fn on_a_terminal_replacing_a_configuration_is_a_question() {
    let env = TestEnv::with_files(&[(CONFIG, "mine"), ("Cargo.toml", "")]);
    let terminal = Terminal::run(&env, &format!("{NIGHTWRIGHT} init"));
    terminal.shows("Replace it? nightwright keeps the old one as `config.toml.bak`. [y/N]");
    terminal.types(&["n", "Enter"]);
    terminal.shows("exit=1");
    assert_eq!(text(&env, CONFIG), "mine");
}

#[test]
fn with_yes_nothing_is_asked_on_a_terminal() {
    let env = TestEnv::with_files(&[("Cargo.toml", "")]);
    let terminal = Terminal::run(&env, &format!("{NIGHTWRIGHT} init --yes"));
    let screen = terminal.shows("exit=0");
    assert!(!screen.contains("permissions [1]"), "{screen}");
    assert!(text(&env, CONFIG).contains("permissions = \"usual\""));
}

#[test]
fn init_does_not_wait_for_an_idle_pipe() {
    let env = TestEnv::with_files(&[("Cargo.toml", "")]);
    let (reader, _writer) = std::io::pipe().unwrap();
    let output = finish(env.command(&["init"]).stdin(reader).spawn().unwrap());
    output.exits(0).says(&["Not a terminal: using the detected commands"]);
}
