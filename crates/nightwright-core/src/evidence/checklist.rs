//! Checkboxes of a checklist or plan, counted as on the rendered page.
//!
//! ```text
//! - [ ] open      also `*`, `+`, `1.`, `1)`, at any depth of a list
//! - [x] done      also `[X]`
//! - [~] open      also `[-]` and `[/]`: started or postponed is not done
//! - [] open       also `[  ]`: malformed, so treated as not done
//! -
//!   [ ] open      the text of an item may begin on the next line
//! - [ ](a link)   none, nor `[ ][a]` and `[ ]: a`
//! [ ] no bullet   none
//! > - [ ] quoted  none: the checkbox of another document
//! ```
//!
//! A box in code or in a comment is an example and does not count. Blocks are found by the rules of
//! `CommonMark`, with three exceptions for common habits:
//!
//! - Within a list, a box may be indented to any depth.
//! - A bare fence closes the open one, whatever its indentation.
//! - A non-breaking space is a space.

use crate::input::Checklist;

/// The maximum number of list markers in a line. A line with more is not a real list.
const MAX_MARKERS: usize = 64;

/// The indentation from which a line is code.
const CODE_INDENT: usize = 4;

/// Counts the boxes of the text.
pub fn count(text: &str) -> Checklist {
    let mut checklist = Checklist { open: 0, done: 0 };
    each_checkbox(text, |ticked, _| {
        let number = match ticked {
            CheckboxState::Yes => &mut checklist.done,
            CheckboxState::No => &mut checklist.open,
        };
        *number = number.saturating_add(1);
    });
    checklist
}

