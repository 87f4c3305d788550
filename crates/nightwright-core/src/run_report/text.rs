//! Truncation of external text, which is made safe to show first.

use crate::display::display_safe;

/// Returns the first `most` characters of a string, and states how much follows.
pub(super) fn cut(text: &str, most: usize) -> String {
    let safe = display_safe(text.trim());
    let safe = safe.trim();
    match safe.char_indices().nth(most) {
        None => safe.to_owned(),
        Some((end, _)) => {
            let more = safe[end..].chars().count();
            format!("{}… ({more} more characters)", safe[..end].trim_end())
        }
    }
}

/// Returns the last `most` characters of a string, and states how much precedes them.
pub(super) fn tail(text: &str, most: usize) -> String {
    let safe = display_safe(text.trim());
    let safe = safe.trim();
    let length = safe.chars().count();
    let Some(before) = length.checked_sub(most).filter(|before| *before > 0) else {
        return safe.to_owned();
    };
    let start = safe.char_indices().nth(before).map_or(0, |(start, _)| start);
    format!("({before} characters before)\n…{}", &safe[start..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_off_is_counted() {
        assert_eq!(cut("  short  ", 10), "short");
        assert_eq!(cut("äöüäöü", 3), "äöü… (3 more characters)");
        assert_eq!(tail("short", 10), "short");
        assert_eq!(tail("äöüabc", 3), "(3 characters before)\n…abc");
    }

    #[test]
    fn nothing_that_a_terminal_obeys_is_left() {
        assert_eq!(cut("a\u{1b}[2Jb\u{202e}c", 10), "abc");
        assert_eq!(tail("a\u{1b}[2Jb\u{202e}c", 10), "abc");
    }
}
