mod masked;
mod needs;
mod noticed;

use super::*;
use crate::redact::Secrets;
use crate::stream::news::QuotaWindow;
use crate::units::{Tokens, Usd};

fn transcript(live: bool) -> Transcript {
    of(Dialect::Claude, live)
}

fn of(dialect: Dialect, live: bool) -> Transcript {
    Transcript::new(TranscriptOptions {
        dialect,
        completion: &Completion::default(),
        secrets: &Secrets::default(),
        purpose: None,
        live,
        started: Duration::ZERO,
    })
}

/// Feeds lines, one per second, and returns the news.
fn feed(transcript: &mut Transcript, lines: &[&str]) -> Vec<AgentNews> {
    let mut news = Vec::new();
    for line in lines {
        let mono = transcript.last_line + Duration::from_secs(1);
        transcript.line(mono, line.as_bytes(), &mut |item| news.push(item), &mut |_| {});
    }
    news
}

fn report(transcript: Transcript) -> AttemptReport {
    let closing =
        AttemptExit { exit: Some(ProcessExit::Code(0)), stdout_bytes: 1, ..AttemptExit::default() };
    let mono = transcript.last_line + Duration::from_secs(2);
    transcript.finish(mono, Timestamp::UNIX_EPOCH, closing)
}

const INIT: &str = r#"{"type":"system","subtype":"init","model":"claude-opus-5-5"}"#;
const BASH: &str = r#"{"type":"assistant","message":{"model":"m","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{}}]}}"#;
const BASH_BACK: &str = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"x"}]}}"#;
const BEAT: &str = r#"{"type":"tool_progress","tool_use_id":"t1-heartbeat-0","parent_tool_use_id":"t1","heartbeat":true}"#;
const START: &str = r#"{"type":"stream_event","event":{"type":"message_start","message":{"model":"claude-haiku-5-5","usage":{"input_tokens":1000,"output_tokens":1}}},"parent_tool_use_id":null}"#;
const END: &str = r#"{"type":"stream_event","event":{"type":"message_delta","usage":{"output_tokens":200.0}},"parent_tool_use_id":null}"#;
const RESULT: &str = r#"{"type":"result","subtype":"success","is_error":false,"result":"All done.\n<promise>COMPLETE</promise>","num_turns":1,"total_cost_usd":0.5,"stop_reason":"end_turn","modelUsage":{"m":{"inputTokens":10,"outputTokens":20}},"model_usage_since_last_result":{"m":{"inputTokens":10,"outputTokens":20,"costUSD":0.25}}}"#;

fn text(owner: &str, text: &str) -> String {
    format!(
        r#"{{"type":"assistant","parent_tool_use_id":{owner},"message":{{"model":"m","content":[{{"type":"text","text":"{text}"}}]}}}}"#
    )
}

#[test]
fn a_tool_runs_from_its_call_to_its_result() {
    let mut transcript = transcript(false);
    feed(&mut transcript, &[INIT, BASH, BEAT]);
    let tool = transcript.pulse(Duration::from_secs(10)).tool.unwrap();
    assert_eq!((&*tool.name, tool.running.as_secs()), ("Bash", 8));
    assert_eq!(tool.heartbeat, Some(Duration::from_secs(7)));
    feed(&mut transcript, &[BASH_BACK]);
    assert_eq!(transcript.pulse(Duration::from_secs(10)).tool, None);
}

#[test]
fn a_new_model_request_ends_a_tool_whose_result_was_missed() {
    let mut transcript = transcript(false);
    feed(&mut transcript, &[INIT, BASH]);
    transcript.unreadable(Duration::from_secs(5));
    assert!(transcript.pulse(Duration::from_secs(6)).tool.is_some());
    feed(&mut transcript, &[START]);
    assert_eq!(transcript.pulse(Duration::from_secs(6)).tool, None);
}

#[test]
fn an_attempt_is_leaving_once_it_has_a_result_and_its_input_is_closed() {
    let leaving = |transcript: &Transcript| transcript.pulse(Duration::ZERO).exiting;
    let mut plain = transcript(false);
    feed(&mut plain, &[INIT]);
    assert!(!leaving(&plain));
    feed(&mut plain, &[RESULT]);
    assert!(leaving(&plain));
    feed(&mut plain, &[INIT]);
    assert!(!leaving(&plain), "it has begun another turn");

    let mut live = transcript(true);
    assert_eq!(feed(&mut live, &[INIT, RESULT]).len(), 2);
    assert!(!leaving(&live));
    live.nudge_noted();
    live.close_input_noted();
    assert!(!leaving(&live), "it has a message to answer");
    assert!(feed(&mut live, &[INIT, RESULT]).is_empty());
    assert!(leaving(&live));
}

