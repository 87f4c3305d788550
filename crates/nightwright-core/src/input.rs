//! Inputs: everything that can happen to a run.

use std::time::Duration;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::{StopSource, StopWhen};
use crate::principles::Principles;
use crate::sandbox::hints::HostNeeds;
use crate::sandbox::network::contacts::ContactNews;
use crate::settings::{ChangeSource, SettingChange};
use crate::stream::news::{AgentNews, AttemptReport, Blocker};
use crate::test_counts::TestCounts;
use crate::units::{AttemptId, CallId, Fingerprint, Ticket};

/// An event from the outside world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// The supervisor is ready: begin.
    Start,
    /// The supervisor took over the run of an earlier process: continue from the journal.
    Resume(ResumeData),
    /// News of an attempt.
    Agent(AttemptId, AgentNews),
    /// News of a call.
    Call(CallId, AgentNews),
    /// A timer has fired.
    Timer(TimerKey),
    /// A request of the operator, or a signal.
    Control(Control),
    /// The current content of the watched status file, which may be unchanged.
    Status(StatusReport),
    /// The answer of a hook.
    Hook(Ticket, HookAnswer),
    /// The project is ready for an iteration.
    Prepared(Ticket, Prepared),
    /// The project after an attempt.
    Surveyed(Ticket, Box<Survey>),
    /// The checks have finished.
    Checked(Ticket, CheckReport),
    /// The inspection of the changes has finished.
    Inspected(Ticket, Box<Inspection>),
    /// A program in the sandbox contacted a host, or was refused, for the first time.
    Contact(ContactNews),
    /// A problem outside the machine that should be reported.
    Warning { text: String },
    /// An event could not be recorded.
    JournalFailed { why: String },
    /// Another process changed the journal.
    JournalDamaged { why: String },
}

/// A request of the operator. Signals cause the same requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Control {
    /// Stop the run, soon or immediately.
    Stop {
        when: StopWhen,
        by: StopSource,
    },
    /// A resource such as the terminal goes away: stop the run. A stop that is already in progress
    /// is not accelerated.
    HangUp,
    /// Cancel a requested stop.
    CancelStop,
    Pause,
    /// Continue a paused run.
    Resume,
    /// Send a message to the agent.
    Tell {
        text: String,
    },
    /// End the current wait and retry now.
    RetryNow,
}

/// Timers, by purpose. One that fires for something that has ended is ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TimerKey {
    /// The delay between two iterations.
    Delay(Ticket),
    /// The wait before another attempt, or for a limit.
    Wait(Ticket),
    /// A deadline of an attempt may have passed.
    Attempt(AttemptId),
    /// A deadline of a call may have passed.
    Call(CallId),
    /// The project has not responded to this request in time.
    Project(Ticket),
}

/// The state left by an earlier process of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResumeData {
    /// The report of the attempt or call that was running, decoded from its raw output.
    pub report: Option<Box<AttemptReport>>,
    /// The settings that change from now on.
    pub changes: Vec<(ChangeSource, SettingChange)>,
    /// The runs that may be resumed.
    pub policy: ResumePolicy,
    /// The problem with the sandbox; `None` if it passed its test, or the run has none.
    pub sandbox_failure: Option<String>,
}

/// The runs that `resume` continues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResumePolicy {
    /// Every run that did not complete.
    #[default]
    IfUnfinished,
    /// Only a run that was interrupted by a crash.
    IfCrashed,
    /// Every run, including a completed one.
    Always,
}

/// The answer of a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookAnswer {
    GoOn,
    Skip,
    Abort {
        /// The hook's message or exit code.
        why: String,
    },
    /// The hook itself failed; the run continues.
    Failed {
        why: String,
    },
}

