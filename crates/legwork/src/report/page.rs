//! Lines on their way to a terminal: safe, in the user's style, one write for what belongs
//! together.

use legwork_core::display::{display_safe, one_line};
use legwork_core::outcome::Tone;

use super::style::{Ink, Style};

/// The longest line. More than that in one line is read by nobody.
const LONGEST: usize = 1_000;

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
        let line = self.style.paint(Ink::Faint, &self.safe(text));
        self.push(&format!("  {line}"));
    }

    /// Text of several lines, all of it, indented.
    pub(super) fn block(&mut self, text: &str) {
        for line in display_safe(text).trim_end().lines() {
            self.push(&format!("    {line}"));
        }
    }

    /// The last lines of a text, indented.
    pub(super) fn tail(&mut self, text: &str, most: usize) {
        let text = display_safe(text);
        let lines: Vec<_> = text.trim_end().lines().collect();
        let skipped = lines.len().saturating_sub(most);
        for line in &lines[skipped..] {
            // Cut without folding white space: what is indented stays so.
            let line: String = line.chars().take(LONGEST).collect();
            let line = self.style.paint(Ink::Faint, &line);
            self.push(&format!("    {line}"));
        }
    }

    pub(super) fn finish(self) -> String {
        self.text
    }

    fn safe(&self, text: &str) -> String {
        self.style.spell(one_line(text, LONGEST))
    }

    fn push(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }
}
