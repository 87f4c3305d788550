//! `--agent-command`: any program as the agent.

use std::fs;

use insta::assert_snapshot;

use super::agent_program::program;
use super::harness::{TestEnv, finish, run_outcome};

/// Installs a small agent that stores its prompt and arguments, works, claims completion and gives
/// verdicts.
fn worker(env: &TestEnv) {
    let seen = env.word("seen");
    fs::create_dir(env.path("seen")).unwrap();
    program(
        env,
        "worker",
        &format!(
            "#!/bin/sh\n\
             name={seen}/${{NIGHTWRIGHT_PURPOSE:-work}}-$NIGHTWRIGHT_ITERATION\n\
             cat > \"$name.prompt\"; env > \"$name.env\"\n\
             printf '%s\\n' \"$@\" > \"$name.arguments\"\n\
             if [ \"$NIGHTWRIGHT_PURPOSE\" = verify ]; then echo 'VERDICT: yes - it is there'; exit; fi\n\
             echo work >> made.txt\n\
             echo 'I have done it all.'\n\
             echo\n\
             echo '<promise>COMPLETE</promise>'\n"
        ),
    );
}

fn run(env: &TestEnv, command: &str, more: &[&str]) -> super::harness::Output {
    let arguments = ["run", "-p", "write made.txt", "--no-delay", "--agent-command", command];
    env.run(&[&arguments[..], more].concat())
}

fn seen(env: &TestEnv, name: &str) -> String {
    fs::read_to_string(env.path("seen").join(name)).unwrap()
}

#[test]
fn any_program_works_claims_and_judges() {
    let env = TestEnv::new();
    worker(&env);
    let command = "worker --style 'short and sweet' -x";
    run(&env, command, &["-m", "3", "--verify", "grep -q work made.txt"]).exits(0).says(&[
        "The agent is `",
        "/bin/worker`. nightwright does not control its permissions, and estimates its cost from its running time.",
        "Task completed successfully after 1 iteration",
        "verified by `grep -q work made.txt`",
    ]);
    assert_eq!(seen(&env, "work-1.arguments"), "--style\nshort and sweet\n-x\n");
    assert_eq!(seen(&env, "verify-1.arguments"), "--style\nshort and sweet\n-x\n");
    let prompt = seen(&env, "work-1.prompt");
    assert!(prompt.contains("write made.txt"), "{prompt}");
    assert!(
        prompt.contains("<promise>COMPLETE</promise>"),
        "it is not told how to claim: {prompt}"
    );
    assert_eq!(run_outcome(&env.journal()), "completed");
}

#[test]
fn its_environment_is_the_list_of_any_program() {
    let env = TestEnv::new();
    worker(&env);
    let mut command = env.command(&["run", "-p", "x", "-m", "1", "--agent-command", "worker"]);
    command.env("GITHUB_TOKEN", "x").env("CLAUDE_CODE_OAUTH_TOKEN", "x").env("JAVA_HOME", "/j");
    finish(command.spawn().unwrap()).exits(0);
    let agent = seen(&env, "work-1.env");
    for there in ["PATH=", "JAVA_HOME=/j", "HOME="] {
        assert!(agent.contains(there), "no {there}");
    }
    for not_there in ["GITHUB_TOKEN", "CLAUDE_CODE", "DISABLE_AUTOUPDATER", "BASH_MAX_TIMEOUT"] {
        assert!(!agent.contains(not_there), "{not_there}");
    }
    assert!(agent.contains("NIGHTWRIGHT_MARK=") && agent.contains("TMPDIR="));
}

#[test]
fn it_costs_an_estimate_and_never_nothing() {
    let env = TestEnv::new();
    worker(&env);
    run(&env, "worker", &["-m", "1", "--no-detect"]).exits(0);
    let journal = fs::read_to_string(env.runs()[0].join("journal.jsonl")).unwrap();
    let finished = journal.lines().find(|line| line.contains("\"event\":\"attempt_finished\""));
    let finished: serde_json::Value = serde_json::from_str(finished.unwrap()).unwrap();
    assert!(finished["cost"].as_f64().unwrap() >= 0.01, "{finished:#}");
}

