//! A realistic run for benchmarks, pictures and tests: work, a rejected claim, a retry, a wait for
//! the usage limit, and an accepted claim.

use std::time::Duration;

use jiff::Timestamp;
use nightwright_core::event::{
    AgentFacts, AttemptEvent, CallEvent, CallPurpose, CostSource, Event, FeedbackSource, GateEvent,
    GateResult, IterationEvent, IterationFinished, IterationKind, IterationResult, NoteEvent,
    Progress, Record, RunEvent, RunStarted, Totals, VerdictKind, WaitEnd, WaitEvent, WaitKind,
};
use nightwright_core::input::{
    ChangedFile, Changes, CheckPurpose, CheckResult, CheckVerdict, TaskProgress, WorkspaceMark,
};
use nightwright_core::outcome::{Outcome, Proof};
use nightwright_core::settings::{EvidenceKind, Limits, Settings, Verify};
use nightwright_core::stream::news::{AttemptReport, Ready, StreamFacts};
use nightwright_core::stream::outcome::{AttemptOutcome, ProcessExit};
use nightwright_core::units::{AttemptId, CallId, Fingerprint, Iteration, Tokens, Usd};

/// The agent's summaries, used in turn.
const SAMPLE_SUMMARIES: [&str; 6] = [
    "The order handlers use the new router. Their tests pass.",
    "Invoices are moved. The old middleware is still there for payments.",
    "Payments needed a change of the session store first; that is done and tested.",
    "Refunds and vouchers are moved; two tests were flaky and are not any more.",
    "The webhooks verify their signatures in one place now.",
    "Removed what nothing uses any more, and the documentation of it.",
];

/// The changed files after this iteration.
fn changes(iteration: u32) -> Changes {
    let names = ["src/orders.rs", "src/payments.rs", "src/router.rs", "tests/orders.rs"];
    let changed = |(index, name): (usize, &&str)| ChangedFile {
        path: (*name).to_owned(),
        added: 12 * iteration + u32::try_from(index).unwrap_or(0),
        removed: 5 * iteration,
    };
    let listed: Vec<_> = names.iter().enumerate().map(changed).collect();
    Changes { files: 4 + iteration / 2, listed }
}

/// The parameters of a sample run.
#[derive(Clone, Debug)]
pub(crate) struct SampleRun {
    pub(crate) task: String,
    pub(crate) iterations: u32,
    pub(crate) start: Timestamp,
    /// A text that replaces all words of the agent and its verifier.
    pub(crate) words: Option<String>,
    /// The commit at the start of the run.
    pub(crate) head: Option<String>,
}

impl SampleRun {
    /// A run of a task with this number of iterations.
    pub(crate) fn new(task: &str, iterations: u32, start: Timestamp) -> Self {
        Self { task: task.to_owned(), iterations, start, words: None, head: None }
    }

    /// The journal of the run.
    pub(crate) fn records(&self) -> Vec<Record> {
        let clock = SampleClock { at: self.start, active: Duration::ZERO };
        let mut tale =
            SampleWriter { run: self, clock, records: Vec::new(), totals: Totals::default() };
        tale.begin();
        for number in 1..=self.iterations {
            tale.iteration(number);
        }
        tale.end();
        tale.records
    }

    fn words<'a>(&'a self, otherwise: &'a str) -> String {
        self.words.as_deref().unwrap_or(otherwise).to_owned()
    }
}

struct SampleClock {
    at: Timestamp,
    active: Duration,
}

struct SampleWriter<'a> {
    run: &'a SampleRun,
    clock: SampleClock,
    records: Vec<Record>,
    totals: Totals,
}

