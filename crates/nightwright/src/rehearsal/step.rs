//! One thing that the stand-in says or does.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Deserializer};

use super::script::{duration, inside, through};

/// Noise is made in lines; more of it than this would only be slow.
const FLOOD_MAX: u64 = 1 << 30;
/// The most often that a step is done: enough for whoever goes in circles.
const TIMES_MAX: u32 = 1000;
/// The most steps that one table stands for: tables that repeat each other multiply.
const STEPS_MAX: usize = 10_000;

/// One step of a scene.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SceneStep {
    /// Words of the agent.
    Say(String),
    /// Thoughts of the agent, which count for nothing.
    Think(String),
    /// Writes a file of the project.
    Write {
        /// Where.
        path: PathBuf,
        /// What.
        text: String,
    },
    /// Replaces a text that occurs once in a file of the project.
    Edit {
        /// Where.
        path: PathBuf,
        /// What is there.
        old: String,
        /// What will be there.
        new: String,
    },
    /// Runs a command in the project.
    Run(String),
    /// Reads a file of the project.
    Read(PathBuf),
    /// Tries to use a tool and is not allowed to. A command is run if a rule of the run allows it.
    Denied {
        /// The tool.
        tool: String,
        /// The command, if it is one.
        command: Option<String>,
    },
    /// Is silent for a while.
    Wait(Duration),
    /// A line of any kind.
    Garbage(String),
    /// So many bytes of lines that are no messages.
    Flood(u64),
    /// Tells how much of an account's quota is used.
    Quota {
        /// In percent.
        used: u8,
        /// Of which window.
        window: QuotaStepWindow,
    },
    /// Its context is full and is replaced by a summary.
    Compact,
}

/// The windows of an account's quota.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuotaStepWindow {
    /// Five hours.
    #[default]
    FiveHour,
    /// Seven days.
    SevenDay,
}

impl QuotaStepWindow {
    /// Its name in the stream.
    pub fn name(self) -> &'static str {
        match self {
            Self::FiveHour => "five_hour",
            Self::SevenDay => "seven_day",
        }
    }
}

impl SceneStep {
    /// Whether the model says something in it, in words or by using a tool.
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

/// Reads a list of steps; what is to be done several times is there as often.
pub(super) fn steps<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<SceneStep>, D::Error> {
    let entries = Vec::<StepEntry>::deserialize(deserializer)?;
    Ok(entries.into_iter().flat_map(|entry| entry.0).collect())
}

/// What one table of a list of steps stands for.
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
            [] => format!("says nothing to do; a step has one of {}", RawStep::VERBS),
            _ => format!("does more than one thing ({}); make it several steps", verbs.join(", ")),
        });
    };
    let times = match raw.times.take() {
        None if raw.repeat.is_some() => return Err("`repeat` needs `times` beside it".to_owned()),
        None => 1,
        Some(times @ 1..=TIMES_MAX) => times as usize,
        Some(_) => return Err(format!("`times` has to be a number from 1 to {TIMES_MAX}")),
    };
    let steps = match raw.repeat.take() {
        Some(steps) => steps,
        None => vec![main_step(&mut raw, verb)?],
    };
    if steps.len() * times > STEPS_MAX {
        return Err(format!("these would be more than {STEPS_MAX} steps"));
    }
    let rest = [
        ("text", raw.text.is_some()),
        ("old", raw.old.is_some()),
        ("new", raw.new.is_some()),
        ("window", raw.window.is_some()),
    ];
    match rest.iter().find(|(_, left)| *left) {
        Some((name, _)) => Err(format!("`{name}` means nothing beside `{verb}`")),
        None => Ok(vec![steps; times].concat()),
    }
}

fn main_step(raw: &mut RawStep, verb: &str) -> Result<SceneStep, String> {
    let needs = |name: &str| format!("`{verb}` needs `{name}` beside it");
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
            0..=FLOOD_MAX => Ok(SceneStep::Flood(bytes)),
            _ => Err(format!("`flood` can't be more than {FLOOD_MAX} bytes")),
        };
    }
    if let Some(compacts) = raw.compact.take() {
        return if compacts {
            Ok(SceneStep::Compact)
        } else {
            Err("`compact = false` says nothing: leave it out".to_owned())
        };
    }
    match raw.quota.take() {
        Some(used @ 0..=100) => {
            Ok(SceneStep::Quota { used, window: raw.window.take().unwrap_or_default() })
        }
        _ => Err("`quota` is a percentage".to_owned()),
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
