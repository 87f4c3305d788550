//! What the agent may do without asking. Nobody is there to answer a question, so everything else
//! is denied.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much the agent may do without asking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Permissions {
    /// No permission flag: the agent program's own settings decide.
    None,
    /// Edit files, and use the tools of `agent.allowed_tools`.
    #[serde(alias = "acceptEdits")]
    Edits,
    /// Edit files, run the commands that this type of project usually needs, and use the tools of
    /// `agent.allowed_tools`.
    #[default]
    Usual,
    /// Everything.
    #[serde(alias = "bypassPermissions")]
    Bypass,
}

impl Permissions {
    /// Every value that the setting takes: the names of the levels, and the agent program's own
    /// words for two of them.
    pub const VALUES: &'static [&'static str] =
        &["usual", "edits", "bypass", "none", "acceptEdits", "bypassPermissions"];

    /// Its name in settings and events.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Edits => "edits",
            Self::Usual => "usual",
            Self::Bypass => "bypass",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_a_level_and_every_level_has_its_name() {
        for value in Permissions::VALUES {
            let read: Permissions =
                serde_json::from_value(serde_json::Value::from(*value)).expect("a known value");
            let name = match *value {
                "acceptEdits" => "edits",
                "bypassPermissions" => "bypass",
                name => name,
            };
            assert_eq!(
                (read.name(), serde_json::to_value(read).unwrap().as_str()),
                (name, Some(name))
            );
        }
        assert_eq!(Permissions::default().name(), "usual");
    }
}
