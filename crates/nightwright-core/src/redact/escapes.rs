//! JSON escapes at the edges of masked spans, and inside them.

use std::ops::Range;

/// The number of digits after `\u`.
const DIGITS: usize = 4;

/// Shrinks or extends a span so that no escape or character is split. An escape at the start stays
/// before the span, one at the end stays after it.
pub(super) fn keep_whole(bytes: &[u8], span: Range<usize>) -> Range<usize> {
    let Range { mut start, mut end } = span;
    if let Some(behind) = end_of_escape_around(bytes, start) {
        start = behind;
    }
    if let Some(before) = start_of_escape_around(bytes, end) {
        end = before;
    }
    while start > 0 && start < bytes.len() && is_inside_character(bytes[start]) {
        start -= 1;
    }
    while end < bytes.len() && is_inside_character(bytes[end]) {
        end += 1;
    }
    start..end.max(start)
}

/// The end of the escape that contains `at`, if any.
pub(super) fn end_of_escape_around(bytes: &[u8], at: usize) -> Option<usize> {
    let sign = escape_around(bytes, at)?;
    let end = match bytes.get(sign + 1) {
        Some(b'u') => sign + 2 + DIGITS,
        _ => sign + 2,
    };
    Some(end.min(bytes.len()))
}

/// Whether a JSON or URL escape ends at `at`: `\n`, `\u003d`, `%3D`. It may have any number of
/// backslashes, because nested strings double them.
pub(super) fn ends_escape(bytes: &[u8], at: usize) -> bool {
    let are_digits = |digits: &[u8]| digits.iter().all(u8::is_ascii_hexdigit);
    let last =
        |length: usize| at.checked_sub(length).map_or(&bytes[..0], |start| &bytes[start..at]);
    matches!(last(2), [b'\\', b'n' | b'r' | b't' | b'b' | b'f'])
        || matches!(last(3), [b'%', digits @ ..] if are_digits(digits))
        || matches!(last(2 + DIGITS), [b'\\', b'u', digits @ ..] if are_digits(digits))
}

/// The number in `uXXXX`.
pub(super) fn code(rest: &[u8]) -> Option<u32> {
    let digits = rest.strip_prefix(b"u")?.get(..DIGITS)?;
    let is_number = digits.iter().all(u8::is_ascii_hexdigit);
    let text = str::from_utf8(digits).ok().filter(|_| is_number)?;
    u32::from_str_radix(text, 16).ok()
}

fn start_of_escape_around(bytes: &[u8], at: usize) -> Option<usize> {
    if at >= bytes.len() { None } else { escape_around(bytes, at) }
}

/// The backslash of the escape that contains `at`, after its backslash and before its end.
fn escape_around(bytes: &[u8], at: usize) -> Option<usize> {
    let here = *bytes.get(at)?;
    if at > 0
        && is_sign(bytes, at - 1)
        && matches!(here, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' | b'u')
    {
        return Some(at - 1);
    }
    // `at` is one of the digits.
    let sign = (2..=1 + DIGITS).find_map(|back| {
        let sign = at.checked_sub(back)?;
        let digits = bytes.get(sign + 2..=at)?;
        let is_one = bytes[sign + 1] == b'u' && digits.iter().all(u8::is_ascii_hexdigit);
        (is_one && is_sign(bytes, sign)).then_some(sign)
    })?;
    Some(sign)
}

/// Whether the byte is a backslash that escapes the next byte; the second one of a pair does not.
pub(super) fn is_sign(bytes: &[u8], at: usize) -> bool {
    let run = bytes[..=at].iter().rev().take_while(|byte| **byte == b'\\').count();
    run % 2 == 1
}

pub(super) fn is_inside_character(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}
