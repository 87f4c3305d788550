//! The script of a rehearsal: what the stand-in says and does in each process.

use std::fmt;
use std::marker::PhantomData;
use std::ops::AddAssign;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use jiff::{Span, SpanRelativeTo};
use nightwright_core::units::Usd;
use nightwright_core::validation::{self, CRITERIA};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

pub use super::reference::{EXAMPLE, page as reference};

use super::scene_end::SceneEnd;
use super::step::{self, SceneStep};

/// The script of `--dry-run` without a given script: it lists the project, describes a real run and
/// claims completion. It changes nothing.
pub const DEFAULT: &str = include_str!("default.toml");

/// A complete script. The last scene of each kind repeats.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Script {
    /// One scene per attempt.
    pub attempt: Vec<Scene>,
    /// One scene per verification.
    #[serde(deserialize_with = "scenes::<RawVerdictScene, _>")]
    pub verify: Vec<Scene>,
    /// One scene per review.
    pub review: Vec<Scene>,
    /// One scene per request for advice.
    pub advise: Vec<Scene>,
    /// One scene per conflict between principles.
    pub council: Vec<Scene>,
    /// One scene per validation of instructions.
    #[serde(deserialize_with = "scenes::<RawValidateScene, _>")]
    pub validate: Vec<Scene>,
}

/// The script of one process.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Scene {
    /// The model it reports; by default the requested one.
    pub model: Option<String>,
    /// The cost in its result; by default one cent.
    pub cost: Option<Usd>,
    /// The tokens in its messages and its result; by default [`ScriptUsage::TYPICAL`].
    pub tokens: Option<ScriptUsage>,
    /// The agent's messages and actions, in order.
    #[serde(deserialize_with = "step::steps")]
    pub steps: Vec<SceneStep>,
    pub end: SceneEnd,
    /// The replies to further messages of a session that stays open; the last one repeats.
    pub replies: Vec<SceneReply>,
}

/// The reply to one further message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SceneReply {
    /// The agent's messages and actions, in order.
    pub steps: Vec<SceneStep>,
    /// The final text; by default that of the steps.
    pub says: Option<String>,
}

impl<'de> Deserialize<'de> for SceneReply {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ReplyVisitor)
    }
}

/// Parses a reply, which is a string or a table.
struct ReplyVisitor;

impl<'de> Visitor<'de> for ReplyVisitor {
    type Value = SceneReply;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string, or a table with `steps` and `says`")
    }

    fn visit_str<E: serde::de::Error>(self, words: &str) -> Result<SceneReply, E> {
        Ok(SceneReply { steps: Vec::new(), says: Some(words.to_owned()) })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<SceneReply, A::Error> {
        let RawReply { steps, says } = RawReply::deserialize(MapAccessDeserializer::new(map))?;
        Ok(SceneReply { steps, says })
    }
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct RawReply {
    #[serde(deserialize_with = "step::steps")]
    steps: Vec<SceneStep>,
    says: Option<String>,
}

/// Token counts in a script.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScriptUsage {
    /// Input tokens at full price.
    pub input: u64,
    pub output: u64,
    /// Input tokens read from the cache.
    pub cache_read: u64,
    /// Input tokens written to the cache.
    pub cache_write: u64,
}

impl ScriptUsage {
    /// The usage of a short exchange.
    pub const TYPICAL: Self = Self { input: 1200, output: 300, cache_read: 0, cache_write: 0 };

    /// Returns the `index`th of `count` shares that add up to the whole.
    #[must_use]
    pub fn share(self, index: u64, count: u64) -> Self {
        let share = |whole: u64| whole / count + u64::from(index < whole % count);
        Self {
            input: share(self.input),
            output: share(self.output),
            cache_read: share(self.cache_read),
            cache_write: share(self.cache_write),
        }
    }
}

impl AddAssign for ScriptUsage {
    fn add_assign(&mut self, other: Self) {
        self.input += other.input;
        self.output += other.output;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
    }
}

/// The kinds of scenes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SceneKind {
    /// An attempt, which does the work.
    Attempt,
    /// Checks whether the work is complete.
    Verify,
    /// Reviews the changes of an iteration.
    Review,
    /// Gives advice when the agent is stuck.
    Advise,
    /// Decides a conflict between principles.
    Council,
    /// Checks whether instructions are good enough.
    Validate,
}

impl SceneKind {
    /// The name in scripts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Attempt => "attempt",
            Self::Verify => "verify",
            Self::Review => "review",
            Self::Advise => "advise",
            Self::Council => "council",
            Self::Validate => "validate",
        }
    }
}

impl Script {
    /// Parses a script; `origin` is the path to show in errors.
    pub fn parse(text: &str, origin: &Path) -> Result<Self, ScriptError> {
        toml::from_str(text)
            .map_err(|error| ScriptError { origin: origin.to_owned(), error: Box::new(error) })
    }

    /// Returns the scene for the `number`th process of its kind, counted from 1. The last one
    /// repeats; a kind that the script does not mention gets a default scene.
    pub fn scene(&self, part: SceneKind, number: u32) -> Scene {
        let scenes = match part {
            SceneKind::Attempt => &self.attempt,
            SceneKind::Verify => &self.verify,
            SceneKind::Review => &self.review,
            SceneKind::Advise => &self.advise,
            SceneKind::Council => &self.council,
            SceneKind::Validate => &self.validate,
        };
        let index = usize::try_from(number.saturating_sub(1)).unwrap_or(usize::MAX);
        scenes.get(index).or(scenes.last()).cloned().unwrap_or_else(|| plain(part))
    }
}

