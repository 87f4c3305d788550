//! Where the texts of a line of JSON are.

use std::ops::Range;

use memchr::memchr2;
use serde::de::IgnoredAny;

/// Whether a line is JSON, or the beginning of some that has not come to its end.
pub(super) fn is_json(line: &[u8]) -> bool {
    let trimmed = line.trim_ascii_start();
    matches!(trimmed.first(), Some(b'{' | b'['))
        && match serde_json::from_slice::<IgnoredAny>(line) {
            Ok(_) => true,
            Err(error) => error.is_eof() && trimmed.starts_with(b"{\""),
        }
}

/// Goes along a line of JSON, in one go or piece by piece.
#[derive(Clone, Debug, Default)]
pub(super) struct Walker {
    /// What it is inside of: an object or an array.
    inside: Vec<Container>,
    /// The text that it is in.
    text: Option<Text>,
    /// Whether the next byte belongs to the backslash before it.
    escaped: bool,
    /// Whether the next text is the name of a member.
    name_next: bool,
    /// Whether this turned out to be something else.
    broken: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Container {
    Object,
    Array,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Text {
    Name,
    Value,
}

impl Walker {
    /// Goes on, and says where there are texts, or parts of them, that are values. What is no JSON
    /// after all counts as one.
    pub(super) fn walk(
        &mut self,
        bytes: &[u8],
        range: Range<usize>,
        mut each: impl FnMut(Range<usize>),
    ) {
        let mut at = range.start;
        while at < range.end {
            if self.broken {
                return each(at..range.end);
            }
            let Some(text) = self.text else {
                self.between(bytes[at]);
                if !self.broken {
                    at += 1;
                }
                continue;
            };
            let start = at;
            at = self.end_of_text(bytes, at..range.end);
            if text == Text::Value && start < at {
                each(start..at);
            }
            if self.text.is_none() {
                // Behind its quote.
                at += 1;
            }
        }
    }

    /// The name of a member that never came to its end, when the line did.
    pub(super) fn is_in_name(&self) -> bool {
        self.text == Some(Text::Name)
    }

    fn between(&mut self, byte: u8) {
        match byte {
            b'{' => {
                self.inside.push(Container::Object);
                self.name_next = true;
            }
            b'[' => {
                self.inside.push(Container::Array);
                self.name_next = false;
            }
            b'}' | b']' => {
                self.inside.pop();
            }
            b',' => self.name_next = self.inside.last() == Some(&Container::Object),
            b':' => self.name_next = false,
            b'"' => self.text = Some(if self.name_next { Text::Name } else { Text::Value }),
            // White space, numbers, `true`, `false` and `null`.
            b' ' | b'\t' | b'\r' | b'\n' | b'0'..=b'9' | b'+' | b'-' | b'.' | b'E' => {}
            byte if b"truefalsn".contains(&byte) => {}
            _ => self.broken = true,
        }
    }

    /// Where the text ends, or the range does.
    fn end_of_text(&mut self, bytes: &[u8], range: Range<usize>) -> usize {
        let mut at = range.start;
        while at < range.end {
            if std::mem::take(&mut self.escaped) {
                at += 1;
                continue;
            }
            let Some(next) = memchr2(b'"', b'\\', &bytes[at..range.end]) else { break };
            at += next;
            if bytes[at] == b'"' {
                self.text = None;
                return at;
            }
            self.escaped = true;
            at += 1;
        }
        range.end
    }
}
