//! A simulated world that answers at random, lies, fails, and steers the run at any moment.

use std::time::Duration;

use crate::effect::{CallRequest, Effect, Step};
use crate::event::{AttemptEvent, Event, NoteEvent, RunEvent, StopSource, StopWhen};
use crate::input::{
    CheckReport, CheckResult, CheckVerdict, Checklist, Control, HookAnswer, Input, Inspection,
    Prepared, ResumeData, StatusReport, Survey, TamperFinding, TimerKey, WorkspaceMark,
};
use crate::machine::Machine;
use crate::machine::ledger::{Stage, State};
use crate::machine::story::{Story, reread};
use crate::permissions::denial::Denial;
use crate::policy::dice;
use crate::settings::{
    Council, Every, EvidenceKind, Settings, Tamper, VerdictMode, WatchdogResponse,
};
use crate::stream::news::{
    AgentNews, Answer, AttemptReport, Blocker, Pulse, TurnEnd, Verdict, WatchdogFinding,
    WatchdogSignal,
};
use crate::stream::outcome::{AttemptOutcome, ProcessExit, Suspicion};
use crate::test_counts::TestCounts;
use crate::units::{Fingerprint, Now, Tokens, Usd};

/// How far a model call may exceed the cap: the agent checks its budget only after a call.
pub(super) const OVERSHOOT: Usd = Usd::from_cents(3);

/// A random number generator with a fixed seed.
struct Dice {
    seed: u64,
    thrown: u64,
}

impl Dice {
    fn below(&mut self, below: u64) -> u64 {
        self.thrown += 1;
        dice(self.seed, self.thrown, below)
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn of<T: Clone>(&mut self, choices: &[T]) -> T {
        let index = usize::try_from(self.below(choices.len() as u64)).expect("small");
        choices[index].clone()
    }
}

fn settings(dice: &mut Dice) -> Settings {
    let mut settings = Settings::default();
    let limits = &mut settings.limits;
    limits.max_iterations = dice.of(&[None, Some(1), Some(3), Some(8)]);
    limits.max_cost = dice.of(&[None, Some(Usd::from_cents(40)), Some(Usd::from_cents(300))]);
    limits.max_tokens = dice.of(&[None, Some(500), Some(5000)]);
    limits.max_duration =
        dice.of(&[None, Some(Duration::from_mins(3)), Some(Duration::from_hours(1))]);
    limits.max_wait = dice.of(&[Duration::from_mins(20), Duration::from_hours(12)]);
    settings.retry.max_retries = dice.of(&[0, 1, 5]);
    settings.retry.max_consecutive_errors = dice.of(&[1, 3]);
    settings.progress.threshold = dice.of(&[0, 1, 3]);
    settings.progress.no_gain = dice.of(&[0, 2, 4]);
    settings.delay = dice.of(&[Duration::ZERO, Duration::from_secs(2)]);
    settings.completion.evidence = dice.of(&[
        vec![],
        vec![EvidenceKind::Promise, EvidenceKind::Signal],
        vec![EvidenceKind::Status, EvidenceKind::Todo, EvidenceKind::Promise],
    ]);
    settings.verify.commands = dice.of(&[vec![], vec!["make test".to_owned()]]);
    settings.verify.baseline = dice.of(&[None, Some(Duration::from_mins(5))]);
    settings.verify.every = dice.of(&[Every::Auto, Every::Always, Every::Claim]);
    settings.verify.model = dice.of(&[VerdictMode::Off, VerdictMode::Auto, VerdictMode::Always]);
    settings.verify.tamper = dice.of(&[Tamper::Off, Tamper::Warn, Tamper::Reject]);
    settings.extras.review = dice.of(&[None, Some(String::new())]);
    settings.extras.council = dice.of(&[Council::On, Council::On, Council::Off]);
    settings.extras.watchdog =
        dice.of(&[WatchdogResponse::Off, WatchdogResponse::Live, WatchdogResponse::Next]);
    settings.hooks.started = dice.one_in(8);
    settings.hooks.next_iteration = dice.one_in(4);
    settings.hooks.iteration_finished = dice.one_in(4);
    settings.hooks.blocked = dice.one_in(3);
    settings.status_watch.enabled = !dice.one_in(4);
    settings.status_watch.only_meaningful = !dice.one_in(3);
    settings
}

/// A request of the machine that the world has not answered yet.
#[derive(Clone, Debug)]
pub(super) enum PendingAnswer {
    Answer(Effect),
    Timer(TimerKey, Duration),
}

pub(super) struct RandomRun {
    dice: Dice,
    pub(super) story: Story,
    pub(super) owed: Vec<PendingAnswer>,
    /// All inputs with their time, and the steps that followed.
    pub(super) fed: Vec<(Now, Input, Step)>,
    /// The length of the journal after each step, and the state at that time.
    pub(super) states: Vec<(usize, State)>,
    pub(super) crashed: bool,
}

impl RandomRun {
    pub(super) fn new(seed: u64) -> Self {
        let mut dice = Dice { seed, thrown: 0 };
        let settings = settings(&mut dice);
        let story = Story::new(settings);
        Self { dice, story, owed: vec![], fed: vec![], states: vec![], crashed: false }
    }

