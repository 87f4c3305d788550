//! The run log, and the command that prints it.

mod ends;
mod kept;

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::Arc;
use std::time::{Duration, Instant};

use insta::assert_snapshot;
use jiff::tz::TimeZone;
use nightwright::output::Reporter as _;
use nightwright::output::log::{LogOutput, LogReporter};
use nightwright_core::event::{AttemptEvent, Event, NoteEvent, Record, RunEvent};
use nightwright_core::journal::JournalLine;
use nightwright_core::redact::Secrets;
use nightwright_core::stream::message::{AgentMessage, MessageKind, Owner, TextPart, ToolStatus};
use rustix::process::Signal;

use super::fake_agent::send;
use super::harness::{RunningCommand, TestEnv, finish};
use super::report::{SharedBuffer, WORKER, records, run};

/// A crash, a rejected claim, and an iteration that fails.
const STORY: &str = r#"
[[attempt]]
cost = 0.12
steps = [{ say = "I look at the test first." }, { run = "echo one; exit 3" }]
end = { crash = 139 }
[[attempt]]
steps = [{ write = "b.txt", text = "two\n" }]
end = { result = "All done.\n<promise>COMPLETE</promise>" }
[[attempt]]
end = { error = "too odd" }
[[verify]]
verdict = "no"
reason = "the tests were never run"
missing = ["a run of test.sh"]
"#;

/// One iteration, then one that waits for the test, then the end of the run.
const PATIENT: &str = r#"
[[attempt]]
steps = [{ say = "The first part." }, { write = "a.txt", text = "a" }]
end = { result = "One of two." }
[[attempt]]
steps = [
  { say = "The second part." },
  { run = "while [ ! -e go ]; do sleep 0.02; done" },
  { write = "b.txt", text = "b" },
]
end = { result = "<promise>COMPLETE</promise>" }
[[attempt]]
steps = [{ say = "The second part, again." }, { write = "c.txt", text = "c" }]
end = { result = "<promise>COMPLETE</promise>" }
"#;

fn logs(run: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(run).unwrap().map(|entry| entry.unwrap().path());
    let is_log = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with("iterate-") && name.ends_with(".log")
    };
    let mut logs: Vec<_> = entries.filter(is_log).collect();
    logs.sort();
    logs
}

/// The only log of the only run.
fn the_log(env: &TestEnv) -> String {
    let logs = logs(&env.runs()[0]);
    assert_eq!(logs.len(), 1, "{logs:?}");
    fs::read_to_string(&logs[0]).unwrap()
}

/// Masks all values that differ between runs.
fn masked(text: &str, env: &TestEnv) -> String {
    let run = env.runs()[0].file_name().unwrap().to_str().unwrap().to_owned();
    let text = text.replace(&run, "RUN");
    let text = text.replace(&env.project().canonicalize().unwrap().display().to_string(), "DIR");
    let text = text.replace(super::agent_env::NIGHTWRIGHT, "NIGHTWRIGHT");
    let mut lines = Vec::new();
    for line in text.lines() {
        let mut words: Vec<String> = Vec::new();
        for word in line.split(' ') {
            let digits = word.chars().filter(char::is_ascii_digit).count();
            let clock = word.contains(':') && digits >= 6;
            let date = word.matches('-').count() == 2 && digits == 8;
            let number = word.trim_end_matches(',').trim_end_matches(['m', 's']);
            let span = number.len() < word.trim_end_matches(',').len()
                && !number.is_empty()
                && number.chars().all(|c| c.is_ascii_digit());
            words.push(match word {
                _ if clock && word.starts_with('[') => "[TIME]".to_owned(),
                _ if clock => "TIME".to_owned(),
                _ if date => "DATE".to_owned(),
                _ if span => "SPAN".to_owned(),
                word => word.to_owned(),
            });
        }
        lines.push(words.join(" "));
    }
    // Leave out the system prompt, which other tests check.
    let text = lines.join("\n") + "\n";
    let (head, rest) = text.split_once("# One piece").unwrap();
    let (_, rest) = rest.split_once("\nSTATUS INST").unwrap();
    format!("{head}(...)\n\nSTATUS INST{rest}")
}

fn run_of<'a>(script: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = vec!["run", "-p", "Make it good", "--no-delay", "--dry-run"];
    arguments.extend(["--rehearsal", script]);
    arguments.extend(more);
    arguments
}

fn kill(child: &mut Child) {
    send(child, Signal::KILL);
    child.wait().unwrap();
}

