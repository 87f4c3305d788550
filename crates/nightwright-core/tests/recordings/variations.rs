//! Details of a recording that must not matter: the size of the chunks, the order of keys, unknown
//! types and fields, and the point of truncation.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use nightwright_core::stream::dialect::Dialect;
use nightwright_core::stream::message::{MessageKind, TextPart};
use nightwright_core::stream::news::{AgentNews, AttemptReport};
use nightwright_core::stream::outcome::{AttemptOutcome, ProcessExit};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::Value;

use super::reading::{ReadOptions, ReadRecording, Recording, names};

/// A type and a name of a field that no version of the program will ever use.
const UNKNOWN_TYPE: &str = "never_heard_of";
const UNKNOWN_FIELD: &str = "never_heard_of_either";

fn whole(recording: &Recording) -> ReadRecording {
    recording.read(ReadOptions::default(), [&recording.stdout[..]].into_iter())
}

/// Resets the counters of bytes and unknown things, which differ between variations.
fn apart_from_counters(mut read: ReadRecording) -> (AttemptReport, Vec<AgentNews>) {
    read.report.stream.stdout_bytes = 0;
    read.report.stream.unknown_events = 0;
    read.report.unknown.clear();
    (read.report, read.news)
}

#[test]
fn partial_messages_contain_nothing_that_the_whole_ones_lack() {
    let mut parts = 0;
    for name in names() {
        let recording = Recording::open(&name);
        for line in recording.stdout.split(|byte| *byte == b'\n') {
            if !Dialect::Claude.is_only_a_part(line) {
                continue;
            }
            parts += 1;
            let read = Dialect::Claude.decode(line, &mut |message| {
                let only_a_part = matches!(
                    message.kind,
                    MessageKind::Text { part: TextPart::Delta | TextPart::End, .. }
                        | MessageKind::Thinking
                        | MessageKind::Usage { .. }
                        | MessageKind::Other { .. }
                );
                assert!(only_a_part, "{name}: {message:?}");
            });
            assert_eq!(read, Ok(()), "{name}");
        }
    }
    assert!(parts > 20, "{parts}");
}

/// Picks one of all recordings.
fn any_recording() -> impl Strategy<Value = String> {
    select(names())
}

/// Writes a value with the keys of its objects in the order chosen by `pick`.
fn write(value: &Value, pick: &mut impl FnMut(usize) -> usize, out: &mut String) {
    match value {
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                write(item, pick, out);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            let mut left: Vec<_> = fields.iter().collect();
            out.push('{');
            while !left.is_empty() {
                let (key, value) = left.remove(pick(left.len()));
                write!(out, "{}:", Value::String(key.clone())).expect("a string takes all");
                write(value, pick, out);
                out.push_str(if left.is_empty() { "" } else { "," });
            }
            out.push('}');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            write!(out, "{value}").expect("a string takes all");
        }
    }
}

/// Returns the recording with every line parsed, changed and written again.
fn rewritten(
    recording: &Recording,
    mut change: impl FnMut(&mut Value),
    pick: &mut impl FnMut(usize) -> usize,
) -> Recording {
    let lines = recording.lines().into_iter().enumerate().map(|(at, line)| {
        let mut value: Value = serde_json::from_slice(line).expect("every line is JSON");
        change(&mut value);
        let mut out = String::new();
        write(&value, pick, &mut out);
        (out.into_bytes(), recording.time(at))
    });
    recording.with_lines(lines)
}

/// Adds an unknown field to every object, with alternating values.
fn add_unknown_fields(value: &mut Value, values: &mut impl Iterator<Item = Value>) {
    match value {
        Value::Array(items) => {
            for item in items {
                add_unknown_fields(item, values);
            }
        }
        Value::Object(fields) => {
            for (_, value) in fields.iter_mut() {
                add_unknown_fields(value, values);
            }
            fields.insert(UNKNOWN_FIELD.to_owned(), values.next().expect("values never end"));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Generates a value of any kind for a field or a line.
fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z_]{0,8}".prop_map(Value::from),
        select(vec!["result", "init", "rate_limit", "error"]).prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        let keys = prop_oneof![
            "[a-z_]{1,8}",
            select(vec!["type", "is_error", "usage"]).prop_map(str::to_owned)
        ];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::btree_map(keys, inner, 0..3)
                .prop_map(|fields: BTreeMap<String, Value>| fields.into_iter().collect()),
        ]
    })
}

/// Generates a line with an unknown type, or an unknown subtype of `system`.
fn unknown_line() -> impl Strategy<Value = Vec<u8>> {
    (any::<bool>(), any_value(), any_value()).prop_map(|(is_system, one, other)| {
        let mut line = serde_json::json!({ "type": UNKNOWN_TYPE, "message": one, "usage": other });
        if is_system {
            line["type"] = "system".into();
            line["subtype"] = UNKNOWN_TYPE.into();
        }
        line.to_string().into_bytes()
    })
}

#[test]
fn one_byte_at_a_time_gives_the_same_as_all_at_once() {
    for name in names() {
        let recording = Recording::open(&name);
        let bytes = recording.read(ReadOptions::default(), recording.stdout.chunks(1));
        assert!(bytes == whole(&recording), "{name}");
    }
}

