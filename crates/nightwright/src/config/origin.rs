//! The origin of a configuration value: layer, file, variable or flag.

use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

/// The place that a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueOrigin {
    BuiltIn,
    /// The defaults of this mode.
    Mode(String),
    /// The user's configuration file.
    User(PathBuf),
    Project(PathBuf),
    Task(PathBuf),
    /// An environment variable, by name.
    Environment(&'static str),
    /// An option of the command line.
    Flag(&'static str),
}

impl ValueOrigin {
    pub fn layer(&self) -> &'static str {
        match self {
            Self::BuiltIn => "built-in",
            Self::Mode(_) => "mode",
            Self::User(_) => "user",
            Self::Project(_) => "project",
            Self::Task(_) => "task",
            Self::Environment(_) => "environment",
            Self::Flag(_) => "flag",
        }
    }

    /// The file that contains the value, if any.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::User(path) | Self::Project(path) | Self::Task(path) => Some(path),
            Self::BuiltIn | Self::Mode(_) | Self::Environment(_) | Self::Flag(_) => None,
        }
    }

    /// Whether the value may come with a repository from another author, and therefore needs trust.
    pub fn comes_with_project(&self) -> bool {
        match self {
            Self::Mode(_) | Self::Project(_) | Self::Task(_) => true,
            Self::BuiltIn | Self::User(_) | Self::Environment(_) | Self::Flag(_) => false,
        }
    }

    pub fn to_json(&self) -> Json {
        let mut json = json!({ "layer": self.layer() });
        let (member, value) = match self {
            Self::BuiltIn => return json,
            Self::Mode(name) => ("name", name.clone()),
            Self::User(path) | Self::Project(path) | Self::Task(path) => {
                ("path", path.display().to_string())
            }
            Self::Environment(name) | Self::Flag(name) => ("name", (*name).to_owned()),
        };
        json[member] = Json::String(value);
        json
    }
}

impl fmt::Display for ValueOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built-in"),
            Self::Mode(name) => write!(f, "mode {name}"),
            Self::User(path) | Self::Project(path) | Self::Task(path) => {
                write!(f, "{} ({})", self.layer(), path.display())
            }
            Self::Environment(name) | Self::Flag(name) => write!(f, "{} ({name})", self.layer()),
        }
    }
}
