//! Comments, string literals and names of tests of a Rust source, with their lines.

use std::ops::Range;

use super::super::source::{hidden, is_name};

/// Consecutive lines of comments of one kind.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Comment<'a> {
    pub(super) is_doc: bool,
    /// Line numbers and the text after the `//`, `///` or `//!`.
    pub(super) lines: Vec<(usize, &'a str)>,
}

/// Returns the comments of a source; adjacent lines with the same marker are one comment.
pub(super) fn comments(text: &str) -> Vec<Comment<'_>> {
    let mut all: Vec<(&str, bool, Comment<'_>)> = Vec::new();
    for Range { start, end } in hidden(text) {
        let comment = &text[start..end];
        let Some((marker, content)) = split_marker(comment) else { continue };
        let before = &text[..start];
        let first = before.matches('\n').count() + 1;
        let begins_line = before.rsplit('\n').next().is_none_or(|line| line.trim().is_empty());
        // An empty comment line continues the comment, although it has no lines of text.
        let lines: Vec<_> = (first..).zip(content.split('\n')).collect();
        match all.last_mut() {
            Some((previous, true, open))
                if begins_line
                    && *previous == marker
                    && open.lines.last().is_some_and(|(line, _)| line + 1 == first) =>
            {
                open.lines.extend(lines);
            }
            _ => {
                let is_doc = matches!(marker, "///" | "//!");
                all.push((marker, begins_line, Comment { is_doc, lines }));
            }
        }
    }
    all.into_iter()
        .map(|(_, _, comment)| comment)
        .filter(|comment| !comment.lines.is_empty())
        .collect()
}

/// Returns the lines of a shell script that are comments, with their numbers. Other lines are empty.
pub(super) fn shell_comments(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(text.lines()).map(|(line, text)| {
        let comment = text.trim_start().strip_prefix('#').filter(|text| !text.starts_with('!'));
        (line, comment.unwrap_or_default())
    })
}

/// Splits a comment into its marker and its content; `None` for a literal.
fn split_marker(text: &str) -> Option<(&str, &str)> {
    let length = if text.starts_with("//") {
        let is_doc =
            text.starts_with("//!") || text.starts_with("///") && !text.starts_with("////");
        if is_doc { 3 } else { 2 }
    } else if text.starts_with("/*") {
        2
    } else {
        return None;
    };
    Some((&text[..length], text[length..].trim_end_matches("*/")))
}

/// Returns the string literals outside of test modules, each as its printed lines with the line of
/// the source. Escape sequences are replaced by spaces.
pub(super) fn product_strings(text: &str, code: &str) -> Vec<Vec<(usize, String)>> {
    let tests = test_modules(code);
    let is_string = |literal: &str| literal.contains('"') && split_marker(literal).is_none();
    hidden(text)
        .into_iter()
        .filter(|range| is_string(&text[range.clone()]))
        .filter(|range| !tests.iter().any(|module| module.contains(&range.start)))
        .map(|range| {
            let first = text[..range.start].matches('\n').count() + 1;
            printed_lines(first, &text[range])
        })
        .collect()
}

/// Splits a literal at its line breaks, written as such or as an escape. Where the source line ends
/// with a backslash, the text continues without the indentation.
fn printed_lines(first: usize, literal: &str) -> Vec<(usize, String)> {
    let is_raw = !literal.starts_with(['"', '\'']);
    let mut lines = Vec::new();
    let mut current = String::new();
    let mut number = first;
    let mut characters = literal.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '\n' => {
                lines.push((number, std::mem::take(&mut current)));
                number += 1;
            }
            '\\' if !is_raw => match characters.next() {
                Some('\n') => {
                    lines.push((number, std::mem::take(&mut current)));
                    number += 1;
                    while characters.next_if(|c| *c == ' ').is_some() {}
                }
                Some('n') => lines.push((number, std::mem::take(&mut current))),
                _ => current.push(' '),
            },
            '"' => current.push(' '),
            other => current.push(other),
        }
    }
    lines.push((number, current));
    lines.into_iter().map(|(number, line)| (number, without_names(&line))).collect()
}

/// Replaces each argument of a format string by `{}`, separated from the word before it.
fn without_names(line: &str) -> String {
    let is_name = |text: &str| text.chars().all(|c| is_name(c) || ":.?#".contains(c));
    let mut parts = line.split('{');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| match part.split_once('}') {
        Some((name, after)) if is_name(name) => format!("{text} {{}}{after}"),
        Some(_) | None => format!("{text}{{{part}"),
    })
}

