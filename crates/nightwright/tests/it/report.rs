//! The output of the reporters at all levels.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use insta::assert_snapshot;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use nightwright::config::{ColorChoice, OutputLevel};
use nightwright::output::{OutputCapabilities, Speaker, Style, reporter};
use nightwright_core::event::{
    AttemptEvent, CallEvent, CallPurpose, CostSource, Event, GateEvent, IterationEvent,
    IterationFinished, IterationResult, NoteEvent, Progress, Record, WaitEvent, samples,
};
use nightwright_core::input::Checklist;
use nightwright_core::journal::{JournalLine, encode};
use nightwright_core::stream::message::{AgentMessage, MessageKind, Owner, TextPart, ToolStatus};
use nightwright_core::stream::news::{Answer, AttemptReport, WatchdogFinding, WatchdogSignal};
use nightwright_core::stream::outcome::AttemptOutcome;
use nightwright_core::units::{AttemptId, CallId, RunId, Usd};

/// A buffer that the test can read while a reporter writes to it.
#[derive(Clone, Default)]
pub(crate) struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

impl SharedBuffer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for SharedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A pipe whose other end is closed.
pub(crate) struct ClosedPipe;

impl Write for ClosedPipe {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Err(io::ErrorKind::BrokenPipe.into())
    }
}

pub(crate) fn style(utf8: bool, color: ColorChoice) -> Style {
    let surroundings = OutputCapabilities { utf8, ..OutputCapabilities::default() };
    Style::new(color, &surroundings).in_zone(TimeZone::UTC)
}

pub(crate) fn run() -> RunId {
    RunId("20261115-233412-7f3a".to_owned())
}

/// One event of every kind, a second apart.
pub(crate) fn records() -> Vec<Record> {
    let start: Timestamp = "2026-11-15T23:34:12Z".parse().unwrap();
    let record = |(event, second)| {
        let active = Duration::from_secs(second);
        Record { at: start + active, active, event }
    };
    samples().into_iter().zip(0..).map(record).collect()
}

/// The first record of a kind.
fn of_kind(wanted: impl Fn(&Event) -> bool) -> Record {
    records().into_iter().find(|record| wanted(&record.event)).unwrap()
}

fn lines() -> Vec<(JournalLine, Vec<u8>)> {
    let line = |(record, seq): (Record, u64)| {
        let mut raw = Vec::new();
        encode(&mut raw, seq, &run(), &record);
        raw.pop();
        (JournalLine { seq, run: run(), record }, raw)
    };
    records().into_iter().zip(1..).map(line).collect()
}

/// The speaker of a working attempt.
pub(crate) const WORKER: Speaker = Speaker::Attempt(AttemptId(7));

