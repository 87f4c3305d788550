//! Settings: the resolved configuration of a run.
//!
//! Layers of the configuration contain many `Option`s; in settings, `None` never means "not decided
//! yet". Settings are recorded at the start of the run. Every later change is an event.

mod change;
mod sandbox;
mod status_watch;
mod verify;

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::change::{ChangeSource, Configured, SettingChange};
pub use self::sandbox::{SandboxKind, SandboxSettings};
pub use self::status_watch::StatusWatch;
pub use self::verify::{Depth, Every, Rerun, Tamper, VerdictMode, Verify};
pub use crate::hook::Hooks;
use crate::mode;
use crate::permissions::{PermissionRules, Permissions};
use crate::principles::Principles;
use crate::units::{Usd, millis};

/// Everything the machine needs to know about your choices.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// The name of the mode, for display.
    pub mode: String,
    /// The name of the task; `null`: a run with only a goal.
    pub task: Option<String>,
    /// The part of a run to execute.
    #[serde(skip_serializing_if = "Scope::is_whole")]
    pub scope: Scope,
    /// The goal in your own words.
    pub goal: String,
    /// The file in which iterations leave notes for the next one; `null`: no notes.
    pub notes_file: Option<String>,
    /// The files of the task, relative to the project.
    pub files: Files,
    /// The strings that the agent receives besides the goal.
    pub texts: PromptTexts,
    /// The project's own commands, shown to the agent.
    pub commands: Commands,
    /// The project and its branches, for templates.
    pub surroundings: ProjectContext,
    /// The limits that end a run.
    pub limits: Limits,
    /// The rules for retries after failed attempts.
    pub retry: Retry,
    /// The rules that end a run without progress.
    pub progress: ProgressSettings,
    /// The evidence that counts as a claim of completion.
    pub completion: Completion,
    /// The gate: checks and verdicts that a claim must pass.
    pub verify: Verify,
    /// Additional calls around an iteration: review, council, watchdog.
    pub extras: Extras,
    /// The weights that decide trade-offs, if you set principles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub principles: Option<Principles>,
    /// The deadlines after which nightwright kills an attempt.
    pub deadlines: Deadlines,
    /// The reporting of status file changes while the agent works.
    pub status_watch: StatusWatch,
    /// The hooks that you enabled.
    pub hooks: Hooks,
    /// The model for attempts, and its maximum number of turns.
    pub model: Model,
    /// The agent program and its permissions.
    pub agent: AgentSettings,
    /// The sandbox of the agent and the checks.
    #[serde(skip_serializing_if = "SandboxSettings::is_default")]
    pub sandbox: SandboxSettings,
    /// The delay between two successful iterations, in milliseconds.
    #[serde(with = "millis")]
    #[schemars(with = "u64")]
    pub delay: Duration,
    /// The configured permissions and model, without the options of the command line.
    pub configured: Configured,
    /// Whether these settings contained secrets, which nightwright masks in the journal.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub masked: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            mode: "prompt".to_owned(),
            task: None,
            scope: Scope::Whole,
            goal: String::new(),
            notes_file: None,
            files: Files::default(),
            texts: PromptTexts::default(),
            commands: Commands::default(),
            surroundings: ProjectContext::default(),
            limits: Limits::default(),
            retry: Retry::default(),
            progress: ProgressSettings::default(),
            completion: Completion::default(),
            verify: Verify::default(),
            extras: Extras::default(),
            principles: None,
            deadlines: Deadlines::default(),
            status_watch: StatusWatch::default(),
            hooks: Hooks::default(),
            model: Model::default(),
            agent: AgentSettings::default(),
            sandbox: SandboxSettings::default(),
            delay: Duration::from_secs(1),
            configured: Configured::default(),
            masked: false,
        }
    }
}

/// The part of a run to execute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Iterations until the work is complete.
    #[default]
    Whole,
    /// Only the gate: you ask whether the work is complete.
    Gate,
}

impl Scope {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde requires a reference")]
    fn is_whole(&self) -> bool {
        *self == Self::Whole
    }
}

