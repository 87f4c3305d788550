//! The agent's text, shown while it is streamed.
//!
//! Text arrives in small deltas, and then once more as a complete block. Each line is shown when it
//! is complete, the last one at the end of the block. Nothing is shown twice.

/// The number of bytes remembered from the beginning of a block, to recognize the complete block.
const MAX_KNOWN: usize = 256 << 10;

/// The maximum size of an incomplete line, in bytes. A longer one is shown in pieces.
const MAX_LINE: usize = 64 << 10;

/// The block that is being streamed.
#[derive(Debug, Default)]
pub(super) struct StreamedText {
    /// The beginning of the block.
    beginning: String,
    /// The length of the block so far, in bytes.
    length: usize,
    /// The line that is still incomplete.
    rest: String,
    /// The number of empty lines since the last shown line. They are shown only if another line
    /// follows.
    gap: usize,
    /// Whether a line of this text was shown.
    begun: bool,
}

/// A line that is ready to be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TextLine {
    /// The first line of a string.
    First(String),
    /// Any later line of a string.
    More(String),
}

impl StreamedText {
    /// Adds a delta, and returns the lines that it completes.
    pub(super) fn delta(&mut self, text: &str) -> Vec<TextLine> {
        let room = MAX_KNOWN.saturating_sub(self.beginning.len());
        if self.beginning.len() == self.length {
            self.beginning.push_str(&text[..text.floor_char_boundary(room)]);
        }
        self.length += text.len();
        self.rest.push_str(text);
        let complete = self.rest.rfind('\n').map_or(0, |end| end + 1);
        let complete =
            if self.rest.len() - complete > MAX_LINE { self.rest.len() } else { complete };
        let lines: String = self.rest.drain(..complete).collect();
        self.lines(&lines)
    }

    /// Ends the block, so that the next one starts a new line. Secrets are masked in each block
    /// separately, so two blocks must not form one line.
    pub(super) fn end_of_block(&mut self) -> Vec<TextLine> {
        let left = std::mem::take(&mut self.rest);
        self.last_lines(&left)
    }

    /// Takes the complete block, and returns the lines that were not shown yet.
    pub(super) fn whole(&mut self, text: &str) -> Vec<TextLine> {
        if self.length > 0 && text.starts_with(&self.beginning) && self.length <= text.len() {
            let more = text.get(self.length..).unwrap_or_default();
            let left = std::mem::take(&mut self.rest) + more;
            self.forget();
            return self.last_lines(&left);
        }
        if self.is_beginning(text) {
            // The streamed text is longer than this block, which is the first of several or was
            // truncated.
            self.beginning.drain(..text.len());
            self.length -= text.len();
            let left = self.rest.len().saturating_sub(self.length);
            let left: String = self.rest.drain(..left).collect();
            return self.last_lines(&left);
        }
        // The block differs from the streamed text, so the rest of that text is obsolete.
        self.forget();
        let text = if self.begun { text } else { text.trim_start_matches(['\n', '\r']) };
        self.last_lines_of_block(text)
    }

    /// Returns the text so far, because other output follows. The block may continue later.
    pub(super) fn pause(&mut self) -> Vec<TextLine> {
        let left = std::mem::take(&mut self.rest);
        let lines = self.last_lines(&left);
        (self.begun, self.gap) = (false, 0);
        lines
    }

    /// Starts the text of a new message, unless its deltas came earlier.
    pub(super) fn next_message(&mut self) {
        if self.length == 0 {
            (self.begun, self.gap) = (false, 0);
        }
    }

    /// Ends the text, and returns the rest of it.
    pub(super) fn end(&mut self) -> Vec<TextLine> {
        let lines = self.pause();
        self.forget();
        lines
    }

    /// Whether the streamed text contains this whole block and more.
    fn is_beginning(&self, text: &str) -> bool {
        !text.is_empty() && self.beginning.len() == self.length && self.beginning.starts_with(text)
    }

    fn forget(&mut self) {
        self.beginning.clear();
        self.beginning.shrink_to(MAX_KNOWN / 16);
        self.rest.clear();
        self.length = 0;
    }

    /// The last lines of a block, which need not end with a newline.
    fn last_lines(&mut self, text: &str) -> Vec<TextLine> {
        if text.is_empty() { Vec::new() } else { self.lines(text) }
    }

    /// Like [`Self::last_lines`], but an empty block yields an empty line.
    fn last_lines_of_block(&mut self, text: &str) -> Vec<TextLine> {
        if text.is_empty() { self.lines("\n") } else { self.lines(text) }
    }

