//! Blockers of an attempt, however it ends.

use super::*;
use crate::stream::outcome::Deadline;

/// The blockers of an attempt, and its evidence, from the finished transcript.
fn needs(transcript: Transcript, closing: AttemptExit<'_>) -> (Vec<String>, TextEvidence) {
    let mono = transcript.last_line + Duration::from_secs(2);
    let words = transcript.finish(mono, Timestamp::UNIX_EPOCH, closing).text_evidence;
    (words.blockers.iter().map(Blocker::sentence).collect(), words)
}

#[test]
fn an_attempt_that_is_cut_off_reports_what_it_needs_and_never_completion() {
    let lines = [
        text("null", r"<blocker>no key</blocker>\n<promise>COMPLETE</promise>"),
        text("null", r"All done.\n<blocker>no key</blocker>\n<blocker>no disk</blocker>"),
        text("null", r"<promise>COMPLETE</promise>"),
    ];
    let lines: Vec<&str> = std::iter::once(INIT).chain(lines.iter().map(String::as_str)).collect();
    let closings = [
        AttemptExit { exit: Some(ProcessExit::Signal(9)), ..AttemptExit::default() },
        AttemptExit { cut: Some(CancelReason::Deadline(Deadline::Idle)), ..AttemptExit::default() },
        AttemptExit { exit: None, ..AttemptExit::default() },
    ];
    for closing in closings {
        let mut cut = transcript(false);
        feed(&mut cut, &lines);
        let (needs, words) = needs(cut, closing);
        assert_eq!(needs, ["no key", "no disk"], "{closing:?}");
        assert!(!words.promise && !words.signal && !words.states_done, "{closing:?}");
    }
    let mut stopped = transcript(false);
    feed(&mut stopped, &lines);
    let closing = AttemptExit { cut: Some(CancelReason::StopNow), ..AttemptExit::default() };
    assert_eq!(needs(stopped, closing).0, [""; 0], "nothing is concluded from it");
}

#[test]
fn a_blocker_of_an_earlier_message_counts_and_a_promise_of_one_does_not() {
    let mut done = transcript(false);
    let early = text("null", r"<blocker>no key</blocker>\n<promise>COMPLETE</promise>");
    let result = r#"{"type":"result","subtype":"success","is_error":false,"result":"Bye.\n<blocker>no disk</blocker>","num_turns":1,"stop_reason":"end_turn"}"#;
    feed(&mut done, &[INIT, &early, BASH, BASH_BACK, result]);
    let closing = AttemptExit { exit: Some(ProcessExit::Code(0)), ..AttemptExit::default() };
    let (needs, words) = needs(done, closing);
    assert_eq!(needs, ["no key", "no disk"]);
    assert!(!words.promise);
}

#[test]
fn blockers_of_sub_agents_tools_thinking_and_pieces_are_none() {
    let lines = [
        text(r#""toolu_1""#, "<blocker>a</blocker>"),
        BASH_BACK.replace(r#""x""#, r#""<blocker>a</blocker>""#),
        r#"{"type":"assistant","parent_tool_use_id":null,"message":{"model":"m","content":[{"type":"thinking","thinking":"<blocker>a</blocker>"}]}}"#.to_owned(),
        r#"{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"<blocker>a</blocker>"}},"parent_tool_use_id":null}"#.to_owned(),
        text("null", "an example: `<blocker>a</blocker>`"),
    ];
    let lines: Vec<&str> = std::iter::once(INIT).chain(lines.iter().map(String::as_str)).collect();
    let mut crashed = transcript(false);
    feed(&mut crashed, &lines);
    let closing = AttemptExit { exit: Some(ProcessExit::Signal(9)), ..AttemptExit::default() };
    assert_eq!(needs(crashed, closing).0, [""; 0]);
}

#[test]
fn a_program_that_only_prints_text_reports_what_it_needs_when_it_dies() {
    let mut crashed = of(Dialect::Command, false);
    feed(&mut crashed, &["<blocker>", "no key", "</blocker>", "<promise>COMPLETE</promise>"]);
    let closing = AttemptExit { exit: Some(ProcessExit::Signal(9)), ..AttemptExit::default() };
    let (needs, words) = needs(crashed, closing);
    assert_eq!(needs, ["no key"]);
    assert!(!words.promise);
}
