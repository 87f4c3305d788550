//! The stored output of a stream that contains secrets.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

const SECRET: &str = "correct-horse-9x7Q2z";

fn secrets() -> Secrets {
    Secrets::new([SECRET], [""; 0]).unwrap()
}

fn delta(speaker: Option<&str>, delta: &Value) -> String {
    let event = json!({ "type": "content_block_delta", "index": 0, "delta": delta });
    let line = json!({
        "type": "stream_event", "event": event, "session_id": "s",
        "parent_tool_use_id": speaker, "uuid": "u",
    });
    line.to_string() + "\n"
}

fn text(speaker: Option<&str>, text: &str) -> String {
    delta(speaker, &json!({ "type": "text_delta", "text": text }))
}

fn end() -> String {
    let event = json!({ "type": "content_block_stop", "index": 0 });
    json!({ "type": "stream_event", "event": event }).to_string() + "\n"
}

/// The output of a stream that arrives in chunks of this size.
fn masked(stream: &str, size: usize) -> String {
    let mut masker = OutputMasker::new(Dialect::Claude, secrets());
    let mut kept = Vec::new();
    for chunk in stream.as_bytes().chunks(size.max(1)) {
        masker.push(chunk, |out| kept.extend(out));
    }
    masker.finish(|out| kept.extend(out));
    String::from_utf8(kept).unwrap()
}

/// The concatenated pieces of a string.
fn joined(kept: &str, speaker: Option<&str>) -> String {
    let lines = kept.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let lines = lines.filter(|line| line["parent_tool_use_id"].as_str() == speaker);
    lines.filter_map(|line| Some(line["event"]["delta"]["text"].as_str()?.to_owned())).collect()
}

#[test]
fn a_secret_that_is_cut_into_pieces_is_masked() {
    let pieces = ["The password is correct-", "horse-", "9x7Q2z ok\nand ", "more"];
    let stream: String = pieces.iter().map(|piece| text(None, piece)).collect();
    let kept = masked(&(stream.clone() + &end()), 1000);
    assert_eq!(joined(&kept, None), "The password is ******************** ok\nand more");
    assert_eq!(kept.len(), stream.len() + end().len());
    let kept = masked(&stream, 7);
    assert_eq!(joined(&kept, None), "The password is ******************** ok\nand more");
}

