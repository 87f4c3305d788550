//! What the real program printed, read as an attempt would read it. The table was written by hand
//! from the raw lines; a recording without a row is a mistake.

#![expect(clippy::disallowed_methods, reason = "a test has to read its recordings")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use legwork_core::agent::decode::{Line, Lines};
use legwork_core::agent::dialect::Dialect;
use legwork_core::agent::outcome::{AttemptOutcome, CutReason, Deadline, Death};
use legwork_core::agent::report::{AgentNews, Answer, AttemptReport, QuotaWindow};
use legwork_core::agent::transcript::{Closing, Reading, Transcript};
use legwork_core::event::Purpose;
use legwork_core::settings::Completion;
use legwork_core::units::Usd;

/// What is expected of a recording: outcome, cost in millionths of a dollar, turns.
type Row = (&'static str, &'static str, Option<u64>, u32);

const TABLE: &[Row] = &[
    ("a_plain", "finished", Some(800), 1),
    ("b_tools_ok", "finished", Some(46_200), 7),
    ("c_parallel", "finished", Some(1600), 4),
    ("e_partial", "finished", Some(1600), 2),
    ("f_empty", "suspect", Some(1600), 2),
    ("f_max_turns", "turn_limit", Some(1600), 3),
    ("f_refusal", "refused", Some(1600), 2),
    ("g_400", "bad_request", Some(0), 1),
    ("g_401_retries0", "auth", Some(0), 1),
    ("g_403", "auth", Some(0), 1),
    ("g_404_model", "model_not_found", Some(0), 1),
    ("g_429_ra600", "rate_limited", Some(0), 1),
    ("g_500_retries1", "overloaded", Some(0), 1),
    ("g_529_retries2", "overloaded", Some(0), 1),
    ("g_credit", "billing", Some(0), 1),
    ("g_too_long", "prompt_too_long", Some(0), 1),
    ("g_usage_limit_text", "usage_limited", Some(0), 1),
    ("h_refused_retries1", "network", Some(0), 1),
    ("i_hang_headers_api10", "network", Some(0), 1),
    // Two results; the second figures 0.0024 in all, 0.0008 of them its own.
    ("j_run_in_background_8", "finished", Some(2400), 3),
    // Exit code 0, and no success.
    ("j_sigint_bash", "interrupted", Some(800), 3),
    ("j_sigkill_bash", "crashed", None, 0),
    ("j_sigterm_startup", "crashed", None, 0),
    ("j_sigterm_stream", "crashed", None, 0),
    ("k_subagent", "finished", Some(7400), 2),
    ("k_subagent_default", "finished", Some(4000), 3),
    ("l_no_verbose", "bad_start", None, 0),
    // A command that the program ran itself: no model was asked.
    ("m_slash_bad_skill", "suspect", Some(0), 0),
    ("n_budget", "attempt_budget", Some(1600), 2),
    // The session before cost 0.0016, and that is not charged again.
    ("n_continue", "finished", Some(800), 1),
    ("n_input_stream", "finished", Some(1600), 2),
    ("n_json_schema", "finished", Some(800), 2),
    ("n_json_schema_bad", "bad_request", Some(4000), 6),
    ("n_mcp_bad", "finished", Some(800), 1),
    ("n_resume_missing", "bad_start", Some(0), 0),
    ("o_denied", "finished", Some(3200), 4),
    ("p_bad_cwd_settings", "bad_start", Some(0), 0),
    ("q_unicode", "finished", Some(1600), 2),
    ("r_oauth_401", "auth", Some(0), 1),
    ("r_oauth_429_plain", "rate_limited", Some(0), 1),
    ("r_oauth_rejected_far", "usage_limited", Some(0), 1),
    ("root_refused", "bad_start", None, 0),
    // Its output was closed after the first line: it went on unseen and ended well.
    ("s_epipe", "crashed", None, 0),
    ("s_long_bash_75", "finished", Some(1600), 2),
    ("v197_tools", "finished", Some(4000), 4),
    ("w_watchdog_usage", "finished", Some(400), 1),
    ("y_ping_partial", "crashed", None, 0),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/claude")
}

/// How a recording is read.
#[derive(Clone, Copy, Default)]
struct How {
    cut: Option<CutReason>,
    purpose: Option<Purpose>,
    live: bool,
}

