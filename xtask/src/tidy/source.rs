//! A minimal scanner for Rust that distinguishes code from comments and literals.

use std::collections::BTreeSet;
use std::ops::Range;

/// Returns the text with comments and literals blanked out. Line numbers stay the same.
pub(super) fn code_only(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut end = 0;
    for range in hidden(text) {
        let blank = |c| if c == '\n' { '\n' } else { ' ' };
        code.push_str(&text[end..range.start]);
        code.extend(text[range.clone()].chars().map(blank));
        end = range.end;
    }
    code.push_str(&text[end..]);
    code
}

/// Returns the ranges of the text that are comments or literals, in order.
pub(super) fn hidden(text: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut at = 0;
    let mut previous = ' ';
    while let Some(next) = text[at..].chars().next() {
        let length = hidden_length(&text[at..], previous);
        if length == 0 {
            previous = next;
            at += next.len_utf8();
        } else {
            ranges.push(at..at + length);
            previous = ' ';
            at += length;
        }
    }
    ranges
}

/// Returns the lines, starting at 1, that name any of the paths, in full or through the braces of a
/// `use`. Only whole names match: `std::fs` is not in `std::fsync`, nor `Command::new(` in
/// `SubCommand::new(`.
pub(super) fn mentions<'n>(code: &str, needles: &[&'n str]) -> BTreeSet<(usize, &'n str)> {
    let mut places: Vec<(usize, String)> = imports(code);
    places.extend((1..).zip(code.lines().map(str::to_owned)));

    let mut found = BTreeSet::new();
    for (line, text) in places {
        let named = |needle: &&&str| whole_words(&text, needle).next().is_some();
        found.extend(needles.iter().filter(named).map(|needle| (line, *needle)));
    }
    found
}

/// Returns the positions at which the needle is a whole word and not a part of a name.
pub(super) fn whole_words(text: &str, needle: &str) -> impl Iterator<Item = usize> {
    text.match_indices(needle).map(|(at, _)| at).filter(move |&at| {
        let before = text[..at].chars().next_back();
        let after = text[at + needle.len()..].chars().next();
        let cut_before = needle.starts_with(is_name) && before.is_some_and(is_name);
        let cut_after = needle.ends_with(is_name) && after.is_some_and(is_name);
        !cut_before && !cut_after
    })
}

pub(super) fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns the length of the comment or literal at the start of the text; 0 if it is code.
fn hidden_length(text: &str, previous: char) -> usize {
    if text.starts_with("//") {
        text.find('\n').unwrap_or(text.len())
    } else if text.starts_with("/*") {
        block_comment(text)
    } else if text.starts_with('"') {
        quoted(text, '"')
    } else if text.starts_with('\'') {
        character(text)
    } else if is_name(previous) {
        0
    } else {
        raw_string(text)
    }
}

