//! The eighteen principles: the meaning of low and high weights, and the values of the presets.

use super::Preset;

/// A trade-off with a weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Principle {
    /// The name in files.
    pub name: &'static str,
    pub layer: Layer,
    /// The low end of the scale, in a word or two.
    pub low: &'static str,
    /// The high end of the scale, in a word or two.
    pub high: &'static str,
    /// The instruction for weights up to 3.
    pub when_low: &'static str,
    /// The instruction for weights from 8 on.
    pub when_high: &'static str,
    /// The weights of the presets: startup, enterprise, opensource.
    presets: [u8; 3],
}

/// The subject of a principle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    Product,
    /// The way you develop it.
    Development,
}

impl Layer {
    pub const ALL: [Self; 2] = [Self::Product, Self::Development];

    /// The name of its table in the TOML file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Product => "product",
            Self::Development => "development",
        }
    }

    /// The name of its map in the YAML format.
    pub fn yaml_name(self) -> &'static str {
        match self {
            Self::Product => "layer0",
            Self::Development => "layer1",
        }
    }

    /// A short description of the layer.
    pub fn about(self) -> &'static str {
        match self {
            Self::Product => "The product itself.",
            Self::Development => "The way you develop it.",
        }
    }

    /// The names of its principles, in order.
    pub fn names(self) -> Vec<&'static str> {
        let own = SCALE.iter().filter(|principle| principle.layer == self);
        own.map(|principle| principle.name).collect()
    }
}

impl Principle {
    /// The weight in a preset.
    pub(super) fn preset(&self, preset: Preset) -> u8 {
        let [startup, enterprise, opensource] = self.presets;
        match preset {
            Preset::Startup => startup,
            Preset::Enterprise => enterprise,
            Preset::Opensource => opensource,
            Preset::Custom => MIDDLE,
        }
    }
}

pub(super) const MIDDLE: u8 = 5;

/// The number of principles.
pub(super) const COUNT: usize = 18;

/// All principles, in the order of display.
#[rustfmt::skip]
pub static SCALE: [Principle; COUNT] = [
    Principle { name: "trust_architecture", layer: Layer::Product, presets: [5, 9, 6],
        low: "permissive", high: "strict verification",
        when_low: "Let people and input in easily; verify only where harm is possible.",
        when_high: "Trust nothing unverified: input, identity, every call." },
    Principle { name: "curation_model", layer: Layer::Product, presets: [4, 6, 6],
        low: "algorithms", high: "human judgment",
        when_low: "Let algorithms choose what to show and keep.",
        when_high: "Let people decide what to show and keep." },
    Principle { name: "scope_philosophy", layer: Layer::Product, presets: [2, 7, 4],
        low: "minimal", high: "feature-rich",
        when_low: "Build the minimum that solves the problem.",
        when_high: "Cover every use case, with options and special cases." },
    Principle { name: "monetization_model", layer: Layer::Product, presets: [5, 8, 1],
        low: "free", high: "premium",
        when_low: "The product is free: no part of it costs money.",
        when_high: "Customers pay for the product: build the features that they pay for first." },
    Principle { name: "privacy_posture", layer: Layer::Product, presets: [6, 8, 9],
        low: "collects data", high: "minimal data",
        when_low: "Collect data where it makes the product better.",
        when_high: "Collect and keep as little data as possible, and share none." },
    Principle { name: "ux_philosophy", layer: Layer::Product, presets: [8, 5, 5],
        low: "power users", high: "simple first",
        when_low: "Build for experts: control over ease of use.",
        when_high: "Simple first: it works without explanation." },
    Principle { name: "authority_stance", layer: Layer::Product, presets: [5, 7, 2],
        low: "user freedom", high: "strong guidance",
        when_low: "The user decides: warn, but do not forbid.",
        when_high: "Guide firmly: safe defaults, and few ways to go wrong." },
    Principle { name: "auditability", layer: Layer::Product, presets: [3, 10, 6],
        low: "minimal logging", high: "full audit trail",
        when_low: "Log little: only enough to diagnose problems.",
        when_high: "Leave a full trail: who did what, when and why." },
    Principle { name: "interoperability", layer: Layer::Product, presets: [6, 7, 10],
        low: "closed", high: "open",
        when_low: "A closed system is fine: proprietary formats and interfaces.",
        when_high: "Stay open: standard formats, documented interfaces, import and export." },

    Principle { name: "speed_correctness", layer: Layer::Development, presets: [3, 9, 8],
        low: "speed", high: "correctness",
        when_low: "Speed comes first: a rough result now is better than a perfect one later.",
        when_high: "Correctness comes first: edge cases and tests belong to the work." },
    Principle { name: "innovation_stability", layer: Layer::Development, presets: [5, 8, 6],
        low: "new", high: "proven",
        when_low: "New technology is welcome where it helps.",
        when_high: "Use proven technology. Do not experiment." },
    Principle { name: "blast_radius", layer: Layer::Development, presets: [6, 9, 8],
        low: "large changes", high: "small changes",
        when_low: "Large changes at once are fine.",
        when_high: "Keep every change small, and touch nothing else." },
    Principle { name: "clarity_of_intent", layer: Layer::Development, presets: [6, 8, 9],
        low: "implicit", high: "explicit",
        when_low: "Let the code speak; comment only on what it cannot show.",
        when_high: "Make intent explicit: names, types, comments, commit messages." },
    Principle { name: "reversibility_priority", layer: Layer::Development, presets: [8, 9, 7],
        low: "permanent", high: "easy rollback",
        when_low: "Permanent steps are fine: spend nothing on rollback.",
        when_high: "Make every step reversible." },
    Principle { name: "security_posture", layer: Layer::Development, presets: [6, 9, 8],
        low: "basic", high: "maximum",
        when_low: "Basic security is enough: no known holes.",
        when_high: "Maximum security: least privilege, secure defaults, every entry point checked." },
    Principle { name: "urgency_tiers", layer: Layer::Development, presets: [3, 7, 9],
        low: "everything urgent", high: "normal pace",
        when_low: "Everything is urgent: take the shortest path to a usable result.",
        when_high: "There is no hurry: take the time to do it well." },
    Principle { name: "cost_efficiency", layer: Layer::Development, presets: [9, 6, 5],
        low: "build it", high: "use what exists",
        when_low: "Build it here rather than depend on others.",
        when_high: "Use existing libraries and services before building anything." },
    Principle { name: "migration_burden", layer: Layer::Development, presets: [4, 8, 9],
        low: "migrations are fine", high: "avoid them",
        when_low: "Migrations and breaking changes are fine.",
        when_high: "Avoid migrations: existing setups keep working unchanged." },
];