impl SampleWriter<'_> {
    /// Adds an event after this number of seconds of active time.
    fn after(&mut self, seconds: u64, event: Event) {
        let passed = Duration::from_secs(seconds);
        self.clock.at += passed;
        self.clock.active += passed;
        let SampleClock { at, active } = self.clock;
        self.records.push(Record { at, active, event });
    }

    fn begin(&mut self) {
        let run = self.run;
        let limits = Limits {
            max_iterations: Some(run.iterations.max(12).next_multiple_of(10)),
            max_cost: Usd::from_dollars(f64::from(run.iterations.max(12).next_multiple_of(10))),
            max_duration: Some(Duration::from_hours(8)),
            ..Limits::default()
        };
        self.after(
            0,
            Event::Run(RunEvent::Started(Box::new(RunStarted {
                settings: Settings {
                    mode: "loop".to_owned(),
                    task: Some(run.task.clone()),
                    goal: run.words("Move every handler to the new router.\n\nOne at a time, each with its tests."),
                    limits,
                    verify: Verify { commands: vec!["cargo test".to_owned()], ..Verify::default() },
                    ..Settings::default()
                },
                agent: AgentFacts {
                    name: "claude".to_owned(),
                    path: "/usr/local/bin/claude".to_owned(),
                    version: Some("2.1.37".to_owned()),
                },
                project: "/srv/shop".to_owned(),
                git_head: run.head.clone(),
                containment: "guard".to_owned(),
                sandbox: nightwright_core::settings::SandboxKind::Off,
                baseline: None,
                hooks: std::collections::BTreeMap::new(),
                seed: 1,
            }))),
        );
    }

    fn iteration(&mut self, number: u32) {
        let last = number == self.run.iterations;
        // The last iteration but one claims completion too early.
        let claims = last || number + 1 == self.run.iterations;
        let before = self.totals.cost;
        let begun = self.clock.active;
        self.after(
            2,
            Event::Iteration(IterationEvent::Started {
                iteration: Iteration(number),
                kind: IterationKind::Work,
                before: None,
                start: self.mark(number),
                checklist: None,
                status: None,
            }),
        );
        if number % 7 == 3 {
            self.attempt(number, AttemptOutcome::Crashed { how: ProcessExit::Code(1) });
            let retry = self.clock.at + Duration::from_secs(5);
            let why = "exited with 1, no result".to_owned();
            self.after(0, Event::Wait(WaitEvent::RetryScheduled { at_time: retry, why }));
            self.after(
                5,
                Event::Note(NoteEvent::Warning {
                    text: "exited with 1: `output/003-1.ndjson`".to_owned(),
                }),
            );
        }
        if number % 9 == 4 {
            self.attempt(number, AttemptOutcome::UsageLimited { until: None });
            self.wait(Duration::from_mins(47));
        }
        self.attempt(number, AttemptOutcome::Finished);
        if claims {
            self.gate(number, last);
        }
        let cost = self.totals.cost.minus(before);
        self.finish(number, claims, cost, self.clock.active.saturating_sub(begun));
    }

    fn attempt(&mut self, number: u32, outcome: AttemptOutcome) {
        self.totals.attempts += 1;
        let attempt = AttemptId(self.totals.attempts);
        self.after(
            1,
            Event::Attempt(AttemptEvent::Started {
                attempt,
                iteration: Iteration(number),
                cap: Some(Usd::from_cents(420)),
                model: None,
            }),
        );
        let ready = Ready { model: "claude-opus-4-6".to_owned(), ..Ready::default() };
        self.after(2, Event::Attempt(AttemptEvent::AgentReady { attempt, ready }));
        let whole = matches!(outcome, AttemptOutcome::Finished);
        let much = if whole { 1 + u64::from(number * 37 % 11) } else { 1 };
        let tokens = Tokens {
            input: 900 * much,
            output: 2_100 * much,
            cache_read: 91_000 * much,
            cache_write: 3_300 * much,
        };
        let cost = Usd::from_micros(91_337 * much);
        let duration = Duration::from_secs(48 * much);
        let report = AttemptReport {
            cost: Some(cost),
            tokens,
            turns: u32::try_from(3 * much).unwrap_or(u32::MAX),
            stream: StreamFacts { tool_calls: 11, tool_errors: 1, ..StreamFacts::default() },
            ..AttemptReport::bare(outcome)
        };
        self.charge("work", cost, tokens);
        let report = Box::new(report);
        let figure = CostSource::Reported;
        let event =
            Event::Attempt(AttemptEvent::Finished { attempt, cost, figure, duration, report });
        self.after(48 * much, event);
    }

    fn wait(&mut self, wait: Duration) {
        let retry_at = self.clock.at + wait;
        let limit = WaitKind::Usage;
        self.after(
            0,
            Event::Wait(WaitEvent::Started { limit, until: Some(retry_at), retry_at, wait }),
        );
        self.clock.at = retry_at;
        self.totals.waited += wait;
        self.after(0, Event::Wait(WaitEvent::Ended { why: WaitEnd::Elapsed, waited: wait }));
    }

    fn gate(&mut self, number: u32, passes: bool) {
        let iteration = Iteration(number);
        let claim = vec![EvidenceKind::Todo, EvidenceKind::Promise];
        self.after(1, Event::Gate(GateEvent::Started { iteration, claim }));
        let command = "cargo test".to_owned();
        self.after(
            0,
            Event::Gate(GateEvent::ChecksStarted {
                purpose: CheckPurpose::Gate,
                commands: vec![command.clone()],
            }),
        );
        let verdict = CheckVerdict::Passed;
        let (output, log, duration) = (String::new(), None, Duration::from_secs(41));
        let results = vec![CheckResult {
            command,
            verdict,
            output,
            tests: None,
            log,
            duration,
            outside: false,
        }];
        self.after(
            41,
            Event::Gate(GateEvent::ChecksFinished {
                purpose: CheckPurpose::Gate,
                reused_from: None,
                results,
                fingerprint: Fingerprint("5f0c9b1e".into()),
                outputs: Vec::new(),
                flaky: Vec::new(),
                outside: Vec::new(),
            }),
        );
        let changes = Changes { files: 14, listed: Vec::new() };
        self.after(1, Event::Gate(GateEvent::ChangesInspected { findings: Vec::new(), changes }));
        let (call, purpose, cap) = (CallId(number), CallPurpose::Verify, None);
        self.after(0, Event::Call(CallEvent::Started { call, purpose, cap, second_opinion: None }));
        let tokens = Tokens { input: 8_000, output: 400, cache_read: 0, cache_write: 0 };
        let (cost, figure) = (Usd::from_micros(38_000), CostSource::Reported);
        self.charge(purpose.name(), cost, tokens);
        let duration = Duration::from_secs(19);
        let report =
            Box::new(AttemptReport { tokens, ..AttemptReport::bare(AttemptOutcome::Finished) });
        self.after(
            19,
            Event::Call(CallEvent::Finished { call, purpose, cost, figure, duration, report }),
        );
        let (verdict, reason, missing, result) = if passes {
            let reason = "every handler goes through the new router, and the old one is gone";
            let result = GateResult::Passed { proof: Proof::Checks };
            (VerdictKind::Yes, reason, Vec::new(), result)
        } else {
            let reason = "the handlers of the webhooks still import the old router";
            let missing = vec![self.run.words("src/webhooks.rs uses `old::Router` in two places")];
            let why = self.run.words(reason);
            (VerdictKind::No, reason, missing, GateResult::Rejected { why })
        };
        let reason = self.run.words(reason);
        self.after(
            0,
            Event::Gate(GateEvent::VerdictGiven { verdict, reason: reason.clone(), missing }),
        );
        self.after(0, Event::Gate(GateEvent::Finished { result }));
        if !passes {
            let source = FeedbackSource::Verifier;
            self.after(0, Event::Note(NoteEvent::FeedbackAdded { source, text: reason }));
        }
    }

    fn finish(&mut self, number: u32, claims: bool, cost: Usd, duration: Duration) {
        let commits = 1 + number % 2;
        self.totals.commits += commits;
        self.totals.iterations += 1;
        let total = self.run.iterations * 4;
        let said = SAMPLE_SUMMARIES[number as usize % SAMPLE_SUMMARIES.len()];
        let idle = number % 11 == 5;
        let finished = IterationFinished {
            checks: None,
            idle: 0,
            without_gain: 0,
            iteration: Iteration(number),
            result: IterationResult::Done,
            ends: None,
            progress: match (claims, idle) {
                (true, _) => Progress::Uncounted,
                (false, true) => Progress::Idle,
                (false, false) => Progress::Work,
            },
            claim: if claims { vec![EvidenceKind::Promise] } else { Vec::new() },
            blockers: Vec::new(),
            signal: false,
            end: Some(self.mark(number + 1)),
            files_changed: if idle { 0 } else { 2 + number % 5 },
            files_changed_outside_plan: None,
            commits,
            changes: Some(changes(number)),
            task: Some(TaskProgress { completed: number * 4, total }),
            phase: None,
            checklist: None,
            cost,
            duration,
            summary: self.run.words(said),
        };
        self.after(1, Event::Iteration(IterationEvent::Finished(Box::new(finished))));
    }

    fn end(&mut self) {
        let outcome = Outcome::completed(Proof::Checks);
        self.totals.duration = self.clock.active;
        let totals = self.totals.clone();
        self.after(0, Event::Run(RunEvent::Finished { outcome, note: None, totals }));
    }

    fn charge(&mut self, purpose: &str, cost: Usd, tokens: Tokens) {
        self.totals.cost += cost;
        self.totals.tokens += tokens;
        let spend = self.totals.by_purpose.entry(purpose.to_owned()).or_default();
        spend.count += 1;
        spend.cost += cost;
        spend.tokens += tokens;
    }

    fn mark(&self, number: u32) -> WorkspaceMark {
        WorkspaceMark {
            fingerprint: Fingerprint(format!("{number:08x}")),
            head: self.run.head.clone(),
            head_tree: None,
            status: None,
        }
    }
}