/// The line that the program prints when it takes up a message.
const ECHO: &str = r#"{"type":"user","isReplay":true,"message":{"role":"user","content":[{"type":"text","text":"x"}]}}"#;
const ECHO_OF_TWO: &str = r#"{"type":"user","isReplay":true,"message":{"role":"user","content":[{"type":"text","text":"x\n"},{"type":"text","text":"y"}]}}"#;
const OVERLOADED: &str = r#"{"type":"result","subtype":"success","is_error":true,"api_error_status":529,"result":"API Error: 529"}"#;
const TURN_LIMIT: &str =
    r#"{"type":"result","subtype":"error_max_turns","is_error":true,"num_turns":3}"#;

/// How each turn ended.
fn turns(news: &[AgentNews]) -> Vec<TurnEnd> {
    let how = news.iter().filter_map(|news| match news {
        AgentNews::TurnEnded { how, .. } => Some(*how),
        _ => None,
    });
    how.collect()
}

#[test]
fn a_message_after_the_end_of_a_turn_begins_a_new_turn() {
    let mut live = transcript(true);
    feed(&mut live, &[INIT, ECHO, START]);
    live.nudge_noted();
    live.nudge_noted();
    assert_eq!(turns(&feed(&mut live, &[END, RESULT])), [TurnEnd::Queued]);
    live.close_input_noted();
    assert!(!live.pulse(Duration::ZERO).exiting, "two messages wait");
    feed(&mut live, &[INIT, ECHO_OF_TWO, RESULT]);
    assert!(live.pulse(Duration::ZERO).exiting);
    assert_eq!(report(live).acknowledged, Some(2));
}

#[test]
fn a_message_during_a_turn_has_no_separate_result() {
    let mut live = transcript(true);
    feed(&mut live, &[INIT, ECHO, BASH]);
    live.nudge_noted();
    let news = feed(&mut live, &[BASH_BACK, ECHO, START, END, RESULT]);
    assert_eq!(turns(&news), [TurnEnd::Well]);
    live.close_input_noted();
    assert!(live.pulse(Duration::ZERO).exiting);
}

#[test]
fn a_turn_that_ends_in_an_error_or_a_limit_has_failed() {
    for result in [OVERLOADED, TURN_LIMIT] {
        let mut live = transcript(true);
        feed(&mut live, &[INIT, ECHO]);
        live.nudge_noted();
        assert_eq!(turns(&feed(&mut live, &[result])), [TurnEnd::Failed], "{result}");
    }
}

#[test]
fn a_message_that_was_not_acknowledged_is_reported() {
    let mut live = transcript(true);
    feed(&mut live, &[INIT, ECHO, RESULT]);
    live.nudge_noted();
    let report = report(live);
    assert_eq!((report.outcome.name(), report.acknowledged), ("finished", Some(0)));
    // The prompt is no such message, however the attempt ended.
    assert_eq!(self::report(transcript(true)).acknowledged, Some(0));
    assert_eq!(self::report(transcript(false)).acknowledged, None);
}

#[test]
fn an_agent_that_dies_over_an_answer_has_not_finished() {
    let outcome = |lines: &[&str]| {
        let mut live = transcript(true);
        feed(&mut live, &[INIT, ECHO, RESULT]);
        live.nudge_noted();
        feed(&mut live, lines);
        let report = report(live);
        (report.outcome.name(), report.text_evidence.promise)
    };
    assert_eq!(outcome(&[]), ("finished", true));
    assert_eq!(outcome(&[INIT]), ("crashed", false));
    assert_eq!(outcome(&[INIT, ECHO, START]), ("crashed", false));
    assert_eq!(outcome(&[ECHO]), ("crashed", false), "whichever comes first");
    assert_eq!(outcome(&[ECHO, INIT]), ("crashed", false));
    assert_eq!(outcome(&[INIT, ECHO, START, RESULT]), ("finished", true));
    // A turn that the agent began by itself takes nothing back.
    let mut plain = transcript(false);
    feed(&mut plain, &[INIT, RESULT, INIT, START]);
    assert_eq!(report(plain).outcome.name(), "finished");
}