struct Read {
    news: Vec<AgentNews>,
    report: AttemptReport,
    messages: u32,
}

fn read(name: &str) -> Read {
    read_as(name, How::default())
}

fn read_as(name: &str, how: How) -> Read {
    let file = |file: &str| fs::read(folder().join(name).join(file)).unwrap_or_default();
    let (stdout, stderr) = (file("stdout.ndjson"), file("stderr.txt"));
    let meta: serde_json::Value =
        serde_json::from_slice(&file("meta.json")).expect("a recording has its facts");
    let number = |field: &str| meta[field].as_i64().and_then(|number| i32::try_from(number).ok());
    let exit = number("signal").map(Death::Signal).or(number("exit_code").map(Death::Code));

    let completion = Completion::default();
    let mut transcript = Transcript::new(Reading {
        dialect: Dialect::Claude,
        completion: &completion,
        purpose: how.purpose,
        live: how.live,
        started: Duration::ZERO,
    });
    let mut lines = Lines::default();
    let (mut news, mut messages, mut count) = (Vec::new(), 0, 0);
    let mut each = |line: Line<'_>| {
        count += 1;
        let Line::Whole(line) = line else { panic!("{name}: line {count} is too long") };
        transcript.line(Duration::from_secs(count), line, &mut |item| news.push(item), &mut |_| {
            messages += 1;
        });
    };
    for chunk in stdout.chunks(1000) {
        lines.push(chunk, &mut each);
    }
    lines.finish(&mut each);

    let wall: Timestamp = "2026-11-15T20:00:00Z".parse().expect("a date");
    let closing = Closing {
        exit,
        cut: how.cut,
        stderr: &String::from_utf8_lossy(&stderr),
        stdout_bytes: stdout.len() as u64,
        stderr_bytes: stderr.len() as u64,
    };
    let report = transcript.finish(Duration::from_secs(count + 3), wall, closing);
    Read { news, report, messages }
}

