//! The options of `nightwright run` and `resume` that set configuration keys, generated from the
//! table of keys.

use std::marker::PhantomData;

use clap::builder::{PossibleValuesParser, TypedValueParser as _, ValueParser};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};

use super::values;
use crate::config::{self, ConfigLayer, ConfigValue, KEYS, Key, KeyOption, OptionGroup, ValueKind};

/// The options of one group.
pub(crate) trait KeyGroup {
    const GROUP: OptionGroup;
}

macro_rules! groups {
    ($($group:ident),+) => {
        $(
            #[derive(Clone, Copy, Debug)]
            pub(crate) struct $group;

            impl KeyGroup for $group {
                const GROUP: OptionGroup = OptionGroup::$group;
            }
        )+
    };
}

groups!(General, Completion, Limits, Pace, Agent, Output);

/// The values of the options of a group, as a layer of the configuration.
#[derive(Clone, Debug)]
pub(crate) struct KeyOptions<G> {
    pub(crate) layer: ConfigLayer,
    group: PhantomData<G>,
}

impl<G> KeyOptions<G> {
    /// Returns the text that an option gave to this key.
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        match self.layer.get(key)?.1 {
            ConfigValue::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl<G: KeyGroup> Args for KeyOptions<G> {
    fn augment_args(command: Command) -> Command {
        command.args(options::<G>().map(|(key, option)| argument(key, option)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<G: KeyGroup> FromArgMatches for KeyOptions<G> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut layer = ConfigLayer::flags();
        for (key, option) in options::<G>() {
            if let Some(value) = given(matches, key, option) {
                layer.set_by_flag(option.long(), key.name, value);
            }
        }
        Ok(Self { layer, group: PhantomData })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.layer.extend(&Self::from_arg_matches(matches)?.layer);
        Ok(())
    }
}

fn options<G: KeyGroup>() -> impl Iterator<Item = (&'static Key, &'static KeyOption)> {
    let all = KEYS.iter().flat_map(|key| key.options.iter().map(move |option| (key, option)));
    all.filter(|(_, option)| option.group == G::GROUP)
}

/// Returns the value that the option sets, if it is on the command line.
fn given(matches: &ArgMatches, key: &Key, option: &KeyOption) -> Option<ConfigValue> {
    if let Some(fixed) = option.fixed {
        let value = || key.kind.parse(&[fixed]).expect("a test tries every switch");
        return matches.get_flag(option.long()).then(value);
    }
    let values = matches.get_many::<ConfigValue>(option.long())?;
    values.cloned().reduce(ConfigValue::and)
}

/// Options that have no meaning for another agent program.
const CLAUDE_ONLY: [&str; 7] = [
    "dry_run",
    "--model",
    "--max-turns",
    "--allowed-tools",
    "--disallowed-tools",
    "--permissions",
    "--dangerously-skip-permissions",
];

fn argument(key: &'static Key, option: &'static KeyOption) -> Arg {
    let others = key.options.iter().map(KeyOption::long).filter(|other| *other != option.long());
    let mut argument = Arg::new(option.long())
        .conflicts_with_all(others)
        .help(help(key, option))
        .hide_short_help(!option.is_common)
        .short(option.short());
    if let Some(heading) = heading(option.group) {
        argument = argument.help_heading(heading);
    }
    if option.long() == "--" {
        argument = argument.last(true).num_args(1..);
    } else {
        argument = argument.long(&option.long()[2..]);
    }
    if option.fixed.is_some() {
        return argument.action(ArgAction::SetTrue);
    }
    if key.name == "agent.command" {
        argument = argument.conflicts_with_all(CLAUDE_ONLY).conflicts_with("--");
    }
    let negative =
        matches!(key.kind, ValueKind::Count { .. } | ValueKind::Money | ValueKind::Tokens);
    argument = argument
        .value_name(option.value_name())
        .value_parser(parser(key.kind, option))
        .allow_negative_numbers(negative)
        .allow_hyphen_values(matches!(key.kind, ValueKind::Duration { .. }));
    if matches!(key.kind, ValueKind::List(_) | ValueKind::Checks) {
        argument = argument.action(ArgAction::Append);
    }
    if option.is_value_optional() {
        argument = argument.num_args(0..=1).default_missing_value(config::BUILT_IN);
    }
    argument
}

fn parser(kind: ValueKind, option: &KeyOption) -> ValueParser {
    match kind {
        ValueKind::Choice(words) => PossibleValuesParser::new(words).map(ConfigValue::Text).into(),
        _ if option.is_value_optional() => {
            ValueParser::new(|text: &str| values::words(text).map(ConfigValue::Text))
        }
        _ => ValueParser::new(move |text: &str| {
            kind.parse_option(text).map_err(|allowed| values::expected(&allowed))
        }),
    }
}

/// Returns the options whose default depends on the mode, each with its help: for commands with a
/// fixed mode, its default.
pub(crate) fn helps_by_mode(mode: Option<&str>) -> Vec<(&'static str, String)> {
    let mut all = Vec::new();
    for key in KEYS {
        let defaults = key.mode_defaults();
        let of_mode =
            mode.and_then(|mode| defaults.iter().find(|(_, modes)| modes.contains(&mode)));
        let default = match of_mode {
            Some((value, _)) => value.plain(),
            None => "depends on the mode".to_owned(),
        };
        for option in key.options.iter().filter(|option| option.fixed.is_none()) {
            if !defaults.is_empty() {
                all.push((option.long(), format!("{} [default: {default}]", about(key, option))));
            }
        }
    }
    all
}

fn about(key: &Key, option: &KeyOption) -> String {
    option.help.unwrap_or(key.about).trim_end_matches('.').to_owned()
}

/// Returns the help of the option: its own, or the description of the key, and the default.
fn help(key: &Key, option: &KeyOption) -> String {
    let mut text = about(key, option);
    if option.fixed.is_some() {
        return text;
    }
    if matches!(key.kind, ValueKind::List(_) | ValueKind::Checks) && option.long() != "--" {
        text.push_str("; repeatable");
    }
    let default = key.default_value().map_or_else(|| key.unset.to_owned(), |value| value.plain());
    // A run without a limit is refused, so "no limit" is no default.
    if !default.is_empty() && option.group != OptionGroup::Limits {
        text = format!("{text} [default: {default}]");
    }
    text
}

fn heading(group: OptionGroup) -> Option<&'static str> {
    match group {
        OptionGroup::General => None,
        OptionGroup::Completion => Some("Completion"),
        OptionGroup::Limits => Some("Limits"),
        OptionGroup::Pace => Some("Pace"),
        OptionGroup::Agent => Some("Agent"),
        OptionGroup::Output => Some("Output"),
    }
}
