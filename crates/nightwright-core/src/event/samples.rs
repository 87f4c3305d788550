//! One realistic event of every kind, for the reference page and for tests that must cover every
//! kind.

use std::time::Duration;

use jiff::Timestamp;

use super::{
    AgentFacts, AttemptEvent, CallEvent, CallPurpose, ChecksAfterIteration, Continuation,
    CostSource, Event, FeedbackSource, GateEvent, GateResult, IterationEvent, IterationFinished,
    IterationKind, IterationResult, NoteEvent, OperatorEvent, Progress, RunEvent, RunStarted,
    Spend, StatusField, StopSource, StopWhen, Totals, VerdictKind, WaitEnd, WaitEvent, WaitKind,
};
use crate::failing::{Change, Failing};
use crate::input::{
    ChangedFile, Changes, CheckPurpose, CheckResult, CheckVerdict, Checklist, TamperFinding,
    TaskProgress, WorkspaceMark,
};
use crate::outcome::{Outcome, Proof};
use crate::permissions::denial::Denial;
use crate::principles::{Preset, Principles};
use crate::settings::{ChangeSource, EvidenceKind, Limits, SettingChange, Settings, Verify};
use crate::stream::news::{
    Answer, AttemptReport, Blocker, QuotaNews, QuotaWindow, Ready, StatedDecision, StreamFacts,
    TextEvidence, Verdict, WatchdogFinding, WatchdogSignal,
};
use crate::stream::outcome::{AttemptOutcome, CancelReason, Deadline, ProcessExit};
use crate::test_counts::TestCounts;
use crate::units::{AttemptId, CallId, Fingerprint, Iteration, Tokens, Usd};

/// Returns one event of every kind, in an order in which a run might record them.
pub fn samples() -> Vec<Event> {
    [beginning(), attempts(), waits(), words(), gate(), verdict(), steering(), end()].concat()
}

fn beginning() -> Vec<Event> {
    vec![
        Event::Run(RunEvent::Started(Box::new(RunStarted {
            settings: Settings {
                mode: "loop".to_owned(),
                task: Some("migrate-api".to_owned()),
                goal: "Move every handler to the new router.\nOne at a time.".to_owned(),
                notes_file: Some("NOTES.md".to_owned()),
                limits: limits(),
                verify: Verify { commands: vec!["cargo test".to_owned()], ..Verify::default() },
                ..Settings::default()
            },
            agent: AgentFacts {
                name: "claude".to_owned(),
                path: "/usr/local/bin/claude".to_owned(),
                version: Some("2.1.37".to_owned()),
            },
            project: "/srv/shop".to_owned(),
            git_head: Some("9fceb02d0ae598e95dc970b74767f19372d61af8".to_owned()),
            containment: "guard".to_owned(),
            sandbox: crate::settings::SandboxKind::Off,
            baseline: None,
            hooks: std::collections::BTreeMap::new(),
            seed: 11_400_714_819_323_198_485,
        }))),
        Event::Run(RunEvent::Continued { why: Continuation::AfterCrash }),
        Event::Iteration(IterationEvent::Started {
            iteration: Iteration(3),
            kind: IterationKind::Work,
            before: None,
            start: mark("5f0c9b1e"),
            checklist: Some(Checklist { open: 4, done: 2 }),
            status: None,
        }),
        Event::Iteration(IterationEvent::Skipped { iteration: Iteration(4) }),
    ]
}

fn attempts() -> Vec<Event> {
    vec![
        Event::Attempt(AttemptEvent::Started {
            attempt: AttemptId(7),
            iteration: Iteration(3),
            cap: Some(Usd::from_cents(420)),
            model: Some("opus".to_owned()),
        }),
        Event::Attempt(AttemptEvent::AgentReady {
            attempt: AttemptId(7),
            ready: Ready {
                model: "claude-opus-4-6".to_owned(),
                version: "2.1.37".to_owned(),
                permission_mode: "acceptEdits".to_owned(),
                tools: 18,
                api_key: String::new(),
                failed_servers: vec!["tracker".to_owned()],
                loaded: Vec::new(),
            },
        }),
        Event::Attempt(AttemptEvent::Cancelled {
            attempt: AttemptId(7),
            why: CancelReason::Deadline(Deadline::Idle),
        }),
        Event::Attempt(AttemptEvent::Finished {
            attempt: AttemptId(7),
            cost: Usd::from_micros(421_337),
            figure: CostSource::Reported,
            duration: Duration::from_millis(372_481),
            report: Box::new(report()),
        }),
        Event::Wait(WaitEvent::RetryScheduled {
            at_time: time(1_794_786_045_250),
            why: "the provider is overloaded".to_owned(),
        }),
    ]
}

