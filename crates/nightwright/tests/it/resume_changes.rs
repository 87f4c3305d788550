//! Resuming a run with changed settings.

use std::fs;

use nightwright_core::event::{Event, GateEvent, OperatorEvent, Record, RunEvent};
use nightwright_core::machine::ledger::Ledger;
use nightwright_core::permissions::Permissions;
use nightwright_core::settings::{ChangeSource, SettingChange, Settings};
use rustix::process::{Pid, Signal, kill_process};

use super::agent_env::NIGHTWRIGHT;
use super::fake_agent::FakeAgentEnv;
use super::harness::{Output, TestEnv, finish, run_outcome};
use super::terminal::Terminal;

/// The first attempt does nothing; the second does the work.
const SCRIPT: &str = r#"
[[attempt]]
end = { auth = "not logged in" }
[[attempt]]
steps = [{ write = "done.txt", text = "1" }]
end = { result = "Done.\n<promise>COMPLETE</promise>" }
"#;

/// A run that ended before its first work.
fn ended(more: &[&str]) -> TestEnv {
    let env = TestEnv::new();
    configure(&env, "");
    env.rehearse(SCRIPT, "9", more).exits(1);
    assert_eq!(run_outcome(&env.journal()), "auth");
    env
}

/// Writes the user's configuration, which needs no approval.
fn configure(env: &TestEnv, text: &str) {
    let folder = env.path("home/.config/nightwright");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.toml"), text).unwrap();
}

fn configure_project(env: &TestEnv, text: &str) {
    fs::create_dir_all(env.project().join(".nightwright")).unwrap();
    fs::write(env.project().join(".nightwright/config.toml"), text).unwrap();
}

fn changes(journal: &[Record]) -> Vec<(ChangeSource, String)> {
    journal
        .iter()
        .filter_map(|record| match &record.event {
            Event::Operator(OperatorEvent::SettingsChanged { source, change }) => {
                Some((*source, change.sentence()))
            }
            _ => None,
        })
        .collect()
}

fn settings(journal: &[Record]) -> Settings {
    Ledger::replay(journal).settings.clone()
}

fn by_operator(sentences: &[&str]) -> Vec<(ChangeSource, String)> {
    sentences.iter().map(|text| (ChangeSource::Operator, (*text).to_owned())).collect()
}

#[test]
fn every_option_is_one_event_and_holds_from_then_on() {
    let env = ended(&["--verify", "true", "--allowed-tools", "Bash(ls:*)"]);
    let output = env
        .run(&[
            "resume",
            "--allowed-tools",
            "Bash(npm install:*)",
            "--disallowed-tools",
            "WebFetch",
            "--permissions",
            "acceptEdits",
            "--model",
            "opus",
            "--verify",
            "test -e done.txt",
            "-m",
            "12",
            "--max-cost",
            "7.035",
            "--max-duration",
            "2h",
            "--max-tokens",
            "90000",
            "--max-turns",
            "30",
            "--",
            "--betas",
            "x",
        ])
        .exits(0)
        .says(&["Changed model.name: default -> opus"]);
    let journal = env.journal();
    assert_eq!(run_outcome(&journal), "completed", "{}", output.err);
    assert_eq!(
        changes(&journal),
        by_operator(&[
            "agent.permissions: usual -> edits",
            "agent.allowed_tools: added Bash(npm install:*)",
            "agent.disallowed_tools: added WebFetch",
            "agent.args: none -> --betas, x",
            "agent.max_turns: none -> 30",
            "model.name: default -> opus",
            "verify.commands: true -> test -e done.txt",
            "limits.max_iterations: 9 -> 12",
            "limits.max_cost: none -> $7.035",
            "limits.max_tokens: none -> 90000",
            "limits.max_duration: none -> 2h 00m",
        ])
    );
    let asked = env.asked();
    let last = asked.iter().rfind(|line| line["part"] == "attempt").unwrap().to_string();
    for word in ["Bash(npm install:*)", "Bash(ls:*)", "WebFetch", "--betas", "opus"] {
        assert!(last.contains(word), "the agent was not started with {word}: {last}");
    }
    let checked = journal.iter().any(|record| match &record.event {
        Event::Gate(GateEvent::ChecksFinished { results, .. }) => {
            results[0].command == "test -e done.txt"
        }
        _ => false,
    });
    assert!(checked, "the gate is the one of the last resume");
}

