//! `nightwright doctor`: what it finds, what it says of it, and the one tiny call.

mod refusals;

use std::fs;
use std::time::{Duration, Instant};

use insta::assert_snapshot;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::agent_program::{player, program, recorded};
use super::harness::{Did, Hermit, finish};
use super::stage::is_alive;

/// A hermit with an agent that can be used and a project that is committed.
fn healthy() -> Hermit {
    let hermit = Hermit::new();
    player(&hermit, "2.1.325 (Claude Code)", "a_plain");
    hermit.file("a.txt", "mine");
    git(&hermit, &["init", "-q"]);
    git(&hermit, &["add", "."]);
    git(&hermit, &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"]);
    hermit
}

fn git(hermit: &Hermit, arguments: &[&str]) {
    super::git::git(&hermit.project(), arguments);
}

fn doctor(hermit: &Hermit, arguments: &[&str], variables: &[(&str, &str)]) -> Did {
    let mut command = hermit.command(&[&["doctor"], arguments].concat());
    // It lists what is not passed on to the agent.
    command.env_remove("GIT_CEILING_DIRECTORIES");
    command.env_remove("NIGHTWRIGHT_KEEP_AWAKE").envs(variables.iter().copied());
    finish(command.spawn().unwrap())
}

/// The findings without what differs from machine to machine: folders, sizes, git's version, the
/// kind of containment, and the word to whoever is root.
fn shown(hermit: &Hermit, did: &Did) -> String {
    let home = hermit.path("").display().to_string();
    let mut text = String::new();
    let mut lines = did.out.lines().peekable();
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
        if line.contains("  temp         ") {
            // A long path of the tests' own folder is one that is not used.
            text.push_str("...      temp         ...\n");
            continue;
        }
        if let Some((start, _)) = line.split_once(" and run: ") {
            // Which commands these are is told elsewhere.
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

fn json(did: &Did) -> Value {
    serde_json::from_str(&did.out).unwrap_or_else(|error| panic!("{error}:\n{}", did.out))
}

/// The finding on a topic.
fn finding(value: &Value, topic: &str) -> Value {
    let all = value["findings"].as_array().unwrap();
    let found = all.iter().find(|finding| finding["topic"] == topic);
    found.unwrap_or_else(|| panic!("nothing on {topic} in {value:#}")).clone()
}

#[test]
fn where_all_is_well_every_finding_is_one_line() {
    let hermit = healthy();
    let variables = [("ANTHROPIC_API_KEY", "k"), ("NIGHTWRIGHT_VERIFY_COMMANDS", "make test")];
    let did = doctor(&hermit, &[], &variables).exits(0);
    assert_eq!(did.err, "");
    assert_snapshot!(shown(&hermit, &did), @"
    ok       agent        claude 2.1.325, `~/bin/claude` (tested: 2.1.197 to 2.1.325)
    ok       login        ANTHROPIC_API_KEY is there; whether it is valid is not known
    ok       environment  2 variables are not passed on to the agent:
                          NIGHTWRIGHT_STATE_DIR NIGHTWRIGHT_VERIFY_COMMANDS
    ...      containment  ...
    ok       git          git VERSION; everything in the project is committed
    ok       config       the configuration can be used
    ok       permissions  usual: The agent may edit files and run: ...
    ok       state        `~/state/project-xxxxxxxx` can be written
    ok       disk         project: SIZE free, SIZE have to stay free
    ...      temp         ...
    ok       checks       `make test` (to run them once: --checks)
    ");
}

#[test]
fn where_nothing_is_there_every_finding_says_what_to_do() {
    let hermit = Hermit::new();
    let path = hermit.path("bin").display().to_string();
    let did = doctor(&hermit, &[], &[("PATH", &path)]).exits(1);
    assert_snapshot!(shown(&hermit, &did), @r#"
    problem  agent        Claude CLI not found. Make sure 'claude' is installed and in PATH.
                          hint: to try nightwright without it: nightwright run -p "..." -m 3 --dry-run
    warning  login        no sign of one
                          hint: run `claude` and log in, or set ANTHROPIC_API_KEY
    ok       environment  1 variable is not passed on to the agent:
                          NIGHTWRIGHT_STATE_DIR
    ...      containment  ...
    warning  git          git was not found: runs work without it
                          hint: with git, what the agent changes can be seen and taken back
    ok       config       the configuration can be used
    ok       permissions  usual: The agent may edit files and run: ...
    ok       state        `~/state/project-xxxxxxxx` can be written
    ok       disk         project: SIZE free, SIZE have to stay free
    ...      temp         ...
    warning  checks       none: only a model will judge whether work is done
                          hint: to find the test command of this project: nightwright init
    "#);
    assert!(did.out.contains("\nNo run can start: 1 problem ("), "{}", did.out);
}

#[test]
fn an_agent_that_is_too_old_is_a_problem_and_a_newer_one_is_not() {
    let hermit = healthy();
    player(&hermit, "2.0.1 (Claude Code)", "a_plain");
    let value = json(&doctor(&hermit, &["--json"], &[]).exits(1));
    let agent = finding(&value, "agent");
    assert_eq!((&value["can_run"], &agent["grade"]), (&false.into(), &"problem".into()));
    assert!(agent["hints"][0].as_str().unwrap().contains("claude update"), "{agent}");

    player(&hermit, "2.2.0 (Claude Code)", "a_plain");
    let value = json(&doctor(&hermit, &["--json"], &[]).exits(0));
    let agent = finding(&value, "agent");
    assert_eq!((&value["can_run"], &agent["grade"]), (&true.into(), &"warning".into()));
    assert_eq!(agent["facts"]["version"], "2.2.0");
}

#[test]
fn the_agent_is_asked_afresh_and_the_answer_is_kept_for_runs() {
    let hermit = healthy();
    let asked = || fs::read_to_string(hermit.path("asked")).unwrap().lines().count();
    doctor(&hermit, &[], &[]).exits(0);
    doctor(&hermit, &[], &[]).exits(0);
    assert_eq!(asked(), 2);
    hermit.run(&["run", "-p", "x", "-m", "1", "--no-delay"]).exits(0);
    assert_eq!(asked(), 2);
}

#[test]
fn names_of_variables_are_told_and_values_never() {
    let hermit = healthy();
    let variables = [
        ("ANTHROPIC_API_KEY", "sk-very-secret"),
        ("DEPLOY_TOKEN", "hunter2"),
        ("ZZZ", "hunter3"),
        ("GIT_DIR", "hunter4"),
    ];
    for arguments in [&[][..], &["--json"], &["--probe"]] {
        let did = doctor(&hermit, arguments, &variables).exits(0);
        for secret in ["secret", "hunter"] {
            assert!(!did.out.contains(secret) && !did.err.contains(secret), "{}", did.out);
        }
        assert!(did.out.contains("DEPLOY_TOKEN"), "{}", did.out);
    }
    let value = json(&doctor(&hermit, &["--json"], &variables).exits(0));
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
    let hermit = healthy();
    let names: Vec<String> = (0..40).rev().map(|n| format!("VARIABLE_{n:02}")).collect();
    let variables: Vec<_> = names.iter().map(|name| (name.as_str(), "x")).collect();
    let did = doctor(&hermit, &[], &variables).exits(0);
    let first = did.out.find("VARIABLE_00").unwrap();
    assert!(
        did.out.contains("41 variables are not passed on")
            && first < did.out.find("VARIABLE_39").unwrap()
    );
    assert!(
        did.out.lines().all(|line| !line.contains("VARIABLE") || line.len() <= 96),
        "{}",
        did.out
    );
}

#[test]
fn an_outer_session_of_the_agent_is_noticed() {
    let hermit = healthy();
    let did = doctor(&hermit, &[], &[("CLAUDECODE", "1"), ("CLAUDE_CODE_SSE_PORT", "7")]).exits(0);
    let text = "ok       session      started inside a session of the agent; not passed on:\n";
    assert!(did.out.contains(text), "{}", did.out);
    assert!(did.out.contains("\n                      CLAUDECODE CLAUDE_CODE_SSE_PORT\n"));
    assert!(!doctor(&hermit, &[], &[]).out.contains("session "));
}

#[test]
fn a_login_is_known_by_its_signs() {
    let hermit = healthy();
    let signs = |variables: &[(&str, &str)]| {
        let value = json(&doctor(&hermit, &["--json"], variables).exits(0));
        let login = finding(&value, "login");
        (login["grade"].clone(), login["facts"]["signs"].clone())
    };
    assert_eq!(signs(&[("ANTHROPIC_API_KEY", "")]), ("warning".into(), serde_json::json!([])));
    fs::create_dir(hermit.path("home/.claude")).unwrap();
    fs::write(hermit.path("home/.claude/.credentials.json"), "{}").unwrap();
    let file = format!("`{}`", hermit.path("home/.claude/.credentials.json").display());
    let expected = serde_json::json!(["CLAUDE_CODE_OAUTH_TOKEN", file]);
    assert_eq!(signs(&[("CLAUDE_CODE_OAUTH_TOKEN", "t")]), ("ok".into(), expected));
    let elsewhere = hermit.path("tmp").display().to_string();
    assert_eq!(signs(&[("CLAUDE_CONFIG_DIR", &elsewhere)]).1, serde_json::json!([]));
}

#[test]
fn the_state_of_the_repository_is_told() {
    let state = |hermit: &Hermit| {
        let value = json(&doctor(hermit, &["--json"], &[]).exits(0));
        let git = finding(&value, "git");
        (
            git["facts"]["state"].as_str().unwrap().to_owned(),
            git["text"].as_str().unwrap().to_owned(),
        )
    };
    let hermit = healthy();
    assert_eq!(state(&hermit).0, "clean");
    hermit.file("b.txt", "new");
    assert_eq!(state(&hermit).0, "dirty");
    fs::write(hermit.project().join(".git/config"), "[core").unwrap();
    let (state, text) = state(&hermit);
    assert!(state == "unknown" && text.contains("can't look at the project: fatal"), "{text}");
}

#[test]
fn looking_at_a_repository_runs_nothing_of_it_and_changes_nothing() {
    let hermit = healthy();
    let hook = program(&hermit, "hook", "#!/bin/sh\ntouch \"$(dirname \"$0\")/ran\"\n");
    git(&hermit, &["config", "core.fsmonitor", hook.to_str().unwrap()]);
    let index = hermit.project().join(".git/index");
    let before = fs::metadata(&index).unwrap().modified().unwrap();
    hermit.file("a.txt", "mine");
    doctor(&hermit, &[], &[]).exits(0);
    assert!(!hermit.path("bin/ran").exists(), "the repository ran something");
    assert_eq!(fs::metadata(&index).unwrap().modified().unwrap(), before);
    assert_eq!(fs::read_dir(hermit.path("state")).unwrap().count(), 0, "it left state behind");
    assert_eq!(fs::read_dir(hermit.path("tmp")).unwrap().count(), 0, "it left files behind");
}

#[test]
fn a_state_folder_that_can_t_be_used_is_a_problem() {
    let hermit = healthy();
    fs::write(hermit.path("blocked"), "a file").unwrap();
    let blocked = hermit.path("blocked/state").display().to_string();
    let did = doctor(&hermit, &[], &[("NIGHTWRIGHT_STATE_DIR", &blocked)]).exits(1);
    assert!(did.out.contains("problem  state        can't write in `"), "{}", did.out);
    let did = doctor(&hermit, &[], &[("NIGHTWRIGHT_STATE_DIR", "relative")]).exits(1);
    assert!(
        did.out.contains("problem  state        `NIGHTWRIGHT_STATE_DIR` has to be an absolute")
    );
    assert!(did.out.ends_with("No run can start: 1 problem.\n") || did.out.contains("1 problem ("));
}

#[test]
fn json_has_a_shape_that_programs_can_count_on() {
    let hermit = healthy();
    let value = json(&doctor(&hermit, &["--json"], &[]).exits(0));
    assert_eq!((&value["format"], &value["can_run"]), (&1.into(), &true.into()));
    let findings = value["findings"].as_array().unwrap();
    let topics: Vec<_> = findings
        .iter()
        .map(|finding| finding["topic"].as_str().unwrap())
        .filter(|topic| *topic != "user")
        .collect();
    assert_eq!(
        topics.join(" "),
        "agent login environment containment git config permissions state disk temp checks"
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
    assert!(folder.as_str().unwrap().starts_with(hermit.path("state").to_str().unwrap()));
}

#[test]
fn the_project_can_be_another_folder_and_has_to_be_one() {
    let hermit = healthy();
    let home = hermit.path("home").display().to_string();
    let value = json(&doctor(&hermit, &["--json", "-C", &home], &[]).exits(0));
    assert_eq!(finding(&value, "git")["facts"]["state"], "none");
    doctor(&hermit, &["-C", "nowhere"], &[]).exits(2).says(&["nowhere"]);
}

/// What the probe says, with times masked.
fn probed(hermit: &Hermit, code: i32) -> String {
    let did = doctor(hermit, &["--probe"], &[]).exits(code);
    let start = did.out.find("probe").unwrap() - 9;
    let text = did.out[start..].split("\n\n").next().unwrap();
    let text = text.replace(hermit.path("").to_str().unwrap(), "~/");
    let text = masked(&text, "nightwright-probe-", "XXXXXX", char::is_alphanumeric);
    masked(&text, "` in ", "TIME", char::is_alphanumeric)
}

/// A hermit whose agent prints these lines and exits with this code.
fn printing(lines: &str, code: i32) -> Hermit {
    let hermit = Hermit::new();
    fs::write(hermit.path("lines"), lines).unwrap();
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && echo 2.1.325 && exit\n\
         printf '%s\\n' \"$@\" > {}; cat > {}; cat {}; exit {code}\n",
        hermit.path("arguments").display(),
        hermit.path("prompt").display(),
        hermit.path("lines").display()
    );
    program(&hermit, "claude", &script);
    hermit
}

fn recording(name: &str) -> String {
    fs::read_to_string(recorded(name).join("stdout.ndjson")).unwrap()
}

#[test]
fn a_probe_that_is_answered_says_what_it_cost_and_leaves_nothing() {
    let hermit = printing(&recording("a_plain"), 0);
    assert_snapshot!(probed(&hermit, 0), @"ok       probe        claude-opus-5-5 answered `Hello from the fake.` in TIME; 1 turn, 120 tokens, cost $0.0008");
    let left: Vec<_> =
        fs::read_dir(hermit.path("tmp")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(
        fs::read_to_string(hermit.path("prompt")).unwrap(),
        "Answer with the one word: ready"
    );
    let arguments = fs::read_to_string(hermit.path("arguments")).unwrap();
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
    assert_snapshot!(text("g_401_retries0", 1, 1), @"problem  probe        no good answer came: login refused: Invalid API key · Fix external API key (auth)");
    assert_snapshot!(text("g_credit", 1, 1), @"problem  probe        no good answer came: billing: Credit balance is too low (billing)");
    assert_snapshot!(text("h_refused_retries1", 1, 1), @"problem  probe        no good answer came: the provider could not be reached (network)");
    assert_snapshot!(text("g_404_model", 1, 1), @"problem  probe        no good answer came: no such model: There's an issue with the selected model (claude-opus-5-5). It may not exist or you may not have access to it. Run --model to pick a different model. (model_not_found)");
    // A run would wait, or go on: nothing is broken.
    assert_snapshot!(text("r_oauth_rejected_far", 1, 0), @"warning  probe        no good answer came: usage limit until 2026-11-15T22:05:58Z (usage_limited)");
    assert_snapshot!(text("n_budget", 1, 0), @"warning  probe        no good answer came: used up its share of the limits (attempt_budget); cost $0.0016");
}

#[test]
fn a_probe_of_something_that_is_no_agent_says_so() {
    let silent = probed(&printing("", 0), 1);
    assert!(silent.contains("exited with 0, no result (crashed)"), "{silent}");
    let chatty = probed(&printing("Hello!\nHow are you?\n", 0), 1);
    assert_snapshot!(chatty, @"
    problem  probe        no good answer came: exited with 0, no result (crashed); 2 lines were no messages
                          hint: what it printed is in `~/tmp/nightwright-probe-XXXXXX/output/probe.ndjson`
    ");
    let hermit = Hermit::new();
    program(
        &hermit,
        "claude",
        "#!/bin/sh\n[ \"$1\" = --version ] && echo 2.1.325 && exit\necho \"error: unknown option '--tools'\" >&2; exit 1\n",
    );
    assert_snapshot!(probed(&hermit, 1), @"
    problem  probe        no good answer came: did not start: error: unknown option '--tools' (bad_start)
                          hint: what it printed is in `~/tmp/nightwright-probe-XXXXXX/output/probe.ndjson`
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
    assert_snapshot!(text.lines().next().unwrap(), @"warning  probe        claude-opus-5-5 answered `Hello from the fake.` in TIME; 1 turn, 120 tokens, cost $0.0008; 1 line was no message; not known to nightwright: system/new_wonder, hologram");

    let bare = r#"{"type":"system","subtype":"init"}
{"type":"assistant","message":{"content":[{"type":"text","text":"ready"}]}}
{"type":"result","subtype":"success","is_error":false,"result":"ready","modelUsage":{"m":{"outputTokens":3}}}
{"type":"system","subtype":"status"}
"#;
    let text = probed(&printing(bare, 0), 0);
    assert_snapshot!(text.lines().next().unwrap(), @"warning  probe        the model answered `ready` in TIME; 0 turns, 3 tokens, cost not known; not said: cost, turns, model; something came after the result");
}

#[test]
fn what_a_failed_probe_printed_is_kept_where_it_says() {
    let hermit = printing("Hello!\n", 3);
    let value = json(&doctor(&hermit, &["--probe", "--json"], &[]).exits(1));
    let probe = finding(&value, "probe");
    assert_eq!(probe["facts"]["outcome"], "crashed");
    assert_eq!(probe["facts"]["bad_lines"], 1);
    let hint = probe["hints"][0].as_str().unwrap();
    let file = hint.split('`').nth(1).unwrap();
    assert_eq!(fs::read_to_string(file).unwrap(), "Hello!\n");
}

#[test]
fn without_an_agent_there_is_nothing_to_probe() {
    let hermit = Hermit::new();
    let did = doctor(&hermit, &["--probe"], &[]).exits(1);
    assert!(did.out.contains("warning  probe        there is no agent to be asked"), "{}", did.out);
}

#[test]
fn an_interrupted_probe_leaves_no_process() {
    let hermit = Hermit::new();
    let pid = hermit.path("pid");
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && echo 2.1.325 && exit\n\
         echo $$ > {0}.new; mv {0}.new {0}; exec sleep 1000\n",
        pid.display()
    );
    program(&hermit, "claude", &script);
    let child = hermit.start(&["doctor", "--probe"]);
    let begun = Instant::now();
    while !pid.exists() {
        assert!(begun.elapsed() < Duration::from_mins(1), "the agent was never started");
        std::thread::sleep(Duration::from_millis(5));
    }
    kill_process(Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap(), Signal::INT).unwrap();
    finish(child).exits(130);
    assert!(!is_alive(&fs::read_to_string(pid).unwrap()), "it left the agent behind");
}