#[test]
fn every_recording_is_classified_as_its_raw_lines_say() {
    let mut wrong = Vec::new();
    for (name, outcome, cost, turns) in TABLE {
        let report = read(name).report;
        let expected = (*outcome, cost.map(Usd::from_micros), *turns);
        let found = (report.outcome.name(), report.cost, report.turns);
        if expected != found {
            wrong.push(format!("{name}: expected {expected:?}, found {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_recording_has_a_row() {
    let rows: BTreeSet<_> = TABLE.iter().map(|row| row.0.to_owned()).collect();
    let recorded: BTreeSet<_> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(rows, recorded);
}

#[test]
fn every_line_of_every_recording_is_a_message() {
    for (name, ..) in TABLE {
        let read = read(name);
        assert_eq!(read.report.stream.bad_lines, 0, "{name}");
        assert!(read.messages > 0 || read.report.stream.stdout_bytes == 0, "{name}");
    }
}

#[test]
fn the_program_is_ready_once_however_many_turns_it_takes() {
    for (name, ..) in TABLE {
        let ready = read(name).news.into_iter().filter(|news| matches!(news, AgentNews::Ready(_)));
        assert!(ready.count() <= 1, "{name}");
    }
    let news = read("n_mcp_bad").news;
    let [AgentNews::Ready(ready)] = &news[..] else { panic!("{news:?}") };
    assert_eq!(ready.model, "claude-opus-5-5");
    assert_eq!(ready.version, "2.1.325");
    assert_eq!(ready.failed_servers.len(), 1);
    assert!(ready.tools > 10);
}

#[test]
fn tokens_of_sub_agents_are_counted() {
    let tokens = read("k_subagent").report.tokens;
    assert_eq!((tokens.input, tokens.output), (1300, 110));
    let tokens = read("b_tools_ok").report.tokens;
    assert_eq!((tokens.cache_read, tokens.cache_write), (21_000, 1400));
}

#[test]
fn a_usage_limit_ends_when_the_event_says_and_else_when_the_words_do() {
    let until = |name| match read(name).report.outcome {
        AttemptOutcome::UsageLimited { until } => until.map(Timestamp::as_second),
        outcome => panic!("{outcome:?}"),
    };
    assert_eq!(until("r_oauth_rejected_far"), Some(1_794_780_358));
    assert_eq!(until("g_usage_limit_text"), Some(1_999_999_999));
}

#[test]
fn a_window_that_refuses_is_news_of_the_quota() {
    let quotas: Vec<_> = read("w_watchdog_usage")
        .news
        .into_iter()
        .filter_map(|news| match news {
            AgentNews::Quota(quota) => Some((quota.window, quota.used)),
            _ => None,
        })
        .collect();
    assert_eq!(quotas, [(QuotaWindow::FiveHour, 100)]);
}

#[test]
fn denied_tools_are_named_once_each() {
    let read = read("o_denied");
    assert_eq!(read.report.denied, ["Write", "Bash"]);
    let denied = read.news.iter().filter(|news| matches!(news, AgentNews::Denied { .. }));
    assert_eq!(denied.count(), 2);
}

#[test]
fn a_refused_login_is_told_at_once() {
    let refused = |name| read(name).news.contains(&AgentNews::LoginRefused);
    assert!(refused("r_oauth_401"));
    assert!(!refused("g_529_retries2") && !refused("a_plain"));
}

#[test]
fn a_session_that_stays_open_tells_the_end_of_every_turn() {
    let ended = |live| {
        let news = read_as("n_input_stream", How { live, ..How::default() }).news;
        news.iter().filter(|news| matches!(news, AgentNews::TurnEnded { .. })).count()
    };
    assert_eq!((ended(true), ended(false)), (2, 0));
}

#[test]
fn what_we_end_is_called_by_our_reason_unless_a_good_result_had_come() {
    let idle = CutReason::Deadline(Deadline::Idle);
    let cases = [
        ("j_sigterm_stream", idle, "timed_out"),
        ("j_sigterm_stream", CutReason::Limit, "attempt_budget"),
        ("j_sigterm_stream", CutReason::StopNow, "interrupted"),
        ("j_sigterm_stream", CutReason::Auth, "auth"),
        ("j_sigint_bash", CutReason::StopNow, "interrupted"),
        ("g_529_retries2", CutReason::StopNow, "interrupted"),
        ("g_529_retries2", CutReason::AfterResult, "overloaded"),
        ("a_plain", CutReason::AfterResult, "finished"),
        ("a_plain", idle, "finished"),
        ("a_plain", CutReason::StopNow, "finished"),
        ("f_max_turns", CutReason::StopNow, "turn_limit"),
        ("m_slash_bad_skill", CutReason::StopNow, "interrupted"),
    ];
    for (name, cut, outcome) in cases {
        let report = read_as(name, How { cut: Some(cut), ..How::default() }).report;
        assert_eq!(report.outcome.name(), outcome, "{name} {cut:?}");
    }
}

#[test]
fn an_attempt_that_did_not_live_to_say_is_priced_by_what_was_seen() {
    // One message of 100 tokens in and 1 out had begun.
    let report = read("y_ping_partial").report;
    assert_eq!((report.cost, report.priced), (None, Some(Usd::from_micros(525))));
    // It never got as far as to ask a model.
    assert_eq!(read("root_refused").report.priced, Some(Usd::ZERO));
    // It did, and nobody knows what came of it.
    assert_eq!(read("j_sigterm_stream").report.priced, None);
}

#[test]
fn a_failed_start_shows_what_the_program_printed() {
    let why = |name| match read(name).report.outcome {
        AttemptOutcome::BadStart { why } => why,
        outcome => panic!("{outcome:?}"),
    };
    assert!(why("root_refused").contains("cannot be used with root"));
    assert!(why("n_resume_missing").starts_with("No conversation found"));
    assert!(why("p_bad_cwd_settings").starts_with("Configuration error"));
}

#[test]
fn a_call_for_advice_gives_its_text_and_one_for_a_verdict_gives_none_without_one() {
    let answer = |name, purpose| {
        read_as(name, How { purpose: Some(purpose), ..How::default() }).report.answer
    };
    let text = Answer::Text { text: "Hello from the fake.".to_owned() };
    assert_eq!(answer("a_plain", Purpose::Advise), Some(text));
    assert_eq!(answer("a_plain", Purpose::Verify), None);
    assert_eq!(answer("g_400", Purpose::Advise), None);
    assert_eq!(read("a_plain").report.answer, None);
}