/// Files in which the agent reports its progress, relative to the project.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct Files {
    /// The folder of the task, if any.
    pub task: Option<String>,
    /// The status file of the task, if any.
    pub status: Option<String>,
    /// The checklist of a task, or the plan.
    pub list: Option<String>,
    /// The file that the first iteration writes principles into; `null`: not requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub principles: Option<String>,
}

/// The strings that the agent receives besides the goal, as they were at the start of the run.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct PromptTexts {
    /// The mode's part of the system prompt, a template.
    pub system: String,
    /// The mode's instructions, a template; the prompt starts with them.
    pub prompt: String,
    /// The project's own instructions for the agent, inserted verbatim.
    pub agents: String,
    /// Your text about the status file; `null`: the built-in text.
    pub status: Option<String>,
    /// Your addition to the system prompt.
    pub appended: String,
}

impl Default for PromptTexts {
    /// The strings of the mode `prompt`.
    fn default() -> Self {
        Self {
            system: mode::PROMPT.system.to_owned(),
            prompt: mode::PROMPT.prompt.to_owned(),
            agents: String::new(),
            status: None,
            appended: String::new(),
        }
    }
}

/// The project of a run, for use in templates.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct ProjectContext {
    /// The absolute path of the project folder.
    pub project_root: String,
    /// The current branch at the start of the run.
    pub branch: Option<String>,
    /// The main branch of the repository.
    pub base_branch: Option<String>,
}

/// The project's own commands, for the agent's information. nightwright does not run them; the
/// commands it runs are in [`Verify`].
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct Commands {
    /// The command that runs the tests.
    pub test: Option<String>,
    /// The command that builds the project.
    pub build: Option<String>,
    /// The command that runs the linters.
    pub lint: Option<String>,
}

/// The limits of a run. `null`: no limit.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// The maximum number of iterations, including failed and interrupted ones.
    pub max_iterations: Option<u32>,
    /// The maximum total cost of all attempts and calls, including failed ones, in US dollars.
    pub max_cost: Option<Usd>,
    /// The maximum number of tokens of all models: input, output and cache writes.
    pub max_tokens: Option<u64>,
    /// The maximum active time in milliseconds, without pauses and waits for usage limits.
    #[serde(with = "millis::option")]
    #[schemars(with = "Option<u64>")]
    pub max_duration: Option<Duration>,
    /// The share of cost and duration reserved for one wrap-up iteration, in percent.
    pub reserve: u8,
    /// The shares of the account's quotas beyond which no iteration starts.
    pub quota: Quota,
    /// The longest wait in milliseconds; a usage limit that resets later ends the run.
    #[serde(with = "millis")]
    #[schemars(with = "u64")]
    pub max_wait: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_iterations: None,
            max_cost: None,
            max_tokens: None,
            max_duration: None,
            reserve: 10,
            quota: Quota::default(),
            max_wait: Duration::from_hours(12),
        }
    }
}

impl Limits {
    /// Whether no limit would end a run that never completes.
    pub fn is_unlimited(&self) -> bool {
        let Self { max_iterations, max_cost, max_tokens, max_duration, .. } = self;
        max_iterations.is_none()
            && max_cost.is_none()
            && max_tokens.is_none()
            && max_duration.is_none()
    }
}

/// Percentages of the account's quotas; `null`: the run may use the whole quota.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct Quota {
    /// The usable share of the five-hour quota, in percent.
    pub five_hour: Option<u8>,
    /// The usable share of the seven-day quota, in percent.
    pub seven_day: Option<u8>,
}

/// The rules after a failed attempt or iteration.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct Retry {
    /// The maximum number of retries per iteration after transient failures.
    pub max_retries: u32,
    /// The delay before the first retry in milliseconds; it doubles with every further retry.
    #[serde(with = "millis")]
    #[schemars(with = "u64")]
    pub delay: Duration,
    /// The number of consecutive failed iterations that ends the run.
    pub max_consecutive_errors: u32,
}

impl Default for Retry {
    fn default() -> Self {
        Self { max_retries: 5, delay: Duration::from_secs(5), max_consecutive_errors: 3 }
    }
}

