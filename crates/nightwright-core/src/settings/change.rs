//! Settings that can change during a run. Every change is one event, so that a replay sees the same
//! settings as the run did.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Limits, SandboxKind, Settings};
use crate::permissions::Permissions;
use crate::units::{Usd, human, millis};

/// The source of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeSource {
    /// You, by an option of `nightwright resume`.
    Operator,
    /// The configuration, which changed since the start of the run; you agreed.
    Configuration,
}

/// Declares the settings that can change: variant, key in the configuration, type, field.
macro_rules! changes {
    ($($(#[$attribute:meta])* $variant:ident $key:literal: $type:ty = $($field:ident).+;)*) => {
        /// A change of one setting: its key in the configuration, the old value and the new one.
        #[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
        #[serde(tag = "key")]
        pub enum SettingChange {
            $(
                #[doc = concat!("`", $key, "`.")]
                #[serde(rename = $key)]
                $variant {
                    /// The value before the change.
                    $(#[$attribute])*
                    old: $type,
                    /// The value from now on.
                    $(#[$attribute])*
                    new: $type,
                },
            )*
        }

        impl SettingChange {
            /// The keys of all settings that can change.
            pub const KEYS: &'static [&'static str] = &[$($key),*];

            /// The key in the configuration.
            pub fn key(&self) -> &'static str {
                match self {
                    $(Self::$variant { .. } => $key,)*
                }
            }

            /// The changes that turn the first settings into the second, one per key.
            pub fn between(old: &Settings, new: &Settings) -> Vec<Self> {
                let mut changes = Vec::new();
                $(
                    if old.$($field).+ != new.$($field).+ {
                        changes.push(Self::$variant {
                            old: Clone::clone(&old.$($field).+),
                            new: Clone::clone(&new.$($field).+),
                        });
                    }
                )*
                changes
            }

            /// The old and the new value, formatted for display.
            pub fn shown(&self) -> (String, String) {
                match self {
                    $(Self::$variant { old, new } => (old.shown(), new.shown()),)*
                }
            }

            fn set(&self, settings: &mut Settings) {
                match self {
                    $(Self::$variant { new, .. } => settings.$($field).+ = Clone::clone(new),)*
                }
            }
        }
    };
}

changes! {
    Sandbox "sandbox.kind": SandboxKind = sandbox.kind;
    Permissions "agent.permissions": Permissions = agent.permissions;
    AllowedTools "agent.allowed_tools": Vec<String> = agent.allowed_tools;
    DisallowedTools "agent.disallowed_tools": Vec<String> = agent.disallowed_tools;
    Arguments "agent.args": Vec<String> = agent.arguments;
    MaxTurns "agent.max_turns": Option<u32> = model.max_turns;
    Model "model.name": Option<String> = model.name;
    Checks "verify.commands": Vec<String> = verify.commands;
    MaxIterations "limits.max_iterations": Option<u32> = limits.max_iterations;
    MaxCost "limits.max_cost": Option<Usd> = limits.max_cost;
    MaxTokens "limits.max_tokens": Option<u64> = limits.max_tokens;
    #[serde(with = "millis::option")]
    #[schemars(with = "Option<u64>")]
    MaxDuration "limits.max_duration": Option<Duration> = limits.max_duration;
    Reserve "limits.reserve": u8 = limits.reserve;
    #[serde(with = "millis")]
    #[schemars(with = "u64")]
    MaxWait "limits.max_wait": Duration = limits.max_wait;
    FiveHourQuota "limits.quota.five_hour": Option<u8> = limits.quota.five_hour;
    SevenDayQuota "limits.quota.seven_day": Option<u8> = limits.quota.seven_day;
}

impl SettingChange {
    /// Applies the change to the settings. A change from the configuration also updates
    /// [`Configured`], so that it is not offered again.
    pub fn apply(&self, source: ChangeSource, settings: &mut Settings) {
        if source == ChangeSource::Configuration {
            settings.configured.note(self);
        }
        self.set(settings);
    }

    /// The limits after this change.
    pub fn limits(&self, limits: &Limits) -> Limits {
        let mut settings = Settings { limits: limits.clone(), ..Settings::default() };
        self.set(&mut settings);
        settings.limits
    }

    /// Whether the change affects a limit.
    pub fn is_limit(&self) -> bool {
        self.key().starts_with("limits.")
    }

    /// Whether the change affects the checks, or the sandbox that they run in.
    pub fn is_about_checks(&self) -> bool {
        matches!(self, Self::Checks { .. } | Self::Sandbox { .. })
    }

    /// Whether the change affects what the agent may do.
    pub fn is_permission(&self) -> bool {
        matches!(
            self,
            Self::Permissions { .. } | Self::AllowedTools { .. } | Self::DisallowedTools { .. }
        )
    }

    /// The change in one line: `agent.permissions: edits -> usual`. For a list of rules, it names
    /// only those that were added or removed.
    pub fn sentence(&self) -> String {
        if let Self::AllowedTools { old, new } | Self::DisallowedTools { old, new } = self {
            return format!("{}: {}", self.key(), difference(old, new));
        }
        let (old, new) = self.shown();
        format!("{}: {old} -> {new}", self.key())
    }
}

/// The difference between two lists: `added A, B; removed C`.
fn difference(old: &[String], new: &[String]) -> String {
    let missing = |list: &[String], other: &[String]| {
        list.iter().filter(|item| !other.contains(item)).cloned().collect::<Vec<_>>().join(", ")
    };
    let parts: Vec<_> = [("added", missing(new, old)), ("removed", missing(old, new))]
        .into_iter()
        .filter(|(_, items)| !items.is_empty())
        .map(|(verb, items)| format!("{verb} {items}"))
        .collect();
    if parts.is_empty() { "reordered".to_owned() } else { parts.join("; ") }
}

/// The configured permissions and model when the run last read them, without the options of the
/// command line. A later `resume` uses them to detect changes of the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct Configured {
    /// The configured value of `agent.permissions`.
    pub permissions: Permissions,
    /// The configured value of `agent.allowed_tools`.
    pub allowed_tools: Vec<String>,
    /// The configured value of `agent.disallowed_tools`.
    pub disallowed_tools: Vec<String>,
    /// The configured value of `model.name`.
    pub model: Option<String>,
}

impl Configured {
    /// Takes the values from settings that come from the configuration alone.
    pub fn of(settings: &Settings) -> Self {
        Self {
            permissions: settings.agent.permissions,
            allowed_tools: settings.agent.allowed_tools.clone(),
            disallowed_tools: settings.agent.disallowed_tools.clone(),
            model: settings.model.name.clone(),
        }
    }

    /// The changes that update the settings of a run to the current configuration. Values from the
    /// command line stay, unless the configuration changed the same key.
    pub fn changes(&self, settings: &Settings) -> Vec<SettingChange> {
        let before = &settings.configured;
        let mut wanted = settings.clone();
        if self.permissions != before.permissions {
            wanted.agent.permissions = self.permissions;
        }
        if self.model != before.model {
            wanted.model.name.clone_from(&self.model);
        }
        update(&mut wanted.agent.allowed_tools, &before.allowed_tools, &self.allowed_tools);
        update(
            &mut wanted.agent.disallowed_tools,
            &before.disallowed_tools,
            &self.disallowed_tools,
        );
        SettingChange::between(settings, &wanted)
    }

    /// Records a change that was taken from the configuration.
    fn note(&mut self, change: &SettingChange) {
        // Entries from the command line are in both lists, but never were in the configuration.
        let list = |configured: &mut Vec<String>, old: &[String], new: &[String]| {
            let own: Vec<_> = old.iter().filter(|item| !configured.contains(item)).collect();
            *configured = new.iter().filter(|item| !own.contains(item)).cloned().collect();
        };
        match change {
            SettingChange::Permissions { new, .. } => self.permissions = *new,
            SettingChange::Model { new, .. } => self.model.clone_from(new),
            SettingChange::AllowedTools { old, new } => list(&mut self.allowed_tools, old, new),
            SettingChange::DisallowedTools { old, new } => {
                list(&mut self.disallowed_tools, old, new);
            }
            SettingChange::Sandbox { .. }
            | SettingChange::Arguments { .. }
            | SettingChange::MaxTurns { .. }
            | SettingChange::Checks { .. }
            | SettingChange::MaxIterations { .. }
            | SettingChange::MaxCost { .. }
            | SettingChange::MaxTokens { .. }
            | SettingChange::MaxDuration { .. }
            | SettingChange::Reserve { .. }
            | SettingChange::MaxWait { .. }
            | SettingChange::FiveHourQuota { .. }
            | SettingChange::SevenDayQuota { .. } => {}
        }
    }
}

/// Applies the difference between two versions of a list to a third list.
fn update(list: &mut Vec<String>, before: &[String], now: &[String]) {
    if before != now {
        list.retain(|item| now.contains(item) || !before.contains(item));
        let new: Vec<_> = now.iter().filter(|item| !list.contains(item)).cloned().collect();
        list.extend(new);
    }
}

/// Formats a value as in a configuration file.
trait DisplayValue {
    fn shown(&self) -> String;
}

impl DisplayValue for SandboxKind {
    fn shown(&self) -> String {
        self.name().to_owned()
    }
}

impl DisplayValue for Permissions {
    fn shown(&self) -> String {
        self.name().to_owned()
    }
}

impl DisplayValue for Vec<String> {
    fn shown(&self) -> String {
        if self.is_empty() { "none".to_owned() } else { self.join(", ") }
    }
}

impl DisplayValue for Option<String> {
    fn shown(&self) -> String {
        self.clone().unwrap_or_else(|| "default".to_owned())
    }
}

impl DisplayValue for Duration {
    fn shown(&self) -> String {
        human(*self)
    }
}

/// Implements the trait for amounts; a missing amount is shown as "none".
macro_rules! amounts {
    ($($type:ty: $show:expr;)*) => {
        $(
            impl DisplayValue for Option<$type> {
                fn shown(&self) -> String {
                    self.map_or_else(|| "none".to_owned(), $show)
                }
            }
        )*
    };
}

amounts! {
    u32: |number| number.to_string();
    u64: |number| number.to_string();
    u8: |percent| format!("{percent}%");
    Usd: Usd::exact;
    Duration: human;
}

impl DisplayValue for u8 {
    fn shown(&self) -> String {
        format!("{self}%")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn pinned() -> Settings {
        let mut settings = Settings::default();
        settings.agent.allowed_tools = tools(&["A", "B"]);
        settings.model.name = Some("opus".to_owned());
        settings.configured = Configured::of(&settings);
        settings
    }

    #[test]
    fn every_change_is_written_with_its_key_and_both_values() {
        let mut new = pinned();
        new.limits.max_duration = Some(Duration::from_mins(5));
        new.verify.commands = tools(&["make test"]);
        let changes = SettingChange::between(&pinned(), &new);
        let json = serde_json::to_value(&changes).unwrap();
        assert_eq!(
            json,
            serde_json::json!([
                { "key": "verify.commands", "old": [], "new": ["make test"] },
                { "key": "limits.max_duration", "old": null, "new": 300_000 },
            ])
        );
        assert_eq!(serde_json::from_value::<Vec<SettingChange>>(json).unwrap(), changes);
        let mut replayed = pinned();
        for change in &changes {
            change.apply(ChangeSource::Operator, &mut replayed);
        }
        assert_eq!(replayed, new);
        assert_eq!(changes[0].sentence(), "verify.commands: none -> make test");
    }

    #[test]
    fn an_unchanged_configuration_offers_nothing_despite_options() {
        let configured = pinned().configured;
        let mut settings = pinned();
        settings.agent.allowed_tools.push("C".to_owned());
        settings.model.name = Some("haiku".to_owned());
        assert_eq!(configured.changes(&settings), []);
    }

    #[test]
    fn a_changed_list_keeps_what_the_command_line_added_and_is_offered_once() {
        let mut settings = pinned();
        settings.agent.allowed_tools.push("C".to_owned());
        let now = Configured { allowed_tools: tools(&["B", "D"]), ..settings.configured.clone() };
        let changes = now.changes(&settings);
        let sentences: Vec<_> = changes.iter().map(SettingChange::sentence).collect();
        assert_eq!(sentences, ["agent.allowed_tools: added D; removed A"]);
        for change in &changes {
            change.apply(ChangeSource::Configuration, &mut settings);
        }
        assert_eq!(settings.configured, now);
        assert_eq!(now.changes(&settings), []);
    }

    #[test]
    fn a_changed_model_or_permission_wins_over_the_command_line() {
        let mut settings = pinned();
        settings.model.name = Some("haiku".to_owned());
        let now = Configured { model: None, ..settings.configured.clone() };
        let sentences: Vec<_> =
            now.changes(&settings).iter().map(SettingChange::sentence).collect();
        assert_eq!(sentences, ["model.name: haiku -> default"]);
    }
}
