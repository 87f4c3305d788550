//! Principles: eighteen weights in two layers that decide trade-offs.
//!
//! People write them as TOML ([`Principles::parse_toml`]), or import the YAML format of another
//! tool ([`Principles::parse_yaml`]). The agent gets them as text ([`Principles::text`]).

mod draft;
mod scale;
#[cfg(test)]
mod tests;
mod toml_form;
mod words;
mod yaml_form;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::draft::{Mistake, MistakeHelp};
use self::scale::COUNT;
pub use self::scale::{Layer, Principle, SCALE};
pub use self::words::{CONFLICT, request};

/// The weights of a project.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(from = "RecordedPrinciples", into = "RecordedPrinciples")]
pub struct Principles {
    preset: Preset,
    /// The weights in the order of [`SCALE`].
    weights: [Weight; COUNT],
}

/// The weight of a principle, from 1 to 10.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
)]
#[serde(try_from = "u8", into = "u8")]
pub struct Weight(u8);

impl Weight {
    /// Returns a weight from 1 to 10, or `None`.
    pub fn new(number: u8) -> Option<Self> {
        (1..=10).contains(&number).then_some(Self(number))
    }

    pub fn get(self) -> u8 {
        self.0
    }
}

impl TryFrom<u8> for Weight {
    type Error = String;

    fn try_from(number: u8) -> Result<Self, String> {
        Self::new(number).ok_or_else(|| format!("{number} is not a weight from 1 to 10"))
    }
}

impl From<Weight> for u8 {
    fn from(weight: Weight) -> Self {
        weight.0
    }
}

/// A predefined set of weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Preset {
    /// Weights for a young product.
    Startup,
    /// Weights for software that many depend on.
    Enterprise,
    /// Weights for a library or tool in the open.
    Opensource,
    /// Weights that you chose.
    Custom,
}

impl Preset {
    pub const ALL: [Self; 4] = [Self::Startup, Self::Enterprise, Self::Opensource, Self::Custom];

    /// The preset of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|preset| preset.name() == name)
    }

    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Startup => "startup",
            Self::Enterprise => "enterprise",
            Self::Opensource => "opensource",
            Self::Custom => "custom",
        }
    }

    /// A one-line description of its use.
    pub fn about(self) -> &'static str {
        match self {
            Self::Startup => "a young product: minimal scope, speed, easy rollback",
            Self::Enterprise => {
                "critical software: correctness, security, full audit trail, small changes"
            }
            Self::Opensource => "a public library or tool: free, open, stable interfaces",
            Self::Custom => "your own: every weight is 5 until you change it",
        }
    }
}

impl Principles {
    /// The weights of a preset.
    pub fn of(preset: Preset) -> Self {
        let weight = |principle: &Principle| Weight(principle.preset(preset));
        Self { preset, weights: std::array::from_fn(|index| weight(&SCALE[index])) }
    }

    /// The preset they are based on.
    pub fn preset(&self) -> Preset {
        self.preset
    }

    /// All weights, in the order of [`SCALE`].
    pub fn weights(&self) -> impl Iterator<Item = (&'static Principle, Weight)> {
        SCALE.iter().zip(self.weights)
    }

    /// The weight of a principle; `None` if the name is unknown.
    pub fn weight(&self, name: &str) -> Option<Weight> {
        self.weights().find(|(principle, _)| principle.name == name).map(|(_, weight)| weight)
    }

    /// Changes the weight of one principle. An unknown name changes nothing.
    #[must_use]
    pub fn with(mut self, name: &str, weight: Weight) -> Self {
        if let Some(index) = SCALE.iter().position(|principle| principle.name == name) {
            self.weights[index] = weight;
        }
        self
    }
}

/// The recorded form: as in the TOML file, with every weight, because a preset may change in a
/// later version.
#[derive(JsonSchema, Serialize, Deserialize)]
struct RecordedPrinciples {
    preset: Preset,
    #[serde(default)]
    product: BTreeMap<String, Weight>,
    #[serde(default)]
    development: BTreeMap<String, Weight>,
}

impl From<RecordedPrinciples> for Principles {
    fn from(shape: RecordedPrinciples) -> Self {
        let RecordedPrinciples { preset, product, development } = shape;
        let all = product.into_iter().chain(development);
        all.fold(Self::of(preset), |principles, (name, weight)| principles.with(&name, weight))
    }
}

impl From<Principles> for RecordedPrinciples {
    fn from(principles: Principles) -> Self {
        let of = |layer: Layer| {
            let own = principles.weights().filter(|(principle, _)| principle.layer == layer);
            own.map(|(principle, weight)| (principle.name.to_owned(), weight)).collect()
        };
        Self {
            preset: principles.preset,
            product: of(Layer::Product),
            development: of(Layer::Development),
        }
    }
}
