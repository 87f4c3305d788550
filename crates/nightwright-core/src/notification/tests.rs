//! Journals of sample runs, and the notifications they cause.

use std::collections::BTreeSet;
use std::time::Duration;

use super::text::MAX_TEXT_CHARS;
use super::*;
use crate::event::{
    AgentFacts, Continuation, GateEvent, IterationEvent, IterationFinished, IterationKind,
    IterationResult, NoteEvent, Progress, Record, RunEvent, RunStarted, StatusField, Totals,
    WaitEvent, WaitKind, samples,
};
use crate::input::{TaskProgress, WorkspaceMark};
use crate::outcome::{self, Proof, Strictness};
use crate::settings::Settings;
use crate::stream::news::Blocker;
use crate::units::{Fingerprint, Iteration, Usd};

/// A journal built line by line, one minute apart.
#[derive(Default)]
struct NotificationStory {
    notices: NotificationBuilder,
    seq: u64,
    sent: Vec<Notification>,
}

impl NotificationStory {
    fn line(&mut self, event: Event) -> JournalLine {
        self.seq += 1;
        let time = Duration::from_mins(self.seq);
        let at = Timestamp::UNIX_EPOCH + time;
        let run = RunId("20261116-2200-abcd".to_owned());
        JournalLine { seq: self.seq, run, record: Record { at, active: time, event } }
    }

    fn then(mut self, event: impl Into<Event>) -> Self {
        let line = self.line(event.into());
        self.sent.extend(self.notices.of(&line));
        self
    }

    fn past(mut self, event: Event) -> Self {
        let line = self.line(event);
        self.notices.past(&line);
        self
    }

    fn begun() -> Self {
        Self::default().then(started("claude"))
    }

    fn kinds(&self) -> Vec<&'static str> {
        self.sent.iter().map(|notification| notification.kind.name()).collect()
    }

    fn last(&self) -> (&str, &str) {
        let notification = self.sent.last().expect("something was told");
        (&notification.title, &notification.text)
    }
}

fn started(agent: &str) -> Event {
    let mut settings = Settings {
        mode: "loop".to_owned(),
        task: Some("migrate-api".to_owned()),
        goal: "Move the handlers.".to_owned(),
        ..Settings::default()
    };
    settings.limits.max_iterations = Some(30);
    settings.limits.max_cost = Some(Usd::from_cents(500));
    let version = Some("2.1.37".to_owned());
    Event::Run(RunEvent::Started(Box::new(RunStarted {
        settings,
        agent: AgentFacts { name: agent.to_owned(), path: String::new(), version },
        project: "/srv/shop".to_owned(),
        git_head: None,
        containment: String::new(),
        sandbox: crate::settings::SandboxKind::Off,
        baseline: None,
        hooks: std::collections::BTreeMap::new(),
        seed: 1,
    })))
}

fn iteration(number: u32) -> Event {
    let fingerprint = Fingerprint("tree".to_owned());
    Event::Iteration(IterationEvent::Started {
        iteration: Iteration(number),
        kind: if number == 0 { IterationKind::VerifyOnly } else { IterationKind::Work },
        before: None,
        start: WorkspaceMark { fingerprint, head: None, head_tree: None, status: None },
        checklist: None,
        status: None,
    })
}

fn done(number: u32, result: IterationResult) -> Event {
    Event::Iteration(IterationEvent::Finished(Box::new(IterationFinished {
        checks: None,
        idle: 0,
        without_gain: 0,
        iteration: Iteration(number),
        result,
        ends: None,
        progress: Progress::Work,
        claim: vec![],
        blockers: vec![],
        signal: false,
        end: None,
        files_changed: 4,
        files_changed_outside_plan: None,
        commits: 2,
        changes: None,
        task: Some(TaskProgress { completed: 35, total: 60 }),
        phase: None,
        checklist: None,
        cost: Usd::from_cents(42),
        duration: Duration::from_secs(372),
        summary: "The parser reads\ndates.\u{1b}[2J".to_owned(),
    })))
}

fn ended(outcome: Outcome) -> Event {
    Event::Run(RunEvent::Finished { outcome, note: None, totals: Totals::default() })
}

fn again() -> Event {
    Event::Run(RunEvent::Continued { why: Continuation::AfterEnd })
}

