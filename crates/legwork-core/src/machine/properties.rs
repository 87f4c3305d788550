//! What holds for every run, whatever happens in it: thousands of runs against a world that
//! answers at random, lies, fails, and is steered at any moment.

use std::time::Duration;

use proptest::prelude::*;

use super::Machine;
use super::ledger::{Ledger, Stage, State};
use super::story::{Story, reread};
use crate::agent::outcome::{AttemptOutcome, Death, Suspicion};
use crate::agent::report::{
    AgentNews, Answer, AttemptReport, Blocker, Notice, Pulse, TurnEnd, Verdict, WatchSignal,
};
use crate::effect::{Effect, Step};
use crate::event::{Event, Origin, StopWhen};
use crate::input::{
    Boxes, CheckReport, CheckResult, CheckVerdict, Control, Finding, HookAnswer, Input, Inspection,
    Mark, Prepared, Salvage, StatusReport, Survey, TimerKey,
};
use crate::policy::dice;
use crate::settings::{EvidenceKind, Judge, Respond, Settings, Tamper};
use crate::units::{Fingerprint, Now, Tokens, Usd};

/// One model call may go beyond the cap; the agent looks at its budget only after a call.
const OVERSHOOT: Usd = Usd::from_cents(3);

/// A source of chance that a seed determines.
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
    settings.delay = dice.of(&[Duration::ZERO, Duration::from_secs(2)]);
    settings.completion.evidence = dice.of(&[
        vec![],
        vec![EvidenceKind::Promise, EvidenceKind::Signal],
        vec![EvidenceKind::Status, EvidenceKind::Todo, EvidenceKind::Promise],
    ]);
    settings.verify.commands = dice.of(&[vec![], vec!["make test".to_owned()]]);
    settings.verify.model = dice.of(&[Judge::Off, Judge::Auto, Judge::Always]);
    settings.verify.tamper = dice.of(&[Tamper::Off, Tamper::Warn, Tamper::Reject]);
    settings.extras.review = dice.of(&[None, Some(String::new())]);
    settings.extras.watchdog = dice.of(&[Respond::Off, Respond::Live, Respond::Next]);
    settings.hooks.next_iteration = dice.one_in(4);
    settings
}

/// What the machine is waiting for, as the world sees it.
#[derive(Clone, Debug)]
enum Owed {
    Answer(Effect),
    Timer(TimerKey, Duration),
}

struct Run {
    dice: Dice,
    story: Story,
    owed: Vec<Owed>,
    /// Everything that was fed, with the time, and what came of it.
    fed: Vec<(Now, Input, Step)>,
    /// How long the journal was after each step, and the state then.
    states: Vec<(usize, State)>,
    crashed: bool,
}

impl Run {
    fn new(seed: u64) -> Self {
        let mut dice = Dice { seed, thrown: 0 };
        let settings = settings(&mut dice);
        let story = Story::new(settings);
        Self { dice, story, owed: vec![], fed: vec![], states: vec![], crashed: false }
    }