/// The strings of the first open boxes, at most `most`, one line each.
pub fn items(text: &str, most: usize) -> Vec<String> {
    let mut items = Vec::new();
    each_checkbox(text, |ticked, label| {
        if ticked == CheckboxState::No && items.len() < most {
            items.push(label.trim().to_owned());
        }
    });
    items
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CheckboxState {
    Yes,
    No,
}

/// Passes on every box of the text, with the text after it.
fn each_checkbox(text: &str, mut found: impl FnMut(CheckboxState, &str)) {
    let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n").replace('\r', "\n");
    let mut page = OpenBlocks::default();
    for line in text.split('\n') {
        if let Some(at) = page.line(&spaced(line), &mut found) {
            page.leaf = at;
        }
    }
}

/// The line with its white space as spaces, so that columns can be counted in bytes from the left.
fn spaced(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut column = 0;
    for c in line.chars() {
        match c {
            '\t' => {
                let width = CODE_INDENT - column % CODE_INDENT;
                plain.extend(std::iter::repeat_n(' ', width));
                column += width;
            }
            c if c.is_whitespace() => {
                plain.push(' ');
                column += 1;
            }
            c => {
                plain.push(c);
                column += 1;
            }
        }
    }
    plain
}

/// The blocks left open by the lines so far.
#[derive(Debug, Default)]
struct OpenBlocks {
    /// The columns where the text of the enclosing list items begins, the outermost first.
    items: Vec<usize>,
    leaf: LeafBlock,
}

/// The innermost block that the last line belongs to.
#[derive(Debug, Default)]
enum LeafBlock {
    #[default]
    None,
    /// A list item without any text yet.
    Item,
    Paragraph,
    Comment,
    Fence(FencedBlock),
}

#[derive(Debug)]
struct FencedBlock {
    mark: u8,
    length: usize,
    /// The column where it begins.
    column: usize,
}

impl OpenBlocks {
    /// Processes one line. Returns its block, if that differs from the one before.
    fn line(
        &mut self,
        line: &str,
        found: &mut impl FnMut(CheckboxState, &str),
    ) -> Option<LeafBlock> {
        let text = line.trim_start_matches(' ');
        if text.trim_end().is_empty() {
            // Fences and comments continue across blank lines; paragraphs and empty items do not.
            return matches!(self.leaf, LeafBlock::Item | LeafBlock::Paragraph)
                .then_some(LeafBlock::None);
        }
        let indent = line.len() - text.len();
        let within = self.items.iter().take_while(|column| indent >= **column).count();
        let outside = within < self.items.len();
        match &self.leaf {
            LeafBlock::Fence(fence) if fence.is_closed_by(text, indent) => {
                return Some(LeafBlock::None);
            }
            LeafBlock::Comment if !outside => {
                return text.contains("-->").then_some(LeafBlock::None);
            }
            LeafBlock::Fence(_) if !outside => return None,
            // The block was in a list item that has ended.
            LeafBlock::Fence(_) | LeafBlock::Comment => self.leaf = LeafBlock::None,
            LeafBlock::Item if !outside && !self.is_code(indent) => {
                if let Some((ticked, label)) = checkbox(text) {
                    found(ticked, label);
                    return Some(LeafBlock::Paragraph);
                }
            }
            LeafBlock::None | LeafBlock::Item | LeafBlock::Paragraph => {}
        }
        if self.items.is_empty() && indent >= CODE_INDENT {
            // Code, or text that continues.
            return self.plain(within);
        }
        self.block(line, indent, within, found)
    }

    /// Processes a line that may begin a new block at `at`, within `within` list items.
    fn block(
        &mut self,
        line: &str,
        mut at: usize,
        within: usize,
        found: &mut impl FnMut(CheckboxState, &str),
    ) -> Option<LeafBlock> {
        let mut in_marker = false;
        for _ in 0..MAX_MARKERS {
            let text = &line[at..];
            if text.starts_with('>') || is_heading(text) || is_rule(text) {
                self.close(within, in_marker);
                return Some(LeafBlock::None);
            }
            if text.starts_with("<!--") {
                self.close(within, in_marker);
                // Its opening may be part of its end: `<!-->`.
                let is_over = text.contains("-->");
                return Some(if is_over { LeafBlock::None } else { LeafBlock::Comment });
            }
            if let Some(fence) = FencedBlock::opened_by(text, at) {
                self.close(within, in_marker);
                return Some(LeafBlock::Fence(fence));
            }
            let Some(marker) = marker(text) else {
                return if in_marker { Some(LeafBlock::Paragraph) } else { self.plain(within) };
            };
            // A line such as `-` below the text underlines it or belongs to it.
            let below_text =
                matches!(self.leaf, LeafBlock::Paragraph) && within == self.items.len();
            let is_item = in_marker || !below_text;
            self.close(within, in_marker);
            in_marker = true;
            let content = text[marker..].trim_start_matches(' ');
            let blanks = text.len() - marker - content.len();
            let is_empty = content.trim_end().is_empty();
            if is_empty || blanks > CODE_INDENT {
                // An empty item, or code.
                self.items.push(at + marker + 1);
                return Some(if is_empty && is_item { LeafBlock::Item } else { LeafBlock::None });
            }
            at += marker + blanks;
            self.items.push(at);
            if let Some((ticked, label)) = checkbox(content) {
                found(ticked, label);
                return Some(LeafBlock::Paragraph);
            }
        }
        Some(LeafBlock::Paragraph)
    }

    /// Whether a line in the innermost item is indented so far that it is code.
    fn is_code(&self, indent: usize) -> bool {
        self.items.last().is_none_or(|column| indent >= column + CODE_INDENT)
    }

    /// Processes a line of text, which continues the paragraph before it even if it is indented
    /// less.
    fn plain(&mut self, within: usize) -> Option<LeafBlock> {
        if matches!(self.leaf, LeafBlock::Paragraph) {
            return None;
        }
        self.items.truncate(within);
        Some(LeafBlock::Paragraph)
    }

    /// Closes the items that a new block is not in. After a list marker this is already done.
    fn close(&mut self, within: usize, in_marker: bool) {
        if !in_marker {
            self.items.truncate(within);
        }
    }
}

impl FencedBlock {
    fn opened_by(text: &str, column: usize) -> Option<Self> {
        let mark = *text.as_bytes().first().filter(|mark| matches!(mark, b'`' | b'~'))?;
        let length = text.bytes().take_while(|byte| *byte == mark).count();
        let is_span = mark == b'`' && text[length..].contains('`');
        (length >= 3 && !is_span).then_some(Self { mark, length, column })
    }

    fn is_closed_by(&self, text: &str, indent: usize) -> bool {
        let text = text.trim_end();
        let is_near = indent < self.column + CODE_INDENT;
        is_near && text.len() >= self.length && text.bytes().all(|byte| byte == self.mark)
    }
}

/// The length of the list marker at the start of the text.
fn marker(text: &str) -> Option<usize> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let length = match text.as_bytes().get(digits)? {
        b'-' | b'*' | b'+' if digits == 0 => 1,
        b'.' | b')' if (1..=9).contains(&digits) => digits + 1,
        _ => return None,
    };
    (text.len() == length || text[length..].starts_with(' ')).then_some(length)
}

/// Whether the line is a heading: `## Tests`, but neither `#12` nor `#tests`.
fn is_heading(text: &str) -> bool {
    let rest = text.trim_start_matches('#');
    let depth = text.len() - rest.len();
    (1..=6).contains(&depth) && (rest.is_empty() || rest.starts_with(' '))
}

/// Whether the line is a thematic break, such as `* * *`.
fn is_rule(text: &str) -> bool {
    let Some(mark) = text.bytes().next().filter(|mark| matches!(mark, b'-' | b'*' | b'_')) else {
        return false;
    };
    text.bytes().all(|byte| byte == mark || byte == b' ')
        && text.bytes().filter(|byte| *byte == mark).count() >= 3
}

/// The box at the start of a list item's text, and the text after it.
fn checkbox(text: &str) -> Option<(CheckboxState, &str)> {
    let (mark, label) = text.strip_prefix('[')?.split_once(']')?;
    let ticked = match mark.trim_matches(' ') {
        "x" | "X" => CheckboxState::Yes,
        "" | "~" | "-" | "/" => CheckboxState::No,
        _ => return None,
    };
    (!label.starts_with(['(', '[', ':'])).then_some((ticked, label))
}

#[cfg(test)]
mod tests;