#[test]
fn a_run_sends_notifications_from_setup_to_outcome() {
    let story = NotificationStory::begun()
        .then(iteration(1))
        .then(done(1, IterationResult::Done))
        .then(iteration(2))
        .then(ended(Outcome::completed(Proof::Checks)));
    assert_eq!(story.kinds(), ["setup_complete", "execution_start", "iteration", "completion"]);
    let seqs: Vec<_> = story.sent.iter().map(|notification| notification.seq).collect();
    assert_eq!(seqs, [1, 2, 3, 5]);
    assert_eq!(story.sent[0].title, "migrate-api: ready to start");
    assert_eq!(
        story.sent[0].text,
        "Run 20261116-2200-abcd in /srv/shop\nMode loop, at most 30 iterations, $5.00\n\
         Agent claude 2.1.37"
    );
    let (title, text) = (&story.sent[2].title, &story.sent[2].text);
    assert_eq!(title, "migrate-api: iteration 1");
    assert_eq!(text, "4 files, 2 commits, $0.42, 6m 12s\n35/60 items\nThe parser reads dates.");
    assert_eq!(story.sent[3].id(), "20261116-2200-abcd-5-completion");
    assert_eq!(
        story.last(),
        (
            "migrate-api: completed and verified",
            "Task completed successfully after 1 iteration\n1 iteration, 2 commits, \
             5m 00s active\nNext: review the changes: nightwright report \
             20261116-2200-abcd"
        )
    );
}

#[test]
fn every_outcome_sends_exactly_one_notification_about_it() {
    let wanted = |outcome: &Outcome| match outcome.exit_code(Strictness::Lenient) {
        1 | 2 => NotificationKind::Error,
        130 => NotificationKind::Stopped,
        _ if matches!(outcome.exit_code(Strictness::RequireComplete), 0 | 4) => {
            NotificationKind::Completion
        }
        _ => NotificationKind::Stopped,
    };
    for outcome in outcome::samples() {
        let story = NotificationStory::begun().then(iteration(1)).then(ended(outcome.clone()));
        let outcomes: Vec<_> =
            story.sent.iter().filter(|notification| notification.kind.reports_outcome()).collect();
        let [notification] = outcomes[..] else { panic!("{outcome}: {outcomes:?}") };
        assert_eq!(notification.kind, wanted(&outcome), "{outcome}");
        assert!(
            notification.text.starts_with(&outcome.sentence(0)),
            "{outcome}: {}",
            notification.text
        );
        assert!(notification.text.contains("\nNext: "), "{outcome}: {}", notification.text);
        let mut story = story;
        let finished = run_view::FinalOutcome { outcome, note: None };
        assert_eq!(story.notices.outcome(finished, Timestamp::UNIX_EPOCH), None);
    }
}

#[test]
fn an_outcome_that_could_not_be_recorded_is_sent_once() {
    let mut story = NotificationStory::begun().then(iteration(1));
    let outcome = Outcome::JournalFailed { why: "no space left on device".to_owned() };
    let finished = run_view::FinalOutcome { outcome, note: None };
    let notification = story.notices.outcome(finished.clone(), Timestamp::UNIX_EPOCH).expect("one");
    assert_eq!((notification.kind, notification.seq), (NotificationKind::Error, 3));
    assert_eq!(notification.title, "migrate-api: failed");
    assert!(
        notification.text.starts_with("Cannot write the journal: no space"),
        "{notification:?}"
    );
    assert_eq!(story.notices.outcome(finished.clone(), Timestamp::UNIX_EPOCH), None);
    assert_eq!(
        NotificationBuilder::default().outcome(finished, Timestamp::UNIX_EPOCH),
        None,
        "it never began"
    );
}

#[test]
fn an_earlier_outcome_does_not_hide_one_that_could_not_be_recorded() {
    let mut story = NotificationStory::default()
        .past(started("claude"))
        .past(iteration(1))
        .past(ended(Outcome::Stopped));
    let outcome = Outcome::JournalFailed { why: "no space left on device".to_owned() };
    let finished = run_view::FinalOutcome { outcome, note: None };
    let notification = story.notices.outcome(finished.clone(), Timestamp::UNIX_EPOCH).expect("one");
    assert_eq!((notification.kind, notification.seq), (NotificationKind::Error, 4));
    assert!(
        notification.text.starts_with("Cannot write the journal: no space"),
        "{notification:?}"
    );
    assert_eq!(story.notices.outcome(finished, Timestamp::UNIX_EPOCH), None, "told once");
}