/// The rules that end a run without progress.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct ProgressSettings {
    /// The number of consecutive idle iterations that ends the run; 0 = never.
    pub threshold: u32,
    /// The number of consecutive iterations in which no additional check or test passes, although
    /// some fail, that ends the run; 0 = never.
    #[serde(rename = "no_improvement")]
    pub no_gain: u32,
    /// The outcome that this mode uses for lack of progress.
    pub outcome: Stagnation,
    /// When an iteration that changed nothing is not idle.
    pub idle_unless: IdleUnless,
}

impl Default for ProgressSettings {
    fn default() -> Self {
        Self {
            threshold: 3,
            no_gain: 4,
            outcome: Stagnation::Stagnated,
            idle_unless: IdleUnless::None,
        }
    }
}

/// The outcome for lack of progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stagnation {
    /// The outcome in most modes: the run stagnated.
    Stagnated,
    /// The outcome of modes that expect every iteration to change files.
    NoChanges,
}

/// The status-file claims that make an iteration without changes count as active.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IdleUnless {
    /// An iteration without changes is always idle.
    None,
    /// `worked: true` in the status file, for at most twice the threshold of consecutive
    /// iterations.
    Worked,
}

/// The evidence that counts as a claim of completion.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct Completion {
    /// The kinds of evidence that count; empty = nightwright reads no claims, and only limits, a
    /// stop or errors end the run.
    pub evidence: Vec<EvidenceKind>,
    /// The exact phrase of the completion signal.
    pub signal: String,
    /// The number of consecutive iterations that must give the signal.
    pub signal_threshold: u32,
    /// A phrase in the last lines of the final message that claims completion, if configured.
    pub end_phrase: Option<String>,
}

impl Default for Completion {
    fn default() -> Self {
        Self {
            evidence: vec![EvidenceKind::Promise, EvidenceKind::Signal],
            signal: "CONTINUOUS_CLAUDE_PROJECT_COMPLETE".to_owned(),
            signal_threshold: 3,
            end_phrase: None,
        }
    }
}

impl Completion {
    /// Whether the gate expects finished work. A plan is judged by reading it, and a run without
    /// claims is not judged.
    pub fn expects_work(&self) -> bool {
        !self.evidence.is_empty() && !self.evidence.contains(&EvidenceKind::Planned)
    }

    /// Completes the evidence of the mode: none if claims are not to be detected, and the end
    /// phrase if there is one.
    pub fn complete_evidence(&mut self, detect: bool) {
        if !detect {
            self.evidence.clear();
        } else if self.end_phrase.is_some() && !self.evidence.contains(&EvidenceKind::EndPhrase) {
            self.evidence.push(EvidenceKind::EndPhrase);
        }
    }
}

/// The kinds of evidence that the work is complete.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceKind {
    /// `complete: true` in the task's status file, written in this run.
    Status,
    /// A checklist without open checkboxes. Counts only without a valid status file.
    Todo,
    /// A plan with checkboxes, none of them open.
    Plan,
    /// A newly written plan with at least one open checkbox. Counts only together with a promise.
    Planned,
    /// `<promise>COMPLETE</promise>` at a valid position in the final message.
    Promise,
    /// The completion signal in enough consecutive iterations.
    Signal,
    /// The configured end phrase in the final message.
    EndPhrase,
    /// No claim, but the run would end for lack of progress although it did work.
    NoProgress,
    /// No claim, but all checks pass, and some of them failed earlier in the run.
    ChecksPass,
    /// No claim of completion: the agent reports that the task is impossible.
    Impossible,
    /// No claim: you asked for a verdict.
    Asked,
}

impl EvidenceKind {
    /// Whether the evidence consists only of the agent's words.
    pub fn is_only_words(self) -> bool {
        match self {
            Self::Promise
            | Self::Signal
            | Self::EndPhrase
            | Self::NoProgress
            | Self::ChecksPass
            | Self::Impossible
            | Self::Asked => true,
            Self::Status | Self::Todo | Self::Plan | Self::Planned => false,
        }
    }

    /// Whether the agent claims completion, or you asked for a verdict.
    pub fn is_claim(self) -> bool {
        match self {
            Self::NoProgress | Self::ChecksPass | Self::Impossible => false,
            Self::Status
            | Self::Todo
            | Self::Plan
            | Self::Planned
            | Self::Promise
            | Self::Signal
            | Self::EndPhrase
            | Self::Asked => true,
        }
    }
}

