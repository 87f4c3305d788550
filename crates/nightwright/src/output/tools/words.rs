//! The agent's words while it says them.
//!
//! They come a few at a time, and then once more as a whole block. They are shown by the line: each
//! when it is complete, the last one when the block is. Nothing is shown twice.

/// What is remembered of a block from its beginning, in bytes, to know it again.
const KNOWN_MAX: usize = 256 << 10;

/// A line is held until it is complete, but no longer than this, in bytes.
const LINE_MAX: usize = 64 << 10;

/// The block that is being said.
#[derive(Debug, Default)]
pub(super) struct StreamedText {
    /// How it begins.
    beginning: String,
    /// How long it is so far.
    length: usize,
    /// The line that is not complete yet.
    rest: String,
    /// Empty lines after the last that was shown. They are shown if another one follows.
    gap: usize,
    /// Whether a line of this text was shown.
    begun: bool,
}

/// A line that is ready to be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TextLine {
    /// The first one of a text.
    First(String),
    /// A further one.
    More(String),
}

impl StreamedText {
    /// The next few words; gives the lines that they complete.
    pub(super) fn delta(&mut self, text: &str) -> Vec<TextLine> {
        let room = KNOWN_MAX.saturating_sub(self.beginning.len());
        if self.beginning.len() == self.length {
            self.beginning.push_str(&text[..text.floor_char_boundary(room)]);
        }
        self.length += text.len();
        self.rest.push_str(text);
        let complete = self.rest.rfind('\n').map_or(0, |end| end + 1);
        let complete =
            if self.rest.len() - complete > LINE_MAX { self.rest.len() } else { complete };
        let lines: String = self.rest.drain(..complete).collect();
        self.lines(&lines)
    }

    /// The block is at its end, and another one begins a line of its own: what two of them say
    /// together was not looked at together when secrets were masked.
    pub(super) fn end_of_block(&mut self) -> Vec<TextLine> {
        let left = std::mem::take(&mut self.rest);
        self.last_lines(&left)
    }

    /// A block as a whole; gives what was not shown of it yet.
    pub(super) fn whole(&mut self, text: &str) -> Vec<TextLine> {
        if self.length > 0 && text.starts_with(&self.beginning) && self.length <= text.len() {
            let more = text.get(self.length..).unwrap_or_default();
            let left = std::mem::take(&mut self.rest) + more;
            self.forget();
            return self.last_lines(&left);
        }
        if self.is_beginning(text) {
            // What was said is more than this block: it is the first of several, or was cut.
            self.beginning.drain(..text.len());
            self.length -= text.len();
            let left = self.rest.len().saturating_sub(self.length);
            let left: String = self.rest.drain(..left).collect();
            return self.last_lines(&left);
        }
        // Something else than what was said: what is left of that is of no use any more.
        self.forget();
        let text = if self.begun { text } else { text.trim_start_matches(['\n', '\r']) };
        self.last_lines_of_block(text)
    }

    /// Something else comes: what was said so far is shown, and the block may still go on.
    pub(super) fn pause(&mut self) -> Vec<TextLine> {
        let left = std::mem::take(&mut self.rest);
        let lines = self.last_lines(&left);
        (self.begun, self.gap) = (false, 0);
        lines
    }

    /// Another message begins: what comes is a text of its own, unless its words came before it.
    pub(super) fn next_message(&mut self) {
        if self.length == 0 {
            (self.begun, self.gap) = (false, 0);
        }
    }

    /// Nothing more comes of this text: what was said of it is shown.
    pub(super) fn end(&mut self) -> Vec<TextLine> {
        let lines = self.pause();
        self.forget();
        lines
    }

    /// Whether all of this block, and more, was said already.
    fn is_beginning(&self, text: &str) -> bool {
        !text.is_empty() && self.beginning.len() == self.length && self.beginning.starts_with(text)
    }

    fn forget(&mut self) {
        self.beginning.clear();
        self.beginning.shrink_to(KNOWN_MAX / 16);
        self.rest.clear();
        self.length = 0;
    }

    /// The end of a block that need not end with a newline.
    fn last_lines(&mut self, text: &str) -> Vec<TextLine> {
        if text.is_empty() { Vec::new() } else { self.lines(text) }
    }

    /// The same for a block of nothing: it is an empty line.
    fn last_lines_of_block(&mut self, text: &str) -> Vec<TextLine> {
        if text.is_empty() { self.lines("\n") } else { self.lines(text) }
    }

    /// Lines without the empty ones at both ends of the text.
    fn lines(&mut self, text: &str) -> Vec<TextLine> {
        let mut ready = Vec::new();
        if text.is_empty() {
            return ready;
        }
        // A carriage return alone ends a line, too.
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

    fn text(said: Vec<TextLine>) -> String {
        said.into_iter()
            .map(|said| match said {
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
    fn a_block_goes_on_after_something_else_was_shown() {
        let mut words = StreamedText::default();
        assert_eq!(text(words.delta("one tw")), "");
        assert_eq!(text(words.pause()), "* one tw\n");
        assert_eq!(text(words.delta("o\nth")), "* o\n");
        assert_eq!(text(words.whole("one two\nthree")), "  three\n");
    }

    #[test]
    fn several_blocks_may_be_said_before_the_first_comes_whole() {
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
            assert!(words.rest.len() <= LINE_MAX && words.beginning.len() <= KNOWN_MAX);
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
        fn however_it_comes_the_text_is_the_same(whole in r"[a-c\n ä]{0,60}", at in 0_usize..60) {
            let at = whole.floor_char_boundary(at);
            let mut words = StreamedText::default();
            let mut said = words.delta(&whole[..at]);
            said.extend(words.delta(&whole[at..]));
            said.extend(words.whole(&whole));
            said.extend(words.end());
            let mut at_once = StreamedText::default();
            let expected = at_once.whole(&whole);
            prop_assert_eq!(said, expected);
        }
    }
}
