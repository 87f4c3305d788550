//! A mode: what one iteration is for, what says that the work is complete, and defaults. A mode is
//! data: five are embedded, a project can override one file of one, or have its own.

use serde::Deserialize;

use crate::settings::{EvidenceKind, Excuse, Stagnation};

/// The files of a mode that is part of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmbeddedMode {
    /// Its name.
    pub name: &'static str,
    /// `mode.toml`.
    pub definition: &'static str,
    /// `system.md`.
    pub system: &'static str,
    /// `prompt.md`.
    pub prompt: &'static str,
    /// `setup.md`, if instructions are written together with the agent.
    pub setup: Option<&'static str>,
    /// `edit.md`, if instructions are changed together with the agent.
    pub edit: Option<&'static str>,
    /// `validate.md`, if instructions can be judged.
    pub validate: Option<&'static str>,
}

/// What `mode.toml` says, but for its `defaults`, which are a layer of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModeDefinition {
    /// What one iteration does, in one line.
    pub description: String,
    /// What says that the work is complete.
    pub evidence: Vec<EvidenceKind>,
    /// The list with boxes, if there is one.
    #[serde(default)]
    pub list: Option<ChecklistFile>,
    /// What is worked on.
    pub works_on: WorkTarget,
    /// The goal if neither a task nor `-p` gives one.
    #[serde(default)]
    pub goal: Option<String>,
    /// What the ending for lack of progress is called.
    #[serde(default = "stagnated")]
    pub ending: Stagnation,
    /// Whether its prompt asks for commits: then the agent may commit at every level of permissions.
    #[serde(default)]
    pub commits: CommitPolicy,
    /// Whether the agent's word that it worked excuses an unchanged tree.
    #[serde(default = "no_excuse")]
    pub excuse: Excuse,
}

/// The list of a mode.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChecklistFile {
    /// Its name.
    pub file: String,
    /// Where it is.
    pub place: FileLocation,
}

/// Where a file of a mode is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileLocation {
    /// In the folder of the task.
    Task,
    /// In the project.
    Project,
}

/// What a mode works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkTarget {
    /// A task with instructions, and nothing else.
    Task,
    /// A goal, or a task's instructions.
    Goal,
}

/// Whether a mode asks for commits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommitPolicy {
    /// It does.
    Yes,
    /// It does not.
    #[default]
    No,
}

fn stagnated() -> Stagnation {
    Stagnation::Stagnated
}

fn no_excuse() -> Excuse {
    Excuse::None
}

macro_rules! text {
    ($name:literal, $file:literal) => {
        include_str!(concat!("../modes/", $name, "/", $file))
    };
}

/// The mode `loop`.
pub const LOOP: EmbeddedMode = EmbeddedMode {
    name: "loop",
    definition: text!("loop", "mode.toml"),
    system: text!("loop", "system.md"),
    prompt: text!("loop", "prompt.md"),
    setup: Some(text!("loop", "setup.md")),
    edit: Some(text!("loop", "edit.md")),
    validate: Some(text!("loop", "validate.md")),
};

/// The mode `iterative`.
pub const ITERATIVE: EmbeddedMode = EmbeddedMode {
    name: "iterative",
    definition: text!("iterative", "mode.toml"),
    system: text!("iterative", "system.md"),
    prompt: text!("iterative", "prompt.md"),
    setup: Some(text!("iterative", "setup.md")),
    edit: Some(text!("iterative", "edit.md")),
    validate: Some(text!("iterative", "validate.md")),
};

/// The mode `plan`.
pub const PLAN: EmbeddedMode = EmbeddedMode {
    name: "plan",
    definition: text!("plan", "mode.toml"),
    system: text!("plan", "system.md"),
    prompt: text!("plan", "prompt.md"),
    setup: None,
    edit: None,
    validate: None,
};

/// The mode `build`.
pub const BUILD: EmbeddedMode = EmbeddedMode {
    name: "build",
    definition: text!("build", "mode.toml"),
    system: text!("build", "system.md"),
    prompt: text!("build", "prompt.md"),
    setup: None,
    edit: None,
    validate: None,
};

/// The mode `prompt`.
pub const PROMPT: EmbeddedMode = EmbeddedMode {
    name: "prompt",
    definition: text!("prompt", "mode.toml"),
    system: text!("prompt", "system.md"),
    prompt: text!("prompt", "prompt.md"),
    setup: None,
    edit: None,
    validate: None,
};

/// All of them, as they are listed.
pub const EMBEDDED: [EmbeddedMode; 5] = [LOOP, ITERATIVE, PLAN, BUILD, PROMPT];
