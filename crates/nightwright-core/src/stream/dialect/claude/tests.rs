//! Lines that occur in no recording.

use std::borrow::Cow;
use std::time::Duration;

use jiff::Timestamp;

use super::{classify, decode};
use crate::stream::dialect::{Dialect, FinishedAttempt};
use crate::stream::message::{ErrorFacts, MessageKind, Owner, RateLimit, ResultFacts, TextPart};
use crate::stream::outcome::{AttemptOutcome, ProcessExit, Suspicion};
use crate::units::Tokens;

/// A short form of the messages in a line.
fn decoded(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    decode(line.as_bytes(), &mut |message| {
        let owner = match &message.owner {
            Owner::Main => String::new(),
            Owner::Sub { call } => format!("{call}: "),
        };
        found.push(match message.kind {
            MessageKind::Text { text, part: TextPart::Whole } => format!("{owner}{text}"),
            MessageKind::Text { text, part: TextPart::Delta } => format!("{owner}{text}..."),
            MessageKind::Text { text, part: TextPart::End } => format!("{owner}{text}(end)"),
            MessageKind::ToolCall { id, name, input } => format!("{owner}{name} {id} {input}"),
            MessageKind::ToolResult { id, status, content } => {
                format!("{owner}{id} {status:?} {content}")
            }
            MessageKind::Other { kind } => format!("{owner}({kind})"),
            MessageKind::Unknown { kind } => format!("{owner}({kind}?)"),
            other => format!("{owner}{other:?}"),
        });
    })
    .unwrap_or_else(|error| found.push(error.to_string()));
    found
}

