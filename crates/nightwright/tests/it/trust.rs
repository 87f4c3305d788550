//! A foreign repository has no effect on this machine before it is approved.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use nightwright_core::event::{Event, RunEvent};
use nightwright_core::permissions::Permissions;
use nightwright_core::run_view::shell_word;

use super::agent_env::NIGHTWRIGHT;
use super::harness::{Output, TestEnv};
use super::terminal::Terminal;

/// The name of the file whose existence proves that a command ran.
const PROOF: &str = "pwned";

/// A repository with every kind of file that could run a command.
fn malicious() -> TestEnv {
    let env = TestEnv::new();
    let touch = format!("touch {}", env.word(PROOF));
    fs::create_dir_all(env.project().join(".nightwright/hooks")).unwrap();
    fs::create_dir_all(env.project().join(".nightwright/tasks/t")).unwrap();
    fs::create_dir_all(env.project().join(".nightwright/modes/loop")).unwrap();
    fs::create_dir_all(env.project().join(".claude")).unwrap();
    env.file(
        ".nightwright/config.toml",
        &format!(
            "verify.commands = ['''{touch}''']\nagent.command = '''{touch}'''\n\
                 agent.env = {{ PATH = \"/evil\" }}\nagent.permissions = \"bypass\"\n"
        ),
    )
    .file(".nightwright/tasks/t/task.toml", &format!("verify.commands = ['''{touch}''']\n"))
    .file(".nightwright/tasks/t/INSTRUCTIONS.md", "Do it.\n")
    .file(
        ".nightwright/modes/loop/mode.toml",
        &format!(
            "description = \"x\"\nworks_on = \"task\"\nevidence = [\"promise\"]\n\
                 [defaults]\nlimits.max_iterations = 2\nagent.args = [\"--evil\"]\n\
                 verify.commands = ['''{touch}''']\n"
        ),
    )
    .file(
        ".env",
        &format!("NIGHTWRIGHT_AGENT_COMMAND={touch}\nNIGHTWRIGHT_VERIFY_COMMANDS=['{touch}']\n"),
    )
    .file(".claude/settings.json", "{\"hooks\": {}}");
    let hook = env.project().join(".nightwright/hooks/started");
    fs::write(&hook, format!("#!/bin/sh\n{touch}\n")).unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    env
}

const SCRIPT: &str = "[[attempt]]\nsteps = [{ write = \"a\", text = \"a\" }]\n\
                      end = { result = \"<promise>COMPLETE</promise>\" }\n";

fn rehearse(env: &TestEnv, arguments: &[&str]) -> Output {
    let script = env.script(SCRIPT);
    let mut all = arguments.to_vec();
    all.extend(["--dry-run", "--rehearsal", &script, "--no-delay"]);
    env.run(&all)
}

#[track_caller]
fn nothing_ran(env: &TestEnv) {
    assert!(!env.path(PROOF).exists(), "something of the repository was run");
}

#[test]
fn a_malicious_repository_does_nothing_before_it_is_approved() {
    let env = malicious();
    for arguments in [
        &["run", "t", "--dry-run"][..],
        &["run", "t"],
        &["run", "-p", "x", "-m", "1"],
        &["plan"],
        &["task", "validate", "t"],
        &["task", "validate", "t", "--dry-run"],
    ] {
        let output = env.run(arguments).exits(2).says(&[
            "you have not approved",
            ".nightwright/config.toml: verify.commands",
            "nightwright trust",
        ]);
        assert!(output.err.contains("touch"), "what would be run is shown: {}", output.err);
        nothing_ran(&env);
    }
    for arguments in [
        &["list"][..],
        &["task", "show", "t"],
        &["prompt", "t"],
        &["config", "list", "--task", "t"],
        &["trust", "--list"],
        &["doctor"],
    ] {
        env.run(arguments);
        nothing_ran(&env);
    }
    assert_eq!(env.runs().len(), 0, "no run was begun");
}

