//! Tests of the panel for various runs and terminals.

use insta::assert_snapshot;
use jiff::tz::TimeZone;
use nightwright_core::event::{
    AttemptEvent, CallEvent, CallPurpose, Event, GateEvent, IterationEvent, IterationFinished,
    IterationKind, IterationResult, OperatorEvent, Progress, Record, RunEvent, RunStarted,
    StopSource, WaitEvent, WaitKind, samples,
};
use nightwright_core::input::{
    CheckPurpose, CheckResult, CheckVerdict, TaskProgress, WorkspaceMark,
};
use nightwright_core::policy::progress::idle_after;
use nightwright_core::settings::Limits;
use nightwright_core::stream::outcome::ProcessExit;
use nightwright_core::test_counts::TestCounts;
use nightwright_core::units::{AttemptId, CallId, Fingerprint, Iteration, Usd};

use super::*;
use crate::config::ColorChoice;
use crate::output::style::OutputCapabilities;
use crate::output::tools;

/// A run that consists of events ten seconds apart.
struct PanelStory {
    view: RunView,
    now: Timestamp,
}

impl PanelStory {
    fn begun(limits: Limits) -> Self {
        let started = samples().into_iter().find_map(|event| match event {
            Event::Run(RunEvent::Started(started)) => Some(started),
            _ => None,
        });
        let started = started.expect("a sample of each kind");
        let settings = nightwright_core::settings::Settings { limits, ..started.settings.clone() };
        let now = "2026-11-15T16:00:00Z".parse().expect("a date");
        let story = Self { view: RunView::default(), now };
        story.then(RunEvent::Started(Box::new(RunStarted { settings, ..*started })))
    }

    fn then(mut self, event: impl Into<Event>) -> Self {
        let active = Duration::from_secs(1);
        self.view.record(&Record { at: self.now, active, event: event.into() });
        self.now += Duration::from_secs(10);
        self
    }

    fn iteration(self, number: u32) -> Self {
        let start = WorkspaceMark {
            fingerprint: Fingerprint("0".to_owned()),
            head: None,
            head_tree: None,
            status: None,
        };
        let (iteration, kind) = (Iteration(number), IterationKind::Work);
        let begun = Event::Iteration(IterationEvent::Started {
            iteration,
            kind,
            before: None,
            start,
            checklist: None,
            status: None,
        });
        let attempt = AttemptId(number);
        self.then(begun).then(AttemptEvent::Started { attempt, iteration, cap: None, model: None })
    }

    fn finished(self, number: u32, progress: Progress, task: Option<TaskProgress>) -> Self {
        let idle = idle_after(self.view.idle, progress, false);
        self.then(IterationEvent::Finished(Box::new(IterationFinished {
            checks: None,
            idle,
            without_gain: 0,
            iteration: Iteration(number),
            result: IterationResult::Done,
            ends: None,
            progress,
            claim: Vec::new(),
            blockers: Vec::new(),
            signal: false,
            end: None,
            files_changed: 1,
            files_changed_outside_plan: None,
            commits: 0,
            changes: None,
            task,
            phase: None,
            checklist: None,
            cost: Usd::ZERO,
            duration: Duration::from_secs(361),
            summary: String::new(),
        })))
    }

    fn panel(&self, doing: PanelActivity<'_>, width: usize, style: &Style) -> String {
        let estimate = self.view.estimate(self.now);
        let lines = lines(&self.view, &estimate, doing, self.now, width, style);
        assert!(lines.len() <= 3, "{lines:#?}");
        for line in &lines {
            let plain = nightwright_core::display::display_safe(line);
            assert!(columns(&plain) <= width, "wider than {width}: {plain}");
        }
        lines.join("\n")
    }
}

fn limits() -> Limits {
    Limits { max_iterations: Some(50), max_cost: Some(Usd::from_cents(1_000)), ..Limits::default() }
}

fn style(utf8: bool, color: ColorChoice) -> Style {
    let surroundings = OutputCapabilities { utf8, ..OutputCapabilities::default() };
    Style::new(color, &surroundings).in_zone(TimeZone::UTC)
}

fn plain() -> Style {
    style(true, ColorChoice::Never)
}

/// Six iterations of a task with a checklist, the last three without changes, and the start of a
/// seventh.
fn long() -> PanelStory {
    let items = |completed| Some(TaskProgress { completed, total: 60 });
    let story = (1..=3).fold(PanelStory::begun(limits()), |story, number| {
        story.iteration(number).finished(number, Progress::Work, items(number * 10))
    });
    let story = (4..=6).fold(story, |story, number| {
        story.iteration(number).finished(number, Progress::Idle, items(35))
    });
    story.iteration(7)
}

fn busy() -> PanelActivity<'static> {
    PanelActivity {
        last: Some(
            "Bash: cargo test --workspace --no-fail-fast -- --test-threads 4 結果を全部見る",
        ),
        silent: Some(Duration::from_millis(12_300)),
        keys: true,
        running: Usd::ZERO,
    }
}