fn waits() -> Vec<Event> {
    vec![
        Event::Wait(WaitEvent::Started {
            limit: WaitKind::Usage,
            until: Some(time(1_794_790_800_000)),
            retry_at: time(1_794_790_860_000),
            wait: Duration::from_millis(4_814_750),
        }),
        Event::Wait(WaitEvent::Ended {
            why: WaitEnd::Elapsed,
            waited: Duration::from_millis(4_814_802),
        }),
        Event::Wait(WaitEvent::QuotaReported {
            quota: QuotaNews {
                window: QuotaWindow::FiveHour,
                used: 91,
                resets_at: Some(time(1_794_790_800_000)),
            },
        }),
        Event::Note(NoteEvent::StatusChanged {
            progress: Some(TaskProgress { completed: 35, total: 60 }),
            summary: "orders and invoices moved".to_owned(),
            complete: false,
            phase: Some("payments".to_owned()),
            blockers: vec!["5f4dcc3b".to_owned()],
            delta: Some(5),
            changed: vec![StatusField::Progress, StatusField::Summary],
            other: None,
        }),
    ]
}

fn words() -> Vec<Event> {
    vec![
        Event::Note(NoteEvent::BlockerReported { blocker: blocker() }),
        Event::Attempt(AttemptEvent::WatchdogNoticed { attempt: AttemptId(7), finding: finding() }),
        Event::Attempt(AttemptEvent::MessageSent {
            attempt: AttemptId(7),
            answers: Some(finding()),
            text: "You get no answer. Choose, note the choice, continue.".to_owned(),
        }),
        Event::Attempt(AttemptEvent::PermissionDenied {
            attempt: AttemptId(7),
            tool: "Bash".to_owned(),
            command: "docker compose up".to_owned(),
            rule: Some("Bash(docker compose up:*)".to_owned()),
        }),
    ]
}

fn gate() -> Vec<Event> {
    vec![
        Event::Gate(GateEvent::Started {
            iteration: Iteration(3),
            claim: vec![EvidenceKind::Status, EvidenceKind::Promise],
        }),
        Event::Gate(GateEvent::ChecksStarted {
            purpose: CheckPurpose::Gate,
            commands: vec!["cargo test".to_owned()],
        }),
        Event::Gate(GateEvent::ChecksFinished {
            purpose: CheckPurpose::Gate,
            reused_from: None,
            results: vec![CheckResult {
                command: "cargo test".to_owned(),
                verdict: CheckVerdict::Failed { how: ProcessExit::Code(101) },
                output: "test invoice::rounds … FAILED\n\ttest result: \"FAILED\"".to_owned(),
                tests: Some(TestCounts { failed: 2, total: 14 }),
                log: Some("checks/002-1.log".to_owned()),
                duration: Duration::from_millis(48_120),
                outside: false,
            }],
            fingerprint: Fingerprint("c01d5eed".to_owned()),
            outputs: vec!["coverage.xml".to_owned()],
            flaky: vec!["cargo test".to_owned()],
            outside: Vec::new(),
        }),
        Event::Gate(GateEvent::ChangesInspected {
            findings: vec![TamperFinding {
                path: "tests/invoice.rs".to_owned(),
                what: "2 assertions removed".to_owned(),
            }],
            changes: Changes {
                files: 1,
                listed: vec![ChangedFile {
                    path: "tests/invoice.rs".to_owned(),
                    added: 4,
                    removed: 6,
                }],
            },
        }),
    ]
}

