//! What a run was told, resolved: layers are full of `Option`s, settings have none that mean
//! "not decided yet". They are recorded at the start of the run; a later change is an event.

mod change;
mod status_watch;
mod verify;

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::change::{ChangeSource, Configured, SettingChange};
pub use self::status_watch::StatusWatch;
pub use self::verify::{Depth, Rerun, Tamper, VerdictMode, Verify};
pub use crate::hook::Hooks;
use crate::mode;
use crate::permissions::{PermissionRules, Permissions};
use crate::principles::Principles;
use crate::units::{Usd, millis};

/// Everything the machine needs to know of the user's wishes.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// The mode's name, for people.
    pub mode: String,
    /// The task's name; `None` for a run with only a goal.
    pub task: Option<String>,
    /// How much of a run it is.
    #[serde(skip_serializing_if = "Scope::is_whole")]
    pub scope: Scope,
    /// What to do, in the user's words.
    pub goal: String,
    /// The file in which iterations hand over to each other; `None` for none.
    pub notes_file: Option<String>,
    /// The files of the task, relative to the project.
    pub files: Files,
    /// What the agent is told beside the goal.
    pub texts: PromptTexts,
    /// The project's own commands.
    pub commands: Commands,
    /// Where the run takes place.
    pub surroundings: ProjectContext,
    /// How far a run may go.
    pub limits: Limits,
    /// What follows a failed attempt.
    pub retry: Retry,
    /// When lack of progress ends the run.
    pub progress: ProgressSettings,
    /// What counts as a claim of completion.
    pub completion: Completion,
    /// What has to be passed before a claim is believed.
    pub verify: Verify,
    /// Further calls around an iteration.
    pub extras: Extras,
    /// What the work goes by when two good things contradict each other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub principles: Option<Principles>,
    /// When an attempt is given up.
    pub deadlines: Deadlines,
    /// Whether changes of the status file are told while the agent works.
    pub status_watch: StatusWatch,
    /// Which of the user's hooks are run.
    pub hooks: Hooks,
    /// Which model works, and how long it may take turns.
    pub model: Model,
    /// What the agent program may do.
    pub agent: Agent,
    /// How long to wait between two good iterations.
    #[serde(with = "millis")]
    #[schemars(with = "u64")]
    pub delay: Duration,
    /// What the configuration said of permissions and model, without the command line.
    pub configured: Configured,
    /// Whether there are secrets in these words, of which the journal has only masks.
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
            agent: Agent::default(),
            delay: Duration::from_secs(1),
            configured: Configured::default(),
            masked: false,
        }
    }
}

/// How much of a run it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Iterations until the work is complete.
    #[default]
    Whole,
    /// The gate alone: somebody wants to know whether the work is complete.
    Gate,
}

impl Scope {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
    fn is_whole(&self) -> bool {
        *self == Self::Whole
    }
}

/// Files in which the agent says how far it is, relative to the project.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct Files {
    /// The folder of the task.
    pub task: Option<String>,
    /// The status file.
    pub status: Option<String>,
    /// The list with boxes: a to-do list or a plan.
    pub list: Option<String>,
    /// The file that the first iteration writes principles into; `None` = it is not asked to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub principles: Option<String>,
}

/// What the agent is told beside the goal, as it was when the run began.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct PromptTexts {
    /// The mode's part of the system prompt, a template.
    pub system: String,
    /// How the mode works, a template; it opens the prompt.
    pub prompt: String,
    /// The project's own words for the agent, inserted as they are.
    pub agents: String,
    /// What the user wants said of the status file in place of our own words.
    pub status: Option<String>,
    /// What the user adds to the system prompt.
    pub appended: String,
}

impl Default for PromptTexts {
    /// Those of the mode `prompt`.
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

/// Where a run takes place, for templates to speak of.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct ProjectContext {
    /// The project folder.
    pub project_root: String,
    /// The branch that was checked out when the run began.
    pub branch: Option<String>,
    /// The main branch of the repository.
    pub base_branch: Option<String>,
}