#[test]
fn unapproved_settings_can_be_left_out_with_a_message() {
    let env = malicious();
    rehearse(&env, &["run", "t", "--ignore-untrusted"]).exits(0).says(&[
        "Not used, because you have not approved it",
        "verify.commands",
        "hooks/started",
    ]);
    nothing_ran(&env);
    let journal = fs::read_to_string(env.runs()[0].join("journal.jsonl")).unwrap();
    for left_out in [env.path(PROOF).to_str().unwrap(), "--evil", "/evil"] {
        assert!(!journal.contains(left_out), "{left_out} is in the journal");
    }
    let Event::Run(RunEvent::Started(started)) = &env.journal()[0].event else {
        panic!("it has begun")
    };
    assert_eq!(started.settings.agent.permissions, Permissions::Usual);
}

#[test]
fn approved_it_takes_effect_until_it_changes() {
    let env = TestEnv::new();
    fs::create_dir_all(env.project().join(".nightwright")).unwrap();
    let proof = env.path(PROOF);
    let touch = format!("touch {}", env.word(PROOF));
    env.file(".nightwright/config.toml", &format!("verify.commands = ['''{touch}''']\n"));
    let goal = ["run", "-p", "x", "-m", "2"];
    rehearse(&env, &goal).exits(2);
    nothing_ran(&env);

    env.run(&["trust"]).exits(2).says(&["not a terminal", "--yes"]);
    env.run(&["trust", "--yes"]).exits(0);
    env.run(&["trust", "--list"]).exits(0);
    rehearse(&env, &goal).exits(0).says(&["judged complete"]);
    assert!(proof.exists());
    fs::remove_file(&proof).unwrap();

    env.file(".nightwright/config.toml", &format!("verify.commands = ['''{touch} # 2''']\n"));
    rehearse(&env, &goal).exits(2).says(&["changed"]);
    nothing_ran(&env);
    // The approval is valid only once.
    rehearse(&env, &["run", "-p", "x", "-m", "2", "--yes"]).exits(0);
    assert!(proof.exists());
    fs::remove_file(&proof).unwrap();
    rehearse(&env, &goal).exits(2);
    nothing_ran(&env);

    env.run(&["trust", "--yes"]).exits(0);
    env.run(&["trust", "--revoke"]).exits(0);
    rehearse(&env, &goal).exits(2).says(&["new"]);
    nothing_ran(&env);
}

#[test]
fn setting_a_value_approves_that_value_only() {
    let env = TestEnv::new();
    fs::create_dir_all(env.project().join(".nightwright")).unwrap();
    env.file(".nightwright/config.toml", "agent.args = [\"--evil\"]\n");
    env.run(&["config", "set", "verify.commands", "true"]).exits(0);
    let refused = rehearse(&env, &["run", "-p", "x", "-m", "1"]).exits(2);
    assert!(refused.err.contains("agent.args") && !refused.err.contains("verify.commands"));
    env.run(&["config", "unset", "agent.args"]).exits(0);
    rehearse(&env, &["run", "-p", "x", "-m", "1"]).exits(0);
}

#[test]
fn init_approves_what_it_writes() {
    let env = TestEnv::new();
    env.file("Makefile", "test:\n\ttrue\n");
    env.run(&["init", "--yes"]).exits(0);
    env.run(&["trust", "--list"]).exits(0);
}

#[test]
fn values_of_variables_are_neither_recorded_nor_kept_with_the_approval() {
    let env = TestEnv::new();
    fs::create_dir_all(env.project().join(".nightwright")).unwrap();
    env.file(".nightwright/config.toml", "agent.env = { API_TOKEN = \"s3cr3t-value\" }\n");
    let shown = env.run(&["trust", "--yes"]).exits(0);
    assert!(!shown.out.contains("s3cr3t-value") && shown.out.contains("API_TOKEN"));
    rehearse(&env, &["run", "-p", "x", "-m", "1"]).exits(0);
    for file in walk(&env.path("state")) {
        let text = fs::read(&file).unwrap();
        let found = text.windows(12).any(|part| part == b"s3cr3t-value");
        assert!(!found, "it is in {}", file.display());
    }
}

