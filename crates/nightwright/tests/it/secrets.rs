//! A secret is masked wherever it is planted, and works where it is needed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::agent_program::program;
use super::harness::{Output, RunningCommand, TestEnv, finish};

/// Contains all characters that JSON escapes.
const SECRET: &str = r#"pa"ss\wo/rd-9x7Q2z"#;
/// The fragments that reveal the secret in any encoding.
const TRACES: [&str; 4] = ["9x7Q2z", r#"pa"ss"#, r#"pa\"ss"#, r#"pa\\\"ss"#];
/// A fake token in the format of a real one.
const TOKEN: &str = concat!("gh", "p_", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");

const VERSION: &str = "2.1.210 (Claude Code)";

/// A project with a task, and an agent that prints its secret in many ways.
fn planted() -> TestEnv {
    let env = TestEnv::new();
    env.run(&["new", "port", "--mode", "loop"]).exits(0);
    let instructions = format!("Use the password {SECRET} to port it.\n");
    env.file(".nightwright/tasks/port/INSTRUCTIONS.md", &instructions);
    let status = json!({
        "complete": true, "worked": true, "summary": format!("works with {SECRET}"),
        "progress": { "completed": 1, "total": 1 }, "blockers": [],
    });
    fs::write(env.path("status.json"), status.to_string()).unwrap();
    let stream = stream();
    // The first of two writes ends in the middle of a secret.
    let middle = stream.find("9x7Q2z").unwrap() + 2;
    fs::write(env.path("first"), &stream[..middle]).unwrap();
    fs::write(env.path("second"), &stream[middle..]).unwrap();
    let here = env.word("");
    let script = format!(
        "#!/bin/sh\n\
         [ \"$1\" = --version ] && echo '{VERSION}' && exit\n\
         read -r prompt\n\
         printf '%s\\n' \"$@\" > {here}/arguments-$NIGHTWRIGHT_ITERATION\n\
         printf '%s' \"$prompt\" > {here}/prompt-$NIGHTWRIGHT_ITERATION\n\
         printf 'warning: bad password %s\\n' \"$MY_DB_PASSWORD\" >&2\n\
         [ -e {here}/fifo ] && cat {here}/fifo\n\
         cp {here}/status.json .nightwright/tasks/port/.status.json\n\
         echo work >> made.txt\n\
         cat {here}/first\n\
         cat {here}/second\n\
         printf 'last words %s' \"$MY_DB_PASSWORD\" >&2\n"
    );
    program(&env, "claude", &script);
    env
}

/// The output of the agent. The long result is read in many pieces, each of which ends inside a
/// secret.
fn stream() -> String {
    let usage = json!({ "input_tokens": 1, "output_tokens": 1 });
    let says = |content: Value| {
        json!({
            "type": "assistant", "session_id": "s", "parent_tool_use_id": null,
            "message": {
                "id": "m", "model": "claude-x", "role": "assistant", "type": "message",
                "content": [content], "usage": usage,
            },
        })
    };
    let result = |text: String| {
        json!({
            "type": "user", "session_id": "s", "parent_tool_use_id": null,
            "message": {
                "role": "user",
                "content": [{ "type": "tool_result", "tool_use_id": "t", "content": text }],
            },
        })
    };
    let command = format!("curl -u me:'{SECRET}' -H 'Authorization: token {TOKEN}'");
    let nested = json!({ "inner": json!({ "password": SECRET }).to_string() }).to_string();
    let lines = [
        json!({
            "type": "system", "subtype": "init", "session_id": "s", "model": "claude-x",
            "tools": ["Bash"], "mcp_servers": [], "permissionMode": "default", "cwd": "/",
            "apiKeySource": "none", "slash_commands": [], "claude_code_version": "2.1.210",
        }),
        says(json!({ "type": "text", "text": format!("I use {SECRET}\nnow, and {TOKEN}.") })),
        says(json!({
            "type": "tool_use", "id": "t", "name": "Bash", "input": { "command": command },
        })),
        result(format!("it answered {nested}")),
        result(format!("{SECRET} ").repeat(20_000)),
        json!({
            "type": "result", "subtype": "success", "is_error": false, "duration_ms": 1,
            "duration_api_ms": 1, "num_turns": 1, "result": format!("Done with {SECRET}."),
            "session_id": "s", "total_cost_usd": 0.01, "usage": usage, "permission_denials": [],
        }),
    ];
    let lines = lines.iter().map(|line| line.to_string() + "\n");
    let odd = format!("not JSON at all: {SECRET}\n");
    lines.chain([odd]).collect()
}

/// The output of an agent that streams this text in small deltas, and then prints it as a whole.
fn in_pieces(text: &str) -> String {
    let event = |event: Value| {
        json!({
            "type": "stream_event", "event": event, "session_id": "s",
            "parent_tool_use_id": null, "uuid": "u",
        })
    };
    let letters: Vec<_> = text.chars().collect();
    let pieces = letters.chunks(4).map(String::from_iter);
    let input = json!({ "command": SECRET }).to_string();
    let input: Vec<_> = input.chars().collect();
    let inputs = input.chunks(3).map(String::from_iter);
    let delta = |index: u32, delta: Value| {
        event(json!({ "type": "content_block_delta", "index": index, "delta": delta }))
    };
    let mut lines = vec![event(json!({ "type": "content_block_start", "index": 0,
        "content_block": { "type": "text", "text": "" } }))];
    lines.extend(pieces.map(|text| delta(0, json!({ "type": "text_delta", "text": text }))));
    lines.push(event(json!({ "type": "content_block_stop", "index": 0 })));
    lines.extend(
        inputs.map(|text| delta(1, json!({ "type": "input_json_delta", "partial_json": text }))),
    );
    lines.iter().map(|line| line.to_string() + "\n").collect()
}

fn command(env: &TestEnv, arguments: &[&str]) -> Command {
    let mut command = env.command(arguments);
    command.env("NIGHTWRIGHT_AGENT_ENV", format!("MY_DB_PASSWORD={SECRET}"));
    command
}

fn run(env: &TestEnv, more: &[&str]) -> Output {
    let check = format!("printf '%s\\n' 'checked with {SECRET}' \"$MY_DB_PASSWORD\"; exit 1");
    let arguments = ["run", "port", "-m", "1", "--no-delay", "--verify", &check];
    let last = ["--", "--also", SECRET];
    finish(command(env, &[&arguments, more, &last].concat()).spawn().unwrap())
}

/// Fails if the output or a stored file contains a trace of the secret.
#[track_caller]
fn nothing_shows(env: &TestEnv, said: &[&Output]) {
    let mut texts: Vec<(String, Vec<u8>)> = Vec::new();
    for output in said {
        texts.push(("stdout".to_owned(), output.out.clone().into_bytes()));
        texts.push(("stderr".to_owned(), output.err.clone().into_bytes()));
    }
    let mut files = Vec::new();
    all_files(&env.path("state"), &mut files);
    for file in files {
        // Files with the user's own text.
        let own = ["/prompts/", "/unmasked.json", "/start-tree/"];
        let name = file.display().to_string();
        if !own.iter().any(|own| name.contains(own)) {
            texts.push((name, fs::read(&file).unwrap()));
        }
    }
    for (name, bytes) in &texts {
        let text = String::from_utf8_lossy(bytes);
        for trace in TRACES.iter().chain([&&TOKEN[4..]]) {
            if let Some(at) = text.find(trace) {
                let around: String = text[..at].chars().rev().take(80).collect();
                let around: String = around.chars().rev().collect();
                panic!("`{trace}` is in {name} behind: {around}");
            }
        }
    }
}

fn all_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            all_files(&entry.path(), files);
        } else if entry.file_type().unwrap().is_file() {
            files.push(entry.path());
        }
    }
}

