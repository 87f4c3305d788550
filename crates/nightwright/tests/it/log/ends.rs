//! Logs of runs that ended abruptly: they contain everything up to that point.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::tz::TimeZone;
use nightwright::error::WarnFn;
use nightwright::output::follow::{FollowTarget, FollowerFinish, FollowerHandle};
use nightwright::output::log::{LogOutput, LogReporter};
use nightwright::store::journal;
use nightwright_core::redact::Secrets;

use super::{kill, logs, run_of, until};
use crate::harness::TestEnv;
use crate::recordings_shown::{one_attempt, recording};
use crate::report::{SharedBuffer, run};
use crate::tasks::disk::{SmallDisk, is_root, skip};

/// More time than any log needs; only a failing test waits this long.
const LONG: Duration = Duration::from_mins(1);

/// Writes the log of a run whose agent printed this, to where it is wanted.
fn write_log(output: &[u8], out: impl FnOnce(WarnFn) -> LogOutput) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("journal.jsonl");
    fs::create_dir(folder.path().join("output")).unwrap();
    fs::write(folder.path().join("output/003-1.ndjson"), output).unwrap();
    journal::create(&journal, run()).unwrap().append(&one_attempt()).unwrap();
    let followed =
        FollowTarget { journal, output: folder.path().join("output"), after: 0, written: None };
    let heard = Arc::new(Mutex::new(Vec::new()));
    let said = Arc::clone(&heard);
    let out = out(Arc::new(move |text| said.lock().unwrap().push(text)));
    let log = LogReporter::new(out, Secrets::default(), None).in_zone(TimeZone::UTC);
    assert_eq!(FollowerHandle::start(followed, Box::new(log)).finish(LONG), FollowerFinish::InTime);
    heard.lock().unwrap().clone()
}

/// The log of it.
fn logged(output: &[u8]) -> String {
    let paper = SharedBuffer::default();
    let sheet = paper.clone();
    let complaints = write_log(output, |complain| {
        LogOutput::new(complain).to("the log", Path::new("x"), || Ok(Box::new(sheet)))
    });
    assert_eq!(complaints, [""; 0]);
    paper.text()
}

fn delta(text: &str) -> String {
    format!(
        r#"{{"type":"stream_event","event":{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{text}"}}}},"parent_tool_use_id":null}}"#
    )
}

fn whole(text: &str) -> String {
    format!(
        r#"{{"type":"assistant","message":{{"id":"m","model":"m","content":[{{"type":"text","text":"{text}"}}]}},"parent_tool_use_id":null}}"#
    )
}

fn words(lines: &[String]) -> Vec<String> {
    let log = logged(lines.join("\n").as_bytes());
    let said = log.lines().skip_while(|line| !line.starts_with("  ●"));
    let said = said.take_while(|line| line.starts_with("  ")).map(str::trim);
    said.map(str::to_owned).collect()
}

#[test]
fn the_last_words_of_an_agent_that_crashed_are_in_the_log() {
    let said = ["The test ", "fails because\\nof the ", "clock, so"].map(delta);
    assert_eq!(words(&said), ["● The test fails because", "of the clock, so"]);
    let beside = r#"{"type":"system","subtype":"status","status":"x"}"#.to_owned();
    let [first, second, third] = said;
    assert_eq!(
        words(&[delta("One."), whole("One."), first, beside, second, third]),
        ["● One.", "The test fails because", "of the clock, so"]
    );
}

#[test]
fn words_that_come_whole_are_in_the_log_once() {
    let said = [delta("One "), delta("two."), whole("One two."), delta("Three"), whole("Three.")];
    assert_eq!(words(&said), ["● One two.", "Three."]);
    let log = logged(&recording("e_partial"));
    assert_eq!(log.matches("A text that is longer than one forty-character chunk").count(), 1);
}

#[test]
fn the_log_has_the_end_of_long_partial_messages() {
    let mut said: Vec<_> = (0..60_000).map(|line| delta(&format!("line {line}\\n"))).collect();
    said.push(delta("the end of it"));
    let words = words(&said);
    assert_eq!(words.last().map(String::as_str), Some("the end of it"));
    assert!(words.len() > 10_000, "{} lines", words.len());
}

#[test]
fn a_disk_that_is_full_ends_the_log_with_one_warning_and_what_fits_is_there() {
    if !is_root() {
        return skip("only root can mount a small disk");
    }
    let folder = tempfile::tempdir().unwrap();
    let disk = match SmallDisk::mount(folder.path()) {
        Ok(disk) => disk,
        Err(why) => return skip(&format!("no small disk: {why}")),
    };
    let path = folder.path().join("iterate.log");
    let said: Vec<_> = (0..4_000).map(|line| whole(&format!("Much to say: {line}."))).collect();
    let complaints =
        write_log(said.join("\n").as_bytes(), |complain| LogOutput::new(complain).file(&path));
    let [complaint] = complaints.as_slice() else { panic!("{complaints:?}") };
    assert!(complaint.starts_with("cannot write the log `"), "{complaint}");
    assert!(complaint.contains("No space left on device"), "{complaint}");
    let log = fs::read_to_string(&path).unwrap();
    let lines: Vec<_> = log.lines().filter(|line| line.contains("Much to say: ")).collect();
    assert!(lines.len() > 1_000, "{} lines", lines.len());
    for (number, line) in lines.iter().enumerate().take(lines.len() - 1) {
        assert!(line.ends_with(&format!("Much to say: {number}.")), "{line}");
    }
    drop(disk);
}

#[test]
fn killed_at_any_moment_the_log_has_everything_that_was_written_out() {
    let step = |part: usize| {
        let waits = format!("while [ ! -e go-{part} ]; do sleep 0.02; done");
        let words = "so many words ".repeat(300);
        format!("{{ say = \"Part {part}. {words}\" }}, {{ run = \"{waits}\" }}")
    };
    let steps: Vec<_> = (1..=5).map(step).collect();
    let script = format!("[[attempt]]\nsteps = [{}]\nend = {{ result = 'x' }}\n", steps.join(", "));
    for last in 1..=5 {
        let env = TestEnv::new();
        let script = env.script(&script);
        for part in 1..last {
            env.file(&format!("go-{part}"), "");
        }
        let mut child = env.start(&run_of(&script, &["-m", "1"]));
        let log = || {
            let log = env.runs().first().and_then(|run| logs(run).pop());
            log.and_then(|log| fs::read_to_string(log).ok()).unwrap_or_default()
        };
        let waits = format!("go-{last} ]");
        until("so far", || log().contains(&waits));
        kill(&mut child);
        let log = log();
        assert!(log.starts_with("====") && log.ends_with('\n'), "{last}:\n{log}");
        for part in 1..=5 {
            let there = usize::from(part <= last);
            assert_eq!(log.matches(&format!("● Part {part}. ")).count(), there, "{last}:\n{log}");
        }
    }
}
