//! The journal under disk faults and crashes.

#![expect(clippy::unwrap_used, reason = "what fails in a test's helpers fails the test")]

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nightwright::store::journal::{
    FileLayer as _, Journal, JournalChange, JournalError, JournalTail, JournalWriter, create,
    open_for_append, read, resume,
};
use nightwright::store::lock::{Lock, LockOwner};
use nightwright::store::run_dir::RunDir;
use nightwright_core::event::{self, Event, NoteEvent, Record};
use nightwright_core::journal::{MAX_LINE_BYTES, encode};
use nightwright_core::units::RunId;

use super::fake_disk::{FakeDisk, FakeFile, Fault, Operation};

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

/// Creates numbered records, so that all of them differ.
fn records(from: u64, to: u64) -> Vec<Record> {
    (from..=to)
        .map(|n| record(Event::Note(NoteEvent::Warning { text: format!("event {n}") })))
        .collect()
}

fn last_words() -> Vec<Record> {
    let mut samples = event::samples();
    vec![record(samples.pop().unwrap())]
}

/// A journal on disk with given records.
struct JournalOnDisk {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

fn on_disk(records: &[Record]) -> JournalOnDisk {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.jsonl");
    let mut writer = create(&path, run()).unwrap();
    writer.append(records).unwrap();
    writer.close().unwrap();
    JournalOnDisk { _folder: folder, path }
}

fn add(path: &Path, bytes: &[u8]) {
    File::options().append(true).open(path).unwrap().write_all(bytes).unwrap();
}

fn lines(records: &[Record], from: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (record, seq) in records.iter().zip(from..) {
        encode(&mut bytes, seq, &run(), record);
    }
    bytes
}

/// A complete line with these members and a valid checksum.
fn sealed(members: &str) -> Vec<u8> {
    let crc = crc32fast::hash(members.as_bytes());
    format!("{members},\"crc\":\"{crc:08x}\"}}\n").into_bytes()
}

fn begin(disk: &FakeDisk) -> JournalWriter<FakeFile> {
    JournalWriter::new(disk.open(), run()).unwrap()
}

fn reopened(disk: &FakeDisk) -> (Journal, JournalWriter<FakeFile>) {
    resume(disk.open(), &run()).unwrap()
}

#[test]
fn a_recorded_journal_is_read_again_and_continues() {
    let everything: Vec<_> = event::samples().into_iter().map(record).collect();
    let JournalOnDisk { path, _folder } = on_disk(&everything);
    let count = everything.len() as u64;
    assert_eq!(
        read(&path).unwrap(),
        Journal { run: Some(run()), records: everything.clone(), torn: None }
    );

    let (journal, mut writer) = open_for_append(&path, &run()).unwrap();
    assert_eq!((journal.records.len() as u64, writer.last_seq()), (count, count));
    writer.append(&records(1, 2)).unwrap();
    writer.close().unwrap();
    assert!(fs::read(&path).unwrap().ends_with(&lines(&records(1, 2), count + 1)));
    assert_eq!(read(&path).unwrap().records, [everything, records(1, 2)].concat());
}

#[test]
fn a_torn_last_line_is_cut_off_and_reported() {
    let good = lines(&records(1, 3), 1);
    let next = lines(&records(4, 4), 4);
    let mut flipped = next.clone();
    flipped[30] ^= 1;
    for tail in [&next[..1], &next[..next.len() - 1], &flipped, b"\0\0\0\0"] {
        let JournalOnDisk { path, _folder } = on_disk(&records(1, 3));
        add(&path, tail);
        assert_eq!(read(&path).unwrap().records, records(1, 3));

        let (journal, mut writer) = open_for_append(&path, &run()).unwrap();
        let torn = journal.torn.unwrap();
        assert_eq!(
            (torn.line, torn.offset, torn.length),
            (4, good.len() as u64, tail.len() as u64)
        );
        assert_eq!(fs::read(&path).unwrap(), good);
        writer.append(&records(4, 4)).unwrap();
        writer.close().unwrap();
        assert_eq!(fs::read(&path).unwrap(), [good.clone(), next.clone()].concat());
    }
}

#[test]
fn damage_elsewhere_is_an_error_that_names_the_line_and_changes_nothing() {
    let JournalOnDisk { path, _folder } = on_disk(&records(1, 5));
    let second = lines(&records(1, 1), 1).len();
    let mut bytes = fs::read(&path).unwrap();
    bytes[second + 30] ^= 1;
    fs::write(&path, &bytes).unwrap();

    for error in [read(&path).unwrap_err(), open_for_append(&path, &run()).unwrap_err()] {
        let expected = format!("line 2 of `{}` is damaged: its checksum is ", path.display());
        assert!(error.reason().starts_with(&expected), "{}", error.reason());
    }
    assert_eq!(fs::read(&path).unwrap(), bytes);
}

#[test]
fn a_missing_line_is_damage() {
    let JournalOnDisk { path, _folder } = on_disk(&records(1, 2));
    add(&path, &lines(&records(4, 4), 4));
    let reason = read(&path).unwrap_err().reason();
    assert!(reason.ends_with("it has the number 4, expected 3"), "{reason}");
}

#[test]
fn a_newer_journal_is_refused_with_a_hint_and_never_truncated() {
    let common = "\"seq\":2,\"at\":\"2026-11-15T23:40:33Z\",\"active_ms\":1,\"run\":\"r\"";
    for (members, expected) in [
        (format!("{{\"v\":2,{common},\"event\":\"warning\""), "has version 2"),
        (format!("{{\"v\":1,{common},\"event\":\"agent_dreamt\""), "`agent_dreamt`"),
    ] {
        let JournalOnDisk { path, _folder } = on_disk(&records(1, 1));
        add(&path, &sealed(&members));
        let before = fs::read(&path).unwrap();
        let error = open_for_append(&path, &run()).unwrap_err();
        assert!(error.to_string().starts_with("line 2 of "), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
        assert!(error.hint().unwrap().starts_with("update nightwright"));
        assert_eq!(fs::read(&path).unwrap(), before);
    }
}

#[test]
fn the_journal_of_another_run_is_not_taken_over() {
    let JournalOnDisk { path, _folder } = on_disk(&records(1, 1));
    let other = RunId("20200101-000000-0000".to_owned());
    let error = open_for_append(&path, &other).unwrap_err();
    assert!(matches!(error, JournalError::OtherRun { .. }), "{error}");
}

#[test]
fn a_run_that_crashed_before_its_first_event_can_be_taken_over() {
    let JournalOnDisk { path, _folder } = on_disk(&[]);
    let (journal, mut writer) = open_for_append(&path, &run()).unwrap();
    assert_eq!((journal.run, journal.records), (None, vec![]));
    writer.append_last(&records(1, 1)).unwrap();
    assert_eq!(read(&path).unwrap().records, records(1, 1));
}

#[test]
fn a_full_disk_ends_the_journal_with_the_reason_recorded() {
    let disk = FakeDisk::new();
    let mut writer = begin(&disk);
    writer.append(&records(1, 2)).unwrap();
    // Leave room for half a line.
    disk.set_capacity(disk.contents().len() as u64 + disk.reserved() + 40);
    let error = writer.append(&records(3, 4)).unwrap_err();
    assert!(error.reason().starts_with("cannot append to `journal.jsonl`: "), "{}", error.reason());
    assert_eq!(disk.contents(), lines(&records(1, 2), 1));

    let error = writer.append(&records(3, 3)).unwrap_err();
    assert!(matches!(error, JournalError::Stopped(_)), "{error}");
    assert!(error.reason().contains("cannot append to"), "{}", error.reason());

    writer.append_last(&last_words()).unwrap();
    assert!(disk.contents().ends_with(&lines(&last_words(), 3)));
    assert_eq!(disk.volatile(), 0);
    let (journal, _) = resume(FakeDisk::with(&disk.contents()).open(), &run()).unwrap();
    assert_eq!(journal.records, [records(1, 2), last_words()].concat());
    assert_eq!(journal.torn, None);
}

#[test]
fn last_words_find_space_even_if_they_are_the_first_not_to() {
    let disk = FakeDisk::new();
    let mut writer = begin(&disk);
    writer.append(&records(1, 1)).unwrap();
    disk.set_capacity(disk.contents().len() as u64 + disk.reserved());
    writer.append_last(&last_words()).unwrap();
    // A run that ends while an agent is working writes several last records.
    writer.append_last(&last_words()).unwrap();
    assert_eq!(writer.last_seq(), 3);
    assert!(writer.failure().is_some());
    assert_eq!(disk.volatile(), 0);
}

#[test]
fn nothing_is_written_behind_half_a_line_that_cannot_be_taken_back() {
    let disk = FakeDisk::new();
    let mut writer = begin(&disk);
    disk.fail(Operation::Append, 1, Fault::Short(50));
    disk.fail(Operation::Truncate, 1, Fault::Io);
    disk.fail(Operation::Truncate, 2, Fault::Io);
    writer.append(&records(1, 1)).unwrap_err();
    let error = writer.append_last(&last_words()).unwrap_err();
    assert!(error.reason().starts_with("cannot truncate"), "{}", error.reason());
    assert_eq!(disk.contents().len(), 50);

    // The next try may succeed.
    writer.append_last(&last_words()).unwrap();
    assert_eq!(disk.contents(), lines(&last_words(), 1));
}

#[test]
fn a_crash_at_every_byte_keeps_what_was_acknowledged_and_leaves_a_valid_prefix() {
    let disk = FakeDisk::new();
    let mut writer = begin(&disk);
    writer.append(&records(1, 2)).unwrap();
    writer.sync().unwrap();
    writer.append(&records(3, 4)).unwrap();
    writer.append(&records(5, 6)).unwrap();
    for surviving in 0..=disk.volatile() {
        let after = disk.crash(surviving);
        let (journal, mut writer) = reopened(&after);
        let count = journal.records.len() as u64;
        assert!((2..=6).contains(&count), "{surviving}");
        assert_eq!(journal.records, records(1, count), "{surviving}");

        // Recovery gives the same result again, also after another crash.
        writer.append(&records(count + 1, count + 1)).unwrap();
        let (journal, _) = reopened(&after.crash(0));
        assert_eq!((journal.records, journal.torn), (records(1, count), None), "{surviving}");
    }
}

/// Writes several batches with one fault, up to the last records. Returns the records in order, and
/// the number of acknowledged ones.
fn play(disk: &FakeDisk) -> (Vec<Record>, usize) {
    let mut writer = begin(disk);
    let mut tried = Vec::new();
    let mut acknowledged = 0;
    for batch in 0..4 {
        let records = records(batch * 3 + 1, batch * 3 + 3);
        if writer.append(&records).is_err() {
            break;
        }
        tried.extend(records);
        if batch % 2 == 1 {
            if writer.sync().is_err() {
                break;
            }
            acknowledged = tried.len();
        }
    }
    tried.extend(last_words());
    if writer.append_last(&last_words()).is_ok() {
        acknowledged = tried.len();
    }
    (tried, acknowledged)
}

#[test]
fn after_any_fault_or_crash_the_journal_is_valid_and_complete() {
    let operations = [Operation::Append, Operation::Sync];
    let faults = [Fault::NoSpace, Fault::Io, Fault::Short(1), Fault::Short(200)];
    for operation in operations {
        for nth in 1..=6 {
            for fault in faults {
                let disk = FakeDisk::new();
                disk.fail(operation, nth, fault);
                let (tried, acknowledged) = play(&disk);
                for surviving in 0..=disk.volatile() {
                    let (journal, _) = reopened(&disk.crash(surviving));
                    let read = journal.records;
                    let story = format!("{operation:?} {nth} {fault:?} {surviving}");
                    assert!(tried.starts_with(&read), "{story}");
                    assert!(read.len() >= acknowledged, "{story}");
                }
            }
        }
    }
}

#[test]
fn a_reader_follows_a_growing_journal_line_by_line() {
    let JournalOnDisk { path, _folder } = on_disk(&records(1, 2));
    let mut tail = JournalTail::open(&path).unwrap();
    let mut poll = || -> Vec<_> {
        let mut lines = Vec::new();
        tail.poll_raw(|line, _| lines.push((line.seq, line.record))).unwrap();
        lines
    };
    let expected = |from, to| (from..=to).zip(records(from, to)).collect::<Vec<_>>();
    assert_eq!(poll(), expected(1, 2));
    assert_eq!(poll(), []);

    // The line appears byte by byte, as on a slow disk.
    for byte in lines(&records(3, 3), 3) {
        assert_eq!(poll(), []);
        add(&path, &[byte]);
    }
    assert_eq!(poll(), expected(3, 3));

    // The writer removes half a line and writes others instead.
    let whole = fs::metadata(&path).unwrap().len();
    add(&path, &lines(&last_words(), 4)[..100]);
    assert_eq!(poll(), []);
    File::options().write(true).open(&path).unwrap().set_len(whole).unwrap();
    add(&path, &lines(&records(4, 6), 4));
    assert_eq!(poll(), expected(4, 6));
}

#[test]
fn a_reader_can_have_the_bytes_of_each_line_as_they_were_written() {
    let JournalOnDisk { path, _folder } = on_disk(&records(1, 3));
    let mut bytes = Vec::new();
    let mut tail = JournalTail::open(&path).unwrap();
    tail.poll_raw(|_, raw| bytes.extend([raw, b"\n"].concat())).unwrap();
    assert_eq!(bytes, fs::read(&path).unwrap());
}

#[test]
fn a_reader_that_read_too_much_says_so() {
    let JournalOnDisk { path, _folder } = on_disk(&records(1, 2));
    let mut tail = JournalTail::open(&path).unwrap();
    tail.poll_raw(|_, _| {}).unwrap();
    File::options().write(true).open(&path).unwrap().set_len(10).unwrap();
    assert!(matches!(tail.poll_raw(|_, _| {}), Err(JournalError::CutBack { .. })));
}

#[test]
fn everything_of_a_run_is_its_owners_only() {
    let state = tempfile::tempdir().unwrap();
    let run = RunDir::create(&state.path().join("shop"), "2026-11-15T23:34:12Z".parse().unwrap());
    let run = run.unwrap();
    let mut writer = create(&run.journal(), run.id().clone()).unwrap();
    writer.append(&records(1, 1)).unwrap();
    let owner = LockOwner::current(run.id().clone(), "2026-11-15T23:34:12Z".parse().unwrap());
    let _lock = Lock::take(&run.lock(), &owner).unwrap();

    let mut names = Vec::new();
    for entry in fs::read_dir(run.path()).unwrap() {
        let entry = entry.unwrap();
        let found = entry.metadata().unwrap();
        let expected = if found.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(found.permissions().mode() & 0o777, expected, "{:?}", entry.path());
        names.push(entry.file_name().into_string().unwrap());
    }
    names.sort();
    assert_eq!(names, ["journal.jsonl", "journal.reserve", "lock", "output", "prompts"]);

    writer.close().unwrap();
    assert!(!run.path().join("journal.reserve").exists());
}

#[test]
fn steps_without_events_cost_no_disk() {
    let disk = FakeDisk::new();
    let mut writer = begin(&disk);
    writer.append(&records(1, 2)).unwrap();
    writer.sync().unwrap();
    writer.append(&[]).unwrap();
    writer.sync().unwrap();
    assert_eq!((disk.calls(Operation::Append), disk.calls(Operation::Sync)), (1, 1));
}

#[test]
fn a_run_does_not_begin_without_space_for_its_end() {
    let disk = FakeDisk::new();
    disk.set_capacity(1000);
    let error = JournalWriter::new(disk.open(), run()).unwrap_err();
    assert!(error.reason().contains("space"), "{}", error.reason());
}

#[test]
fn after_a_failed_sync_nothing_is_acknowledged() {
    let disk = FakeDisk::new();
    let mut writer = begin(&disk);
    writer.append(&records(1, 1)).unwrap();
    disk.fail(Operation::Sync, 1, Fault::Io);
    let first = writer.sync().unwrap_err();
    assert!(first.reason().starts_with("cannot sync `journal.jsonl`: "), "{}", first.reason());

    for again in [
        writer.sync().unwrap_err(),
        writer.append(&records(2, 2)).unwrap_err(),
        writer.append_last(&records(2, 2)).unwrap_err(),
        writer.close().unwrap_err(),
    ] {
        assert!(again.reason().ends_with(&first.reason()), "{}", again.reason());
    }
    assert_eq!((disk.calls(Operation::Append), disk.calls(Operation::Sync)), (1, 1));
}

#[test]
fn bytes_of_another_process_are_noticed_at_every_event_and_removed_at_the_end() {
    for number in 1..=4 {
        let disk = FakeDisk::new();
        let mut writer = begin(&disk);
        writer.append(&records(1, number)).unwrap();
        let good = disk.contents();
        disk.intrude(&lines(&last_words(), number + 1));
        let error = writer.check().unwrap_err();
        let JournalError::Changed { change, .. } = error else { panic!("{error}") };
        let (expected, found) = (good.len() as u64, disk.contents().len() as u64);
        assert_eq!(change, JournalChange::Length { expected, found });
        assert!(writer.append(&records(1, 1)).is_err(), "nothing more is recorded");
        writer.append_last(&last_words()).unwrap();
        writer.append_last(&last_words()).unwrap();
        let text = disk.contents();
        assert!(text.starts_with(&good), "the earlier events are intact");
        drop(writer);
        let (journal, _) = reopened(&disk);
        assert_eq!(journal.records.len() as u64, number + 2);
    }
}

#[test]
fn a_journal_that_lost_events_is_not_continued() {
    let disk = FakeDisk::new();
    let mut writer = begin(&disk);
    writer.append(&records(1, 3)).unwrap();
    disk.open().truncate(10).unwrap();
    assert!(matches!(writer.append(&records(4, 4)), Err(JournalError::Changed { .. })));
    assert!(writer.append_last(&last_words()).is_err());
    assert_eq!(disk.contents().len(), 10, "zeros would take the place of what was lost");
}

#[test]
fn a_line_that_no_reader_would_take_is_not_written() {
    let disk = FakeDisk::new();
    let mut writer = begin(&disk);
    let mut records = records(1, 2);
    records[1].event = Event::Note(NoteEvent::Warning { text: "x".repeat(MAX_LINE_BYTES) });
    let error = writer.append(&records).unwrap_err();
    assert!(error.reason().ends_with("an event `warning` is too long"));
    assert_eq!(disk.contents(), b"");
    writer.append_last(&records[..1]).unwrap();
    assert_eq!(writer.last_seq(), 1);
}