/// The project's own commands, for the agent to know. They are not run by us: what is run is in
/// [`Verify`].
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct Commands {
    /// Runs the tests.
    pub test: Option<String>,
    /// Builds the project.
    pub build: Option<String>,
    /// Looks for bad style.
    pub lint: Option<String>,
}

/// How far a run may go. `None` is no limit.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Iterations, failed and interrupted ones too.
    pub max_iterations: Option<u32>,
    /// Cost of every attempt and call, failed ones too.
    pub max_cost: Option<Usd>,
    /// Input, output and cache writes of all models.
    pub max_tokens: Option<u64>,
    /// Time at work; waits for usage limits and pauses are left out.
    #[serde(with = "millis::option")]
    #[schemars(with = "Option<u64>")]
    pub max_duration: Option<Duration>,
    /// Share of cost and duration kept back for one wrap-up iteration, in percent.
    pub reserve: u8,
    /// Shares of the account's own quotas beyond which no iteration starts.
    pub quota: Quota,
    /// The leash of all waiting: an end further away than this ends the run.
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
    /// Whether nothing at all would end a run that goes on and on.
    pub fn is_unlimited(&self) -> bool {
        let Self { max_iterations, max_cost, max_tokens, max_duration, .. } = self;
        max_iterations.is_none()
            && max_cost.is_none()
            && max_tokens.is_none()
            && max_duration.is_none()
    }
}

/// Percentages of the account's quotas; `None` is "whatever the account allows".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct Quota {
    /// Of the five-hour window.
    pub five_hour: Option<u8>,
    /// Of the seven-day window.
    pub seven_day: Option<u8>,
}

/// What follows a failed attempt or iteration.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct Retry {
    /// Further attempts an iteration may have after transient failures.
    pub max_retries: u32,
    /// The first delay; it doubles with every further retry.
    #[serde(with = "millis")]
    #[schemars(with = "u64")]
    pub delay: Duration,
    /// Failed iterations in a row that end the run.
    pub max_consecutive_errors: u32,
}

impl Default for Retry {
    fn default() -> Self {
        Self { max_retries: 5, delay: Duration::from_secs(5), max_consecutive_errors: 3 }
    }
}

/// When lack of progress ends the run.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct ProgressSettings {
    /// Idle iterations in a row that end the run; 0 = never.
    pub threshold: u32,
    /// What that ending is called in this mode.
    pub ending: Stagnation,
    /// Whether the agent's word that it worked excuses an unchanged tree.
    pub excuse: Excuse,
}

impl Default for ProgressSettings {
    fn default() -> Self {
        Self { threshold: 3, ending: Stagnation::Stagnated, excuse: Excuse::None }
    }
}

/// The name of the ending for lack of progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stagnation {
    /// In most modes.
    Stagnated,
    /// Where every iteration is expected to change files.
    NoChanges,
}

/// What excuses an iteration that changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Excuse {
    /// Nothing.
    None,
    /// `worked: true` in the status file, at most twice the threshold in a row.
    Worked,
}

/// What counts as a claim of completion.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct Completion {
    /// The kinds of evidence that count; empty = none is read, the run ends by limits, stop or
    /// errors only.
    pub evidence: Vec<EvidenceKind>,
    /// The exact phrase of the completion signal.
    pub signal: String,
    /// Iterations in a row that must give the signal.
    pub signal_threshold: u32,
    /// A phrase within the last lines of the final message that claims completion, if any.
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
    /// Whether finished work is looked for. A plan is judged by reading it, and a run that reads no
    /// claim is not judged at all.
    pub fn expects_work(&self) -> bool {
        !self.evidence.is_empty() && !self.evidence.contains(&EvidenceKind::Planned)
    }
}

