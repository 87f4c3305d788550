//! Masks comments and strings in source text, preserving all byte positions.

use super::patterns::Language;

/// The number of bytes searched backwards to see whether a value is expected.
const MAX_BACK: usize = 100;

/// The maximum length of a pattern literal.
const MAX_LITERAL: usize = 500;

/// A text with parts of it blanked. All versions have the length and lines of the original.
#[derive(Debug)]
pub(super) struct MaskedSource {
    /// The text without the content of comments and strings.
    pub(super) code: String,
    /// The text without the content of strings.
    pub(super) without_strings: String,
    /// The text without comments.
    pub(super) without_comments: String,
}

/// Blanks comments and strings. This is approximate: a language is known only by what opens and
/// closes them.
pub(super) fn mask(text: &str, language: &Language) -> MaskedSource {
    let buffer = || Vec::with_capacity(text.len());
    let mut masking = SourceMasker {
        text,
        code: buffer(),
        without_strings: buffer(),
        without_comments: buffer(),
        at: 0,
    };
    let mut opens = [false; 256];
    opens[usize::from(b'/')] = language.pattern_literals;
    for token in tokens(language).filter_map(|token| token.as_bytes().first()) {
        opens[usize::from(*token)] = true;
    }
    while let Some(byte) = text.as_bytes().get(masking.at) {
        if !opens[usize::from(*byte)] || !masking.token(language) {
            masking.keep(masking.at + 1);
        }
    }
    // Whole characters are kept or blanked, so that the result stays valid text.
    MaskedSource {
        code: string(masking.code),
        without_strings: string(masking.without_strings),
        without_comments: string(masking.without_comments),
    }
}

fn tokens(language: &Language) -> impl Iterator<Item = &String> {
    let pairs = language.blocks.iter().chain(&language.strings).map(|[open, _]| open);
    language.skip.iter().chain(&language.comments).chain(pairs)
}

fn string(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

struct SourceMasker<'a> {
    text: &'a str,
    code: Vec<u8>,
    without_strings: Vec<u8>,
    without_comments: Vec<u8>,
    at: usize,
}

impl SourceMasker<'_> {
    /// Consumes a comment or a string that begins here, if any.
    fn token(&mut self, language: &Language) -> bool {
        let rest = &self.text.as_bytes()[self.at..];
        let begins = |token: &&String| rest.starts_with(token.as_bytes());
        if let Some(token) = language.skip.iter().find(begins) {
            self.keep(self.at + token.len());
            return true;
        }
        if language.comments.iter().any(|token| begins(&token)) {
            self.comment(self.at + memchr::memchr(b'\n', rest).unwrap_or(rest.len()));
            return true;
        }
        if let Some([open, close]) = language.blocks.iter().find(|[open, _]| begins(&open)) {
            self.comment(self.at + open.len() + through(&rest[open.len()..], close).end);
            return true;
        }
        if language.pattern_literals
            && let Some(end) = pattern_literal(self.text.as_bytes(), self.at)
        {
            self.keep(self.at + 1);
            self.blank(end - 1);
            self.keep(end);
            return true;
        }
        let Some([open, close]) = language.strings.iter().find(|[open, _]| begins(&open)) else {
            return false;
        };
        let inside = &rest[open.len()..];
        let span = match open.len() {
            1 => short(inside, close, language.long.contains(open)),
            _ => through(inside, close),
        };
        let start = self.at + open.len();
        self.keep(start);
        self.blank(start + span.inside);
        self.keep(start + span.end);
        true
    }

    fn keep(&mut self, to: usize) {
        let bytes = &self.text.as_bytes()[self.at..to];
        self.code.extend_from_slice(bytes);
        self.without_strings.extend_from_slice(bytes);
        self.without_comments.extend_from_slice(bytes);
        self.at = to;
    }

    fn comment(&mut self, to: usize) {
        let bytes = &self.text.as_bytes()[self.at..to];
        self.code.extend(bytes.iter().map(|byte| blank(*byte)));
        self.without_strings.extend_from_slice(bytes);
        self.without_comments.extend(bytes.iter().map(|byte| blank(*byte)));
        self.at = to;
    }

    fn blank(&mut self, to: usize) {
        let bytes = &self.text.as_bytes()[self.at..to];
        self.code.extend(bytes.iter().map(|byte| blank(*byte)));
        self.without_strings.extend(bytes.iter().map(|byte| blank(*byte)));
        self.without_comments.extend_from_slice(bytes);
        self.at = to;
    }
}

