//! The secret values in the text of a configuration file or a `mode.toml`, according to the table
//! of keys.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::keys::KEYS;
use super::kind::ValueKind;
use super::layer::without_mark;

/// The table of `mode.toml` that contains configuration keys.
const DEFAULTS: &str = "defaults";

/// The ranges of a text that an excerpt must not show, in bytes. The values of invalid TOML are
/// unknown, so all of it is hidden if it mentions a key with secrets.
pub(super) fn hidden(text: &str) -> Vec<Range<usize>> {
    match secret_values(text) {
        // A comment behind a value may repeat it.
        Some(values) => {
            values.into_iter().map(|value| value.start..line_end(text, value)).collect()
        }
        None => mentions_secrets(text).then_some(0..text.len()).into_iter().collect(),
    }
}

/// Returns the text of a configuration file with `"***"` for every secret value; `None` if it is
/// not valid TOML.
pub fn without_secrets(text: &str) -> Option<String> {
    let text = without_mark(text);
    let mut values = secret_values(text)?;
    values.sort_by_key(|value| value.start);
    let mut public = text.to_owned();
    for value in values.into_iter().rev() {
        public.replace_range(value, "\"***\"");
    }
    Some(public)
}

/// The positions of the secret values; `None` if the text is not valid TOML.
fn secret_values(text: &str) -> Option<Vec<Range<usize>>> {
    let (table, errors) = DeTable::parse_recoverable(text);
    let mut found = Vec::new();
    find_in_table("", table.get_ref(), &mut found);
    errors.is_empty().then_some(found)
}

fn find_in_table(above: &str, table: &DeTable<'_>, found: &mut Vec<Range<usize>>) {
    for (name, value) in table {
        let name = match above {
            "" | DEFAULTS => name.get_ref().to_string(),
            above => format!("{above}.{}", name.get_ref()),
        };
        find(&name, value, found);
    }
}

fn find(name: &str, value: &Spanned<DeValue<'_>>, found: &mut Vec<Range<usize>>) {
    match value.get_ref() {
        DeValue::Table(table) => find_in_table(name, table, found),
        DeValue::Array(array) if array.iter().any(|item| item.get_ref().is_table()) => {
            for item in array {
                find(name, item, found);
            }
        }
        _ if is_secret(name) => found.push(value.span()),
        _ => {}
    }
}

/// Whether the value with this name, which is not a table, may be secret.
fn is_secret(name: &str) -> bool {
    let is_below = |name: &str, above: &str| {
        name.strip_prefix(above).is_some_and(|rest| rest.starts_with('.'))
    };
    let mut secret = KEYS.iter().filter(|key| key.kind.is_secret());
    secret.any(|key| {
        let is_variable = key.kind == ValueKind::Variables && is_below(name, key.name);
        // A secret in the place of its table: `notify = "https://..."`.
        is_variable || name == key.name || is_below(key.name, name)
    }) || is_misspelt(name)
}

/// Whether the name is unknown and in a table with secrets: it may be a misspelt secret key.
fn is_misspelt(name: &str) -> bool {
    let secret = KEYS.iter().filter(|key| matches!(key.kind, ValueKind::Url | ValueKind::Secret));
    let mut tables = secret.filter_map(|key| Some(key.name.rsplit_once('.')?.0));
    let is_in = |table: &str| name.strip_prefix(table).is_some_and(|rest| rest.starts_with('.'));
    tables.any(is_in) && !KEYS.iter().any(|key| key.name == name)
}

fn mentions_secrets(text: &str) -> bool {
    let secret = KEYS.iter().filter(|key| key.kind.is_secret());
    let mut words = secret.filter_map(|key| key.name.rsplit('.').next());
    words.any(|word| text.contains(word))
}

/// The end of the line in which a value ends.
fn line_end(text: &str, value: Range<usize>) -> usize {
    text[value.end..].find('\n').map_or(text.len(), |length| value.end + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text with `*` for every hidden character.
    fn shown(text: &str) -> String {
        let hidden = hidden(text);
        let is_hidden = |at: usize| hidden.iter().any(|hidden| hidden.contains(&at));
        let shown = text.char_indices().map(|(at, c)| match c {
            c if c.is_whitespace() => c,
            _ if is_hidden(at) => '*',
            c => c,
        });
        shown.collect()
    }

    #[test]
    fn names_are_shown_and_secret_values_are_not() {
        for (text, wanted) in [
            (
                "[agent.env]\nA = 5 # x\nB = \"z\"\n[limits]\nm = 5\n",
                "[agent.env]\nA = * * *\nB = ***\n[limits]\nm = 5\n",
            ),
            ("agent.env = [\"A=x\"]\ndelay = 1\n", "agent.env = *******\ndelay = 1\n"),
            ("agent.env.A = 1\nmode = 2\n", "agent.env.A = *\nmode = 2\n"),
            (
                "[agent]\nenv = { A = \"x\", B = [\n\"y\"] }\nargs = 3\n",
                "[agent]\nenv = { A = **** * * *\n**** *\nargs = 3\n",
            ),
            ("agent = \"A=x\"\n", "agent = *****\n"),
            ("defaults.agent.env.A = 1\n", "defaults.agent.env.A = *\n"),
            ("[defaults.agent.env]\nA = 1\n", "[defaults.agent.env]\nA = *\n"),
            ("[agent]\npath = 1\nenvironment = 2\n", "[agent]\npath = 1\nenvironment = 2\n"),
            ("[agent.env]\nA = '''\nab=\ncd\n'''\n", "[agent.env]\nA = ***\n***\n**\n***\n"),
        ] {
            assert_eq!(shown(text), wanted);
        }
    }

    #[test]
    fn values_of_misspelt_keys_next_to_secrets_are_hidden() {
        for (text, wanted) in [
            (
                "[notify]\ntokn = \"tk\"\nkind = \"ntfy\"\nevents = []\n",
                "[notify]\ntokn = ****\nkind = \"ntfy\"\nevents = []\n",
            ),
            ("[[notify]]\nadress = 'x'\n", "[[notify]]\nadress = ***\n"),
            ("notify.sekret = 'x'\ndelya = 1\n", "notify.sekret = ***\ndelya = 1\n"),
        ] {
            assert_eq!(shown(text), wanted);
        }
    }

    #[test]
    fn invalid_toml_is_hidden_if_it_may_contain_secrets() {
        assert_eq!(shown("[agent.env]\nA x\nB: \"y\""), "***********\n* *\n** ***");
        assert_eq!(shown("notify = 'ab\ncd = x"), "****** * ***\n** * *");
        assert_eq!(shown("[limits\nm = 5\n"), "[limits\nm = 5\n");
    }

    #[test]
    fn a_public_text_is_still_valid() {
        let text =
            "[agent]\nenv = { A = \"x\", B = [1] }\n\n[[notify]]\nkind = \"ntfy\"\nurl = 'u'\n";
        let wanted = "[agent]\nenv = { A = \"***\", B = \"***\" }\n\n[[notify]]\nkind = \"ntfy\"\n\
                      url = \"***\"\n";
        assert_eq!(without_secrets(text).as_deref(), Some(wanted));
        assert_eq!(without_secrets(wanted).as_deref(), Some(wanted));
        assert_eq!(without_secrets("url ="), None);
    }
}
