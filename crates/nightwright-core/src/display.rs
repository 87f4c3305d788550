//! Text that others wrote, made fit for a terminal, a log or a page.
//!
//! A terminal obeys what it is shown: it moves the cursor over lines already written, sets its
//! title, answers questions as if somebody typed, and draws text in another order than it is in.
//! Whatever came from the agent, its tools or the project goes through [`display_safe`] first.

use std::borrow::Cow;
use std::iter::Peekable;
use std::str::Chars;

/// So many bytes are looked at together.
const BLOCK: usize = 64;

/// The text without escape sequences, without control characters but newline and tab, without
/// controls of writing direction and without what can't be seen. Borrowed when there is nothing to
/// take out.
///
/// What joins or varies characters stays: whole scripts and half of all emoji are made with it. A
/// soft hyphen stays, too: whoever does not break a line there shows nothing.
///
/// A whole escape sequence goes, not only its first character, so that coloured output stays
/// readable. A carriage return becomes a newline: what a progress bar wrote over is shown, too.
pub fn display_safe(text: &str) -> Cow<'_, str> {
    match first_unsafe(text) {
        None => Cow::Borrowed(text),
        Some(first) => Cow::Owned(cleaned(text, first)),
    }
}

/// Where the first character is that must go. Most text is plain, and is looked through many bytes at
/// once.
fn first_unsafe(text: &str) -> Option<usize> {
    let mut start = 0;
    while start < text.len() {
        let end = text.ceil_char_boundary(start + BLOCK);
        let block = &text[start..end];
        let is_plain = |byte: u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t');
        // Without a way out early, so that the bytes need not be asked one by one.
        let plain = block.bytes().fold(true, |plain, byte| plain & is_plain(byte));
        if !plain && let Some(at) = block.find(is_unsafe) {
            return Some(start + at);
        }
        start = end;
    }
    None
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

/// Whether a terminal might obey it, or draw other text differently because of it, or whether it is
/// there without being seen.
pub fn is_unsafe(c: char) -> bool {
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
        // Ends of lines and paragraphs that some programs take for ends of lines, and others not.
        '\u{2028}' | '\u{2029}' => true,
        // Spaces, joiners and operators without a width, formats that nobody should use, letters
        // and vowels that are not drawn, beams of music, the mark of a byte order, annotations, and
        // the tags and further variants in which a second text can be hidden.
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
            // Ends of lines to nobody but Unicode: what is one line stays one.
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
mod tests;