#[test]
fn a_secret_is_masked_wherever_it_is_planted() {
    let env = planted();
    let verbose = run(&env, &["--verbose"]).exits(0);
    assert!(verbose.err.contains("I use ******"), "{}", verbose.err);
    let json = run(&env, &["--output", "json"]).exits(0);
    for line in json.out.lines() {
        serde_json::from_str::<Value>(line).unwrap();
    }
    nothing_shows(&env, &[&verbose, &json]);
    let output = fs::read_to_string(env.runs()[0].join("output/001-1.ndjson")).unwrap();
    assert_eq!(output.len(), stream().len(), "masks have another length");
    let (odd, lines): (Vec<_>, Vec<_>) =
        output.lines().partition(|line| serde_json::from_str::<Value>(line).is_err());
    assert_eq!((odd.len(), lines.len()), (1, 6), "{odd:?}");
    // Read both journals, because runs that begin in the same second have no order.
    let journal: String = env
        .runs()
        .iter()
        .map(|run| fs::read_to_string(run.join("journal.jsonl")).unwrap())
        .collect();
    for kept in ["works with ****", "checked with ****", "Use the password ****"] {
        assert!(journal.contains(kept), "`{kept}` is not in the journal");
    }
    let arguments = fs::read_to_string(env.path("arguments-1")).unwrap();
    assert!(arguments.contains(SECRET), "the agent got a mask: {arguments}");
}

