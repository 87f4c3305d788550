use std::time::Duration;

use jiff::Timestamp;
use proptest::prelude::*;

use super::*;
use crate::redact::Secrets;
use crate::stream::dialect::Dialect;
use crate::stream::outcome::ProcessExit;
use crate::stream::transcript::{AttemptExit, Transcript, TranscriptOptions};

fn read(message: &str) -> TextEvidence {
    text_evidence(message, &Completion::default(), TextShape::Messages)
}

#[test]
fn the_signal_is_the_exact_phrase_outside_code_and_quotations() {
    const SIGNAL: &str = "CONTINUOUS_CLAUDE_PROJECT_COMPLETE";
    for message in [
        "{}",
        "Done. {}.",
        "**{}**",
        "a\r\n{}\r\n",
        "- {}",
        "\u{200b}{}\u{200b}",
        "{}!",
        "There is not one open item left: {}",
        "It won't get better. {}",
        "\"Quoted\" before: {} and \"quoted\" after",
        "The parser's tests don't fail; {}",
    ] {
        assert!(read(&message.replace("{}", SIGNAL)).signal, "{message}");
    }
    for message in [
        "`{}`",
        "> {}",
        "```\n{}\n```",
        "    {}",
        "I won't say \"{}\" yet",
        "I won't say “{}” yet",
        "NOT_{}",
        "{}_YET",
        "X{}",
        "Ä{}",
        "I won't say „{}“ yet",
        "as in « {} »",
        "as in «\u{a0}{}\u{a0}»",
        "as in »{}«",
        "as in 「{}」",
        "as in ”{}”",
        "as in '{}'",
        "I was told to \"print {} at the end\" of it",
        "I was told to “print {} at the end” of it",
        "I can't say {} yet",
        "I can’t say {} in good faith",
        "This is not {}",
        "I will say {} once the tests pass",
        "{} is not justified",
        "> quoted\n{}",
        "<!--\n{}\n-->",
    ] {
        assert!(!read(&message.replace("{}", SIGNAL)).signal, "{message}");
    }
    assert!(!read(&SIGNAL.to_lowercase()).signal);
}

#[test]
fn an_empty_phrase_is_in_no_message() {
    let completion = Completion {
        signal: " ".to_owned(),
        end_phrase: Some(String::new()),
        ..Completion::default()
    };
    let found = text_evidence("anything at all", &completion, TextShape::Messages);
    assert!(!found.signal && !found.end_phrase);
}

#[test]
fn the_end_phrase_counts_only_near_the_end() {
    let completion = Completion { end_phrase: Some("SHIP IT".to_owned()), ..Completion::default() };
    let found = |message: &str| text_evidence(message, &completion, TextShape::Messages).end_phrase;
    assert!(found("SHIP IT"));
    assert!(found("a\nOK, SHIP IT!\nb\nc\nd\ne\n\n\n"));
    assert!(!found("SHIP IT\nb\nc\nd\ne\nf"));
    assert!(!found("a\n```\nSHIP IT\n```"));
    assert!(!found("SHIP IT\n\n```\n1\n2\n3\n```"));
    assert!(!read("SHIP IT").end_phrase);
}

#[test]
fn a_statement_that_all_is_done_is_detected() {
    for message in [
        "All done.",
        "All tasks are complete. 12 passed, 0 failed.",
        "I added the parser.\n\n**The task is complete.**",
        "There is nothing left to do.",
        "Everything has been implemented; tests pass.",
        "The project is finished!",
        "No remaining work.",
        "- [x] All boxes are ticked",
        "All tasks\nare complete.",
        "Is it? Yes.\n\nAll\u{a0}tasks are complete!",
        "1. Parser written\n2. All done",
        "# Summary\r\nAll requirements have been met.\r\n",
    ] {
        assert!(read(message).states_done, "{message}");
    }
}

#[test]
fn words_that_take_it_back_are_not() {
    for message in [
        "",
        "Done with the parser.",
        "Tests pass.",
        "Not all done.",
        "The task is not done.",
        "It isn't true that the task is complete.",
        "We are almost all done.",
        "Once all tasks are complete I will say so.",
        "The task is complete except for the docs.",
        "Phase 1: all tasks are complete.",
        "All done with step 3.",
        "All done!\n\nNext steps: write the docs.",
        "All done for now. Two tests are still failing.",
        "The work is done, but the docs are missing.",
        "`all done`",
        "> all done",
        "```\nall done\n```",
        "install done, overall doneness",
        "The implementation is complete when the tests pass.",
        "Are you sure that the task is complete?",
        "It is not the case that\nall tasks are complete.",
        "It isn’t so that the task is complete.",
        "The next one will say \"all done\".",
        "The marker means “all done”.",
        "All done. Three tests are failing.",
        "The task is complete. The linter does not pass.",
        "> Note\nAll done.",
    ] {
        assert!(!read(message).states_done, "{message}");
    }
}

#[test]
fn a_summary_is_one_line_of_whole_words() {
    assert_eq!(summary("  One\n\n two\tthree "), "One two three");
    let long = summary(&"wörter ".repeat(100));
    assert!(long.ends_with(" wörter…") && long.chars().count() <= MAX_SUMMARY, "{long}");
    assert_eq!(summary(&"ä".repeat(1000)).chars().count(), MAX_SUMMARY - 1);
    assert_eq!(summary(""), "");
    assert_eq!(summary("All tests pass.\n\n**<promise>COMPLETE</promise>**"), "All tests pass.");
    assert_eq!(summary("<promise>COMPLETE</promise>"), "<promise>COMPLETE</promise>");
}