#[test]
fn a_run_continues_with_the_command_it_was_begun_with() {
    let env = TestEnv::new();
    worker(&env);
    fs::copy(env.path("bin/worker"), env.project().join("worker.sh")).unwrap();
    let command = "./worker.sh 'one two'";
    run(&env, command, &["-m", "1", "--no-detect"]).exits(0).says(&["project/worker.sh`"]);
    let first = fs::read_to_string(env.runs()[0].join("journal.jsonl")).unwrap();
    let first: serde_json::Value = serde_json::from_str(first.lines().next().unwrap()).unwrap();
    assert_eq!(first["settings"]["agent"]["command"], command);
    assert_eq!(first["agent"]["name"], "command");

    let mut resume = env.command(&["resume", "-C", "../project", "-m", "2"]);
    resume.current_dir(env.path("home"));
    finish(resume.spawn().unwrap()).exits(0).says(&["project/worker.sh`"]);
    assert_eq!(seen(&env, "work-2.arguments"), "one two\n");

    fs::remove_file(env.project().join("worker.sh")).unwrap();
    env.run(&["resume", "-m", "3"]).exits(1).says(&["worker.sh` does not exist"]);
}

#[test]
fn a_program_that_cannot_run_is_named_before_anything_starts() {
    let refusal = |command: &str, code: i32| {
        let env = TestEnv::new();
        env.file("plain.txt", "text");
        program(&env, "broken", "#!/nowhere/python\n");
        let output = run(&env, command, &["-m", "1"]).exits(code);
        assert!(env.runs().is_empty(), "something was begun");
        output.err.replace(env.path("").to_str().unwrap(), "~/").trim_end().to_owned()
    };
    assert_snapshot!(refusal("no-such-agent -x", 1), @"
    error: `no-such-agent` is not in PATH
    hint: install it, or give its full path
    ");
    assert_snapshot!(refusal("./no-such-agent", 1), @"
    error: `~/project/no-such-agent` does not exist
    hint: install it, or give its full path
    ");
    assert_snapshot!(refusal("./plain.txt", 1), @"
    error: `~/project/plain.txt` is not executable
    hint: run `chmod +x '~/project/plain.txt'`, or reinstall it
    ");
    assert_snapshot!(refusal("broken", 1), @"
    error: cannot start `~/bin/broken`: its interpreter `/nowhere/python` does not exist
    hint: install `/nowhere/python`, or change the first line of the file
    ");
    assert_snapshot!(refusal("worker 'half", 2), @"error: --agent-command `worker 'half`: missing closing quote");
    assert_snapshot!(refusal("''", 2), @"error: --agent-command `''`: it names no program");
}

#[test]
fn a_limit_of_tokens_alone_is_none_for_a_program_that_reports_no_tokens() {
    let env = TestEnv::new();
    worker(&env);
    run(&env, "worker", &["-m", "0", "--max-tokens", "1000"]).exits(2).says(&[
        "a token limit alone cannot limit a run with `--agent-command`",
        "add -m, --max-cost or --max-duration",
    ]);
    assert!(env.runs().is_empty());
}

#[test]
fn options_that_only_the_usual_agent_knows_are_refused_by_name() {
    let env = TestEnv::new();
    worker(&env);
    let cases: [(&[&str], &str); 6] = [
        (&["--dry-run"], "--dry-run"),
        (&["--model", "opus"], "--model"),
        (&["--max-turns", "3"], "--max-turns"),
        (&["--allowed-tools", "Bash"], "--allowed-tools"),
        (&["--dangerously-skip-permissions"], "--dangerously-skip-permissions"),
        (&["--", "--fast"], "[ARGS]..."),
    ];
    for (more, named) in cases {
        let output = run(&env, "worker", &[&["-m", "1"], more].concat()).exits(2);
        let words = ["--agent-command <CMD>", "cannot be used with", named];
        assert!(words.iter().all(|word| output.err.contains(word)), "{named}:\n{}", output.err);
    }
    run(&env, " ", &["-m", "1"]).exits(2).says(&["--agent-command"]);
    assert!(env.runs().is_empty());
}

#[test]
fn a_command_that_fails_is_quoted_in_its_own_words() {
    let env = TestEnv::new();
    program(&env, "worker", "#!/bin/sh\necho 'no key given' >&2\nexit 2\n");
    let output = run(&env, "worker", &["-m", "1", "--max-retries", "0"]);
    output.says(&["exited with 2", "the agent's last line on standard error: no key given"]);
}
