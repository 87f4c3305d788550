//! Fast path for deltas, the most frequent lines, in exactly the form that the program prints. Any
//! other line is parsed in full.

use std::borrow::Cow;
use std::ops::Range;

use memchr::{memchr, memchr2};

use super::lenient::LenientText;

/// The line up to the index of the text.
const HEAD: &[u8] = br#"{"type":"stream_event","event":{"type":"content_block_delta","index":"#;
/// The part between the index and the kind of the delta.
const DELTA: &[u8] = br#","delta":{"type":""#;
/// The kinds of deltas, and the part between the kind and the characters.
const KINDS: [(&str, &[u8]); 3] = [
    (TEXT, br#"","text":"#),
    ("thinking_delta", br#"","thinking":"#),
    ("input_json_delta", br#"","partial_json":"#),
];
/// The kind of deltas of an answer.
pub(super) const TEXT: &str = "text_delta";
/// The part after the characters, for a message of the main agent and not of a sub-agent.
const SESSION: &[u8] = br#"}},"session_id":"#;
const PARENT: &[u8] = br#","parent_tool_use_id":null"#;
/// The maximum length of the rest, which is never longer in practice.
const MAX_TAIL: usize = 256;

/// Some characters of the main agent's answer, thoughts or tool input.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FastDelta<'a> {
    pub(super) kind: &'static str,
    /// The index of the text within its message.
    pub(super) index: &'a str,
    /// The position of the characters in the line, as a JSON string.
    pub(super) at: Range<usize>,
    /// The decoded characters of the delta.
    pub(super) text: Cow<'a, str>,
}

/// Parses a line of that form.
pub(super) fn fast_delta(line: &[u8]) -> Option<FastDelta<'_>> {
    let rest = line.strip_prefix(HEAD)?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let index = str::from_utf8(&rest[..digits]).ok().filter(|index| !index.is_empty())?;
    let rest = rest[digits..].strip_prefix(DELTA)?;
    let (kind, rest) = KINDS.iter().find_map(|(kind, next)| {
        Some((kind, rest.strip_prefix(kind.as_bytes())?.strip_prefix(*next)?))
    })?;
    let start = line.len() - rest.len();
    let (string, rest) = rest.split_at(string(rest)?);
    let rest = rest.strip_prefix(SESSION)?;
    let rest = plain(rest)?.strip_prefix(PARENT)?;
    let at = start..start + string.len();
    is_end(rest).then_some(())?;
    let inside = &string[1..string.len() - 1];
    let text = match memchr(b'\\', inside) {
        Some(_) => serde_json::from_slice::<LenientText<'_>>(string).ok()?.0,
        None => Cow::Borrowed(str::from_utf8(inside).ok()?),
    };
    Some(FastDelta { kind, index, at, text })
}

/// The length of the string at the start, including its quotes.
fn string(bytes: &[u8]) -> Option<usize> {
    let mut at = 1;
    (bytes.first() == Some(&b'"')).then_some(())?;
    loop {
        at += memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
    }
}

/// Returns the rest after a string without escapes.
fn plain(bytes: &[u8]) -> Option<&[u8]> {
    let inside = bytes.strip_prefix(b"\"")?;
    let end = memchr2(b'"', b'\\', inside)?;
    (inside[end] == b'"').then(|| &inside[end + 1..])
}

/// Whether only a few strings with other names follow.
fn is_end(bytes: &[u8]) -> bool {
    let mut rest = bytes.trim_ascii_end();
    if rest.len() > MAX_TAIL {
        return false;
    }
    while let Some(member) = rest.strip_prefix(b",") {
        let known = [&br#""type""#[..], br#""event""#, br#""parent_tool_use_id""#];
        if known.iter().any(|name| member.starts_with(name)) {
            return false;
        }
        let value = plain(member).and_then(|value| value.strip_prefix(b":")).and_then(plain);
        let Some(after) = value else { return false };
        rest = after;
    }
    rest == b"}"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str, tail: &str) -> String {
        format!(
            r#"{{"type":"stream_event","event":{{"type":"content_block_delta","index":12,"delta":{{"type":"text_delta","text":"{text}"}}}},"session_id":"s"{tail}"#
        )
    }

    #[test]
    fn characters_are_found_where_they_are() {
        for (text, wanted) in [
            ("", ""),
            ("größer", "größer"),
            (r#"a \"b\" \\"#, "a \"b\" \\"),
            (r"\ud83d\ude00", "😀"),
        ] {
            let line = line(text, ",\"parent_tool_use_id\":null,\"uuid\":\"u\",\"x\":\"y\"}\n");
            let read = fast_delta(line.as_bytes()).unwrap();
            assert_eq!((read.index, &*read.text), ("12", wanted));
            assert_eq!(line[read.at], format!("\"{text}\""));
        }
    }

    #[test]
    fn thoughts_and_tool_inputs_are_found_as_well() {
        let line = line("a", ",\"parent_tool_use_id\":null}");
        for (kind, name) in [
            ("text_delta", "text"),
            ("thinking_delta", "thinking"),
            ("input_json_delta", "partial_json"),
        ] {
            let line = line.replace("text_delta", kind).replace("\"text\"", &format!("\"{name}\""));
            let read = fast_delta(line.as_bytes()).unwrap();
            assert_eq!((read.kind, &*read.text, &line[read.at]), (kind, "a", "\"a\""));
        }
    }

    #[test]
    fn any_other_line_is_left_to_the_general_parser() {
        let fine = line("a", ",\"parent_tool_use_id\":null}");
        assert!(fast_delta(fine.as_bytes()).is_some());
        for odd in [
            fine.replace("null", "\"t\""),
            fine.replace("text_delta", "thinking_delta"),
            fine.replace("text_delta", "signature_delta"),
            fine.replace(":12,", ":\"12\","),
            fine.replace(":12,", ":,"),
            fine.replace("\"a\"", "\"\\ud83d\""),
            fine.replace("\"a\"", "7"),
            fine.replace('}', ""),
            fine.replace("null}", "null,\"event\":\"e\"}"),
            fine.replace("null}", "null,\"type\":\"result\"}"),
            fine.replace("null}", "null,\"x\":7}"),
            fine.replace("null}", "null}}"),
            fine.replace("{\"type\"", "{ \"type\""),
            String::new(),
        ] {
            assert_eq!(fast_delta(odd.as_bytes()), None, "{odd}");
        }
    }
}
