//! The agent's last message, up to a maximum length.

/// The maximum length of a string in bytes. The end of a message matters more than its beginning.
pub(super) const MAX_TEXT: usize = 1 << 20;

/// The last message of the agent.
#[derive(Debug, Default)]
pub(super) struct LastText {
    text: String,
}

impl LastText {
    /// Replaces the text with a separate message.
    pub(super) fn replace(&mut self, text: &str) {
        end_of(text, MAX_TEXT).clone_into(&mut self.text);
    }

    /// Appends one more line of a single long message.
    pub(super) fn append(&mut self, line: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(end_of(line, MAX_TEXT));
        // Cut only now and then, so that a long text of short lines is not copied for each line.
        if self.text.len() > 2 * MAX_TEXT {
            self.text = end_of(&self.text, MAX_TEXT).to_owned();
        }
    }

    pub(super) fn as_str(&self) -> &str {
        end_of(&self.text, MAX_TEXT)
    }
}

/// The last `most` bytes, from the start of a character.
pub(super) fn end_of(text: &str, most: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(most))..]
}
