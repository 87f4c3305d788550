//! Modes: the purpose of an iteration, the evidence for completion, and defaults. A mode is data:
//! five are embedded, and a project can override single files or add its own mode.

use serde::Deserialize;

use crate::settings::{EvidenceKind, IdleUnless, Stagnation};

/// The files of an embedded mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmbeddedMode {
    pub name: &'static str,
    /// The content of `mode.toml`.
    pub definition: &'static str,
    /// The content of `system.md`.
    pub system: &'static str,
    /// The content of `prompt.md`.
    pub prompt: &'static str,
    /// The content of `setup.md`, if instructions are written together with the agent.
    pub setup: Option<&'static str>,
    /// The content of `edit.md`, if instructions are edited together with the agent.
    pub edit: Option<&'static str>,
    /// The content of `validate.md`, if instructions can be validated.
    pub validate: Option<&'static str>,
}

/// The content of `mode.toml` without its `defaults`, which are a layer of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModeDefinition {
    /// One line that describes an iteration.
    pub description: String,
    /// The evidence for completion.
    pub evidence: Vec<EvidenceKind>,
    /// The checklist, if any.
    #[serde(default)]
    pub list: Option<ChecklistFile>,
    /// The kind of input that the mode works on.
    pub works_on: WorkTarget,
    /// The goal if neither a task nor `-p` gives one.
    #[serde(default)]
    pub goal: Option<String>,
    /// The outcome for lack of progress.
    #[serde(default = "stagnated")]
    pub idle_outcome: Stagnation,
    /// Whether its prompt asks for commits. If so, the agent may commit at every permission level.
    #[serde(default)]
    pub commits: CommitPolicy,
    /// When an iteration that changed nothing is not idle.
    #[serde(default = "always_idle")]
    pub idle_unless: IdleUnless,
}

/// The list of a mode.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChecklistFile {
    pub file: String,
    /// The folder that contains the file.
    pub place: FileLocation,
}

/// The folder of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileLocation {
    /// The folder of the task.
    Task,
    /// The folder of the project.
    Project,
}

/// The input that a mode works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkTarget {
    /// Only a task with instructions.
    Task,
    /// A goal, or a task's instructions.
    Goal,
}

/// Whether a mode asks for commits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommitPolicy {
    Yes,
    #[default]
    No,
}

fn stagnated() -> Stagnation {
    Stagnation::Stagnated
}

fn always_idle() -> IdleUnless {
    IdleUnless::None
}

macro_rules! text {
    ($name:literal, $file:literal) => {
        include_str!(concat!("../modes/", $name, "/", $file))
    };
}

pub const LOOP: EmbeddedMode = EmbeddedMode {
    name: "loop",
    definition: text!("loop", "mode.toml"),
    system: text!("loop", "system.md"),
    prompt: text!("loop", "prompt.md"),
    setup: Some(text!("loop", "setup.md")),
    edit: Some(text!("loop", "edit.md")),
    validate: Some(text!("loop", "validate.md")),
};

pub const ITERATIVE: EmbeddedMode = EmbeddedMode {
    name: "iterative",
    definition: text!("iterative", "mode.toml"),
    system: text!("iterative", "system.md"),
    prompt: text!("iterative", "prompt.md"),
    setup: Some(text!("iterative", "setup.md")),
    edit: Some(text!("iterative", "edit.md")),
    validate: Some(text!("iterative", "validate.md")),
};

pub const PLAN: EmbeddedMode = EmbeddedMode {
    name: "plan",
    definition: text!("plan", "mode.toml"),
    system: text!("plan", "system.md"),
    prompt: text!("plan", "prompt.md"),
    setup: None,
    edit: None,
    validate: None,
};

pub const BUILD: EmbeddedMode = EmbeddedMode {
    name: "build",
    definition: text!("build", "mode.toml"),
    system: text!("build", "system.md"),
    prompt: text!("build", "prompt.md"),
    setup: None,
    edit: None,
    validate: None,
};

pub const PROMPT: EmbeddedMode = EmbeddedMode {
    name: "prompt",
    definition: text!("prompt", "mode.toml"),
    system: text!("prompt", "system.md"),
    prompt: text!("prompt", "prompt.md"),
    setup: None,
    edit: None,
    validate: None,
};

/// All embedded modes, in the order of display.
pub const EMBEDDED: [EmbeddedMode; 5] = [LOOP, ITERATIVE, PLAN, BUILD, PROMPT];
