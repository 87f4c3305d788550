//! The input of hooks: journal lines on standard input, and facts in environment variables.

use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use nightwright_core::event::{
    AttemptEvent, Event, IterationEvent, IterationFinished, NoteEvent, OperatorEvent, Record,
    RunEvent, Totals,
};
use nightwright_core::hook::{FinishClass, Hook};
use nightwright_core::journal::{self, JournalLine};
use nightwright_core::outcome::{Outcome, Proof};
use nightwright_core::redact::Secrets;
use nightwright_core::settings::{SettingChange, Settings};
use nightwright_core::stream::outcome::{AttemptOutcome, ProcessExit};
use nightwright_core::units::RunId;

use crate::store::journal::{JournalError, JournalTail};

/// The sequence number of a line that is not in the journal.
const UNNUMBERED: u64 = 0;

/// The part of the journal that hooks receive.
#[derive(Clone, Debug, Default)]
pub(super) struct HookInput {
    /// Complete journal lines, each with its newline.
    started: Vec<u8>,
    iteration: Vec<u8>,
    /// The blockers since the last iteration began.
    blockers: Vec<u8>,
    finished: Vec<u8>,
    /// The number of the last line from an earlier process. A recorded outcome up to this line does
    /// not count: the resumed run will have another.
    after: u64,
    facts: HookFacts,
}

#[derive(Clone, Debug, Default)]
struct HookFacts {
    started_at: Option<Timestamp>,
    task: String,
    mode: String,
    plan: Option<String>,
    max_iterations: Option<u32>,
    head: Option<String>,
    /// The exit code of the last attempt.
    exit_code: Option<i32>,
    last: Option<LastIteration>,
    /// The totals of the whole run, with the two fields below.
    iterations: u32,
    commits: u32,
    cost: nightwright_core::units::Usd,
    outcome: Option<Outcome>,
}

/// The figures of the last finished iteration.
#[derive(Clone, Copy, Debug)]
struct LastIteration {
    number: u32,
    commits: u32,
    duration: Duration,
}

/// Reads the journal incrementally.
#[derive(Debug)]
pub(super) struct HookJournalReader {
    journal: PathBuf,
    tail: Option<JournalTail>,
    /// The input before the first line.
    first: HookInput,
    current: HookInput,
}

impl HookJournalReader {
    /// Opens the journal now, so that it stays readable if the file is removed. `first` is the
    /// input before the first line.
    pub(super) fn new(journal: PathBuf, first: HookInput) -> Self {
        let tail = JournalTail::open(&journal).ok();
        Self { journal, tail, current: first.clone(), first }
    }

    /// Reads the new lines and returns the input up to now.
    pub(super) fn read(&mut self) -> Result<HookInput, JournalError> {
        if let Some(mut tail) = self.tail.take() {
            tail.poll_raw(|line, raw| self.current.take(line, raw))?;
            self.tail = Some(tail);
        } else {
            // After an error, start again at the first line.
            let mut tail = JournalTail::open(&self.journal)?;
            let mut told = self.first.clone();
            tail.poll_raw(|line, raw| told.take(line, raw))?;
            (self.tail, self.current) = (Some(tail), told);
        }
        Ok(self.current.clone())
    }

    /// Returns the input as of the last successful read.
    pub(super) fn known(&self) -> HookInput {
        self.current.clone()
    }
}

impl HookInput {
    /// Returns the input before the first journal line.
    pub(super) fn before(settings: &Settings, secrets: &Secrets, after: u64) -> Self {
        let mask = |text: &str| secrets.mask(text).into_owned();
        let facts = HookFacts {
            task: settings.task.as_deref().map(mask).unwrap_or_default(),
            mode: settings.mode.clone(),
            plan: settings.files.list.clone(),
            max_iterations: settings.limits.max_iterations,
            ..HookFacts::default()
        };
        Self { after, facts, ..Self::default() }
    }

