//! Edits configuration files and preserves everything else in them: comments, order and formatting.

use toml_edit::{Decor, DocumentMut, Item, Table, TableLike, TomlError, Value as Toml};

use super::keys::Key;
use super::layer::without_mark;
use super::value::ConfigValue;

/// Returns the text with the key set to the value.
pub fn set(text: &str, key: &Key, value: &ConfigValue) -> Result<String, TomlError> {
    change(text, |document| {
        let only_comments = document.is_empty();
        let first_value = !only_comments && document.iter().next().is_some_and(is_section);
        insert(document.as_table_mut(), key.name, value.to_toml());
        if only_comments {
            // In a file without keys, the comments would end up after the first key.
            let comments = document.trailing().as_str().unwrap_or_default().to_owned();
            document.set_trailing("");
            lead(document, key.name, &with_blank_line(&comments));
        } else if first_value && !key.name.contains('.') {
            let head = take_head(document, key.name);
            lead(document, key.name, &head);
        }
    })
}

/// Returns the text without the key; `None` if the key is not set.
pub fn unset(text: &str, key: &Key) -> Result<Option<String>, TomlError> {
    let mut found = false;
    let text = change(text, |document| {
        found = remove(document.as_table_mut(), key.name);
    })?;
    Ok(found.then_some(text))
}

fn change(text: &str, edit: impl FnOnce(&mut DocumentMut)) -> Result<String, TomlError> {
    let plain = without_mark(text);
    let mark = &text[..text.len() - plain.len()];
    let mut document: DocumentMut = plain.parse()?;
    edit(&mut document);
    let mut new = document.to_string();
    // Inserted text has plain line endings.
    if plain.contains("\r\n") {
        new = new.replace("\r\n", "\n").replace('\n', "\r\n");
    }
    Ok(format!("{mark}{new}"))
}

fn insert(table: &mut dyn TableLike, path: &str, mut value: Toml) {
    let Some((first, rest)) = path.split_once('.') else {
        match table.get_mut(path) {
            Some(Item::Value(old)) => {
                // Keep the surrounding whitespace and a trailing comment.
                *value.decor_mut() = old.decor().clone();
                *old = value;
            }
            Some(other) => *other = Item::Value(value),
            None => {
                table.insert(path, Item::Value(value));
            }
        }
        return;
    };
    let inner = table.entry(first).or_insert_with(|| {
        let mut new = Table::new();
        // A table that only contains tables needs no header.
        new.set_implicit(rest.contains('.'));
        Item::Table(new)
    });
    if let Item::Value(Toml::InlineTable(inline)) = inner
        && !inline.contains_key(rest)
        && let Some((_, last)) = inline.iter_mut().last()
    {
        // The space before the closing brace belongs to the last value.
        let space = last.decor().suffix().and_then(|suffix| suffix.as_str()).map(str::to_owned);
        last.decor_mut().set_suffix("");
        *value.decor_mut() = Decor::new(" ", space.unwrap_or_default());
    }
    if let Some(inner) = inner.as_table_like_mut() {
        insert(inner, rest, value);
    }
}

fn remove(table: &mut dyn TableLike, path: &str) -> bool {
    let Some((first, rest)) = path.split_once('.') else {
        return table.remove(path).is_some();
    };
    let Some(inner) = table.get_mut(first) else { return false };
    let removed = inner.as_table_like_mut().is_some_and(|inner| remove(inner, rest));
    let empty = match inner {
        Item::Table(inner) => inner.is_empty() && !is_commented(inner),
        Item::Value(Toml::InlineTable(inner)) => inner.is_empty(),
        Item::Value(_) | Item::ArrayOfTables(_) | Item::None => false,
    };
    if removed && empty {
        table.remove(first);
    }
    removed
}

fn is_commented(table: &Table) -> bool {
    let prefix = table.decor().prefix().and_then(|prefix| prefix.as_str());
    prefix.is_some_and(|prefix| prefix.contains('#'))
}

fn is_section((_, item): (&str, &Item)) -> bool {
    item.is_table() || item.is_array_of_tables()
}

/// Adds a blank line between comments and the following text.
fn with_blank_line(comments: &str) -> String {
    match comments.trim_end() {
        "" => String::new(),
        comments => format!("{comments}\n\n"),
    }
}

