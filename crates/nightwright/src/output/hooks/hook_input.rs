//! What a hook is told: lines of the journal to read, and figures in its environment.

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

/// The number of a line that is in no journal.
const UNNUMBERED: u64 = 0;

/// What the journal has told so far, as far as hooks are concerned.
#[derive(Clone, Debug, Default)]
pub(super) struct HookInput {
    /// The lines as they are, each with its newline.
    started: Vec<u8>,
    iteration: Vec<u8>,
    /// Those since the last iteration began.
    blockers: Vec<u8>,
    finished: Vec<u8>,
    /// The number of the last line of an earlier process. An ending up to there is over: whoever
    /// goes on with the run comes to another.
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
    /// Of the last attempt.
    exit_code: Option<i32>,
    last: Option<LastIteration>,
    /// Of the whole run.
    iterations: u32,
    commits: u32,
    cost: nightwright_core::units::Usd,
    outcome: Option<Outcome>,
}

/// The last iteration.
#[derive(Clone, Copy, Debug)]
struct LastIteration {
    number: u32,
    commits: u32,
    duration: Duration,
}

/// Reads the journal as it grows.
#[derive(Debug)]
pub(super) struct HookJournalReader {
    journal: PathBuf,
    tail: Option<JournalTail>,
    /// What is known before the first line.
    first: HookInput,
    current: HookInput,
}

impl HookJournalReader {
    /// Reads this journal from now on, even if it is taken away; until then this is known.
    pub(super) fn new(journal: PathBuf, first: HookInput) -> Self {
        let tail = JournalTail::open(&journal).ok();
        Self { journal, tail, current: first.clone(), first }
    }

    /// What the journal has told up to now.
    pub(super) fn read(&mut self) -> Result<HookInput, JournalError> {
        if let Some(mut tail) = self.tail.take() {
            tail.poll_raw(|line, raw| self.current.take(line, raw))?;
            self.tail = Some(tail);
        } else {
            // After an error it is read from the start again.
            let mut tail = JournalTail::open(&self.journal)?;
            let mut told = self.first.clone();
            tail.poll_raw(|line, raw| told.take(line, raw))?;
            (self.tail, self.current) = (Some(tail), told);
        }
        Ok(self.current.clone())
    }

    /// What it has told, as far as it could be read.
    pub(super) fn known(&self) -> HookInput {
        self.current.clone()
    }
}

impl HookInput {
    /// What is known before the first line.
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

    /// The run is over like this, whether the journal has it or not.
    pub(super) fn close(&mut self, record: Record, run: &RunId) {
        if !self.finished.is_empty() {
            return;
        }
        let mut line = Vec::new();
        // A number that no line has: this one is not in the journal.
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
            // A run that continues has not ended.
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

    /// What a hook reads.
    pub(super) fn input(&self, hook: Hook) -> Vec<u8> {
        match hook {
            Hook::Started => self.started.clone(),
            Hook::NextIteration if self.iteration.is_empty() => self.started.clone(),
            Hook::NextIteration | Hook::IterationFinished => self.iteration.clone(),
            Hook::Blocked => self.blockers.clone(),
            Hook::Finished => self.finished.clone(),
        }
    }

    /// The list with boxes that is worked on, from the project.
    pub(super) fn plan(&self) -> Option<&str> {
        self.facts.plan.as_deref()
    }

    /// The figures, by name. What is not known is empty.
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
        // Only what has ended has an ending; an earlier one is over.
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

    /// The totals are the last word: of a run whose journal failed, events may be missing.
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

/// What a shell would say of the agent program: 0 if it came to its end, its own code if it
/// crashed, and 1 for everything else that went wrong.
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
    fn an_ending_of_an_earlier_process_is_not_that_of_this_one() {
        let run = RunId("20261118-010203-0a1b".to_owned());
        let mut endings = samples().into_iter();
        let (earlier, now) = (endings.next().unwrap(), endings.next_back().unwrap());
        let mut told = HookInput { after: 8, ..HookInput::default() };
        told.take(JournalLine { seq: 8, run: run.clone(), record: ended(earlier) }, b"{}");
        assert!(told.input(Hook::Finished).is_empty());
        // The journal could not be written any more.
        told.close(ended(now.clone()), &run);
        assert_eq!(told.facts.outcome.as_ref(), Some(&now));
        let line: serde_json::Value = serde_json::from_slice(&told.input(Hook::Finished)).unwrap();
        assert_eq!((&line["seq"], &line["reason"]), (&0.into(), &now.name().into()));
    }

    #[test]
    fn an_ending_that_is_in_the_journal_is_told_as_it_is_there() {
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
