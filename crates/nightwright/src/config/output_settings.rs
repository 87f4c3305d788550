//! The `output.*` settings: how much is shown, and in color or not.

/// The amount of output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutputLevel {
    /// Only errors.
    Quiet,
    /// One line per event.
    #[default]
    Progress,
    /// Also the messages and tool calls of the agent.
    Verbose,
    /// Events of the journal as JSON, one per line.
    Json,
    /// Events of the journal, and every line of the agent's output.
    JsonMessages,
}

impl OutputLevel {
    /// Returns the level with this name in the configuration.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "quiet" => Some(Self::Quiet),
            "progress" => Some(Self::Progress),
            "verbose" => Some(Self::Verbose),
            "json" => Some(Self::Json),
            _ => None,
        }
    }

    /// Whether messages other than errors are shown.
    pub fn shows_messages(self) -> bool {
        match self {
            Self::Progress | Self::Verbose => true,
            Self::Quiet | Self::Json | Self::JsonMessages => false,
        }
    }
}

/// The user's choice of color.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColorChoice {
    /// On a terminal, unless the environment says otherwise.
    #[default]
    Auto,
    /// Even without a terminal.
    Always,
    /// Not even on a terminal.
    Never,
}

impl ColorChoice {
    /// Returns the choice with this name in the configuration.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "auto" => Some(Self::Auto),
            "always" => Some(Self::Always),
            "never" => Some(Self::Never),
            _ => None,
        }
    }
}
