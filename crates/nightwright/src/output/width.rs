//! Text width: counts and truncates text by terminal columns.
//!
//! A wide character takes two columns, a combining mark none. Characters that form one glyph take
//! the columns of that glyph. Text is never cut inside such a group, because the rest would be a
//! different glyph.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// The number of columns of a string without control characters.
pub(super) fn columns(text: &str) -> usize {
    groups(text).map(|(_, group)| group.width()).sum()
}

/// Truncates a string to a number of columns, with `mark` at the end.
pub(super) fn cut<'a>(text: &'a str, most: usize, mark: &str) -> Cow<'a, str> {
    let room = most.saturating_sub(mark.width());
    let (mut taken, mut end) = (0, 0);
    for (start, group) in groups(text) {
        taken += group.width();
        if taken <= room {
            end = start + group.len();
        }
        if taken > most {
            // Leave out a mark that does not fit.
            let mark = if mark.width() <= most { mark } else { "" };
            return Cow::Owned(format!("{}{mark}", &text[..end]));
        }
    }
    Cow::Borrowed(text)
}

/// The groups of characters that form one glyph, with their byte offsets.
fn groups(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let start = text.len() - rest.len();
        let mut characters = rest.char_indices();
        let (_, first) = characters.next()?;
        let (mut before, mut flags) = (first, u32::from(is_flag_letter(first)));
        let mut end = rest.len();
        for (at, next) in characters {
            if !belongs(before, next, flags) {
                end = at;
                break;
            }
            flags += u32::from(is_flag_letter(next));
            before = next;
        }
        let (group, left) = rest.split_at(end);
        rest = left;
        Some((start, group))
    })
}

/// Whether a character belongs to the group before it. A flag consists of two letters.
fn belongs(before: char, next: char, flags: u32) -> bool {
    let is_joined = before == '\u{200d}' && next.width() != Some(1);
    let is_skin = matches!(next, '\u{1f3fb}'..='\u{1f3ff}') && before.width() == Some(2);
    let is_flag = is_flag_letter(before) && is_flag_letter(next) && flags == 1;
    next.width() == Some(0) || is_joined || is_skin || is_flag
}

fn is_flag_letter(c: char) -> bool {
    matches!(c, '\u{1f1e6}'..='\u{1f1ff}')
}

#[cfg(test)]
mod tests {
    use nightwright_core::display::one_line;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_text_is_cut_between_what_is_drawn_as_one() {
        let cases = [
            ("short", 10, "short"),
            ("exactly", 7, "exactly"),
            ("too long", 7, "too lo…"),
            ("世界世界", 8, "世界世界"),
            ("世界世界", 7, "世界世…"),
            ("世界世界", 6, "世界…"),
            ("e\u{301}e\u{301}e\u{301}", 3, "e\u{301}e\u{301}e\u{301}"),
            ("e\u{301}e\u{301}e\u{301}", 2, "e\u{301}…"),
            ("e\u{301}", 1, "e\u{301}"),
            ("👩‍💻👩‍💻👩‍💻", 6, "👩‍💻👩‍💻👩‍💻"),
            ("👩‍💻👩‍💻👩‍💻", 5, "👩‍💻👩‍💻…"),
            ("👍🏽👍🏽", 3, "👍🏽…"),
            ("🇩🇪🇫🇷🇮🇹", 5, "🇩🇪🇫🇷…"),
            ("ab", 1, "…"),
            ("ab", 0, ""),
            ("", 0, ""),
        ];
        for (text, most, kept) in cases {
            assert_eq!(cut(text, most, "…"), kept, "{text} in {most}");
        }
        assert_eq!(cut("a longer one", 8, "..."), "a lon...");
        assert_eq!(cut("a longer one", 2, "..."), "");
    }

    proptest! {
        #[test]
        fn any_text_takes_no_more_than_it_may(
            text in r"([a-z ]|[äé世界]|[\u{300}-\u{303}\u{200d}\u{fe0f}]|[👍👩💻🏽🇩🇪]|\PC){0,40}",
            most in 0_usize..30,
        ) {
            let text = one_line(&text, 1_000);
            let kept = cut(&text, most, "…");
            prop_assert!(columns(&kept) <= most, "{kept:?}");
            let begins = kept == text || text.starts_with(kept.strip_suffix('…').unwrap_or(&kept));
            prop_assert!(begins, "{text:?} became {kept:?}");
            let next = text[kept.trim_end_matches('…').len().min(text.len())..].chars().next();
            if kept != text && !text.contains('…') {
                prop_assert!(next.is_none_or(|next| next.width() != Some(0) || kept.len() <= 3));
            }
        }
    }
}
