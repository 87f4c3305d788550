//! After the last iteration: what is said of the ending, and what is noted with the task.

use std::path::PathBuf;
use std::process::ExitCode;

use nightwright_core::outcome::Strictness;
use nightwright_core::run_view;

use super::execute::{AgentProgram, FinishedRun, Session};
use crate::output;
use crate::paste::steps_from_here;
use crate::runtime::clock::ClockSpeed;
use crate::runtime::supervisor::RunOutcome;
use crate::task::{ProjectRuns, TaskState};

impl Session {
    /// How the run ended, also if that could not be recorded.
    pub(super) fn final_outcome(&self, ending: &RunOutcome) -> run_view::FinalOutcome {
        let note = ending.note.as_ref().map(|note| self.secrets.mask(note).into_owned());
        run_view::FinalOutcome { outcome: ending.outcome.clone(), note }
    }

    /// Says how a run ended, and notes it with its task.
    pub(super) fn close(&self, finished: &FinishedRun) -> ExitCode {
        self.conclude(finished);
        self.record_in_task(finished);
        ExitCode::from(finished.ending.outcome.exit_code(self.strictness))
    }

    /// Notes with the task what the run came to. The journal is the truth: a note that can't be
    /// made is said and changes nothing.
    pub(super) fn record_in_task(&self, finished: &FinishedRun) {
        let FinishedRun { locked_run, view, stderr, .. } = finished;
        let (Some(task), false) = (&self.task, self.program.is_rehearsal()) else { return };
        let noted = ProjectRuns::of(&self.project)
            .and_then(|runs| TaskState::record_run(task, &runs, locked_run.folder.id(), view));
        match noted {
            Ok(Some(warning)) if self.level.shows_messages() => {
                stderr.write_line(&format!("warning: {warning}"));
            }
            Ok(_) => {}
            Err(error) => {
                let why = error.message;
                stderr.write_line(&format!("warning: the state of the task is not noted: {why}"));
            }
        }
    }

    /// Says how the run ended.
    pub(super) fn conclude(&self, finished: &FinishedRun) {
        let FinishedRun { ending, view, locked_run, style, stderr, .. } = finished;
        if stderr.is_open() {
            self.print_id(locked_run, stderr);
        }
        if self.last_level().shows_messages() {
            if let AgentProgram::Rehearsal(_) = self.program {
                stderr.write_line(
                    "This was a rehearsal: the agent was a script, and nothing was spent.",
                );
            }
            let logs = locked_run.folder.logs();
            let log = logs.last().map_or(locked_run.folder.path(), PathBuf::as_path);
            let mut summary = view.summary(locked_run.folder.id());
            summary.next = match self.motion {
                ClockSpeed::Real => steps_from_here(summary.next),
                // The project of a demo is gone: there is nothing to look at or to continue.
                ClockSpeed::Fast => Vec::new(),
            };
            // Made safe part by part, and coloured after that.
            stderr.show(output::summary::render(&summary, style, Some(log)).trim_end());
        } else if let 1 | 2 = ending.outcome.exit_code(Strictness::Lenient) {
            // Errors are the one thing that is never kept quiet.
            let sentence = ending.outcome.sentence(view.totals.iterations);
            stderr.write_line(&format!("error: {}", self.secrets.mask(&sentence)));
        }
    }
}
