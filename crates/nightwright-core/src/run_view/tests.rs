//! Tests of the run view: sequences of events, and the resulting view.

mod estimate;
mod summaries;

use super::*;
use crate::event::{
    AttemptEvent, CallEvent, Continuation, CostSource, Event, FeedbackSource, GateEvent,
    IterationEvent, IterationResult, NoteEvent, OperatorEvent, Progress, RunEvent, RunStarted,
    StopSource, WaitEnd, WaitEvent, samples,
};
use crate::input::{CheckPurpose, CheckVerdict, WorkspaceMark};
use crate::machine::ledger::Ledger;
use crate::outcome::Proof;
use crate::policy::progress::idle_after;
use crate::settings::{ChangeSource, SettingChange, Settings};
use crate::stream::news::AttemptReport;
use crate::stream::outcome::AttemptOutcome;
use crate::units::{CallId, Fingerprint, RunId, Tokens, Usd};

/// A run built event by event, one second apart, all of it working time.
#[derive(Default)]
struct ViewStory {
    view: RunView,
    seconds: u64,
}

impl ViewStory {
    fn begun() -> Self {
        let settings = Settings {
            mode: "loop".to_owned(),
            task: Some("migrate".to_owned()),
            goal: "\nMove the handlers.\nOne at a time.".to_owned(),
            ..Settings::default()
        };
        Self::begun_with(settings)
    }

    fn begun_with(settings: Settings) -> Self {
        Self::default().then(RunEvent::Started(Box::new(RunStarted {
            settings,
            agent: AgentFacts { name: "claude".to_owned(), ..AgentFacts::default() },
            project: "/srv/shop".to_owned(),
            git_head: None,
            containment: String::new(),
            sandbox: SandboxKind::Off,
            baseline: None,
            hooks: std::collections::BTreeMap::new(),
            seed: 1,
        })))
    }

    fn then(mut self, event: impl Into<Event>) -> Self {
        self.seconds += 1;
        let at = Timestamp::UNIX_EPOCH + Duration::from_secs(self.seconds);
        let active = Duration::from_secs(self.seconds);
        self.view.record(&Record { at, active, event: event.into() });
        self
    }

    fn denied(self, command: &str, rule: Option<&str>) -> Self {
        self.then(AttemptEvent::PermissionDenied {
            attempt: AttemptId(1),
            tool: "Bash".to_owned(),
            command: command.to_owned(),
            rule: rule.map(str::to_owned),
        })
    }

    /// The suggested next steps, one per line.
    fn steps(&self) -> Vec<String> {
        self.summary().next.iter().map(ToString::to_string).collect()
    }

    fn iteration(self, number: u32) -> Self {
        self.then(IterationEvent::Started {
            iteration: Iteration(number),
            kind: IterationKind::Work,
            before: None,
            start: mark(),
            checklist: None,
            status: None,
        })
    }

    fn attempt(self, id: u32) -> Self {
        let (attempt, iteration) = (AttemptId(id), Iteration(1));
        self.then(AttemptEvent::Started { attempt, iteration, cap: None, model: None })
    }

    fn attempt_ends(self, id: u32, cents: u64, outcome: AttemptOutcome) -> Self {
        self.then(AttemptEvent::Finished {
            attempt: AttemptId(id),
            cost: Usd::from_cents(cents),
            figure: CostSource::Reported,
            duration: Duration::from_secs(1),
            report: Box::new(report(outcome)),
        })
    }

    fn call_ends(self, purpose: CallPurpose, cents: u64, figure: CostSource) -> Self {
        self.then(CallEvent::Finished {
            call: CallId(1),
            purpose,
            cost: Usd::from_cents(cents),
            figure,
            duration: Duration::from_secs(1),
            report: Box::new(report(AttemptOutcome::Finished)),
        })
    }

    fn claims(self) -> Self {
        let claim = vec![EvidenceKind::Promise];
        self.then(GateEvent::Started { iteration: Iteration(1), claim })
    }

    fn check(self, verdict: CheckVerdict) -> Self {
        let command = "make test".to_owned();
        let (output, duration) = ("ok".to_owned(), Duration::from_secs(1));
        let result = CheckResult {
            command: command.clone(),
            verdict,
            output,
            tests: None,
            log: None,
            duration,
            outside: false,
        };
        let purpose = CheckPurpose::Gate;
        self.then(GateEvent::ChecksStarted { purpose, commands: vec![command] }).then(
            GateEvent::ChecksFinished {
                purpose,
                reused_from: None,
                results: vec![result],
                fingerprint: Fingerprint("f".to_owned()),
                outputs: Vec::new(),
                flaky: Vec::new(),
                outside: Vec::new(),
            },
        )
    }