fn blank(byte: u8) -> u8 {
    if byte == b'\n' { byte } else { b' ' }
}

/// The end of a pattern literal that begins here: `/` where a value is expected, and another one on
/// the same line.
fn pattern_literal(bytes: &[u8], at: usize) -> Option<usize> {
    if bytes.get(at) != Some(&b'/') {
        return None;
    }
    let before = bytes[at.saturating_sub(MAX_BACK)..at].trim_ascii_end();
    let expects_value = match before.last() {
        None => true,
        Some(last) if b"(,=:[!&|?{;+".contains(last) => true,
        Some(_) => [&b"=>"[..], b"return", b"case", b"typeof"].iter().any(|w| before.ends_with(w)),
    };
    let line = &bytes[at..bytes.len().min(at + MAX_LITERAL)];
    let (mut index, mut in_class) = (1, false);
    while expects_value && let Some(byte) = line.get(index) {
        match *byte {
            b'\n' => return None,
            b'\\' => index += 1,
            b'[' => in_class = true,
            b']' => in_class = false,
            b'/' if !in_class => return Some(at + index + 1),
            _ => {}
        }
        index += 1;
    }
    None
}

/// The length of a string or comment after its opening, without and with its closing.
struct LiteralSpan {
    inside: usize,
    end: usize,
}

/// Measures up to the closing, or to the end if there is none.
fn through(bytes: &[u8], close: &str) -> LiteralSpan {
    match memchr::memmem::find(bytes, close.as_bytes()) {
        Some(inside) => LiteralSpan { inside, end: inside + close.len() },
        None => LiteralSpan { inside: bytes.len(), end: bytes.len() },
    }
}

/// Finds the end of a literal in which `\` escapes. Unless it is a long one, the end of the line
/// closes it too.
fn short(bytes: &[u8], close: &str, long: bool) -> LiteralSpan {
    let closing = close.as_bytes().first().copied().unwrap_or(b'\n');
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match *byte {
            b'\n' if !long => return LiteralSpan { inside: at, end: at },
            b'\\' if bytes.get(at + 1).is_some_and(|next| *next != b'\n' || long) => at += 2,
            byte if byte == closing => return LiteralSpan { inside: at, end: at + 1 },
            _ => at += 1,
        }
    }
    LiteralSpan { inside: bytes.len(), end: bytes.len() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tamper::patterns::PATTERNS;

    fn code(path: &str, text: &str) -> String {
        let masked = mask(text, PATTERNS.language(path).unwrap().0);
        assert_eq!(masked.code.len(), text.len());
        assert_eq!(masked.without_strings.len(), text.len());
        assert_eq!(masked.without_comments.len(), text.len());
        masked.code
    }

    #[test]
    fn comments_and_the_insides_of_strings_are_blank() {
        assert_eq!(code("a.rs", "a // b\n\"c\" d /* e\nf */ g"), "a     \n\" \" d     \n     g");
        assert_eq!(
            code("a.rs", r##"r#"x"y"# + "\"z" 'a' '"' b"##),
            r##"r#"   "# + "   " 'a' '"' b"##
        );
        assert_eq!(code("a.py", "'''a\n\"b''' c # d"), "''' \n  ''' c    ");
        assert_eq!(code("a.js", "`a\n${b}` + 'ö\\'' // `"), "` \n    ` + '    '     ");
        assert_eq!(code("a.js", "a('b\nc'd"), "a(' \nc' ");
    }

    #[test]
    fn a_literal_does_not_swallow_what_stands_behind_it() {
        assert_eq!(code("a.js", "f(/^[`~/]{3}/, a)"), "f(/         /, a)");
        assert_eq!(code("a.js", "return /'/g; b"), "return / /g; b");
        assert_eq!(code("a.js", "a = b / c; d = '/'"), "a = b / c; d = ' '");
        assert_eq!(code("a.jsx", "<a b={c} /> <p>d</p>"), "<a b={c} /> <p>d</p>");
        assert_eq!(code("a.rs", r#"f(r"\", b)"#), r#"f(r" ", b)"#);
    }

    #[test]
    fn masked_text_has_no_comments() {
        let language = PATTERNS.language("a.js").unwrap().0;
        assert_eq!(mask("a('b//c') // d", language).without_comments, "a('b//c')     ");
    }
}