    pub(super) fn feed(&mut self, input: Input) {
        let step = self.story.machine.handle(self.story.now, input.clone());
        self.check(&step);
        self.story.journal.extend(step.records.iter().cloned());
        self.states.push((self.story.journal.len(), self.story.machine.state().clone()));
        for effect in &step.effects {
            self.owe(effect);
        }
        self.fed.push((self.story.now, input, step));
    }

    fn owe(&mut self, effect: &Effect) {
        match effect {
            // It ends the run, so most runs have a project that responds.
            Effect::SetTimer { key: TimerKey::Project(_), .. } if !self.dice.one_in(300) => {}
            Effect::SetTimer { key, alarm } => {
                let at = match alarm {
                    crate::effect::Alarm::After(after) => self.story.now.mono + *after,
                    crate::effect::Alarm::At(at) => self.story.now.mono + self.story.now.until(*at),
                };
                self.owed.retain(|owed| !matches!(owed, PendingAnswer::Timer(k, _) if k == key));
                self.owed.push(PendingAnswer::Timer(*key, at));
            }
            Effect::ClearTimer { key } => {
                self.owed.retain(|owed| !matches!(owed, PendingAnswer::Timer(k, _) if k == key));
            }
            Effect::RunHook { .. }
            | Effect::Prepare { .. }
            | Effect::StartAttempt(_)
            | Effect::Survey { .. }
            | Effect::RunChecks { .. }
            | Effect::InspectChanges { .. }
            | Effect::StartCall(_) => self.owed.push(PendingAnswer::Answer(effect.clone())),
            Effect::Nudge { .. }
            | Effect::CloseInput { .. }
            | Effect::CancelAttempt { .. }
            | Effect::CancelChecks { .. }
            | Effect::CancelCall { .. }
            | Effect::Finish => {}
        }
    }

    /// Checks the invariants of a single step.
    fn check(&self, step: &Step) {
        let before = self.states.last().map(|(_, state)| state);
        if before.is_some_and(|state| state.outcome().is_some()) {
            let revived =
                step.events().any(|event| matches!(event, Event::Run(RunEvent::Continued { .. })));
            assert!(step.is_empty() || revived, "decided after the end: {step:?}");
        }
        for effect in &step.effects {
            if let Effect::StartAttempt(request) = effect {
                let recorded = step.events().any(|event| {
                    matches!(event, Event::Attempt(AttemptEvent::Started { attempt, .. }) if *attempt == request.attempt)
                });
                assert!(recorded, "an attempt starts off the record");
                let running = self.owed.iter().any(|owed| {
                    matches!(
                        owed,
                        PendingAnswer::Answer(Effect::StartAttempt(_) | Effect::StartCall(_))
                    )
                });
                assert!(!running, "two attempts at a time");
            }
        }
        self.check_status(step);
        let ends =
            step.events().filter(|e| matches!(e, Event::Run(RunEvent::Finished { .. }))).count();
        let finishes = step.effects.iter().filter(|e| **e == Effect::Finish).count();
        assert!(ends <= 1 && ends == finishes, "a run ends once");
    }