    fn gate(self, result: GateResult) -> Self {
        self.then(GateEvent::Finished { result })
    }

    fn done(self, number: u32, progress: Progress, seconds: u64) -> Self {
        let idle = idle_after(self.view.idle, progress, false);
        let finished = IterationFinished {
            idle,
            ..finished(number, IterationResult::Done, progress, seconds)
        };
        self.then(IterationEvent::Finished(Box::new(finished)))
    }

    fn ends(self, outcome: Outcome) -> Self {
        let (note, totals) = (None, Totals::default());
        self.then(RunEvent::Finished { outcome, note, totals })
    }

    fn summary(&self) -> Summary {
        self.view.summary(&RunId("R".to_owned()))
    }
}

fn mark() -> WorkspaceMark {
    WorkspaceMark {
        fingerprint: Fingerprint("f".to_owned()),
        head: None,
        head_tree: None,
        status: None,
    }
}

fn report(outcome: AttemptOutcome) -> AttemptReport {
    let tokens = Tokens { input: 100, output: 10, ..Tokens::default() };
    AttemptReport { tokens, ..AttemptReport::bare(outcome) }
}

fn finished(
    number: u32,
    result: IterationResult,
    progress: Progress,
    seconds: u64,
) -> IterationFinished {
    IterationFinished {
        checks: None,
        idle: 0,
        without_gain: 0,
        iteration: Iteration(number),
        result,
        ends: None,
        progress,
        claim: Vec::new(),
        blockers: Vec::new(),
        signal: false,
        end: None,
        files_changed: 2,
        files_changed_outside_plan: None,
        commits: 1,
        changes: None,
        task: None,
        phase: None,
        checklist: None,
        cost: Usd::ZERO,
        duration: Duration::from_secs(seconds),
        summary: String::new(),
    }
}

#[test]
fn the_facts_of_a_run_are_known_from_its_first_event() {
    let view = ViewStory::begun().view;
    let facts = view.facts.as_ref().unwrap();
    assert_eq!(facts.task.as_deref(), Some("migrate"));
    assert_eq!(facts.goal, "Move the handlers.");
    assert_eq!(view.activity(), Activity::Starting);
}

#[test]
fn what_the_run_does_follows_its_events() {
    let then = Timestamp::UNIX_EPOCH + Duration::from_hours(1);
    let story = ViewStory::begun().iteration(1).attempt(1);
    assert_eq!(story.view.activity(), Activity::Working { attempt: AttemptId(1) });

    let story = story.attempt_ends(1, 10, AttemptOutcome::RateLimited);
    let story = story.then(WaitEvent::Started {
        limit: WaitKind::Rate,
        until: None,
        retry_at: then,
        wait: Duration::from_hours(1),
    });
    let waiting = Activity::Waiting { limit: WaitKind::Rate, retry_at: then };
    assert_eq!(story.view.activity(), waiting);

    let waited = Duration::from_mins(7);
    let story = story.then(WaitEvent::Ended { why: WaitEnd::Elapsed, waited });
    assert_eq!(story.view.activity(), Activity::Starting);
    assert_eq!(story.view.totals.waited, waited);

    let story = story.attempt(2).attempt_ends(2, 10, AttemptOutcome::Overloaded);
    let why = "overloaded".to_owned();
    let story = story.then(WaitEvent::RetryScheduled { at_time: then, why: why.clone() });
    assert_eq!(story.view.activity(), Activity::Retrying { at: then, why });

    let story = story.attempt(3).attempt_ends(3, 10, AttemptOutcome::Finished);
    assert_eq!(story.view.activity(), Activity::Checking);
    let (call, purpose) = (CallId(1), CallPurpose::Verify);
    let story =
        story.claims().then(CallEvent::Started { call, purpose, cap: None, second_opinion: None });
    assert_eq!(story.view.activity(), Activity::Asking { purpose });
    let story = story.call_ends(purpose, 1, CostSource::Reported).done(1, Progress::Work, 9);
    assert_eq!(story.view.activity(), Activity::Between);
    assert_eq!(story.view.iteration.unwrap().attempts, 3);
    assert_eq!(story.ends(Outcome::Stopped).view.activity(), Activity::Ended);
}

