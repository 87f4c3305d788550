//! Positions of the strings in a line of JSON.

use std::ops::Range;

use memchr::memchr2;
use serde::de::IgnoredAny;

/// Whether a line looks like JSON, possibly incomplete.
pub(super) fn is_json(line: &[u8]) -> bool {
    let trimmed = line.trim_ascii_start();
    matches!(trimmed.first(), Some(b'{' | b'['))
        && match serde_json::from_slice::<IgnoredAny>(line) {
            Ok(_) => true,
            Err(error) => error.is_eof() && trimmed.starts_with(b"{\""),
        }
}

/// The maximum nesting depth. Deeper JSON counts as plain text, which bounds the memory for open
/// containers.
const MAX_DEPTH: usize = 1024;

/// Members that contain the arguments of a tool. The agent, not its program, chooses the names
/// inside.
const ARGUMENTS: [&[u8]; 2] = [b"input", b"tool_input"];
/// The length of the longest of these names.
const MAX_ARGUMENTS_NAME: usize = 10;

/// The treatment of secrets in member names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NamePolicy {
    /// Names are masked like any other text.
    Masked,
    /// Names stay, except in the arguments of tools: readers of the program's lines depend on them.
    Spared,
}

/// Walks along a line of JSON, as a whole or in pieces.
#[derive(Clone, Debug)]
pub(super) struct JsonWalker {
    names: NamePolicy,
    /// The open objects and arrays.
    inside: Vec<Container>,
    /// The depth of the surrounding arguments member, if any.
    arguments: Option<usize>,
    /// The last member name that was not masked.
    name: MemberName,
    /// The role of the current text, if inside one.
    text: Option<StringRole>,
    /// Whether the next byte is escaped by a backslash.
    escaped: bool,
    /// Whether the next text is a member name.
    name_next: bool,
    /// Whether the line turned out not to be JSON.
    broken: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Container {
    Object,
    Array,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StringRole {
    Name,
    Value,
}

/// A member name: its first bytes and its length.
#[derive(Clone, Copy, Debug, Default)]
struct MemberName {
    first: [u8; MAX_ARGUMENTS_NAME],
    /// The length of the whole name.
    length: usize,
}

impl MemberName {
    fn push(&mut self, bytes: &[u8]) {
        for (place, byte) in self.first.iter_mut().skip(self.length).zip(bytes) {
            *place = *byte;
        }
        self.length += bytes.len();
    }

    fn is_of_arguments(&self) -> bool {
        self.first.get(..self.length).is_some_and(|name| ARGUMENTS.contains(&name))
    }
}

impl JsonWalker {
    pub(super) fn new(names: NamePolicy) -> Self {
        Self {
            names,
            inside: Vec::new(),
            arguments: None,
            name: MemberName::default(),
            text: None,
            escaped: false,
            name_next: false,
            broken: false,
        }
    }

    /// Walks on and reports the strings, or parts of them, that may be masked. Invalid JSON counts
    /// as text.
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
            match text {
                StringRole::Value if start < at => each(start..at),
                StringRole::Value => {}
                StringRole::Name => self.name.push(&bytes[start..at]),
            }
            if self.text.is_none() {
                // Skip the opening quote.
                at += 1;
            }
        }
    }

    #[cfg(test)]
    pub(super) fn memory(&self) -> usize {
        self.inside.capacity()
    }

    /// Whether the line ended inside a member name.
    pub(super) fn is_in_name(&self) -> bool {
        self.text == Some(StringRole::Name)
    }

    fn between(&mut self, byte: u8) {
        match byte {
            b'{' => {
                self.enter(Container::Object);
                self.name_next = true;
            }
            b'[' => {
                self.enter(Container::Array);
                self.name_next = false;
            }
            b'}' | b']' => {
                self.inside.pop();
                self.arguments = self.arguments.filter(|depth| *depth < self.inside.len());
            }
            b',' => self.name_next = self.inside.last() == Some(&Container::Object),
            b':' => self.name_next = false,
            b'"' => {
                let is_spared = self.names == NamePolicy::Spared && self.arguments.is_none();
                self.name = MemberName::default();
                self.text = Some(if self.name_next && is_spared {
                    StringRole::Name
                } else {
                    StringRole::Value
                });
            }
            // Whitespace, numbers, `true`, `false` and `null`.
            b' ' | b'\t' | b'\r' | b'\n' | b'0'..=b'9' | b'+' | b'-' | b'.' | b'E' => {}
            byte if b"truefalsn".contains(&byte) => {}
            _ => self.broken = true,
        }
    }

    fn enter(&mut self, container: Container) {
        if self.inside.len() == MAX_DEPTH {
            self.broken = true;
            return;
        }
        let is_member = self.inside.last() == Some(&Container::Object);
        if self.arguments.is_none() && is_member && self.name.is_of_arguments() {
            self.arguments = Some(self.inside.len());
        }
        self.inside.push(container);
    }

    /// The end of the text, or of the range.
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
