//! Everything that can happen to a run.

use std::time::Duration;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::{StopSource, StopWhen};
use crate::principles::Principles;
use crate::settings::{ChangeSource, SettingChange};
use crate::stream::report::{AgentNews, AttemptReport, Blocker};
use crate::test_counts::TestCounts;
use crate::units::{AttemptId, CallId, Fingerprint, Ticket};

/// Something happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// The supervisor is ready: begin.
    Start,
    /// The supervisor took over the run of an earlier process: go on from what the journal says.
    Resume(ResumeData),
    /// News of an attempt.
    Agent(AttemptId, AgentNews),
    /// News of a call.
    Call(CallId, AgentNews),
    /// A timer fired.
    Timer(TimerKey),
    /// The operator, or a signal, wants something.
    Control(Control),
    /// What the watched status file says now. Whether that is news is decided upon.
    Status(StatusReport),
    /// A hook gave its answer.
    Hook(Ticket, HookAnswer),
    /// The project is ready for an iteration.
    Prepared(Ticket, Prepared),
    /// The project after an attempt.
    Surveyed(Ticket, Box<Survey>),
    /// The checks are done.
    Checked(Ticket, CheckReport),
    /// The changes were looked through.
    Inspected(Ticket, Box<Inspection>),
    /// Something outside went wrong in a way that people should know.
    Trouble {
        /// What.
        text: String,
    },
    /// An event could not be recorded.
    JournalFailed {
        /// Why.
        why: String,
    },
}

/// What the operator can want. Signals want the same things.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Control {
    /// Stop, soon or now.
    Stop {
        /// How soon.
        when: StopWhen,
        /// By whom.
        by: StopSource,
    },
    /// Something that we live on goes away, such as the terminal: stop now. Whoever is stopping
    /// already is not hurried by it.
    HangUp,
    /// Take back a stop.
    CancelStop,
    /// Start nothing new.
    Pause,
    /// Go on.
    Resume,
    /// A word for the agent.
    Tell {
        /// The word.
        text: String,
    },
    /// Try now what is being waited for.
    RetryNow,
}

/// Timers, by what they are for. One that fires for something over is ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TimerKey {
    /// Between two iterations.
    Delay(Ticket),
    /// Before another attempt, or another try at a limit.
    Wait(Ticket),
    /// A deadline of an attempt may have passed.
    Attempt(AttemptId),
    /// A deadline of a call may have passed.
    Call(CallId),
}

/// What was found of the work of an earlier process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResumeData {
    /// The raw output of the attempt or call that was going on, decoded.
    pub report: Option<Box<AttemptReport>>,
    /// What is to be different from now on.
    pub changes: Vec<(ChangeSource, SettingChange)>,
    /// Which runs continue.
    pub policy: ResumePolicy,
}

/// Which runs `resume` continues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResumePolicy {
    /// Every run that did not complete.
    #[default]
    IfUnfinished,
    /// Only a run that was cut off.
    IfCrashed,
    /// A completed run, too.
    Always,
}

/// A hook's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookAnswer {
    /// Go on.
    GoOn,
    /// Leave this iteration out.
    Skip,
    /// End the run.
    Abort {
        /// How it said so.
        why: String,
    },
    /// It did not do its job; the run goes on.
    Failed {
        /// How.
        why: String,
    },
}

/// The project before an iteration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// The project; `None` = as the previous iteration left it.
    pub mark: Option<WorkspaceMark>,
    /// The boxes of the list, where the mode has one.
    pub checklist: Option<Checklist>,
    /// The status file, if there is a valid one and it was looked at.
    pub status: Option<StatusReport>,
    /// Space on the disk of the project and the run folder, if it could be asked.
    pub disk: Option<Disk>,
}

/// Space on a disk, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disk {
    /// Free.
    pub free: u64,
    /// What has to stay free.
    pub floor: u64,
}

/// A state of the project, by which another can be compared with it.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct WorkspaceMark {
    /// Over everything that counts as work.
    pub fingerprint: Fingerprint,
    /// The commit, with git.
    #[serde(default)]
    pub head: Option<String>,
    /// The tree of that commit.
    #[serde(default)]
    pub head_tree: Option<String>,
    /// The identity of the status file: inode, size, times.
    #[serde(default)]
    pub status: Option<String>,
}

/// The project after an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survey {
    /// How it is now.
    pub mark: WorkspaceMark,
    /// Files that differ from the start of the iteration.
    pub files_changed: u32,
    /// The same without the list; `None` if nobody knows how they were then.
    pub files_changed_outside_plan: Option<u32>,
    /// Commits since then.
    pub commits: u32,
    /// Files that differ from the start of the run; `None` if nobody compared them.
    pub changes: Option<Changes>,
    /// The status file, if there is a valid one.
    pub status: Option<StatusReport>,
    /// The boxes of the to-do list or plan.
    pub checklist: Option<Checklist>,
    /// That list, as much of it as a verifier is shown. Not recorded.
    pub list: String,
    /// The principles that the agent was to write down, if they are there.
    pub principles: Option<Principles>,
    /// What is odd about any of it.
    pub warnings: Vec<String>,
}