    fn feed(&mut self, input: Input) {
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
            Effect::SetTimer { key, alarm } => {
                let at = match alarm {
                    crate::effect::Alarm::After(after) => self.story.now.mono + *after,
                    crate::effect::Alarm::At(at) => self.story.now.mono + self.story.now.until(*at),
                };
                self.owed.retain(|owed| !matches!(owed, Owed::Timer(k, _) if k == key));
                self.owed.push(Owed::Timer(*key, at));
            }
            Effect::ClearTimer { key } => {
                self.owed.retain(|owed| !matches!(owed, Owed::Timer(k, _) if k == key));
            }
            Effect::RunHook { .. }
            | Effect::Prepare { .. }
            | Effect::StartAttempt(_)
            | Effect::Survey { .. }
            | Effect::RunChecks { .. }
            | Effect::InspectChanges { .. }
            | Effect::StartCall(_) => self.owed.push(Owed::Answer(effect.clone())),
            Effect::Nudge { .. }
            | Effect::CloseInput { .. }
            | Effect::CutAttempt { .. }
            | Effect::CutChecks { .. }
            | Effect::CutCall { .. }
            | Effect::Finish => {}
        }
    }

    /// What must hold of every single step.
    fn check(&self, step: &Step) {
        let before = self.states.last().map(|(_, state)| state);
        if before.is_some_and(|state| state.outcome().is_some()) {
            let revived = step.events().any(|event| matches!(event, Event::RunContinued { .. }));
            assert!(step.is_empty() || revived, "decided after the end: {step:?}");
        }
        for effect in &step.effects {
            if let Effect::StartAttempt(request) = effect {
                let recorded = step.events().any(|event| {
                    matches!(event, Event::AttemptStarted { attempt, .. } if *attempt == request.attempt)
                });
                assert!(recorded, "an attempt starts off the record");
                let running = self.owed.iter().any(|owed| {
                    matches!(owed, Owed::Answer(Effect::StartAttempt(_) | Effect::StartCall(_)))
                });
                assert!(!running, "two attempts at a time");
            }
        }
        let ends = step.events().filter(|e| matches!(e, Event::RunFinished { .. })).count();
        let finishes = step.effects.iter().filter(|e| **e == Effect::Finish).count();
        assert!(ends <= 1 && ends == finishes, "a run ends once");
    }

    fn pass(&mut self, time: Duration) {
        self.story.now.mono += time;
        self.story.now.wall = self.story.now.plus(time);
    }

    /// One thing happens.
    fn step(&mut self) {
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
        if self.owed.is_empty() {
            // Only the operator can make it go on.
            return self.feed(Input::Control(Control::Resume));
        }
        let index = usize::try_from(self.dice.below(self.owed.len() as u64)).expect("small");
        match self.owed.remove(index) {
            Owed::Timer(key, at) => {
                self.pass(at.saturating_sub(self.story.now.mono));
                self.feed(Input::Timer(key));
            }
            Owed::Answer(effect) => {
                let input = self.answer(&effect);
                self.feed(input);
            }
        }
    }

    fn control(&mut self) -> Input {
        let by = self.dice.of(&[Origin::Signal, Origin::Operator]);
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

    /// News that does not end anything.
    fn chatter(&mut self) -> Option<Input> {
        let attempt = self.story.machine.state().last_attempt;
        let tokens = Tokens { output: self.dice.below(900), ..Tokens::default() };
        let pulse = Pulse { tokens, leaving: self.dice.one_in(3), ..Pulse::default() };
        let notice = Notice {
            signal: WatchSignal::Asking,
            key: "which".to_owned(),
            text: "which?".to_owned(),
        };
        let noticed = Some(notice.clone()).filter(|_| self.dice.one_in(2));
        let how = self.dice.of(&[TurnEnd::Well, TurnEnd::Queued, TurnEnd::Failed]);
        let news = self.dice.of(&[
            AgentNews::Ready(crate::agent::report::Ready::default()),
            AgentNews::Pulse(pulse),
            AgentNews::Noticed(notice),
            AgentNews::TurnEnded { how, noticed },
            AgentNews::Denied { tool: "Bash".to_owned() },
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
        self.feed(Input::Resume(Salvage { report, ..Salvage::default() }));
    }

    fn report(&mut self, cap: Option<Usd>) -> AttemptReport {
        let outcome = self.outcome();
        let mut report = AttemptReport::bare(outcome);
        // An honest agent stays within its cap, but for one call.
        let most = cap.map_or(Usd::from_cents(50), |cap| cap + OVERSHOOT);
        report.cost = (!self.dice.one_in(4))
            .then(|| Usd::from_micros(self.dice.below(most.micros().min(600_000) + 1)));
        report.tokens.output = self.dice.below(300);
        report.words.promise = self.dice.one_in(3);
        report.words.signal = self.dice.one_in(3);
        report.words.says_done = self.dice.one_in(3);
        if self.dice.one_in(6) {
            report.words.blockers.push(Blocker { key: "k".to_owned(), text: "a key".to_owned() });
        }
        report
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
            AttemptOutcome::Crashed { how: Death::Code(3) },
            AttemptOutcome::PromptTooLong,
            AttemptOutcome::Refused,
            AttemptOutcome::Suspect { why: Suspicion::NoSignOfWork },
            AttemptOutcome::Suspect { why: Suspicion::LocalCommand },
            AttemptOutcome::Interrupted,
            AttemptOutcome::AttemptBudget,
            AttemptOutcome::Auth { why: "no".to_owned() },
        ])
    }

    fn mark(&mut self) -> Mark {
        Mark {
            fingerprint: Fingerprint(self.dice.below(6).to_string()),
            head: None,
            head_tree: None,
            status: self.dice.one_in(2).then(|| self.dice.below(4).to_string()),
        }
    }

    fn boxes(&mut self) -> Option<Boxes> {
        self.dice.of(&[None, Some(Boxes { open: 0, done: 2 })])
    }

    fn answer(&mut self, effect: &Effect) -> Input {
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
                Input::Prepared(*ticket, Prepared { mark, boxes: self.boxes(), disk: None })
            }
            Effect::StartAttempt(request) => {
                let report = Box::new(self.report(request.cap));
                Input::Agent(request.attempt, AgentNews::Exited(report))
            }
            Effect::StartCall(request) => {
                let mut report = self.report(request.cap);
                let reason = "because".to_owned();
                let missing = vec![];
                report.answer = self.dice.of(&[
                    None,
                    Some(Answer::Text { text: "try this".to_owned() }),
                    Some(Answer::Verdict(Verdict {
                        complete: true,
                        reason: reason.clone(),
                        missing: missing.clone(),
                    })),
                    Some(Answer::Verdict(Verdict { complete: false, reason, missing })),
                ]);
                Input::Call(request.call, AgentNews::Exited(Box::new(report)))
            }
            Effect::Survey { ticket, .. } => {
                let status = self.dice.one_in(3).then(|| StatusReport {
                    complete: self.dice.one_in(2),
                    failed: self.dice.one_in(9).then(|| "can't".to_owned()),
                    worked: self.dice.of(&[None, Some(true), Some(false)]),
                    ..StatusReport::default()
                });
                let boxes = self.boxes();
                let mark = self.mark();
                let survey = Survey {
                    mark,
                    files_changed: 1,
                    beside_list: self.dice.of(&[None, Some(0), Some(1)]),
                    commits: 0,
                    status,
                    boxes,
                    list: String::new(),
                    warnings: vec![],
                };
                Input::Surveyed(*ticket, Box::new(survey))
            }
            Effect::RunChecks { ticket } => {
                let verdict = self.dice.of(&[
                    CheckVerdict::Passed,
                    CheckVerdict::Flaky,
                    CheckVerdict::Failed { how: Death::Code(1) },
                ]);
                let result = CheckResult {
                    command: "make test".to_owned(),
                    verdict,
                    output: String::new(),
                    log: None,
                    duration: Duration::ZERO,
                };
                let fingerprint = self.mark().fingerprint;
                Input::Checked(
                    *ticket,
                    CheckReport { results: vec![result], fingerprint, warnings: vec![] },
                )
            }
            Effect::InspectChanges { ticket } => {
                let finding = Finding { path: "t".to_owned(), what: "gone".to_owned() };
                let findings = self.dice.of(&[vec![], vec![], vec![finding]]);
                let inspection = Inspection { findings, ..Inspection::default() };
                Input::Inspected(*ticket, Box::new(inspection))
            }
            other => unreachable!("nobody owes an answer to {other:?}"),
        }
    }

    fn is_over(&self) -> bool {
        self.story.machine.state().outcome().is_some()
    }
}

