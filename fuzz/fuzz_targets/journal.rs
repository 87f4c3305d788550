//! Journals from untrusted sources: no input makes the reader panic, chunks make no difference, and
//! damage is always detected.
//!
//! The first byte selects one of the three tests, the second is the size of chunks.

#![no_main]

use std::sync::LazyLock;
use std::time::Duration;

use jiff::Timestamp;
use nightwright_core::event::{self, Record};
use nightwright_core::journal::{JournalEnd, JournalLine, Scan, encode};
use nightwright_core::units::RunId;
use libfuzzer_sys::fuzz_target;

/// A whole journal with one event of every kind.
static SOUND: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut bytes = Vec::new();
    let run = RunId("20261115-233412-7f3a".to_owned());
    for (event, seq) in event::samples().into_iter().zip(1..) {
        let record = Record { at: Timestamp::UNIX_EPOCH, active: Duration::from_secs(1), event };
        encode(&mut bytes, seq, &run, &record);
    }
    bytes
});

fuzz_target!(|input: &[u8]| {
    let Some((&[which, chunk], input)) = input.split_first_chunk::<2>() else { return };
    let chunk = usize::from(chunk) + 1;
    match which % 3 {
        0 => chunks_make_no_difference(input, chunk),
        1 => chunks_make_no_difference(&sealed(input), chunk),
        _ => damage_is_noticed(input),
    }
});

fn chunks_make_no_difference(bytes: &[u8], chunk: usize) {
    let (lines, end) = scan(bytes.chunks(chunk));
    let (whole_lines, whole_end) = scan([bytes]);
    assert_eq!(lines, whole_lines);
    assert_eq!(end, whole_end);
    for (line, number) in lines.iter().zip(1..) {
        assert_eq!(line.seq, number, "a gap was read over");
    }
    // Records that were read can be written, and then read back unchanged.
    let mut again = Vec::new();
    for line in &lines {
        encode(&mut again, line.seq, &line.run, &line.record);
    }
    assert_eq!(scan([again.as_slice()]).0, lines);
}

/// Adds a valid checksum to each line, because generated lines would never pass otherwise.
fn sealed(input: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for line in input.split(|byte| *byte == b'\n') {
        bytes.extend_from_slice(line);
        bytes.extend_from_slice(format!(",\"crc\":\"{:08x}\"}}\n", crc32fast::hash(line)).as_bytes());
    }
    bytes
}

/// Changes up to four adjacent bytes, which a 32-bit checksum always detects.
fn damage_is_noticed(input: &[u8]) {
    let Some((at, change)) = input.split_first_chunk::<4>() else { return };
    let mut bytes = SOUND.clone();
    let at = usize::try_from(u32::from_le_bytes(*at)).unwrap_or(0) % bytes.len();
    for (byte, change) in bytes[at..].iter_mut().zip(change.iter().take(4)) {
        *byte = *change;
    }
    let (sound, _) = scan([SOUND.as_slice()]);
    let (read, _) = scan([bytes.as_slice()]);
    assert!(sound.starts_with(&read), "a damaged journal reads as another one");
    if bytes != *SOUND {
        assert!(read.len() < sound.len(), "damage was read over");
    }
}

/// Returns the lines, and the end of the journal or the error message.
fn scan<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> (Vec<JournalLine>, Result<JournalEnd, String>) {
    let mut lines = Vec::new();
    let mut scan = Scan::new();
    for chunk in chunks {
        if let Err(error) = scan.feed(chunk, |line| lines.push(line)) {
            return (lines, Err(format!("{error}: {}", error.why)));
        }
    }
    (lines, Ok(scan.finish()))
}
