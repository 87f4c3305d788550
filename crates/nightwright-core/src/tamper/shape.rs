//! Block structure of a string: where blocks begin and end, by brackets or by indentation.

use std::ops::Range;

/// The maximum number of lines between a mark and the line it refers to.
const MAX_HEAD: usize = 50;

/// The brackets and lines of a string without comments and strings.
#[derive(Debug)]
pub(super) struct BlockStructure<'a> {
    code: &'a str,
    /// The positions where lines begin.
    lines: Vec<usize>,
    /// Pairs of `{` and `}`, by opening position.
    braces: Vec<(usize, usize)>,
    /// The positions of matching parentheses.
    calls: Vec<(usize, usize)>,
}

impl<'a> BlockStructure<'a> {
    /// Analyses the structure of this text.
    pub(super) fn of(code: &'a str) -> Self {
        let mut lines = vec![0];
        lines.extend(memchr::memchr_iter(b'\n', code.as_bytes()).map(|at| at + 1));
        Self { code, lines, braces: pairs(code, b'{', b'}'), calls: pairs(code, b'(', b')') }
    }

    /// The line that contains a position.
    pub(super) fn line_of(&self, at: usize) -> usize {
        self.lines.partition_point(|start| *start <= at).saturating_sub(1)
    }

    /// The end of the block that the next brace opens, or of the statement.
    pub(super) fn braces(&self, from: usize, next: usize) -> usize {
        let index = self.braces.partition_point(|(open, _)| *open < from);
        let until = self.braces.get(index).map_or(next, |(open, _)| *open).min(next);
        let between = &self.code.as_bytes()[from.min(until)..until];
        if let Some(at) = memchr::memchr(b';', between) {
            return from + at + 1;
        }
        match self.braces.get(index) {
            Some((open, close)) if *open < next => close + 1,
            _ => next,
        }
    }

    /// The end of the call whose first argument is at this position.
    pub(super) fn call_around(&self, argument: usize, next: usize) -> usize {
        let index = self.calls.partition_point(|(open, _)| *open < argument);
        index.checked_sub(1).map_or(next, |index| self.calls[index].1 + 1)
    }

    /// The call that opens at this position.
    pub(super) fn call_at(&self, open: usize) -> Option<Range<usize>> {
        let index = self.calls.binary_search_by_key(&open, |(open, _)| *open).ok()?;
        Some(open..self.calls[index].1)
    }

    /// The end of the call whose first argument is at this position, if any.
    pub(super) fn call_of(&self, argument: usize) -> Option<usize> {
        let index = self.calls.partition_point(|(open, _)| *open < argument).checked_sub(1)?;
        let close = self.calls[index].1;
        (close > argument).then_some(close + 1)
    }

    /// The next pair of braces, unless a statement ends before it.
    pub(super) fn next_braces(&self, from: usize) -> Option<Range<usize>> {
        let index = self.braces.partition_point(|(open, _)| *open < from);
        let (open, close) = *self.braces.get(index)?;
        // The text in between is short in all cases that matter.
        let between = &self.code.as_bytes()[from.min(open)..open.min(from + 1000)];
        memchr::memchr2(b';', b'}', between).is_none().then_some(open..close)
    }

    /// The next call, including a call of its result.
    pub(super) fn next_call(&self, from: usize) -> Option<Range<usize>> {
        let index = self.calls.partition_point(|(open, _)| *open < from);
        let (open, close) = *self.calls.get(index)?;
        Some(open..self.call_at(close + 1).map_or(close, |behind| behind.end))
    }

    /// The line that a mark in this line refers to: itself, or the next line that is not a mark.
    pub(super) fn next_head(&self, line: usize) -> usize {
        let is_mark = |line: &usize| self.text(*line).trim_start().starts_with('@');
        let last = self.lines.len() - 1;
        (line..=last.min(line + MAX_HEAD)).find(|line| !is_mark(line)).unwrap_or(line)
    }

    /// The block indented below this line.
    pub(super) fn block(&self, head: usize) -> Range<usize> {
        self.lines[head]..self.indented(head)
    }