fn run(seed: u64, steps: usize) -> Run {
    let mut run = Run::new(seed);
    run.feed(Input::Start);
    for _ in 0..steps {
        run.step();
    }
    run
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_prefix_of_a_journal_folds_to_the_state_the_machine_had(seed: u64) {
        let run = run(seed, 80);
        for (length, state) in &run.states {
            let replayed = Ledger::replay(&run.story.journal[..*length]);
            prop_assert_eq!(&*replayed, state);
        }
    }

    #[test]
    fn the_same_inputs_give_the_same_decisions(seed: u64) {
        let original = run(seed, 80);
        if !original.crashed {
            let mut again = Run::new(seed).story.machine;
            for (now, input, step) in original.fed {
                prop_assert_eq!(again.handle(now, input), step);
            }
        }
    }

    #[test]
    fn the_limit_of_cost_is_exceeded_by_one_call_at_most(seed: u64) {
        let run = run(seed, 120);
        let state = run.story.machine.state();
        if let Some(limit) = state.settings.limits.max_cost {
            prop_assert!(
                state.totals.cost <= limit + OVERSHOOT,
                "{} of {limit}", state.totals.cost
            );
        }
    }

    #[test]
    fn the_limit_of_iterations_is_never_exceeded(seed: u64) {
        let run = run(seed, 200);
        let state = run.story.machine.state();
        if let Some(limit) = state.settings.limits.max_iterations {
            prop_assert!(state.totals.iterations <= limit);
        }
    }

    #[test]
    fn the_totals_add_up(seed: u64) {
        let run = run(seed, 120);
        let totals = &run.story.machine.state().totals;
        let mut sum = Usd::ZERO;
        for spend in totals.by_purpose.values() {
            sum += spend.cost;
        }
        prop_assert_eq!(sum, totals.cost);
        let attempts = run.story.journal.iter()
            .filter(|record| matches!(record.event, Event::AttemptStarted { .. })).count();
        prop_assert_eq!(attempts, totals.attempts as usize);
    }

    #[test]
    fn a_run_always_has_something_to_wait_for_or_is_paused_or_over(seed: u64) {
        let mut run = Run::new(seed);
        run.feed(Input::Start);
        for _ in 0..120 {
            run.step();
            let state = run.story.machine.state();
            prop_assert!(
                run.is_over() || state.paused || !run.owed.is_empty(),
                "stuck in {:?}", state.phase
            );
        }
    }

    #[test]
    fn stop_now_ends_every_run_once_what_runs_has_ended(seed: u64) {
        let mut run = run(seed, 40);
        let stop = Control::Stop { when: StopWhen::Now, by: Origin::Operator };
        run.feed(Input::Control(stop));
        for _ in 0..8 {
            if run.is_over() {
                break;
            }
            let index = run.owed.iter().position(|owed| matches!(owed, Owed::Answer(_)));
            let Some(index) = index else { break };
            if let Owed::Answer(effect) = run.owed.remove(index) {
                let input = run.answer(&effect);
                run.feed(input);
            }
        }
        prop_assert!(run.is_over(), "still going after stop now: {:?}", run.story.machine.state().phase);
    }
}
