//! Text that others wrote, made fit for a terminal, a log or a page.
//!
//! A terminal obeys what it is shown: it moves the cursor over lines already written, sets its
//! title, answers questions as if somebody typed, and draws text in another order than it is in.
//! Whatever came from the agent, its tools or the project goes through [`display_safe`] first.

use std::borrow::Cow;
use std::iter::Peekable;
use std::str::Chars;

/// The text without escape sequences, without control characters but newline and tab, and without
/// controls of writing direction. Borrowed when there is nothing to take out.
///
/// A whole escape sequence goes, not only its first character, so that coloured output stays
/// readable. A carriage return becomes a newline: what a progress bar wrote over is shown, too.
pub fn display_safe(text: &str) -> Cow<'_, str> {
    match text.find(is_unsafe) {
        None => Cow::Borrowed(text),
        Some(first) => Cow::Owned(cleaned(text, first)),
    }
}

/// The text as one safe line of at most so many characters, `…` in place of what is cut off.
/// White space of any kind and length becomes one space.
pub fn one_line(text: &str, max_chars: usize) -> String {
    let safe = display_safe(text);
    let mut line = String::new();
    let mut length = 0;
    for word in safe.split_whitespace() {
        let gap = usize::from(length > 0);
        for c in " ".chars().take(gap).chain(word.chars()) {
            if length == max_chars {
                // The line is full and there is more: its last character makes room.
                if line.pop().is_some() {
                    line.push('…');
                }
                return line;
            }
            line.push(c);
            length += 1;
        }
    }
    line
}

/// Whether a terminal might obey it, or draw other text differently because of it.
fn is_unsafe(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        // C0 and C1, and the delete between them.
        c if c.is_control() => true,
        // Marks, embeddings, overrides and isolates of writing direction.
        '\u{061c}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}' => true,
        _ => false,
    }
}

fn cleaned(text: &str, first: usize) -> String {
    let mut safe = String::with_capacity(text.len());
    safe.push_str(&text[..first]);
    let mut rest = text[first..].chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\r' if rest.peek() == Some(&'\n') => {}
            '\r' => safe.push('\n'),
            '\u{1b}' => skip_escape(&mut rest),
            '\u{9b}' => skip_control_sequence(&mut rest),
            c if begins_string(c) => skip_string(&mut rest),
            c if is_unsafe(c) => {}
            c => safe.push(c),
        }
    }
    safe
}

/// The one-character forms of `ESC P`, `ESC X`, `ESC ]`, `ESC ^` and `ESC _`.
fn begins_string(c: char) -> bool {
    matches!(c, '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}')
}

/// What follows an escape character and belongs to it.
fn skip_escape(rest: &mut Peekable<Chars<'_>>) {
    match rest.peek() {
        Some('[') => {
            rest.next();
            skip_control_sequence(rest);
        }
        Some('P' | 'X' | ']' | '^' | '_') => {
            rest.next();
            skip_string(rest);
        }
        Some(_) => skip_shape(rest, |_| false, '0'..='~'),
        None => {}
    }
}

/// Parameters, intermediates and the final character of a control sequence.
fn skip_control_sequence(rest: &mut Peekable<Chars<'_>>) {
    skip_shape(rest, |c| ('0'..='?').contains(&c), '@'..='~');
}

/// Goes past a sequence of a given shape. One that does not have it is left where it is: were it
/// skipped, an escape character could hide text that people should see.
fn skip_shape(
    rest: &mut Peekable<Chars<'_>>,
    is_parameter: impl Fn(char) -> bool,
    last: std::ops::RangeInclusive<char>,
) {
    let mut ahead = rest.clone();
    while ahead.next_if(|c| is_parameter(*c)).is_some() {}
    while ahead.next_if(|c| (' '..='/').contains(c)).is_some() {}
    if ahead.next_if(|c| last.contains(c)).is_some() {
        *rest = ahead;
    }
}