#[test]
fn a_wide_terminal_shows_everything() {
    assert_snapshot!(long().panel(busy(), 200, &plain()), @r"
    ██████████████░░░░░░░░░░ 35/60 items · iteration 7/50 · 3m 30s · $0.00 of $10.00 · idle 3 of 3 · estimated end 16:33 · 6m 01s per iteration
    working · silent for 12s · Bash: cargo test --workspace --no-fail-fast -- --test-threads 4 結果を全部見る
    s stop after this iteration · Ctrl-C stop now
    ");
}

#[test]
fn the_cost_of_the_running_attempt_is_part_of_the_amount_and_called_an_estimate() {
    let doing = PanelActivity { running: Usd::from_cents(465), ..busy() };
    let panel = long().panel(doing, 120, &plain());
    assert!(panel.contains(" · about $4.65 of $10.00 · "), "{panel}");
}

#[test]
fn a_usual_terminal_loses_what_tells_least() {
    assert_snapshot!(long().panel(busy(), 80, &plain()), @r"
    █████░░░░░ 35/60 items · 3m 30s · $0.00 of $10.00 · idle 3 of 3
    working · silent for 12s · Bash: cargo test --workspace --no-fail-fast -- --tes…
    s stop after this iteration · Ctrl-C stop now
    ");
}

#[test]
fn a_tiny_terminal_keeps_what_matters_most() {
    assert_snapshot!(long().panel(busy(), 20, &plain()), @r"
    ███░░░ 35/60 items
    working
    s stop after this i…
    ");
}

#[test]
fn no_width_is_too_small_and_nothing_is_ever_wider() {
    for width in 0..220 {
        for utf8 in [true, false] {
            long().panel(busy(), width, &style(utf8, ColorChoice::Never));
            long().panel(busy(), width, &style(utf8, ColorChoice::Always));
        }
    }
}

#[test]
fn without_items_the_bar_counts_iterations_and_without_a_limit_there_is_none() {
    let one = |limits| {
        let story = PanelStory::begun(limits).iteration(1).finished(1, Progress::Work, None);
        story.iteration(2).panel(PanelActivity::default(), 80, &plain())
    };
    let some = Limits { max_iterations: Some(4), ..Limits::default() };
    let none = Limits { max_iterations: None, max_cost: None, ..Limits::default() };
    assert_snapshot!(one(some), @r"
    ██░░░░░░░░ iteration 2/4 · 1m 00s · $0.00
    working
    ");
    assert_snapshot!(one(none), @r"
    iteration 2 · 1m 00s · $0.00
    working
    ");
}

#[test]
fn a_wait_shows_when_it_ends_and_the_key_that_ends_it() {
    let story = PanelStory::begun(limits()).iteration(1);
    let retry_at = story.now + Duration::from_secs(8_000);
    let story = story.then(WaitEvent::Started {
        limit: WaitKind::Usage,
        until: Some(retry_at),
        retry_at,
        wait: Duration::from_secs(8_000),
    });
    let doing = PanelActivity { keys: true, ..PanelActivity::default() };
    assert_snapshot!(story.panel(doing, 80, &plain()), @r"
    ░░░░░░░░░░ iteration 1/50 · 40s · $0.00 of $10.00
    waiting until 18:13 (2h 13m left) · usage limit
    s stop after this iteration · r retry now · Ctrl-C stop now
    ");
}

#[test]
fn a_stop_that_was_asked_for_is_shown_and_need_not_be_asked_for_again() {
    let stop = Event::Operator(OperatorEvent::StopRequested {
        when: StopWhen::AfterIteration,
        by: StopSource::Key,
    });
    let story = PanelStory::begun(limits()).iteration(1).then(stop);
    assert_snapshot!(story.panel(busy(), 80, &plain()), @r"
    ░░░░░░░░░░ iteration 1/50 · 40s · $0.00 of $10.00
    working · stopping after this iteration · silent for 12s · Bash: cargo test --w…
    Ctrl-C stop now
    ");
}

#[test]
fn between_iterations_there_is_none_to_stop_after() {
    let done = || PanelStory::begun(limits()).iteration(1).finished(1, Progress::Work, None);
    let doing = PanelActivity { keys: true, ..PanelActivity::default() };
    let rest = |story: PanelStory| {
        let panel = story.panel(doing, 80, &plain());
        panel.lines().skip(1).collect::<Vec<_>>().join("\n")
    };
    let stop = || {
        Event::Operator(OperatorEvent::StopRequested {
            when: StopWhen::AfterIteration,
            by: StopSource::Key,
        })
    };
    let all = [
        rest(PanelStory::begun(limits())),
        rest(done()),
        rest(done().then(OperatorEvent::Paused)),
        rest(done().then(stop())),
        rest(done().iteration(2).then(OperatorEvent::Paused)),
    ];
    assert_snapshot!(all.join("\n"), @r"
    starting
    s stop · Ctrl-C stop now
    the next iteration is about to begin
    s stop · Ctrl-C stop now
    paused · `nightwright resume` continues it
    s stop · Ctrl-C stop now
    the next iteration is about to begin · stopping
    Ctrl-C stop now
    working
    s stop after this iteration · Ctrl-C stop now
    ");
}

#[test]
fn the_panel_describes_the_activity() {
    let story = || PanelStory::begun(limits()).iteration(1);
    let what = |story: PanelStory| {
        let panel = story.panel(PanelActivity::default(), 80, &plain());
        panel.lines().nth(1).unwrap_or_default().to_owned()
    };
    let asks = |purpose| {
        Event::Call(CallEvent::Started {
            call: CallId(1),
            purpose,
            cap: None,
            second_opinion: None,
        })
    };
    let commands = vec!["cargo test".to_owned(), "cargo clippy".to_owned()];
    let purpose = CheckPurpose::Gate;
    let claim = Event::Gate(GateEvent::Started { iteration: Iteration(1), claim: Vec::new() });
    let at_time = story().now + Duration::from_secs(40);
    let why = "the provider is overloaded".to_owned();
    let all = [
        what(story().then(asks(CallPurpose::Verify))),
        what(story().then(asks(CallPurpose::Review))),
        what(story().then(claim).then(GateEvent::ChecksStarted { purpose, commands })),
        what(story().then(WaitEvent::RetryScheduled { at_time, why })),
        what(story().finished(1, Progress::Work, None)),
        what(story().finished(1, Progress::Work, None).then(OperatorEvent::Paused)),
    ];
    assert_snapshot!(all.join("\n"), @r"
    asking a model whether the work is complete
    asking a model to review the work
    checking · cargo test · cargo clippy
    retrying in 30s · the provider is overloaded
    the next iteration is about to begin
    paused · `nightwright resume` continues it
    ");
}

#[test]
fn without_utf8_there_are_only_letters_in_it() {
    let doing = PanelActivity { last: Some("Bash: make"), ..busy() };
    let panel = long().panel(doing, 80, &style(false, ColorChoice::Never));
    assert!(panel.is_ascii(), "{panel}");
    assert_snapshot!(panel, @r"
    #####----- 35/60 items - 3m 30s - $0.00 of $10.00 - idle 3 of 3
    working - silent for 12s - Bash: make
    s stop after this iteration - Ctrl-C stop now
    ");
}

#[test]
fn overlong_lines_are_cut_in_characters_of_the_locale() {
    let tool = tools::title("Bash", &format!(r#"{{"command":"{}"}}"#, "x".repeat(2_000)));
    let doing = PanelActivity { last: Some(&tool), ..busy() };
    let panel = long().panel(doing, 500, &style(false, ColorChoice::Never));
    assert!(panel.is_ascii() && panel.contains("xx..."), "{panel}");
}

#[test]
fn before_its_first_event_and_after_its_last_there_is_no_panel() {
    let nothing = RunView::default();
    let estimate = nothing.estimate(Timestamp::UNIX_EPOCH);
    let none = lines(&nothing, &estimate, busy(), Timestamp::UNIX_EPOCH, 80, &plain());
    assert_eq!(none, Vec::<String>::new());
    let last =
        samples().into_iter().find(|event| matches!(event, Event::Run(RunEvent::Finished { .. })));
    assert_eq!(long().then(last.expect("a sample")).panel(busy(), 80, &plain()), "");
}

/// A run of the checks after an iteration, in which this many of 14 tests failed.
fn measured(failed: u32) -> GateEvent {
    let result = CheckResult {
        tests: Some(TestCounts { failed, total: 14 }),
        ..CheckResult::without_run("make test", CheckVerdict::Failed { how: ProcessExit::Code(1) })
    };
    GateEvent::ChecksFinished {
        purpose: CheckPurpose::Progress,
        reused_from: None,
        results: vec![result],
        fingerprint: Fingerprint("1".to_owned()),
        outputs: Vec::new(),
        flaky: Vec::new(),
        outside: Vec::new(),
    }
}

#[test]
fn failing_tests_are_shown_over_the_run() {
    let story = PanelStory::begun(Limits { max_iterations: Some(50), ..Limits::default() });
    let story = [12, 5, 2]
        .into_iter()
        .fold(story.iteration(1), |story, failed| story.then(measured(failed)));
    let panel = story.panel(PanelActivity::default(), 100, &plain());
    assert!(panel.contains("failing 12 → 5 → 2"), "{panel}");
    let words = story.panel(PanelActivity::default(), 100, &style(false, ColorChoice::Never));
    assert!(words.contains("failing 12 -> 5 -> 2"), "{words}");
    let narrow = story.panel(PanelActivity::default(), 40, &plain());
    assert!(!narrow.contains("failing"), "{narrow}");
}