/// The project before an iteration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prepared {
    /// The state of the project; `None` if it is unchanged since the previous iteration.
    pub mark: Option<WorkspaceMark>,
    /// The checkboxes of the checklist, if the mode has one.
    pub checklist: Option<Checklist>,
    /// The status file, if it is valid and was read.
    pub status: Option<StatusReport>,
    /// The space on the disk of the project and the run folder, if known.
    pub disk: Option<Disk>,
}

/// The space on a disk, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disk {
    pub free: u64,
    /// The space that must stay free.
    pub floor: u64,
}

/// A state of the project, for comparison with another.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct WorkspaceMark {
    /// The hash over all files that count as work.
    pub fingerprint: Fingerprint,
    /// The current commit, with Git.
    #[serde(default)]
    pub head: Option<String>,
    /// The tree of that commit.
    #[serde(default)]
    pub head_tree: Option<String>,
    /// The identity of the status file: inode, size and times.
    #[serde(default)]
    pub status: Option<String>,
}

/// The project after an attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// The current state of the project.
    pub mark: WorkspaceMark,
    /// The number of files that differ from the start of the iteration.
    pub files_changed: u32,
    /// The number of changed files, not counting the checklist; `None` if the earlier state is
    /// unknown.
    pub files_changed_outside_plan: Option<u32>,
    /// The number of commits since the start of the iteration.
    pub commits: u32,
    /// The files that differ from the start of the run; `None` if they were not compared.
    pub changes: Option<Changes>,
    /// The status file, if there is a valid one.
    pub status: Option<StatusReport>,
    /// The checkboxes of the checklist or plan.
    pub checklist: Option<Checklist>,
    /// The text of that list, truncated for the verifier. Not recorded.
    pub list: String,
    /// The principles that the agent was to write, if they exist.
    pub principles: Option<Principles>,
    /// Oddities found in the project.
    pub warnings: Vec<String>,
}

/// The content of a status file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatusReport {
    /// Whether the file claims completion.
    pub complete: bool,
    /// The error message, if the file reports a failure.
    pub failed: Option<String>,
    /// The progress of the task.
    pub progress: Option<TaskProgress>,
    /// Whether the agent says that it worked.
    pub worked: Option<bool>,
    /// The agent's summary of its work.
    pub summary: String,
    /// The current phase of the task.
    pub phase: Option<String>,
    /// Notes that the agent wants to keep.
    pub notes: Option<String>,
    /// The time of the last update, as the file gives it.
    pub updated: Option<String>,
    /// The blockers that the file names.
    pub blockers: Vec<Blocker>,
    /// Contradictions in the file, for the gate.
    pub contradictions: Vec<String>,
}

/// The progress of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct TaskProgress {
    /// The number of finished items.
    pub completed: u32,
    /// The total number of items.
    pub total: u32,
}

/// The checkboxes of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Checklist {
    /// The number of unchecked checkboxes.
    pub open: u32,
    /// The number of checked checkboxes.
    pub done: u32,
}

impl Checklist {
    /// Whether there are boxes, and none of them is open.
    pub fn is_complete(self) -> bool {
        self.open == 0 && self.done > 0
    }
}

/// The purpose of running the checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckPurpose {
    /// To record the state before the first iteration.
    Baseline,
    /// To see how much fails after an iteration.
    Progress,
    /// To judge a claim of completion.
    Gate,
}

