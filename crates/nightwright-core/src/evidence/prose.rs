//! Prose of a Markdown text: the author's own words, without code and quotations.
//!
//! ```text
//! plain line           kept; code spans in it are blanked, across lines too
//! > quotation          removed, with the lines that continue it
//! <!-- comment -->     removed, where it begins a line
//! ``` or ~~~           removed, up to the closing fence or the end
//!     four spaces      removed: code, or so deep in a list that it is an example
//! ```

use std::collections::BTreeMap;

/// Stands for every character of a code span. It occurs in no searched phrase.
pub(crate) const BLANK: char = '\u{0}';

/// A line without invisible characters at its ends.
pub(super) fn visible(line: &str) -> &str {
    line.trim_matches(|c: char| {
        c.is_whitespace() || matches!(c, '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}')
    })
}

/// One line of a Markdown text.
pub(super) struct MarkdownLine<'a> {
    /// The line as it was written, without trailing spaces.
    pub(super) written: &'a str,
    /// The line with code spans blanked, or empty if the words are not the author's own.
    pub(super) own: String,
    pub(super) kind: LineKind,
}

/// The kind of text that a line contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineKind {
    Own,
    Fenced,
    Indented,
    Quoted,
    Commented,
}

/// The author's own lines, with code spans blanked and without trailing spaces. Other lines are
/// empty, so that lines can still be counted from the end.
pub(crate) fn own_lines(text: &str) -> Vec<String> {
    lines(text).into_iter().map(|line| line.own).collect()
}

/// Every line of the text, with its kind.
pub(super) fn lines(text: &str) -> Vec<MarkdownLine<'_>> {
    let mut own: Vec<String> = Vec::new();
    let mut lines: Vec<MarkdownLine<'_>> = Vec::new();
    let mut within = BlockState::Text;
    let mut paragraph = 0;
    for line in text.lines() {
        let line = line.trim_end();
        within = within.next(line);
        let kind = within.kind(line);
        if kind == LineKind::Own && !line.is_empty() {
            own.push(line.to_owned());
        } else {
            blank_code(&mut own[paragraph..]);
            own.push(String::new());
            paragraph = own.len();
        }
        lines.push(MarkdownLine { written: line, own: String::new(), kind });
        within = within.after(line);
    }
    blank_code(&mut own[paragraph..]);
    for (line, own) in lines.iter_mut().zip(own) {
        line.own = own;
    }
    lines
}

/// The block that a line is in.
enum BlockState {
    Text,
    Fence(CodeFence),
    /// A fence that this line closes.
    LastOfFence,
    Comment,
    Quotation,
}

impl BlockState {
    /// The block of this line, after a line in the block `self`.
    fn next(self, line: &str) -> Self {
        let continues = match self {
            Self::Fence(open) if open.is_closed_by(line) => return Self::LastOfFence,
            Self::Fence(_) | Self::Comment => return self,
            Self::Quotation => !line.is_empty() && !begins_block(line),
            Self::Text | Self::LastOfFence => false,
        };
        if let Some(fence) = CodeFence::opened_by(line) {
            Self::Fence(fence)
        } else if continues || is_quotation(line) {
            Self::Quotation
        } else if after_list_markers(line).starts_with("<!--") {
            Self::Comment
        } else {
            Self::Text
        }
    }

    fn kind(&self, line: &str) -> LineKind {
        match self {
            Self::Text if is_indented(line) => LineKind::Indented,
            Self::Text => LineKind::Own,
            Self::Fence(_) | Self::LastOfFence => LineKind::Fenced,
            Self::Comment => LineKind::Commented,
            Self::Quotation => LineKind::Quoted,
        }
    }

    /// The block that is still open after the line.
    fn after(self, line: &str) -> Self {
        match self {
            Self::Comment if line.contains("-->") => Self::Text,
            Self::LastOfFence => Self::Text,
            // Only a paragraph continues without its mark.
            Self::Quotation if ends_quotation(line) => Self::Text,
            Self::Text | Self::Fence(_) | Self::Comment | Self::Quotation => self,
        }
    }
}

