//! The commands of checks: strings, or tables that say where a check runs.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::kind::{SpanError, type_of};
use super::value::CheckCommand;

/// The keys of a table.
const RUN: &str = "run";
const SANDBOX: &str = "sandbox";

/// Reads the checks of a file.
pub(super) fn read<'i: 'a, 'a>(
    items: impl Iterator<Item = &'a Spanned<DeValue<'i>>>,
) -> Result<Vec<CheckCommand>, SpanError> {
    items.map(check).collect()
}

fn check(item: &Spanned<DeValue<'_>>) -> Result<CheckCommand, SpanError> {
    let refused = |why: &str| Err((item.span(), why.to_owned()));
    match item.get_ref() {
        DeValue::String(text) if is_command(text) => Ok(CheckCommand::inside(text.to_string())),
        DeValue::String(_) => refused("this is not allowed"),
        DeValue::Table(table) => of_table(table).map_err(|why| (item.span(), why.to_owned())),
        DeValue::Integer(_)
        | DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_)
        | DeValue::Array(_) => refused(&format!("this is {}", type_of(item.get_ref()))),
    }
}

fn of_table(table: &DeTable<'_>) -> Result<CheckCommand, &'static str> {
    let mut run = None;
    let mut sandbox = true;
    for (name, value) in table {
        match (name.get_ref().as_ref(), value.get_ref()) {
            (RUN, DeValue::String(text)) if is_command(text) => run = Some(text.to_string()),
            (RUN, _) => return Err("`run` must be a non-empty string"),
            (SANDBOX, DeValue::Boolean(yes)) => sandbox = *yes,
            (SANDBOX, _) => return Err("`sandbox` must be true or false"),
            (_, _) => return Err("this has an unknown key; the keys are `run` and `sandbox`"),
        }
    }
    run.map(|run| CheckCommand { run, sandbox }).ok_or("this has no `run`")
}

/// Parses a check of the command line or the environment: a command, or an inline table. No shell
/// command looks like such a table.
pub(super) fn piece(text: &str) -> Option<CheckCommand> {
    if text.trim_start().starts_with('{')
        && let Ok(value) = DeValue::parse(text.trim())
        && let DeValue::Table(table) = value.get_ref()
    {
        return of_table(table).ok();
    }
    is_command(text).then(|| CheckCommand::inside(text.to_owned()))
}

fn is_command(text: &str) -> bool {
    // Arguments of programs cannot contain NUL.
    !text.trim().is_empty() && !text.contains('\0')
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use nightwright_core::settings::Settings;

    use crate::config::keys::find;
    use crate::config::value::{CheckCommand, ConfigValue};
    use crate::config::{ConfigLayer, ValueOrigin};

    fn parse(text: &str) -> Result<ConfigLayer, String> {
        let origin = ValueOrigin::Project("config.toml".into());
        ConfigLayer::parse(origin, Path::new("config.toml"), text)
            .map_err(|error| error.mistakes()[0].label.clone())
    }

    fn verify(text: &str) -> (Vec<String>, Vec<String>) {
        let mut settings = Settings::default();
        parse(text).unwrap().apply(&mut settings);
        (settings.verify.commands, settings.verify.outside)
    }

    #[test]
    fn a_table_says_that_a_check_runs_outside_the_sandbox() {
        let (commands, outside) = verify(
            "verify.commands = ['make', { run = 'make e2e', sandbox = false }, { run = 'x' }]",
        );
        assert_eq!(commands, ["make", "make e2e", "x"]);
        assert_eq!(outside, ["make e2e"]);
        // A stronger layer replaces both.
        let mut settings = Settings::default();
        for text in
            ["verify.commands = [{ run = 'a', sandbox = false }]", "verify.commands = ['a']"]
        {
            parse(text).unwrap().apply(&mut settings);
        }
        assert_eq!((settings.verify.commands.len(), settings.verify.outside.len()), (1, 0));
    }

    #[test]
    fn a_wrong_table_is_a_mistake_at_its_place() {
        for (text, label) in [
            ("{ sandbox = false }", "this has no `run`"),
            ("{ run = '' }", "`run` must be a non-empty string"),
            ("{ run = 'x', sandbox = 'no' }", "`sandbox` must be true or false"),
            (
                "{ run = 'x', sandbx = false }",
                "this has an unknown key; the keys are `run` and `sandbox`",
            ),
            ("3", "this is a whole number"),
            ("' '", "this is not allowed"),
        ] {
            assert_eq!(parse(&format!("verify.commands = [{text}]")).unwrap_err(), label, "{text}");
        }
    }

    #[test]
    fn every_form_of_a_value_is_read_again() {
        let kind = find("verify.commands").unwrap().kind;
        let outside = CheckCommand { run: "make \"e2e\"".to_owned(), sandbox: false };
        let all = vec![CheckCommand::inside("make".to_owned()), outside];
        let value = CheckCommand::value(all);
        let toml = value.to_string();
        assert_eq!(toml, "[\"make\", { run = 'make \"e2e\"', sandbox = false }]");
        assert_eq!(kind.parse(&[&toml]).as_ref(), Ok(&value));
        let plain = value.plain();
        let pieces: Vec<_> = plain.lines().collect();
        assert_eq!(kind.parse(&pieces).as_ref(), Ok(&value));
        assert_eq!(value.to_json()[1]["sandbox"], false);
        // Braces and brackets of a shell are commands.
        for command in ["{ make; }", "[ -f x ]", "{ run = x; }"] {
            let list = ConfigValue::List(vec![command.to_owned()]);
            assert_eq!(kind.parse(&[command]), Ok(list.clone()), "{command}");
            assert_eq!(kind.parse_option(command), Ok(list), "{command}");
        }
    }
}