    /// Checks that a changed status is reported only if the settings ask for it, and never twice.
    fn check_status(&self, step: &Step) {
        let state = self.states.last().map(|(_, state)| state);
        let before = state.and_then(|state| state.status.as_ref());
        for event in step.events() {
            if let Event::Note(NoteEvent::StatusChanged {
                complete, summary, changed, other, ..
            }) = event
            {
                let settings = &self.story.machine.state().settings.status_watch;
                assert!(
                    settings.enabled && !changed.is_empty(),
                    "reported without reason: {event:?}"
                );
                let is_repeated = before.is_some_and(|before| {
                    (before.complete, &before.summary, &before.other) == (*complete, summary, other)
                });
                assert!(!is_repeated, "reported twice: {event:?}");
            }
        }
    }

    fn pass(&mut self, time: Duration) {
        self.story.now.mono += time;
        self.story.now.wall = self.story.now.plus(time);
    }

    /// Feeds one random input to the machine.
    pub(super) fn step(&mut self) {
        let time = Duration::from_millis(self.dice.below(20_000));
        self.pass(time);
        if self.dice.one_in(12) {
            let control = self.control();
            return self.feed(control);
        }
        if self.dice.one_in(40) {
            return self.crash();
        }
        if self.dice.one_in(10)
            && let Some(news) = self.chatter()
        {
            return self.feed(news);
        }
        if self.dice.one_in(12)
            && let Some(status) = self.status()
        {
            return self.feed(Input::Status(status));
        }
        if self.owed.is_empty() {
            // Only the operator can resume it.
            return self.feed(Input::Control(Control::Resume));
        }
        let index = usize::try_from(self.dice.below(self.owed.len() as u64)).expect("small");
        match self.owed.remove(index) {
            PendingAnswer::Timer(key, at) => {
                self.pass(at.saturating_sub(self.story.now.mono));
                self.feed(Input::Timer(key));
            }
            PendingAnswer::Answer(effect) => {
                let input = self.answer(&effect);
                self.feed(input);
            }
        }
    }

    fn control(&mut self) -> Input {
        let by = self.dice.of(&[StopSource::Signal, StopSource::Operator]);
        let when = if self.dice.one_in(3) { StopWhen::Now } else { StopWhen::AfterIteration };
        Input::Control(self.dice.of(&[
            Control::Pause,
            Control::Resume,
            Control::Resume,
            Control::RetryNow,
            Control::CancelStop,
            Control::Tell { text: "mind the gap".to_owned() },
            Control::Stop { when, by },
        ]))
    }

    /// Returns news that does not end anything.
    fn chatter(&mut self) -> Option<Input> {
        let attempt = self.story.machine.state().last_attempt;
        let tokens = Tokens { output: self.dice.below(900), ..Tokens::default() };
        let pulse = Pulse { tokens, exiting: self.dice.one_in(3), ..Pulse::default() };
        let finding = self.notice();
        let noticed = Some(finding.clone()).filter(|_| self.dice.one_in(2));
        let how = self.dice.of(&[TurnEnd::Well, TurnEnd::Queued, TurnEnd::Failed]);
        let news = self.dice.of(&[
            AgentNews::Ready(crate::stream::news::Ready::default()),
            AgentNews::Pulse(pulse),
            AgentNews::Noticed(finding),
            AgentNews::TurnEnded { how, noticed },
            AgentNews::Denied(Denial {
                tool: "Bash".to_owned(),
                input: "make && make test".to_owned(),
                why: String::new(),
            }),
        ]);
        (attempt.0 > 0).then_some(Input::Agent(attempt, news))
    }