#[test]
fn the_agent_may_run_a_check_that_a_resume_names() {
    let env = ended(&["--verify", "true"]);
    env.run(&["resume", "--verify", "env test -e done.txt"]).exits(0);
    let asked = env.asked();
    let attempts: Vec<_> = asked.iter().filter(|line| line["part"] == "attempt").collect();
    let may = |line: &serde_json::Value| line.to_string().contains("Bash(env test:*)");
    assert_eq!(attempts.into_iter().map(may).collect::<Vec<_>>(), [false, true]);
}

#[test]
fn all_permissions_can_be_given_by_the_agent_s_own_option() {
    let env = ended(&["--verify", "true"]);
    env.run(&["resume", "--dangerously-skip-permissions"]).exits(0);
    assert_eq!(changes(&env.journal()), by_operator(&["agent.permissions: usual -> bypass"]));
}

#[test]
fn a_limit_is_shown_with_all_its_digits() {
    let env = ended(&["--verify", "true", "--max-cost", "0.035"]);
    let page = env.run(&["status"]).exits(0).out;
    assert!(page.contains(" of $0.035"), "{page}");
}

#[test]
fn a_later_resume_keeps_what_an_earlier_one_changed() {
    let env = ended(&["--verify", "false", "--stagnation-threshold", "0"]);
    env.run(&["resume", "-m", "2", "--verify", "test -e never"]).exits(0);
    assert_eq!(run_outcome(&env.journal()), "max_iterations");
    env.run(&["resume", "-m", "3"]).exits(0);
    let journal = env.journal();
    assert_eq!(settings(&journal).verify.commands, ["test -e never"]);
    assert_eq!(run_outcome(&journal), "max_iterations");
}

#[test]
fn a_changed_configuration_is_named_and_used_only_with_reload() {
    let env = ended(&["--verify", "test -e never", "--stagnation-threshold", "0"]);
    configure(&env, "[agent]\npermissions = \"edits\"\n[model]\nname = \"opus\"\n");
    let line = "Changed since this run began: agent.permissions: usual -> edits; model.name: \
                default -> opus. The run keeps the old values. Add --reload to use the new ones.";
    env.run(&["resume", "-m", "2"]).exits(0).says(&[line]);
    assert_eq!(settings(&env.journal()).agent.permissions, Permissions::Usual);
    env.run(&["resume", "-m", "3", "--reload"]).exits(0);
    let journal = env.journal();
    let by_configuration: Vec<_> = changes(&journal)
        .into_iter()
        .filter(|(source, _)| *source == ChangeSource::Configuration)
        .map(|(_, sentence)| sentence)
        .collect();
    assert_eq!(
        by_configuration,
        ["agent.permissions: usual -> edits", "model.name: default -> opus"]
    );
    assert_eq!(settings(&journal).agent.permissions, Permissions::Edits);
    // After a resume, the configuration counts as unchanged.
    let output = env.run(&["resume", "-m", "4"]).exits(0);
    assert!(!output.err.contains("Changed since"), "{}", output.err);
}

#[test]
fn an_option_of_the_command_line_is_no_change_of_the_configuration() {
    let env = ended(&["--verify", "true", "--model", "opus", "--permissions", "edits"]);
    let output = env.run(&["resume"]).exits(0);
    assert!(!output.err.contains("Changed since"), "{}", output.err);
}

#[test]
fn a_project_s_configuration_is_reloaded_only_if_it_is_approved() {
    let env = ended(&["--verify", "true"]);
    configure_project(&env, "[agent]\npermissions = \"bypass\"\n");
    env.run(&["resume", "--reload"]).exits(2).says(&[
        "agent.permissions",
        "bypass",
        "`nightwright trust`; add --yes to approve it for this run only",
    ]);
    assert_eq!(run_outcome(&env.journal()), "auth", "nothing was started");
    env.run(&["trust", "--yes"]).exits(0);
    env.run(&["resume", "--reload"]).exits(0);
    assert_eq!(settings(&env.journal()).agent.permissions, Permissions::Bypass);
}

#[test]
fn a_project_s_configuration_can_be_trusted_for_one_reload() {
    let env = ended(&["--verify", "true"]);
    configure_project(&env, "[agent]\npermissions = \"bypass\"\n");
    env.run(&["resume", "--reload", "--yes"]).exits(0);
    assert_eq!(settings(&env.journal()).agent.permissions, Permissions::Bypass);
    // The approval was valid only once.
    env.run(&["run", "-p", "x", "-m", "1", "--dry-run"]).exits(2).says(&["not approved"]);
}

