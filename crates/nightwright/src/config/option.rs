//! The options of `nightwright run` that set configuration keys, as declared in the table of keys.

/// A heading in the help of `nightwright run`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionGroup {
    General,
    Completion,
    Limits,
    Pace,
    Agent,
    Output,
}

/// An option that sets a key.
#[derive(Clone, Copy, Debug)]
pub struct KeyOption {
    pub group: OptionGroup,
    /// The option as in the help: `-m, --max-iterations <N>`. An optional value is in brackets, and
    /// `-- <ARGS>` are the arguments after the options.
    usage: &'static str,
    /// The value that a switch sets, in the syntax of the configuration.
    pub fixed: Option<&'static str>,
    /// The help, if the description of the key does not fit.
    pub help: Option<&'static str>,
    /// Whether `-h` shows it. `--help` shows all options.
    pub is_common: bool,
}

/// Declares an option with a value.
pub(super) const fn value(group: OptionGroup, usage: &'static str) -> KeyOption {
    KeyOption { group, usage, fixed: None, help: None, is_common: false }
}

/// Declares a switch that sets a fixed value.
pub(super) const fn switch(
    group: OptionGroup,
    usage: &'static str,
    fixed: &'static str,
    help: &'static str,
) -> KeyOption {
    KeyOption { fixed: Some(fixed), help: Some(help), ..value(group, usage) }
}

impl KeyOption {
    pub(super) const fn help(self, help: &'static str) -> Self {
        Self { help: Some(help), ..self }
    }

    pub(super) const fn common(self) -> Self {
        Self { is_common: true, ..self }
    }

    pub fn short(&self) -> Option<char> {
        let (short, _) = self.usage.split_once(", --")?;
        short.chars().nth(1)
    }

    /// The option with its dashes: `--max-iterations`.
    pub fn long(&self) -> &'static str {
        let names = self.usage.split([' ', '[']).map(|word| word.trim_end_matches(','));
        names.into_iter().find(|word| word.starts_with("--")).unwrap_or(self.usage)
    }

    /// The name of the value: `N`.
    pub fn value_name(&self) -> &'static str {
        let (_, name) = self.usage.split_once('<').unwrap_or_default();
        name.split('>').next().unwrap_or_default()
    }

    /// Whether the option can stand without its value.
    pub fn is_value_optional(&self) -> bool {
        self.usage.ends_with(']')
    }
}