    fn crash(&mut self) {
        self.story.journal = reread(&self.story.journal);
        self.story.machine = Machine::resume(&self.story.journal);
        self.owed.clear();
        self.crashed = true;
        if self.story.journal.is_empty() {
            return;
        }
        let state = self.story.machine.state();
        let cap = state.current().and_then(|current| match current.stage {
            Stage::Attempting { cap, .. } => cap,
            Stage::Begun | Stage::Attempted | Stage::Retrying { .. } => {
                current.call.and_then(|call| call.cap)
            }
        });
        let report = self.dice.one_in(3).then(|| Box::new(self.report(cap)));
        self.feed(Input::Resume(ResumeData { report, ..ResumeData::default() }));
    }

    fn report(&mut self, cap: Option<Usd>) -> AttemptReport {
        let outcome = self.outcome();
        let mut report = AttemptReport::bare(outcome);
        // An honest agent stays within its cap, except for one model call.
        let most = cap.map_or(Usd::from_cents(50), |cap| cap + OVERSHOOT);
        report.cost = (!self.dice.one_in(4))
            .then(|| Usd::from_micros(self.dice.below(most.micros().min(600_000) + 1)));
        report.tokens.output = self.dice.below(300);
        report.text_evidence.promise = self.dice.one_in(3);
        report.text_evidence.signal = self.dice.one_in(3);
        report.text_evidence.states_done = self.dice.one_in(3);
        if self.dice.one_in(4) {
            let finding = self.notice();
            report.text_evidence.findings.push(finding);
        }
        if self.dice.one_in(6) {
            let conflicts = ["PRINCIPLE_CONFLICT_UNRESOLVED: fast or safe", "old or new"];
            report.text_evidence.conflict = Some(self.dice.of(&conflicts).to_owned());
        }
        if self.dice.one_in(6) {
            report.text_evidence.blockers.push(Blocker::new("k", "a key"));
        }
        if self.dice.one_in(9) {
            let impossible = Some("two tests".to_owned());
            let report_of_it = Blocker { impossible, ..Blocker::new("i", "two tests") };
            report.text_evidence.blockers.push(report_of_it);
        }
        report
    }

    fn notice(&mut self) -> WatchdogFinding {
        let signal = self.dice.of(&[
            WatchdogSignal::Asking,
            WatchdogSignal::GivingUp,
            WatchdogSignal::Repetition,
            WatchdogSignal::ToolErrors,
            WatchdogSignal::Compaction,
        ]);
        let text = self.dice.of(&["which?", "it cannot be done"]).to_owned();
        WatchdogFinding { signal, key: text.clone(), text, context: String::new() }
    }

    fn outcome(&mut self) -> AttemptOutcome {
        let until = Some(self.story.now.plus(Duration::from_mins(self.dice.below(90))));
        let until = until.filter(|_| self.dice.one_in(2));
        let good = !self.dice.one_in(3);
        if good {
            return self.dice.of(&[AttemptOutcome::Finished, AttemptOutcome::TurnLimit]);
        }
        self.dice.of(&[
            AttemptOutcome::UsageLimited { until },
            AttemptOutcome::RateLimited,
            AttemptOutcome::Overloaded,
            AttemptOutcome::Crashed { how: ProcessExit::Code(3) },
            AttemptOutcome::PromptTooLong,
            AttemptOutcome::Refused,
            AttemptOutcome::Suspect { why: Suspicion::NoSignOfWork },
            AttemptOutcome::Suspect { why: Suspicion::LocalCommand },
            AttemptOutcome::Interrupted,
            AttemptOutcome::AttemptBudget,
            AttemptOutcome::Auth { why: "no".to_owned() },
        ])
    }

    fn mark(&mut self) -> WorkspaceMark {
        WorkspaceMark {
            fingerprint: Fingerprint(self.dice.below(6).to_string()),
            head: None,
            head_tree: None,
            status: self.dice.one_in(2).then(|| self.dice.below(4).to_string()),
        }
    }

    fn boxes(&mut self) -> Option<Checklist> {
        self.dice.of(&[None, Some(Checklist { open: 0, done: 2 })])
    }

