//! What each event is called and what it means, for the reference page and for messages.

use super::Event;

impl Event {
    /// Whether whoever of the agent's was talking has said all.
    pub fn ends_talk(&self) -> bool {
        matches!(
            self,
            Self::AttemptFinished { .. }
                | Self::CallFinished { .. }
                | Self::IterationFinished(_)
                | Self::RunFinished { .. }
        )
    }

    /// The name in the journal.
    pub fn name(&self) -> &'static str {
        match self {
            Self::RunStarted(_) => "run_started",
            Self::RunContinued { .. } => "run_continued",
            Self::IterationStarted { .. } => "iteration_started",
            Self::IterationSkipped { .. } => "iteration_skipped",
            Self::AttemptStarted { .. } => "attempt_started",
            Self::AgentReady { .. } => "agent_ready",
            Self::AttemptCancelled { .. } => "attempt_cancelled",
            Self::AttemptFinished { .. } => "attempt_finished",
            Self::RetryScheduled { .. } => "retry_scheduled",
            Self::LimitWaitStarted { .. } => "limit_wait_started",
            Self::LimitWaitEnded { .. } => "limit_wait_ended",
            Self::QuotaReported { .. } => "quota_reported",
            Self::StatusChanged { .. } => "status_changed",
            Self::BlockerReported { .. } => "blocker_reported",
            Self::WatchdogNoticed { .. } => "watchdog_noticed",
            Self::NudgeSent { .. } => "nudge_sent",
            Self::PermissionDenied { .. } => "permission_denied",
            Self::GateStarted { .. } => "gate_started",
            Self::ChecksStarted { .. } => "checks_started",
            Self::ChecksFinished { .. } => "checks_finished",
            Self::ChangesInspected { .. } => "changes_inspected",
            Self::CallStarted { .. } => "call_started",
            Self::CallCancelled { .. } => "call_cancelled",
            Self::CallFinished { .. } => "call_finished",
            Self::VerdictGiven { .. } => "verdict_given",
            Self::GateFinished { .. } => "gate_finished",
            Self::CouncilDecided { .. } => "council_decided",
            Self::PrinciplesAdopted { .. } => "principles_adopted",
            Self::FeedbackAdded { .. } => "feedback_added",
            Self::SettingsChanged { .. } => "settings_changed",
            Self::IterationFinished(_) => "iteration_finished",
            Self::StopRequested { .. } => "stop_requested",
            Self::StopCancelled => "stop_cancelled",
            Self::RunPaused => "run_paused",
            Self::RunResumed => "run_resumed",
            Self::HookFailed { .. } => "hook_failed",
            Self::Warning { .. } => "warning",
            Self::RunFinished { .. } => "run_finished",
        }
    }

    /// What it means, in one sentence.
    pub fn meaning(&self) -> &'static str {
        match self {
            Self::RunStarted(_) => "A run began; everything it was told is in here.",
            Self::RunContinued { .. } => {
                "A later process took the run over where an earlier one left it."
            }
            Self::IterationStarted { .. } => {
                "An iteration began; the state of the project is the one it will be judged by."
            }
            Self::IterationSkipped { .. } => {
                "A hook left an iteration out; its number is not used up."
            }
            Self::AttemptStarted { .. } => "A process of the agent was about to be started.",
            Self::AgentReady { .. } => "The agent started and said what it is.",
            Self::AttemptCancelled { .. } => "nightwright ended an attempt before its own end.",
            Self::AttemptFinished { .. } => "An attempt was over and all its processes were gone.",
            Self::RetryScheduled { .. } => "An attempt failed and another one was put off.",
            Self::LimitWaitStarted { .. } => "A limit has to be waited out.",
            Self::LimitWaitEnded { .. } => "The wait for a limit was over.",
            Self::QuotaReported { .. } => {
                "The agent reported how much of the account's quota is used."
            }
            Self::StatusChanged { .. } => "The task's status file changed in a way that matters.",
            Self::BlockerReported { .. } => {
                "The agent needs something that only a person can give; told once a run for each."
            }
            Self::WatchdogNoticed { .. } => {
                "The agent gave up, asked somebody who is not there, or went in circles."
            }
            Self::NudgeSent { .. } => {
                "A further message was about to be sent into a running session."
            }
            Self::PermissionDenied { .. } => {
                "The agent was not allowed to use a tool; `rule` is what `--allowed-tools` takes to allow it."
            }
            Self::GateStarted { .. } => "Completion was claimed and has to be proved.",
            Self::ChecksStarted { .. } => "The checks were about to be run.",
            Self::ChecksFinished { .. } => {
                "The checks were done; the verdict is bound to the state of the project after them."
            }
            Self::ChangesInspected { .. } => {
                "The changes since the run began were looked through for tampering."
            }
            Self::CallStarted { .. } => {
                "Another use of the agent was about to be started: a verdict, a review, advice."
            }
            Self::CallCancelled { .. } => "nightwright ended a call before its own end.",
            Self::CallFinished { .. } => "A call was over and all its processes were gone.",
            Self::VerdictGiven { .. } => "A model judged a claim of completion.",
            Self::GateFinished { .. } => "The gate came to a result.",
            Self::CouncilDecided { .. } => "A conflict of principles was decided.",
            Self::PrinciplesAdopted { .. } => {
                "The agent had written down the principles it was asked for; they hold from here on."
            }
            Self::FeedbackAdded { .. } => "Something was put into the inbox of the next iteration.",
            Self::SettingsChanged { .. } => {
                "A setting changed: by an option of `resume`, or by a configuration that the operator reloaded."
            }
            Self::IterationFinished(_) => "An iteration was over: how it went and what it cost.",
            Self::StopRequested { .. } => "The run was asked to stop.",
            Self::StopCancelled => "The request to stop was taken back.",
            Self::RunPaused => "The operator wants nothing new to start.",
            Self::RunResumed => "The operator lets the run go on.",
            Self::HookFailed { .. } => "A hook did not do its job; the run went on.",
            Self::Warning { .. } => "Something happened that people should know.",
            Self::RunFinished { .. } => "The run was over; nothing is decided after this.",
        }
    }
}