/// The evidence in the words of a successful attempt that printed these lines.
fn evidence_of(lines: &[&str]) -> TextEvidence {
    let mut transcript = Transcript::new(TranscriptOptions {
        dialect: Dialect::Claude,
        completion: &Completion::default(),
        secrets: &Secrets::default(),
        purpose: None,
        live: false,
        started: Duration::ZERO,
    });
    for line in lines {
        transcript.line(Duration::from_secs(1), line.as_bytes(), &mut |_| {}, &mut |_| {});
    }
    let closing =
        AttemptExit { exit: Some(ProcessExit::Code(0)), stdout_bytes: 1, ..AttemptExit::default() };
    transcript.finish(Duration::from_mins(1), Timestamp::UNIX_EPOCH, closing).text_evidence
}

const INIT: &str = r#"{"type":"system","subtype":"init","model":"claude-opus-5-5"}"#;
const CALL: &str = r#"{"type":"assistant","message":{"model":"m","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"echo '<promise>COMPLETE</promise>'"}}]}}"#;
const TOOL_SAYS: &str = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"<promise>COMPLETE</promise>"}]}}"#;
const SUB_SAYS: &str = r#"{"type":"assistant","parent_tool_use_id":"t1","message":{"model":"m","content":[{"type":"text","text":"<promise>COMPLETE</promise>"}]}}"#;
const THOUGHT: &str = r#"{"type":"assistant","message":{"model":"m","content":[{"type":"thinking","thinking":"<promise>COMPLETE</promise>"}]}}"#;
const EARLIER: &str = r#"{"type":"assistant","parent_tool_use_id":null,"message":{"model":"m","content":[{"type":"text","text":"<promise>COMPLETE</promise>"}]}}"#;
const LATER: &str = r#"{"type":"assistant","parent_tool_use_id":null,"message":{"model":"m","content":[{"type":"text","text":"Two left."}]}}"#;
const TURN_LIMIT: &str =
    r#"{"type":"result","subtype":"error_max_turns","is_error":true,"num_turns":3}"#;

fn result(text: &str) -> String {
    format!(
        r#"{{"type":"result","subtype":"success","is_error":false,"result":"{text}","num_turns":2,"total_cost_usd":0.5,"stop_reason":"end_turn","modelUsage":{{"m":{{"inputTokens":10,"outputTokens":20}}}}}}"#
    )
}

#[test]
fn only_the_final_message_of_the_main_agent_promises() {
    let (open, done) = (result("Two left."), result("<promise>COMPLETE</promise>"));
    let table: &[(&str, &[&str], bool)] = &[
        ("the result", &[INIT, CALL, TOOL_SAYS, &done], true),
        ("a tool call", &[INIT, CALL, &open], false),
        ("a tool result", &[INIT, CALL, TOOL_SAYS, &open], false),
        ("a sub-agent", &[INIT, CALL, SUB_SAYS, TOOL_SAYS, &open], false),
        ("a thought", &[INIT, CALL, THOUGHT, TOOL_SAYS, &open], false),
        ("an earlier message", &[INIT, EARLIER, CALL, TOOL_SAYS, &open], false),
        ("the last message at the turn limit", &[INIT, CALL, EARLIER, TURN_LIMIT], true),
        ("an earlier one at the turn limit", &[INIT, EARLIER, CALL, LATER, TURN_LIMIT], false),
        ("a sub-agent at the turn limit", &[INIT, CALL, SUB_SAYS, TURN_LIMIT], false),
        ("a message without any end", &[INIT, CALL, EARLIER], false),
    ];
    for (what, lines, promise) in table {
        assert_eq!(evidence_of(lines).promise, *promise, "{what}");
    }
}

#[test]
fn a_message_made_to_take_long_does_not() {
    let signal = Completion::default().signal;
    for message in [
        format!("\"{}\"", format!("{signal} ").repeat(20_000)),
        (1..1400).map(|ticks| "`".repeat(ticks) + " ").collect(),
        "- ".repeat(300_000),
        "> ".repeat(300_000),
        "not all done ".repeat(50_000),
    ] {
        let found = read(&message);
        assert!(!found.promise && !found.states_done, "{message:.20}");
    }
}

proptest! {
    #[test]
    fn any_message_is_read(message in any::<String>(), speech in any::<bool>()) {
        let speech = if speech { TextShape::Messages } else { TextShape::OneText };
        let completion =
            Completion { end_phrase: Some("é".to_owned()), signal: "a".to_owned(), ..Completion::default() };
        text_evidence(&message, &completion, speech);
    }

    #[test]
    fn any_markdown_is_read(message in "[-*+#>`~ \t\n\r1.)<!a\"„“”’«»\u{200b}ä]{0,300}") {
        let completion =
            Completion { end_phrase: Some("a".to_owned()), signal: "ä".to_owned(), ..Completion::default() };
        text_evidence(&message, &completion, TextShape::Messages);
    }

    #[test]
    fn nothing_in_a_fence_claims_anything(inside in "[a-z <>/\n]{0,80}") {
        let message = format!("Look:\n```\n{inside}\n{PROMISE}\nall done\n```\n");
        let found = read(&message);
        prop_assert!(!found.promise && !found.states_done);
    }
}