    pub(super) fn answer(&mut self, effect: &Effect) -> Input {
        match effect {
            Effect::RunHook { ticket, .. } => {
                let why = "exit 2".to_owned();
                let answer = self.dice.of(&[
                    HookAnswer::GoOn,
                    HookAnswer::GoOn,
                    HookAnswer::Skip,
                    HookAnswer::Failed { why: why.clone() },
                    HookAnswer::Abort { why },
                ]);
                Input::Hook(*ticket, answer)
            }
            Effect::Prepare { ticket, .. } => {
                let mark = Some(self.mark()).filter(|_| !self.dice.one_in(3));
                let (checklist, status) = (self.boxes(), self.status());
                Input::Prepared(*ticket, Prepared { mark, checklist, status, disk: None })
            }
            Effect::StartAttempt(request) => {
                let report = Box::new(self.report(request.cap));
                Input::Agent(request.attempt, AgentNews::Exited(report))
            }
            Effect::StartCall(request) => self.call(request),
            Effect::Survey { ticket, .. } => Input::Surveyed(*ticket, Box::new(self.survey())),
            Effect::RunChecks { ticket, .. } => Input::Checked(*ticket, self.checks()),
            Effect::InspectChanges { ticket } => {
                let finding = TamperFinding { path: "t".to_owned(), what: "gone".to_owned() };
                let findings = self.dice.of(&[vec![], vec![], vec![finding]]);
                let inspection = Inspection { findings, ..Inspection::default() };
                Input::Inspected(*ticket, Box::new(inspection))
            }
            other => unreachable!("nobody owes an answer to {other:?}"),
        }
    }

    fn call(&mut self, request: &CallRequest) -> Input {
        let mut report = self.report(request.cap);
        let verdict = |complete| {
            Some(Answer::Verdict(Verdict {
                complete,
                reason: "because".to_owned(),
                missing: vec![],
            }))
        };
        report.answer = self.dice.of(&[
            None,
            Some(Answer::Text { text: "try this".to_owned() }),
            Some(Answer::Text { text: String::new() }),
            verdict(true),
            verdict(false),
        ]);
        Input::Call(request.call, AgentNews::Exited(Box::new(report)))
    }

    /// Returns a random status file, or none.
    fn status(&mut self) -> Option<StatusReport> {
        self.dice.one_in(3).then(|| StatusReport {
            complete: self.dice.one_in(2),
            failed: self.dice.one_in(9).then(|| "cannot".to_owned()),
            worked: self.dice.of(&[None, Some(true), Some(false)]),
            summary: self.dice.of(&["", "half", "all"]).to_owned(),
            updated: self.dice.of(&[None, Some("now".to_owned())]),
            ..StatusReport::default()
        })
    }

    fn survey(&mut self) -> Survey {
        let status = self.status();
        let checklist = self.boxes();
        let mark = self.mark();
        Survey {
            mark,
            files_changed: 1,
            files_changed_outside_plan: self.dice.of(&[None, Some(0), Some(1)]),
            commits: 0,
            changes: None,
            status,
            checklist,
            list: String::new(),
            principles: None,
            warnings: vec![],
        }
    }

    fn checks(&mut self) -> CheckReport {
        let verdict = self.dice.of(&[
            CheckVerdict::Passed,
            CheckVerdict::Flaky,
            CheckVerdict::Failed { how: ProcessExit::Code(1) },
        ]);
        let failed = u32::try_from(self.dice.below(6)).expect("small");
        let output = self.dice.of(&["boom", "bang", "sh: 1: jq: not found"]).to_owned();
        let result = CheckResult {
            command: "make test".to_owned(),
            verdict,
            output,
            outside: false,
            tests: self.dice.of(&[None, Some(TestCounts { failed, total: 9 })]),
            log: None,
            duration: Duration::ZERO,
        };
        let fingerprint = self.mark().fingerprint;
        CheckReport { results: vec![result], fingerprint, ..CheckReport::default() }
    }

    pub(super) fn is_over(&self) -> bool {
        self.story.machine.state().outcome().is_some()
    }
}
