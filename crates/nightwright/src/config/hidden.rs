//! Finds the parts of a configuration file that may be secret: the values of variables for the
//! agent. The excerpt of a mistake shows names and positions only.
//!
//! The file is invalid, so it is scanned line by line. Ambiguous parts are hidden.

use std::ops::Range;

use super::keys::KEYS;
use super::kind::ValueKind;

/// The table of `mode.toml` that contains configuration keys.
const DEFAULTS: &str = "defaults";

/// The ranges of a text that must be hidden, in bytes.
pub(super) fn hidden(text: &str) -> Vec<Range<usize>> {
    let mut place = FilePosition::default();
    let mut hidden = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let from = place.line(line);
        if let Some(from) = from {
            hidden.push(at + from..at + line.len());
        }
        at += line.len();
    }
    hidden
}

/// The position of the scan in the file.
#[derive(Debug, Default)]
struct FilePosition {
    /// The full name of the current table.
    table: String,
    /// Whether the current value may be secret.
    secret: bool,
    /// How the current value continues on the next line.
    open: OpenValue,
}

/// Whether a value continues after the end of its line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum OpenValue {
    /// The value ends on this line.
    #[default]
    No,
    /// The value continues; this number of brackets is open.
    Brackets(usize),
    /// The value is a multi-line string with this delimiter.
    Text(&'static str),
    /// A single-line string has no end, so its meaning is unknown.
    Broken,
}

impl FilePosition {
    /// Scans a line; returns the offset from which it is hidden.
    fn line(&mut self, line: &str) -> Option<usize> {
        match self.open {
            OpenValue::Text(end) => {
                if let Some((_, rest)) = line.split_once(end) {
                    self.open = open_value(rest, 0);
                }
                return self.secret.then_some(0);
            }
            OpenValue::Brackets(open) if !is_header(line) => {
                self.open = open_value(line, open);
                return self.secret.then_some(0);
            }
            OpenValue::Broken if self.secret && !is_header(line) => return Some(0),
            OpenValue::No | OpenValue::Brackets(_) | OpenValue::Broken => self.open = OpenValue::No,
        }
        if line.trim_start().starts_with('[') {
            self.table = plain(line.split(']').next().unwrap_or_default());
            self.secret = false;
            return None;
        }
        let below = is_secret(&self.table, &self.table);
        let Some((name, value)) = line.split_once('=') else { return below.then_some(0) };
        let key = [&*self.table, &plain(name)].join(".");
        self.secret = below || is_secret(&self.table, key.trim_start_matches('.'));
        self.open = open_value(value, 0);
        if !self.secret {
            return None;
        }
        // Text that does not look like a name may be part of a value.
        let looks_like_one = |c: char| c.is_ascii_alphanumeric() || "_-.\"' \t#".contains(c);
        let is_one = name.split_whitespace().filter(|part| *part != "#").count() == 1
            && name.chars().all(looks_like_one)
            && !value.trim().trim_matches('=').is_empty();
        Some(if is_one { name.len() + 1 } else { 0 })
    }
}

