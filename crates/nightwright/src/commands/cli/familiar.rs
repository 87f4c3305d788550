//! Familiar words: commands and options of other loop runners, with the nightwright command that
//! does the same. They are listed in `familiar.toml`.

use std::sync::LazyLock;

use nightwright_core::run_view::shell_word;
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    row: Vec<Row>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    /// The words of the other program, separated by spaces.
    typed: String,
    hint: String,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    toml::from_str(include_str!("familiar.toml")).expect("a test reads the embedded table")
});

/// Returns the hint for a command line that another program would understand. `words` are the words
/// after the program's name, and `unknown` is the first of them that nightwright does not know.
pub(crate) fn hint(words: &[&str], unknown: &str) -> Option<String> {
    let (row, used) = best(words, unknown)?;
    let name = words[used..].iter().find(|word| !word.starts_with('-'));
    Some(match name.filter(|_| used > 0) {
        Some(name) => row.hint.replace("NAME", &shell_word(name)),
        None => row.hint.clone(),
    })
}

/// Returns the row that explains the most words, and the number of words before the user's own.
fn best(words: &[&str], unknown: &str) -> Option<(&'static Row, usize)> {
    let rows = TABLE.row.iter().filter_map(|row| Some((row, row.fits(words, unknown)?)));
    rows.max_by_key(|(row, _)| row.typed.split(' ').count())
}

/// Returns the strings of all hints.
#[cfg(test)]
pub(crate) fn hints() -> impl Iterator<Item = &'static str> {
    TABLE.row.iter().map(|row| row.hint.as_str())
}

impl Row {
    /// Returns the number of words before the user's own, if the row fits.
    fn fits(&self, words: &[&str], unknown: &str) -> Option<usize> {
        let mut typed: Vec<&str> = self.typed.split(' ').collect();
        let option = typed.pop_if(|last| last.starts_with('-'));
        let begins = words.len() >= typed.len()
            && typed.iter().zip(words).all(|(typed, word)| is_same(typed, word));
        let is_meant = match option {
            Some(option) => option == unknown,
            None => words.iter().take(typed.len()).any(|word| *word == unknown),
        };
        let used = typed.iter().filter(|word| **word != "*").count();
        (begins && is_meant).then_some(used)
    }
}

fn is_same(typed: &str, word: &str) -> bool {
    typed == word || typed == "*" && !word.starts_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_can_be_reached_and_names_what_exists() {
        for row in &TABLE.row {
            let words: Vec<&str> = row.typed.split(' ').collect();
            let unknown = words.last().unwrap();
            assert_eq!(best(&words, unknown).unwrap().0.typed, row.typed);
            assert!(!row.hint.contains('\n'), "{}", row.hint);
        }
    }
}