#[test]
fn a_secret_that_comes_in_pieces_is_masked_where_they_are_put_together() {
    let env = planted();
    let text = format!("In short, it is {SECRET} ok\nnow.");
    let whole = stream().replace(
        &json!(format!("I use {SECRET}\nnow, and {TOKEN}.")).to_string(),
        &json!(text).to_string(),
    );
    let (init, rest) = whole.split_once('\n').unwrap();
    fs::write(env.path("first"), format!("{init}\n{}", in_pieces(&text))).unwrap();
    fs::write(env.path("second"), rest).unwrap();
    let verbose = run(&env, &["--verbose"]).exits(0);
    let masked = format!("In short, it is {} ok", "*".repeat(SECRET.len()));
    assert_eq!(verbose.err.matches(&masked).count(), 1, "{}", verbose.err);
    let json = run(&env, &["--output", "json", "--include-messages"]).exits(0);
    nothing_shows(&env, &[&verbose, &json]);
    // The secret does not appear when the deltas are joined either.
    for printed in
        [&json.out, &fs::read_to_string(env.runs()[0].join("output/001-1.ndjson")).unwrap()]
    {
        let mut joined = String::new();
        for line in printed.lines() {
            let Ok(line) = serde_json::from_str::<Value>(line) else { continue };
            let line = line
                .get("message")
                .filter(|message| message.get("event").is_some())
                .unwrap_or(&line);
            let delta = &line["event"]["delta"];
            let text = delta["text"].as_str().or(delta["partial_json"].as_str());
            joined.push_str(text.unwrap_or_default());
        }
        assert!(!TRACES.iter().any(|trace| joined.contains(trace)), "{joined}");
    }
}

#[test]
fn a_run_that_continues_after_a_kill_works_with_the_true_words() {
    let env = planted();
    let fifo = env.path("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let arguments = [
        "run",
        "port",
        "-m",
        "2",
        "--no-delay",
        "--verify",
        "true",
        "--no-baseline",
        "--",
        "--also",
        SECRET,
    ];
    let mut child = RunningCommand::from(command(&env, &arguments).spawn().unwrap());
    env.wait_for("attempt_started");
    kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    child.wait().unwrap();
    fs::remove_file(&fifo).unwrap();

    let resumed = finish(command(&env, &["resume", "--verbose"]).spawn().unwrap());
    let resumed = resumed.exits(0);
    assert!(!resumed.err.contains("masks"), "{}", resumed.err);
    let arguments = fs::read_to_string(env.path("arguments-1")).unwrap();
    assert!(arguments.contains(SECRET), "the agent got a mask: {arguments}");
    let prompt = fs::read_to_string(env.path("prompt-1")).unwrap();
    assert!(prompt.contains("9x7Q2z"), "the agent was told a mask: {prompt}");
    nothing_shows(&env, &[&resumed]);

    fs::remove_file(env.runs()[0].join("unmasked.json")).unwrap();
    let again = finish(command(&env, &["resume", "--again", "-m", "5"]).spawn().unwrap());
    again.says(&["receives the settings of this run with their secrets masked", "unmasked.json"]);
}

/// All prompts of a run, joined.
fn prompts(env: &TestEnv) -> String {
    let mut files = Vec::new();
    all_files(&env.runs()[0].join("prompts"), &mut files);
    files.iter().map(|file| fs::read_to_string(file).unwrap()).collect()
}

