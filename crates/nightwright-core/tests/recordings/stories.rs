//! Details of single recordings besides their result.

use std::time::Duration;

use nightwright_core::event::CallPurpose;
use nightwright_core::stream::news::{AgentNews, Answer, QuotaWindow};
use nightwright_core::stream::outcome::AttemptOutcome;
use nightwright_core::units::Usd;

use super::reading::{ReadOptions, Recording, names, read, read_as};

#[test]
fn every_line_of_every_recording_is_a_message() {
    for name in names() {
        let read = read(&name);
        assert_eq!(read.report.stream.bad_lines, 0, "{name}");
        let silent = read.messages.is_empty();
        assert_eq!(silent, read.report.stream.stdout_bytes == 0, "{name}");
        // All of them are known types.
        assert_eq!(read.report.unknown, [""; 0], "{name}");
        assert_eq!(read.report.stream.unknown_events, 0, "{name}");
    }
}

#[test]
fn the_program_is_ready_once_however_many_turns_it_takes() {
    for name in names() {
        let ready = read(&name).news.into_iter().filter(|news| matches!(news, AgentNews::Ready(_)));
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
fn quota_windows_are_reported_when_they_are_used() {
    let quotas = |name| -> Vec<_> {
        let news = read(name).news.into_iter();
        news.filter_map(|news| match news {
            AgentNews::Quota(quota) => Some((quota.window, quota.used)),
            _ => None,
        })
        .collect()
    };
    assert_eq!(quotas("w_watchdog_usage"), [(QuotaWindow::FiveHour, 100)]);
    assert_eq!(quotas("r_oauth_rejected_far"), [(QuotaWindow::FiveHour, 100)]);
    // It contains the window and its end, but not the usage.
    assert_eq!(quotas("r_oauth_allowed"), []);
    assert_eq!(quotas("r_oauth_429_plain"), []);
}

#[test]
fn denied_tools_are_named_once_each_and_tools_that_are_not_there_are_not_denied() {
    let denied = |name| {
        let read = read(name);
        let denied = read.news.iter().filter(|news| matches!(news, AgentNews::Denied { .. }));
        assert_eq!(denied.count(), read.report.denied.len(), "{name}");
        let denied = read.report.denied.iter();
        denied.map(|denial| format!("{} {}", denial.tool, denial.input)).collect::<Vec<_>>()
    };
    assert_eq!(denied("o_denied"), ["Write /project/new.txt", "Bash touch made; curl --version"]);
    assert_eq!(denied("o_plan"), ["Write /project/new.txt", "Bash touch made; curl --version"]);
    assert_eq!(denied("o_accept_edits"), ["Bash touch made; curl --version"]);
    let none: [&str; 0] = [];
    assert_eq!(denied("o_disallowed"), none);
    assert_eq!(denied("o_allowed_tools"), none);
}

#[test]
fn a_refused_login_is_reported_at_once_and_nothing_else_is_called_so() {
    let refused: Vec<_> = names()
        .into_iter()
        .filter(|name| read(name).news.contains(&AgentNews::LoginRefused))
        .collect();
    assert_eq!(refused, ["g_401", "r_oauth_401"]);
}

#[test]
fn a_session_that_stays_open_tells_the_end_of_every_turn() {
    let ended = |live| {
        let news = read_as("n_input_stream", ReadOptions { live, ..ReadOptions::default() }).news;
        news.iter().filter(|news| matches!(news, AgentNews::TurnEnded { .. })).count()
    };
    assert_eq!((ended(true), ended(false)), (2, 0));
}

#[test]
fn how_long_it_was_silent_before_its_end_is_known() {
    let quiet = |name| read(name).report.stream.quiet;
    assert_eq!(quiet("i_hang_mid_ping"), Duration::from_millis(185_131 - 3238));
    assert_eq!(quiet("i_hang_mid_long"), Duration::from_millis(1_500_146 - 1_207_472));
    assert_eq!(quiet("root_refused"), Duration::from_millis(423));
}

#[test]
fn an_attempt_killed_before_its_result_is_priced_by_its_messages_and_never_too_low() {
    let recording = Recording::open("e_partial");
    let lines = recording.lines();
    let (last, before) = lines.split_last().expect("it has lines");
    assert!(String::from_utf8_lossy(last).contains("\"total_cost_usd\":0.0016"));
    let times = before.iter().enumerate().map(|(at, line)| (line.to_vec(), recording.time(at)));
    let killed = recording.with_lines(times);
    let report = killed.read(ReadOptions::default(), killed.stdout.chunks(1000)).report;
    // Two messages, each with 100 tokens in and 20 out, at the highest price of the model family.
    assert_eq!((report.tokens.input, report.tokens.output), (200, 40));
    assert_eq!((report.cost, report.priced), (None, Some(Usd::from_micros(2000))));
}

#[test]
fn a_failed_start_shows_all_that_the_program_printed() {
    let AttemptOutcome::BadStart { why } = read("m_stdin_open_noprompt").report.outcome else {
        panic!("it had no prompt")
    };
    let (warning, error) = why.split_once('\n').expect("two lines");
    assert!(warning.starts_with("Warning: no stdin data received in 3s"), "{why}");
    assert!(error.starts_with("Error: Input must be provided"), "{why}");
}

#[test]
fn only_the_last_words_of_the_main_agent_count() {
    let signal = |name| read(name).report.text_evidence.signal;
    // The first of two results is not final, and text of the sub-agent is not a claim.
    assert!(signal("k_subagent_default"));
    assert!(signal("b_tools_ok") && signal("k_subagent"));
    assert!(!signal("c_parallel") && !signal("o_denied") && !signal("n_hooks"));
}

#[test]
fn a_call_for_advice_gives_its_text_and_one_for_a_verdict_gives_none_without_one() {
    let answer = |name, purpose| {
        read_as(name, ReadOptions { purpose: Some(purpose), ..ReadOptions::default() })
            .report
            .answer
    };
    let text = Answer::Text { text: "Hello from the fake.".to_owned() };
    assert_eq!(answer("a_plain", CallPurpose::Advise), Some(text));
    assert_eq!(answer("a_plain", CallPurpose::Verify), None);
    assert_eq!(answer("g_400", CallPurpose::Advise), None);
    assert_eq!(read("a_plain").report.answer, None);
}