/// The text of a title, a link or a private command, up to its end on the same line. One without
/// an end stays, or it would hide everything after it. Another control character ends the search,
/// so no text is searched twice.
fn skip_string(rest: &mut Peekable<Chars<'_>>) {
    let mut ahead = rest.clone();
    while let Some(c) = ahead.next() {
        match c {
            '\u{7}' | '\u{9c}' => {
                *rest = ahead;
                return;
            }
            '\u{1b}' if ahead.peek() == Some(&'\\') => {
                ahead.next();
                *rest = ahead;
                return;
            }
            '\n' => return,
            c if is_unsafe(c) => return,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_taken_out() {
        let cases = [
            ("colour", "\u{1b}[1;31mred\u{1b}[0m", "red"),
            ("private mode", "a\u{1b}[?25lb", "ab"),
            ("cursor", "done\u{1b}[2K\u{1b}[1A", "done"),
            ("title", "\u{1b}]0;title\u{7}text", "text"),
            ("link", "\u{1b}]8;;http://x.y/\u{1b}\\here\u{1b}]8;;\u{1b}\\", "here"),
            ("device control", "\u{1b}Pq#0\u{1b}\\x", "x"),
            ("character set", "\u{1b}(Bx", "x"),
            ("reset", "\u{1b}cx", "x"),
            ("one-character forms", "\u{9b}31mx\u{9d}0;t\u{9c}y", "xy"),
            ("lone escape", "a\u{1b}", "a"),
            ("backspace and bell", "rm\u{8}\u{8}ls\u{7}", "rmls"),
            ("delete", "a\u{7f}b", "ab"),
            ("null", "a\0b", "ab"),
            ("override", "a\u{202e}b\u{202c}c", "abc"),
            ("isolate", "a\u{2066}b\u{2069}c\u{200f}\u{61c}", "abc"),
        ];
        for (name, text, safe) in cases {
            assert_eq!(display_safe(text), safe, "{name}");
        }
    }

    #[test]
    fn an_escape_can_not_hide_what_people_should_see() {
        let cases = [
            ("no end", "\u{1b}]0;all is well\nit is not", "0;all is well\nit is not"),
            ("no final", "\u{1b}[12\nshown", "12\nshown"),
            ("escape in a string", "\u{1b}]0;a\u{1b}[0mb\u{7}", "0;ab"),
        ];
        for (name, text, safe) in cases {
            assert_eq!(display_safe(text), safe, "{name}");
        }
    }

    #[test]
    fn a_carriage_return_is_a_new_line() {
        assert_eq!(display_safe("a\r\nb\r\n"), "a\nb\n");
        assert_eq!(display_safe("10%\r20%"), "10%\n20%");
    }

    #[test]
    fn what_is_safe_is_not_copied() {
        for text in ["", "plain\n\ttext", "grüße, 世界, 👩‍💻, e\u{301}"] {
            assert!(matches!(display_safe(text), Cow::Borrowed(same) if same == text));
        }
    }

    #[test]
    fn a_text_of_nothing_but_beginnings_takes_no_time() {
        let text = "\u{9d}".repeat(1 << 20);
        assert_eq!(display_safe(&text), "");
    }

    #[test]
    fn one_line_is_cut_at_a_character() {
        let cases = [
            ("short", 10, "short"),
            ("exactly ten", 11, "exactly ten"),
            ("exactly ten", 10, "exactly t…"),
            ("zwölf Bären", 4, "zwö…"),
            ("  two\n\n lines\t ", 20, "two lines"),
            ("ab cd", 3, "ab…"),
            ("\u{1b}[1mbold\u{1b}[0m\r\nnext", 20, "bold next"),
            ("", 5, ""),
            ("anything", 0, ""),
            ("anything", 1, "…"),
        ];
        for (text, most, line) in cases {
            assert_eq!(one_line(text, most), line, "{text:?} in {most}");
        }
    }

    proptest! {
        #[test]
        fn nothing_dangerous_survives(
            text in r"([\x00-\x20\x7f-\x9f\u{200e}\u{202e}\u{2067}]|[\[\]0-9;mP\\]|\PC){0,40}",
        ) {
            let safe = display_safe(&text);
            prop_assert!(!safe.chars().any(is_unsafe), "{safe:?}");
            prop_assert!(matches!(display_safe(&safe), Cow::Borrowed(_)));
        }

        #[test]
        fn what_is_plain_stays_as_it_is(text in r"[ -~äöü\n\t]{0,80}") {
            prop_assert_eq!(display_safe(&text), text.as_str());
        }

        #[test]
        fn one_line_is_one_safe_line_of_that_length(text in any::<String>(), most in 0_usize..30) {
            let line = one_line(&text, most);
            prop_assert!(line.chars().count() <= most);
            prop_assert!(!line.chars().any(|c| is_unsafe(c) || c == '\n' || c == '\t'));
        }
    }
}