/// What a status file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatusReport {
    /// It says complete.
    pub complete: bool,
    /// It says failed, in these words.
    pub failed: Option<String>,
    /// How far the task is.
    pub progress: Option<TaskProgress>,
    /// Whether the agent says that it worked.
    pub worked: Option<bool>,
    /// What the agent says it did.
    pub summary: String,
    /// Where in the task it is.
    pub phase: Option<String>,
    /// What it wants to be remembered.
    pub notes: Option<String>,
    /// When it says it was written, in its own words.
    pub updated: Option<String>,
    /// What it can't go on without.
    pub blockers: Vec<Blocker>,
    /// What in it does not fit together: the gate is told.
    pub contradictions: Vec<String>,
}

/// How far a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct TaskProgress {
    /// Items done.
    pub completed: u32,
    /// Items in all.
    pub total: u32,
}

/// The boxes of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Checklist {
    /// Not ticked.
    pub open: u32,
    /// Ticked.
    pub done: u32,
}

impl Checklist {
    /// Whether there are any, and none of them is open.
    pub fn is_complete(self) -> bool {
        self.open == 0 && self.done > 0
    }
}

/// What the checks are run for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckPurpose {
    /// To know how things stand before the first iteration.
    Baseline,
    /// To judge a claim of completion.
    Gate,
}

/// What the checks came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// One for each command, in order; the first that fails is the last that was run.
    pub results: Vec<CheckResult>,
    /// The project after them.
    pub fingerprint: Fingerprint,
    /// When these results were measured, if they are those of an earlier run on the same tree.
    pub reused_from: Option<Timestamp>,
    /// Files that they wrote, and that are not work from now on.
    pub outputs: Vec<String>,
    /// Variables of the user's environment that they do not get.
    pub withheld: Vec<String>,
    /// Files that they changed and that count as work: a formatter does this.
    pub changed: Vec<String>,
    /// What was odd when it was looked at.
    pub warnings: Vec<String>,
}

/// What one check came to.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct CheckResult {
    /// The command.
    pub command: String,
    /// How it ended.
    pub verdict: CheckVerdict,
    /// The last lines of its output.
    pub output: String,
    /// How many tests it ran, where its output says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestCounts>,
    /// Where in the run folder all of it is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    /// How long it took.
    #[serde(with = "crate::units::millis", rename = "duration_ms")]
    #[schemars(with = "u64")]
    pub duration: Duration,
}

impl CheckResult {
    /// Of a check that did not run.
    pub fn without_run(command: &str, verdict: CheckVerdict) -> Self {
        Self {
            command: command.to_owned(),
            verdict,
            output: String::new(),
            tests: None,
            log: None,
            duration: Duration::ZERO,
        }
    }
}

/// How a check ended.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CheckVerdict {
    /// It passed.
    Passed,
    /// It failed, was run once more, and passed.
    Flaky,
    /// It failed.
    Failed {
        /// Its exit code, or the signal that ended it.
        how: crate::stream::outcome::ProcessExit,
    },
    /// It took too long.
    TimedOut,
    /// It could not be started.
    NotStarted {
        /// Why.
        why: String,
    },
    /// The run was stopped before it ended.
    Interrupted,
}

impl CheckVerdict {
    /// Whether the check is passed.
    pub fn is_pass(&self) -> bool {
        match self {
            Self::Passed | Self::Flaky => true,
            Self::Failed { .. } | Self::TimedOut | Self::NotStarted { .. } | Self::Interrupted => {
                false
            }
        }
    }
}

/// What was found in the changes since the run began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inspection {
    /// What makes passing checks worth less.
    pub findings: Vec<TamperFinding>,
    /// What changed, in figures.
    pub changes: Changes,
    /// What changed, line by line, as much of it as a verifier is shown. Not recorded.
    pub diff: String,
    /// What was odd when it was looked at.
    pub warnings: Vec<String>,
}

/// What changed, in figures.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Changes {
    /// Files that were added, changed or removed.
    pub files: u32,
    /// The first of them.
    pub listed: Vec<ChangedFile>,
}

/// One file that was added, changed or removed.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ChangedFile {
    /// Where.
    pub path: String,
    /// Lines that came.
    pub added: u32,
    /// Lines that went.
    pub removed: u32,
}

/// Something in the changes that makes passing checks worth less.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct TamperFinding {
    /// Where.
    pub path: String,
    /// What.
    pub what: String,
}