/// What can say that the work is complete.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceKind {
    /// `complete: true` in the task's status file, written in this run.
    Status,
    /// A to-do list with boxes, none of them open. Only without a valid status file.
    Todo,
    /// A plan with boxes, none of them open.
    Plan,
    /// A plan that was written: it has at least one open box. Counts only beside a promise.
    Planned,
    /// `<promise>COMPLETE</promise>` in the final message, where it counts.
    Promise,
    /// The completion signal, several iterations in a row.
    Signal,
    /// The end phrase.
    EndPhrase,
    /// Nothing claims completion, but the run would end for lack of progress with work to show.
    NoProgress,
    /// Nobody claims anything: a person wants to know.
    Asked,
}

impl EvidenceKind {
    /// Whether it is nothing but something the agent said.
    pub fn is_only_words(self) -> bool {
        match self {
            Self::Promise | Self::Signal | Self::EndPhrase | Self::NoProgress | Self::Asked => true,
            Self::Status | Self::Todo | Self::Plan | Self::Planned => false,
        }
    }
}

/// Further calls around an iteration.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct Extras {
    /// A second pair of eyes after every iteration that did work.
    pub review: Option<String>,
    /// Whether unresolved conflicts of principles are decided by an extra call.
    pub council: Council,
    /// What is done about questions and surrenders.
    pub watchdog: WatchdogResponse,
}

/// Whether unresolved conflicts of principles are decided by an extra call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Council {
    /// No.
    Off,
    /// Yes.
    #[default]
    On,
}

/// What is done about questions and surrenders of the agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WatchdogResponse {
    /// Nothing.
    Off,
    /// The answer goes into the same session, where the agent program can take it.
    #[default]
    Live,
    /// The answer goes into the next prompt.
    Next,
}

/// When an attempt is given up. Each is named in the journal when it fires.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct Deadlines {
    /// Until the agent says that it is ready.
    #[serde(with = "millis")]
    #[schemars(with = "u64")]
    pub start: Duration,
    /// Without a line while no tool runs.
    #[serde(with = "millis")]
    #[schemars(with = "u64")]
    pub idle: Duration,
    /// One tool call.
    #[serde(with = "millis")]
    #[schemars(with = "u64")]
    pub tool: Duration,
    /// Between two heartbeats of a tool that gives any.
    #[serde(with = "millis")]
    #[schemars(with = "u64")]
    pub heartbeat: Duration,
    /// From the result, once the input is closed, to the end of the process.
    #[serde(with = "millis")]
    #[schemars(with = "u64")]
    pub after_result: Duration,
    /// The whole attempt; `None` = no deadline.
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

/// Which model works.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct Model {
    /// `None` = the agent's own choice.
    pub name: Option<String>,
    /// Takes over from the third idle iteration in a row on.
    pub escalate: Option<String>,
    /// Takes over when the model is overloaded.
    pub fallback: Option<String>,
    /// Turns an attempt may take; `None` = the agent's own choice.
    pub max_turns: Option<u32>,
}

/// What the agent program may do, and what the user adds to its command line.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct Agent {
    /// A command line of the user's that stands in for the usual program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// What it may do without asking.
    pub permissions: Permissions,
    /// The rules behind the levels of permissions, as they are when the run starts.
    pub rules: PermissionRules,
    /// Tools it may use without asking, in addition to those of the level.
    pub allowed_tools: Vec<String>,
    /// Tools it may not use at all.
    pub disallowed_tools: Vec<String>,
    /// Which of the user's own settings of the program apply: `user`, `project`, `local`.
    pub sources: Vec<String>,
    /// Tokens that one answer may have; `None` = the program's own choice.
    pub max_output_tokens: Option<u32>,
    /// Variables of our environment that are passed on beside the usual ones; names with `*`.
    pub pass_environment: Vec<String>,
    /// Names of variables that the user sets. Their values may be secret and are not recorded.
    pub environment: Vec<String>,
    /// The user's own arguments, after all of ours.
    pub arguments: Vec<String>,
}

impl Default for Agent {
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
