//! Markdown escaping: code spans and code blocks that a string cannot close.
//!
//! External text must not become a heading, a link, HTML or a mention. No escaping works in every
//! renderer (a backslash before `@` still mentions the person), but all renderers leave code alone.
//! External text is therefore put in code spans and code blocks, unless it is too plain to have any
//! effect.

use crate::display::one_line;
use crate::run_report::format::NOTHING;

/// Maximum length of external text in a line, in characters.
const MAX_LINE_CHARS: usize = 400;

/// Formats one line of external text: plain if it is harmless, as code otherwise.
pub(super) fn inline(text: &str) -> String {
    let line = one_line(text, MAX_LINE_CHARS);
    if line.is_empty() {
        return NOTHING.to_owned();
    }
    let mut out = String::new();
    let mut rest = line.as_str();
    while let Some((before, rest_of)) = rest.split_once('`') {
        let Some((inner, after)) = rest_of.split_once('`') else { break };
        add(&mut out, before);
        add_code(&mut out, inner);
        rest = after;
    }
    add(&mut out, rest);
    out
}

fn add(out: &mut String, piece: &str) {
    let words = piece.trim();
    if words.is_empty() || is_plain(piece) {
        out.push_str(piece);
        return;
    }
    if piece.starts_with(' ') {
        out.push(' ');
    }
    add_code(out, words);
    if piece.ends_with(' ') {
        out.push(' ');
    }
}

fn add_code(out: &mut String, text: &str) {
    // Two adjacent code spans would merge into one with different ends.
    if out.ends_with('`') {
        out.push(' ');
    }
    out.push_str(&code(text));
}

/// Whether no renderer gives the text a special meaning: letters, digits and harmless punctuation.
fn is_plain(text: &str) -> bool {
    let marks = |c: char| c.is_alphanumeric() || " ,;.:?'()/$%-…".contains(c);
    text.chars().all(marks) && text.split(' ').all(is_plain_word)
}

fn is_plain_word(word: &str) -> bool {
    let inner = word.trim_matches(|c: char| " ,;.:?'()…".contains(c));
    let is_figure = |text: &str| text.chars().all(|c| c.is_ascii_digit() || ",.%$".contains(c));
    if is_figure(inner) {
        return true;
    }
    // A dot, colon or slash inside a word may form an address, and a digit after a dash an issue
    // number. Seven hexadecimal digits may form a commit hash.
    let may_be_link = inner.contains(['.', ':', '/', '$', '%']);
    let may_be_issue = inner.contains('-') && inner.contains(|c: char| c.is_ascii_digit());
    let may_be_commit = inner.len() >= 7 && inner.chars().all(|c| c.is_ascii_hexdigit());
    let is_rule = !inner.contains(char::is_alphanumeric) && !inner.is_empty();
    !may_be_link && !may_be_issue && !may_be_commit && !is_rule
}

/// Formats a code span that the text cannot close.
pub(super) fn code(text: &str) -> String {
    let line = one_line(text, MAX_LINE_CHARS);
    if line.is_empty() {
        return NOTHING.to_owned();
    }
    let fence = "`".repeat(longest_run(&line) + 1);
    let gap = if line.starts_with('`') || line.ends_with('`') { " " } else { "" };
    format!("{fence}{gap}{line}{gap}{fence}")
}

/// Formats a code block that the text cannot close.
pub(super) fn block(text: &str) -> String {
    let fence = "`".repeat(longest_run(text).max(2) + 1);
    format!("{fence}text\n{text}\n{fence}")
}

/// The length of the longest sequence of backticks.
fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_words_stay_plain_and_all_others_are_code() {
        for plain in ["Reached maximum iterations (10)", "Blocked: a key, please; 3 of 4", "$0.42"]
        {
            assert_eq!(inline(plain), plain);
        }
        for (text, shown) in [
            ("ask @someone", "`ask @someone`"),
            ("see #12", "`see #12`"),
            ("see GH-12", "`see GH-12`"),
            ("www.example.org now", "`www.example.org now`"),
            ("https://example.org", "`https://example.org`"),
            ("[a](b)", "`[a](b)`"),
            ("<b>x</b>", "`<b>x</b>`"),
            ("# big", "`# big`"),
            ("*a* _b_", "`*a* _b_`"),
            ("deadbee1", "`deadbee1`"),
            ("---", "`---`"),
            ("a\n# b", "`a # b`"),
            ("", "—"),
        ] {
            assert_eq!(inline(text), shown);
        }
    }

    #[test]
    fn commands_in_sentences_of_nightwright_stay_code() {
        assert_eq!(
            inline("verified by `make test` and a verdict"),
            "verified by `make test` and a verdict"
        );
        assert_eq!(inline("`a``b`"), "`a` `b`");
        assert_eq!(inline("@x`y`"), "`@x` `y`");
    }

    #[test]
    fn backticks_do_not_lead_out_of_code() {
        assert_eq!(code("a ` b"), "``a ` b``");
        assert_eq!(code("`a`"), "`` `a` ``");
        assert_eq!(inline("one ` and @two"), "``one ` and @two``");
        assert_eq!(block("```\n# big"), "````text\n```\n# big\n````");
    }
}
