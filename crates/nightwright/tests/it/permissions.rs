//! Permissions of the agent, denied commands, and where they are reported.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use nightwright_core::event::{AttemptEvent, Event, Record, RunEvent};
use nightwright_core::permissions::Permissions;
use serde_json::Value;

use super::agent_env::NIGHTWRIGHT;
use super::harness::{Output, TestEnv, run_outcome};
use super::terminal::Terminal;

/// An agent that tries to deploy twice and does nothing else.
const DENIED: &str = "
    [[attempt]]
    steps = [{ denied = \"Bash\", command = \"kubectl apply -f x.yaml\" }]
    end = { result = \"I was not allowed to deploy.\" }
    [[attempt]]
    steps = [{ denied = \"Bash\", command = \"kubectl apply -f x.yaml\" }]
    end = { result = \"I was not allowed to deploy.\" }
";

const LINE: &str =
    "denied: kubectl apply -f x.yaml (allow with --allowed-tools \"Bash(kubectl apply:*)\")";

fn denials(journal: &[Record]) -> Vec<(&str, &str, Option<&str>)> {
    journal
        .iter()
        .filter_map(|record| match &record.event {
            Event::Attempt(AttemptEvent::PermissionDenied { tool, command, rule, .. }) => {
                Some((tool.as_str(), command.as_str(), rule.as_deref()))
            }
            _ => None,
        })
        .collect()
}

#[test]
fn a_denied_command_is_reported_once_with_its_rule_wherever_a_run_is_reported() {
    let env = TestEnv::new();
    let output = env.rehearse(DENIED, "5", &[]).exits(0);
    assert_eq!(output.err.matches(LINE).count(), 1, "{}", output.err);
    assert!(!output.err.contains("may not use"), "{}", output.err);
    let journal = env.journal();
    assert_eq!(run_outcome(&journal), "blocked");
    let rule = Some("Bash(kubectl apply:*)");
    assert_eq!(denials(&journal), [("Bash", "kubectl apply -f x.yaml", rule)]);

    let log = env.run(&["log"]).exits(0).out;
    assert!(log.contains(LINE), "{log}");
    let status = env.run(&["status"]).exits(0).out;
    let command = LINE.strip_prefix("denied: ").unwrap();
    assert!(status.contains(command), "{status}");
    let json: Value = serde_json::from_str(&env.run(&["status", "--json"]).exits(0).out).unwrap();
    let expected = serde_json::json!([
        { "tool": "Bash", "command": "kubectl apply -f x.yaml", "rule": "Bash(kubectl apply:*)" }
    ]);
    assert_eq!(json["denied"], expected);

    let markdown = env.run(&["report"]).exits(0).out;
    assert!(markdown.contains("## Denied") && markdown.contains("Bash(kubectl apply:*)"));
    let html = env.run(&["report", "--html", "-o", "-"]).exits(0).out;
    assert!(html.contains("<h2>Denied</h2>") && html.contains("Bash(kubectl apply:*)"));
    let json: Value = serde_json::from_str(&env.run(&["report", "--json"]).exits(0).out).unwrap();
    assert_eq!(json["denied"], expected);
}

#[test]
fn a_denied_command_is_in_the_summary_of_a_run_that_worked_without_it() {
    let env = TestEnv::new();
    let script = "
        [[attempt]]
        steps = [{ denied = \"WebFetch\" }, { write = \"a\", text = \"a\" }]
        end = { result = \"<promise>COMPLETE</promise>\" }
    ";
    let output = env.rehearse(script, "5", &["--verify", "test -f a"]).exits(0);
    assert_eq!(run_outcome(&env.journal()), "completed");
    let advice = "(allow with --allowed-tools \"WebFetch\")";
    assert_eq!(output.err.matches(advice).count(), 2, "at once and at the end:\n{}", output.err);
}

#[test]
fn the_printed_option_allows_what_was_denied() {
    let env = TestEnv::new();
    let script = "
        [[attempt]]
        steps = [{ denied = \"Bash\", command = \"touch made; sh -c 'echo x > made'\" }]
        end = { result = \"<promise>COMPLETE</promise>\" }
    ";
    let arguments = ["--verify", "grep -q x made", "--permissions", "edits"];
    let output = env.rehearse(script, "1", &arguments);
    let rule = "Bash(sh -c 'echo x > made')";
    assert!(output.err.contains(&format!("--allowed-tools \"{rule}\"")), "{}", output.err);
    let allowed = [&arguments[..], &["--allowed-tools", rule, "--allowed-tools", "Bash(touch:*)"]];
    env.rehearse(script, "1", &allowed.concat()).exits(0).says(&["completed successfully"]);
}

/// Installs an agent that logs its arguments and fails.
fn install(env: &TestEnv) {
    let agent = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && echo '2.1.325 (Claude Code)' && exit\n\
         printf '%s\\n' \"$@\" > {}\nexit 1\n",
        env.word("said")
    );
    let path = env.path("bin/claude");
    fs::write(&path, agent).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// The output of the command and the arguments of the agent.
fn arguments(env: &TestEnv, command: &[&str]) -> (Output, Vec<String>) {
    install(env);
    let output = env.run(&[command, &["-m", "1", "--max-retries", "0"]].concat());
    let words = fs::read_to_string(env.path("said")).unwrap();
    (output, words.lines().map(str::to_owned).collect())
}

#[test]
fn each_level_is_what_the_agent_program_is_started_with() {
    let has = |words: &[String], word: &str| words.iter().any(|one| one == word);
    let env = TestEnv::new();
    env.file("Cargo.toml", "[package]\nname = \"x\"\n");
    for (more, level) in [
        (&[][..], Permissions::Usual),
        (&["--permissions", "usual"], Permissions::Usual),
        (&["--permissions", "edits"], Permissions::Edits),
        (&["--permissions", "acceptEdits"], Permissions::Edits),
        (&["--permissions", "none"], Permissions::None),
    ] {
        let (output, words) = arguments(
            &env,
            &[&["run", "-p", "x"], more, &["--allowed-tools", "WebFetch"]].concat(),
        );
        let accepts = has(&words, "acceptEdits");
        assert_eq!(accepts, level != Permissions::None, "{words:?}");
        assert!(has(&words, "WebFetch"), "{words:?}");
        let usual = has(&words, "Bash(cargo test:*)") && has(&words, "Bash(git commit:*)");
        assert_eq!(usual, level == Permissions::Usual, "{words:?}");
        assert!(output.err.contains("Everything else is denied"), "{}", output.err);
        assert_eq!(
            output.err.contains("run: cargo test,"),
            level == Permissions::Usual,
            "{}",
            output.err
        );
    }
    let gone = env.run(&["run", "-p", "x", "-m", "1", "--permission-mode", "edits"]).exits(2);
    assert!(gone.err.contains("--permission-mode"), "{}", gone.err);
    env.run(&["run", "-p", "x", "-m", "1", "--permissions", "listed"]).exits(2);
}

#[test]
fn tools_of_the_command_line_add_to_those_that_are_configured() {
    let env = TestEnv::new();
    env.run(&["config", "set", "--user", "agent.allowed_tools", "WebSearch"]).exits(0);
    env.run(&["config", "set", "--user", "agent.disallowed_tools", "WebFetch", "Task"]).exits(0);
    let more = ["--allowed-tools", "WebFetch", "--disallowed-tools", "NotebookEdit"];
    let command = [&["run", "-p", "x", "--permissions", "edits"], &more[..]].concat();
    let (output, words) = arguments(&env, &command);
    let after = |option: &str| -> Vec<&str> {
        let values = words.iter().skip_while(|word| *word != option).skip(1);
        values.take_while(|word| !word.starts_with('-')).map(String::as_str).collect()
    };
    assert_eq!(after("--allowedTools"), ["WebSearch", "WebFetch"], "{words:?}");
    assert_eq!(after("--disallowedTools"), ["Task", "NotebookEdit"], "{words:?}");
    let says = "It may also use: WebSearch, WebFetch. It may not use: Task, NotebookEdit.";
    assert!(output.err.contains(says), "{}", output.err);
}

#[test]
fn building_may_commit_even_where_only_edits_are_allowed() {
    let env = TestEnv::new();
    env.file("IMPLEMENTATION_PLAN.md", "- [ ] one\n");
    let (_, words) = arguments(&env, &["build", "--permissions", "edits"]);
    for rule in ["Bash(git add:*)", "Bash(git commit:*)"] {
        assert!(words.iter().any(|word| word == rule), "{words:?}");
    }
    assert!(!words.iter().any(|word| word == "Bash(git switch:*)"), "{words:?}");
}

#[test]
fn the_rules_are_fixed_when_a_run_starts() {
    let env = TestEnv::new();
    env.file("Cargo.toml", "[package]\nname = \"x\"\n");
    env.rehearse(DENIED, "5", &[]).exits(0);
    let Event::Run(RunEvent::Started(started)) = &env.journal()[0].event else {
        panic!("no start")
    };
    let rules = &started.settings.agent.rules;
    assert!(rules.usual.iter().any(|rule| rule == "Bash(cargo test:*)"), "{rules:?}");
    assert!(!rules.usual.iter().any(|rule| rule == "Bash(npm test:*)"), "{rules:?}");
}

/// Starts a run in a terminal, with an agent that does nothing.
fn at_a_terminal(env: &TestEnv, more: &str) -> Terminal {
    typed(env, &format!("run -p x -m 1 --max-retries 0 {more}"))
}

/// Types a command in a terminal, with the same agent.
fn typed(env: &TestEnv, words: &str) -> Terminal {
    install(env);
    let path = env.word("bin");
    Terminal::run(env, &format!("PATH={path}:$PATH {NIGHTWRIGHT} {words}"))
}

#[test]
fn the_first_run_at_a_terminal_asks_what_the_agent_may_do() {
    for (answer, accepts, says) in [
        ("", true, "The agent may edit files and run: "),
        ("2", true, "The agent may edit files. Everything else is denied"),
    ] {
        let env = TestEnv::new();
        let terminal = at_a_terminal(&env, "");
        let screen = terminal.shows("permissions [1]");
        for words in ["1  usual", "(recommended)", "2  edits", "3  bypass"] {
            assert!(screen.contains(words), "{words} is not in:\n{screen}");
        }
        terminal.types(&[answer, "Enter"]);
        let screen = terminal.shows("exit=");
        assert!(screen.contains("`nightwright init` saves it"), "{screen}");
        assert!(screen.contains(says), "{screen}");
        let words = fs::read_to_string(env.path("said")).unwrap();
        assert_eq!(words.contains("acceptEdits"), accepts, "{words}");
        assert!(!env.project().join(".nightwright/config.toml").exists(), "nothing is written");
    }
}

#[test]
fn the_first_run_at_a_terminal_offers_the_test_command_as_the_check() {
    for (answer, checked) in [("", true), ("n", false)] {
        let env = TestEnv::new();
        env.file("Makefile", "test:\n\tfalse\n");
        let terminal = at_a_terminal(&env, "--permissions edits");
        terminal.shows("Use `make test` as the check? [Y/n]");
        terminal.types(&[answer, "Enter"]);
        let screen = terminal.shows("exit=");
        assert_eq!(screen.contains("`make test` failed"), checked, "{screen}");
        assert_eq!(screen.contains("only a model judges the work"), !checked, "{screen}");
    }
    let env = TestEnv::new();
    env.file("Makefile", "test:\n\tfalse\n");
    let screen = at_a_terminal(&env, "--permissions edits --verify false").shows("exit=");
    assert!(!screen.contains("as the check?"), "{screen}");
}

#[test]
fn the_check_is_not_offered_to_a_run_that_has_no_use_for_it() {
    for more in ["--mode plan", "--no-detect"] {
        let env = TestEnv::new();
        env.file("Makefile", "test:\n\tfalse\n");
        let screen = at_a_terminal(&env, &format!("--permissions edits {more}")).shows("exit=");
        assert!(!screen.contains("as the check?"), "{more}: {screen}");
    }
}

#[test]
fn refusals_come_before_the_questions() {
    let env = TestEnv::new();
    let screen = typed(&env, "run no-such-task").shows("exit=");
    assert!(screen.contains("Task not found"), "{screen}");
    assert!(!screen.contains("permissions [1]"), "{screen}");
}

#[test]
fn a_project_that_only_has_tasks_is_asked_and_the_root_is_named_first() {
    let env = TestEnv::new();
    env.run(&["new", "demo"]).exits(0);
    fs::create_dir(env.project().join("sub")).unwrap();
    install(&env);
    let path = env.word("bin");
    let line = format!("cd sub && PATH={path}:$PATH {NIGHTWRIGHT} run -p x -m 1 --max-retries 0");
    let terminal = Terminal::run(&env, &line);
    let screen = terminal.shows("permissions [1]");
    let root = screen.find("Project: `").unwrap_or_else(|| panic!("no root in:\n{screen}"));
    assert!(root < screen.find("What may the agent do?").unwrap(), "{screen}");
    terminal.types(&["Enter"]);
    let screen = terminal.shows("exit=");
    assert_eq!(screen.matches("Project: `").count(), 1, "{screen}");
}

#[test]
fn everything_comes_with_the_warning_and_the_end_of_input_starts_nothing() {
    let env = TestEnv::new();
    let terminal = at_a_terminal(&env, "");
    terminal.shows("permissions [1]");
    terminal.types(&["3", "Enter"]);
    terminal.shows("warning: the agent can run any command on this machine");
    terminal.shows("exit=");

    let env = TestEnv::new();
    let terminal = at_a_terminal(&env, "");
    terminal.shows("permissions [1]");
    terminal.types(&["C-d"]);
    let screen = terminal.shows("exit=2");
    assert!(screen.contains("answer it with `--permissions usual`"), "{screen}");
    assert!(!env.path("said").exists(), "nothing was started");
}

#[test]
fn nothing_is_asked_once_a_choice_was_made_or_the_project_is_set_up() {
    let chosen = TestEnv::new();
    let screen = at_a_terminal(&chosen, "--permissions edits").shows("exit=");
    assert!(!screen.contains("permissions [1]"), "{screen}");
    let set_up = TestEnv::new();
    set_up.run(&["init", "--yes"]).exits(0);
    let screen = at_a_terminal(&set_up, "").shows("exit=");
    assert!(!screen.contains("permissions [1]"), "{screen}");
    let of_user = TestEnv::new();
    of_user.run(&["config", "set", "--user", "agent.permissions", "edits"]).exits(0);
    let screen = at_a_terminal(&of_user, "").shows("exit=");
    assert!(!screen.contains("permissions [1]"), "{screen}");
}

#[test]
fn a_run_that_leaves_its_terminal_asks_before_it_leaves() {
    let env = TestEnv::new();
    let terminal = at_a_terminal(&env, "--detach");
    terminal.shows("permissions [1]");
    terminal.types(&["Enter"]);
    terminal.shows("exit=0");
    env.wait_for("run_finished");
    assert!(fs::read_to_string(env.path("said")).unwrap().contains("acceptEdits"));
}
