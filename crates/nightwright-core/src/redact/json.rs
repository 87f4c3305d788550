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

/// Members with data of a tool. Any name inside may have any value.
const FOREIGN: [&[u8]; 4] =
    [b"tool_use_result", b"toolUseResult", b"structured_output", b"permission_denials"];

/// Members whose values are words of the program, on which the readers of its lines depend.
const WORDS: [&[u8]; 19] = [
    b"type",
    b"subtype",
    b"role",
    b"status",
    b"stop_reason",
    b"terminal_reason",
    b"error",
    b"api_error",
    b"rateLimitType",
    b"permissionMode",
    b"apiKeySource",
    b"model",
    b"id",
    b"uuid",
    b"session_id",
    b"request_id",
    b"tool_use_id",
    b"parent_tool_use_id",
    b"name",
];

/// The length of the longest of these names.
const MAX_NAME: usize = 18;

/// The maximum length of a word.
const MAX_WORD: usize = 64;

/// The depth of the content blocks of a message. Words of the program are not deeper.
const WORDS_DEPTH: usize = 4;

/// A part of a line that may be masked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JsonText {
    pub(super) at: Range<usize>,
    pub(super) kind: TextKind,
}

/// The meaning of a text for the readers of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextKind {
    Free,
    /// A word of the program, such as the type of a line. A pattern of the user, which may match
    /// anything, does not apply to it.
    Word,
}

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
    /// The depth of the surrounding data of a tool, if any.
    foreign: Option<usize>,
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
    /// A value that may be a word of the program.
    Word,
}

/// A member name: its first bytes and its length.
#[derive(Clone, Copy, Debug, Default)]
struct MemberName {
    first: [u8; MAX_NAME],
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

    fn is_one_of(&self, names: &[&[u8]]) -> bool {
        self.first.get(..self.length).is_some_and(|name| names.contains(&name))
    }
}

impl JsonWalker {
    pub(super) fn new(names: NamePolicy) -> Self {
        Self {
            names,
            inside: Vec::new(),
            arguments: None,
            foreign: None,
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
        mut each: impl FnMut(JsonText),
    ) {
        let free = |at| JsonText { at, kind: TextKind::Free };
        let mut at = range.start;
        while at < range.end {
            if self.broken {
                return each(free(at..range.end));
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
                StringRole::Word if self.text.is_none() && is_word(&bytes[start..at]) => {
                    each(JsonText { at: start..at, kind: TextKind::Word });
                }
                StringRole::Value | StringRole::Word if start < at => each(free(start..at)),
                StringRole::Value | StringRole::Word => {}
                StringRole::Name => self.name.push(&bytes[start..at]),
            }
            match self.text {
                // Skip the closing quote.
                None => at += 1,
                // The rest of a value in the next piece is not a whole word.
                Some(StringRole::Word) => self.text = Some(StringRole::Value),
                Some(StringRole::Name | StringRole::Value) => {}
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
                self.foreign = self.foreign.filter(|depth| *depth < self.inside.len());
            }
            b',' => self.name_next = self.inside.last() == Some(&Container::Object),
            b':' => self.name_next = false,
            b'"' => {
                let is_spared = self.names == NamePolicy::Spared && self.arguments.is_none();
                let name = std::mem::take(&mut self.name);
                self.text = Some(match is_spared {
                    true if self.name_next => StringRole::Name,
                    true if self.is_word_of(name) => StringRole::Word,
                    true | false => StringRole::Value,
                });
            }
            // Whitespace, numbers, `true`, `false` and `null`.
            b' ' | b'\t' | b'\r' | b'\n' | b'0'..=b'9' | b'+' | b'-' | b'.' | b'E' => {}
            byte if b"truefalsn".contains(&byte) => {}
            _ => self.broken = true,
        }
    }

    /// Whether the value of the member with this name is a word of the program.
    fn is_word_of(&self, name: MemberName) -> bool {
        self.foreign.is_none()
            && self.inside.len() <= WORDS_DEPTH
            && self.inside.last() == Some(&Container::Object)
            && name.is_one_of(&WORDS)
    }

    fn enter(&mut self, container: Container) {
        if self.inside.len() == MAX_DEPTH {
            self.broken = true;
            return;
        }
        let is_member = self.inside.last() == Some(&Container::Object);
        if self.arguments.is_none() && is_member && self.name.is_one_of(&ARGUMENTS) {
            self.arguments = Some(self.inside.len());
        }
        if self.foreign.is_none() && is_member && self.name.is_one_of(&FOREIGN) {
            self.foreign = Some(self.inside.len());
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

/// Whether a value has the form of a word of the program.
fn is_word(value: &[u8]) -> bool {
    let belongs = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.<>:-".contains(byte);
    value.len() <= MAX_WORD && value.iter().all(belongs)
}
