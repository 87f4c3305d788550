//! The input of hooks: journal lines on standard input, and facts in environment variables.

use std::path::PathBuf;

use nightwright_core::event::{Event, IterationEvent, NoteEvent, RunEvent};
use nightwright_core::failing::Failing;
use nightwright_core::hook::{FinishClass, Hook};
use nightwright_core::journal::{self, JournalLine};
use nightwright_core::outcome::{Outcome, Proof};
use nightwright_core::redact::Secrets;
use nightwright_core::run_view::RunView;
use nightwright_core::settings::Settings;
use nightwright_core::stream::outcome::{AttemptOutcome, ProcessExit};

use crate::store::journal::{JournalError, JournalTail, WrittenLength};

/// The input of hooks: some lines of the journal, and facts from the view of the run.
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
    view: RunView,
}

/// Reads the journal incrementally.
#[derive(Debug)]
pub(super) struct HookJournalReader {
    journal: PathBuf,
    written: WrittenLength,
    tail: Option<JournalTail>,
    /// The input before the first line.
    first: HookInput,
    current: HookInput,
}

impl HookJournalReader {
    /// Opens the journal now, so that it stays readable if the file is removed. Nothing after
    /// `written` is read. `first` is the input before the first line.
    pub(super) fn new(journal: PathBuf, written: WrittenLength, first: HookInput) -> Self {
        let tail = JournalTail::open_written(&journal, Some(written.clone())).ok();
        Self { journal, written, tail, current: first.clone(), first }
    }

    /// Reads the new lines and returns the input up to now.
    pub(super) fn read(&mut self) -> Result<HookInput, JournalError> {
        if let Some(mut tail) = self.tail.take() {
            tail.poll_raw(|line, raw| self.current.take(&line, raw))?;
            self.tail = Some(tail);
        } else {
            // After an error, start again at the first line.
            let mut tail = JournalTail::open_written(&self.journal, Some(self.written.clone()))?;
            let mut input = self.first.clone();
            tail.poll_raw(|line, raw| input.take(&line, raw))?;
            (self.tail, self.current) = (Some(tail), input);
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
        let task = settings.task.as_deref().map(|task| secrets.mask(task).into_owned());
        let view = RunView::before_start(&Settings { task, ..settings.clone() });
        Self { after, view, ..Self::default() }
    }

    /// Sets the end of the run. It replaces what the journal says, because another process may have
    /// changed the file. `seq` is 0 if the end could not be recorded.
    pub(super) fn close(&mut self, end: &JournalLine) {
        let mut line = Vec::new();
        journal::encode(&mut line, end.seq, &end.run, &end.record);
        let raw = line.strip_suffix(b"\n").unwrap_or(&line);
        self.after = 0;
        self.take(end, raw);
    }

    fn take(&mut self, line: &JournalLine, raw: &[u8]) {
        self.view.record(&line.record);
        let whole = || [raw, b"\n"].concat();
        match &line.record.event {
            Event::Run(RunEvent::Started(_)) => self.started = whole(),
            // A resumed run has not ended.
            Event::Run(RunEvent::Continued { .. }) => self.finished.clear(),
            Event::Run(RunEvent::Finished { totals, .. }) => {
                let is_past = line.seq <= self.after && self.after > 0;
                self.finished = if is_past { Vec::new() } else { whole() };
                // Earlier events may be missing if the journal could not be written.
                self.view.totals.clone_from(totals);
            }
            Event::Iteration(IterationEvent::Started { .. }) => self.blockers.clear(),
            Event::Iteration(IterationEvent::Finished(_)) => self.iteration = whole(),
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
        self.view.facts.as_ref()?.list_file.as_deref()
    }

    /// The facts by name. Unknown values are empty.
    pub(super) fn facts(&self, hook: Hook) -> Vec<(&'static str, String)> {
        let RunView { facts, totals, last, .. } = &self.view;
        let (facts, last) = (facts.as_ref(), last.as_ref());
        let iteration = match hook {
            Hook::Started => 0,
            Hook::NextIteration => totals.iterations + 1,
            Hook::IterationFinished | Hook::Blocked | Hook::Finished => {
                last.map_or(0, |last| last.iteration.0)
            }
        };
        let failing = self.view.failing.now();
        let head = self.view.head.as_ref().or(facts.and_then(|facts| facts.git_head.as_ref()));
        // Only the `finished` hook receives an outcome. An earlier outcome of a resumed run does
        // not count.
        let finished = self.view.finished.as_ref().filter(|_| hook == Hook::Finished);
        let outcome = finished.map(|finished| &finished.outcome);
        vec![
            ("TASK", shown(facts.and_then(|facts| facts.task.as_ref()))),
            ("MODE", shown(facts.map(|facts| &facts.mode))),
            ("ITERATION", iteration.to_string()),
            ("MAX_ITERATIONS", shown(self.view.limits.max_iterations)),
            ("LAST_EXIT_CODE", shown(self.view.last_attempt.as_ref().map(exit_code))),
            ("LAST_DURATION", shown(last.map(|last| last.duration.as_secs()))),
            ("COMMITS_MADE", shown(last.map(|last| last.commits))),
            ("TOTAL_COMMITS", totals.commits.to_string()),
            ("TOTAL_ITERATIONS", totals.iterations.to_string()),
            ("TOTAL_COST", format!("{:.4}", totals.cost.dollars())),
            ("FAILING_CHECKS", shown(failing.map(|failing| failing.checks))),
            ("FAILING_TESTS", shown(failing.and_then(Failing::failing_tests))),
            ("LAST_COMMIT_SHA", shown(head)),
            ("STARTED_AT", shown(self.view.started_at)),
            ("FINISH_TYPE", shown(outcome.map(Outcome::name))),
            ("PROOF", shown(outcome.and_then(Outcome::proof).map(Proof::name))),
            ("FINISH_CLASS", shown(outcome.map(|outcome| FinishClass::of(outcome).name()))),
        ]
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
    use std::time::Duration;

    use jiff::Timestamp;
    use nightwright_core::event::{Record, Totals};
    use nightwright_core::outcome::samples;
    use nightwright_core::units::RunId;

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
        let mut input = HookInput { after: 8, ..HookInput::default() };
        input.take(&JournalLine { seq: 8, run: run.clone(), record: ended(earlier) }, b"{}");
        assert!(input.input(Hook::Finished).is_empty());
        // The end of a run whose journal could no longer be written.
        input.close(&JournalLine { seq: 0, run: run.clone(), record: ended(now.clone()) });
        let finished = input.view.finished.as_ref().unwrap();
        assert_eq!(finished.outcome, now);
        let line: serde_json::Value = serde_json::from_slice(&input.input(Hook::Finished)).unwrap();
        assert_eq!((&line["seq"], &line["outcome"]), (&0.into(), &now.name().into()));
    }

    #[test]
    fn an_outcome_in_the_file_never_replaces_the_decided_one() {
        let run = RunId("20261118-010203-0a1b".to_owned());
        let mut outcomes = samples().into_iter();
        let (forged, decided) = (outcomes.next().unwrap(), outcomes.next_back().unwrap());
        let mut input = HookInput { after: 8, ..HookInput::default() };
        let line = |outcome| JournalLine { seq: 9, run: run.clone(), record: ended(outcome) };
        input.take(&line(forged), b"{}");
        input.close(&line(decided.clone()));
        let found: serde_json::Value =
            serde_json::from_slice(&input.input(Hook::Finished)).unwrap();
        assert_eq!((&found["seq"], &found["outcome"]), (&9.into(), &decided.name().into()));
        assert_eq!(input.view.finished.unwrap().outcome, decided);
    }
}