    /// Splits text into lines, without empty ones at both ends.
    fn lines(&mut self, text: &str) -> Vec<TextLine> {
        let mut ready = Vec::new();
        if text.is_empty() {
            return ready;
        }
        // A single carriage return also ends a line.
        let text = text.replace("\r\n", "\n");
        let text = text.strip_suffix(['\n', '\r']).unwrap_or(&text);
        for line in text.split(['\n', '\r']) {
            if line.trim().is_empty() {
                self.gap += usize::from(self.begun);
                continue;
            }
            let gap = std::mem::take(&mut self.gap);
            ready.extend(std::iter::repeat_n(TextLine::More(String::new()), gap));
            let line = line.to_owned();
            ready.push(if self.begun { TextLine::More(line) } else { TextLine::First(line) });
            self.begun = true;
        }
        ready
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(lines: Vec<TextLine>) -> String {
        lines
            .into_iter()
            .map(|line| match line {
                TextLine::First(line) => format!("* {line}\n"),
                TextLine::More(line) => format!("  {line}\n"),
            })
            .collect()
    }

    #[test]
    fn lines_are_shown_when_they_are_complete_and_nothing_twice() {
        let mut words = StreamedText::default();
        assert_eq!(text(words.delta("I shall ")), "");
        assert_eq!(text(words.delta("look\nat ")), "* I shall look\n");
        assert_eq!(text(words.delta("it.\n\nThen")), "  at it.\n");
        assert_eq!(
            text(words.whole("I shall look\nat it.\n\nThen mend it.")),
            "  \n  Then mend it.\n"
        );
        assert_eq!(text(words.end()), "");
    }

    #[test]
    fn a_block_that_was_not_said_before_is_shown_whole() {
        let mut words = StreamedText::default();
        assert_eq!(text(words.whole("\n\none\n\n\ntwo\n\n")), "* one\n  \n  \n  two\n");
        assert_eq!(text(words.end()), "");
        assert_eq!(text(words.whole("next")), "* next\n");
    }

    #[test]
    fn a_block_that_is_another_than_what_was_said_is_shown_whole() {
        let mut words = StreamedText::default();
        assert_eq!(text(words.delta("one\ntw")), "* one\n");
        assert_eq!(text(words.whole("something else")), "  something else\n");
        assert_eq!(text(words.end()), "");
    }

    #[test]
    fn words_that_were_cut_off_are_shown_as_far_as_they_came() {
        let mut words = StreamedText::default();
        assert_eq!(text(words.delta("one\ntw")), "* one\n");
        assert_eq!(text(words.end()), "  tw\n");
        assert_eq!(text(words.delta("new")), "");
        assert_eq!(text(words.whole("new")), "* new\n");
    }

    #[test]
    fn a_block_continues_after_other_output() {
        let mut words = StreamedText::default();
        assert_eq!(text(words.delta("one tw")), "");
        assert_eq!(text(words.pause()), "* one tw\n");
        assert_eq!(text(words.delta("o\nth")), "* o\n");
        assert_eq!(text(words.whole("one two\nthree")), "  three\n");
    }

    #[test]
    fn several_blocks_may_begin_before_the_first_is_complete() {
        let mut words = StreamedText::default();
        assert_eq!(text(words.delta("one\nmore")), "* one\n");
        assert_eq!(text(words.end_of_block()), "  more\n");
        assert_eq!(text(words.delta("two\nand")), "  two\n");
        assert_eq!(text(words.whole("one\nmore")), "");
        assert_eq!(text(words.whole("two\nand so on")), "  and so on\n");
    }

    #[test]
    fn texts_that_are_lines_of_one_keep_their_empty_lines() {
        let mut words = StreamedText::default();
        let lines = ["", "one", "", "two", ""];
        let shown: String = lines.into_iter().map(|line| text(words.whole(line))).collect();
        assert_eq!(shown, "* one\n  \n  two\n");
    }

    #[test]
    fn a_line_without_an_end_is_not_held_for_ever() {
        let mut words = StreamedText::default();
        let mut shown = 0;
        for _ in 0..10_000 {
            shown += text(words.delta(&"x".repeat(1_000))).len();
            assert!(words.rest.len() <= MAX_LINE && words.beginning.len() <= MAX_KNOWN);
        }
        assert!(shown > 9_000_000);
        assert_eq!(
            text(words.whole(&"x".repeat(10_000_002))).trim_start().trim_matches('\n').len()
                % 1_000,
            2
        );
    }

    proptest! {
        #[test]
        fn the_text_is_the_same_for_any_chunking(whole in r"[a-c\n ä]{0,60}", at in 0_usize..60) {
            let at = whole.floor_char_boundary(at);
            let mut words = StreamedText::default();
            let mut lines = words.delta(&whole[..at]);
            lines.extend(words.delta(&whole[at..]));
            lines.extend(words.whole(&whole));
            lines.extend(words.end());
            let mut at_once = StreamedText::default();
            let expected = at_once.whole(&whole);
            prop_assert_eq!(lines, expected);
        }
    }
}
