use proptest::prelude::*;

use super::*;
use crate::event::{self, IterationEvent, IterationResult, NoteEvent, RunEvent, Totals};
use crate::outcome;
use crate::units::Usd;

fn run() -> RunId {
    RunId("20261115-233412-7f3a".to_owned())
}

fn record(event: Event) -> Record {
    Record {
        at: "2026-11-15T23:40:33.123Z".parse().unwrap(),
        active: Duration::from_millis(81_234),
        event,
    }
}

fn warning(text: &str) -> Record {
    record(Event::Note(NoteEvent::Warning { text: text.to_owned() }))
}

/// A line without its newline.
fn line(seq: u64, record: &Record) -> Vec<u8> {
    let mut buffer = Vec::new();
    encode(&mut buffer, seq, &run(), record);
    assert_eq!(buffer.pop(), Some(b'\n'));
    buffer
}

/// A whole journal with one event of every kind.
fn journal() -> Vec<u8> {
    let mut bytes = Vec::new();
    for (event, seq) in event::samples().into_iter().zip(1..) {
        encode(&mut bytes, seq, &run(), &record(event));
    }
    bytes
}

/// The line with these members and a matching checksum.
fn sealed(members: &str) -> Vec<u8> {
    let crc = crc32fast::hash(members.as_bytes());
    format!("{members},\"crc\":\"{crc:08x}\"}}").into_bytes()
}

fn newlines(bytes: &[u8]) -> usize {
    memchr_iter(b'\n', bytes).count()
}

fn scan(bytes: &[u8]) -> Result<(Vec<JournalLine>, JournalEnd), ScanError> {
    let mut lines = Vec::new();
    let mut scan = Scan::new();
    scan.feed(bytes, |line| lines.push(line))?;
    Ok((lines, scan.finish()))
}

#[test]
fn a_line_has_this_form() {
    let mut buffer = b"before\n".to_vec();
    encode(&mut buffer, 12, &run(), &warning("a \"b\"\nc"));
    assert_eq!(
        String::from_utf8(buffer).unwrap(),
        "before\n{\"v\":1,\"seq\":12,\"at\":\"2026-11-15T23:40:33.123Z\",\"active_ms\":81234,\
         \"run\":\"20261115-233412-7f3a\",\"event\":\"warning\",\"text\":\"a \\\"b\\\"\\nc\",\
         \"crc\":\"5d8808c1\"}\n"
    );
}

#[test]
fn a_line_can_be_shown_as_it_is_and_comes_back_as_it_was() {
    let odd = "a\u{7f}b\u{9b}31m\u{202e}c\u{2028}d\u{feff}\u{e0041}\u{1b}[1m é 👩\u{200d}💻";
    let written = line(1, &warning(odd));
    let text = str::from_utf8(&written).unwrap();
    assert_eq!(crate::display::display_safe(text), text, "something would be obeyed");
    assert!(
        text.contains(r"a\u007fb\u009b31m\u202ec\u2028d\ufeff\udb40\udc41\u001b[1m é 👩"),
        "{text}"
    );
    assert_eq!(decode(written.trim_ascii_end()).unwrap().record, warning(odd));
}

#[test]
fn every_event_comes_back_as_it_was() {
    let ends = outcome::samples().into_iter().map(|outcome| {
        Event::Run(RunEvent::Finished { outcome, note: None, totals: Totals::default() })
    });
    for (event, seq) in event::samples().into_iter().chain(ends).zip(1..) {
        let record = record(event);
        let read = decode(&line(seq, &record)).unwrap();
        assert_eq!(read, JournalLine { seq, run: run(), record });
    }
}

#[test]
fn no_event_has_a_member_that_the_line_has_too() {
    for event in event::samples() {
        let json = serde_json::to_value(&event).unwrap();
        for member in ["v", "seq", "at", "active_ms", "run", "crc"] {
            assert!(json.get(member).is_none(), "`{member}` in `{}`", event.name());
        }
    }
}

#[test]
fn times_come_back_to_the_nanosecond_and_read_to_the_millisecond() {
    for (text, shown) in [
        ("2026-11-15T23:40:33Z", "2026-11-15T23:40:33.000Z"),
        ("2026-11-15T23:40:33.1Z", "2026-11-15T23:40:33.100Z"),
        ("2026-11-15T23:40:33.123456789Z", "2026-11-15T23:40:33.123456789Z"),
        ("1969-12-31T23:59:59.5Z", "1969-12-31T23:59:59.500Z"),
    ] {
        let record = Record { at: text.parse().unwrap(), ..warning("x") };
        let line = line(1, &record);
        assert!(String::from_utf8_lossy(&line).contains(&format!("\"at\":\"{shown}\"")));
        assert_eq!(decode(&line).unwrap().record.at, record.at);
    }
}