/// Whether the name belongs to variables, contains them, or is part of them.
fn is_secret(table: &str, name: &str) -> bool {
    let inner = name.strip_prefix(DEFAULTS).map_or(name, |inner| inner.trim_start_matches('.'));
    let is_below = |name: &str, above: &str| {
        name.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let mut secret = KEYS
        .iter()
        .filter(|key| key.kind.is_secret() && !matches!(key.kind, ValueKind::Tables { .. }))
        .map(|key| key.name);
    // `agent = { env = { ... } }`, but not the whole of `[agent]`.
    let has = |key| name != table && (inner.is_empty() || is_below(key, inner));
    secret.any(|key| is_below(inner, key) || has(key)) || is_misspelt(inner)
}

/// Whether the name is unknown and in a table with secrets: it may be a misspelt secret key.
fn is_misspelt(name: &str) -> bool {
    let secret = KEYS.iter().filter(|key| matches!(key.kind, ValueKind::Url | ValueKind::Secret));
    let mut tables = secret.filter_map(|key| Some(key.name.rsplit_once('.')?.0));
    let is_in = |table: &str| name.strip_prefix(table).is_some_and(|rest| rest.starts_with('.'));
    tables.any(is_in) && !KEYS.iter().any(|key| key.name == name)
}

/// Whether a line can only be a table header.
fn is_header(line: &str) -> bool {
    let name = line.trim();
    let inner = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or_default();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.[]".contains(c);
    inner.contains(|c: char| c.is_ascii_alphabetic()) && inner.chars().all(is_plain)
}

/// Removes quotes and whitespace around the parts of a name.
fn plain(name: &str) -> String {
    name.chars().filter(|c| !c.is_whitespace() && !"[]\"'#".contains(*c)).collect()
}

/// How a value continues after this line, given the number of brackets open before it.
fn open_value(value: &str, open: usize) -> OpenValue {
    let mut open = open;
    let mut rest = value;
    while let Some(next) = rest.chars().next() {
        let many = ["\"\"\"", "'''"].into_iter().find(|mark| rest.starts_with(mark));
        if let Some(mark) = many {
            match rest[mark.len()..].split_once(mark) {
                Some((_, after)) => rest = after,
                None => return OpenValue::Text(mark),
            }
            continue;
        }
        rest = &rest[next.len_utf8()..];
        match next {
            '#' => break,
            '[' | '{' => open += 1,
            ']' | '}' => open = open.saturating_sub(1),
            '"' | '\'' => match end_of_text(rest, next) {
                Some(end) => rest = &rest[end..],
                None => return OpenValue::Broken,
            },
            _ => {}
        }
    }
    if open > 0 { OpenValue::Brackets(open) } else { OpenValue::No }
}

/// The end of a string with this delimiter.
fn end_of_text(text: &str, mark: char) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        if c == mark && !escaped {
            return Some(at + c.len_utf8());
        }
        escaped = c == '\\' && mark == '"' && !escaped;
    }
    None
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
    fn names_of_variables_are_shown_and_their_values_are_not() {
        for (text, wanted) in [
            (
                "[agent.env]\nA = x y\nB = \"z\"\n[limits]\nm = 5\n",
                "[agent.env]\nA = * *\nB = ***\n[limits]\nm = 5\n",
            ),
            ("[ agent . \"env\" ]\n# A = \"x\"\n", "[ agent . \"env\" ]\n# A = ***\n"),
            ("agent.env = [\"A=x\"]\ndelay = 1\n", "agent.env = *******\ndelay = 1\n"),
            ("agent.env.A = 1\nmode = 2\n", "agent.env.A = *\nmode = 2\n"),
            (
                "[agent]\nenv = { A = \"x\",\n  B = \"y\" }\nargs = 3\n",
                "[agent]\nenv = * * * ****\n  * * *** *\nargs = 3\n",
            ),
            ("agent = { env = { A = 1 } }\n", "agent = * *** * * * * * * *\n"),
            ("defaults.agent.env.A = 1\n", "defaults.agent.env.A = *\n"),
            ("[defaults.agent.env]\nA = 1\n", "[defaults.agent.env]\nA = *\n"),
            ("[agent]\npath = 1\nenvironment = 2\n", "[agent]\npath = 1\nenvironment = 2\n"),
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
    fn ambiguous_values_are_hidden() {
        for (text, wanted) in [
            // Without an equals sign, or with another separator.
            ("[agent.env]\nA x\nB: \"y==\"\nC", "[agent.env]\n* *\n** *****\n*"),
            // A multi-line key, valid and invalid.
            (
                "[agent.env]\nA = \"\"\"\nab=\ncd\n\"\"\"\nB = 1\n",
                "[agent.env]\nA = ***\n***\n**\n***\nB = *\n",
            ),
            (
                "[agent.env]\nA = \"ab\ncd = x\nef==\n[limits]\nm = 5\n",
                "[agent.env]\nA = ***\n** * *\n****\n[limits]\nm = 5\n",
            ),
            // An unterminated list.
            (
                "agent.env = [\n\"A=x\",\n[limits]\nm = 5\n",
                "agent.env = *\n******\n[limits]\nm = 5\n",
            ),
            // An unrelated string that looks like a table.
            (
                "[agent]\nargs = '''\n[limits]\n'''\nenv = 7\n",
                "[agent]\nargs = '''\n[limits]\n'''\nenv = *\n",
            ),
        ] {
            assert_eq!(shown(text), wanted);
        }
    }
}
