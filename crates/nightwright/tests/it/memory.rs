//! The memory use of the supervisor for any output of the agent.

use std::fs;
use std::io::{BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use super::harness::{TestEnv, finish, run_outcome};

const MIB: u64 = 1 << 20;
/// The limit for lines of up to 1 MiB, without the pages of the program itself. A test build has
/// many of them; the benchmark of the release build includes them.
const USUAL: u64 = 19 * MIB;
/// The limit for deltas of an answer. Only a bounded amount is held, and longer lines are skipped.
const PIECES: u64 = 13 * MIB;
/// The limit for any kind of output.
const EVER: u64 = 51 * MIB;

/// The timeout of a test; only a failing test takes this long.
const TEST_TIMEOUT: Duration = Duration::from_mins(1);

const INIT: &str = r#"{"type":"system","subtype":"init","model":"claude-opus-5-5"}"#;
const RESULT: &str = r#"{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"Done.","total_cost_usd":0.1,"modelUsage":{"m":{"inputTokens":1,"outputTokens":2}},"model_usage_since_last_result":{"m":{"inputTokens":1,"outputTokens":2,"costUSD":0.1}}}"#;

/// The peak memory of a run whose agent does `first` and then prints these lines. Fails unless all
/// lines are stored and the result is found.
fn peak(first: &str, lines: &[String], times: usize) -> u64 {
    let env = TestEnv::new();
    let path = env.path("stream.ndjson");
    let mut stream = BufWriter::new(fs::File::create(&path).unwrap());
    writeln!(stream, "{INIT}").unwrap();
    for line in lines.iter().cycle().take(lines.len() * times) {
        writeln!(stream, "{line}").unwrap();
    }
    writeln!(stream, "{RESULT}").unwrap();
    stream.flush().unwrap();
    let agent = env.path("bin/claude");
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && {{ echo '2.1.325 (Claude Code)'; exit; }}\n{first}\nexec cat {}\n",
        env.word("stream.ndjson")
    );
    fs::write(&agent, script).unwrap();
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).unwrap();

    let arguments = ["run", "-p", "go", "-m", "1", "--max-retries", "0", "--quiet"];
    let child = env.start(&arguments);
    let status = format!("/proc/{}/status", child.id());
    let begin = Instant::now();
    let mut peak = 0;
    // A process that has exited and was not waited for has no memory.
    while let Some(now) = fs::read_to_string(&status).ok().and_then(|text| high_water(&text)) {
        peak = now;
        assert!(begin.elapsed() < TEST_TIMEOUT, "not done after {TEST_TIMEOUT:?}");
        std::thread::sleep(Duration::from_millis(2));
    }
    assert!(peak > 0, "it was over before anybody looked");
    finish(child).exits(0);
    assert_eq!(run_outcome(&env.journal()), "max_iterations");
    let kept = fs::metadata(env.runs()[0].join("output/001-1.ndjson")).unwrap().len();
    assert_eq!(kept, fs::metadata(&path).unwrap().len());
    peak
}

/// The peak memory without file pages, in bytes.
fn high_water(status: &str) -> Option<u64> {
    Some(figure(status, "VmHWM:")?.saturating_sub(figure(status, "RssFile:")?))
}

/// The value of a line such as `VmHWM:     12345 kB`, in bytes.
fn figure(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kilobytes * 1024)
}

/// The content of a JSON string of about this size. It has escapes, so that it cannot be borrowed.
fn text(bytes: usize) -> String {
    r#"a line of \"words\", now and then with an end\n"#.repeat(bytes / 48 + 1)
}

fn answer(blocks: usize, bytes: usize) -> String {
    let block = format!(r#"{{"type":"text","text":"{}"}}"#, text(bytes));
    let blocks = vec![block; blocks].join(",");
    format!(r#"{{"type":"assistant","message":{{"model":"m","content":[{blocks}]}}}}"#)
}

fn tool_result(bytes: usize) -> String {
    let text = text(bytes / 2);
    format!(
        r#"{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"t","content":"{text}"}}]}},"tool_use_result":{{"stdout":"{text}"}}}}"#
    )
}

/// A delta with some characters of an answer.
fn delta(text: &str) -> String {
    format!(
        r#"{{"type":"stream_event","event":{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{text}"}}}},"session_id":"s","parent_tool_use_id":null,"uuid":"u"}}"#
    )
}

#[test]
fn lines_of_up_to_a_mebibyte_take_little_memory_however_many_they_are() {
    let lines = [answer(1, 1_000_000), tool_result(1_000_000), tool_result(10_000)];
    // The first tens of megabytes allocate all buffers.
    let short = peak("", &lines, 20);
    let long = peak("", &lines, 120);
    assert!(long <= USUAL, "{long}");
    assert!(long <= short + MIB, "it grows with the stream: {short}, then {long}");
}

#[test]
fn pieces_of_an_answer_take_little_memory_however_long_they_are() {
    let no_end = |bytes: usize| delta(&"words ".repeat(bytes / 6));
    let secret = "Authorization: Bearer a1B2c3D4e5F6g7H8 ";
    for (name, line, times) in [
        ("short ones", no_end(1_000), 20_000),
        ("ones that are just held", no_end(250_000), 100),
        ("ones that are just not held", no_end(270_000), 100),
        ("ones of nearly a mebibyte", no_end(1_040_000), 50),
        ("with ends of lines", delta(&text(1_000_000)), 50),
        ("with characters that nobody sees", delta(&"wo\u{200b}rds ".repeat(100_000)), 50),
        ("with secrets", delta(&secret.repeat(24_000)), 20),
        ("with secrets that are held", delta(&secret.repeat(6_000)), 80),
    ] {
        let peak = peak("", &[line], times);
        assert!(peak <= PIECES, "{name}: {peak}");
    }
}

#[test]
fn no_line_is_long_enough_to_take_much_memory() {
    for (name, line) in [
        ("an answer", answer(1, 20_000_000)),
        ("an answer in many pieces", answer(20, 1_000_000)),
        ("a tool result", tool_result(20_000_000)),
        ("a result", format!(r#"{{"type":"result","result":"{}"}}"#, text(20_000_000))),
        ("a kind", format!(r#"{{"type":"{}"}}"#, text(20_000_000))),
        ("a name", format!(r#"{{"{}":1}}"#, text(20_000_000))),
        ("a number that is none", format!(r#"{{"num_turns":"{}"}}"#, text(20_000_000))),
        ("a list", format!(r#"{{"type":"user","x":[{}0]}}"#, "0,".repeat(10_000_000))),
        ("no JSON", "x".repeat(20_000_000)),
        ("a line over the cap", tool_result(100_000_000)),
        ("nested without end, with secrets", {
            let secrets = r#""Authorization: Bearer a1B2c3D4e5F6g7H8","#.repeat(1_000_000);
            format!(r#"{{"a":{}{secrets}"#, "[".repeat(60_000_000))
        }),
    ] {
        let peak = peak("", &[line], 3);
        assert!(peak <= EVER, "{name}: {peak}");
    }
}

#[test]
fn a_flood_on_standard_error_takes_no_memory() {
    let peak = peak("head -c 200000000 /dev/zero >&2", &[], 0);
    assert!(peak <= USUAL, "{peak}");
}