#[test]
fn a_project_s_configuration_that_is_confirmed_at_the_question_is_approved() {
    let env = ended(&["--verify", "true"]);
    let rule = "[agent]\nallowed_tools = [\"Bash(kubectl get:*)\"]\n";
    configure_project(&env, &format!("{rule}[verify]\ncommands = [\"true\"]\n"));
    let terminal = Terminal::run(&env, &format!("{NIGHTWRIGHT} resume"));
    terminal.shows("agent.allowed_tools: added Bash(kubectl get:*)");
    terminal.shows("Use the new values? [y/N]");
    terminal.types(&["y", "Enter"]);
    terminal.shows("exit=0");
    assert_eq!(settings(&env.journal()).agent.allowed_tools, ["Bash(kubectl get:*)"]);
    assert_eq!(run_outcome(&env.journal()), "completed");
    // The approval covers only the shown values. The check was not shown, and still needs one.
    let output = env.run(&["trust", "--list"]).exits(1);
    let listed = |key: &str| {
        let line = output.out.lines().find(|line| line.ends_with(&format!(": {key}")));
        line.unwrap_or_else(|| panic!("no {key} in:\n{}", output.out)).trim().to_owned()
    };
    assert!(listed("agent.allowed_tools").starts_with("approved"), "{}", output.out);
    assert!(listed("verify.commands").starts_with("new"), "{}", output.out);
}

#[test]
fn an_unchanged_configuration_that_is_ignored_is_no_change() {
    let env = TestEnv::new();
    configure(&env, "");
    configure_project(&env, "[agent]\npermissions = \"bypass\"\n");
    env.rehearse(SCRIPT, "9", &["--verify", "true", "--ignore-untrusted"]).exits(1);
    let output = env.run(&["resume"]).exits(0);
    assert!(!output.err.contains("Changed since"), "{}", output.err);
    assert_eq!(settings(&env.journal()).agent.permissions, Permissions::Usual);
}

#[test]
fn a_run_that_does_not_continue_is_refused_before_anything_is_asked() {
    let env = ended(&["--verify", "true"]);
    env.run(&["resume"]).exits(0);
    configure(&env, "[model]\nname = \"opus\"\n");
    let output = env.run(&["resume"]).exits(1).says(&["has completed"]);
    assert!(!output.err.contains("Changed since"), "{}", output.err);
    let terminal = Terminal::run(&env, &format!("{NIGHTWRIGHT} resume"));
    let screen = terminal.shows("exit=1");
    assert!(!screen.contains("Use the new values?"), "{screen}");
}

#[test]
fn resume_in_a_subfolder_says_which_project_it_uses() {
    let env = ended(&["--verify", "true"]);
    fs::create_dir_all(env.project().join(".nightwright")).unwrap();
    let folder = env.project().join("src");
    fs::create_dir(&folder).unwrap();
    let output = finish(env.command(&["resume"]).current_dir(&folder).spawn().unwrap());
    let line = format!("Project: `{}` (it has `.nightwright/`)", env.project().display());
    output.exits(0).says(&[&line]);
}

#[test]
fn if_needed_never_changes_anything() {
    let env = TestEnv::new();
    configure(&env, "");
    let hang = "[[attempt]]\nsteps = [{ say = \"one\" }]\nend = { hang = true }\n\
                [[attempt]]\nend = { result = \"<promise>COMPLETE</promise>\" }";
    let script = env.script(hang);
    let run = ["run", "-p", "x", "-m", "9", "--verify", "true", "--dry-run", "--rehearsal"];
    let mut child = env.start(&[&run[..], &[&script]].concat());
    env.wait_for("agent_ready");
    kill_process(pid(child.id()), Signal::KILL).unwrap();
    child.wait().unwrap();
    configure(&env, "[model]\nname = \"opus\"\n");
    let said = "Changed since this run began: model.name: default -> opus. The run keeps the old \
                values.";
    env.run(&["resume", "--if-needed"]).exits(0).says(&[said]);
    assert_eq!(settings(&env.journal()).model.name, None);
    env.run(&["resume", "--if-needed", "--reload"]).exits(2).says(&["cannot be used with"]);
}

#[test]
fn on_a_terminal_a_changed_configuration_is_asked_about() {
    for (answer, model) in [("y", Some("opus")), ("n", None)] {
        let env = ended(&["--verify", "true"]);
        configure(&env, "[model]\nname = \"opus\"\n");
        let terminal = Terminal::run(&env, &format!("{NIGHTWRIGHT} resume"));
        terminal.shows("Use the new values? [y/N]");
        terminal.types(&[answer, "Enter"]);
        terminal.shows("exit=0");
        assert_eq!(settings(&env.journal()).model.name.as_deref(), model, "{answer}");
        assert_eq!(run_outcome(&env.journal()), "completed");
    }
}