fn messages() -> Vec<AgentMessage<'static>> {
    let text = |text: &'static str, part| MessageKind::Text { text: text.into(), part };
    let call = |id: &'static str, name: &'static str, input| MessageKind::ToolCall {
        id: id.into(),
        name: name.into(),
        input,
    };
    let result = |id: &'static str, status, content| MessageKind::ToolResult {
        id: id.into(),
        status,
        content,
    };
    let main = [
        text("I shall look\nat ", TextPart::Delta),
        text("I shall look\nat the tests.", TextPart::Whole),
        MessageKind::Thinking,
        call("1", "Bash", r#"{"command":"make test","description":"run all","timeout":120000}"#),
        result("1", ToolStatus::Failed, r#""Exit code 2\nno rule""#),
        call("2", "Read", r#"{"file_path":"a.rs","offset":9,"limit":2}"#),
        result("2", ToolStatus::Ok, r#""9\tfn a() {}\n10\t\tb();""#),
        call("3", "Edit", r#"{"file_path":"a.rs","old_string":"x\ny","new_string":"x\nz"}"#),
        result("3", ToolStatus::Failed, r#""String to replace not found in file.""#),
        call("4", "Write", r#"{"file_path":"b.rs","content":"one\ntwo\n"}"#),
        call("5", "mcp__demo__add", r#"{"a":2,"b":3}"#),
        result("5", ToolStatus::Ok, r#"[{"type":"text","text":"5"}]"#),
        result("4", ToolStatus::Ok, r#""done""#),
        call("6", "Agent", r#"{"description":"count the files","subagent_type":"explorer"}"#),
    ];
    let sub = [
        text("not for us", TextPart::Whole),
        call("7", "Glob", r#"{"pattern":"*.rs","path":"src"}"#),
        result("7", ToolStatus::Ok, r#""a.rs\nb.rs""#),
    ];
    let last = [result("6", ToolStatus::Ok, r#""Two files.""#)];
    let by = |owner: Owner<'static>| move |kind| AgentMessage { owner: owner.clone(), kind };
    main.into_iter()
        .map(by(Owner::Main))
        .chain(sub.into_iter().map(by(Owner::Sub { call: "6".into() })))
        .chain(last.into_iter().map(by(Owner::Main)))
        .collect()
}

/// The output of all events and messages at this level.
fn shown(level: OutputLevel, style: Style) -> String {
    let paper = SharedBuffer::default();
    let mut reporter = reporter(level, style, Box::new(paper.clone()));
    for (line, raw) in lines() {
        reporter.event(&line, &raw).unwrap();
        if let Event::Attempt(AttemptEvent::AgentReady { .. }) = line.record.event {
            for message in messages() {
                reporter.message(WORKER, &message).unwrap();
            }
        }
    }
    reporter.flush().unwrap();
    paper.text()
}

#[test]
fn progress_is_a_line_or_two_for_each_thing_that_matters() {
    assert_snapshot!(shown(OutputLevel::Progress, style(true, ColorChoice::Auto)), @r#"
    Run 20261115-233412-7f3a: migrate-api (loop)
      at most 50 iterations, $20.00, 8h 00m of work
    Run 20261115-233412-7f3a: migrate-api (loop)
      at most 50 iterations, $20.00, 8h 00m of work; so far 0 iterations, $0.00
    Resuming after a crash
    Running iteration 3...
    Iteration 4: skipped by a hook
      the provider is overloaded: retrying in 6m 25s
    ⚠️ usage limit: waiting until Mon 01:01 (1h 20m)
      continuing after a wait of 1h 20m
      status: 35/60 items (+5) - orders and invoices moved
    ⚠️ blocked: a password for the staging database. Action: put it into `.env` as STAGING_PASSWORD. Resume: I run the migration
      the agent asked a question: Shall I also move the tests?
      answered: You get no answer. Choose, note the choice, continue.
    ⚠️ denied: docker compose up (allow with --allowed-tools "Bash(docker compose up:*)")
      claimed complete: running the checks (`cargo test`)
      asking a model whether the work is complete
    ⚠️ rejected: `cargo test` failed (exit 101)
        test invoice::rounds … FAILED
        	test result: "FAILED"
      missing: src/returns.rs
      decided: keep the old routes for one release
      the agent wrote the principles; they now apply
    Changed agent.allowed_tools: added Bash(npm install:*)
    ❌ Iteration 3 failed: the provider is overloaded
    Stopping before the next iteration, requested by `nightwright stop`
    Stop cancelled
    Paused. To continue, run `nightwright resume 20261115-233412-7f3a`
    Resumed
    Retried less than a minute ago; not retrying yet
    ⚠️ the hook `iteration_finished` failed: exited with 127
    ⚠️ the sandbox refused a connection to db.example:5432: 10.0.0.5 is a private address. To allow it, set `sandbox.private_hosts = ["db.example:5432"]`
    ⚠️ ignoring `.status.json`: it is not valid JSON: expected value at line 1 column 1
    "#);
}

#[test]
fn progress_has_no_symbols_where_the_locale_has_none() {
    let text = shown(OutputLevel::Progress, style(false, ColorChoice::Auto));
    let signed: Vec<_> =
        text.lines().filter(|line| line.contains("error:") || line.contains("warning:")).collect();
    assert_snapshot!(signed.join("\n"), @r#"
    warning: usage limit: waiting until Mon 01:01 (1h 20m)
    warning: blocked: a password for the staging database. Action: put it into `.env` as STAGING_PASSWORD. Resume: I run the migration
    warning: denied: docker compose up (allow with --allowed-tools "Bash(docker compose up:*)")
    warning: rejected: `cargo test` failed (exit 101)
    error: Iteration 3 failed: the provider is overloaded
    warning: the hook `iteration_finished` failed: exited with 127
    warning: the sandbox refused a connection to db.example:5432: 10.0.0.5 is a private address. To allow it, set `sandbox.private_hosts = ["db.example:5432"]`
    warning: ignoring `.status.json`: it is not valid JSON: expected value at line 1 column 1
    "#);
    let symbols = ['✓', '⚠', '❌', '·'];
    assert!(!text.contains(symbols), "{text}");
    let text = shown(OutputLevel::Verbose, style(false, ColorChoice::Auto));
    assert!(text.contains("  -> Bash: make") && text.contains("    | no rule"), "{text}");
    assert!(text.contains("  * I shall look") && text.contains("  <- Write"), "{text}");
    assert!(!text.contains(['→', '←', '●', '│', '❌']), "{text}");
}

#[test]
fn text_of_the_agent_is_not_transliterated() {
    let paper = SharedBuffer::default();
    let style = style(false, ColorChoice::Never).with_width(Some(60));
    let mut reporter = reporter(OutputLevel::Verbose, style, Box::new(paper.clone()));
    let long = "x".repeat(100);
    let input = format!(r#"{{"pattern":"a → b … · ● │ ← {long}"}}"#);
    let kind = MessageKind::ToolCall { id: "1".into(), name: "Grep".into(), input: &input };
    reporter.message(WORKER, &AgentMessage { owner: Owner::Main, kind }).unwrap();
    let mut record =
        of_kind(|event| matches!(event, Event::Note(NoteEvent::CouncilDecided { .. })));
    if let Event::Note(NoteEvent::CouncilDecided { decision, .. }) = &mut record.event {
        *decision = format!("→ {}", "y".repeat(200));
    }
    reporter.event(&JournalLine { seq: 1, run: run(), record }, b"").unwrap();
    let mut record = of_kind(|event| matches!(event, Event::Note(NoteEvent::StatusChanged { .. })));
    if let Event::Note(NoteEvent::StatusChanged { summary, .. }) = &mut record.event {
        *summary = "z".repeat(300);
    }
    reporter.event(&JournalLine { seq: 2, run: run(), record }, b"").unwrap();
    reporter.flush().unwrap();
    let text = paper.text();
    assert!(text.contains("zzz...") && !text.contains("z…"), "{text}");
    assert!(text.starts_with("  -> Grep: a → b … · ● │ ← xxx"), "{text}");
    assert!(text.lines().next().unwrap().ends_with("x..."), "{text}");
    assert!(text.lines().nth(1).unwrap().ends_with("y..."), "{text}");
    assert!(text.lines().nth(1).unwrap().contains("decided: → yyy"), "{text}");
}

#[test]
fn an_event_between_a_call_and_its_result_makes_the_result_name_its_call() {
    let paper = SharedBuffer::default();
    let style = style(true, ColorChoice::Never);
    let mut reporter = reporter(OutputLevel::Verbose, style, Box::new(paper.clone()));
    let input = r#"{"command":"make"}"#;
    let call =
        |id: &'static str| MessageKind::ToolCall { id: id.into(), name: "Bash".into(), input };
    let content = "\"\"";
    let result = |id: &'static str| MessageKind::ToolResult {
        id: id.into(),
        status: ToolStatus::Ok,
        content,
    };
    let mut say = |kind: MessageKind<'static>, event: Option<Event>| {
        reporter.message(WORKER, &AgentMessage { owner: Owner::Main, kind }).unwrap();
        if let Some(event) = event {
            let record = Record { event, ..records()[0].clone() };
            reporter.event(&JournalLine { seq: 1, run: run(), record }, b"").unwrap();
        }
        reporter.flush().unwrap();
    };
    say(call("1"), Some(Event::Note(NoteEvent::Warning { text: "odd".to_owned() })));
    say(result("1"), None);
    // This event has no output.
    let silent = of_kind(|event| matches!(event, Event::Wait(WaitEvent::QuotaReported { .. })));
    say(call("2"), Some(silent.event));
    say(result("2"), None);
    assert_snapshot!(paper.text(), @r"
      → Bash: make
    ⚠️ odd
      ← Bash: make
        ok, no output
      → Bash: make
        ok, no output
    ");
}

#[test]
fn verbose_has_the_words_and_the_tools_of_the_agent_too() {
    let progress = shown(OutputLevel::Progress, style(true, ColorChoice::Auto));
    let verbose = shown(OutputLevel::Verbose, style(true, ColorChoice::Auto));
    let more: Vec<_> =
        verbose.lines().filter(|line| !progress.lines().any(|known| known == *line)).collect();
    assert_snapshot!(more.join("\n"), @r#"
      claude-opus-4-6, version 2.1.37
      ● I shall look
        at the tests.
      → Bash: make test (run all), timeout 2m 00s
        ❌ exit 2
        │ no rule
      → Read: a.rs, lines 9-10
        ok, 2 lines
        │  9  fn a() {}
        │ 10  	b();
      → Edit: a.rs
          x
        - y
        + z
        ❌ failed
        │ String to replace not found in file.
        likely: the text has already changed, or its whitespace differs
        tip: read the file again and copy the text from it
      → Write: b.rs (0.1 KB, 2 lines)
      → mcp__demo__add: a, b
        ok, 1 line
        │ 5
      ← Write: b.rs (0.1 KB, 2 lines)
        ok
      → Agent: count the files (explorer)
          → Glob: *.rs in src
            found 2 files
            │ a.rs
            │ b.rs
      ← Agent: count the files (explorer)
        ok, 1 line
        │ Two files.
      attempt 1: finished, 23 turns, $0.42, 6m 12s
      claimed by the status file, the completion marker
      for the next iteration: `cargo test` failed (exit 101): test invoice::rounds
    "#);
    let kept = progress.lines().all(|line| verbose.lines().any(|known| known == line));
    assert!(kept, "{verbose}");
}

#[test]
fn an_iteration_is_reported_in_one_line_without_what_is_nought() {
    let done = |change: &dyn Fn(&mut IterationFinished)| {
        let finished = samples().into_iter().find_map(|event| match event {
            Event::Iteration(IterationEvent::Finished(finished)) => Some(*finished),
            _ => None,
        });
        let mut finished = finished.unwrap();
        finished.result = IterationResult::Done;
        change(&mut finished);
        let record = Record {
            event: Event::Iteration(IterationEvent::Finished(Box::new(finished))),
            ..records().remove(0)
        };
        let paper = SharedBuffer::default();
        let style = style(true, ColorChoice::Never);
        let mut reporter = reporter(OutputLevel::Progress, style, Box::new(paper.clone()));
        let (seq, run) = (1, run());
        reporter.event(&JournalLine { seq, run, record }, b"").unwrap();
        reporter.flush().unwrap();
        paper.text().trim_end().to_owned()
    };
    let nothing = |finished: &mut IterationFinished| {
        (finished.files_changed, finished.commits) = (0, 0);
        finished.progress = Progress::Idle;
        (finished.task, finished.checklist) = (None, None);
    };
    let boxes = |finished: &mut IterationFinished| {
        finished.task = None;
        finished.checklist = Some(Checklist { open: 1, done: 4 });
    };
    let stopped = |finished: &mut IterationFinished| {
        nothing(finished);
        finished.result = IterationResult::Interrupted;
        (finished.progress, finished.end) = (Progress::Uncounted, None);
        finished.cost = Usd::ZERO;
    };
    assert_eq!(
        [done(&|_| ()), done(&boxes), done(&nothing), done(&stopped)],
        [
            "iteration 3: 4 files, 2 commits, $0.43, 7m 10s · 35/60 (25 items remaining)",
            "iteration 3: 4 files, 2 commits, $0.43, 7m 10s · 4/5 (1 item remaining)",
            "iteration 3: no changes, $0.43, 7m 10s",
            "iteration 3: interrupted, 7m 10s",
        ]
    );
}

#[test]
fn quiet_is_quiet() {
    assert_eq!(shown(OutputLevel::Quiet, style(true, ColorChoice::Always)), "");
}

#[test]
fn json_is_the_journal_byte_by_byte() {
    let mut journal = Vec::new();
    for (_, raw) in lines() {
        journal.extend(raw);
        journal.push(b'\n');
    }
    let shown = shown(OutputLevel::Json, style(true, ColorChoice::Always));
    assert_eq!(shown.as_bytes(), journal);
}

#[test]
fn color_adds_nothing_that_the_words_do_not_say() {
    let plain = shown(OutputLevel::Verbose, style(true, ColorChoice::Never));
    let mut colored = shown(OutputLevel::Verbose, style(true, ColorChoice::Always));
    assert!(colored.contains("\u{1b}[33m"));
    for code in ["31", "32", "33", "36", "2", "0"] {
        colored = colored.replace(&format!("\u{1b}[{code}m"), "");
    }
    assert_eq!(colored, plain);
}

#[test]
fn text_of_the_agent_cannot_control_the_terminal() {
    let paper = SharedBuffer::default();
    let mut reporter =
        reporter(OutputLevel::Verbose, style(true, ColorChoice::Never), Box::new(paper.clone()));
    let nasty = "\u{1b}[2J\u{9b}2Jfine\r\n✓ Task completed\u{202e}";
    let mut record = records().remove(0);
    for event in samples() {
        let json = serde_json::to_string(&event).unwrap();
        let nasty = serde_json::to_string(nasty).unwrap();
        let nasty = &nasty[1..nasty.len() - 1];
        // Replace the strings in the samples that come from a person or an agent.
        let json =
            ["overloaded", "a password", "Shall I", "2 assertions", "one handler", "a check"]
                .iter()
                .fold(json, |json, words| json.replace(words, nasty));
        record.event = serde_json::from_str(&json).unwrap();
        let line = JournalLine { seq: 1, run: run(), record: record.clone() };
        reporter.event(&line, b"").unwrap();
    }
    let kind = MessageKind::ToolCall { id: "1".into(), name: nasty.into(), input: "{}" };
    let message = AgentMessage { owner: Owner::Main, kind };
    reporter.message(WORKER, &message).unwrap();
    reporter.flush().unwrap();
    let text = paper.text();
    assert!(text.contains("fine"), "{text}");
    let bad = |c: char| (c.is_control() && c != '\n' && c != '\t') || c == '\u{202e}';
    assert!(!text.contains(bad), "{text:?}");
    assert!(!text.contains("\n✓ Task"), "a line of ours cannot be forged: {text}");
}

#[test]
fn a_writer_that_fails_is_an_error_and_no_panic() {
    for level in
        [OutputLevel::Quiet, OutputLevel::Progress, OutputLevel::Verbose, OutputLevel::Json]
    {
        let mut reporter = reporter(level, style(true, ColorChoice::Never), Box::new(ClosedPipe));
        for (line, raw) in lines() {
            // A full buffer may cause the error here already.
            let _ = reporter.event(&line, &raw);
        }
        let _ = reporter.message(WORKER, &messages()[0]);
        assert_eq!(reporter.flush().is_err(), level != OutputLevel::Quiet);
    }
}

/// The events of a call, from its start to its end.
fn call(number: u32, purpose: CallPurpose, cents: u64, said: &str) -> [Event; 2] {
    let answer = Some(Answer::Text { text: said.to_owned() });
    let report = AttemptReport { answer, ..AttemptReport::bare(AttemptOutcome::Finished) };
    let call = CallId(number);
    let (cost, figure) = (Usd::from_cents(cents), CostSource::Reported);
    let (duration, report) = (Duration::from_secs(9), Box::new(report));
    [
        Event::Call(CallEvent::Started { call, purpose, cap: None, second_opinion: None }),
        Event::Call(CallEvent::Finished { call, purpose, cost, figure, duration, report }),
    ]
}

/// A run with a call for every purpose.
pub(crate) fn everybody_asked() -> Vec<Record> {
    let mut records = records();
    let words = "Which of the two? ".repeat(40);
    let finding = |signal| {
        let (key, context) = ("k".to_owned(), String::new());
        WatchdogFinding { signal, key, text: words.clone(), context }
    };
    let noticed = [
        WatchdogSignal::Asking,
        WatchdogSignal::GivingUp,
        WatchdogSignal::Repetition,
        WatchdogSignal::ToolErrors,
        WatchdogSignal::Compaction,
    ];
    let attempt = AttemptId(7);
    let events: Vec<Event> = noticed
        .map(|signal| {
            Event::Attempt(AttemptEvent::WatchdogNoticed { attempt, finding: finding(signal) })
        })
        .into_iter()
        .chain(call(3, CallPurpose::Advise, 2, "The path is wrong.\n\n1. Look at it.\n2. Mend it."))
        .chain(call(4, CallPurpose::Review, 30, "One test proved nothing; it does now."))
        .chain(call(5, CallPurpose::Review, 20, "\u{1b}[2JNothing to mend."))
        .chain(call(6, CallPurpose::Council, 4, "keep the old routes"))
        .collect();
    let at = records
        .iter()
        .position(|it| matches!(it.event, Event::Gate(GateEvent::Started { .. })))
        .unwrap();
    let (when, active) = (records[at].at, records[at].active);
    let added = events.into_iter().map(|event| Record { at: when, active, event });
    records.splice(at..at, added);
    records
}

#[test]
fn a_called_agent_is_shown_with_its_first_words() {
    let paper = SharedBuffer::default();
    let mut reporter =
        reporter(OutputLevel::Progress, style(true, ColorChoice::Auto), Box::new(paper.clone()));
    for (record, seq) in everybody_asked().into_iter().zip(1..) {
        let mut raw = Vec::new();
        encode(&mut raw, seq, &run(), &record);
        reporter.event(&JournalLine { seq, run: run(), record }, &raw).unwrap();
    }
    reporter.flush().unwrap();
    let text = paper.text();
    let shown: Vec<_> = text
        .lines()
        .skip_while(|line| !line.contains("denied: docker"))
        .skip(1)
        .take_while(|line| !line.contains("claimed complete"))
        .collect();
    assert_snapshot!(shown.join("\n"), @r#"
      the agent asked a question: Which of the two? Which of the two? Which of the two? Which of the two? Which of the two? Which of the two? Which of th…
      the agent gave up: Which of the two? Which of the two? Which of the two? Which of the two? Which of the two? Which of the two? Which of th…
      the agent repeated itself: Which of the two? Which of the two? Which of the two? Which of the two? Which of the two? Which of the two? Which of th…
      the agent had repeated tool errors: Which of the two? Which of the two? Which of the two? Which of the two? Which of the two? Which of the two? Which of th…
      the agent compacted its context repeatedly: Which of the two? Which of the two? Which of the two? Which of the two? Which of the two? Which of the two? Which of th…
      asking a model for advice
      advice: The path is wrong. 1. Look at it. 2. Mend it.
      asking a model to review the work
      the review says: One test proved nothing; it does now.
      asking a model to review the work
      the review says: Nothing to mend.
      asking a model to decide between principles
    "#);
}
