//! The changes of an edit, as a complete line diff.

use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::output::page::{LineStart, Page};
use crate::output::style::TextColor;

/// The maximum number of lines to diff. Larger edits show all old lines as removed and all new
/// lines as added, because a diff would take too long.
const MAX_PAIRED: usize = 4_000;

/// Shows the diff of two strings: unchanged, removed and added lines.
pub(super) fn show(page: &mut Page<'_>, indent: usize, old: &str, new: &str) {
    let (old, new) = (lines(old), lines(new));
    let begin = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    each(page, indent, "", None, &old[..begin]);
    let (before, after) = (&old[begin..], &new[begin..]);
    let pairs = before.iter().rev().zip(after.iter().rev());
    let end = pairs.take_while(|(old, new)| old == new).count();
    let (before, rest) = before.split_at(before.len() - end);
    let after = &after[..after.len() - end];
    let changes = if before.len() + after.len() > MAX_PAIRED {
        let (old_len, new_len) = (before.len(), after.len());
        vec![DiffOp::Replace { old_index: 0, old_len, new_index: 0, new_len }]
    } else {
        capture_diff_slices(Algorithm::Myers, before, after)
    };
    for change in changes {
        let (old, new) = (&before[change.old_range()], &after[change.new_range()]);
        if let DiffOp::Equal { .. } = change {
            each(page, indent, "", None, old);
        } else {
            each(page, indent, "-", Some(TextColor::Removed), old);
            each(page, indent, "+", Some(TextColor::Added), new);
        }
    }
    each(page, indent, "", None, rest);
}

/// Splits a string into lines. A final newline yields an empty line, because it may be the only
/// change.
fn lines(text: &str) -> Vec<&str> {
    if text.is_empty() { Vec::new() } else { text.split('\n').collect() }
}

fn each(
    page: &mut Page<'_>,
    indent: usize,
    sign: &'static str,
    color: Option<TextColor>,
    lines: &[&str],
) {
    // Align unchanged lines with those that have a sign.
    let indent = if sign.is_empty() { indent + 2 } else { indent };
    for line in lines {
        page.verbatim(LineStart { indent, sign }, color, line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ColorChoice;
    use crate::output::style::{OutputCapabilities, Style};

    fn shown(choice: ColorChoice, old: &str, new: &str) -> String {
        let style = Style::new(choice, &OutputCapabilities::default());
        let mut page = Page::new(&style);
        show(&mut page, 0, old, new);
        page.finish()
    }

    #[test]
    fn context_removed_and_added_lines_are_shown_in_full() {
        let cases = [
            ("a", "b", "- a\n+ b\n"),
            ("a\nb\nc", "a\nB\nc", "  a\n- b\n+ B\n  c\n"),
            ("a\nb", "a\nb\nc", "  a\n  b\n+ c\n"),
            ("", "new\n\ntext", "+ new\n+ \n+ text\n"),
            ("gone", "", "- gone\n"),
            ("a", "a\n", "  a\n+ \n"),
            ("tail", "tail  ", "- tail\n+ tail  \n"),
            ("\told", "    old", "- \told\n+     old\n"),
            ("a\r\nb", "a\nb", "- a\n+ a\n  b\n"),
            ("x\u{1b}[2Jy", "x", "- xy\n+ x\n"),
            ("same", "same", "  same\n"),
            ("", "", ""),
        ];
        for (old, new, expected) in cases {
            assert_eq!(shown(ColorChoice::Never, old, new), expected, "{old:?} to {new:?}");
        }
    }

    #[test]
    fn only_what_changes_has_a_color() {
        let text = shown(ColorChoice::Always, "a\nb", "a\nc");
        assert_eq!(text, "  a\n\u{1b}[31m- b\u{1b}[0m\n\u{1b}[32m+ c\u{1b}[0m\n");
    }

    #[test]
    fn texts_of_very_many_lines_are_shown_without_looking_for_pairs() {
        let text = |word: &str| format!("first\n{}last", format!("{word}\n").repeat(50_000));
        let shown = shown(ColorChoice::Never, &text("old"), &text("new"));
        assert_eq!(shown.lines().count(), 100_002);
        assert!(shown.starts_with("  first\n- old\n") && shown.ends_with("+ new\n  last\n"));
    }
}