#[test]
fn the_past_is_known_and_not_told_again() {
    let story = NotificationStory::default()
        .past(started("claude"))
        .past(iteration(1))
        .past(done(1, IterationResult::Done))
        .then(RunEvent::Continued { why: Continuation::AfterCrash })
        .then(iteration(2))
        .then(ended(Outcome::Stopped));
    assert_eq!(story.kinds(), ["stopped"]);
    assert_eq!(story.last().0, "migrate-api: stopped");
    let text = story.last().1;
    assert!(text.contains("Stopped after iteration 1, as requested"), "{text}");
}

#[test]
fn a_resumed_run_sends_its_next_outcome_too() {
    let story = NotificationStory::begun()
        .then(iteration(1))
        .then(ended(Outcome::MaxIterations { limit: 1 }))
        .then(again())
        .then(iteration(2))
        .then(ended(Outcome::completed(Proof::None)));
    assert_eq!(story.kinds(), ["setup_complete", "execution_start", "stopped", "completion"]);
    assert_eq!(story.last().0, "migrate-api: completed, not verified");
    assert_ne!(story.sent[2].id(), story.sent[3].id());

    // An earlier process recorded the first outcome, and the next one cannot be recorded.
    let mut story =
        NotificationStory::default().past(started("claude")).past(ended(Outcome::Stopped));
    story = story.then(again());
    let finished = run_view::FinalOutcome { outcome: Outcome::Interrupted, note: None };
    assert!(story.notices.outcome(finished, Timestamp::UNIX_EPOCH).is_some());
}

#[test]
fn every_tenth_iteration_is_a_milestone() {
    let mut story = NotificationStory::begun();
    for number in 0..=30 {
        story = story.then(iteration(number)).then(done(number, IterationResult::Done));
    }
    let milestones: Vec<_> = story
        .sent
        .iter()
        .filter(|notification| notification.kind == NotificationKind::IterationMilestone)
        .map(|notification| notification.title.as_str())
        .collect();
    assert_eq!(
        milestones,
        ["migrate-api: 10 iterations", "migrate-api: 20 iterations", "migrate-api: 30 iterations"]
    );
    assert!(story.last().1.starts_with("So far: "), "{}", story.last().1);
}

#[test]
fn a_failed_iteration_says_why() {
    let failed = IterationResult::Failed { why: "overloaded".to_owned(), too_long: false };
    let story = NotificationStory::begun().then(iteration(1)).then(done(1, failed));
    assert_eq!(story.last().0, "migrate-api: iteration 1 failed");
    assert!(story.last().1.starts_with("overloaded\n"), "{}", story.last().1);
}

#[test]
fn a_changed_status_has_its_fixed_first_line() {
    let story = NotificationStory::begun().then(NoteEvent::StatusChanged {
        progress: Some(TaskProgress { completed: 35, total: 60 }),
        summary: "orders moved".to_owned(),
        complete: true,
        phase: None,
        blockers: vec![],
        delta: Some(5),
        changed: vec![StatusField::Progress],
        other: None,
    });
    assert_eq!(story.kinds(), ["setup_complete", "status_update"]);
    let text = "STATUS UPDATE\n\n35/60 items (+5) - orders moved - \u{2705} Complete!";
    assert_eq!(story.last(), ("migrate-api: status update", text));
}

#[test]
fn waits_blockers_and_rejected_claims_are_sent() {
    let story = NotificationStory::begun()
        .then(WaitEvent::Started {
            limit: WaitKind::Usage,
            until: None,
            retry_at: Timestamp::UNIX_EPOCH + Duration::from_hours(5),
            wait: Duration::from_hours(4),
        })
        .then(NoteEvent::BlockerReported {
            blocker: Blocker {
                action: Some("put it into .env".to_owned()),
                ..Blocker::new("k", "the\npassword")
            },
        });
    assert_eq!(story.kinds(), ["setup_complete", "limit_wait", "blocked"]);
    assert_eq!(story.sent[1].text, "Usage limit: waiting until 1970-01-01 05:00 UTC (4h 00m)");
    assert!(
        story
            .last()
            .1
            .starts_with("The agent needs: the password\nAction: put it into .env\nAnswer with "),
        "{}",
        story.last().1
    );

    let gate = |result| NotificationStory::begun().then(GateEvent::Finished { result });
    let why = "`cargo test` failed".to_owned();
    let rejected = gate(GateResult::Rejected { why: why.clone() });
    assert_eq!(rejected.kinds(), ["setup_complete", "verification_failed"]);
    // The text must not say that the run continues: this may have been the last iteration.
    assert_eq!(rejected.last().1, "Rejected: `cargo test` failed");
    let inconclusive = gate(GateResult::Inconclusive { why });
    assert_eq!(inconclusive.kinds(), ["setup_complete", "verification_failed"]);
    for silent in [
        GateResult::Passed { proof: Proof::Checks },
        GateResult::Unaffordable { outcome: Outcome::Stopped },
    ] {
        assert_eq!(gate(silent).kinds(), ["setup_complete"]);
    }
}