/// Returns the length of a block comment, which may contain others.
fn block_comment(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// Returns the length up to the closing quote; a backslash escapes the next character.
fn quoted(text: &str, quote: char) -> usize {
    let mut characters = text.char_indices().skip(1);
    while let Some((at, c)) = characters.next() {
        if c == '\\' {
            characters.next();
        } else if c == quote {
            return at + 1;
        }
    }
    text.len()
}

/// Returns the length of a character literal; 0 for a lifetime.
fn character(text: &str) -> usize {
    let mut following = text.chars().skip(1);
    match (following.next(), following.next()) {
        (Some('\\'), _) => quoted(text, '\''),
        (Some(c), Some('\'')) => 2 + c.len_utf8(),
        _ => 0,
    }
}

/// Returns the length of `r"..."` with any number of `#`, or of its byte and C variants.
fn raw_string(text: &str) -> usize {
    let after_prefix = text.strip_prefix(['b', 'c']).unwrap_or(text);
    let Some(after_r) = after_prefix.strip_prefix('r') else {
        return 0;
    };
    let content = after_r.trim_start_matches('#');
    if !content.starts_with('"') {
        return 0;
    }
    let hashes = after_r.len() - content.len();
    let end = format!("\"{}", "#".repeat(hashes));
    let before = text.len() - content.len() + 1;
    content[1..].find(&end).map_or(text.len(), |at| before + at + end.len())
}

/// Returns the full paths that each `use` imports, with their lines.
fn imports(code: &str) -> Vec<(usize, String)> {
    whole_words(code, "use ")
        .flat_map(|at| {
            let line = code[..at].matches('\n').count() + 1;
            let statement = code[at..].split(';').next().unwrap_or_default();
            expand(&statement["use ".len()..], line)
        })
        .collect()
}

/// Expands `a::{b, c::d}` to `a::b` and `a::c::d`.
fn expand(tree: &str, first_line: usize) -> Vec<(usize, String)> {
    let mut paths = Vec::new();
    let mut open = Vec::new();
    let mut prefix = String::new();
    let mut part = String::new();
    let mut line = first_line;
    for c in tree.chars().chain([',']) {
        match c {
            '{' => {
                open.push(prefix.clone());
                prefix.push_str(part.trim());
                part.clear();
            }
            ',' | '}' => {
                if !part.trim().is_empty() {
                    paths.push((line, format!("{prefix}{}", part.trim())));
                }
                part.clear();
                if c == '}' {
                    prefix = open.pop().unwrap_or_default();
                }
            }
            '\n' => line += 1,
            _ => part.push(c),
        }
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(code: &str, needle: &str) -> Vec<usize> {
        mentions(&code_only(code), &[needle]).into_iter().map(|(line, _)| line).collect()
    }

    #[test]
    fn comments_and_literals_are_not_code() {
        for text in [
            "// x\n",
            "/// x\n//! x",
            "/* x /* x */ x */",
            r#""x \" x""#,
            r##"r#"x " x"#"##,
            r##"br#"x"#"##,
            "b\"x\"",
            "'x'",
            r"'\'' /* x */ 'x'",
            "\"unclosed x",
            "/* unclosed x",
        ] {
            assert!(!code_only(text).contains('x'), "{text}");
        }
    }

    #[test]
    fn text_after_a_comment_or_literal_is_code_again() {
        for text in [
            "// a\nx",
            "/* a /* a */ a */ x",
            r#""a \\" x"#,
            r##"r#"a"# x"##,
            r"'\\' x",
            "'ä' x",
            "fn f<'a>(x: &'a str)",
            "r#type x",
        ] {
            assert_eq!(code_only(text).matches('x').count(), 1, "{text}");
        }
    }

    #[test]
    fn lines_stay_where_they_were() {
        let text = "a\n/* b\nb */ c\n\"d\n d\"\ne";
        assert_eq!(code_only(text).lines().count(), text.lines().count());
        assert_eq!(lines(text, "e"), [6]);
    }

    #[test]
    fn a_path_is_found_written_out_and_inside_braces() {
        assert_eq!(lines("a();\nstd::fs::read(x);", "std::fs"), [2]);
        assert_eq!(lines("use std::{io, fs};", "std::fs"), [1]);
        assert_eq!(
            lines(
                "use std::{\n    collections::{\n        A,\n    },\n    fs::File,\n};",
                "std::fs"
            ),
            [5]
        );
        assert_eq!(lines("pub use std::{fs as files};", "std::fs"), [1]);
        assert_eq!(lines("use a::{b::{c, d}, e};", "a::e"), [1]);
    }

    #[test]
    fn a_part_of_a_name_is_not_the_name() {
        assert!(lines("std::fsync::x(); mystd::fs::x();", "std::fs").is_empty());
        assert!(lines("SubCommand::new(x)", "Command::new(").is_empty());
        assert!(lines("use std::{io::fs};", "std::fs").is_empty());
        assert!(lines("use a::{b::{c}, fs};", "b::fs").is_empty());
    }
}