/// Additional calls around an iteration.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct Extras {
    /// Instructions for a review after every iteration that did work; empty = the built-in ones,
    /// `null`: no review.
    pub review: Option<String>,
    /// Whether an extra call decides unresolved conflicts between principles.
    pub council: Council,
    /// The response if the agent asks a question or gives up.
    pub watchdog: WatchdogResponse,
    /// Whether nightwright asks the agent to report its decisions.
    pub log_decisions: bool,
}

/// Whether an extra call decides unresolved conflicts between principles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Council {
    /// The agent decides conflicts itself.
    Off,
    /// An extra call decides each conflict.
    #[default]
    On,
}

/// The response if the agent asks a question or gives up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WatchdogResponse {
    /// nightwright does not respond if the agent asks a question or gives up.
    Off,
    /// The answer goes into the same session, if the agent program supports that.
    #[default]
    Live,
    /// The answer goes into the next prompt.
    Next,
}

/// The deadlines after which nightwright kills an attempt. The journal names the one that expired.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct Deadlines {
    /// The time until the agent reports that it is ready, in milliseconds.
    #[serde(with = "millis")]
    #[schemars(with = "u64")]
    pub start: Duration,
    /// The time without output while no tool runs, in milliseconds.
    #[serde(with = "millis")]
    #[schemars(with = "u64")]
    pub idle: Duration,
    /// The duration of one tool call, in milliseconds.
    #[serde(with = "millis")]
    #[schemars(with = "u64")]
    pub tool: Duration,
    /// The time between two heartbeats of a tool that sends them, in milliseconds.
    #[serde(with = "millis")]
    #[schemars(with = "u64")]
    pub heartbeat: Duration,
    /// The time from the result, with the input closed, to the exit of the process, in
    /// milliseconds.
    #[serde(with = "millis")]
    #[schemars(with = "u64")]
    pub after_result: Duration,
    /// The duration of the whole attempt, in milliseconds; `null`: no deadline.
    #[serde(with = "millis::option")]
    #[schemars(with = "Option<u64>")]
    pub attempt: Option<Duration>,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            start: Duration::from_mins(2),
            idle: Duration::from_mins(10),
            tool: Duration::from_mins(30),
            heartbeat: Duration::from_mins(5),
            after_result: Duration::from_secs(15),
            attempt: Some(Duration::from_hours(1)),
        }
    }
}

/// The model that works, and its alternatives.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct Model {
    /// The name of the model; `null`: the agent's default.
    pub name: Option<String>,
    /// The model that takes over from the third consecutive idle iteration on.
    pub escalate: Option<String>,
    /// The model that takes over when the first one is overloaded.
    pub fallback: Option<String>,
    /// The maximum number of turns per attempt; `null`: the agent's default.
    pub max_turns: Option<u32>,
}

/// The agent program: permissions, environment and additional arguments.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentSettings {
    /// A command line that replaces the default agent program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The level of permissions: what the agent may do without asking.
    pub permissions: Permissions,
    /// The rules of the permission levels, as they were at the start of the run.
    pub rules: PermissionRules,
    /// Tools allowed without asking, in addition to those of the level.
    pub allowed_tools: Vec<String>,
    /// Tools that the agent may not use at all.
    pub disallowed_tools: Vec<String>,
    /// The settings files of the agent program that apply: `user`, `project`, `local`.
    pub sources: Vec<String>,
    /// The maximum number of tokens per answer; `null`: the program's default.
    pub max_output_tokens: Option<u32>,
    /// Variables passed to the agent in addition to the default ones; names may contain `*`.
    pub pass_environment: Vec<String>,
    /// Names of variables that you set. nightwright does not record their values, which may be
    /// secret.
    pub environment: Vec<String>,
    /// Your own arguments, after all others.
    pub arguments: Vec<String>,
}

impl Default for AgentSettings {
    fn default() -> Self {
        Self {
            command: None,
            permissions: Permissions::default(),
            rules: PermissionRules::default(),
            allowed_tools: Vec::new(),
            disallowed_tools: Vec::new(),
            sources: vec!["user".to_owned()],
            max_output_tokens: None,
            pass_environment: Vec::new(),
            environment: Vec::new(),
            arguments: Vec::new(),
        }
    }
}