/// Returns the ranges of the items behind `#[cfg(test)]` that have a body.
fn test_modules(code: &str) -> Vec<Range<usize>> {
    let attribute = "#[cfg(test)]";
    let starts = code.match_indices(attribute).map(|(at, _)| at);
    starts.filter_map(|start| Some(start..start + body_end(&code[start..])?)).collect()
}

/// Returns the offset after the first balanced pair of braces, if no `;` comes before it.
fn body_end(code: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in code.char_indices() {
        match c {
            ';' if depth == 0 => return None,
            '{' => depth += 1,
            '}' if depth == 1 => return Some(at + 1),
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Some(code.len())
}

/// Returns the names of the modules behind `#[cfg(test)]` that are in another file.
pub(super) fn test_module_files(code: &str) -> Vec<&str> {
    code.split("#[cfg(test)]")
        .skip(1)
        .filter_map(|rest| {
            let rest = rest.trim_start();
            let rest = rest.strip_prefix("pub(crate) ").unwrap_or(rest).strip_prefix("mod ")?;
            let end = rest.find(|c| !is_name(c))?;
            rest[end..].starts_with(';').then_some(&rest[..end])
        })
        .collect()
}

/// Returns the names of the functions behind `#[test]` and the like, with their lines.
pub(super) fn test_names(code: &str) -> Vec<(usize, &str)> {
    let mut names = Vec::new();
    let mut is_test = false;
    for (number, line) in (1..).zip(code.lines()) {
        let line = line.trim_start();
        is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
        let name = line.split_once("fn ").map(|(_, rest)| rest);
        if is_test && let Some(name) = name {
            let end = name.find(|c| !is_name(c)).unwrap_or(name.len());
            names.push((number, &name[..end]));
            is_test = false;
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str) -> Vec<(bool, Vec<usize>)> {
        comments(text)
            .into_iter()
            .map(|comment| (comment.is_doc, comment.lines.iter().map(|(line, _)| *line).collect()))
            .collect()
    }

    #[test]
    fn adjacent_lines_of_one_kind_are_one_comment() {
        assert_eq!(
            shape("//! a\n//! b\n\n/// c\n// d\nx // e\n// f"),
            [
                (true, vec![1, 2]),
                (true, vec![4]),
                (false, vec![5]),
                (false, vec![6]),
                (false, vec![7]),
            ]
        );
    }

    #[test]
    fn literals_are_not_comments_and_comments_are_not_literals() {
        assert_eq!(shape("\"// a\"\n\"\n// b\n\""), []);
        assert_eq!(product_strings("// \"a\"\n'\"'", ""), [[(2, "' '".to_owned())]]);
    }

    #[test]
    fn strings_of_test_modules_are_left_out() {
        let text = "f(\"a\\n\\\"b\");\n#[cfg(test)]\nmod tests { fn g() { \"c\" } }\n\"d\";";
        let strings = product_strings(text, &super::super::super::source::code_only(text));
        let lines: Vec<_> = strings.iter().map(|lines| lines[0].0).collect();
        assert_eq!(lines, [1, 4]);
        let words = |line: usize| strings[0][line].1.split_whitespace().collect::<Vec<_>>();
        assert_eq!((words(0), words(1)), (vec!["a"], vec!["b"]));
    }

    #[test]
    fn a_continued_literal_has_no_indentation_and_a_new_line_keeps_it() {
        let text = "f(\"us{x}: \\\n     one\\n  two\n three\")";
        let lines: Vec<_> = product_strings(text, "").remove(0);
        let lines: Vec<_> = lines.iter().map(|(line, text)| (*line, text.as_str())).collect();
        assert_eq!(lines, [(1, " us {}: "), (2, "one"), (2, "  two"), (3, " three ")]);
        let raw = product_strings("r#\"a\\n b\"#", "").remove(0);
        assert_eq!(raw, [(1, "r# a\\n b #".to_owned())]);
    }

    #[test]
    fn test_modules_in_other_files_are_named() {
        let code = "#[cfg(test)]\nmod a;\n#[cfg(test)]\nmod b {}\nmod c;\n#[cfg(test)]\nuse d;";
        assert_eq!(test_module_files(code), ["a"]);
    }
}