/// Detaches the comments at the head of the file from the first section.
fn take_head(document: &mut DocumentMut, except: &str) -> String {
    let mut sections: Vec<&mut Table> = document
        .iter_mut()
        .filter(|(name, _)| name.get() != except)
        .filter_map(|(_, item)| item.as_table_mut())
        .collect();
    sections.sort_by_key(|section| section.position());
    let Some(first) = sections.into_iter().next() else { return String::new() };
    let prefix = first.decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default();
    let (head, rest) = match prefix.rfind("\n\n") {
        Some(at) => (prefix[..at + 2].to_owned(), prefix[at + 2..].to_owned()),
        None => (String::new(), prefix.to_owned()),
    };
    let rest = if rest.starts_with('\n') { rest } else { format!("\n{rest}") };
    first.decor_mut().set_prefix(rest);
    head
}

/// Inserts text before a key, or before the table that contains it.
fn lead(document: &mut DocumentMut, path: &str, text: &str) {
    let first = path.split('.').next().unwrap_or(path);
    let mut table = document.as_table_mut();
    if let Some(mut key) = table.key_mut(first)
        && !path.contains('.')
    {
        key.leaf_decor_mut().set_prefix(text);
        return;
    }
    // The first table with its own header.
    for name in path.split('.') {
        let Some(inner) = table.get_mut(name).and_then(Item::as_table_mut) else { return };
        if !inner.is_implicit() {
            inner.decor_mut().set_prefix(text);
            return;
        }
        table = inner;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::keys::find;

    fn put(text: &str, key: &str, value: &str) -> String {
        let key = find(key).unwrap();
        set(text, key, &key.kind.parse(&[value]).unwrap()).unwrap()
    }

    fn drop(text: &str, key: &str) -> Option<String> {
        unset(text, find(key).unwrap()).unwrap()
    }

    #[test]
    fn a_new_file_has_the_table_and_the_key() {
        assert_eq!(put("", "limits.max_cost", "5"), "[limits]\nmax_cost = 5\n");
        assert_eq!(put("", "limits.quota.seven_day", "80"), "[limits.quota]\nseven_day = 80\n");
        assert_eq!(put("", "delay", "2"), "delay = \"2s\"\n");
    }

    #[test]
    fn comments_and_order_stay_when_a_value_changes() {
        let before = "# mine\n\n[limits] # of a night\n# dear\nmax_cost   =  3  # dollars\n\
                      max_iterations = 7\n\n[retry]\ndelay = 5\n";
        let after = before.replace("3  # dollars", "4.5  # dollars");
        assert_eq!(put(before, "limits.max_cost", "4.50"), after);
    }

    #[test]
    fn a_key_goes_into_its_table_however_that_is_written() {
        assert_eq!(
            put("limits = { max_cost = 3 }\n", "limits.max_iterations", "9"),
            "limits = { max_cost = 3, max_iterations = 9 }\n"
        );
        assert_eq!(
            put("limits.max_cost = 3\n", "limits.max_iterations", "9"),
            "limits.max_cost = 3\nlimits.max_iterations = 9\n"
        );
    }

    #[test]
    fn comments_of_a_file_without_keys_stay_in_front() {
        assert_eq!(
            put("# first\n# second\n", "limits.max_cost", "5"),
            "# first\n# second\n\n[limits]\nmax_cost = 5\n"
        );
        assert_eq!(put("# first\n", "delay", "5"), "# first\n\ndelay = \"5s\"\n");
    }

    #[test]
    fn the_head_of_a_file_stays_its_head() {
        assert_eq!(
            put("#:schema x\n\n# limits\n[limits]\nmax_cost = 5\n", "delay", "5"),
            "#:schema x\n\ndelay = \"5s\"\n\n# limits\n[limits]\nmax_cost = 5\n"
        );
    }

    #[test]
    fn marks_and_ends_of_lines_stay_as_they_were() {
        assert_eq!(
            put("\u{feff}delay = 1\r\n", "limits.max_cost", "5"),
            "\u{feff}delay = 1\r\n\r\n[limits]\r\nmax_cost = 5\r\n"
        );
    }

    #[test]
    fn unsetting_the_last_key_removes_the_table() {
        let text = "delay = 1\n\n[limits]\nmax_cost = 5\n";
        assert_eq!(drop(text, "limits.max_cost").as_deref(), Some("delay = 1\n"));
        assert_eq!(drop(text, "limits.max_tokens"), None);
        let commented = "# why\n[limits]\nmax_cost = 5\n";
        assert_eq!(drop(commented, "limits.max_cost").as_deref(), Some("# why\n[limits]\n"));
    }
}