/// The results of the checks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// One result per command, in order; those after an interrupted one are missing.
    pub results: Vec<CheckResult>,
    /// The state of the project after the checks.
    pub fingerprint: Fingerprint,
    /// When these results were measured, if they come from an earlier run on the same tree.
    pub reused_from: Option<Timestamp>,
    /// Files that the checks wrote, which no longer count as work.
    pub outputs: Vec<String>,
    /// Those of them that existed before.
    pub rewritten: Vec<String>,
    /// The variables of the user's environment that the checks do not get.
    pub withheld: Vec<String>,
    /// Files that the checks changed and that count as work, as by a formatter.
    pub changed: Vec<String>,
    /// Oddities found while the checks ran.
    pub warnings: Vec<String>,
    /// The results outside the sandbox of the checks that failed inside. Only the checks before
    /// the first iteration are compared like this.
    pub outside: Vec<CheckResult>,
    /// Those of them that passed outside, with what they need.
    pub host_needs: Vec<HostNeeds>,
}

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct CheckResult {
    /// The command line of the check.
    pub command: String,
    /// How the check ended.
    #[serde(rename = "result")]
    pub verdict: CheckVerdict,
    /// The last lines of its output.
    pub output: String,
    /// The number of tests it ran, if its output shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestCounts>,
    /// The path of the complete output in the run folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    /// The duration of the check.
    #[serde(with = "crate::units::millis", rename = "duration_ms")]
    #[schemars(with = "u64")]
    pub duration: Duration,
    /// Whether it ran outside the sandbox of the run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outside: bool,
}

impl CheckResult {
    /// The result of a check that did not run.
    pub fn without_run(command: &str, verdict: CheckVerdict) -> Self {
        Self {
            command: command.to_owned(),
            verdict,
            output: String::new(),
            tests: None,
            log: None,
            duration: Duration::ZERO,
            outside: false,
        }
    }

    /// The result of a check that failed and was run a `second` time. One that passes then is
    /// flaky.
    #[must_use]
    pub fn repeated(self, second: Self) -> Self {
        let duration = self.duration + second.duration;
        match second.verdict {
            CheckVerdict::Passed => Self { verdict: CheckVerdict::Flaky, duration, ..second },
            // It has failed before.
            CheckVerdict::TimedOut => Self { duration, ..self },
            _ => Self { duration, ..second },
        }
    }
}

/// How a check ended.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CheckVerdict {
    /// The check passed at the first try.
    Passed,
    /// The check failed, then passed on rerun.
    Flaky,
    /// The check ran and failed.
    Failed {
        /// The exit code, or the signal that killed it.
        how: crate::stream::outcome::ProcessExit,
    },
    /// The check exceeded its time limit.
    TimedOut,
    /// The check could not start.
    NotStarted {
        /// The reason for the failure.
        why: String,
    },
    /// The run stopped before the check ended.
    Interrupted,
}

impl CheckVerdict {
    /// Whether the check passed.
    pub fn is_pass(&self) -> bool {
        match self {
            Self::Passed | Self::Flaky => true,
            Self::Failed { .. } | Self::TimedOut | Self::NotStarted { .. } | Self::Interrupted => {
                false
            }
        }
    }
}

/// The findings in the changes since the start of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inspection {
    /// The changes that weaken the checks.
    pub findings: Vec<TamperFinding>,
    /// The number and names of changed files.
    pub changes: Changes,
    /// The diff, truncated for the verifier. Not recorded.
    pub diff: String,
    /// Oddities found during the inspection.
    pub warnings: Vec<String>,
    /// The git commands of nightwright that were killed because they exceeded their time limit.
    pub timeouts: Vec<InspectionTimeout>,
}

/// A git command that was killed, and what cannot be inspected without it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InspectionTimeout {
    /// The command and its time limit, as a sentence without a full stop.
    pub why: String,
    pub what: NotInspected,
}

/// The changes that cannot be inspected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotInspected {
    /// All changes since the start of the run.
    Everything,
    /// The texts of these changed files. It is known that they changed.
    Files(Vec<String>),
}

/// The number and names of changed files.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Changes {
    /// The number of added, changed and removed files.
    pub files: u32,
    /// The first of the changed files.
    pub listed: Vec<ChangedFile>,
}

/// One added, changed or removed file.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ChangedFile {
    /// The path relative to the project.
    pub path: String,
    /// The number of added lines.
    pub added: u32,
    /// The number of removed lines.
    pub removed: u32,
}

/// A change that weakens the checks.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct TamperFinding {
    /// The path relative to the project.
    pub path: String,
    /// A description of the change.
    pub what: String,
}
