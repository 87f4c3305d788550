//! Attacks on the cost of a run.

use std::fs;
use std::time::Duration;

use jiff::Timestamp;
use nightwright_core::redact::Secrets;
use nightwright_core::settings::Completion;
use nightwright_core::stream::dialect::Dialect;
use nightwright_core::stream::outcome::ProcessExit;
use nightwright_core::stream::transcript::{AttemptExit, Transcript, TranscriptOptions};
use nightwright_core::units::Usd;
use serde_json::Value;

use crate::agent_program::program;
use crate::harness::TestEnv;

const VERSION: &str = "2.1.210 (Claude Code)";

/// Three lines of an agent that report three dollars.
const STREAM: &str = r#"{"type":"system","subtype":"init","session_id":"s","model":"claude-x","tools":["Bash"],"mcp_servers":[],"permissionMode":"default","cwd":"/","apiKeySource":"none","claude_code_version":"2.1.210"}
{"type":"assistant","session_id":"s","parent_tool_use_id":null,"message":{"id":"m","model":"claude-x","role":"assistant","type":"message","content":[{"type":"text","text":"I work."}],"usage":{"input_tokens":1,"output_tokens":1}}}
{"type":"result","subtype":"success","is_error":false,"duration_ms":9000,"num_turns":1,"result":"I worked.","session_id":"s","total_cost_usd":3.0,"usage":{"input_tokens":1,"output_tokens":1},"permission_denials":[]}
"#;

/// A project that masks everything, and an agent that prints this text.
fn masking_project(printed: &str) -> TestEnv {
    let env = TestEnv::new();
    fs::create_dir(env.project().join(".nightwright")).unwrap();
    env.file(".nightwright/config.toml", "[redact]\npatterns = [\".+\"]\n");
    fs::write(env.path("stream"), printed).unwrap();
    let stream = env.word("stream");
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && echo '{VERSION}' && exit\nread -r prompt\n\
         echo work >> made.txt\ncat {stream}\n"
    );
    program(&env, "claude", &script);
    env
}

/// Runs the agent on a goal, and returns the events of the journal.
fn events(env: &TestEnv, more: &[&str]) -> Vec<Value> {
    let arguments = ["run", "-p", "x", "--no-delay", "--verify", "false", "--no-baseline"];
    env.run(&[&arguments, more].concat());
    let journal = fs::read_to_string(env.runs()[0].join("journal.jsonl")).unwrap();
    journal.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn costs(events: &[Value]) -> Vec<f64> {
    let ended = events.iter().filter(|event| event["event"] == "attempt_finished");
    ended.map(|event| event["cost"].as_f64().unwrap()).collect()
}

#[test]
fn a_mask_for_everything_needs_an_approval() {
    let env = masking_project(STREAM);
    let run = ["run", "-p", "x", "-m", "1", "--no-delay", "--verify", "false", "--no-baseline"];
    env.run(&run).exits(2).says(&["you have not approved", "redact.patterns = [\".+\"]"]);
    assert_eq!(env.runs().len(), 0);
    let seen = events(&env, &["-m", "1", "--ignore-untrusted"]);
    assert_eq!(costs(&seen), [3.0]);
    assert_eq!(seen[0]["settings"]["goal"], "x", "the pattern is ignored");
}

#[test]
fn an_approved_mask_for_everything_does_not_hide_the_cost_and_once_it_did() {
    let env = masking_project(STREAM);
    env.run(&["trust", "--yes"]).exits(0);
    let seen = events(&env, &["-m", "9", "--max-cost", "5"]);
    assert_eq!(costs(&seen), [3.0, 3.0]);
    let last = seen.last().unwrap().to_string();
    assert!(last.contains("run_finished") && last.contains("max_cost"), "{last}");
    let kept = fs::read_dir(env.runs()[0].join("output")).unwrap().next().unwrap().unwrap();
    let kept = fs::read_to_string(kept.path()).unwrap();
    assert!(!kept.contains("I work"), "the approved pattern applies: {kept}");

    // Without the rule, the masked lines were read, in which every text was covered.
    let covered: String = STREAM.chars().map(|c| if c.is_alphabetic() { '*' } else { c }).collect();
    assert_eq!(read(&covered), (None, None), "the cost is lost");
    // The stored lines keep it, for a run that is resumed after a crash.
    assert_eq!(read(&kept).0, Usd::from_dollars(3.0));
}

#[test]
fn an_attempt_that_printed_only_garbage_is_not_free_and_a_silent_one_is() {
    let env = masking_project("garbage\n");
    let seen = events(&env, &["-m", "1", "--max-cost", "5", "--ignore-untrusted"]);
    assert!(!costs(&seen).is_empty() && costs(&seen).iter().all(|cost| *cost > 0.0), "{seen:?}");
    assert_eq!(read("garbage\n"), (None, None));
    assert_eq!(read(""), (None, Some(Usd::ZERO)));
}

/// The reported cost and the estimate of an attempt that printed this and failed.
fn read(printed: &str) -> (Option<Usd>, Option<Usd>) {
    let mut transcript = Transcript::new(TranscriptOptions {
        dialect: Dialect::Claude,
        completion: &Completion::default(),
        secrets: &Secrets::default(),
        purpose: None,
        live: false,
        started: Duration::ZERO,
    });
    for line in printed.lines() {
        transcript.line(Duration::ZERO, line.as_bytes(), &mut |_| {}, &mut |_| {});
    }
    let closing = AttemptExit {
        exit: Some(ProcessExit::Code(1)),
        stdout_bytes: printed.len() as u64,
        ..AttemptExit::default()
    };
    let report = transcript.finish(Duration::ZERO, Timestamp::UNIX_EPOCH, closing);
    (report.cost, report.priced)
}