    /// Adds the record of the run's end, unless the journal already contains it.
    pub(super) fn close(&mut self, record: Record, run: &RunId) {
        if !self.finished.is_empty() {
            return;
        }
        let mut line = Vec::new();
        // This line is not in the journal, so it has no number there.
        journal::encode(&mut line, UNNUMBERED, run, &record);
        let raw = line.strip_suffix(b"\n").unwrap_or(&line);
        self.take(JournalLine { seq: UNNUMBERED, run: run.clone(), record }, raw);
    }

    fn take(&mut self, line: JournalLine, raw: &[u8]) {
        let facts = &mut self.facts;
        let whole = || [raw, b"\n"].concat();
        if let Some(charge) = line.record.event.charge() {
            facts.cost += charge.cost;
        }
        match line.record.event {
            Event::Run(RunEvent::Started(started)) => {
                self.started = whole();
                facts.started_at = Some(line.record.at);
                facts.head = started.git_head;
                facts.task = started.settings.task.unwrap_or_default();
                facts.mode = started.settings.mode;
                facts.plan = started.settings.files.list;
                facts.max_iterations = started.settings.limits.max_iterations;
            }
            // A resumed run has not ended.
            Event::Run(RunEvent::Continued { .. }) => {
                self.finished.clear();
                facts.outcome = None;
            }
            Event::Run(RunEvent::Finished { outcome, totals, .. }) => {
                let is_past = line.seq != UNNUMBERED && line.seq <= self.after;
                self.finished = if is_past { Vec::new() } else { whole() };
                facts.ended(Some(outcome).filter(|_| !is_past), &totals);
            }
            Event::Iteration(IterationEvent::Started { .. }) => self.blockers.clear(),
            Event::Iteration(IterationEvent::Finished(finished)) => {
                self.iteration = whole();
                facts.iteration_finished(*finished);
            }
            Event::Attempt(AttemptEvent::Finished { report, .. }) => {
                facts.exit_code = Some(exit_code(&report.outcome));
            }
            Event::Operator(OperatorEvent::SettingsChanged {
                change: SettingChange::MaxIterations { new, .. },
                ..
            }) => facts.max_iterations = new,
            Event::Note(NoteEvent::BlockerReported { .. }) => self.blockers.extend(whole()),
            Event::Iteration(_)
            | Event::Attempt(_)
            | Event::Call(_)
            | Event::Wait(_)
            | Event::Gate(_)
            | Event::Operator(_)
            | Event::Note(_) => {}
        }
    }

    /// The standard input of a hook.
    pub(super) fn input(&self, hook: Hook) -> Vec<u8> {
        match hook {
            Hook::Started => self.started.clone(),
            Hook::NextIteration if self.iteration.is_empty() => self.started.clone(),
            Hook::NextIteration | Hook::IterationFinished => self.iteration.clone(),
            Hook::Blocked => self.blockers.clone(),
            Hook::Finished => self.finished.clone(),
        }
    }

    /// The checklist of the run, relative to the project.
    pub(super) fn plan(&self) -> Option<&str> {
        self.facts.plan.as_deref()
    }

