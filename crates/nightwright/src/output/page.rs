//! Pages: lines for a terminal, made safe and styled, and collected for one write.

use nightwright_core::display::{display_safe, one_line};
use nightwright_core::outcome::Tone;

use super::style::{Style, TextColor};
use super::width::columns;

/// The maximum length of a line, in characters.
const MAX_LINE_CHARS: usize = 1_000;

/// Practically unlimited, but small enough to multiply without overflow.
const UNBOUNDED: usize = usize::MAX / 16;

/// The heading of a tool call, in one row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Heading {
    pub(super) name: String,
    /// The most informative argument.
    pub(super) detail: String,
    /// The purpose, as described by the agent.
    pub(super) about: String,
    /// The rest of the row, including the space or comma before it. It is truncated last.
    pub(super) tail: String,
}

/// The indentation of lines, and a sign in front of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineStart {
    pub(super) indent: usize,
    pub(super) sign: &'static str,
}

/// A page of text. All text is made safe here, so that callers cannot forget it.
#[derive(Debug)]
pub(super) struct Page<'a> {
    style: &'a Style,
    text: String,
}

impl<'a> Page<'a> {
    pub(super) fn new(style: &'a Style) -> Self {
        Self { style, text: String::new() }
    }

    pub(super) fn style(&self) -> &'a Style {
        self.style
    }

    /// Adds an ordinary line.
    pub(super) fn line(&mut self, text: &str) {
        let line = self.safe(text);
        self.push(&line);
    }

    /// Adds a line with the sign of its tone.
    pub(super) fn sign(&mut self, tone: Tone, text: &str) {
        let line = format!("{} {}", self.style.sign(tone), self.safe(text));
        self.push(&line);
    }

    /// Adds an indented line with a detail.
    pub(super) fn detail(&mut self, text: &str) {
        self.indented("  ", text);
    }

    /// Adds a line with the given indentation.
    pub(super) fn indented(&mut self, indent: &str, text: &str) {
        let line = format!("{indent}{}", self.safe(text));
        self.push(&line);
    }

    /// Adds a line with the given indentation, however long it is. A command line that was cut
    /// cannot be pasted.
    pub(super) fn command_line(&mut self, indent: &str, text: &str) {
        let line = format!("{indent}{}", one_line(text, usize::MAX));
        self.push(&line);
    }

    /// Adds a detail of less importance, in a faint color.
    pub(super) fn aside(&mut self, text: &str) {
        let line = self.style.paint(TextColor::Faint, &self.safe(text));
        self.push(&format!("  {line}"));
    }

    /// Adds an indented line with the sign of its tone.
    pub(super) fn verdict(&mut self, indent: usize, tone: Tone, text: &str) {
        let line = format!("{:indent$}{} {}", "", self.style.sign(tone), self.safe(text));
        self.push(&line);
    }

    /// Adds a heading, truncated to the width of the terminal. Without a terminal, it is not
    /// truncated.
    pub(super) fn heading(&mut self, front: LineStart, heading: &Heading) {
        let room = self.style.width().map_or(UNBOUNDED, |_| self.style.room());
        self.row(front, heading, room);
    }

    /// Adds a short form of a heading that was shown in full before.
    pub(super) fn reminder(&mut self, front: LineStart, heading: &Heading) {
        self.row(front, heading, self.style.room());
    }

    fn row(&mut self, front: LineStart, heading: &Heading, room: usize) {
        let LineStart { indent, sign } = front;
        let sign = self.style.spell(sign);
        let cut = |text: &str, room| self.style.cut(text, room).into_owned();
        let safe = |text: &str| self.one_row(text, room);
        let room = room.saturating_sub(indent + columns(sign) + 1);
        let name = cut(&safe(&heading.name), room / 2);
        let mut line = self.style.paint(TextColor::Tool, format!("{sign} {name}").trim_end());
        let room = room.saturating_sub(columns(&name) + 2);
        let detail = safe(&heading.detail);
        // Keep the leading space, which separates the tail from the rest.
        let space = if heading.tail.starts_with(' ') { " " } else { "" };
        let tail = format!("{space}{}", safe(&heading.tail));
        // Truncate only if the other parts need the room.
        let tail = cut(&tail, (room * 2 / 3).max(room.saturating_sub(columns(&detail))));
        let room = room - columns(&tail);
        let about = safe(&heading.about);
        let most = (room / 2).max(room.saturating_sub(columns(&detail)));
        let about = match most.checked_sub(columns(" ()")) {
            Some(most) if !about.is_empty() && most > columns(self.style.ellipsis()) => {
                format!(" ({})", cut(&about, most))
            }
            Some(_) | None => String::new(),
        };
        let detail = cut(&detail, room - columns(&about));
        if !detail.is_empty() {
            line.push_str(": ");
        }
        self.push(&format!("{:indent$}{line}{detail}{about}{tail}", ""));
    }

    /// Adds text of several lines without truncating it, with a prefix on each line.
    pub(super) fn verbatim(&mut self, front: LineStart, color: Option<TextColor>, text: &str) {
        let LineStart { indent, sign } = front;
        let gap = if sign.is_empty() { "" } else { " " };
        let sign = self.style.spell(sign);
        let text = display_safe(text);
        // An empty text is one empty line.
        for line in text.strip_suffix('\n').unwrap_or(&text).split('\n') {
            let line = format!("{sign}{gap}{line}");
            let line = if line.trim().is_empty() { "" } else { line.as_str() };
            let painted =
                color.filter(|_| !line.is_empty()).map(|color| self.style.paint(color, line));
            let indent = if line.is_empty() { 0 } else { indent };
            // Keep trailing white space, which may be the only change in a diff.
            let line = format!("{:indent$}{}\n", "", painted.as_deref().unwrap_or(line));
            self.text.push_str(&line);
        }
    }

    /// Adds a truncated line, with a prefix.
    pub(super) fn excerpt(&mut self, front: LineStart, line: &str) {
        let safe = display_safe(line);
        let safe = safe.trim_end();
        match safe.char_indices().nth(MAX_LINE_CHARS) {
            Some((end, _)) => {
                let cut = format!("{}{}", &safe[..end], self.style.ellipsis());
                self.verbatim(front, Some(TextColor::Faint), &cut);
            }
            None => self.verbatim(front, Some(TextColor::Faint), safe),
        }
    }

    /// Adds lines of an output, indented and in a faint color.
    pub(super) fn faint(&mut self, lines: &[&str]) {
        for line in lines {
            let line = display_safe(line);
            // Truncate without folding white space, to keep the indentation.
            let line: String = line.chars().take(MAX_LINE_CHARS).collect();
            let line = self.style.paint(TextColor::Faint, &line);
            self.push(&format!("    {line}"));
        }
    }

    pub(super) fn finish(self) -> String {
        self.text
    }

    /// A text in one row. Without a width limit, inner white space stays as it is.
    fn one_row(&self, text: &str, room: usize) -> String {
        let safe = display_safe(text);
        if room == UNBOUNDED && !safe.contains('\n') {
            return safe.trim().to_owned();
        }
        self.style.one_line(text, room.max(MAX_LINE_CHARS))
    }

    fn safe(&self, text: &str) -> String {
        self.style.one_line(text, MAX_LINE_CHARS)
    }

    fn push(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }
}