/// Whether a line cannot continue a paragraph.
pub(super) fn begins_block(line: &str) -> bool {
    let text = line.trim_start();
    text.starts_with('#') || text.starts_with("<!--") || after_list_markers(line) != text
}

/// Whether a line of a quotation leaves no paragraph open.
fn ends_quotation(line: &str) -> bool {
    let text = after_list_markers(line).trim_start_matches(['>', ' ']);
    text.is_empty() || text.starts_with('#') || CodeFence::opened_by(text).is_some()
}

struct CodeFence {
    mark: char,
    length: usize,
}

impl CodeFence {
    /// Detects a fence at any depth, and in a list item too: a missed fence would turn an example
    /// into a claim.
    fn opened_by(line: &str) -> Option<Self> {
        let text = after_list_markers(line);
        let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let info = text.trim_start_matches(mark);
        let length = text.len() - info.len();
        (length >= 3 && !(mark == '`' && info.contains('`'))).then_some(Self { mark, length })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let text = line.trim_start();
        text.len() >= self.length && text.chars().all(|c| c == self.mark)
    }
}

/// The maximum number of list markers that are skipped in a line.
const MAX_MARKERS: usize = 8;

/// The text after the list markers of a line.
pub(crate) fn after_list_markers(line: &str) -> &str {
    let mut text = line.trim_start();
    for _ in 0..MAX_MARKERS {
        let after = text.strip_prefix(['-', '*', '+']).or_else(|| {
            text.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix(['.', ')'])
        });
        match after {
            Some(after) if after.starts_with([' ', '\t']) => text = after.trim_start(),
            Some(_) | None => break,
        }
    }
    text
}

fn is_quotation(line: &str) -> bool {
    after_list_markers(line).starts_with('>')
}

fn is_indented(line: &str) -> bool {
    let spaces = line.len() - line.trim_start_matches(' ').len();
    spaces >= 4 || line[spaces..].starts_with('\t')
}

/// Blanks code spans. A span opens with some backticks and closes with as many, perhaps lines
/// later.
fn blank_code(paragraph: &mut [String]) {
    if !paragraph.iter().any(|line| line.contains('`')) {
        return;
    }
    let mut text: Vec<char> = paragraph.join("\n").chars().collect();
    let last = last_runs(&text);
    let mut at = 0;
    while at < text.len() {
        let ticks = run(&text, at);
        if ticks == 0 {
            at += 1;
            continue;
        }
        let is_closed = last.get(&ticks).is_some_and(|last| *last > at);
        match is_closed.then(|| closing(&text, at + ticks, ticks)).flatten() {
            Some(end) => {
                for c in text[at..end].iter_mut().filter(|c| **c != '\n') {
                    *c = BLANK;
                }
                at = end;
            }
            None => at += ticks,
        }
    }
    let blanked: String = text.into_iter().collect();
    for (line, blanked) in paragraph.iter_mut().zip(blanked.split('\n')) {
        blanked.clone_into(line);
    }
}

/// The last position of each length of backtick run, to avoid fruitless searches.
fn last_runs(text: &[char]) -> BTreeMap<usize, usize> {
    let mut last = BTreeMap::new();
    let mut at = 0;
    while at < text.len() {
        let ticks = run(text, at);
        if ticks > 0 {
            last.insert(ticks, at);
        }
        at += ticks.max(1);
    }
    last
}

/// The number of backticks that begin here.
fn run(text: &[char], at: usize) -> usize {
    text[at..].iter().take_while(|c| **c == '`').count()
}

/// The position where as many backticks close the span.
fn closing(text: &[char], from: usize, ticks: usize) -> Option<usize> {
    let mut at = from;
    while at < text.len() {
        match run(text, at) {
            0 => at += 1,
            found if found == ticks => return Some(at + found),
            found => at += found,
        }
    }
    None
}
