//! Prose of pages and comments, split into paragraphs, sentences and words.

/// A word and the line that it is on. The content of an inline code span is masked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) line: usize,
    pub(super) text: String,
}

impl Word {
    /// Returns the word in lower case, without punctuation, `'s`, `'re` and the like. Acronyms and
    /// placeholders such as `US` keep their case.
    pub(super) fn normal(&self) -> String {
        let trimmed = self.text.trim_matches(|c: char| !c.is_alphanumeric() && c != '`');
        let is_contraction = trimmed.ends_with("n't");
        let head = if is_contraction {
            trimmed
        } else {
            trimmed.split(['\'', '’']).next().unwrap_or("")
        };
        let is_acronym = head.len() > 1 && !head.contains(char::is_lowercase) && !is_shouted(head);
        if is_acronym { head.to_owned() } else { head.to_lowercase() }
    }

    /// Whether no punctuation separates this word from the next one.
    pub(super) fn joins_next(&self) -> bool {
        self.text.ends_with(char::is_alphanumeric)
    }

    /// Whether a sentence ends with this word.
    fn ends_sentence(&self) -> bool {
        let text = self.text.trim_end_matches([')', ']', '"', '\'', '”', '’', '*', '_']);
        let is_abbreviation = matches!(
            text.trim_start_matches(['(', '"']).to_lowercase().as_str(),
            "e.g." | "i.e." | "etc." | "vs." | "cf." | "..."
        );
        text.ends_with(['.', '!', '?']) && !is_abbreviation
    }
}

/// Words of three letters or more in capitals are emphasis, shorter ones acronyms.
fn is_shouted(word: &str) -> bool {
    word.len() > 2
}

/// Consecutive words that belong together: text up to a blank line, a list item or a table row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Paragraph {
    pub(super) words: Vec<Word>,
    pub(super) is_table: bool,
}

impl Paragraph {
    /// Splits the paragraph after every full stop, question mark and exclamation mark.
    pub(super) fn sentences(&self) -> impl Iterator<Item = &[Word]> {
        self.words.split_inclusive(Word::ends_sentence)
    }
}

/// Splits Markdown text into paragraphs and leaves out blocks of code.
pub(super) fn paragraphs<'a>(lines: impl IntoIterator<Item = (usize, &'a str)>) -> Vec<Paragraph> {
    let mut all = Vec::new();
    let mut current = Paragraph::default();
    let mut in_block = false;
    let mut in_span = false;
    for (line, text) in lines {
        let trimmed = text.trim();
        let is_fence = trimmed.starts_with("```") || trimmed.starts_with("~~~");
        let is_row = trimmed.starts_with('|');
        let is_heading = trimmed.starts_with('#');
        if trimmed.is_empty() || is_fence || is_row || is_heading || is_list_item(trimmed) {
            all.push(std::mem::take(&mut current));
            in_span = false;
        }
        in_block ^= is_fence;
        if in_block || is_fence {
            continue;
        }
        let masked = mask_spans(without_bullet(trimmed), &mut in_span);
        if is_row {
            let cells = masked
                .split('|')
                .map(|cell| Paragraph { words: words(line, cell).collect(), is_table: true });
            all.extend(cells);
        } else {
            current.words.extend(words(line, &masked));
        }
        if is_heading {
            all.push(std::mem::take(&mut current));
        }
    }
    all.push(current);
    all.retain(|paragraph| !paragraph.words.is_empty());
    all
}

/// Splits a printed text into paragraphs: an indented line is a row of a list.
pub(super) fn message_paragraphs<'a>(
    lines: impl IntoIterator<Item = (usize, &'a str)>,
) -> Vec<Paragraph> {
    let mut all: Vec<Vec<(usize, &str)>> = vec![Vec::new()];
    for (line, text) in lines {
        if text.starts_with("  ") {
            all.push(Vec::new());
        }
        all.last_mut().expect("the list is never empty").push((line, text));
    }
    all.into_iter().flat_map(paragraphs).collect()
}

/// Only what has a letter or a digit, or stands for code, is a word.
fn words(line: usize, text: &str) -> impl Iterator<Item = Word> {
    let is_word = |word: &&str| word.contains(|c: char| c.is_alphanumeric() || c == '`');
    text.split_whitespace().filter(is_word).map(move |text| Word { line, text: text.to_owned() })
}

fn is_list_item(line: &str) -> bool {
    without_bullet(line).len() < line.len()
}

/// Returns the line without the bullet or the number of a list item.
fn without_bullet(line: &str) -> &str {
    let digits = line.find(|c: char| !c.is_ascii_digit()).unwrap_or(0);
    let bullets = ["- ", "* ", "+ "].iter().find_map(|bullet| line.strip_prefix(bullet));
    let numbered = (digits > 0).then(|| line[digits..].strip_prefix(". ")).flatten();
    bullets.or(numbered).unwrap_or(line)
}

/// Replaces each character of an inline code span by a backtick, so that a span is one word.
fn mask_spans(text: &str, in_span: &mut bool) -> String {
    let mask = |c| {
        *in_span ^= c == '`';
        if *in_span { '`' } else { c }
    };
    text.chars().map(mask).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentences(text: &str) -> Vec<(usize, usize)> {
        paragraphs(text.lines().zip(1..).map(|(text, line)| (line, text)))
            .iter()
            .filter(|paragraph| !paragraph.is_table)
            .flat_map(|paragraph| {
                paragraph.sentences().map(|words| (words[0].line, words.len())).collect::<Vec<_>>()
            })
            .collect()
    }

    #[test]
    fn sentences_end_at_stops_blank_lines_and_list_items() {
        assert_eq!(sentences("One two. Three\nfour! Five?"), [(1, 2), (1, 2), (2, 1)]);
        assert_eq!(
            sentences("One\n\ntwo\n- three\n- four\n1. five"),
            [(1, 1), (3, 1), (4, 1), (5, 1), (6, 1)]
        );
        assert_eq!(sentences("# One\ntwo"), [(1, 1), (2, 1)]);
        assert_eq!(sentences("(One two.) Three"), [(1, 2), (1, 1)]);
    }

    #[test]
    fn colons_semicolons_and_abbreviations_end_nothing() {
        assert_eq!(sentences("One: two; three, e.g. four"), [(1, 5)]);
    }

    #[test]
    fn code_spans_are_one_word_and_code_blocks_and_tables_none() {
        assert_eq!(sentences("Run `a b. c` now."), [(1, 3)]);
        assert_eq!(sentences("One\n```\ntwo\n```\nthree"), [(1, 1), (5, 1)]);
        assert_eq!(sentences("| one | two |\n| --- | --- |"), []);
    }

    #[test]
    fn words_are_compared_without_punctuation_and_case() {
        let normal = |text: &str| Word { line: 1, text: text.to_owned() }.normal();
        assert_eq!(normal("(Nobody's"), "nobody");
        assert_eq!(normal("isn't"), "isn't");
        assert_eq!(normal("US"), "US");
        assert_eq!(normal("NOBODY"), "nobody");
    }
}
