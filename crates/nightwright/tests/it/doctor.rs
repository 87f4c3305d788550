//! `nightwright doctor`: its findings, their strings, and the small test call of the agent.

mod refusals;

use std::fs;
use std::time::{Duration, Instant};

use insta::assert_snapshot;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::agent_env::is_alive;
use super::agent_program::{player, program, recorded};
use super::harness::{Output, TestEnv, finish, shell_path};

/// A test environment with a working agent and a committed project.
fn healthy() -> TestEnv {
    let env = TestEnv::new();
    player(&env, "2.1.325 (Claude Code)", "a_plain");
    env.file("a.txt", "mine");
    git(&env, &["init", "-q"]);
    git(&env, &["add", "."]);
    git(&env, &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"]);
    env
}

fn git(env: &TestEnv, arguments: &[&str]) {
    super::git::git(&env.project(), arguments);
}

fn doctor(env: &TestEnv, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = env.command(&[&["doctor"], arguments].concat());
    // Otherwise the doctor lists it as a variable that is not passed on.
    command.env_remove("GIT_CEILING_DIRECTORIES");
    command.env_remove("NIGHTWRIGHT_KEEP_AWAKE").envs(variables.iter().copied());
    finish(command.spawn().unwrap())
}

/// Returns the findings without the parts that depend on the machine, such as folders, sizes and
/// the version of Git.
fn shown(env: &TestEnv, output: &Output) -> String {
    let home = env.path("").display().to_string();
    let mut text = String::new();
    let mut lines = output.out.lines().peekable();
    while let Some(line) = lines.next() {
        if line.starts_with("warning  user") {
            lines.next_if(|next| next.trim_start().starts_with("hint:"));
            continue;
        }
        if line.starts_with("Runs can start") || line.starts_with("No run can start") {
            break;
        }
        if line.contains("  containment  ") {
            text.push_str("...      containment  ...\n");
            continue;
        }
        if line.contains("  sandbox      ") {
            // Whether bubblewrap works depends on the machine.
            text.push_str("...      sandbox      ...\n");
            continue;
        }
        if line.contains("  temp         ") {
            // Whether the path of the test folder is too long depends on the machine.
            text.push_str("...      temp         ...\n");
            continue;
        }
        if let Some((start, _)) = line.split_once(" and run: ") {
            // Another test checks the commands.
            text += start;
            text += " and run: ...\n";
            continue;
        }
        let line = line.replace(&home, "~/");
        let line = masked(&line, "project-", "xxxxxxxx", |c| c.is_ascii_hexdigit());
        let line =
            masked(&line, "git          git ", "VERSION", |c| c.is_ascii_digit() || c == '.');
        text.push_str(&sizes(&line));
        text.push('\n');
    }
    text.trim_end().to_owned()
}

fn masked(line: &str, before: &str, mask: &str, varies: impl Fn(char) -> bool) -> String {
    match line.split_once(before) {
        Some((start, rest)) if rest.starts_with(&varies) => {
            format!("{start}{before}{mask}{}", rest.trim_start_matches(&varies))
        }
        _ => line.to_owned(),
    }
}

fn sizes(line: &str) -> String {
    let mut words: Vec<&str> = Vec::new();
    for word in line.split(' ') {
        if matches!(word, "MiB" | "GiB") {
            words.pop();
            words.push("SIZE");
        } else {
            words.push(word);
        }
    }
    words.join(" ")
}

fn json(output: &Output) -> Value {
    serde_json::from_str(&output.out).unwrap_or_else(|error| panic!("{error}:\n{}", output.out))
}

/// The finding on a topic.
fn finding(value: &Value, topic: &str) -> Value {
    let all = value["findings"].as_array().unwrap();
    let found = all.iter().find(|finding| finding["topic"] == topic);
    found.unwrap_or_else(|| panic!("nothing on {topic} in {value:#}")).clone()
}

#[test]
fn without_problems_every_finding_is_one_line() {
    let env = healthy();
    let variables = [("ANTHROPIC_API_KEY", "k"), ("NIGHTWRIGHT_VERIFY_COMMANDS", "make test")];
    let output = doctor(&env, &[], &variables).exits(0);
    assert_eq!(output.err, "");
    assert_snapshot!(shown(&env, &output), @"
    ok       agent        claude 2.1.325, `~/bin/claude` (tested: 2.1.197 to 2.1.325)
    ok       login        found ANTHROPIC_API_KEY (not tested)
    ok       environment  the agent does not get 2 variables:
                          NIGHTWRIGHT_STATE_DIR NIGHTWRIGHT_VERIFY_COMMANDS
    ...      containment  ...
    ok       git          git VERSION; everything in the project is committed
    ok       config       the configuration is valid
    ok       permissions  usual: The agent may edit files and run: ...
    ok       state        `~/state/project-xxxxxxxx` is writable
    ok       disk         project: SIZE free, SIZE required
    ...      temp         ...
    ...      sandbox      ...
    ok       checks       `make test` (add --checks to run them once)
    ");
}

#[test]
fn on_an_empty_system_every_finding_says_what_to_do() {
    let env = TestEnv::new();
    let path = env.path("bin").display().to_string();
    let output = doctor(&env, &[], &[("PATH", &path)]).exits(1);
    assert_snapshot!(shown(&env, &output), @r#"
    problem  agent        Claude CLI not found. Make sure 'claude' is installed and in PATH.
                          hint: run `nightwright run -p "..." -m 3 --dry-run` to try nightwright without it
    warning  login        no login found
                          hint: run `claude` and log in, or set ANTHROPIC_API_KEY
    ok       environment  the agent does not get 1 variable:
                          NIGHTWRIGHT_STATE_DIR
    ...      containment  ...
    warning  git          git is not installed; runs work without it
                          hint: install git to see and undo the agent's changes
    ok       config       the configuration is valid
    ok       permissions  usual: The agent may edit files and run: ...
    ok       state        `~/state/project-xxxxxxxx` is writable
    ok       disk         project: SIZE free, SIZE required
    ...      temp         ...
    ...      sandbox      ...
    warning  checks       none: only a model judges whether the work is done
                          hint: run `nightwright init` to find the test command of this project
    "#);
    assert!(output.out.contains("\nNo run can start: 1 problem ("), "{}", output.out);
}

#[test]
fn an_agent_that_is_too_old_is_a_problem_and_a_newer_one_is_not() {
    let env = healthy();
    player(&env, "2.0.1 (Claude Code)", "a_plain");
    let value = json(&doctor(&env, &["--json"], &[]).exits(1));
    let agent = finding(&value, "agent");
    assert_eq!((&value["can_run"], &agent["grade"]), (&false.into(), &"problem".into()));
    assert!(agent["hints"][0].as_str().unwrap().contains("claude update"), "{agent}");

    player(&env, "2.2.0 (Claude Code)", "a_plain");
    let value = json(&doctor(&env, &["--json"], &[]).exits(0));
    let agent = finding(&value, "agent");
    assert_eq!((&value["can_run"], &agent["grade"]), (&true.into(), &"warning".into()));
    assert_eq!(agent["facts"]["version"], "2.2.0");
}

#[test]
fn the_agent_is_asked_afresh_and_the_answer_is_kept_for_runs() {
    let env = healthy();
    let asked = || fs::read_to_string(env.path("asked")).unwrap().lines().count();
    doctor(&env, &[], &[]).exits(0);
    doctor(&env, &[], &[]).exits(0);
    assert_eq!(asked(), 2);
    env.run(&["run", "-p", "x", "-m", "1", "--no-delay"]).exits(0);
    assert_eq!(asked(), 2);
}

#[test]
fn names_of_variables_are_reported_and_values_never() {
    let env = healthy();
    let variables = [
        ("ANTHROPIC_API_KEY", "sk-very-secret"),
        ("DEPLOY_TOKEN", "hunter2"),
        ("ZZZ", "hunter3"),
        ("GIT_DIR", "hunter4"),
    ];
    for arguments in [&[][..], &["--json"], &["--probe"]] {
        let output = doctor(&env, arguments, &variables).exits(0);
        for secret in ["secret", "hunter"] {
            assert!(!output.out.contains(secret) && !output.err.contains(secret), "{}", output.out);
        }
        assert!(output.out.contains("DEPLOY_TOKEN"), "{}", output.out);
    }
    let value = json(&doctor(&env, &["--json"], &variables).exits(0));
    assert_eq!(
        finding(&value, "environment")["facts"]["dropped"],
        serde_json::json!(["DEPLOY_TOKEN", "GIT_DIR", "NIGHTWRIGHT_STATE_DIR", "ZZZ"])
    );
    assert_eq!(
        finding(&value, "login")["facts"]["signs"],
        serde_json::json!(["ANTHROPIC_API_KEY"])
    );
    assert_eq!(finding(&value, "git")["facts"]["state"], "clean", "GIT_DIR had a say");
}

#[test]
fn many_names_are_wrapped_and_sorted() {
    let env = healthy();
    let names: Vec<String> = (0..40).rev().map(|n| format!("VARIABLE_{n:02}")).collect();
    let variables: Vec<_> = names.iter().map(|name| (name.as_str(), "x")).collect();
    let output = doctor(&env, &[], &variables).exits(0);
    let first = output.out.find("VARIABLE_00").unwrap();
    assert!(
        output.out.contains("the agent does not get 41 variables")
            && first < output.out.find("VARIABLE_39").unwrap()
    );
    assert!(
        output.out.lines().all(|line| !line.contains("VARIABLE") || line.len() <= 96),
        "{}",
        output.out
    );
}

#[test]
fn an_outer_session_of_the_agent_is_noticed() {
    let env = healthy();
    let output = doctor(&env, &[], &[("CLAUDECODE", "1"), ("CLAUDE_CODE_SSE_PORT", "7")]).exits(0);
    let text = "ok       session      running inside an agent session; nightwright does not pass \
                on these variables:\n";
    assert!(output.out.contains(text), "{}", output.out);
    assert!(output.out.contains("\n                      CLAUDECODE CLAUDE_CODE_SSE_PORT\n"));
    assert!(!doctor(&env, &[], &[]).out.contains("session "));
}

#[test]
fn a_login_is_known_by_its_signs() {
    let env = healthy();
    let signs = |variables: &[(&str, &str)]| {
        let value = json(&doctor(&env, &["--json"], variables).exits(0));
        let login = finding(&value, "login");
        (login["grade"].clone(), login["facts"]["signs"].clone())
    };
    assert_eq!(signs(&[("ANTHROPIC_API_KEY", "")]), ("warning".into(), serde_json::json!([])));
    fs::create_dir(env.path("home/.claude")).unwrap();
    fs::write(env.path("home/.claude/.credentials.json"), "{}").unwrap();
    let file = format!("`{}`", env.path("home/.claude/.credentials.json").display());
    let expected = serde_json::json!(["CLAUDE_CODE_OAUTH_TOKEN", file]);
    assert_eq!(signs(&[("CLAUDE_CODE_OAUTH_TOKEN", "t")]), ("ok".into(), expected));
    let elsewhere = env.path("tmp").display().to_string();
    assert_eq!(signs(&[("CLAUDE_CONFIG_DIR", &elsewhere)]).1, serde_json::json!([]));
}

#[test]
fn the_state_of_the_repository_is_reported() {
    let state = |env: &TestEnv| {
        let value = json(&doctor(env, &["--json"], &[]).exits(0));
        let git = finding(&value, "git");
        (
            git["facts"]["state"].as_str().unwrap().to_owned(),
            git["text"].as_str().unwrap().to_owned(),
        )
    };
    let env = healthy();
    assert_eq!(state(&env).0, "clean");
    env.file("b.txt", "new");
    assert_eq!(state(&env).0, "dirty");
    fs::write(env.project().join(".git/config"), "[core").unwrap();
    let (state, text) = state(&env);
    assert!(state == "unknown" && text.contains("git failed: fatal"), "{text}");
}

#[test]
fn looking_at_a_repository_runs_nothing_of_it_and_changes_nothing() {
    let env = healthy();
    let hook = program(&env, "hook", "#!/bin/sh\ntouch \"$(dirname \"$0\")/ran\"\n");
    git(&env, &["config", "core.fsmonitor", &shell_path(&hook)]);
    git(&env, &["config", "filter.evil.clean", &shell_path(&hook)]);
    env.file(".git/info/attributes", "* filter=evil\n");
    let index = env.project().join(".git/index");
    let before = fs::metadata(&index).unwrap().modified().unwrap();
    env.file("a.txt", "mine");
    doctor(&env, &[], &[]).exits(0);
    assert!(!env.path("bin/ran").exists(), "the repository ran something");
    assert_eq!(fs::metadata(&index).unwrap().modified().unwrap(), before);
    assert_eq!(fs::read_dir(env.path("state")).unwrap().count(), 0, "it left state behind");
    assert_eq!(fs::read_dir(env.path("tmp")).unwrap().count(), 0, "it left files behind");
}

#[test]
fn a_state_folder_that_can_t_be_used_is_a_problem() {
    let env = healthy();
    fs::write(env.path("blocked"), "a file").unwrap();
    let blocked = env.path("blocked/state").display().to_string();
    let output = doctor(&env, &[], &[("NIGHTWRIGHT_STATE_DIR", &blocked)]).exits(1);
    assert!(output.out.contains("problem  state        cannot write in `"), "{}", output.out);
    let output = doctor(&env, &[], &[("NIGHTWRIGHT_STATE_DIR", "relative")]).exits(1);
    assert!(
        output.out.contains("problem  state        `NIGHTWRIGHT_STATE_DIR` must be an absolute")
    );
    assert!(
        output.out.ends_with("No run can start: 1 problem.\n")
            || output.out.contains("1 problem (")
    );
}

#[test]
fn json_has_a_shape_that_programs_can_count_on() {
    let env = healthy();
    let value = json(&doctor(&env, &["--json"], &[]).exits(0));
    assert_eq!((&value["format"], &value["can_run"]), (&1.into(), &true.into()));
    let findings = value["findings"].as_array().unwrap();
    let topics: Vec<_> = findings
        .iter()
        .map(|finding| finding["topic"].as_str().unwrap())
        .filter(|topic| *topic != "user")
        .collect();
    assert_eq!(
        topics.join(" "),
        "agent login environment containment git config permissions state disk temp sandbox checks"
    );
    for finding in findings {
        let keys: Vec<_> = finding.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, ["facts", "grade", "hints", "text", "topic"], "{finding}");
    }
    let disk = finding(&value, "disk");
    for place in ["project", "state"] {
        let facts = &disk["facts"][place];
        assert!(facts["free"].as_u64() >= facts["floor"].as_u64(), "{disk}");
    }
    let level = finding(&value, "containment")["facts"]["level"].clone();
    assert!(level.as_str().is_some_and(|level| !level.is_empty()), "{value:#}");
    let folder = finding(&value, "state")["facts"]["folder"].clone();
    assert!(folder.as_str().unwrap().starts_with(env.path("state").to_str().unwrap()));
}

#[test]
fn the_project_can_be_another_folder_and_has_to_be_one() {
    let env = healthy();
    let home = env.path("home").display().to_string();
    let value = json(&doctor(&env, &["--json", "-C", &home], &[]).exits(0));
    assert_eq!(finding(&value, "git")["facts"]["state"], "none");
    doctor(&env, &["-C", "nowhere"], &[]).exits(2).says(&["nowhere"]);
}

/// The output of the probe, with masked times.
fn probed(env: &TestEnv, code: i32) -> String {
    let output = doctor(env, &["--probe"], &[]).exits(code);
    let start = output.out.find("probe").unwrap() - 9;
    let text = output.out[start..].split("\n\n").next().unwrap();
    let text = text.replace(env.path("").to_str().unwrap(), "~/");
    let text = masked(&text, "nightwright-probe-", "XXXXXX", char::is_alphanumeric);
    masked(&text, "` in ", "TIME", char::is_alphanumeric)
}

/// A test environment whose agent prints these lines and exits with this code.
fn printing(lines: &str, code: i32) -> TestEnv {
    let env = TestEnv::new();
    fs::write(env.path("lines"), lines).unwrap();
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && echo 2.1.325 && exit\n\
         printf '%s\\n' \"$@\" > {}; cat > {}; cat {}; exit {code}\n",
        env.word("arguments"),
        env.word("prompt"),
        env.word("lines")
    );
    program(&env, "claude", &script);
    env
}

fn recording(name: &str) -> String {
    fs::read_to_string(recorded(name).join("stdout.ndjson")).unwrap()
}

#[test]
fn a_probe_that_is_answered_says_what_it_cost_and_leaves_nothing() {
    let env = printing(&recording("a_plain"), 0);
    assert_snapshot!(probed(&env, 0), @"ok       probe        claude-opus-5-5 answered `Hello from the fake.` in TIME; 1 turn, 120 tokens, cost $0.0008");
    let left: Vec<_> =
        fs::read_dir(env.path("tmp")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(fs::read_to_string(env.path("prompt")).unwrap(), "Answer with the one word: ready");
    let arguments = fs::read_to_string(env.path("arguments")).unwrap();
    let arguments: Vec<_> = arguments.lines().collect();
    for pair in [
        ["--max-turns", "1"],
        ["--max-budget-usd", "0.05"],
        ["--output-format", "stream-json"],
        ["--tools", ""],
    ] {
        assert!(arguments.windows(2).any(|two| two == pair), "{pair:?}: {arguments:?}");
    }
    for never in ["--permission-mode", "--dangerously-skip-permissions", "--allowedTools"] {
        assert!(!arguments.contains(&never), "{never}");
    }
}

#[test]
fn a_probe_that_fails_says_what_came_instead_with_its_name() {
    let text = |name: &str, code: i32, exit: i32| {
        probed(&printing(&recording(name), code), exit).lines().next().unwrap().to_owned()
    };
    assert_snapshot!(text("g_401_retries0", 1, 1), @"problem  probe        no usable answer: login refused: Invalid API key · Fix external API key (auth)");
    assert_snapshot!(text("g_credit", 1, 1), @"problem  probe        no usable answer: billing: Credit balance is too low (billing)");
    assert_snapshot!(text("h_refused_retries1", 1, 1), @"problem  probe        no usable answer: cannot reach the provider (network)");
    assert_snapshot!(text("g_404_model", 1, 1), @"problem  probe        no usable answer: no such model: There's an issue with the selected model (claude-opus-5-5). It may not exist or you may not have access to it. Run --model to pick a different model. (model_not_found)");
    // A run would wait or continue, so this is not an error.
    assert_snapshot!(text("r_oauth_rejected_far", 1, 0), @"warning  probe        no usable answer: usage limit until 2026-11-15T22:05:58Z (usage_limited)");
    assert_snapshot!(text("n_budget", 1, 0), @"warning  probe        no usable answer: reached its share of the remaining budget (attempt_budget); cost $0.0016");
}

#[test]
fn a_probe_of_something_that_is_no_agent_says_so() {
    let silent = probed(&printing("", 0), 1);
    assert!(silent.contains("exited with 0, no result (crashed)"), "{silent}");
    let chatty = probed(&printing("Hello!\nHow are you?\n", 0), 1);
    assert_snapshot!(chatty, @"
    problem  probe        no usable answer: exited with 0, no result (crashed); 2 lines are not messages
                          hint: see its output in `~/tmp/nightwright-probe-XXXXXX/output/probe.ndjson`
    ");
    let env = TestEnv::new();
    program(
        &env,
        "claude",
        "#!/bin/sh\n[ \"$1\" = --version ] && echo 2.1.325 && exit\necho \"error: unknown option '--tools'\" >&2; exit 1\n",
    );
    assert_snapshot!(probed(&env, 1), @"
    problem  probe        no usable answer: did not start: error: unknown option '--tools' (bad_start)
                          hint: see its output in `~/tmp/nightwright-probe-XXXXXX/output/probe.ndjson`
    ");
}

#[test]
fn a_stream_that_has_moved_on_is_used_and_told() {
    let plain = recording("a_plain");
    let mut lines: Vec<&str> = plain.lines().collect();
    lines.insert(1, r#"{"type":"system","subtype":"new_wonder"}"#);
    lines.insert(2, r#"{"type":"hologram"}"#);
    lines.insert(3, "no json at all");
    let text = probed(&printing(&lines.join("\n"), 0), 0);
    assert_snapshot!(text.lines().next().unwrap(), @"warning  probe        claude-opus-5-5 answered `Hello from the fake.` in TIME; 1 turn, 120 tokens, cost $0.0008; 1 line is not a message; unknown to nightwright: system/new_wonder, hologram");

    let bare = r#"{"type":"system","subtype":"init"}
{"type":"assistant","message":{"content":[{"type":"text","text":"ready"}]}}
{"type":"result","subtype":"success","is_error":false,"result":"ready","modelUsage":{"m":{"outputTokens":3}}}
{"type":"system","subtype":"status"}
"#;
    let text = probed(&printing(bare, 0), 0);
    assert_snapshot!(text.lines().next().unwrap(), @"warning  probe        the model answered `ready` in TIME; 0 turns, 3 tokens, cost unknown; missing: cost, turns, model; output after the result");
}

#[test]
fn the_output_of_a_failed_probe_is_kept_in_the_named_file() {
    let env = printing("Hello!\n", 3);
    let value = json(&doctor(&env, &["--probe", "--json"], &[]).exits(1));
    let probe = finding(&value, "probe");
    assert_eq!(probe["facts"]["outcome"], "crashed");
    assert_eq!(probe["facts"]["bad_lines"], 1);
    let hint = probe["hints"][0].as_str().unwrap();
    let file = hint.split('`').nth(1).unwrap();
    assert_eq!(fs::read_to_string(file).unwrap(), "Hello!\n");
}

#[test]
fn without_an_agent_there_is_nothing_to_probe() {
    let env = TestEnv::new();
    let output = doctor(&env, &["--probe"], &[]).exits(1);
    assert!(
        output.out.contains("warning  probe        cannot probe: no agent found"),
        "{}",
        output.out
    );
}

#[test]
fn an_interrupted_probe_leaves_no_process() {
    let env = TestEnv::new();
    let pid = env.path("pid");
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && echo 2.1.325 && exit\n\
         echo $$ > {0}.new; mv {0}.new {0}; exec sleep 1000\n",
        env.word("pid")
    );
    program(&env, "claude", &script);
    let child = env.start(&["doctor", "--probe"]);
    let begun = Instant::now();
    while !pid.exists() {
        assert!(begun.elapsed() < Duration::from_mins(1), "the agent was never started");
        std::thread::sleep(Duration::from_millis(5));
    }
    kill_process(Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap(), Signal::INT).unwrap();
    finish(child).exits(130);
    assert!(!is_alive(&fs::read_to_string(pid).unwrap()), "it left the agent behind");
}

#[test]
fn what_is_not_approved_is_shown_as_it_would_be_after_the_approval() {
    let env = healthy();
    let config = "[verify]\ncommands = [\"touch ran\"]\n[agent]\nallowed_tools = [\"Bash(kubectl get:*)\"]\n";
    fs::create_dir_all(env.project().join(".nightwright")).unwrap();
    env.file(".nightwright/config.toml", config);
    for arguments in [&[][..], &["--checks"]] {
        let output = doctor(&env, arguments, &[]).exits(1).out;
        for part in ["permissions  usual (once approved): ", "`touch ran` (once approved)"] {
            assert!(output.contains(part), "no `{part}` in:\n{output}");
        }
        assert!(output.contains("kubectl") && !output.contains("nightwright init"), "{output}");
        assert!(!env.project().join("ran").exists(), "it runs only what is approved");
    }
}
