//! `nightwright inspect`: a recorded stream, interpreted like a live one.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::agent_env::NIGHTWRIGHT;
use super::harness::{Output, TestEnv, finish};

const INIT: &str = r#"{"type":"system","subtype":"init","model":"claude-opus-5-5"}"#;
const BASH: &str = r#"{"type":"assistant","message":{"id":"a","model":"claude-opus-5-5","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"make"}}],"usage":{"input_tokens":100,"output_tokens":1}}}"#;
const FAILED: &str = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"no rule \u001b[2Jto make","is_error":true}]}}"#;
const RESULT: &str = r#"{"type":"result","subtype":"success","is_error":false,"result":"All done.\n<promise>COMPLETE</promise>","num_turns":2,"stop_reason":"end_turn","total_cost_usd":0.5,"modelUsage":{"m":{"inputTokens":10,"outputTokens":20,"cacheReadInputTokens":30,"cacheCreationInputTokens":40,"costUSD":0.5}}}"#;

fn stream(env: &TestEnv, lines: &[&str]) -> String {
    let path = env.path("stream.ndjson");
    fs::write(&path, lines.iter().flat_map(|line| [*line, "\n"]).collect::<String>()).unwrap();
    path.display().to_string()
}

fn object(output: &Output) -> Value {
    serde_json::from_str(&output.out).unwrap()
}

/// The JSON output for these lines and arguments.
fn inspected(lines: &[&str], more: &[&str]) -> Value {
    let env = TestEnv::new();
    let path = stream(&env, lines);
    let arguments = [&["inspect", path.as_str(), "--json"], more].concat();
    object(&env.run(&arguments).exits(0))
}

/// The path of a recording of the real program.
fn recording(name: &str) -> PathBuf {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../nightwright-core/tests/fixtures");
    fixtures.join("claude").join(name)
}