fn verdict() -> Vec<Event> {
    vec![
        Event::Call(CallEvent::Started {
            call: CallId(2),
            purpose: CallPurpose::Verify,
            cap: Some(Usd::from_cents(25)),
            second_opinion: None,
        }),
        Event::Call(CallEvent::Cancelled {
            call: CallId(2),
            why: CancelReason::Deadline(Deadline::Attempt),
        }),
        Event::Call(CallEvent::Finished {
            call: CallId(2),
            purpose: CallPurpose::Verify,
            cost: Usd::from_micros(8_125),
            figure: CostSource::Estimated,
            duration: Duration::from_millis(9_702),
            report: Box::new(AttemptReport {
                answer: Some(Answer::Verdict(Verdict {
                    complete: false,
                    reason: "one handler is still on the old router".to_owned(),
                    missing: vec!["src/returns.rs".to_owned()],
                })),
                ..AttemptReport::bare(AttemptOutcome::Finished)
            }),
        }),
        Event::Gate(GateEvent::VerdictGiven {
            verdict: VerdictKind::No,
            reason: "one handler is still on the old router".to_owned(),
            missing: vec!["src/returns.rs".to_owned()],
        }),
        Event::Gate(GateEvent::Finished {
            result: GateResult::Rejected { why: "`cargo test` failed (exit 101)".to_owned() },
        }),
        Event::Note(NoteEvent::CouncilDecided {
            iteration: Iteration(3),
            conflict: "speed vs. stable routes".to_owned(),
            decision: "keep the old routes for one release".to_owned(),
        }),
        Event::Note(NoteEvent::PrinciplesAdopted { principles: Principles::of(Preset::Startup) }),
    ]
}

fn steering() -> Vec<Event> {
    vec![
        Event::Note(NoteEvent::FeedbackAdded {
            source: FeedbackSource::Checks,
            text: "`cargo test` failed (exit 101): test invoice::rounds".to_owned(),
        }),
        Event::Operator(OperatorEvent::SettingsChanged {
            source: ChangeSource::Operator,
            change: SettingChange::AllowedTools {
                old: vec!["Bash(cargo test:*)".to_owned()],
                new: vec!["Bash(cargo test:*)".to_owned(), "Bash(npm install:*)".to_owned()],
            },
        }),
        Event::Iteration(IterationEvent::Finished(Box::new(IterationFinished {
            iteration: Iteration(3),
            result: IterationResult::Failed {
                why: "the provider is overloaded".to_owned(),
                too_long: false,
            },
            ends: Some(Outcome::ConsecutiveErrors {
                errors: 3,
                last: "the provider is overloaded".to_owned(),
            }),
            progress: Progress::Work,
            claim: vec![EvidenceKind::Status],
            blockers: vec![blocker()],
            signal: false,
            end: Some(mark("c01d5eed")),
            files_changed: 4,
            files_changed_outside_plan: Some(3),
            commits: 2,
            changes: Some(Changes {
                files: 9,
                listed: vec![ChangedFile { path: "src/orders.rs".into(), added: 41, removed: 7 }],
            }),
            task: Some(TaskProgress { completed: 35, total: 60 }),
            phase: Some("resources".to_owned()),
            checklist: Some(Checklist { open: 25, done: 35 }),
            cost: Usd::from_micros(429_462),
            duration: Duration::from_millis(430_303),
            checks: Some(ChecksAfterIteration {
                failing: Failing {
                    checks: 1,
                    uncounted: 0,
                    tests: Some(TestCounts { failed: 2, total: 14 }),
                },
                change: Some(Change::Better),
            }),
            idle: 0,
            without_gain: 2,
            summary: "Moved the invoice handlers.".to_owned(),
        }))),
    ]
}

fn end() -> Vec<Event> {
    let tokens =
        Tokens { input: 9_310, output: 41_022, cache_read: 2_240_117, cache_write: 88_406 };
    let work = Spend { count: 7, cost: Usd::from_micros(3_204_518), tokens };
    vec![
        Event::Operator(OperatorEvent::StopRequested {
            when: StopWhen::AfterIteration,
            by: StopSource::Operator,
        }),
        Event::Operator(OperatorEvent::StopCancelled),
        Event::Operator(OperatorEvent::Paused),
        Event::Operator(OperatorEvent::Resumed),
        Event::Operator(OperatorEvent::RetryRefused),
        Event::Note(NoteEvent::HookFailed {
            hook: "iteration_finished".to_owned(),
            why: "exited with 127".to_owned(),
        }),
        Event::Note(NoteEvent::HostContacted { host: "registry.npmjs.org:443".to_owned() }),
        Event::Note(NoteEvent::HostRefused {
            host: "db.example:5432".to_owned(),
            why: "10.0.0.5 is a private address".to_owned(),
            setting: Some("sandbox.private_hosts = [\"db.example:5432\"]".to_owned()),
        }),
        Event::Note(NoteEvent::Warning {
            text: "ignoring `.status.json`: it is not valid JSON: expected value at line 1 column \
                   1"
            .to_owned(),
        }),
        Event::Run(RunEvent::Finished {
            outcome: Outcome::completed(Proof::Checks),
            note: Some("a check was flaky".to_owned()),
            totals: Totals {
                iterations: 6,
                attempts: 7,
                commits: 11,
                duration: Duration::from_millis(2_713_904),
                waited: Duration::from_millis(4_814_750),
                cost: Usd::from_micros(3_204_518),
                estimated: Usd::from_micros(8_125),
                tokens,
                by_purpose: [("work".to_owned(), work)].into(),
            },
        }),
    ]
}