    /// The end of the lines that are indented deeper than this one.
    pub(super) fn indented(&self, head: usize) -> usize {
        let depth = depth(self.text(head));
        let ends = |line: &usize| {
            let text = self.text(*line);
            let begins = text.trim_start();
            !begins.is_empty() && !begins.starts_with([')', ']']) && depth_of(text, begins) <= depth
        };
        let end = (head + 1..self.lines.len()).find(ends);
        end.map_or(self.code.len(), |line| self.lines[line])
    }

    /// The start of the lines above that belong to this position, not before `floor`.
    pub(super) fn above(&self, at: usize, floor: usize, begins: &[String], most: usize) -> usize {
        let mut line = self.line_of(at);
        let mut start = at;
        for _ in 0..most {
            let Some(above) = line.checked_sub(1) else { break };
            let text = self.text(above).trim_start();
            if self.lines[above] < floor || !begins.iter().any(|begin| text.starts_with(begin)) {
                break;
            }
            (line, start) = (above, self.lines[above]);
        }
        start
    }

    fn text(&self, line: usize) -> &'a str {
        let end = self.lines.get(line + 1).copied().unwrap_or(self.code.len());
        &self.code[self.lines[line]..end]
    }
}

/// The number of elements in the list whose bracket is here, and its end. The rows of a table in a
/// string are its lines without the first.
pub(super) fn elements(code: &str, open: usize) -> (usize, usize) {
    let bytes = &code.as_bytes()[open..];
    if bytes.first() == Some(&b'`') {
        let inside = &bytes[1..];
        let end = memchr::memchr(b'`', inside).unwrap_or(inside.len());
        let lines = memchr::memchr_iter(b'\n', &inside[..end]).count();
        return (lines.saturating_sub(2), open + end + 1);
    }
    let (mut depth, mut count, mut is_open) = (0_usize, 0, false);
    for (index, byte) in bytes.iter().enumerate() {
        match byte {
            b'(' | b'[' | b'{' => {
                is_open |= depth > 0;
                depth += 1;
            }
            b')' | b']' | b'}' if depth <= 1 => {
                return (count + usize::from(is_open), open + index);
            }
            b')' | b']' | b'}' => depth -= 1,
            b',' if depth == 1 => count += usize::from(std::mem::take(&mut is_open)),
            byte => is_open |= !byte.is_ascii_whitespace(),
        }
    }
    (0, code.len())
}

fn depth(text: &str) -> usize {
    depth_of(text, text.trim_start())
}

fn depth_of(text: &str, begins: &str) -> usize {
    text.len() - begins.len()
}

/// The pairs of one kind of bracket, by opening position. An unclosed bracket has no pair.
fn pairs(code: &str, open: u8, close: u8) -> Vec<(usize, usize)> {
    let mut stack = Vec::new();
    let mut pairs = Vec::new();
    for at in memchr::memchr2_iter(open, close, code.as_bytes()) {
        if code.as_bytes()[at] == open {
            stack.push(at);
        } else {
            pairs.extend(stack.pop().map(|open| (open, at)));
        }
    }
    pairs.sort_unstable();
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_found_by_brackets_and_by_depth() {
        let code = "fn a() { b(c) { } }\nx;\n";
        let shape = BlockStructure::of(code);
        assert_eq!(shape.braces(6, code.len()), 19);
        assert_eq!(shape.call_around(11, code.len()), 13);
        assert_eq!(shape.next_call(8), Some(10..12));
        assert_eq!(shape.call_at(10), Some(10..12));
        assert_eq!(shape.call_of(11), Some(13));
        assert_eq!(BlockStructure::of("a(b)(c)").next_call(0), Some(1..6));
        assert_eq!(shape.call_of(8), None);
        assert_eq!(elements("a([1, f(2, 3), [4],])", 2), (3, 19));
        let deep = BlockStructure::of("def a(\n  b,\n):\n  c\n\n  d\ne\n");
        assert_eq!(&deep.code[deep.block(0)], "def a(\n  b,\n):\n  c\n\n  d\n");
        assert_eq!(BlockStructure::of("@x\n@y\nz\n").next_head(0), 2);
    }
}