#[test]
fn members_that_are_not_known_are_ignored_and_the_order_is_free() {
    const TIMES: &str = "\"at\":\"2026-11-15T23:40:33.123Z\",\"active_ms\":81234";
    for members in [
        format!(
            r#"{{"v":1,"x":[{{}}],"seq":1,{TIMES},"run":"r","event":"warning","text":"t","y":0"#
        ),
        format!(
            r#"{{"v":1,"x":{{"z":1,"event":"x"}},"seq":1,{TIMES},"run":"r","event":"warning","text":"t""#
        ),
        format!(
            r#"{{"v":1,"event":"warning","text":"t","seq":1,{TIMES},"run":"r","z":{{"seq":2}}"#
        ),
    ] {
        let read = decode(&sealed(&members)).unwrap();
        assert_eq!(read, JournalLine { seq: 1, run: RunId("r".to_owned()), record: warning("t") });
    }
}

#[test]
fn a_newer_version_is_refused_by_name_whatever_else_it_has() {
    for members in [
        "{\"v\":2,\"seq\":1,\"at\":\"2026-11-15T23:40:33Z\",\"active_ms\":1,\"run\":\"r\",\
         \"event\":\"dreamt\"",
        "{\"v\":2,\"n\":\"one\"",
    ] {
        let error = decode(&sealed(members)).unwrap_err();
        assert!(matches!(error, LineError::Newer { version: 2 }), "{error:?}");
    }
}

#[test]
fn an_event_of_a_later_nightwright_is_named() {
    let members = "{\"v\":1,\"seq\":1,\"at\":\"2026-11-15T23:40:33Z\",\"active_ms\":1,\
                   \"run\":\"r\",\"event\":\"agent_dreamt\"";
    let error = decode(&sealed(members)).unwrap_err();
    assert_eq!(error.to_string(), "this nightwright does not know the event `agent_dreamt`");
}

#[test]
fn a_whole_line_that_makes_no_sense_is_not_taken_for_a_newer_one() {
    for members in [
        "{\"v\":1",
        "{\"seq\":1",
        "not JSON",
        "{\"v\":1,\"seq\":1,\"at\":\"2026-11-15T23:40:33Z\",\"active_ms\":1,\"run\":\"r\",\
         \"event\":\"warning\"",
    ] {
        let error = decode(&sealed(members)).unwrap_err();
        assert!(matches!(error, LineError::Malformed(_)), "{members}: {error:?}");
    }
}

#[test]
fn a_journal_gives_its_lines_and_its_length() {
    let bytes = journal();
    let (lines, end) = scan(&bytes).unwrap();
    let count = event::samples().len() as u64;
    assert_eq!(lines.len() as u64, count);
    let length = bytes.len() as u64;
    assert_eq!(end, JournalEnd { run: Some(run()), lines: count, length, torn: None });
    assert_eq!(scan(b"").unwrap().1, JournalEnd { run: None, lines: 0, length: 0, torn: None });
}

#[test]
fn a_gap_or_a_repetition_is_damage_and_names_the_line() {
    for wrong in [1, 3, 4] {
        let mut bytes = Vec::new();
        for seq in [1, wrong] {
            encode(&mut bytes, seq, &run(), &warning("x"));
        }
        let error = scan(&bytes).unwrap_err();
        assert_eq!(error.line, 2);
        assert!(matches!(error.why, ScanErrorKind::Gap { expected: 2, found } if found == wrong));
    }
}

#[test]
fn a_line_of_another_run_is_damage() {
    let mut bytes = Vec::new();
    encode(&mut bytes, 1, &run(), &warning("x"));
    encode(&mut bytes, 2, &RunId("other".to_owned()), &warning("x"));
    let error = scan(&bytes).unwrap_err();
    assert!(matches!(error.why, ScanErrorKind::OtherRun { .. }));
}