#[test]
fn a_pause_shows_after_the_attempt_has_ended() {
    let story = ViewStory::begun().iteration(1).attempt(1).then(OperatorEvent::Paused);
    assert_eq!(story.view.activity(), Activity::Working { attempt: AttemptId(1) });
    let story = story.attempt_ends(1, 10, AttemptOutcome::Finished).done(1, Progress::Work, 9);
    assert_eq!(story.view.activity(), Activity::Paused);
    assert_eq!(story.then(OperatorEvent::Resumed).view.activity(), Activity::Between);
}

#[test]
fn checks_before_the_first_iteration_are_shown_as_running_until_they_are_done() {
    let commands = vec!["make test".to_owned()];
    let purpose = CheckPurpose::Baseline;
    let began = Event::Gate(GateEvent::ChecksStarted { purpose, commands: commands.clone() });
    let done = Event::Gate(GateEvent::ChecksFinished {
        purpose,
        reused_from: None,
        results: Vec::new(),
        fingerprint: Fingerprint("f".to_owned()),
        outputs: Vec::new(),
        flaky: Vec::new(),
        outside: Vec::new(),
    });
    let running = ViewStory::begun().then(began).then(OperatorEvent::Paused);
    assert_eq!(running.view.activity(), Activity::Checking, "they go to their end");
    assert_eq!(running.view.running_checks(), commands);
    let over = running.then(done);
    assert_eq!(over.view.activity(), Activity::Paused);
    assert!(over.view.running_checks().is_empty());
}

#[test]
fn a_pause_in_the_gate_shows_between_the_checks_and_the_model() {
    let began = Event::Gate(GateEvent::ChecksStarted {
        purpose: CheckPurpose::Gate,
        commands: vec!["make test".to_owned()],
    });
    let story = ViewStory::begun().iteration(1).attempt(1);
    let story = story.attempt_ends(1, 10, AttemptOutcome::Finished).claims();
    let story = story.then(began).then(OperatorEvent::Paused);
    assert_eq!(story.view.activity(), Activity::Checking, "the checks go to their end");
    let story = story.check(CheckVerdict::Passed);
    assert_eq!(story.view.activity(), Activity::Paused);
    let story = story.then(OperatorEvent::Resumed);
    assert_eq!(story.view.activity(), Activity::Checking);
    let story = story.then(CallEvent::Started {
        call: CallId(1),
        purpose: CallPurpose::Verify,
        cap: None,
        second_opinion: None,
    });
    let story = story.then(OperatorEvent::Paused);
    assert_eq!(story.view.activity(), Activity::Asking { purpose: CallPurpose::Verify });
    let story = story.call_ends(CallPurpose::Verify, 1, CostSource::Reported);
    assert_eq!(story.view.activity(), Activity::Paused, "its answer changes nothing about it");
}

#[test]
fn totals_are_right_at_any_moment_and_those_of_the_ledger() {
    let mut view = RunView::default();
    let mut ledger = Ledger::default();
    for (event, second) in samples().into_iter().zip(1..) {
        let at = Timestamp::UNIX_EPOCH + Duration::from_secs(second);
        let record = Record { at, active: Duration::from_secs(second), event };
        view.record(&record);
        ledger.record(&record);
        // The sample of the final event has the totals of another run.
        if !matches!(record.event, Event::Run(RunEvent::Finished { .. })) {
            assert_eq!(view.totals, ledger.totals, "{}", record.event.name());
        }
    }
    assert!(view.totals.cost > Usd::ZERO && view.totals.estimated > Usd::ZERO);
}

#[test]
fn the_mean_is_that_of_the_last_five_iterations_that_were_done() {
    let mut story = ViewStory::begun();
    for number in 1..=4 {
        story = story.done(number, Progress::Work, 100);
    }
    let failed = IterationResult::Failed { why: "x".to_owned(), too_long: false };
    let failed = finished(5, failed, Progress::Uncounted, 1);
    story = story.then(IterationEvent::Finished(Box::new(failed)));
    assert_eq!(story.view.mean_duration(), None);
    story = story.done(6, Progress::Work, 100).done(7, Progress::Work, 600);
    assert_eq!(story.view.mean_duration(), Some(Duration::from_secs(200)));
    assert_eq!(story.view.totals.iterations, 7);
    assert_eq!((story.view.files_changed, story.view.totals.commits), (14, 7));
}

#[test]
fn idle_iterations_are_counted_until_there_is_work() {
    let story = ViewStory::begun().done(1, Progress::Idle, 1).done(2, Progress::Idle, 1);
    assert_eq!(story.view.idle, 2);
    assert_eq!(story.done(3, Progress::Work, 1).view.idle, 0);
}

