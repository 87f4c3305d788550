use super::*;
use crate::agent::report::QuotaWindow;
use crate::units::{Tokens, Usd};

fn transcript(live: bool) -> Transcript {
    Transcript::new(Reading {
        dialect: Dialect::Claude,
        completion: &Completion::default(),
        purpose: None,
        live,
        started: Duration::ZERO,
    })
}

/// Feeds lines, one a second, and gives back the news.
fn feed(transcript: &mut Transcript, lines: &[&str]) -> Vec<AgentNews> {
    let mut news = Vec::new();
    for line in lines {
        let mono = transcript.last_line + Duration::from_secs(1);
        transcript.line(mono, line.as_bytes(), &mut |item| news.push(item), &mut |_| {});
    }
    news
}

fn report(transcript: Transcript) -> AttemptReport {
    let closing = Closing { exit: Some(Death::Code(0)), stdout_bytes: 1, ..Closing::default() };
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
fn a_tool_whose_result_was_missed_is_over_when_the_model_is_asked_again() {
    let mut transcript = transcript(false);
    feed(&mut transcript, &[INIT, BASH]);
    transcript.unreadable(Duration::from_secs(5));
    assert!(transcript.pulse(Duration::from_secs(6)).tool.is_some());
    feed(&mut transcript, &[START]);
    assert_eq!(transcript.pulse(Duration::from_secs(6)).tool, None);
}

#[test]
fn an_attempt_is_leaving_once_it_has_a_result_and_its_input_is_closed() {
    let leaving = |transcript: &Transcript| transcript.pulse(Duration::ZERO).leaving;
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
fn what_came_after_the_last_result_is_priced_and_added() {
    let mut transcript = transcript(false);
    feed(&mut transcript, &[INIT, START, END, RESULT, INIT, START, END, START]);
    let report = report(transcript);
    // 1000 and 200 tokens of a message that ended, 1000 and 1 of one that did not.
    let tail = 1000 + 1000 + 1000 + 5;
    assert_eq!(report.cost, None);
    assert_eq!(report.priced, Some(Usd::from_cents(25) + Usd::from_micros(tail)));
    assert_eq!(report.tokens, Tokens { input: 2010, output: 221, ..Tokens::default() });
}

#[test]
fn only_the_final_message_of_the_main_agent_claims_anything() {
    let claim = "<promise>COMPLETE</promise>";
    let limit = r#"{"type":"result","subtype":"error_max_turns","is_error":true,"num_turns":3}"#;
    let promised = |lines: &[&str]| {
        let mut transcript = transcript(false);
        feed(&mut transcript, lines);
        report(transcript).words.promise
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
    let long = text("null", &format!("{}{}", "ä".repeat(TEXT_MAX), "END"));
    let mut transcript = transcript(false);
    feed(&mut transcript, &[INIT, &long]);
    assert!(transcript.last_text.len() <= TEXT_MAX && transcript.last_text.ends_with("äEND"));
}