#[test]
fn a_form_that_is_cut_into_pieces_is_masked_to_its_end() {
    let token = concat!("gh", "p_", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let kept = masked(&(text(None, &token[..38]) + &text(None, &token[38..])), 1000);
    assert!(!kept.contains(&token[38..]), "{kept}");
}

#[test]
fn lines_keep_their_order_and_what_is_fine_stays_as_it_is() {
    let other = "{\"type\":\"system\",\"subtype\":\"status\"}\n";
    let stream = [
        text(None, "one "),
        text(Some("t"), "two "),
        text(None, "three\n"),
        other.to_owned(),
        text(None, "a \\ \"quoted\" é"),
        end(),
        "odd\n".to_owned(),
        text(None, "the end"),
    ]
    .concat();
    for size in [1, 3, 100, 10_000] {
        let kept = masked(&stream, size);
        assert_eq!(kept, stream);
    }
}

#[test]
fn no_line_in_between_takes_a_secret_apart() {
    let stop_of_another = json!({ "type": "stream_event", "parent_tool_use_id": "t",
        "event": { "type": "content_block_stop", "index": 0 } });
    let stop_of_the_next = json!({ "type": "stream_event",
        "event": { "type": "content_block_stop", "index": 1 } });
    for between in [
        json!({ "type": "system", "subtype": "status" }),
        json!({ "type": "assistant", "parent_tool_use_id": "t", "message": {} }),
        json!({ "type": "tool_progress" }),
        json!({ "type": "stream_event", "event": { "type": "error" } }),
        json!({ "type": "stream_event", "event": { "type": "unheard_of" } }),
        json!({ "type": "stream_event", "event": { "type": "ping" } }),
        stop_of_another,
        stop_of_the_next,
        json!("no object"),
    ] {
        let between = between.to_string() + "\n";
        let stream = [
            text(None, "The pw is correct-"),
            between.clone(),
            text(None, "horse-9x7Q2z ok\n"),
            text(None, "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQ\n"),
            between.clone(),
            text(None, "EFAASCBKcwggSjAgEAAoIBAQC\n"),
            end(),
        ];
        for size in [5, 1000, 100_000] {
            let kept = masked(&stream.concat(), size);
            let shown = joined(&kept, None);
            assert!(shown.starts_with("The pw is ******************** ok\n"), "{shown}");
            assert!(!kept.contains("EFAASCBK"), "{between}{kept}");
            assert_eq!(kept.lines().count(), stream.len(), "{between}{kept}");
            assert_eq!(kept.lines().nth(1), Some(between.trim_end()));
        }
    }
}

#[test]
fn held_text_is_released_at_the_end_or_when_too_much_waits() {
    let begun = text(None, "no end of line");
    let result = "{\"type\":\"result\"}\n".to_owned();
    let other = "{\"type\":\"user\"}\n".to_owned();
    let start = "{\"type\":\"stream_event\",\"event\":{\"type\":\"message_start\"}}\n".to_owned();
    let kept_of = |lines: &[String]| {
        let mut masker = OutputMasker::new(Dialect::Claude, secrets());
        let mut kept = 0;
        for line in lines {
            masker.push(line.as_bytes(), |out| kept += out.len());
        }
        kept
    };
    assert_eq!(kept_of(&[begun.clone(), other.clone()]), 0);
    assert_eq!(kept_of(&[begun.clone(), result.clone()]), begun.len() + result.len());
    assert_eq!(kept_of(&[begun.clone(), start.clone()]), begun.len() + start.len());
    let quoted = json!({ "type": "user", "text": { "type": "result" } }).to_string() + "\n";
    assert_eq!(kept_of(&[begun.clone(), quoted]), 0);
    let long = format!("{{\"type\":\"user\",\"text\":\"{}\"}}\n", "x".repeat(300 << 10));
    assert!(kept_of(&[begun, long, other]) > 300 << 10);
}

#[test]
fn half_a_character_long_pieces_and_unknown_kinds_take_no_secret_apart() {
    let half = |line: &str, sign: &str| line.replace('@', sign);
    let unknown = delta(None, &json!({ "type": "unheard_of", "text": "horse-9x7Q2z ok\n" }));
    let long = text(None, &format!("{}\npw correct-", "y".repeat(100 << 10)));
    for (first, second) in [
        (half(&text(None, "@ pw correct-"), r"\ude00"), text(None, "horse-9x7Q2z ok\n")),
        (text(None, "pw correct-"), half(&text(None, "horse-9x7Q2z ok @\n"), r"\ud83d")),
        (text(None, "pw correct-"), unknown),
        (long, text(None, "horse-9x7Q2z ok\n")),
    ] {
        for size in [9, 1000, 1 << 20] {
            let kept = masked(&[first.clone(), second.clone(), end()].concat(), size);
            assert!(!kept.contains("correct-") && !kept.contains("9x7Q2z"), "{kept}");
            assert!(kept.contains(" ok"), "{kept}");
        }
    }
}

#[test]
fn a_line_that_is_given_up_in_its_middle_is_not_shown() {
    let behind = format!("{{\"type\":\"user\",\"text\":\"{}\"}}\n", "x".repeat(300 << 10));
    let begun = text(None, "all\npw correct-");
    let stream = [begun, behind.repeat(4), text(None, "horse\n")];
    let kept = masked(&stream.concat(), 320 << 10);
    assert_eq!(joined(&kept, None), "all\n****************\n");
    // The rest of it, up to its end, is masked too; the text after it is not.
    let more = ["-9x", "7Q2z ok", "\nand ", "more\n"].map(|piece| text(None, piece)).concat();
    let stream = [&stream[0], &stream[1], &text(None, "horse"), &more];
    let kept = masked(&stream.map(String::as_str).concat(), 320 << 10);
    assert_eq!(joined(&kept, None), "all\n**************************\nand more\n");
}

#[test]
fn the_rest_of_a_line_is_not_shown_when_too_many_write_at_once() {
    let one = |index: usize, piece: &str| {
        text(None, piece).replace("\"index\":0", &format!("\"index\":{index}"))
    };
    let begun: String = (0..300).map(|index| one(index, "correct-")).collect();
    let ended: String = (0..300).map(|index| one(index, "horse-9x7Q2z\nok\n")).collect();
    let kept = masked(&(begun + &ended), 1 << 20);
    assert!(!kept.contains("horse") && !kept.contains("9x7Q2z"), "{kept}");
    assert!(kept.contains("\\nok\\n"), "{kept}");
}

#[test]
fn words_that_a_block_begins_with_belong_to_it() {
    let block = json!({ "type": "text", "text": "pw correct-" });
    let start = json!({ "type": "stream_event", "event": {
        "type": "content_block_start", "index": 0, "content_block": block } });
    let stream = format!("{start}\n{}", text(None, "horse-9x7Q2z ok\n"));
    for size in [1, 1000] {
        let kept = masked(&stream, size);
        assert!(kept.contains("\"pw ********\"") && kept.contains("************ ok"), "{kept}");
    }
    let empty = start.to_string().replace("pw correct-", "") + "\n";
    let kept = masked(&(empty.clone() + &text(None, "x\n")), 1000);
    assert_eq!(kept, empty + &text(None, "x\n"));
}

#[test]
fn names_in_json_that_the_agent_speaks_are_masked() {
    let pieces = ["{\"correct-", "horse-9x7", "Q2z\": 5}\n"];
    let stream: String = pieces.iter().map(|piece| text(None, piece)).collect();
    let kept = masked(&stream, 1000);
    assert_eq!(joined(&kept, None), "{\"********************\": 5}\n");
    let mut plain = OutputMasker::new(Dialect::Command, secrets());
    let (mut kept, line) = (Vec::new(), format!("{{\"{SECRET}\": 5}}\n"));
    plain.push(line.as_bytes(), |out| kept.extend(out));
    assert_eq!(String::from_utf8(kept).unwrap(), "{\"********************\": 5}\n");
}

#[test]
fn released_lines_take_no_memory() {
    let mut masker = OutputMasker::new(Dialect::Claude, secrets());
    let line = text(None, "x\ny");
    for _ in 0..100_000 {
        masker.push(line.as_bytes(), |_| {});
    }
    let (texts, held) = masker.memory();
    assert!(texts < 200_000, "{texts}");
    assert!(held < 300_000, "{held}");
}

#[test]
fn those_who_write_at_the_same_time_do_not_hide_each_others_secrets() {
    let stream = [
        text(None, "my correct-"),
        text(Some("t"), "its correct-horse"),
        text(None, "horse-9x7Q2z\n"),
        text(Some("t"), "-9x7Q2z\n"),
    ];
    let kept = masked(&stream.concat(), 1000);
    assert_eq!(joined(&kept, None), "my ********************\n");
    assert_eq!(joined(&kept, Some("t")), "its ********************\n");
}

#[test]
fn partial_texts_that_arrive_whole_later_are_masked_entirely() {
    let thinking = delta(None, &json!({ "type": "thinking_delta", "thinking": "horse-é" }));
    let input = json!({ "type": "input_json_delta", "partial_json": "{\"a\": \"9x7" });
    let printed = thinking + &delta(None, &input);
    let kept = masked(&printed, 1000);
    assert!(kept.contains("\"thinking\":\"********\""), "{kept}");
    assert!(kept.contains("\"partial_json\":\"*************\""), "{kept}");
    assert_eq!(kept.len(), printed.len());
    let kept = masked(&text(None, "x").replace("\"index\":0", "\"index\":\"a\""), 9);
    assert_eq!(joined(&kept, None), "x");
}

#[test]
fn a_line_goes_out_when_it_is_whole_and_what_follows_it_waits_until_then() {
    let mut masker = OutputMasker::new(Dialect::Claude, secrets());
    let mut push = |text: &str| {
        let mut kept = 0;
        masker.push(text.as_bytes(), |out| kept += out.len());
        kept
    };
    let (first, second) = (text(None, "a line "), text(None, "ends\n"));
    assert_eq!(push(&first), 0);
    assert_eq!(push(&second), first.len() + second.len());
    assert_eq!(push(&first), 0);
    assert_eq!(push("{}\n"), 0);
    assert_eq!(push(&end()), first.len() + 3 + end().len());
    assert_eq!(push("{}\n"), 3);
    let long = "x".repeat(2 << 20);
    assert!(push(&long) > long.len() / 2, "a line without an end is held");
}

#[test]
fn text_blocks_of_one_speaker_are_distinguished() {
    let second = |piece: &str| text(None, piece).replace("\"index\":0", "\"index\":1");
    let stream = [text(None, "correct-"), second("or "), text(None, "horse-9x7Q2z\n")];
    let kept = masked(&stream.concat(), 1000);
    assert_eq!(joined(&kept, None), "********or ************\n");
    let its = |piece: &str| text(Some("t"), piece);
    let kept = masked(&[its("correct-"), end(), its("horse-9x7Q2z\n")].concat(), 1000);
    assert_eq!(joined(&kept, Some("t")), "********************\n");
}

#[test]
fn the_rest_of_a_piece_is_masked_and_what_ends_or_is_too_much_goes_out() {
    let kept = masked(&text(None, "x").replace("\"u\"", &format!("\"{SECRET}\"")), 9);
    assert!(!kept.contains(SECRET), "{kept}");
    let mut masker = OutputMasker::new(Dialect::Claude, secrets());
    let mut push = |text: &str| {
        let mut kept = 0;
        masker.push(text.as_bytes(), |out| kept += out.len());
        kept
    };
    let (half, end) = (text(None, "half"), end());
    assert_eq!((push(&half), push(&end)), (0, half.len() + end.len()));
    let long = text(None, &"x".repeat(60_000));
    assert!((0..100).map(|_| push(&long)).sum::<usize>() > MAX_HELD / 2);
    push(&end);
    let one = |index: usize| half.replace("\"index\":0", &format!("\"index\":{index}"));
    assert!((0..=256).map(|index| push(&one(index))).sum::<usize>() > 0);
}

proptest! {
    #[test]
    fn no_chunking_leaves_a_secret(
        cuts in prop::collection::vec(0..70_usize, 0..12), size in 1..400_usize,
    ) {
        let whole = format!("It is {SECRET} and\n{SECRET}{SECRET}\nso {SECRET}.");
        let mut cuts: Vec<_> = cuts.into_iter().map(|at| at.min(whole.len())).collect();
        cuts.extend([0, whole.len()]);
        cuts.sort_unstable();
        let pieces = cuts.windows(2).map(|cut| text(None, &whole[cut[0]..cut[1]]));
        let kept = masked(&pieces.collect::<String>(), size);
        prop_assert_eq!(joined(&kept, None), secrets().mask(&whole));
    }
}
