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

/// What is nested deeper is text: nobody reads it as anything else, and what it is inside of has to
/// be remembered.
const DEPTH_MAX: usize = 1024;

/// Members whose names below are made up by the agent, and not by its program: what a tool is called
/// with.
const ARGUMENTS: [&[u8]; 2] = [b"input", b"tool_input"];
/// The length of the longest of them.
const MAX_ARGUMENTS_NAME: usize = 10;

/// What becomes of secrets in the names of members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NamePolicy {
    /// They are masked like any other text.
    Masked,
    /// They stay, but for those that the agent makes up: the line is that of a program, and whoever
    /// reads it goes by them.
    Spared,
}

/// Goes along a line of JSON, in one go or piece by piece.
#[derive(Clone, Debug)]
pub(super) struct JsonWalker {
    names: NamePolicy,
    /// What it is inside of: an object or an array.
    inside: Vec<Container>,
    /// How deep the member is that has names of the agent's below it, if it is inside of one.
    arguments: Option<usize>,
    /// The last name that was spared.
    name: MemberName,
    /// The text that it is in.
    text: Option<StringRole>,
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
enum StringRole {
    Name,
    Value,
}

/// A name, as far as it matters.
#[derive(Clone, Copy, Debug, Default)]
struct MemberName {
    first: [u8; MAX_ARGUMENTS_NAME],
    /// How long all of it is.
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

    /// Goes on, and says where there are texts, or parts of them, that may be masked. What is no
    /// JSON after all counts as one.
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
                // Behind its quote.
                at += 1;
            }
        }
    }

    #[cfg(test)]
    pub(super) fn memory(&self) -> usize {
        self.inside.capacity()
    }

    /// The name of a member that never came to its end, when the line did.
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
            // White space, numbers, `true`, `false` and `null`.
            b' ' | b'\t' | b'\r' | b'\n' | b'0'..=b'9' | b'+' | b'-' | b'.' | b'E' => {}
            byte if b"truefalsn".contains(&byte) => {}
            _ => self.broken = true,
        }
    }

    fn enter(&mut self, container: Container) {
        if self.inside.len() == DEPTH_MAX {
            self.broken = true;
            return;
        }
        let is_member = self.inside.last() == Some(&Container::Object);
        if self.arguments.is_none() && is_member && self.name.is_of_arguments() {
            self.arguments = Some(self.inside.len());
        }
        self.inside.push(container);
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
