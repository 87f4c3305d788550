//! Recordings of the real program, rendered at each output level.

use std::fs;
use std::path::Path;
use std::time::Duration;

use nightwright::config::{ColorChoice, OutputLevel};
use nightwright::output::follow::{FollowTarget, FollowerFinish, FollowerHandle};
use nightwright::output::{Style, reporter};
use nightwright::store::journal;
use nightwright_core::event::{AttemptEvent, Event, IterationEvent, Record, RunEvent};

use crate::report::{SharedBuffer, records, run, style};

/// More time than any display needs; only a failing test waits this long.
const LONG: Duration = Duration::from_mins(1);

/// Successful, failed, parallel and denied tools, a subagent, unusual characters and streamed text.
const RECORDINGS: [&str; 7] = [
    "b_tools_ok",
    "b_tools_fail",
    "c_parallel",
    "k_subagent",
    "q_unicode",
    "e_partial",
    "o_denied",
];

/// A run of one iteration with one attempt.
pub(crate) fn one_attempt() -> Vec<Record> {
    let wanted = |record: &Record| {
        matches!(
            record.event,
            Event::Run(RunEvent::Started(_) | RunEvent::Finished { .. })
                | Event::Iteration(IterationEvent::Started { .. } | IterationEvent::Finished(_))
                | Event::Attempt(
                    AttemptEvent::Started { .. }
                        | AttemptEvent::AgentReady { .. }
                        | AttemptEvent::Finished { .. }
                )
        )
    };
    records().into_iter().filter(wanted).collect()
}

/// The output of a run whose agent printed these bytes.
fn shown(output: &[u8], level: OutputLevel, style: Style) -> String {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("journal.jsonl");
    fs::create_dir(folder.path().join("output")).unwrap();
    fs::write(folder.path().join("output/003-1.ndjson"), output).unwrap();
    journal::create(&journal, run()).unwrap().append(&one_attempt()).unwrap();
    let recorded = fs::read_to_string(&journal).unwrap();
    let followed =
        FollowTarget { journal, output: folder.path().join("output"), after: 0, written: None };
    let paper = SharedBuffer::default();
    let display = FollowerHandle::start(followed, reporter(level, style, Box::new(paper.clone())));
    assert_eq!(display.finish(LONG), FollowerFinish::InTime);
    if level == OutputLevel::Json {
        assert_eq!(paper.text(), recorded, "the events are those of the journal, byte by byte");
    }
    paper.text()
}

pub(crate) fn recording(name: &str) -> Vec<u8> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../nightwright-core/tests/fixtures");
    fs::read(fixtures.join("claude").join(name).join("stdout.ndjson")).unwrap()
}

#[test]
fn verbose_shows_messages_and_tool_calls() {
    for name in RECORDINGS {
        let text = shown(&recording(name), OutputLevel::Verbose, style(true, ColorChoice::Never));
        insta::assert_snapshot!(name, text);
    }
}

#[test]
fn the_other_levels_show_the_run_and_not_the_agent() {
    for name in RECORDINGS {
        let at = |level| shown(&recording(name), level, style(true, ColorChoice::Never));
        assert_eq!(at(OutputLevel::Quiet), "", "{name}");
        let json = at(OutputLevel::Json);
        let kinds: Vec<_> = json
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["event"].clone())
            .collect();
        assert_eq!(kinds.len(), one_attempt().len(), "{name}: {json}");
        assert_eq!(kinds.last().unwrap(), "run_finished", "{name}");
        insta::allow_duplicates! {
            insta::assert_snapshot!(at(OutputLevel::Progress), @r"
            Run 20261115-233412-7f3a: migrate-api (loop)
              at most 50 iterations, $20.00, 8h 00m of work
            Running iteration 3...
            ❌ Iteration 3 failed: the provider is overloaded
            ");
        }
    }
}

#[test]
fn two_messages_with_the_same_words_are_two() {
    for (name, words) in [("n_hooks", "● I think I am done."), ("f_refusal", "● partial")] {
        let text = shown(&recording(name), OutputLevel::Verbose, style(true, ColorChoice::Never));
        assert_eq!(text.matches(words).count(), 2, "{name}:\n{text}");
    }
}

#[test]
fn a_very_long_line_is_shown_from_its_beginning() {
    let words = "first\\n".to_owned() + &"x".repeat(5_000_000);
    let line = format!(
        r#"{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"t","content":"{words}"}}]}},"tool_use_result":{{"originalFile":"{words}"}}}}"#
    );
    let numbers = format!(r#"{{"type":"user","x":[{}0]}}"#, "0,".repeat(2_000_000));
    let output = format!("{line}\n{numbers}\n");
    let text = shown(output.as_bytes(), OutputLevel::Verbose, style(true, ColorChoice::Never));
    assert!(
        text.contains("  ← an earlier call\n    ok, more than 2 lines\n    │ first\n    │ xxxx"),
        "{text}"
    );
    assert!(text.contains("  skipped a line of 4 MB; it is in the raw output\n"), "{text}");
}