#[test]
fn the_object_has_every_member_and_no_other() {
    let strange = [r#"{"type":"mood"}"#, "no JSON", ""];
    let lines = [&[INIT, BASH, FAILED][..], &strange, &[RESULT]].concat();
    let expected = json!({
        "outcome": "finished", "retry": "no", "until": null,
        "cost_usd": 0.5, "cost_estimated": false,
        "tokens": {"input": 10, "output": 20, "cache_read": 30, "cache_write": 40},
        "turns": 2, "results": 1, "tool_calls": 1, "tool_errors": 1,
        "bad_lines": 1, "unknown_events": 1,
        "final_text": "All done.\n<promise>COMPLETE</promise>",
        "markers": ["promise", "states_done"],
    });
    assert_eq!(inspected(&lines, &["--exit-code", "0"]), expected);
}

#[test]
fn how_the_process_ended_decides_where_the_stream_does_not() {
    let name = |lines: &[&str], more: &[&str]| {
        let object = inspected(lines, more);
        format!("{} {}", object["outcome"], object["retry"]).replace('"', "")
    };
    assert_eq!(name(&[INIT, BASH], &["--signal", "9"]), "crashed retry");
    assert_eq!(name(&[INIT, BASH], &["--exit-code", "0"]), "crashed retry");
    assert_eq!(name(&[INIT, BASH], &[]), "crashed retry");
    // A successful result counts, however the process ended.
    for more in [&["--signal", "15"][..], &["--exit-code", "143"], &[]] {
        assert_eq!(name(&[INIT, BASH, RESULT], more), "finished no");
    }
}

#[test]
fn standard_error_explains_a_bad_start() {
    let env = TestEnv::new();
    let (empty, errors) = (stream(&env, &[]), env.path("stderr.txt"));
    fs::write(&errors, "error: unknown option '--frobnicate'\n").unwrap();
    let errors = errors.display().to_string();
    let output = env.run(&["inspect", &empty, "--stderr", &errors, "--exit-code", "1"]).exits(0);
    assert!(
        output.out.contains("bad_start: did not start: error: unknown option"),
        "{}",
        output.out
    );
    assert!(output.out.contains("next in a run: end the run"), "{}", output.out);
    let object = object(&env.run(&["inspect", &empty, "--stderr", &errors, "--json"]).exits(0));
    let facts = (&object["outcome"], &object["retry"], &object["cost_usd"]);
    assert_eq!(facts, (&json!("bad_start"), &json!("stop"), &json!(0.0)));
    let printed = stream(&env, &["not a message"]);
    let object = self::object(&env.run(&["inspect", &printed, "--json"]).exits(0));
    assert_eq!(object["cost_usd"], Value::Null, "an agent that printed anything is never free");
}

#[test]
fn unreported_costs_of_a_killed_agent_are_estimated_or_unknown() {
    let killed = inspected(&[INIT, BASH], &["--signal", "9"]);
    assert_eq!((&killed["cost_usd"], &killed["cost_estimated"]), (&json!(0.000_525), &json!(true)));
    let killed = inspected(&[INIT], &["--signal", "9"]);
    assert_eq!((&killed["cost_usd"], &killed["cost_estimated"]), (&Value::Null, &json!(true)));
}

#[test]
fn recordings_of_the_real_program_come_to_what_they_are() {
    let env = TestEnv::new();
    let cases = [
        ("a_plain", "finished", "no", Value::Null),
        ("f_empty", "suspect", "retry", Value::Null),
        ("f_max_turns", "turn_limit", "no", Value::Null),
        ("g_400", "bad_request", "fail", Value::Null),
        ("g_403", "auth", "stop", Value::Null),
        ("g_529_retries2", "overloaded", "retry", Value::Null),
        ("m_slash_bad_skill", "suspect", "fail", Value::Null),
        ("r_oauth_429_plain", "rate_limited", "wait", Value::Null),
        ("r_oauth_rejected_far", "usage_limited", "wait", json!("2026-11-15T22:05:58Z")),
    ];
    for (name, outcome, retry, until) in cases {
        let path = recording(name).join("stdout.ndjson").display().to_string();
        let object = object(&env.run(&["inspect", &path, "--json"]).exits(0));
        let found = (&object["outcome"], &object["retry"], &object["until"]);
        assert_eq!(found, (&json!(outcome), &json!(retry), &until), "{name}");
        assert_eq!(object["unknown_events"], 0, "{name}");
    }
}

#[test]
fn without_json_the_stream_is_shown_and_summed_up_and_nothing_of_it_reaches_the_terminal_raw() {
    let env = TestEnv::new();
    let text = r#"{"type":"assistant","message":{"model":"m","content":[{"type":"text","text":"I look\u001b]0;x\u0007 first."}]}}"#;
    let mood = r#"{"type":"mo\u001b[2Jod"}"#;
    let path = stream(&env, &[INIT, text, BASH, FAILED, mood, RESULT]);
    let output = env.run(&["inspect", &path]).exits(0);
    insta::assert_snapshot!(output.out, @r"
      ● I look first.
      → Bash: make
        ❌ failed
        │ no rule to make
    finished
      next in a run: assess the work
      2 turns, 1 result; cost $0.50, 10 tokens in, 20 out, 30 cache read, 40 cache write
      1 tool call, 1 failed
      final message contains: the completion marker, a statement that the work is done
      unknown to this version of nightwright: 1 (mood)
    ");
    assert_eq!(output.err, "");
}

#[test]
fn a_dash_is_standard_input() {
    let env = TestEnv::new();
    let mut child = env.command(&["inspect", "-", "--json"]).stdin(Stdio::piped()).spawn().unwrap();
    // The last line has no newline.
    child.stdin.take().unwrap().write_all(format!("{INIT}\n{RESULT}").as_bytes()).unwrap();
    assert_eq!(object(&finish(child).exits(0))["outcome"], "finished");
}

#[test]
fn an_unreadable_file_is_named() {
    let env = TestEnv::new();
    let path = stream(&env, &[INIT]);
    let project = env.project().display().to_string();
    env.run(&["inspect", "nowhere.ndjson"]).exits(1).says(&["cannot read `nowhere.ndjson`"]);
    env.run(&["inspect", &project]).exits(1).says(&["it is a folder", "hint:"]);
    let output = env.run(&["inspect", &path, "--stderr", "nowhere.txt"]).exits(1);
    assert_eq!(output.says(&["cannot read `nowhere.txt`"]).out, "");
    let output = env.run(&["inspect", &path, "--stderr", &project]).exits(1);
    let output = output.says(&["it is a folder", "printed on standard error"]);
    assert!(!output.err.contains("ndjson"), "{}", output.err);
}

#[test]
fn an_impossible_process_exit_is_a_usage_error() {
    let env = TestEnv::new();
    let path = stream(&env, &[INIT]);
    let cases: [&[&str]; 6] = [
        &["--exit-code", "1", "--signal", "9"],
        &["--exit-code", "256"],
        &["--exit-code", "-1"],
        &["--signal", "0"],
        &["--signal", "65"],
        &["--signal", "KILL"],
    ];
    for more in cases {
        env.run(&[&["inspect", path.as_str()], more].concat()).exits(2);
    }
    env.run(&["inspect"]).exits(2);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let env = TestEnv::new();
    let text = r#"{"type":"assistant","message":{"model":"m","content":[{"type":"text","text":"on and on"}]}}"#;
    let path = stream(&env, &vec![text; 50_000]);
    let mut child = env.command(&["inspect", &path]).spawn().unwrap();
    drop(child.stdout.take());
    let status = child.wait().unwrap();
    assert!(status.success(), "{status:?}");
}

#[test]
fn a_stream_of_any_length_is_read_in_the_memory_of_a_line() {
    // The stream is larger than the available address space.
    let limited = "ulimit -v 160000 && exec \"$0\" inspect - --json";
    let mut child = Command::new("/bin/sh")
        .args(["-c", limited, NIGHTWRIGHT])
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || {
        let line = format!(
            r#"{{"type":"assistant","message":{{"model":"m","content":[{{"type":"text","text":"{}"}}]}}}}"#,
            "x".repeat(1 << 20)
        );
        for _ in 0..256 {
            writeln!(pipe, "{line}").unwrap();
        }
    });
    let object = object(&finish(child).exits(0));
    writer.join().unwrap();
    assert_eq!(object["outcome"], "crashed");
    assert_eq!(object["final_text"].as_str().unwrap().len(), 1 << 20);
}

#[test]
fn secrets_are_masked_in_all_that_is_shown() {
    let token = concat!("gh", "p_", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let delta = |text: &str| {
        let delta = json!({ "type": "text_delta", "text": text });
        let event = json!({ "type": "content_block_delta", "index": 0, "delta": delta });
        json!({ "type": "stream_event", "event": event, "session_id": "s" }).to_string()
    };
    let said = json!({ "type": "assistant", "message": { "id": "b", "model": "m", "content": [
        { "type": "text", "text": format!("I log in with correct-horse-9x and {token}.") },
    ] } });
    let result = json!({ "type": "result", "subtype": "success", "is_error": false,
        "result": format!("Done with correct-horse-9x.\nSee {token}.") });
    let env = TestEnv::new();
    // A secret split into two deltas, and a last line without a newline.
    let lines = [INIT, &delta("correct-ho"), &delta("rse-9x here\n"), &said.to_string(), BASH];
    let path = stream(&env, &[&lines[..], &[&result.to_string()]].concat());
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.trim_end()).unwrap();
    let stderr = env.path("stderr");
    fs::write(&stderr, "cannot log in with correct-horse-9x").unwrap();
    let stderr = stderr.display().to_string();
    let inspect = |path: &str, more: &[&str]| {
        let arguments = [&["inspect", path, "--stderr", &stderr], more].concat();
        let mut command = env.command(&arguments);
        command.env("MY_DB_PASSWORD", "correct-horse-9x");
        finish(command.spawn().unwrap()).exits(0)
    };
    let shown = inspect(&path, &[]);
    assert!(shown.out.contains("I log in with **************** and *****"), "{}", shown.out);
    let object_of_it = inspect(&path, &["--json"]);
    let stars = "*".repeat(token.len());
    let masked = format!("Done with ****************.\nSee {stars}.");
    assert_eq!(object(&object_of_it)["final_text"], masked);
    // The cause of the failure is in standard error.
    let nothing = env.path("nothing");
    fs::write(&nothing, "").unwrap();
    let died = inspect(nothing.to_str().unwrap(), &["--exit-code", "1"]);
    assert!(died.out.contains("cannot log in with ****************"), "{}", died.out);
    for output in [shown, object_of_it, died] {
        for secret in ["horse", "rse-9x", &token[4..]] {
            assert!(
                !output.out.contains(secret) && !output.err.contains(secret),
                "{secret}: {}",
                output.out
            );
        }
    }
}