#[test]
fn a_secret_in_a_changed_argument_is_masked_and_comes_back() {
    const SECRET: &str = "sk-0123456789abcdef0123";
    let env = ended(&["--verify", "test -e never", "--stagnation-threshold", "0"]);
    let resume = |arguments: &[&str]| -> Output {
        let mut command = env.command(arguments);
        finish(command.env("SHOP_API_KEY", SECRET).spawn().unwrap())
    };
    resume(&["resume", "-m", "2", "--", "--key", SECRET]).exits(0);
    let text = fs::read_to_string(env.runs()[0].join("journal.jsonl")).unwrap();
    assert!(!text.contains(SECRET), "the journal has the secret");
    // The variable is unset, but the agent still receives the real value.
    env.run(&["resume", "-m", "3"]).exits(0);
    let asked = env.asked();
    let last = asked.iter().rfind(|line| line["part"] == "attempt").unwrap().to_string();
    assert!(last.contains(SECRET), "the agent got a mask: {last}");
    let text = fs::read_to_string(env.runs()[0].join("journal.jsonl")).unwrap();
    assert!(!text.contains(SECRET), "the journal has the secret");
}

#[test]
fn a_closed_terminal_is_recorded_and_the_run_continues() {
    let env = TestEnv::new();
    let hang = "[[attempt]]\nsteps = [{ say = \"one\" }]\nend = { hang = true }\n\
                [[attempt]]\nend = { result = \"<promise>COMPLETE</promise>\" }";
    let script = env.script(hang);
    let run = ["run", "-p", "x", "-m", "9", "--verify", "true", "--dry-run", "--rehearsal"];
    let child = env.start(&[&run[..], &[&script]].concat());
    env.wait_for("agent_ready");
    kill_process(pid(child.id()), Signal::HUP).unwrap();
    finish(child)
        .exits(130)
        .says(&["Stopping now, because the terminal closed", "the terminal closed"]);
    let journal = env.journal();
    let Some(Event::Run(RunEvent::Finished { note, .. })) =
        journal.last().map(|record| &record.event)
    else {
        panic!("it has ended")
    };
    assert_eq!(note.as_deref(), Some("the terminal closed"));
    env.run(&["resume"]).exits(0);
    assert_eq!(run_outcome(&env.journal()), "completed");
}

#[test]
fn a_command_as_the_agent_has_no_model_to_change() {
    let env = TestEnv::new();
    env.file("agent.sh", "cat > /dev/null\necho working\n");
    let run = ["run", "-p", "x", "-m", "1", "--no-delay", "--agent-command", "sh agent.sh"];
    env.run(&run).exits(0);
    env.run(&["resume", "-m", "2", "--model", "opus"]).exits(2).says(&["sh agent.sh"]);
    env.run(&["resume", "-m", "2"]).exits(0);
    let raised = changes(&env.journal());
    assert_eq!(raised, by_operator(&["limits.max_iterations: 1 -> 2"]));
    assert!(SettingChange::KEYS.contains(&"limits.max_iterations"));
}

fn pid(id: u32) -> Pid {
    Pid::from_raw(i32::try_from(id).unwrap()).unwrap()
}

#[test]
fn without_a_name_the_last_real_run_is_resumed_and_not_a_rehearsal_after_it() {
    let scene = FakeAgentEnv::new("init; result Hm.");
    finish(scene.start(&["-m", "1"])).exits(0);
    let env = &scene.env;
    let real = env.runs()[0].file_name().unwrap().to_str().unwrap().to_owned();
    env.rehearse("[[attempt]]\nend = { result = \"Hm.\" }", "1", &[]).exits(0);
    let output = env.run(&["resume", "-m", "2"]).exits(0).says(&[
        &format!("Resuming {real}, the last real run. (Skipped the newer rehearsal "),
        ".)",
        &format!("Run {real}: x (prompt)"),
        "at most 1 iteration; so far 1 iteration, $0.01",
        "Changed limits.max_iterations: 1 -> 2",
    ]);
    assert!(!output.err.contains("rehearsed"), "{}", output.err);
}

#[test]
fn a_rule_that_the_agent_cannot_read_is_refused_before_anything_starts() {
    let env = TestEnv::new();
    for rule in ["bogus(", "Bash(kubectl get:*", "Bash(ls:*), Bash(cat:*)", "-x"] {
        let rule = format!("--allowed-tools={rule}");
        let run = ["run", "-p", "x", "-m", "1", "--dry-run", &rule];
        env.run(&run).exits(2).says(&["a rule such as `WebSearch` or `Bash(npm install:*)`"]);
    }
    assert!(env.runs().is_empty());
}
