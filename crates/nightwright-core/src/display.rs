//! Display of untrusted text on a terminal, in a log or on a page.
//!
//! A terminal interprets its output: text can move the cursor over earlier lines, set the title,
//! trigger answers that look like typed input, and reorder characters. All text from the agent, its
//! tools or the project goes through [`display_safe`] first.

use std::borrow::Cow;
use std::iter::Peekable;
use std::str::Chars;

/// The number of bytes examined together.
const BLOCK: usize = 64;

/// The text without escape sequences, control characters other than newline and tab, bidirectional
/// controls and invisible characters. Borrowed if nothing has to be removed.
///
/// Characters that join or vary others stay, because many scripts and emoji need them. A soft
/// hyphen stays, too: it is shown only at a line break.
///
/// A whole escape sequence is removed, not only its first character, so that colored output stays
/// readable. A carriage return becomes a newline, so that text overwritten by a progress bar is
/// shown.
pub fn display_safe(text: &str) -> Cow<'_, str> {
    match first_unsafe(text) {
        None => Cow::Borrowed(text),
        Some(first) => Cow::Owned(cleaned(text, first)),
    }
}

/// The position of the first unsafe character. Most text is plain, and is scanned in blocks.
fn first_unsafe(text: &str) -> Option<usize> {
    let mut start = 0;
    while start < text.len() {
        let end = text.ceil_char_boundary(start + BLOCK);
        let block = &text[start..end];
        let is_plain = |byte: u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t');
        // There is no early exit, so that the bytes can be processed together.
        let plain = block.bytes().fold(true, |plain, byte| plain & is_plain(byte));
        if !plain && let Some(at) = block.find(is_unsafe) {
            return Some(start + at);
        }
        start = end;
    }
    None
}

/// The text as one safe line of at most `max_chars` characters, with `…` in place of the rest. Any
/// white space becomes one space.
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

/// Whether a character can control a terminal, change how other text is drawn, or is invisible.
pub fn is_unsafe(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        // C0 and C1, and the delete character between them.
        c if c.is_control() => true,
        // Bidirectional marks, embeddings, overrides and isolates.
        '\u{061c}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}' => true,
        // Line and paragraph separators, which only some programs treat as line ends.
        '\u{2028}' | '\u{2029}' => true,
        // Zero-width spaces, joiners and operators, deprecated formats, invisible letters and
        // vowels, musical beams, the byte order mark, annotations, and tags and variation selectors
        // that can hide a second text.
        '\u{034f}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180e}'
        | '\u{200b}'
        | '\u{2060}'..='\u{2064}'
        | '\u{206a}'..='\u{206f}'
        | '\u{3164}'
        | '\u{ffa0}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e007f}'
        | '\u{e0100}'..='\u{e01ef}' => true,
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
            // Only Unicode treats these as line ends: one line stays one.
            '\u{2028}' | '\u{2029}' => safe.push(' '),
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

/// Skips the characters after an escape character that belong to it.
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

/// Skips parameters, intermediates and the final character of a control sequence.
fn skip_control_sequence(rest: &mut Peekable<Chars<'_>>) {
    skip_shape(rest, |c| ('0'..='?').contains(&c), '@'..='~');
}

/// Skips a sequence of a given shape. Any other text is kept, so that an escape character cannot
/// hide text.
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

/// Skips the text of a title, a link or a private command, up to its end on the same line. One
/// without an end is kept, because removing it would also remove everything after it. Another
/// control character ends the search, so no text is searched twice.
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
mod tests;