/// Waits until a condition holds.
fn until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_mins(1), "not {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Starts a run and waits for its second iteration.
fn in_the_second_iteration(env: &TestEnv) -> RunningCommand {
    let script = env.script(PATIENT);
    let child = env.start(&run_of(&script, &["-m", "5"]));
    until("in the second iteration", || {
        env.runs().iter().any(|run| {
            let said = fs::read_to_string(run.join("output/002-1.ndjson")).unwrap_or_default();
            let log = logs(run).first().and_then(|log| fs::read_to_string(log).ok());
            said.contains("The second part.") && log.is_some_and(|log| log.contains("\nSTATUS: "))
        })
    });
    child
}

#[test]
fn the_log_tells_a_run_section_by_section() {
    let env = TestEnv::new();
    let script = env.script(STORY);
    env.run(&run_of(&script, &["-m", "2", "--retry-delay", "1s"])).exits(0);
    assert_snapshot!(masked(&the_log(&env), &env), @r"
    ================================================================================
    NIGHTWRIGHT - EXECUTION LOG
    ================================================================================
    Started: DATE TIME UTC

    RUN METADATA
    --------------------------------------------------------------------------------
    Run:          RUN
    Task:         none, a goal
    Mode:         prompt
    Limits:       at most 2 iterations
    Run started:  DATE TIME UTC
    Project:      DIR
    Agent:        rehearsal 0.1.0 (NIGHTWRIGHT)

    INSTRUCTIONS
    --------------------------------------------------------------------------------
    Make it good

    SYSTEM PROMPT
    --------------------------------------------------------------------------------
    (...)

    STATUS INSTRUCTIONS
    --------------------------------------------------------------------------------
    none: there is no status file in this mode

    ================================================================================
    ITERATION 1
    ================================================================================
    Started: DATE TIME UTC

    REHEARSAL OUTPUT:
    [TIME] rehearsal, version 2.1.325

      ● I look at the test first.
      → Bash: echo one; exit 3
        ❌ exit 3
        │ one

    [TIME] attempt 1: exited with 139, no result, 0 turns, about $0.01 (rehearsed), SPAN
    [TIME] exited with 139, no result: retrying in SPAN

    REHEARSAL OUTPUT (attempt 2):
    [TIME] rehearsal, version 2.1.325

      → Write: b.txt (0.1 KB, 1 line)
        ok
      ● All done.
        <promise>COMPLETE</promise>

    [TIME] attempt 2: finished, 2 turns, $0.01 (rehearsed), SPAN
    [TIME] claimed complete: asking a model whether the work is complete

    VERIFY OUTPUT:
      verify:
      ● the tests were never run

    [TIME] verify: finished, $0.01 (rehearsed), SPAN
    [TIME] for the next iteration:
                   You said that the work is complete. It is not: the tests were never run
                   Missing: a run of test.sh
    [TIME] ⚠️ rejected: the tests were never run
                 missing: a run of test.sh

    --------------------------------------------------------------------------------
    STATUS: claim rejected
    Completed: DATE TIME UTC
    Work: 1 file
    Cost: $0.03 (rehearsed) in SPAN
    Summary: All done.
    Retried after: attempt 1: exited with 139, no result

    ================================================================================
    ITERATION 2
    ================================================================================
    Started: DATE TIME UTC

    REHEARSAL OUTPUT:
    [TIME] rehearsal, version 2.1.325
    [TIME] attempt 1: the provider rejected the request: API Error: 400 too odd, 1 turn, $0.00 (rehearsed), SPAN

    --------------------------------------------------------------------------------
    STATUS: failed
    Completed: DATE TIME UTC
    Work: no changes
    Cost: $0.00 (rehearsed) in SPAN
    Error: the provider rejected the request: API Error: 400 too odd

    ================================================================================
    END OF RUN
    ================================================================================
    Ended: DATE TIME UTC

    ⚠️ Reached maximum iterations (2)
      claim of iteration 1 not accepted: the tests were never run
      3 attempts, 1 file changed, SPAN active
      cost $0.03, $0.01 of it estimated (rehearsed: work $0.02 in 3 attempts, verify $0.01 in 1 call), 4,500 tokens
      next: raise the limit and continue: nightwright resume RUN --max-iterations 4
            read the log: nightwright log RUN
    ");
    let log = &logs(&env.runs()[0])[0];
    assert_eq!(fs::metadata(log).unwrap().permissions().mode() & 0o777, 0o600);
    let name = log.file_name().unwrap().to_str().unwrap();
    assert_eq!(name.len(), "iterate-YYYYMMDD-HHMMSS.log".len(), "{name}");
    // The log shows the system prompt that the agent received.
    let system = fs::read_to_string(env.runs()[0].join("prompts/001-1.system.md")).unwrap();
    assert!(the_log(&env).contains(&format!("\nSYSTEM PROMPT\n{}\n{system}", "-".repeat(80))));
    assert_eq!(env.run(&["log"]).exits(0).out, the_log(&env));
}

#[test]
fn every_event_is_reported_and_nothing_in_it_can_be_obeyed_by_a_terminal() {
    let paper = SharedBuffer::default();
    let written = paper.clone();
    let out = LogOutput::new(Arc::new(|why| panic!("{why}")));
    let out = out.to("the log", Path::new("log"), move || Ok(Box::new(written)));
    let mut log = LogReporter::new(out, Secrets::default(), None).in_zone(TimeZone::UTC);
    for (mut record, seq) in records().into_iter().zip(1..) {
        match &mut record.event {
            Event::Run(RunEvent::Started(started)) => {
                started.settings.goal = "\u{1b}[2JDo\u{202e} it".to_owned();
            }
            Event::Note(NoteEvent::Warning { text }) => text.push_str(" \u{1b}]0;title\u{7}odd"),
            _ => {}
        }
        let finished = matches!(record.event, Event::Attempt(AttemptEvent::Finished { .. }));
        if finished {
            let text = "Look:\u{1b}[31m red\u{9b}1m\u{8}".into();
            let kind = MessageKind::Text { text, part: TextPart::Whole };
            log.message(WORKER, &AgentMessage { owner: Owner::Main, kind }).unwrap();
        }
        log.event(&JournalLine { seq, run: run(), record }, b"").unwrap();
    }
    log.close().unwrap();
    let text = paper.text();
    assert!(!text.contains(|c: char| c.is_control() && c != '\n' && c != '\t'), "{text:?}");
    assert!(!text.contains('\u{202e}') && text.contains("\nDo it\n"), "{text}");
    for part in [
        "] ⚠️ usage limit: waiting until",
        "] the agent asked a question: Shall I also move the tests?",
        "] the provider is overloaded: retrying in",
        "rejected: `cargo test` failed",
        "● Look: red",
        "\nSTATUS: ",
        "\nEND OF RUN\n",
    ] {
        assert!(text.contains(part), "{part} is not in:\n{text}");
    }
}

#[test]
fn an_event_between_a_call_and_its_result_is_shown_clearly_in_the_log() {
    let paper = SharedBuffer::default();
    let written = paper.clone();
    let out = LogOutput::new(Arc::new(|why| panic!("{why}")));
    let out = out.to("the log", Path::new("log"), move || Ok(Box::new(written)));
    let mut log = LogReporter::new(out, Secrets::default(), None).in_zone(TimeZone::UTC);
    let input = r#"{"command":"make"}"#;
    let kind = MessageKind::ToolCall { id: "1".into(), name: "Bash".into(), input };
    log.message(WORKER, &AgentMessage { owner: Owner::Main, kind }).unwrap();
    let event = Event::Note(NoteEvent::Warning { text: "odd".to_owned() });
    let record = Record { event, ..records()[0].clone() };
    log.event(&JournalLine { seq: 1, run: run(), record }, b"").unwrap();
    let kind = MessageKind::ToolResult { id: "1".into(), status: ToolStatus::Ok, content: "7" };
    log.message(WORKER, &AgentMessage { owner: Owner::Main, kind }).unwrap();
    log.close().unwrap();
    let text = paper.text();
    assert!(text.contains("odd\n\n  ← Bash: make\n    ok, 1 line\n"), "{text}");
}

#[test]
fn the_log_of_a_task_has_its_instructions_and_what_remains() {
    let env = TestEnv::new();
    env.run(&["new", "migrate"]).exits(0);
    env.file(".nightwright/tasks/migrate/INSTRUCTIONS.md", "Move every handler.\nOne at a time.\n");
    let status = r#"{"complete":false,"progress":{"completed":3,"total":7},"worked":true,"summary":"Three moved."}"#;
    let script = env.script(&format!(
        "[[attempt]]\nsteps = [{{ write = '.nightwright/tasks/migrate/.status.json', text = '{status}' }},\n\
         {{ write = 'a.txt', text = 'a' }}]\nend = {{ result = 'Three moved.' }}\n"
    ));
    let run = ["run", "migrate", "-m", "1", "--no-delay", "--dry-run", "--rehearsal", &script];
    env.run(&run).exits(0);
    let log = the_log(&env);
    for part in [
        "\nTask:         migrate\nMode:         loop\n",
        "\nMove every handler.\nOne at a time.\n",
        "\nSTATUS INSTRUCTIONS\n",
        "\nKeep `.nightwright/tasks/migrate/.status.json` up to date",
        "\nSTATUS: progress\n",
        "\nRemaining: 4 items (3 of 7 done)\n",
        "\nEND OF RUN\n",
    ] {
        assert!(log.contains(part), "{part} is not in:\n{log}");
    }
    for title in ["INSTRUCTIONS", "SYSTEM PROMPT", "STATUS INSTRUCTIONS", "RUN METADATA"] {
        assert_eq!(log.matches(&format!("\n{title}\n---")).count(), 1, "{title}");
    }
}

#[test]
fn a_wait_is_in_the_log_while_it_lasts() {
    let env = TestEnv::new();
    let script = env.script("[[attempt]]\nend = { limit = '2h' }");
    let child = env.start(&run_of(&script, &["-m", "2"]));
    env.wait_for("limit_wait_started");
    until("in the log", || {
        env.runs().first().is_some_and(|run| {
            let text = logs(run).first().and_then(|log| fs::read_to_string(log).ok());
            text.is_some_and(|text| text.contains("usage limit: waiting until"))
        })
    });
    env.run(&["stop", "--now"]).exits(0);
    finish(child).exits(130);
    let log = the_log(&env);
    assert!(log.contains("\nSTATUS: interrupted\n") && log.contains("\nEND OF RUN\n"), "{log}");
    assert!(log.contains("\nRetried after: attempt 1: usage limit until "), "{log}");
}

#[test]
fn killed_in_the_middle_everything_up_to_the_last_iteration_is_there_and_a_later_process_continues()
{
    let env = TestEnv::new();
    let mut child = in_the_second_iteration(&env);
    kill(&mut child);
    let log = the_log(&env);
    assert!(log.contains("The first part.") && log.contains("\nSTATUS: progress\n"), "{log}");
    let output = env.run(&["log", "-f"]).exits(0).says(&["crashed", "nightwright resume 2"]);
    assert_eq!(output.out, log);

    env.run(&["resume"]).exits(0);
    let run = &env.runs()[0];
    let both = logs(run);
    assert_eq!(both.len(), 2, "{both:?}");
    let later = fs::read_to_string(&both[1]).unwrap();
    let first = both[0].file_name().unwrap().to_str().unwrap();
    for part in [&format!("\nPrevious log: {first}\n"), "\nITERATION 2 (continued)\n", "\nEND OF"] {
        assert!(later.contains(part), "{part} is not in:\n{later}");
    }
    assert!(!later.contains("\nSYSTEM PROMPT\n"), "that is told once:\n{later}");
    let output = env.run(&["log"]).exits(0);
    assert_eq!((output.out, output.err.as_str()), (log + &later, ""));
}

#[test]
fn a_log_can_be_followed_until_the_run_ends() {
    let env = TestEnv::new();
    let child = in_the_second_iteration(&env);
    let mut follower = env.start(&["log", "-f"]);
    let events = env.start(&["log", "-f", "--json"]);
    let raw = env.start(&["log", "-f", "--raw"]);
    // The log is read before the run continues.
    let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines();
    lines.find(|line| line.as_ref().unwrap().contains("The second part.")).unwrap().unwrap();
    env.file("go", "");
    finish(child).exits(0);
    let rest: Vec<_> = lines.map(Result::unwrap).collect();
    assert!(rest.contains(&"END OF RUN".to_owned()), "{rest:?}");
    assert!(follower.wait().unwrap().success());
    let journal = fs::read_to_string(env.runs()[0].join("journal.jsonl")).unwrap();
    assert_eq!(finish(events).exits(0).out, journal);
    let output = env.runs()[0].join("output");
    let outputs = ["001-1", "002-1", "002-verify-1"]
        .map(|label| fs::read_to_string(output.join(format!("{label}.ndjson"))).unwrap());
    assert_eq!(finish(raw).exits(0).out, outputs.concat());
    assert_eq!(env.run(&["log", "--raw"]).exits(0).out, outputs.concat());
}

#[test]
fn closing_the_pipe_after_the_first_line_is_no_error() {
    let env = TestEnv::new();
    let script = env.script(
        "[[attempt]]\nsteps = [{ say = 'A line that fills a pipe.', times = 1000 }]\n\
         end = { result = '<promise>COMPLETE</promise>' }",
    );
    env.run(&run_of(&script, &["-m", "1"])).exits(0);
    let mut child = env.start(&["log", "--raw"]);
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let status = child.wait().unwrap();
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!((status.code(), said.as_str()), (Some(0), ""));
    assert!(line.starts_with('{'), "{line}");
}

#[test]
fn a_run_that_is_not_there_is_an_error() {
    let env = TestEnv::new();
    env.run(&["log"]).exits(1).says(&["there is no run in `", "hint: "]);
    env.run(&["log", "nothing"]).exits(1).says(&["there is no run `nothing`"]);
}