fn walk(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { all.extend(walk(&path)) } else { all.push(path) }
    }
    all
}

#[test]
fn links_out_of_the_project_are_refused_wherever_they_are() {
    let env = TestEnv::new();
    let outside = env.path("outside");
    fs::create_dir_all(outside.join("t")).unwrap();
    fs::write(outside.join("config.toml"), "delay = 5\n").unwrap();
    fs::write(outside.join("t/INSTRUCTIONS.md"), "secret").unwrap();
    let nightwright = env.project().join(".nightwright");
    fs::create_dir_all(nightwright.join("tasks/u")).unwrap();
    symlink(outside.join("t"), nightwright.join("tasks/t")).unwrap();
    symlink(outside.join("t/INSTRUCTIONS.md"), nightwright.join("tasks/u/INSTRUCTIONS.md"))
        .unwrap();
    for task in ["t", "u"] {
        let output = env.run(&["prompt", task]);
        assert_ne!(output.code, Some(0));
        assert!(!output.out.contains("secret") && !output.err.contains("secret"));
    }
    symlink(outside.join("config.toml"), nightwright.join("config.toml")).unwrap();
    env.run(&["run", "-p", "x", "-m", "1", "--dry-run"]).exits(2).says(&["outside the project"]);
}

#[test]
fn changes_are_shown_next_to_the_approved_values() {
    let env = TestEnv::new();
    fs::create_dir_all(env.project().join(".nightwright/hooks")).unwrap();
    env.file(".nightwright/config.toml", "verify.commands = [\"make test\"]\n")
        .file(".nightwright/hooks/started", "#!/bin/sh\necho one\n");
    env.run(&["trust", "--yes"]).exits(0);
    env.file(".nightwright/config.toml", "verify.commands = [\"make pwned\"]\n")
        .file(".nightwright/hooks/started", "#!/bin/sh\necho two\n");
    let shown = env.run(&["trust", "--list"]).exits(1).out;
    insta::assert_snapshot!(shown, @r#"
      changed  .nightwright/config.toml: verify.commands
               - verify.commands = ["make test"]
               + verify.commands = ["make pwned"]
      changed  .nightwright/hooks/started
                 #!/bin/sh
               - echo one
               + echo two
    "#);
}

#[test]
fn a_file_that_you_edited_is_one_question_with_the_difference_and_is_asked_once() {
    let env = TestEnv::new();
    fs::create_dir_all(env.project().join(".nightwright/hooks")).unwrap();
    let config = |command: &str| {
        let text = format!("verify.commands = [\"{command}\"]\nagent.permissions = \"edits\"\n");
        env.file(".nightwright/config.toml", &text);
    };
    config("test -f a");
    env.run(&["trust", "--yes"]).exits(0);
    config("test -e a");
    let script = shell_word(&env.script(SCRIPT));
    let run = format!("{NIGHTWRIGHT} run -p x -m 1 --dry-run --rehearsal {script}");
    let terminal = Terminal::run(&env, &run);
    let screen = terminal.shows("Approve it?");
    for line in [
        "You approved this, and it has changed since:",
        "- verify.commands = [\"test -f a\"]",
        "+ verify.commands = [\"test -e a\"]",
    ] {
        assert!(screen.contains(line), "{line} is not in:\n{screen}");
    }
    assert!(!screen.contains("agent.permissions"), "it has not changed:\n{screen}");
    terminal.types(&["y", "Enter"]);
    let screen = terminal.shows("exit=0");
    assert_eq!(screen.matches("Approve it?").count(), 1, "{screen}");
    // Switching back and forth between approved values needs no further approval.
    for command in ["test -f a", "test -e a"] {
        config(command);
        rehearse(&env, &["run", "-p", "x", "-m", "1"]).exits(0);
    }
}

#[test]
fn nothing_that_is_shown_for_approval_can_play_tricks_on_the_terminal() {
    let env = TestEnv::new();
    let hooks = env.project().join(".nightwright/hooks");
    fs::create_dir_all(&hooks).unwrap();
    fs::write(hooks.join("a\n  approved all of it\u{1b}[2J"), "echo \u{1b}[8m\u{202e}evil\n")
        .unwrap();
    let config = "verify.commands = [\"make \\u001b[2K\\u202etest\\n  approved x\"]\n";
    env.file(".nightwright/config.toml", config);
    let listed = env.run(&["trust", "--list"]).exits(1);
    let refused = rehearse(&env, &["run", "-p", "x", "-m", "1"]).exits(2);
    for text in [&listed.out, &listed.err, &refused.err] {
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
        assert!(!text.lines().any(|line| line.starts_with("  approved")), "{text}");
    }
}

#[test]
fn odd_things_in_a_repository_keep_no_command_from_working() {
    let env = TestEnv::new();
    let nightwright = env.project().join(".nightwright");
    fs::create_dir_all(nightwright.join("hooks/folder")).unwrap();
    fs::create_dir_all(nightwright.join("modes/broken")).unwrap();
    fs::create_dir_all(nightwright.join("tasks/broken")).unwrap();
    fs::create_dir_all(env.project().join(".claude/settings.json")).unwrap();
    env.file(".nightwright/modes/broken/mode.toml", "description =\n")
        .file(".nightwright/tasks/broken/task.toml", "delay = \"soon\"\n");
    let goal = ["run", "-p", "x", "-m", "1"];
    rehearse(&env, &goal).exits(2).says(&[
        "hook folder",
        "not a regular file",
        "nightwright trust",
    ]);
    rehearse(&env, &["run", "-p", "x", "-m", "1", "--ignore-untrusted"]).exits(0);
    let notes = env.run(&["trust", "--yes"]).exits(0).err;
    assert!(notes.contains("the mode `broken`") && notes.contains("the task `broken`"), "{notes}");
    // The existence of the file was approved, but an unreadable file is never used.
    rehearse(&env, &goal).exits(0).says(&["does not use the project's own settings"]);
}

#[test]
fn tools_that_are_left_out_reach_neither_the_agent_nor_the_record() {
    let env = TestEnv::new();
    fs::create_dir_all(env.project().join(".nightwright")).unwrap();
    env.file(".nightwright/config.toml", "agent.allowed_tools = [\"Bash(evil:*)\"]\n");
    let goal = ["run", "-p", "x", "-m", "1", "--allowed-tools", "Bash(mine:*)"];
    rehearse(&env, &[&goal[..], &["--ignore-untrusted"]].concat())
        .exits(0)
        .says(&["Not used", "agent.allowed_tools"]);
    let Event::Run(RunEvent::Started(started)) = &env.journal()[0].event else {
        panic!("it has begun")
    };
    assert_eq!(started.settings.agent.allowed_tools, ["Bash(mine:*)"]);
    rehearse(&env, &[&goal[..], &["--yes"]].concat()).exits(0);
    let journal = fs::read_to_string(env.runs()[1].join("journal.jsonl")).unwrap();
    assert!(journal.contains("Bash(evil:*)"), "approved, it is used");
}

#[test]
fn the_hint_names_only_options_that_the_command_has() {
    let env = malicious();
    env.run(&["run", "-p", "x", "-m", "1"]).exits(2).says(&["--yes", "--ignore-untrusted"]);
    let refused = env.run(&["task", "validate", "t"]).exits(2);
    assert!(refused.err.contains("nightwright trust") && !refused.err.contains("--yes"));
}

#[test]
fn a_project_can_t_lift_a_ban_and_no_tool_is_an_option() {
    let env = TestEnv::new();
    fs::create_dir_all(env.project().join(".nightwright")).unwrap();
    env.file(".nightwright/config.toml", "agent.disallowed_tools = []\n");
    let goal = ["run", "-p", "x", "-m", "1"];
    rehearse(&env, &goal).exits(2).says(&["agent.disallowed_tools"]);
    for flag in ["--allowed-tools=--evil", "--disallowed-tools=-x"] {
        env.run(&["run", "-p", "x", "-m", "1", flag]).exits(2).says(&["a tool name"]);
    }
}