    /// The facts by name. Unknown values are empty.
    pub(super) fn facts(&self, hook: Hook) -> Vec<(&'static str, String)> {
        let facts = &self.facts;
        let last = facts.last.as_ref();
        let iteration = match hook {
            Hook::Started => 0,
            Hook::NextIteration => facts.iterations + 1,
            Hook::IterationFinished | Hook::Blocked | Hook::Finished => {
                last.map_or(0, |last| last.number)
            }
        };
        // Only the `finished` hook receives an outcome. An earlier outcome of a resumed run does
        // not count.
        let outcome = facts.outcome.as_ref().filter(|_| hook == Hook::Finished);
        vec![
            ("TASK", facts.task.clone()),
            ("MODE", facts.mode.clone()),
            ("ITERATION", iteration.to_string()),
            ("MAX_ITERATIONS", shown(facts.max_iterations)),
            ("LAST_EXIT_CODE", shown(facts.exit_code)),
            ("LAST_DURATION", shown(last.map(|last| last.duration.as_secs()))),
            ("COMMITS_MADE", shown(last.map(|last| last.commits))),
            ("TOTAL_COMMITS", facts.commits.to_string()),
            ("TOTAL_ITERATIONS", facts.iterations.to_string()),
            ("TOTAL_COST", format!("{:.4}", facts.cost.dollars())),
            ("LAST_COMMIT_SHA", facts.head.clone().unwrap_or_default()),
            ("STARTED_AT", shown(facts.started_at)),
            ("FINISH_TYPE", shown(outcome.map(Outcome::name))),
            ("PROOF", shown(outcome.and_then(Outcome::proof).map(Proof::name))),
            ("FINISH_CLASS", shown(outcome.map(|outcome| FinishClass::of(outcome).name()))),
        ]
    }
}

impl HookFacts {
    fn iteration_finished(&mut self, finished: IterationFinished) {
        let IterationFinished { iteration, commits, duration, end, .. } = finished;
        self.last = Some(LastIteration { number: iteration.0, commits, duration });
        self.iterations = self.iterations.max(iteration.0);
        self.commits = self.commits.saturating_add(commits);
        if let Some(head) = end.and_then(|end| end.head) {
            self.head = Some(head);
        }
    }

    /// Takes over the totals, because events may be missing if the journal could not be written.
    fn ended(&mut self, outcome: Option<Outcome>, totals: &Totals) {
        self.iterations = totals.iterations;
        self.commits = totals.commits;
        self.cost = totals.cost;
        self.outcome = outcome;
    }
}

fn shown(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// The exit code of the agent as a shell reports it: 0 after a normal end, the agent's code after a
/// crash, else 1.
fn exit_code(outcome: &AttemptOutcome) -> i32 {
    match outcome {
        AttemptOutcome::Finished => 0,
        AttemptOutcome::Crashed { how: ProcessExit::Code(code) } => *code,
        AttemptOutcome::Crashed { how: ProcessExit::Signal(signal) } => 128 + signal,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use nightwright_core::outcome::samples;

    use super::*;

    fn ended(outcome: Outcome) -> Record {
        let event =
            Event::Run(RunEvent::Finished { outcome, note: None, totals: Totals::default() });
        Record { at: Timestamp::UNIX_EPOCH, active: Duration::ZERO, event }
    }

    #[test]
    fn an_outcome_of_an_earlier_process_is_ignored() {
        let run = RunId("20261118-010203-0a1b".to_owned());
        let mut outcomes = samples().into_iter();
        let (earlier, now) = (outcomes.next().unwrap(), outcomes.next_back().unwrap());
        let mut told = HookInput { after: 8, ..HookInput::default() };
        told.take(JournalLine { seq: 8, run: run.clone(), record: ended(earlier) }, b"{}");
        assert!(told.input(Hook::Finished).is_empty());
        // The end of a run whose journal could no longer be written.
        told.close(ended(now.clone()), &run);
        assert_eq!(told.facts.outcome.as_ref(), Some(&now));
        let line: serde_json::Value = serde_json::from_slice(&told.input(Hook::Finished)).unwrap();
        assert_eq!((&line["seq"], &line["reason"]), (&0.into(), &now.name().into()));
    }

    #[test]
    fn a_recorded_outcome_is_passed_on_unchanged() {
        let run = RunId("20261118-010203-0a1b".to_owned());
        let outcome = samples().remove(0);
        let mut told = HookInput { after: 8, ..HookInput::default() };
        told.take(
            JournalLine { seq: 9, run: run.clone(), record: ended(outcome.clone()) },
            b"{\"a\":1}",
        );
        told.close(ended(outcome), &run);
        assert_eq!(told.input(Hook::Finished), b"{\"a\":1}\n");
    }
}