#[test]
fn a_stop_counts_until_it_is_taken_back_or_the_run_is_taken_over() {
    let stop =
        |when| Event::Operator(OperatorEvent::StopRequested { when, by: StopSource::Operator });
    let story = ViewStory::begun().then(stop(StopWhen::Now)).then(stop(StopWhen::AfterIteration));
    assert_eq!(story.view.stop, Some(StopWhen::Now));
    let story = story.then(OperatorEvent::StopCancelled);
    assert_eq!(story.view.stop, None);
    let story = story.then(stop(StopWhen::AfterIteration));
    let story = story.then(RunEvent::Continued { why: Continuation::AfterCrash });
    assert_eq!(story.view.stop, None);
}

#[test]
fn a_run_taken_over_waits_on_but_no_longer_works() {
    let crash = Event::Run(RunEvent::Continued { why: Continuation::AfterCrash });
    let story = ViewStory::begun().iteration(1).attempt(1).claims().then(crash.clone());
    assert_eq!(story.view.activity(), Activity::Starting);
    assert_eq!(story.view.gate, None);
    let at = Timestamp::UNIX_EPOCH;
    let story = story.then(WaitEvent::RetryScheduled { at_time: at, why: "lost".to_owned() });
    let story = story.then(crash);
    assert!(matches!(story.view.activity(), Activity::Retrying { .. }));
}

#[test]
fn a_resumed_run_has_not_ended() {
    let story = ViewStory::begun().done(1, Progress::Idle, 1).ends(Outcome::Stopped);
    let story = story.then(RunEvent::Continued { why: Continuation::AfterEnd });
    assert_eq!((story.view.finished.clone(), story.view.idle), (None, 0));
    assert_eq!(story.summary().reason, "The run has not ended");
}

#[test]
fn warnings_and_blockers_are_kept() {
    let blocker = Blocker::new("k", "a password");
    let story = ViewStory::begun()
        .then(NoteEvent::Warning { text: "odd".to_owned() })
        .then(NoteEvent::HookFailed { hook: "finished".to_owned(), why: "exit 9".to_owned() })
        .then(NoteEvent::BlockerReported { blocker: blocker.clone() });
    assert_eq!(story.view.warnings, 2);
    assert_eq!(story.view.blockers, [blocker]);
}

#[test]
fn ten_thousand_iterations_take_no_more_memory_than_ten() {
    let size = |iterations| {
        let mut story = ViewStory::begun();
        for number in 1..=iterations {
            let rejected = GateResult::Rejected { why: "no".to_owned() };
            story = story
                .iteration(number)
                .attempt(number)
                .attempt_ends(number, 10, AttemptOutcome::Finished)
                .then(NoteEvent::Warning { text: format!("warning {number:05}") })
                .claims()
                .check(CheckVerdict::TimedOut)
                .gate(rejected)
                .done(number, Progress::Work, 9);
        }
        format!("{:?}", story.view).len()
    };
    // Only the numbers get longer.
    let (few, many) = (size(10), size(10_000));
    assert!(many < few + 100, "{few} characters, then {many}");
}

#[test]
fn a_view_of_a_journal_is_that_of_its_events_one_by_one() {
    let text = "x".to_owned();
    let event = Event::Note(NoteEvent::FeedbackAdded { source: FeedbackSource::Human, text });
    let at = Timestamp::UNIX_EPOCH;
    let record = Record { at, active: Duration::from_secs(3), event };
    let mut view = RunView::default();
    view.record(&record);
    assert_eq!(RunView::of([&record]), view);
    assert_eq!(view.at, Some(at));
}

#[test]
fn the_start_of_an_activity_is_not_the_time_of_the_last_event() {
    let second = |second| Some(Timestamp::UNIX_EPOCH + Duration::from_secs(second));
    let odd = || Event::Note(NoteEvent::Warning { text: "odd".to_owned() });
    let story = ViewStory::begun();
    assert_eq!(story.view.since, second(1));
    let story = story.iteration(1).attempt(1).then(odd()).then(OperatorEvent::Paused).then(odd());
    assert_eq!((story.view.since, story.view.at), (second(3), second(6)));
    // The pause shows after the attempt has ended and nothing new begins.
    let story = story.attempt_ends(1, 5, AttemptOutcome::Overloaded);
    let retry = Event::Wait(WaitEvent::RetryScheduled {
        at_time: Timestamp::UNIX_EPOCH,
        why: "x".to_owned(),
    });
    let story = story.then(retry).then(odd());
    assert_eq!((story.view.activity(), story.view.since), (Activity::Paused, second(7)));
    let story = story.then(odd()).then(OperatorEvent::Resumed);
    assert_eq!(story.view.since, second(11));
}