#[test]
fn a_damaged_line_is_torn_only_at_the_very_end() {
    let whole = journal();
    let last = whole[..whole.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    let mut bytes = whole.clone();
    bytes[last + 20] ^= 1;

    let (lines, end) = scan(&bytes).unwrap();
    let torn = end.torn.unwrap();
    assert_eq!((torn.offset, torn.length), (last as u64, (whole.len() - last) as u64));
    assert_eq!((end.length, torn.line), (torn.offset, lines.len() as u64 + 1));

    bytes.push(b'{');
    let error = scan(&bytes).unwrap_err();
    assert_eq!((error.line, error.offset), (torn.line, torn.offset));
    assert!(matches!(error.why, ScanErrorKind::Line(LineError::Damaged(Damage::Mismatch { .. }))));
}

#[test]
fn a_whole_last_line_that_cannot_be_understood_is_never_cut() {
    let mut bytes = journal();
    bytes.extend_from_slice(&sealed("{\"v\":2"));
    bytes.push(b'\n');
    let error = scan(&bytes).unwrap_err();
    assert!(matches!(error.why, ScanErrorKind::Line(LineError::Newer { version: 2 })));
}

#[test]
fn a_file_without_newlines_is_not_read_into_memory_whole() {
    let mut scan = Scan::new();
    let chunk = vec![b'x'; 1 << 20];
    let chunks = MAX_LINE_BYTES / chunk.len();
    for _ in 0..chunks {
        scan.feed(&chunk, |_| ()).unwrap();
    }
    let error = scan.feed(&chunk, |_| ()).unwrap_err();
    assert!(matches!(error.why, ScanErrorKind::TooLong));
}

#[test]
fn truncated_lines_after_the_last_good_one_are_forgotten() {
    let whole = journal();
    let mut scan = Scan::new();
    let mut count = 0;
    scan.feed(&whole, |_| count += 1).unwrap();
    scan.feed(b"half a li", |_| ()).unwrap();
    scan.rewind();
    assert_eq!(scan.position(), whole.len() as u64);
    let mut next = Vec::new();
    encode(&mut next, count + 1, &run(), &warning("x"));
    scan.feed(&next, |_| count += 1).unwrap();
    assert_eq!(scan.lines(), count);
    assert_eq!(scan.finish().torn, None);
}

#[test]
fn every_flipped_byte_is_noticed() {
    let whole = journal();
    let (lines, _) = scan(&whole).unwrap();
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        // Either the end is reported as torn and everything before it is unchanged, or there is an
        // error.
        if let Ok((read, end)) = scan(&bytes) {
            assert!(end.torn.is_some(), "byte {at}");
            assert!(lines.starts_with(&read), "byte {at}");
        }
    }
}

#[test]
fn every_truncation_gives_a_valid_prefix_and_reports_the_rest() {
    let whole = journal();
    let (lines, _) = scan(&whole).unwrap();
    for length in 0..whole.len() {
        let bytes = &whole[..length];
        let (read, end) = scan(bytes).unwrap();
        assert_eq!(read.len(), newlines(bytes));
        assert!(lines.starts_with(&read));
        let torn = end.torn.map_or(0, |torn| torn.length);
        assert_eq!(end.length + torn, length as u64);
    }
}

proptest! {
    #[test]
    fn any_text_time_and_money_come_back(
        text in ".*",
        run_id in ".*",
        seq in any::<u64>(),
        millis in 0..=u64::MAX,
        nanosecond in -62_000_000_000_000_000_000_i128..=250_000_000_000_000_000_000,
        micros in 0..=4_000_000_000_000_000_u64,
    ) {
        let run = RunId(run_id);
        let event = Event::Iteration(IterationEvent::Finished(Box::new(event::IterationFinished {
            checks: None,
            result: IterationResult::Failed { why: text.clone(), too_long: true },
            cost: Usd::from_micros(micros),
            summary: text,
            ..finished()
        })));
        let at = Timestamp::from_nanosecond(nanosecond).unwrap();
        let record = Record { at, active: Duration::from_millis(millis), event };
        let mut buffer = Vec::new();
        encode(&mut buffer, seq, &run, &record);
        prop_assert_eq!(newlines(&buffer), 1);
        let read = decode(&buffer[..buffer.len() - 1]).unwrap();
        prop_assert_eq!(read, JournalLine { seq, run, record });
    }

    #[test]
    fn the_lines_do_not_depend_on_how_the_bytes_arrive(
        sizes in prop::collection::vec(1..5000_usize, 1..60),
    ) {
        let whole = journal();
        let expected = scan(&whole).unwrap();
        let mut lines = Vec::new();
        let mut scan = Scan::new();
        let mut rest = &whole[..];
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (chunk, after) = rest.split_at(rest.len().min(*size));
            scan.feed(chunk, |line| lines.push(line)).unwrap();
            rest = after;
        }
        prop_assert_eq!((lines, scan.finish()), expected);
    }

    #[test]
    fn no_bytes_at_all_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = decode(&bytes);
        let _ = scan(&bytes);
    }

    #[test]
    fn any_other_byte_anywhere_in_a_line_is_noticed(
        place in any::<prop::sample::Index>(),
        sample in any::<prop::sample::Index>(),
        change in 1..=u8::MAX,
    ) {
        let record = record(sample.get(&event::samples()).clone());
        let mut line = line(1, &record);
        let at = place.index(line.len());
        line[at] ^= change;
        prop_assert!(matches!(decode(&line), Err(LineError::Damaged(_))));
    }
}

fn finished() -> event::IterationFinished {
    let found = event::samples().into_iter().find_map(|event| match event {
        Event::Iteration(IterationEvent::Finished(finished)) => Some(*finished),
        _ => None,
    });
    found.unwrap()
}