fn limits() -> Limits {
    Limits {
        max_iterations: Some(50),
        max_cost: Some(Usd::from_cents(2_000)),
        max_duration: Some(Duration::from_hours(8)),
        ..Limits::default()
    }
}

fn mark(fingerprint: &str) -> WorkspaceMark {
    WorkspaceMark {
        fingerprint: Fingerprint(fingerprint.to_owned()),
        head: Some("9fceb02d0ae598e95dc970b74767f19372d61af8".to_owned()),
        head_tree: Some("4b825dc642cb6eb9a060e54bf8d69288fbee4904".to_owned()),
        status: Some("1835021:212:1794786000.250000000".to_owned()),
    }
}

fn report() -> AttemptReport {
    AttemptReport {
        outcome: AttemptOutcome::Finished,
        cost: Some(Usd::from_micros(421_337)),
        priced: Some(Usd::from_micros(420_911)),
        tokens: Tokens { input: 1_204, output: 6_118, cache_read: 310_552, cache_write: 12_034 },
        turns: 23,
        text_evidence: TextEvidence {
            promise: true,
            states_done: true,
            decisions: vec![StatedDecision {
                decision: "answer unknown routes with 404".to_owned(),
                rationale: Some("clarity_of_intent is 8".to_owned()),
            }],
            findings: vec![finding()],
            summary: "Moved the invoice handlers.".to_owned(),
            ..TextEvidence::default()
        },
        denied: vec![Denial {
            tool: "Bash".to_owned(),
            input: "docker compose up".to_owned(),
            why: "This command requires approval".to_owned(),
        }],
        edited: Some(vec!["src/parser.rs".to_owned()]),
        answer: None,
        acknowledged: None,
        stream: StreamFacts {
            stdout_bytes: 481_220,
            stderr_bytes: 0,
            bad_lines: 0,
            unknown_events: 0,
            results: 1,
            tool_calls: 31,
            tool_errors: 2,
            quiet: Duration::from_millis(412),
        },
        unknown: Vec::new(),
    }
}

fn finding() -> WatchdogFinding {
    WatchdogFinding {
        signal: WatchdogSignal::Asking,
        key: "shall i also move the tests".to_owned(),
        text: "Shall I also move the tests?".to_owned(),
        context: String::new(),
    }
}

fn blocker() -> Blocker {
    Blocker {
        action: Some("put it into `.env` as STAGING_PASSWORD".to_owned()),
        resume: Some("I run the migration".to_owned()),
        ..Blocker::new("3f2a9c04", "a password for the staging database")
    }
}

fn time(millisecond: i64) -> Timestamp {
    Timestamp::from_millisecond(millisecond).expect("the dates above are within this century")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_sample_of_every_kind() {
        let mut names: Vec<_> = samples().iter().map(Event::name).collect();
        let mut known: Vec<_> = Event::names().collect();
        names.sort_unstable();
        known.sort_unstable();
        assert_eq!(names, known);
        assert!(names.len() > 30);
    }

    #[test]
    fn the_name_is_the_one_in_the_json() {
        for event in samples() {
            let json = serde_json::to_value(&event).unwrap();
            assert_eq!(json["event"], event.name());
        }
    }

    #[test]
    fn every_meaning_is_one_unique_sentence() {
        let mut meanings: Vec<_> = samples().iter().map(Event::meaning).collect();
        for meaning in &meanings {
            assert!(meaning.ends_with('.') && !meaning.contains(". "), "{meaning}");
        }
        meanings.sort_unstable();
        meanings.dedup();
        assert_eq!(meanings.len(), samples().len());
    }
}