#[test]
fn a_resumed_run_reports_operator_messages_unmasked() {
    let words = format!("say {SECRET} twice");
    for kept in [true, false] {
        let env = planted();
        let fifo = env.path("fifo");
        assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let arguments = ["run", "port", "-m", "2", "--no-delay", "--verify", "false"];
        let mut child = RunningCommand::from(command(&env, &arguments).spawn().unwrap());
        env.wait_for("attempt_started");
        env.run(&["tell", "port", &words]).exits(0);
        env.wait_for("feedback_added");
        kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
        child.wait().unwrap();
        fs::remove_file(&fifo).unwrap();
        if !kept {
            fs::remove_file(env.runs()[0].join("unmasked.json")).unwrap();
        }
        let resumed = finish(command(&env, &["resume", "--verbose"]).spawn().unwrap());
        let resumed = resumed.exits(0);
        nothing_shows(&env, &[&resumed]);
        assert_eq!(prompts(&env).contains(&words), kept);
        let warned = resumed.err.contains("receives an earlier message with its secrets masked");
        assert_eq!(warned, !kept, "{}", resumed.err);
    }
}

#[test]
fn a_run_that_continues_without_the_variable_knows_what_was_secret() {
    let env = planted();
    // The message below is the only place where the run receives the secret.
    env.file(".nightwright/tasks/port/INSTRUCTIONS.md", "Port it.\n");
    let fifo = env.path("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let arguments = ["run", "port", "-m", "2", "--no-delay", "--verify", "false"];
    let mut child = RunningCommand::from(command(&env, &arguments).spawn().unwrap());
    env.wait_for("attempt_started");
    env.run(&["tell", "port", &format!("use {SECRET}")]).exits(0);
    env.wait_for("feedback_added");
    kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    child.wait().unwrap();
    fs::remove_file(&fifo).unwrap();
    let spoken = env.run(&["resume", "--verbose"]).exits(0);
    nothing_shows(&env, &[&spoken]);
    // The secret stays masked in a later run.
    let again = env.run(&["resume", "--again", "-m", "4", "--verbose"]).exits(0);
    nothing_shows(&env, &[&again]);

    let env = planted();
    run(&env, &[]).exits(0);
    let again = env.run(&["resume", "--again", "-m", "2", "--verbose"]).exits(0);
    nothing_shows(&env, &[&again]);
}

#[test]
fn stars_that_a_person_wrote_are_not_taken_for_a_mask() {
    let env = planted();
    let goal = "show passwords as ********** in the form";
    env.run(&["run", "-p", goal, "-m", "1", "--no-delay"]).exits(0);
    let again = env.run(&["resume", "--again", "-m", "2"]).exits(0);
    assert!(!again.err.contains("masks"), "{}", again.err);
}

#[test]
fn stars_in_a_goal_are_not_taken_for_masks() {
    let env = planted();
    let goal = "Show passwords as ********** in the form";
    env.run(&["run", "-p", goal, "-m", "1", "--no-delay"]);
    assert!(!env.runs()[0].join("unmasked.json").exists());
    let again = env.run(&["resume", "--again", "-m", "2"]);
    assert!(!again.err.contains("masks"), "{}", again.err);
    let prompt = fs::read_to_string(env.path("prompt-2")).unwrap();
    assert!(prompt.contains(goal), "{prompt}");
}

#[test]
fn configured_secrets_are_masked_and_a_bad_pattern_is_named() {
    let env = TestEnv::new();
    let script = env.script(
        "[[attempt]]\nsteps = [{ say = \"see ticket-4711 at first-street-9\" }]\n\
         end = { result = \"done\" }\n",
    );
    let arguments =
        ["run", "-p", "x", "-m", "1", "--no-delay", "--dry-run", "--rehearsal", &script, "-v"];
    let mut command = env.command(&arguments);
    command.env("MY_PLACE", "first-street-9").env("NIGHTWRIGHT_REDACT_VARIABLES", "MY_*");
    command.env("NIGHTWRIGHT_REDACT_PATTERNS", "ticket-[0-9]+");
    let output = finish(command.spawn().unwrap()).exits(0);
    assert!(output.err.contains("see *********** at **************"), "{}", output.err);

    fs::create_dir_all(env.project().join(".nightwright")).unwrap();
    env.file(".nightwright/config.toml", "[redact]\npatterns = [\"fine\", \"(\"]\n");
    env.run(&arguments).exits(2).says(&["config.toml", "redact.patterns", "unclosed group"]);
    env.file(".nightwright/config.toml", "[redact]\npatterns = [\"x*\"]\n");
    env.run(&arguments).exits(2).says(&["it matches the empty string"]);
}

#[test]
fn names_of_members_are_masked_where_they_are_no_names_of_the_program() {
    let env = planted();
    let known = "hunter2hunter2";
    let line = |content: Value| {
        json!({ "type": "assistant", "session_id": "s", "parent_tool_use_id": null,
            "message": { "id": "m", "model": "claude-x", "content": [content] } })
    };
    let words = json!({ known: 5 }).to_string();
    let call = json!({ "type": "tool_use", "id": "t", "name": "mcp__x", "input": { known: 5 } });
    let whole = stream();
    let (init, rest) = whole.split_once('\n').unwrap();
    fs::write(env.path("first"), format!("{init}\n{}", in_pieces(&words))).unwrap();
    fs::write(env.path("second"), format!("{}\n{rest}", line(call))).unwrap();
    let check = format!("echo '{words}'; echo '{words}' >&2; exit 1");
    let arguments = ["run", "port", "-m", "1", "--no-delay", "-v", "--verify", &check];
    let did = finish(command(&env, &arguments).env("MY_TOKEN", known).spawn().unwrap());
    let did = did.exits(0);
    assert!(did.err.contains("\u{2192} mcp__x: **************"), "{}", did.err);
    assert!(!did.err.contains(known), "{}", did.err);
    let run = &env.runs()[0];
    let log = fs::read_to_string(run.join("checks/001-1.log")).unwrap();
    assert_eq!(log.matches("{\"**************\":5}").count(), 2, "{log}");
    let output = fs::read_to_string(run.join("output/001-1.ndjson")).unwrap();
    assert!(!output.contains(known), "{output}");
}

#[test]
fn the_configuration_is_shown_without_what_is_known_to_be_secret() {
    let env = TestEnv::new();
    let known = "hunter2hunter2";
    // Long enough that a list truncates it inside the secret.
    let check = format!("psql postgres://me@a-host-of-ours/x {known} && make");
    let file = format!(
        "[agent]\nargs = [\"--api-key\", \"{known}\"]\n[verify]\ncommands = [\"{check}\"]\n"
    );
    fs::create_dir_all(env.project().join(".nightwright")).unwrap();
    env.file(".nightwright/config.toml", &file);
    let shown = |arguments: &[&str]| {
        let mut command = env.command(arguments);
        let output = finish(command.env("MY_TOKEN", known).spawn().unwrap());
        for text in [&output.out, &output.err] {
            assert!(!text.contains("hunter"), "{arguments:?}: {text}");
        }
        output.out + &output.err
    };
    for key in ["agent.args", "verify.commands"] {
        for more in [&[][..], &["--json"]] {
            for what in ["get", "explain"] {
                let text = shown(&[&["config", what, key], more].concat());
                assert!(text.contains("**************"), "{text}");
            }
        }
    }
    shown(&["config", "list"]);
    shown(&["config", "list", "--json"]);
    for arguments in [&["trust", "--list"][..], &["run", "-p", "x"]] {
        let text = shown(arguments);
        assert!(text.contains("--api-key") && text.contains("**************"), "{text}");
        assert!(text.contains("psql postgres://me@a-host"), "{text}");
    }
    assert_eq!(fs::read_to_string(env.project().join(".nightwright/config.toml")).unwrap(), file);
}

#[test]
fn a_project_can_not_mask_what_it_would_run() {
    let env = TestEnv::new();
    fs::create_dir_all(env.project().join(".nightwright")).unwrap();
    let command = "true ://a:;curl$IFS-sL;@b Authorization: Bearer a1b2c3d4e5f6a7b8c9";
    env.file(
        ".nightwright/config.toml",
        &format!(
            "[redact]\npatterns = [\"curl\"]\nvariables = [\"HOME\"]\n[agent.env]\nX_TOKEN = \"curl$IFS-sL\"\n\
             [verify]\ncommands = [\"{command}\"]\n"
        ),
    );
    for arguments in [
        &["trust", "--list"][..],
        &["config", "get", "verify.commands"],
        &["config", "explain", "verify.commands"],
        &["config", "get", "verify.commands", "--json"],
        &["config", "explain", "verify.commands", "--json"],
    ] {
        let output = env.run(arguments);
        assert!(output.out.contains(command), "{arguments:?}: {}", output.out);
    }
}