#[test]
fn messages_to_a_session_are_recognized_in_its_stored_output() {
    let outcome = |lines: &[&str]| {
        let mut late = transcript(false);
        late.nudge_noted();
        feed(&mut late, lines);
        let report = report(late);
        (report.outcome.name(), report.acknowledged)
    };
    assert_eq!(outcome(&[INIT, ECHO, RESULT]), ("finished", Some(0)));
    assert_eq!(outcome(&[INIT, ECHO, RESULT, INIT, ECHO]), ("crashed", Some(1)));
    assert_eq!(outcome(&[INIT, ECHO, RESULT, INIT, ECHO, RESULT]), ("finished", Some(1)));
    assert_eq!(outcome(&[INIT, ECHO, BASH, BASH_BACK, ECHO, RESULT]), ("finished", Some(1)));
}

#[test]
fn the_heartbeat_that_is_furthest_back_counts_whichever_call_it_is_of() {
    let second = BASH.replace("\"t1\"", "\"t2\"");
    let mut transcript = transcript(false);
    feed(&mut transcript, &[INIT, &second, BASH, BEAT]);
    let tool = transcript.pulse(Duration::from_secs(400)).tool.unwrap();
    assert_eq!((tool.running.as_secs(), tool.heartbeat.unwrap().as_secs()), (398, 396));
    feed(&mut transcript, &[BASH_BACK]);
    assert_eq!(transcript.pulse(Duration::from_secs(400)).tool.unwrap().heartbeat, None);
}

#[test]
fn calls_errors_and_results_are_counted() {
    let wrong = BASH_BACK.replace("\"content\":\"x\"", "\"content\":\"x\",\"is_error\":true");
    let mut transcript = transcript(false);
    feed(&mut transcript, &[INIT, BASH, &wrong, BASH, BASH_BACK, RESULT, INIT, RESULT]);
    let stream = report(transcript).stream;
    assert_eq!((stream.tool_calls, stream.tool_errors, stream.results), (2, 1, 2));
}

