//! Lines on their way to a terminal: safe, in the user's style, one write for what belongs
//! together.

use nightwright_core::display::display_safe;
use nightwright_core::outcome::Tone;

use super::style::{Style, TextColor};
use super::width::columns;

/// The longest line. More than that in one line is read by nobody.
const MAX_LINE_CHARS: usize = 1_000;

/// As good as no bound, and still a number that can be multiplied.
const UNBOUNDED: usize = usize::MAX / 16;

/// What names a tool call, in one row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Heading {
    /// The tool.
    pub(super) name: String,
    /// What it is called with.
    pub(super) detail: String,
    /// What it is for, in the agent's words.
    pub(super) about: String,
    /// What follows that, with the space or comma before it. It is cut last.
    pub(super) tail: String,
}

/// What is put in front of lines that belong together: so many spaces and perhaps a sign.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinePrefix {
    pub(super) indent: usize,
    pub(super) sign: &'static str,
}

/// Some lines. Whatever is put on it is made safe here, so no caller can forget to.
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

    /// A line.
    pub(super) fn line(&mut self, text: &str) {
        let line = self.safe(text);
        self.push(&line);
    }

    /// A line with a sign in front that says how good it is.
    pub(super) fn sign(&mut self, tone: Tone, text: &str) {
        let line = format!("{} {}", self.style.sign(tone), self.safe(text));
        self.push(&line);
    }

    /// A line that belongs to the one before it.
    pub(super) fn detail(&mut self, text: &str) {
        self.indented("  ", text);
    }

    /// A line as far in as this.
    pub(super) fn indented(&mut self, indent: &str, text: &str) {
        let line = format!("{indent}{}", self.safe(text));
        self.push(&line);
    }

    /// A detail that most people skip.
    pub(super) fn aside(&mut self, text: &str) {
        let line = self.style.paint(TextColor::Faint, &self.safe(text));
        self.push(&format!("  {line}"));
    }

    /// A line with a sign in front that says how good it is, this far in.
    pub(super) fn verdict(&mut self, indent: usize, tone: Tone, text: &str) {
        let line = format!("{:indent$}{} {}", "", self.style.sign(tone), self.safe(text));
        self.push(&line);
    }

    /// A heading, cut to the width of the terminal. Where there is none nothing is cut: what is
    /// kept in a file is to tell all of it.
    pub(super) fn heading(&mut self, front: LinePrefix, heading: &Heading) {
        let room = self.style.width().map_or(UNBOUNDED, |_| self.style.room());
        self.row(front, heading, room);
    }

    /// A heading that stands in full further up: enough of it to know it again.
    pub(super) fn reminder(&mut self, front: LinePrefix, heading: &Heading) {
        self.row(front, heading, self.style.room());
    }

    fn row(&mut self, front: LinePrefix, heading: &Heading, room: usize) {
        let LinePrefix { indent, sign } = front;
        let sign = self.style.spell(sign);
        let cut = |text: &str, room| self.style.cut(text, room).into_owned();
        let safe = |text: &str| self.one_row(text, room);
        let room = room.saturating_sub(indent + columns(sign) + 1);
        let name = cut(&safe(&heading.name), room / 2);
        let mut line = self.style.paint(TextColor::Tool, format!("{sign} {name}").trim_end());
        let room = room.saturating_sub(columns(&name) + 2);
        let detail = safe(&heading.detail);
        // White space at its beginning is what parts it from the rest.
        let space = if heading.tail.starts_with(' ') { " " } else { "" };
        let tail = format!("{space}{}", safe(&heading.tail));
        // Nothing is cut while the others leave room for it.
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

    /// Text of several lines, all of it and as it is, with something in front of each.
    pub(super) fn verbatim(&mut self, front: LinePrefix, ink: Option<TextColor>, text: &str) {
        let LinePrefix { indent, sign } = front;
        let gap = if sign.is_empty() { "" } else { " " };
        let sign = self.style.spell(sign);
        let text = display_safe(text);
        // A text of nothing is one empty line.
        for line in text.strip_suffix('\n').unwrap_or(&text).split('\n') {
            let line = format!("{sign}{gap}{line}");
            let line = if line.trim().is_empty() { "" } else { line.as_str() };
            let painted = ink.filter(|_| !line.is_empty()).map(|ink| self.style.paint(ink, line));
            let indent = if line.is_empty() { 0 } else { indent };
            // White space at the end stays: in a change it may be all that was changed.
            let line = format!("{:indent$}{}\n", "", painted.as_deref().unwrap_or(line));
            self.text.push_str(&line);
        }
    }

    /// The same, of each line no more than anybody reads.
    pub(super) fn excerpt(&mut self, front: LinePrefix, line: &str) {
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

    /// The last lines of a text, indented.
    pub(super) fn tail(&mut self, text: &str, most: usize) {
        let text = display_safe(text);
        let lines: Vec<_> = text.trim_end().lines().collect();
        let skipped = lines.len().saturating_sub(most);
        for line in &lines[skipped..] {
            // Cut without folding white space: what is indented stays so.
            let line: String = line.chars().take(MAX_LINE_CHARS).collect();
            let line = self.style.paint(TextColor::Faint, &line);
            self.push(&format!("    {line}"));
        }
    }

    pub(super) fn finish(self) -> String {
        self.text
    }

    /// A text in one row: as it is where nothing has to fit, for white space may be what matters.
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