#[test]
fn a_line_with_several_blocks_says_several_things() {
    let line = r#"{"type":"assistant","parent_tool_use_id":"t0","message":{"content":[
        {"type":"text","text":"a"},{"type":"thinking"},7,
        {"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls \u0041"}},{"type":"new"}]}}"#;
    let expected = ["t0: a", "t0: Thinking", r#"t0: Bash t1 {"command":"ls \u0041"}"#, "t0: (new)"];
    assert_eq!(decoded(line), expected);
    let line = r#"{"type":"user","message":{"content":[
        {"type":"tool_result","tool_use_id":"t1","content":"x","is_error":true},
        {"type":"tool_result","tool_use_id":"t2","content":[1]}]}}"#;
    assert_eq!(decoded(line), [r#"t1 Failed "x""#, "t2 Ok [1]"]);
}

#[test]
fn fields_of_another_kind_than_expected_cost_only_themselves() {
    let line = r#"{"type":"assistant","message":"no object","parent_tool_use_id":7}"#;
    assert!(decoded(line).is_empty());
    let line =
        r#"{"type":"system","subtype":"permission_denied","tool_name":"Bash","message":"m"}"#;
    assert_eq!(decoded(line), [r#"Denied { tool: "Bash", id: "", why: "m" }"#]);
    let line = r#"{"type":"result","subtype":"success","is_error":"?","num_turns":"many","errors":{},
        "modelUsage":[],"total_cost_usd":-1,"permission_denials":[3],"result":null}"#;
    let mut seen = None;
    decode(line.as_bytes(), &mut |message| match message.kind {
        MessageKind::Result(result) => seen = Some(*result),
        other => panic!("{other:?}"),
    })
    .unwrap();
    let expected = ResultFacts { subtype: "success".to_owned(), ..ResultFacts::default() };
    assert_eq!(seen, Some(expected));
}

#[test]
fn unknown_messages_are_decoded_as_such() {
    assert_eq!(decoded(r#"{"type":"brand_new","message":[[[]]]}"#), ["(brand_new?)"]);
    assert_eq!(decoded(r#"{"type":"system","subtype":"mood"}"#), ["(system/mood?)"]);
    assert_eq!(decoded(r#"{"type":"keep_alive"}"#), ["(keep_alive)"]);
    assert_eq!(decoded(r#"{"type":"system","subtype":"status"}"#), ["(status)"]);
    let vcs = r#"{"type":"system","subtype":"vcs_state_changed"}"#;
    assert_eq!(decoded(vcs), ["(vcs_state_changed)"]);
    assert_eq!(
        decoded(r#"{"subtype":"x","type":"stream_event","event":{"type":"ping"}}"#),
        ["(ping)"]
    );
    assert_eq!(decoded(r#"{"type":"stream_event"}"#), ["()"]);
}

#[test]
fn fields_of_a_result_that_no_version_had_are_named() {
    let line =
        r#"{"type":"result","subtype":"success","mood":{"a":1},"uuid":"u","a\u0062":[],"mood":2}"#;
    decode(line.as_bytes(), &mut |message| match message.kind {
        MessageKind::Result(result) => assert_eq!(result.unknown_fields, ["mood", "ab", "mood"]),
        other => panic!("{other:?}"),
    })
    .unwrap();
    let many = (0..100).map(|number| format!(r#","f{number}":0"#)).collect::<Vec<_>>().concat();
    let line = format!(r#"{{"type":"result"{many}}}"#);
    decode(line.as_bytes(), &mut |message| match message.kind {
        MessageKind::Result(result) => assert_eq!(result.unknown_fields.len(), 8),
        other => panic!("{other:?}"),
    })
    .unwrap();
}

#[test]
fn an_echo_of_the_input_is_not_a_message_of_the_agent() {
    let line = r#"{"type":"user","isReplay":true,"message":{"role":"user","content":[
        {"type":"text","text":"second\n"},{"type":"text","text":"third"}]}}"#;
    assert_eq!(decoded(line), ["Acknowledged { messages: 2 }"]);
    let line = r#"{"type":"user","isReplay":true,"message":{"role":"user","content":"first"}}"#;
    assert_eq!(decoded(line), ["Acknowledged { messages: 1 }"]);
}

#[test]
fn junk_in_unused_fields_is_ignored() {
    let mut line = br#"{"type":"system","subtype":"x","junk":""#.to_vec();
    line.extend([0xff, 0xfe]);
    line.extend(br#"\ud800","far":1e999,"deep":"#);
    line.extend([b'['; 5000]);
    line.extend([b']'; 5000]);
    line.push(b'}');
    let mut count = 0;
    decode(&line, &mut |_| count += 1).unwrap();
    assert_eq!(count, 1);
}

#[test]
fn words_without_escapes_are_not_copied() {
    let line = br#"{"type":"assistant","message":{"content":[{"type":"text","text":"plain"}]}}"#;
    decode(line, &mut |message| {
        assert!(matches!(message.kind, MessageKind::Text { text: Cow::Borrowed("plain"), .. }));
    })
    .unwrap();
}

/// The outcome of an error result with these fields.
fn failed(kind: &str, detail: &str, status: Option<u16>, text: &str) -> AttemptOutcome {
    let error = ErrorFacts {
        kind: kind.to_owned(),
        detail: detail.to_owned(),
        status,
        text: text.to_owned(),
    };
    let result = ResultFacts { is_error: true, turns: Some(1), ..ResultFacts::default() };
    let attempt = FinishedAttempt { result: Some(&result), error: Some(&error), ..nothing() };
    classify(&attempt).unwrap()
}

fn nothing() -> FinishedAttempt<'static> {
    FinishedAttempt {
        cut: None,
        exit: Some(ProcessExit::Code(1)),
        result: None,
        error: None,
        rate_limit: None,
        api_key: "",
        tool_calls: 0,
        tokens: Tokens::default(),
        saw_stdout: true,
        stderr: "",
        now: Timestamp::UNIX_EPOCH,
        zone: None,
    }
}

#[test]
fn errors_that_are_known_only_by_their_text_are_retried_or_waited_out() {
    let cases = [
        ("API Error: Connection error.", "network"),
        ("API Error: Connection error", "network"),
        ("API Error (Connection error.)", "network"),
        ("Connection error.", "network"),
        ("API Error: read ECONNRESET", "network"),
        ("ECONNRESET", "network"),
        ("API Error: connect ECONNREFUSED 127.0.0.1:443", "network"),
        ("getaddrinfo EAI_AGAIN api.example.com", "network"),
        ("fetch failed", "network"),
        ("socket hang up", "network"),
        ("Request timed out.", "network"),
        (r#"500 {"type":"error","error":{"type":"api_error","message":"Internal"}}"#, "overloaded"),
        (r#"API Error: 500 {"type":"error"}"#, "overloaded"),
        (r#"API Error: 529 {"type":"error","error":{"type":"overloaded_error"}}"#, "overloaded"),
        ("API Error (503 no healthy upstream)", "overloaded"),
        ("Overloaded", "overloaded"),
        ("Internal server error", "overloaded"),
        (r#"API Error: 429 {"type":"error"}"#, "rate_limited"),
        ("5-hour limit reached ∙ resets 3am", "usage_limited"),
        ("Weekly limit reached · resets Nov 18, 8pm (UTC)", "usage_limited"),
        ("Opus weekly limit reached ∙ resets Oct 6, 1pm", "usage_limited"),
        ("Claude usage limit reached. Your limit will reset at 3am", "usage_limited"),
        // An error that the provider reports about the prompt stays an error of the prompt.
        ("API Error: 400 the tool printed ECONNRESET", "bad_request"),
        ("API Error: 400 5-hour test limit reached in your text", "bad_request"),
        ("The report says that the 5-hour limit reached zero", "bad_request"),
        ("something else", "bad_request"),
    ];
    for (text, name) in cases {
        assert_eq!(failed("", "", None, text).name(), name, "{text}");
        assert_eq!(failed("unknown", "", None, text).name(), name, "{text}");
    }
}

#[test]
fn the_text_of_an_error_may_be_all_that_a_failed_start_leaves() {
    let stderr = |stderr| {
        let attempt = FinishedAttempt { saw_stdout: false, stderr, ..nothing() };
        Dialect::Claude.classify(&attempt).name()
    };
    assert_eq!(stderr("API Error: Connection error.\n"), "network");
    assert_eq!(stderr("5-hour limit reached ∙ resets 3am"), "usage_limited");
    assert_eq!(stderr("error: unknown option '--colour'"), "bad_start");
    let listed = ResultFacts {
        subtype: "error_during_execution".to_owned(),
        is_error: true,
        turns: Some(0),
        errors: vec!["API Error: Connection error.".to_owned()],
        ..ResultFacts::default()
    };
    let attempt = FinishedAttempt { result: Some(&listed), ..nothing() };
    assert_eq!(classify(&attempt).unwrap().name(), "network");
}

#[test]
fn a_success_that_no_model_wrote_may_be_an_error_by_its_text() {
    let result = |text: &str, output| ResultFacts {
        subtype: "success".to_owned(),
        text: Some(text.to_owned()),
        turns: Some(1),
        total_tokens: Some(Tokens { output, ..Tokens::default() }),
        ..ResultFacts::default()
    };
    let name = |result: &ResultFacts, tool_calls| {
        classify(&FinishedAttempt { result: Some(result), tool_calls, ..nothing() }).unwrap().name()
    };
    let limit = "5-hour limit reached ∙ resets 3am";
    assert_eq!(name(&result(limit, 0), 0), "usage_limited");
    assert_eq!(name(&result("API Error: Connection error.", 0), 0), "network");
    // An agent may mention such errors freely.
    assert_eq!(name(&result(limit, 20), 0), "finished");
    assert_eq!(name(&result("API Error: Connection error.", 20), 3), "finished");
    assert_eq!(name(&result("fetch failed", 20), 0), "finished");
}

#[test]
fn a_time_without_a_zone_is_that_of_the_machine() {
    let zone = jiff::tz::TimeZoneDatabase::bundled().get("Europe/Berlin").unwrap();
    let error = ErrorFacts {
        text: "5-hour limit reached ∙ resets 3am".to_owned(),
        ..ErrorFacts::default()
    };
    let result = ResultFacts { is_error: true, turns: Some(1), ..ResultFacts::default() };
    let now = "2026-11-15T20:05:00Z".parse().unwrap();
    let until = |zone| {
        let attempt =
            FinishedAttempt { result: Some(&result), error: Some(&error), now, zone, ..nothing() };
        match classify(&attempt) {
            Some(AttemptOutcome::UsageLimited { until }) => until.map(|until| until.to_string()),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(until(Some(&zone)).as_deref(), Some("2026-11-16T02:00:00Z"));
    assert_eq!(until(None), None, "an unknown zone is an unknown time");
}

#[test]
fn errors_that_were_not_recorded_have_their_names_too() {
    let cases = [
        (failed("max_output_tokens", "max_output_tokens", None, "API Error: ..."), "output_limit"),
        (failed("invalid_request", "", Some(413), "Request too large"), "prompt_too_long"),
        (
            failed(
                "invalid_request",
                "org_disabled_credential",
                Some(400),
                "disabled organization",
            ),
            "auth",
        ),
        (failed("authentication_failed", "", None, "Not logged in · Please run /login"), "auth"),
        (failed("server_error", "", Some(502), "bad gateway"), "overloaded"),
        (failed("server_error", "", None, "?"), "overloaded"),
        (failed("", "", Some(408), "?"), "network"),
        (failed("unknown", "", None, "something else"), "bad_request"),
        (failed("invalid_request", "autocompact_thrashing", None, "full again"), "context_full"),
        (failed("invalid_request", "", None, "Autocompact is thrashing"), "bad_request"),
        (failed("rate_limit", "", None, "slow down"), "rate_limited"),
        (failed("rate_limit", "usage_limit_reached", Some(429), "?"), "usage_limited"),
        (failed("", "", None, ""), "crashed"),
    ];
    for (outcome, name) in cases {
        assert_eq!(outcome.name(), name, "{outcome:?}");
    }
}

#[test]
fn words_decide_only_where_no_field_does_and_only_at_the_beginning() {
    let limit = "Claude AI usage limit reached|1999999999";
    let cases = [
        (failed("unknown", "", Some(400), &format!("API Error: 400 {limit}")), "usage_limited"),
        (failed("", "", None, "You've hit your weekly limit · resets 3am (UTC)"), "usage_limited"),
        (failed("rate_limit", "", Some(429), "You've hit your 5-hour limit"), "usage_limited"),
        (failed("invalid_request", "", Some(400), limit), "bad_request"),
        (failed("server_error", "", Some(500), limit), "overloaded"),
        (failed("unknown", "", Some(400), &format!("in your text: {limit}")), "bad_request"),
        (failed("", "", None, "Not logged in · Please run /login"), "auth"),
        (failed("unknown", "", Some(400), "he said: not logged in"), "bad_request"),
        (failed("invalid_request", "", Some(400), "Credit balance is too low"), "bad_request"),
        (failed("unknown", "", Some(400), "API Error: 400 Credit balance is too low"), "billing"),
        (failed("invalid_request", "", Some(400), "Prompt is too long · x"), "prompt_too_long"),
        (failed("invalid_request", "", Some(400), "x: prompt is too long"), "bad_request"),
    ];
    for (outcome, name) in cases {
        assert_eq!(outcome.name(), name, "{outcome:?}");
    }
}

#[test]
fn only_what_is_called_a_success_is_one() {
    let outcome = |line: &str| {
        let mut name = None;
        decode(line.as_bytes(), &mut |message| match message.kind {
            MessageKind::Result(result) => {
                let attempt = FinishedAttempt { result: Some(&result), tool_calls: 1, ..nothing() };
                name = classify(&attempt).map(|outcome| outcome.name());
            }
            other => panic!("{other:?}"),
        })
        .unwrap();
        name.unwrap()
    };
    let with = |subtype: &str| {
        outcome(&format!(
            r#"{{"type":"result","subtype":"{subtype}","is_error":false,"num_turns":2,"stop_reason":"end_turn"}}"#
        ))
    };
    assert_eq!(with("success"), "finished");
    assert_eq!(with("error_during_execution"), "crashed");
    assert_eq!(with("error_of_a_new_kind"), "crashed");
    let result = ResultFacts { subtype: "error_new".to_owned(), ..ResultFacts::default() };
    let attempt = FinishedAttempt { result: Some(&result), ..nothing() };
    assert_eq!(classify(&attempt).unwrap().name(), "crashed", "how many turns it had was not said");
    let result = ResultFacts { turns: Some(0), ..result };
    let attempt = FinishedAttempt { result: Some(&result), ..nothing() };
    assert_eq!(classify(&attempt).unwrap().name(), "bad_start");
    let attempt = FinishedAttempt { tokens: Tokens { input: 1, ..Tokens::default() }, ..attempt };
    assert_eq!(classify(&attempt).unwrap().name(), "crashed", "a model was asked");
}

#[test]
fn an_earlier_refusal_does_not_explain_a_later_error_of_another_kind() {
    let limit = RateLimit {
        rejected: true,
        resets_at: Some(Timestamp::from_second(2_000_000_000).unwrap()),
        windows: Vec::new(),
    };
    let outcome = |status, kind: &str| {
        let error = ErrorFacts { status, kind: kind.to_owned(), ..ErrorFacts::default() };
        let result = ResultFacts { is_error: true, turns: Some(1), ..ResultFacts::default() };
        let attempt = FinishedAttempt {
            result: Some(&result),
            error: Some(&error),
            rate_limit: Some(&limit),
            ..nothing()
        };
        classify(&attempt).unwrap().name()
    };
    assert_eq!(outcome(Some(429), "rate_limit"), "usage_limited");
    assert_eq!(outcome(Some(401), "authentication_failed"), "auth");
    assert_eq!(outcome(Some(529), "server_error"), "overloaded");
}

#[test]
fn a_success_without_any_sign_of_work_is_suspect() {
    let good = ResultFacts {
        subtype: "success".to_owned(),
        text: Some("Hello.".to_owned()),
        stop_reason: "end_turn".to_owned(),
        turns: Some(1),
        ..ResultFacts::default()
    };
    let name = |result: &ResultFacts, tool_calls| {
        classify(&FinishedAttempt { result: Some(result), tool_calls, ..nothing() }).unwrap().name()
    };
    let change = |change: fn(&mut ResultFacts)| {
        let mut result = good.clone();
        change(&mut result);
        result
    };
    assert_eq!(name(&good, 0), "finished");
    let silent = change(|result| result.text = Some(" \n".to_owned()));
    assert_eq!((name(&silent, 0), name(&silent, 1)), ("suspect", "finished"));
    let unasked = change(|result| result.total_tokens = Some(Tokens::default()));
    assert_eq!((name(&unasked, 0), name(&unasked, 1)), ("suspect", "finished"));
    let command = change(|result| {
        result.turns = Some(0);
        result.total_cost = Some(crate::units::Usd::ZERO);
    });
    let attempt = FinishedAttempt { result: Some(&command), ..nothing() };
    let why = Suspicion::LocalCommand;
    assert_eq!(classify(&attempt), Some(AttemptOutcome::Suspect { why }));
    let slow = change(|result| {
        result.total_tokens = Some(Tokens::default());
        result.took = Duration::from_secs(6);
    });
    assert_eq!(name(&slow, 0), "finished");
    let broken_off = change(|result| result.stop_reason = "tool_use".to_owned());
    assert_eq!(name(&broken_off, 3), "suspect");
    let structured = change(|result| {
        result.stop_reason = "tool_use".to_owned();
        result.structured = Some("{}".to_owned());
    });
    assert_eq!(name(&structured, 1), "finished");
}

#[test]
fn a_process_that_left_no_result_is_judged_by_how_it_ended() {
    let cases: [(Option<ProcessExit>, bool, &str, &str); 8] = [
        (None, true, "", "lost"),
        (Some(ProcessExit::Code(0)), true, "", "crashed"),
        (Some(ProcessExit::Code(1)), true, "warning", "crashed"),
        (Some(ProcessExit::Code(1)), false, "error: unknown option", "bad_start"),
        (Some(ProcessExit::Code(1)), false, "", "crashed"),
        (Some(ProcessExit::Code(127)), false, "", "bad_start"),
        (Some(ProcessExit::Code(143)), false, "terminated", "crashed"),
        (Some(ProcessExit::Signal(9)), false, "x", "crashed"),
    ];
    for (exit, saw_stdout, stderr, name) in cases {
        let outcome =
            Dialect::Claude.classify(&FinishedAttempt { exit, saw_stdout, stderr, ..nothing() });
        assert_eq!(outcome.name(), name, "{exit:?} {stderr}");
    }
}

#[test]
fn an_error_is_known_even_if_the_result_was_lost() {
    let error = ErrorFacts { status: Some(401), ..ErrorFacts::default() };
    let attempt = FinishedAttempt { error: Some(&error), ..nothing() };
    assert_eq!(Dialect::Claude.classify(&attempt).name(), "auth");
    let killed = FinishedAttempt { exit: Some(ProcessExit::Signal(9)), ..attempt };
    assert_eq!(Dialect::Claude.classify(&killed).name(), "crashed");
}
