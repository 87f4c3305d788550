//! The agent's last words, as many of them as anybody will read.

/// The most that is kept of a text. The end of a message matters more than its beginning.
pub(super) const TEXT_MAX: usize = 1 << 20;

/// What the agent said last.
#[derive(Debug, Default)]
pub(super) struct LastText {
    text: String,
}

impl LastText {
    /// A message that stands for itself.
    pub(super) fn replace(&mut self, text: &str) {
        end_of(text, TEXT_MAX).clone_into(&mut self.text);
    }

    /// One more line of a single long message.
    pub(super) fn append(&mut self, line: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(end_of(line, TEXT_MAX));
        // Cut only now and then, so that a long talk of short lines is not copied for each.
        if self.text.len() > 2 * TEXT_MAX {
            self.text = end_of(&self.text, TEXT_MAX).to_owned();
        }
    }

    pub(super) fn as_str(&self) -> &str {
        end_of(&self.text, TEXT_MAX)
    }
}

/// The last so many bytes, from the beginning of a character on.
pub(super) fn end_of(text: &str, most: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(most))..]
}