#[test]
fn keys_backwards_give_the_same_report() {
    for name in names() {
        let recording = Recording::open(&name);
        let backwards = rewritten(&recording, |_| {}, &mut |left| left - 1);
        assert_eq!(
            apart_from_counters(whole(&backwards)),
            apart_from_counters(whole(&recording)),
            "{name}"
        );
    }
}

#[test]
fn a_stream_that_breaks_off_after_any_line_is_no_success_without_a_good_result() {
    for name in names() {
        let recording = Recording::open(&name);
        let lines = recording.lines();
        let mut good = false;
        for (count, line) in lines.iter().enumerate() {
            let value: Value = serde_json::from_slice(line).expect("every line is JSON");
            if value["type"] == "result" {
                good = value["is_error"] == false;
            }
            let kept = lines[..=count].iter().enumerate();
            let mut cut =
                recording.with_lines(kept.map(|(at, line)| (line.to_vec(), recording.time(at))));
            cut.exit = Some(ProcessExit::Signal(9));
            let report = whole(&cut).report;
            match report.outcome {
                AttemptOutcome::Finished | AttemptOutcome::Suspect { .. } => {
                    assert!(good, "{name} {count}");
                }
                _ => assert!(!good, "{name} {count}: {:?}", report.outcome),
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_chunking_gives_the_same_messages_and_the_same_report(
        name in any_recording(),
        cuts in proptest::collection::vec(any::<Index>(), 0..40),
    ) {
        let recording = Recording::open(&name);
        let size = recording.stdout.len();
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(size + 1)).chain([0, size]).collect();
        cuts.sort_unstable();
        let chunks = cuts.windows(2).map(|cut| &recording.stdout[cut[0]..cut[1]]);
        prop_assert!(recording.read(ReadOptions::default(), chunks) == whole(&recording));
    }

    #[test]
    fn keys_in_any_order_give_the_same_report(
        name in any_recording(),
        order in proptest::collection::vec(any::<Index>(), 1..100),
    ) {
        let recording = Recording::open(&name);
        let mut order = order.iter().cycle();
        let shuffled = rewritten(&recording, |_| {}, &mut |left| {
            order.next().expect("a cycle never ends").index(left)
        });
        prop_assert_eq!(apart_from_counters(whole(&shuffled)), apart_from_counters(whole(&recording)));
    }

    #[test]
    fn fields_that_are_unknown_change_nothing(
        name in any_recording(),
        values in proptest::collection::vec(any_value(), 1..20),
    ) {
        let recording = Recording::open(&name);
        let mut values = values.into_iter().cycle();
        let change = |line: &mut Value| add_unknown_fields(line, &mut values);
        let (before, after) = (whole(&recording), whole(&rewritten(&recording, change, &mut |_| 0)));
        // Those of results are counted, because they may belong to an unknown outcome.
        let results = before.report.stream.results;
        prop_assert_eq!(after.report.stream.unknown_events, u64::from(results));
        let named = (results > 0).then(|| format!("result.{UNKNOWN_FIELD}"));
        prop_assert_eq!(&after.report.unknown, &Vec::from_iter(named));
        prop_assert_eq!(apart_from_counters(after), apart_from_counters(before));
    }

    #[test]
    fn lines_that_are_unknown_are_signs_of_life_and_change_nothing_else(
        name in any_recording(),
        strange in proptest::collection::vec((any::<Index>(), unknown_line()), 1..10),
    ) {
        let recording = Recording::open(&name);
        // A process without any output is correctly classified by that fact.
        prop_assume!(!recording.stdout.is_empty());
        let lines = recording.lines().into_iter().enumerate();
        let mut lines: Vec<_> = lines.map(|(at, line)| (line.to_vec(), recording.time(at))).collect();
        let count = strange.len();
        for (at, line) in strange {
            let at = at.index(lines.len() + 1);
            let time = at.checked_sub(1).map_or(Duration::ZERO, |before| lines[before].1);
            lines.insert(at, (line, time));
        }
        let (before, after) = (whole(&recording), whole(&recording.with_lines(lines)));
        prop_assert_eq!(after.messages.len(), before.messages.len() + count);
        prop_assert_eq!(after.report.stream.unknown_events, count as u64);
        let named = [UNKNOWN_TYPE.to_owned(), format!("system/{UNKNOWN_TYPE}")];
        prop_assert!(after.report.unknown.iter().all(|kind| named.contains(kind)));
        prop_assert!(!after.report.unknown.is_empty());
        prop_assert_eq!(apart_from_counters(after), apart_from_counters(before));
    }

    #[test]
    fn a_stream_that_breaks_off_within_a_line_costs_that_line_alone(
        name in any_recording(),
        end in any::<Index>(),
    ) {
        let mut recording = Recording::open(&name);
        let before = whole(&recording);
        recording.stdout.truncate(end.index(recording.stdout.len() + 1));
        let after = whole(&recording);
        prop_assert!(after.report.stream.bad_lines <= 1);
        prop_assert!(before.messages.starts_with(&after.messages));
        prop_assert!(before.news.starts_with(&after.news));
    }
}
