//! The steps of a scene.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Deserializer};

use super::script::{duration, inside, through};

/// Maximum number of bytes to print; more would only be slow.
const MAX_FLOOD: u64 = 1 << 30;
/// Maximum number of repetitions of a step: enough to simulate an agent that loops.
const MAX_TIMES: u32 = 1000;
/// Maximum number of steps in one table, because nested repetitions multiply.
const MAX_STEPS: usize = 10_000;

/// One step of a scene.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SceneStep {
    /// Text that the agent prints.
    Say(String),
    /// Thoughts of the agent, which have no effect.
    Think(String),
    /// Writes a file of the project.
    Write { path: PathBuf, text: String },
    /// Replaces a text that occurs once in a file of the project.
    Edit { path: PathBuf, old: String, new: String },
    /// Runs a command in the project.
    Run(String),
    /// Reads a file of the project.
    Read(PathBuf),
    /// Tries to use a tool and is denied. A command runs if a rule of the run allows it.
    Denied {
        tool: String,
        /// The command, if the tool runs one.
        command: Option<String>,
    },
    /// Prints nothing for this time.
    Wait(Duration),
    /// Prints a line of any kind.
    Garbage(String),
    /// Prints this number of bytes in lines that are not messages.
    Flood(u64),
    /// Reports how much of the account's quota is used.
    Quota {
        /// The used part in percent.
        used: u8,
        window: QuotaStepWindow,
    },
    /// The context is full and is replaced by a summary.
    Compact,
}

/// The windows of an account's quota.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuotaStepWindow {
    #[default]
    FiveHour,
    SevenDay,
}

impl QuotaStepWindow {
    /// The name in the stream.
    pub fn name(self) -> &'static str {
        match self {
            Self::FiveHour => "five_hour",
            Self::SevenDay => "seven_day",
        }
    }
}

impl SceneStep {
    /// Whether the model prints a message in it: a string or a tool call.
    pub fn is_message(&self) -> bool {
        match self {
            Self::Say(_)
            | Self::Think(_)
            | Self::Write { .. }
            | Self::Edit { .. }
            | Self::Run(_)
            | Self::Read(_)
            | Self::Denied { .. } => true,
            Self::Wait(_)
            | Self::Garbage(_)
            | Self::Flood(_)
            | Self::Quota { .. }
            | Self::Compact => false,
        }
    }
}

/// Parses a list of steps and expands repetitions.
pub(super) fn steps<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<SceneStep>, D::Error> {
    let entries = Vec::<StepEntry>::deserialize(deserializer)?;
    Ok(entries.into_iter().flat_map(|entry| entry.0).collect())
}

/// The steps that one table of the list expands to.
struct StepEntry(Vec<SceneStep>);

impl<'de> Deserialize<'de> for StepEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        through(deserializer, |raw| entry(raw).map(Self))
    }
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct RawStep {
    say: Option<String>,
    think: Option<String>,
    write: Option<String>,
    edit: Option<String>,
    run: Option<String>,
    read: Option<String>,
    denied: Option<String>,
    command: Option<String>,
    wait: Option<String>,
    garbage: Option<String>,
    flood: Option<u64>,
    quota: Option<u8>,
    compact: Option<bool>,
    #[serde(deserialize_with = "some_steps")]
    repeat: Option<Vec<SceneStep>>,
    text: Option<String>,
    old: Option<String>,
    new: Option<String>,
    window: Option<QuotaStepWindow>,
    times: Option<u32>,
}

fn some_steps<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<SceneStep>>, D::Error> {
    steps(deserializer).map(Some)
}

