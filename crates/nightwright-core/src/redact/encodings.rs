//! Known values, in the encodings that programs use: verbatim, escaped for JSON or nested JSON,
//! encoded for a URL, and in base64.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

use super::escapes::is_inside_character;
use super::values::MIN_SECRET_LEN;

/// Longer values are searched for in pieces.
const LONG: usize = 128;
/// The length of a piece, in bytes.
const PIECE: usize = 64;
/// The maximum number of nested JSON encodings of a value.
const LEVELS: usize = 4;

/// The way a program encodes strings in JSON.
struct JsonStyle {
    /// Characters that are encoded by number, besides control characters.
    numbered: &'static str,
    /// Whether all characters outside of ASCII are encoded by number.
    ascii: bool,
    /// Whether hexadecimal digits are upper case.
    upper: bool,
}

const fn style(numbered: &'static str, ascii: bool, upper: bool) -> JsonStyle {
    JsonStyle { numbered, ascii, upper }
}

/// JavaScript and Rust; Python and PHP; Java; Go; .NET.
const PLAIN: JsonStyle = style("", false, false);
const STYLES: [JsonStyle; 6] = [
    PLAIN,
    style("", true, false),
    style("", true, true),
    style("<>&\u{2028}\u{2029}", false, false),
    style("<>&\"'+`", true, false),
    style("<>&\"'+`", true, true),
];

/// The characters that stay in a URL, and the encoding of a space: RFC 3986, paths, JavaScript,
/// forms.
const URL_STYLES: [(&[u8], &str); 5] =
    [(b"-._~", "%20"), (b"-._~/", "%20"), (b"-._~!'()*", "%20"), (b"-._*", "+"), (b"-._~", "+")];

/// The encodings of these values. Those with line ends are left out, because matches never span
/// lines.
pub(super) fn encodings(values: &[Vec<u8>]) -> BTreeSet<Vec<u8>> {
    let mut all = BTreeSet::new();
    for piece in values.iter().flat_map(|value| pieces(value)) {
        add_encodings(piece, &mut all);
    }
    all.retain(|encoding| !encoding.contains(&b'\n'));
    all
}

/// Splits a value into pieces that can be searched for, without the punctuation around it, which
/// reveals nothing.
fn pieces(value: &[u8]) -> Vec<&[u8]> {
    let is_sign = |byte: &u8| byte.is_ascii() && !byte.is_ascii_alphanumeric();
    let first = value.iter().position(|byte| !is_sign(byte)).unwrap_or(0);
    let end = value.iter().rposition(|byte| !is_sign(byte)).map_or(value.len(), |last| last + 1);
    let bare = &value[first..end];
    let is_enough = String::from_utf8_lossy(bare).chars().count() >= MIN_SECRET_LEN;
    let mut rest = if is_enough { bare } else { value };
    let mut pieces = Vec::new();
    while rest.len() > LONG {
        let end = (PIECE..LONG).find(|at| !is_inside_character(rest[*at])).unwrap_or(PIECE);
        pieces.push(&rest[..end]);
        rest = &rest[end..];
    }
    pieces.push(rest);
    pieces
}

/// Adds every encoding of a value. Invalid UTF-8 becomes a replacement character in JSON.
fn add_encodings(value: &[u8], all: &mut BTreeSet<Vec<u8>>) {
    all.insert(value.to_vec());
    let text = String::from_utf8_lossy(value);
    all.insert(text.as_bytes().to_vec());
    for style in STYLES {
        let mut escaped = style.escape(&text);
        for _ in 0..LEVELS {
            let again = PLAIN.escape(&escaped);
            all.insert(escaped.into_bytes());
            escaped = again;
        }
    }
    for (kept, space) in URL_STYLES {
        all.insert(percent_encoded(value, kept, space, false));
        all.insert(percent_encoded(value, kept, space, true));
    }
    // The base64 encoding of a byte depends on its position. Characters at the edges contain bits
    // of their neighbours, so they are left out.
    for engine in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
        for (shift, first) in [(0, 0), (1, 2), (2, 3)] {
            let shifted = [&[0; 2][..shift], value].concat();
            let encoded = engine.encode(&shifted).into_bytes();
            let end = encoded.len() - usize::from(!shifted.len().is_multiple_of(3));
            all.insert(encoded[first..end].to_vec());
        }
    }
}

impl JsonStyle {
    fn escape(&self, text: &str) -> String {
        let mut escaped = String::with_capacity(text.len());
        for c in text.chars() {
            match c {
                c if self.numbered.contains(c) || (self.ascii && !c.is_ascii()) => {
                    self.number(&mut escaped, c);
                }
                '"' | '\\' => escaped.extend(['\\', c]),
                '\n' => escaped.push_str(r"\n"),
                '\r' => escaped.push_str(r"\r"),
                '\t' => escaped.push_str(r"\t"),
                '\u{8}' => escaped.push_str(r"\b"),
                '\u{c}' => escaped.push_str(r"\f"),
                c if c < ' ' => self.number(&mut escaped, c),
                c => escaped.push(c),
            }
        }
        escaped
    }

    fn number(&self, escaped: &mut String, c: char) {
        for unit in c.encode_utf16(&mut [0; 2]) {
            put_hex(escaped, r"\u", *unit, 4, self.upper);
        }
    }
}

fn percent_encoded(value: &[u8], kept: &[u8], space: &str, upper: bool) -> Vec<u8> {
    let mut encoded = String::with_capacity(value.len());
    for byte in value {
        match byte {
            byte if byte.is_ascii_alphanumeric() || kept.contains(byte) => {
                encoded.push(char::from(*byte));
            }
            b' ' => encoded.push_str(space),
            byte => put_hex(&mut encoded, "%", u16::from(*byte), 2, upper),
        }
    }
    encoded.into_bytes()
}

fn put_hex(text: &mut String, front: &str, number: u16, width: usize, upper: bool) {
    let written = if upper {
        write!(text, "{front}{number:0width$X}")
    } else {
        write!(text, "{front}{number:0width$x}")
    };
    written.expect("writing to memory can't fail");
}