#[test]
fn a_rehearsal_is_called_one_everywhere() {
    let story = NotificationStory::default()
        .then(started("rehearsal"))
        .then(iteration(1))
        .then(ended(Outcome::Stopped));
    assert!(
        story
            .sent
            .iter()
            .all(|notification| notification.title.starts_with("[rehearsal] migrate-api: "))
    );
}

#[test]
fn no_text_of_an_agent_makes_a_notice_long_or_unsafe() {
    let endless = "never \u{1b}[31m\u{202e}\u{7}ending ".repeat(10_000);
    let needs = Outcome::Blocked { needs: endless.clone() };
    let note = Some(endless.clone());
    let story = NotificationStory::begun()
        .then(NoteEvent::BlockerReported { blocker: Blocker::new("", endless) })
        .then(RunEvent::Finished { outcome: needs, note, totals: Totals::default() });
    for notification in &story.sent {
        assert!(notification.text.chars().count() <= MAX_TEXT_CHARS, "{notification:?}");
        assert!(
            notification.title.chars().count() <= 120 && !notification.title.contains('\n'),
            "{notification:?}"
        );
        let shown = format!("{}{}", notification.title, notification.text);
        assert!(!shown.chars().any(|c| c.is_control() && c != '\n' || c == '\u{202e}'));
    }
}

#[test]
fn every_sample_event_can_be_processed() {
    let mut story = NotificationStory::default();
    for event in samples().into_iter().rev().chain(samples()) {
        story = story.then(event);
    }
    let kinds: BTreeSet<_> = story.sent.iter().map(|notification| notification.kind).collect();
    // The samples have other iteration numbers, and one outcome.
    for kind in [
        NotificationKind::SetupComplete,
        NotificationKind::Blocked,
        NotificationKind::LimitWait,
        NotificationKind::StatusUpdate,
    ] {
        assert!(kinds.contains(&kind), "{kind:?}");
    }
}

#[test]
fn names_lead_back_to_their_kinds() {
    assert_eq!(NotificationKind::NAMES.len(), BTreeSet::from(NotificationKind::NAMES).len());
    for kind in NotificationKind::ALL {
        assert_eq!(NotificationKind::by_name(kind.name()), Some(kind));
        assert!(kind.tags().iter().all(|tag| tag.is_ascii() && !tag.contains(',')));
    }
    assert_eq!(NotificationKind::by_name("test"), None, "nobody can ask for it");
    let unusual: Vec<_> =
        NotificationKind::ALL.into_iter().filter(|kind| !kind.is_usual()).collect();
    assert_eq!(unusual, [NotificationKind::Iteration]);
}

#[test]
fn errors_are_urgent_and_other_outcomes_and_blockers_are_high() {
    for kind in NotificationKind::ALL {
        let wanted = match kind.name() {
            "error" => "urgent",
            "completion" | "blocked" | "stopped" => "high",
            _ => "default",
        };
        assert_eq!(kind.priority().name(), wanted, "{kind:?}");
    }
}

#[test]
fn next_steps_are_one_sentence_each() {
    let story = NotificationStory::begun().then(ended(Outcome::MaxIterations { limit: 2 }));
    let text = story.last().1;
    let ways: Vec<_> = text.lines().skip_while(|line| !line.starts_with("Next: ")).collect();
    assert_eq!(
        ways,
        [
            "Next: raise the limit and continue: nightwright resume 20261116-2200-abcd \
             --max-iterations 4",
            "or: read the log: nightwright log 20261116-2200-abcd",
        ]
    );
}