fn entry(mut raw: RawStep) -> Result<Vec<SceneStep>, String> {
    let verbs: Vec<&str> = raw.verbs();
    let [verb] = verbs[..] else {
        return Err(match verbs[..] {
            [] => format!("defines no action; a step needs one of {}", RawStep::VERBS),
            _ => format!(
                "defines more than one action ({}); split it into several steps",
                verbs.join(", ")
            ),
        });
    };
    let times = match raw.times.take() {
        None if raw.repeat.is_some() => return Err("`repeat` requires `times`".to_owned()),
        None => 1,
        Some(times @ 1..=MAX_TIMES) => times as usize,
        Some(_) => return Err(format!("`times` must be a number from 1 to {MAX_TIMES}")),
    };
    let steps = match raw.repeat.take() {
        Some(steps) => steps,
        None => vec![main_step(&mut raw, verb)?],
    };
    if steps.len() * times > MAX_STEPS {
        return Err(format!("this results in more than {MAX_STEPS} steps"));
    }
    let rest = [
        ("text", raw.text.is_some()),
        ("old", raw.old.is_some()),
        ("new", raw.new.is_some()),
        ("window", raw.window.is_some()),
    ];
    match rest.iter().find(|(_, left)| *left) {
        Some((name, _)) => Err(format!("`{name}` has no effect with `{verb}`")),
        None => Ok(vec![steps; times].concat()),
    }
}

fn main_step(raw: &mut RawStep, verb: &str) -> Result<SceneStep, String> {
    let needs = |name: &str| format!("`{verb}` requires `{name}`");
    if let Some(words) = raw.say.take() {
        return Ok(SceneStep::Say(words));
    }
    if let Some(words) = raw.think.take() {
        return Ok(SceneStep::Think(words));
    }
    if let Some(path) = raw.write.take() {
        let text = raw.text.take().ok_or_else(|| needs("text"))?;
        return Ok(SceneStep::Write { path: inside(&path)?, text });
    }
    if let Some(path) = raw.edit.take() {
        let old = raw.old.take().filter(|old| !old.is_empty()).ok_or_else(|| needs("old"))?;
        let new = raw.new.take().ok_or_else(|| needs("new"))?;
        return Ok(SceneStep::Edit { path: inside(&path)?, old, new });
    }
    if let Some(command) = raw.run.take() {
        return Ok(SceneStep::Run(command));
    }
    if let Some(path) = raw.read.take() {
        return Ok(SceneStep::Read(inside(&path)?));
    }
    if let Some(tool) = raw.denied.take() {
        return Ok(SceneStep::Denied { tool, command: raw.command.take() });
    }
    if let Some(time) = raw.wait.take() {
        return Ok(SceneStep::Wait(duration(&time)?));
    }
    if let Some(line) = raw.garbage.take() {
        return Ok(SceneStep::Garbage(line));
    }
    if let Some(bytes) = raw.flood.take() {
        return match bytes {
            0..=MAX_FLOOD => Ok(SceneStep::Flood(bytes)),
            _ => Err(format!("`flood` must be at most {MAX_FLOOD} bytes")),
        };
    }
    if let Some(compacts) = raw.compact.take() {
        return if compacts {
            Ok(SceneStep::Compact)
        } else {
            Err("`compact = false` has no effect: remove it".to_owned())
        };
    }
    match raw.quota.take() {
        Some(used @ 0..=100) => {
            Ok(SceneStep::Quota { used, window: raw.window.take().unwrap_or_default() })
        }
        _ => Err("`quota` must be a percentage".to_owned()),
    }
}

impl RawStep {
    const VERBS: &str = "`say`, `think`, `write`, `edit`, `run`, `read`, `denied`, `wait`, \
                         `garbage`, `flood`, `quota`, `compact`, `repeat`";

    fn verbs(&self) -> Vec<&'static str> {
        [
            ("say", self.say.is_some()),
            ("think", self.think.is_some()),
            ("write", self.write.is_some()),
            ("edit", self.edit.is_some()),
            ("run", self.run.is_some()),
            ("read", self.read.is_some()),
            ("denied", self.denied.is_some()),
            ("wait", self.wait.is_some()),
            ("garbage", self.garbage.is_some()),
            ("flood", self.flood.is_some()),
            ("quota", self.quota.is_some()),
            ("compact", self.compact.is_some()),
            ("repeat", self.repeat.is_some()),
        ]
        .into_iter()
        .filter_map(|(name, there)| there.then_some(name))
        .collect()
    }
}
