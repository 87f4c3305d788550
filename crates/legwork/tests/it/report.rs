//! What people and programs see of a run.

use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use insta::assert_snapshot;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use legwork::report::{ColorChoice, Level, Shown, Style, Surroundings, reporter, summary};
use legwork_core::agent::message::{AgentMessage, Owner, Said};
use legwork_core::agent::outcome::AttemptOutcome;
use legwork_core::agent::report::{Answer, AttemptReport, Notice, WatchSignal};
use legwork_core::event::{
    Event, Figure, GateResult, IterationFinished, IterationResult, Movement, Purpose, Record,
    samples,
};
use legwork_core::input::Boxes;
use legwork_core::journal::{Line, encode};
use legwork_core::outcome::{Outcome, Proof};
use legwork_core::units::{AttemptId, CallId, RunId, Usd};
use legwork_core::view::RunView;

/// What was written, for everybody to see.
#[derive(Clone, Default)]
pub(crate) struct Paper(Arc<Mutex<Vec<u8>>>);

impl Paper {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A pipe whose other end is closed.
pub(crate) struct Closed;

impl Write for Closed {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Err(io::ErrorKind::BrokenPipe.into())
    }
}

pub(crate) fn style(utf8: bool, color: ColorChoice) -> Style {
    let surroundings = Surroundings { utf8, ..Surroundings::default() };
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

fn lines() -> Vec<(Line, Vec<u8>)> {
    let line = |(record, seq): (Record, u64)| {
        let mut raw = Vec::new();
        encode(&mut raw, seq, &run(), &record);
        raw.pop();
        (Line { seq, run: run(), record }, raw)
    };
    records().into_iter().zip(1..).map(line).collect()
}

pub(crate) fn messages() -> [Shown; 3] {
    [
        Shown::Text { text: "I shall look\nat the tests.".to_owned() },
        Shown::ToolCall { name: "Bash".to_owned(), detail: "make test".to_owned() },
        Shown::ToolError { name: None, text: "exit code 2\nno rule".to_owned() },
    ]
}

/// All events and messages at this level.
fn shown(level: Level, style: Style) -> String {
    let paper = Paper::default();
    let mut reporter = reporter(level, style, Box::new(paper.clone()));
    for (line, raw) in lines() {
        reporter.event(&line, &raw).unwrap();
        if let Event::AgentReady { .. } = line.record.event {
            for message in messages() {
                reporter.message(&message).unwrap();
            }
        }
    }
    reporter.flush().unwrap();
    paper.text()
}

#[test]
fn progress_is_a_line_or_two_for_each_thing_that_matters() {
    assert_snapshot!(shown(Level::Progress, style(true, ColorChoice::Auto)), @r#"
    Run 20261115-233412-7f3a: migrate-api (loop)
      at most 50 iterations, $20.00, 8h 00m of work
    Going on where an earlier process left off
    Running iteration 3...
    iteration 4: skipped by a hook
      the provider is overloaded: trying again in 6m 25s
    ⚠️ usage limit: waiting until Mon 01:01 (1h 20m)
      going on after a wait of 1h 20m
      status: 35/60, orders and invoices moved
    ⚠️ blocked: a password for the staging database
      the agent asks: Shall I also move the tests?
      answered: Nobody is here to answer. Choose, note the choice, go on.
    ⚠️ the agent may not use `WebFetch`
      claimed complete: running the checks (`cargo test`)
      asking a model whether it is complete
    ⚠️ rejected: `cargo test` failed (exit 101)
        test invoice::rounds … FAILED
        	test result: "FAILED"
      missing: src/returns.rs
      decided: keep the old routes for one release
      the agent wrote down principles; they hold from here on
    Limits: at most 50 iterations, $20.00, 8h 00m of work
    ❌ Iteration 3 failed: the provider is overloaded
    Stopping after this iteration, asked by `legwork stop`
    Not stopping: the request was taken back
    Paused: nothing new starts until `legwork resume 20261115-233412-7f3a`
    Going on
    ⚠️ the hook `iteration_finished` failed: exited with 127
    ⚠️ `.status.json` is not valid JSON: it says nothing
    "#);
}

#[test]
fn progress_has_no_symbols_where_the_locale_has_none() {
    let text = shown(Level::Progress, style(false, ColorChoice::Auto));
    let signed: Vec<_> =
        text.lines().filter(|line| line.contains("error:") || line.contains("warning:")).collect();
    assert_snapshot!(signed.join("\n"), @r#"
    warning: usage limit: waiting until Mon 01:01 (1h 20m)
    warning: blocked: a password for the staging database
    warning: the agent may not use `WebFetch`
    warning: rejected: `cargo test` failed (exit 101)
    error: Iteration 3 failed: the provider is overloaded
    warning: the hook `iteration_finished` failed: exited with 127
    warning: `.status.json` is not valid JSON: it says nothing
    "#);
    let symbols = ['✓', '⚠', '❌', '·'];
    assert!(!text.contains(symbols), "{text}");
}

#[test]
fn verbose_has_the_words_and_the_tools_of_the_agent_too() {
    let progress = shown(Level::Progress, style(true, ColorChoice::Auto));
    let verbose = shown(Level::Verbose, style(true, ColorChoice::Auto));
    let more: Vec<_> =
        verbose.lines().filter(|line| !progress.lines().any(|known| known == *line)).collect();
    assert_snapshot!(more.join("\n"), @r#"
      claude-opus-4-6, version 2.1.37
        I shall look
        at the tests.
      Bash: make test
    ❌ the tool failed:
        exit code 2
        no rule
      attempt 7: finished, 23 turns, $0.42, 6m 12s
      claimed by the status file, the promise marker
      for the next iteration: `cargo test` failed (exit 101): test invoice::rounds
      checkpoint `refs/legwork/20261115-233412-7f3a/3`
    "#);
    let kept = progress.lines().all(|line| verbose.lines().any(|known| known == line));
    assert!(kept, "{verbose}");
}

#[test]
fn an_iteration_is_told_in_one_line_without_what_is_nought() {
    let done = |change: &dyn Fn(&mut IterationFinished)| {
        let finished = samples().into_iter().find_map(|event| match event {
            Event::IterationFinished(finished) => Some(*finished),
            _ => None,
        });
        let mut finished = finished.unwrap();
        finished.result = IterationResult::Done;
        change(&mut finished);
        let record =
            Record { event: Event::IterationFinished(Box::new(finished)), ..records().remove(0) };
        let paper = Paper::default();
        let style = style(true, ColorChoice::Never);
        let mut reporter = reporter(Level::Progress, style, Box::new(paper.clone()));
        let (seq, run) = (1, run());
        reporter.event(&Line { seq, run, record }, b"").unwrap();
        reporter.flush().unwrap();
        paper.text().trim_end().to_owned()
    };
    let nothing = |finished: &mut IterationFinished| {
        (finished.files_changed, finished.commits) = (0, 0);
        finished.progress = Movement::Idle;
        (finished.task, finished.boxes) = (None, None);
    };
    let boxes = |finished: &mut IterationFinished| {
        finished.task = None;
        finished.boxes = Some(Boxes { open: 1, done: 4 });
    };
    let stopped = |finished: &mut IterationFinished| {
        nothing(finished);
        finished.result = IterationResult::Interrupted;
        finished.cost = Usd::ZERO;
    };
    assert_eq!(
        [done(&|_| ()), done(&boxes), done(&nothing), done(&stopped)],
        [
            "iteration 3: 4 files, 2 commits, $0.43, 7m 10s · 35/60 (25 items remaining)",
            "iteration 3: 4 files, 2 commits, $0.43, 7m 10s · 4/5 (1 item remaining)",
            "iteration 3: no changes, $0.43, 7m 10s",
            "iteration 3: interrupted, no changes, 7m 10s",
        ]
    );
}

#[test]
fn quiet_is_quiet() {
    assert_eq!(shown(Level::Quiet, style(true, ColorChoice::Always)), "");
}

#[test]
fn json_is_the_journal_byte_by_byte() {
    let mut journal = Vec::new();
    for (_, raw) in lines() {
        journal.extend(raw);
        journal.push(b'\n');
    }
    let shown = shown(Level::Json, style(true, ColorChoice::Always));
    assert_eq!(shown.as_bytes(), journal);
}

#[test]
fn colour_adds_nothing_that_the_words_do_not_say() {
    let plain = shown(Level::Verbose, style(true, ColorChoice::Never));
    let mut colored = shown(Level::Verbose, style(true, ColorChoice::Always));
    assert!(colored.contains("\u{1b}[33m"));
    for code in ["\u{1b}[31m", "\u{1b}[32m", "\u{1b}[33m", "\u{1b}[2m", "\u{1b}[0m"] {
        colored = colored.replace(code, "");
    }
    assert_eq!(colored, plain);
}

#[test]
fn what_the_agent_wrote_can_not_steer_the_terminal() {
    let paper = Paper::default();
    let mut reporter =
        reporter(Level::Verbose, style(true, ColorChoice::Never), Box::new(paper.clone()));
    let nasty = "\u{1b}[2J\u{9b}2Jfine\r\n✓ Task completed\u{202e}";
    let mut record = records().remove(0);
    for event in samples() {
        let json = serde_json::to_string(&event).unwrap();
        let nasty = serde_json::to_string(nasty).unwrap();
        let nasty = &nasty[1..nasty.len() - 1];
        // Everything that a person or an agent worded, as far as the samples have words.
        let json =
            ["overloaded", "a password", "Shall I", "2 assertions", "one handler", "a check"]
                .iter()
                .fold(json, |json, words| json.replace(words, nasty));
        record.event = serde_json::from_str(&json).unwrap();
        let line = Line { seq: 1, run: run(), record: record.clone() };
        reporter.event(&line, b"").unwrap();
    }
    let said = Said::ToolCall { id: "1".into(), name: nasty.into(), input: "{}" };
    let message = AgentMessage { owner: Owner::Main, said };
    reporter.message(&Shown::from_message(&message).unwrap()).unwrap();
    reporter.flush().unwrap();
    let text = paper.text();
    assert!(text.contains("fine"), "{text}");
    let bad = |c: char| (c.is_control() && c != '\n' && c != '\t') || c == '\u{202e}';
    assert!(!text.contains(bad), "{text:?}");
    assert!(!text.contains("\n✓ Task"), "a line of ours can't be forged: {text}");
}

#[test]
fn a_writer_that_fails_is_an_error_and_no_panic() {
    for level in [Level::Quiet, Level::Progress, Level::Verbose, Level::Json] {
        let mut reporter = reporter(level, style(true, ColorChoice::Never), Box::new(Closed));
        for (line, raw) in lines() {
            // Whether the buffer is full and the error shows here is of no interest.
            let _ = reporter.event(&line, &raw);
        }
        let _ = reporter.message(&messages()[0]);
        assert_eq!(reporter.flush().is_err(), level != Level::Quiet);
    }
}

/// A summary of a run with all samples but its end, and this one.
fn closing(outcome: Outcome, note: Option<&str>, utf8: bool) -> String {
    let mut records = records();
    if let Outcome::Completed { proof } = outcome {
        for record in &mut records {
            if let Event::GateFinished { result } = &mut record.event {
                *result = GateResult::Passed { proof };
            }
        }
    }
    if let Some(Event::RunFinished { outcome: ending, note: text, .. }) =
        records.last_mut().map(|record| &mut record.event)
    {
        *ending = outcome;
        *text = note.map(str::to_owned);
    }
    let summary = RunView::of(&records).summary(&run());
    let log = Path::new("/var/log/run");
    summary::render(&summary, &style(utf8, ColorChoice::Auto), Some(log))
}

#[test]
fn a_completed_run_says_what_was_verified_and_what_it_cost() {
    let text = closing(Outcome::Completed { proof: Proof::Verified }, None, true);
    assert_snapshot!(text, @r#"
    ✓ Task completed successfully after 1 iteration
      verified by `cargo test`
      1 attempt, 2 commits, 4 files changed, 38s at work, 1h 20m waiting
      cost $0.43, $0.0081 of it estimated (work $0.42 in 1 attempt, verify $0.0081 in 1 call), 19,356 tokens and 310,552 from the cache
      2 warnings, see above
      log: /var/log/run
      next: look at the work, and commit it if it is not
    "#);
}

#[test]
fn a_run_at_its_limit_says_how_to_go_on() {
    let note = Some("claimed, rejected: `cargo test` failed (exit 101)");
    assert_snapshot!(closing(Outcome::MaxIterations { limit: 10 }, note, true), @r#"
    ⚠️ Reached maximum iterations (10)
      claimed, rejected: `cargo test` failed (exit 101)
      1 attempt, 2 commits, 4 files changed, 38s at work, 1h 20m waiting
      cost $0.43, $0.0081 of it estimated (work $0.42 in 1 attempt, verify $0.0081 in 1 call), 19,356 tokens and 310,552 from the cache
      2 warnings, see above
      log: /var/log/run
      next: `legwork resume 20261115-233412-7f3a --max-iterations 20` goes on with more room
            `--max-iterations 20` gives it to the next run from its start
            look at what was done: the folder above has prompts, output and journal
    "#);
}

#[test]
fn a_wait_that_is_too_long_is_told_in_local_time() {
    let until = Some("2026-11-17T04:00:00Z".parse().unwrap());
    assert_snapshot!(closing(Outcome::LimitWaitTooLong { until }, None, false), @r#"
    error: The usage limit lasts until 2026-11-17T04:00:00Z, longer than legwork may wait
      that is 2026-11-17 04:00 UTC here
      claimed complete in iteration 3, and not believed: `cargo test` failed (exit 101)
      1 iteration, 1 attempt, 2 commits, 4 files changed, 38s at work, 1h 20m waiting
      cost $0.43, $0.0081 of it estimated (work $0.42 in 1 attempt, verify $0.0081 in 1 call), 19,356 tokens and 310,552 from the cache
      2 warnings, see above
      log: /var/log/run
      next: once the limit has ended: `legwork resume 20261115-233412-7f3a --again`
    "#);
}

#[test]
fn a_run_that_never_worked_has_no_cost_to_tell() {
    let mut records = records();
    records
        .retain(|record| matches!(record.event, Event::RunStarted(_) | Event::RunFinished { .. }));
    if let Some(Event::RunFinished { outcome, note, .. }) =
        records.last_mut().map(|record| &mut record.event)
    {
        *outcome = Outcome::Auth { why: "not logged in\u{1b}[2J".to_owned() };
        *note = None;
    }
    let summary = RunView::of(&records).summary(&run());
    let text = summary::render(&summary, &style(false, ColorChoice::Auto), None);
    assert_snapshot!(text, @r#"
    error: The agent's account refused to work: not logged in
      0 iterations, 0 attempts, 38s at work
      next: log in: start `claude` once by hand, then `legwork resume 20261115-233412-7f3a --again`
    "#);
}

/// A call from its start to its end.
fn call(number: u32, purpose: Purpose, cents: u64, said: &str) -> [Event; 2] {
    let answer = Some(Answer::Text { text: said.to_owned() });
    let report = AttemptReport { answer, ..AttemptReport::bare(AttemptOutcome::Finished) };
    let call = CallId(number);
    let (cost, figure) = (Usd::from_cents(cents), Figure::Reported);
    let (duration, report) = (Duration::from_secs(9), Box::new(report));
    [
        Event::CallStarted { call, purpose, cap: None },
        Event::CallFinished { call, purpose, cost, figure, duration, report },
    ]
}

/// A run in which everybody was asked.
fn everybody_asked() -> Vec<Record> {
    let mut records = records();
    let words = "Which of the two? ".repeat(40);
    let notice = |signal| {
        let (key, context) = ("k".to_owned(), String::new());
        Notice { signal, key, text: words.clone(), context }
    };
    let noticed = [
        WatchSignal::Asking,
        WatchSignal::GivingUp,
        WatchSignal::Repetition,
        WatchSignal::ToolErrors,
        WatchSignal::Compaction,
    ];
    let attempt = AttemptId(7);
    let events: Vec<Event> = noticed
        .map(|signal| Event::WatchdogNoticed { attempt, notice: notice(signal) })
        .into_iter()
        .chain(call(3, Purpose::Advise, 2, "The path is wrong.\n\n1. Look at it.\n2. Mend it."))
        .chain(call(4, Purpose::Review, 30, "One test proved nothing; it does now."))
        .chain(call(5, Purpose::Review, 20, "\u{1b}[2JNothing to mend."))
        .chain(call(6, Purpose::Council, 4, "keep the old routes"))
        .collect();
    let at = records.iter().position(|it| matches!(it.event, Event::GateStarted { .. })).unwrap();
    let (when, active) = (records[at].at, records[at].active);
    let added = events.into_iter().map(|event| Record { at: when, active, event });
    records.splice(at..at, added);
    records
}

#[test]
fn whoever_was_asked_is_shown_with_the_first_of_their_words() {
    let paper = Paper::default();
    let mut reporter =
        reporter(Level::Progress, style(true, ColorChoice::Auto), Box::new(paper.clone()));
    for (record, seq) in everybody_asked().into_iter().zip(1..) {
        let mut raw = Vec::new();
        encode(&mut raw, seq, &run(), &record);
        reporter.event(&Line { seq, run: run(), record }, &raw).unwrap();
    }
    reporter.flush().unwrap();
    let text = paper.text();
    let shown: Vec<_> = text
        .lines()
        .skip_while(|line| !line.contains("may not use"))
        .skip(1)
        .take_while(|line| !line.contains("claimed complete"))
        .collect();
    assert_snapshot!(shown.join("\n"), @r#"
      the agent asks: Which of the two? Which of the two? Which of the two? Which of the two? Which of the two? Which of the two? Which of th…
      the agent gives up: Which of the two? Which of the two? Which of the two? Which of the two? Which of the two? Which of the two? Which of th…
      the agent repeats itself: Which of the two? Which of the two? Which of the two? Which of the two? Which of the two? Which of the two? Which of th…
      tool errors in a row: Which of the two? Which of the two? Which of the two? Which of the two? Which of the two? Which of the two? Which of th…
      the context runs full again and again: Which of the two? Which of the two? Which of the two? Which of the two? Which of the two? Which of the two? Which of th…
      asking for advice
      advice: The path is wrong. 1. Look at it. 2. Mend it.
      reviewing the work
      the review says: One test proved nothing; it does now.
      reviewing the work
      the review says: Nothing to mend.
      asking for a decision between principles
    "#);
}

#[test]
fn the_summary_has_every_purpose_with_its_calls_and_what_they_cost() {
    let summary = RunView::of(&everybody_asked()).summary(&run());
    let text = summary::render(&summary, &style(true, ColorChoice::Auto), None);
    let cost = text.lines().find(|line| line.contains("cost ")).unwrap();
    assert!(
        cost.contains(
            "(work $0.42 in 1 attempt, advise $0.02 in 1 call, council $0.04 in 1 call, \
             review $0.50 in 2 calls, verify $0.0081 in 1 call)"
        ),
        "{cost}"
    );
}