fn plain(part: SceneKind) -> Scene {
    let end = match part {
        SceneKind::Attempt => SceneEnd::says("There is nothing in the script for me to do."),
        SceneKind::Verify => SceneEnd::verdict(ScriptVerdict::Yes, "I see no objections."),
        SceneKind::Review => SceneEnd::says("I have read the changes and have nothing to add."),
        SceneKind::Advise => {
            SceneEnd::says("Run the failing check alone and read its first error.")
        }
        SceneKind::Council => SceneEnd::says("Correctness comes before speed here."),
        SceneKind::Validate => SceneEnd::Answer(validation::answer(&[], "")),
    };
    Scene { end, ..Scene::default() }
}

/// An invalid script. The message shows the position.
#[derive(Debug)]
pub struct ScriptError {
    origin: PathBuf,
    error: Box<toml::de::Error>,
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot use the script `{}`: {}", self.origin.display(), self.error)
    }
}

impl std::error::Error for ScriptError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

/// The verdict of a scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScriptVerdict {
    /// The work is complete.
    Yes,
    /// The work is not complete.
    No,
    /// A text that contains no verdict.
    Unreadable,
}

/// The form of a scene with separate keys in place of `end`.
trait SceneForm: for<'de> Deserialize<'de> {
    fn scene(self) -> Result<Scene, String>;
}

fn scenes<'de, R: SceneForm, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<Scene>, D::Error> {
    struct Formed<R>(Scene, PhantomData<R>);
    impl<'de, R: SceneForm> Deserialize<'de> for Formed<R> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            through(deserializer, |raw: R| raw.scene().map(|scene| Self(scene, PhantomData)))
        }
    }
    Ok(Vec::<Formed<R>>::deserialize(deserializer)?.into_iter().map(|formed| formed.0).collect())
}

/// A scene of `[[verify]]`, which has separate keys for the verdict.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct RawVerdictScene {
    verdict: Option<ScriptVerdict>,
    reason: String,
    missing: Vec<String>,
    model: Option<String>,
    cost: Option<Usd>,
    tokens: Option<ScriptUsage>,
    #[serde(deserialize_with = "step::steps")]
    steps: Vec<SceneStep>,
    end: Option<SceneEnd>,
}

impl SceneForm for RawVerdictScene {
    fn scene(self) -> Result<Scene, String> {
        let RawVerdictScene { verdict, reason, missing, model, cost, tokens, steps, end } = self;
        let end = match (verdict, end) {
            (Some(verdict), None) => SceneEnd::Verdict { verdict, reason, missing },
            (None, Some(end)) if reason.is_empty() && missing.is_empty() => end,
            (None, Some(_)) => return Err("`reason` and `missing` need a `verdict`".to_owned()),
            (Some(_), Some(_)) => return Err("either `verdict` or `end`, not both".to_owned()),
            (None, None) => {
                return Err("needs a `verdict` (\"yes\", \"no\" or \"unreadable\")".to_owned());
            }
        };
        Ok(Scene { model, cost, tokens, steps, end, replies: Vec::new() })
    }
}

/// A scene of `[[validate]]`, which has separate keys for the criteria.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct RawValidateScene {
    fail: Vec<String>,
    reason: String,
    model: Option<String>,
    cost: Option<Usd>,
    tokens: Option<ScriptUsage>,
    #[serde(deserialize_with = "step::steps")]
    steps: Vec<SceneStep>,
    end: Option<SceneEnd>,
}

impl SceneForm for RawValidateScene {
    fn scene(self) -> Result<Scene, String> {
        let RawValidateScene { fail, reason, model, cost, tokens, steps, end } = self;
        let known = |id: &str| CRITERIA.iter().any(|criterion| criterion.id == id);
        if let Some(unknown) = fail.iter().find(|id| !known(id)) {
            let ids = CRITERIA.map(|criterion| criterion.id).join(", ");
            return Err(format!("`{unknown}` is not a criterion; the criteria are {ids}"));
        }
        let end = match end {
            None => SceneEnd::Answer(validation::answer(&fail, &reason)),
            Some(end) if fail.is_empty() && reason.is_empty() => end,
            Some(_) => return Err("either `fail` and `reason` or `end`, not both".to_owned()),
        };
        Ok(Scene { model, cost, tokens, steps, end, replies: Vec::new() })
    }
}

/// Deserializes a table into a raw form and converts it inside the visitor, so that conversion
/// errors have a position in the file.
pub(super) fn through<'de, D, R, T>(
    deserializer: D,
    make: impl FnOnce(R) -> Result<T, String>,
) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    R: Deserialize<'de>,
{
    struct TableVisitor<R, F>(F, PhantomData<R>);
    impl<'de, R, T, F> Visitor<'de> for TableVisitor<R, F>
    where
        R: Deserialize<'de>,
        F: FnOnce(R) -> Result<T, String>,
    {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a table")
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
            let raw = R::deserialize(MapAccessDeserializer::new(map))?;
            (self.0)(raw).map_err(A::Error::custom)
        }
    }
    deserializer.deserialize_map(TableVisitor(make, PhantomData))
}

/// Parses a duration such as `2h13m`.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let wrong =
        || format!("`{text}` is not a duration; use a format such as `300ms`, `2h13m` or `3d`");
    let span: Span = text.parse().map_err(|_| wrong())?;
    let signed = span.to_duration(SpanRelativeTo::days_are_24_hours()).map_err(|_| wrong())?;
    Duration::try_from(signed).map_err(|_| wrong())
}

/// Parses a path and checks that its text stays inside the project.
pub(super) fn inside(text: &str) -> Result<PathBuf, String> {
    let path = Path::new(text);
    let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    if text.is_empty() || !plain {
        return Err(format!("`{text}` must be a path inside the project: relative, without `..`"));
    }
    Ok(path.to_owned())
}