#[test]
fn unknown_items_are_counted_and_named_once() {
    let new = [r#"{"type":"mood","value":1}"#, r#"{"type":"system","subtype":"mood"}"#];
    let result = RESULT.replace("\"num_turns\"", "\"vibes\":1,\"num_turns\"");
    let mut transcript = transcript(false);
    feed(&mut transcript, &[INIT, new[0], new[1], new[0], &result, RESULT]);
    let report = report(transcript);
    assert_eq!(report.stream.unknown_events, 4);
    assert_eq!(report.unknown, ["mood", "system/mood", "result.vibes"]);
    assert_eq!((report.outcome.name(), report.stream.bad_lines), ("finished", 0));
}

#[test]
fn the_names_of_the_unknown_are_few_and_short() {
    let mut transcript = transcript(false);
    for number in 0..1000 {
        let long = format!(r#"{{"type":"ä{}{number}"}}"#, "x".repeat(1000 + number));
        feed(&mut transcript, &[&long, &format!(r#"{{"type":"n{number}"}}"#)]);
    }
    let report = report(transcript);
    assert_eq!((report.stream.unknown_events, report.unknown.len()), (2000, 16));
    assert!(report.unknown.iter().all(|kind| kind.len() <= 64));
}

#[test]
fn everything_that_a_plain_program_prints_is_its_final_message() {
    let mut plain = of(Dialect::Command, false);
    assert!(feed(&mut plain, &["I looked.", "<promise>COMPLETE</promise>", "Bye."]).is_empty());
    let mono = plain.last_line + Duration::from_mins(1);
    let closing =
        AttemptExit { exit: Some(ProcessExit::Code(0)), stdout_bytes: 9, ..AttemptExit::default() };
    let concluded = plain.conclude(mono, Timestamp::UNIX_EPOCH, closing);
    assert_eq!(concluded.final_text, "I looked.\n<promise>COMPLETE</promise>\nBye.");
    assert!(concluded.report.text_evidence.promise);
    assert_eq!(concluded.report.cost, None);
    assert_eq!(concluded.report.priced, Some(Usd::from_micros(63 * 5_000)));
}

#[test]
fn a_plain_program_that_repeats_its_prompt_claims_nothing() {
    let promised = |lines: &[&str]| {
        let mut plain = of(Dialect::Command, false);
        feed(&mut plain, lines);
        report(plain).text_evidence.promise
    };
    let claim = "<promise>COMPLETE</promise>";
    assert!(promised(&["Done.", claim, "tokens used: 12"]));
    assert!(!promised(&[claim, "2", "3", "4", "5", "6"]));
}

#[test]
fn only_the_end_of_what_a_plain_program_prints_is_kept() {
    let mut plain = of(Dialect::Command, false);
    for number in 0..300 {
        feed(&mut plain, &[&format!("{}{number}", "ä".repeat(10_000))]);
    }
    let kept = plain.last_text.as_str();
    assert!(kept.len() <= MAX_TEXT && kept.len() > MAX_TEXT - 4 && kept.ends_with("ä299"));
}

#[test]
fn cost_is_the_sum_over_the_turns() {
    let mut transcript = transcript(false);
    feed(&mut transcript, &[INIT, START, END, RESULT, START, END, RESULT]);
    assert_eq!(transcript.pulse(Duration::ZERO).tokens.counted(), 60);
    let report = report(transcript);
    assert_eq!((report.cost, report.priced), (Some(Usd::from_cents(50)), None));
    assert_eq!(report.tokens, Tokens { input: 20, output: 40, ..Tokens::default() });
}

#[test]
fn usage_after_the_last_result_is_priced_and_added() {
    let mut transcript = transcript(false);
    feed(&mut transcript, &[INIT, START, END, RESULT, INIT, START, END, START]);
    let report = report(transcript);
    // 1000 and 200 tokens of a message that ended, 1000 and 1 of one that did not.
    let tail = 1000 + 1000 + 1000 + 5;
    assert_eq!(report.cost, None);
    assert_eq!(report.priced, Some(Usd::from_cents(25) + Usd::from_micros(tail)));
    assert_eq!(report.tokens, Tokens { input: 2010, output: 221, ..Tokens::default() });
}

/// A result with these figures, in cents: for its turn and for all turns.
fn figured(index: u32, turn: Option<u32>, total: Option<u32>) -> String {
    let mut result =
        serde_json::json!({"type": "result", "subtype": "success", "result_index": index});
    let usage = |cents: u32| serde_json::json!({"m": {"inputTokens": cents, "costUSD": f64::from(cents) / 100.0}});
    if let Some(cents) = turn {
        result["model_usage_since_last_result"] = usage(cents);
    }
    if let Some(cents) = total {
        result["modelUsage"] = usage(cents);
        result["total_cost_usd"] = (f64::from(cents) / 100.0).into();
    }
    result.to_string()
}

/// The charge in cents, and the tokens, for these lines.
fn charged(lines: &[&str]) -> (Option<u64>, u64) {
    let mut transcript = transcript(false);
    feed(&mut transcript, lines);
    let report = report(transcript);
    (report.cost.map(|cost| cost.micros() / 10_000), report.tokens.input)
}

#[test]
fn the_totals_tell_of_a_result_that_was_lost() {
    let (first, third) = (figured(0, Some(10), Some(10)), figured(2, Some(5), Some(35)));
    assert_eq!(charged(&[INIT, &first, &third]), (Some(35), 35));
    assert_eq!(charged(&[INIT, &third]), (Some(35), 35), "the first was lost as well");
}

#[test]
fn a_model_without_a_price_makes_the_totals_count() {
    let result = figured(0, Some(10), Some(30)).replacen("\"costUSD\"", "\"cost\"", 2);
    assert_eq!(charged(&[INIT, &result]), (Some(30), 30));
}

#[test]
fn a_result_that_knows_of_nothing_does_not_make_free_what_was_seen() {
    let aborted = r#"{"type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_streaming","total_cost_usd":0,"modelUsage":{}}"#;
    let mut transcript = transcript(false);
    feed(&mut transcript, &[INIT, START, aborted]);
    let report = report(transcript);
    assert_eq!((report.cost, report.priced), (None, Some(Usd::from_micros(1005))));
    assert_eq!(charged(&[INIT, aborted]), (Some(0), 0), "nothing was seen either");
}

#[test]
fn a_later_turn_that_was_broken_off_is_not_free_either() {
    let (first, same) = (figured(0, Some(10), Some(10)), figured(1, None, Some(10)));
    let aborted = figured(1, Some(0), Some(10));
    let third = figured(2, Some(5), Some(15));
    let priced = |lines: &[&str]| {
        let mut transcript = transcript(false);
        feed(&mut transcript, lines);
        let report = report(transcript);
        (report.cost, report.priced.map(Usd::micros))
    };
    for broken_off in [&same, &aborted] {
        let lines = [INIT, START, END, &first, START, broken_off];
        assert_eq!(priced(&lines), (None, Some(100_000 + 1005)), "{broken_off}");
        let lines = [INIT, START, END, &first, START, broken_off, START, END, &third];
        assert_eq!(priced(&lines), (None, Some(150_000 + 1005)), "{broken_off}");
        let all = figured(2, Some(5), Some(2000));
        let lines = [INIT, START, END, &first, START, broken_off, START, END, &all];
        assert_eq!(priced(&lines), (Some(Usd::from_cents(2000)), None), "the totals know of it");
    }
}

#[test]
fn a_total_cost_is_complete_without_tokens() {
    let result = r#"{"type":"result","subtype":"success","total_cost_usd":0.3}"#;
    assert_eq!(charged(&[INIT, START, END, result]), (Some(30), 1000));
}

#[test]
fn acknowledgements_beyond_the_sent_messages_are_not_counted() {
    let many = ECHO.replace(r#"{"type":"text","text":"x"}"#, r#"{"type":"text","text":"x"},7,8,9"#);
    let mut live = transcript(true);
    feed(&mut live, &[INIT, &many, START]);
    live.nudge_noted();
    assert_eq!(turns(&feed(&mut live, &[END, RESULT])), [TurnEnd::Queued]);
    assert_eq!(report(live).acknowledged, Some(0));
}

#[test]
fn a_refused_login_says_what_was_refused() {
    let retry = r#"{"type":"system","subtype":"api_retry","error_status":401}"#;
    let why = |init: &str| {
        let mut refused = transcript(false);
        assert!(feed(&mut refused, &[init, retry]).contains(&AgentNews::LoginRefused));
        let closing = AttemptExit { cut: Some(CancelReason::Auth), ..AttemptExit::default() };
        let report = refused.finish(Duration::from_secs(9), Timestamp::UNIX_EPOCH, closing);
        report.outcome.sentence()
    };
    let with_key = INIT.replace("\"model\"", r#""apiKeySource":"ANTHROPIC_API_KEY","model""#);
    assert_eq!(
        why(&with_key),
        "login refused: the provider refused the API key from ANTHROPIC_API_KEY (status 401)"
    );
    let with_login = INIT.replace("\"model\"", r#""apiKeySource":"none","model""#);
    assert_eq!(why(&with_login), "login refused: the provider answered with status 401");
}

#[test]
fn an_error_explains_the_turn_it_came_in_and_no_other() {
    let error = r#"{"type":"assistant","isApiErrorMessage":true,"error":"rate_limit","message":{"content":[{"type":"text","text":"slow down"}]}}"#;
    let failed =
        r#"{"type":"result","subtype":"error_during_execution","is_error":true,"num_turns":2}"#;
    let outcome = |lines: &[&str]| {
        let mut plain = transcript(false);
        feed(&mut plain, lines);
        report(plain).outcome.name()
    };
    assert_eq!(outcome(&[INIT, error, failed]), "rate_limited");
    assert_eq!(outcome(&[INIT, error, failed, INIT]), "rate_limited");
    assert_eq!(outcome(&[INIT, error, failed, INIT, failed]), "crashed");
}

#[test]
fn work_without_a_ready_message_is_not_free() {
    let priced = |lines: &[&str]| {
        let mut plain = transcript(false);
        feed(&mut plain, lines);
        report(plain).priced
    };
    let silent = AttemptExit { exit: Some(ProcessExit::Code(1)), ..AttemptExit::default() };
    let silent = transcript(false).finish(Duration::ZERO, Timestamp::UNIX_EPOCH, silent);
    assert_eq!(silent.priced, Some(Usd::ZERO));
    assert_eq!(priced(&[]), None, "some bytes arrived");
    assert_eq!(priced(&["not a message"]), None, "it may have called a model");
    assert_eq!(priced(&[BASH]), None);
    assert_eq!(priced(&[&text("null", "I begin.")]), None);
}

#[test]
fn the_calls_of_a_sub_agent_end_with_it() {
    let inner = BASH.replace("\"t1\"", "\"t2\"").replacen('{', r#"{"parent_tool_use_id":"t1","#, 1);
    let mut transcript = transcript(false);
    feed(&mut transcript, &[INIT, BASH, &inner]);
    assert!(transcript.pulse(Duration::from_secs(9)).tool.is_some());
    feed(&mut transcript, &[BASH_BACK]);
    assert_eq!(transcript.pulse(Duration::from_secs(9)).tool, None);
}

#[test]
fn the_cost_of_an_earlier_session_is_not_charged_again() {
    let (first, second) = (figured(0, Some(10), Some(90)), figured(1, Some(20), Some(110)));
    assert_eq!(charged(&[INIT, &first]), (Some(10), 10));
    assert_eq!(charged(&[INIT, &first, &second]), (Some(30), 30));
}

#[test]
fn a_result_without_figures_of_its_turn_is_covered_by_the_next_totals_or_estimated() {
    let (bare, total) = (figured(0, None, None), figured(1, None, Some(1500)));
    assert_eq!(charged(&[INIT, START, END, &bare, &total]), (Some(1500), 1500));
    let mut transcript = transcript(false);
    feed(&mut transcript, &[INIT, START, END, &bare]);
    let report = report(transcript);
    assert_eq!((report.cost, report.priced), (None, Some(Usd::from_micros(2000))));
}

#[test]
fn messages_that_were_not_streamed_are_priced_once_each() {
    let part = |id: &str, owner: &str| {
        format!(
            r#"{{"type":"assistant","parent_tool_use_id":{owner},"message":{{"id":"{id}","model":"claude-haiku-5-5","content":[],"usage":{{"input_tokens":1000,"output_tokens":1}}}}}}"#
        )
    };
    let priced = |lines: &[&str]| {
        let mut transcript = transcript(false);
        feed(&mut transcript, lines);
        report(transcript).priced.map(Usd::micros)
    };
    let (one, two) = (part("a", "null"), part("b", "null"));
    assert_eq!(priced(&[INIT, &one, &one]), Some(1005));
    assert_eq!(priced(&[INIT, &one, &two, &two]), Some(2010));
    assert_eq!(priced(&[INIT, &one, &part("c", "\"t1\""), &two]), Some(3015));
    // A message that was streamed is known from its beginning and its end.
    let start = START.replace("\"model\"", "\"id\":\"a\",\"model\"");
    assert_eq!(priced(&[INIT, &start, &one, END, &one]), Some(2000));
    assert_eq!(priced(&[INIT, &start, &one]), Some(1005));
}

#[test]
fn only_the_final_message_of_the_main_agent_claims_anything() {
    let claim = "<promise>COMPLETE</promise>";
    let limit = r#"{"type":"result","subtype":"error_max_turns","is_error":true,"num_turns":3}"#;
    let promised = |lines: &[&str]| {
        let mut transcript = transcript(false);
        feed(&mut transcript, lines);
        report(transcript).text_evidence.promise
    };
    assert!(promised(&[INIT, BASH, RESULT]));
    assert!(promised(&[INIT, &text("null", claim), limit]));
    assert!(!promised(&[INIT, &text("null", claim), &text("null", "No."), limit]));
    assert!(!promised(&[INIT, &text("\"t1\"", claim), limit]));
    assert!(!promised(&[INIT, &text("null", claim)]), "it crashed");
    let failed = r#"{"type":"result","subtype":"success","is_error":true,"api_error_status":500,"result":"<promise>COMPLETE</promise>"}"#;
    assert!(!promised(&[INIT, &text("null", claim), failed]));
}

#[test]
fn a_line_that_is_no_message_costs_one_line() {
    let mut transcript = transcript(false);
    let bad = ["no JSON", "[]", "{}", r#"{"type":3}"#, r#"{"type":"result","result":"\ud800"}"#];
    feed(&mut transcript, &[&[INIT, BASH][..], &bad, &[RESULT]].concat());
    let report = report(transcript);
    assert_eq!((report.outcome.name(), report.stream.bad_lines), ("finished", 5));
    assert_eq!(report.stream.quiet, Duration::from_secs(2));
}

#[test]
fn a_quota_is_news_only_when_it_changes() {
    let line = |used| {
        format!(
            r#"{{"type":"rate_limit_event","rate_limit_info":{{"status":"allowed_warning","rateLimitType":"seven_day","utilization":{used},"resetsAt":1999999999}}}}"#
        )
    };
    let mut transcript = transcript(false);
    let news = feed(&mut transcript, &[&line(0.9), &line(0.9), &line(0.91)]);
    let used: Vec<_> = news
        .iter()
        .map(|news| match news {
            AgentNews::Quota(quota) if quota.window == QuotaWindow::SevenDay => quota.used,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(used, [90, 91]);
}

#[test]
fn only_the_end_of_a_very_long_text_is_kept() {
    let long = text("null", &format!("{}{}", "ä".repeat(MAX_TEXT), "END"));
    let mut transcript = transcript(false);
    feed(&mut transcript, &[INIT, &long]);
    let kept = transcript.last_text.as_str();
    assert!(kept.len() <= MAX_TEXT && kept.ends_with("äEND"));
}
