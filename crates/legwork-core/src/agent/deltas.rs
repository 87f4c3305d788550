//! Masks what a program prints, where its words come a few characters at a time.
//!
//! A secret can be cut into several lines, none of which shows it, and whoever puts them together
//! does. So such lines are held back until the line of text that they are part of is whole, and go
//! out with their shares of the masked text. All others are masked as they come.
//!
//! ```text
//!   bytes ─┬─ a piece of a message ─▶ held ──▶ kept
//!          │                  └────────────────────▶ heard
//!          └─ anything else ───────▶ masked ─▶ kept and heard
//! ```
//!
//! Whoever listens to the agent waits for nothing, and keeps nothing of the pieces.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::ops::Range;

use memchr::memchr;

use super::dialect::Dialect;
use crate::redact::{Masking, Secrets};

/// A line that is longer brings no piece of a message.
const PIECE_MAX: usize = 64 << 10;
/// The most that is held back.
const HELD_MAX: usize = 4 << 20;
/// More texts are never written at the same time.
const TEXTS_MAX: usize = 64;

/// What a line brings of a message that is being written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Streamed<'a> {
    /// Some characters of a text.
    Text(Delta<'a>),
    /// Some characters of what comes whole later, and is not read before.
    Unread {
        /// Where in the line they are, as a JSON string.
        at: Range<usize>,
    },
    /// Nothing that has to do with a text.
    Aside,
    /// Whatever this speaker was writing is at its end.
    Ends {
        /// Who.
        speaker: Cow<'a, str>,
    },
}

/// Some characters of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delta<'a> {
    /// Whose text: empty, or the call that the sub-agent works for.
    pub speaker: Cow<'a, str>,
    /// Which of the texts of a message.
    pub index: &'a str,
    /// Where in the line they are, as a JSON string.
    pub at: Range<usize>,
    /// What they are.
    pub text: Cow<'a, str>,
}

/// Masks what a program prints.
#[derive(Debug)]
pub struct Deltas {
    dialect: Dialect,
    secrets: Secrets,
    /// For all that is no piece of a message.
    masking: Masking,
    /// The last line so far, while it may be a piece of a message.
    line: Vec<u8>,
    /// Whether the last line is a long one, the beginning of which is gone already.
    is_long: bool,
    held: VecDeque<Held>,
    held_bytes: usize,
    texts: Vec<Text>,
}

/// A line that waits.
#[derive(Debug)]
struct Held {
    line: Vec<u8>,
    /// Which text it has a piece of, where that is, and how long.
    piece: Option<(usize, Range<usize>, usize)>,
}

/// A text that is being written.
#[derive(Debug)]
struct Text {
    speaker: String,
    index: String,
    masking: Masking,
    /// What is known of it and not yet gone, masked.
    masked: Vec<u8>,
}

impl Text {
    fn finish(&mut self, secrets: &Secrets) {
        self.masking.finish(|bytes| self.masked.extend_from_slice(bytes));
        self.masking = Masking::new(secrets.clone());
    }
}

impl Deltas {
    /// For one stream.
    pub fn new(dialect: Dialect, secrets: Secrets) -> Self {
        Self {
            dialect,
            masking: Masking::new(secrets.clone()),
            secrets,
            line: Vec::new(),
            is_long: false,
            held: VecDeque::new(),
            held_bytes: 0,
            texts: Vec::new(),
        }
    }

    /// Takes more. What is `heard` comes out as soon as its line is whole; what is `kept` is the same
    /// but for pieces of messages, which wait for each other.
    pub fn push(
        &mut self,
        chunk: &[u8],
        mut kept: impl FnMut(&[u8]),
        mut heard: impl FnMut(&[u8]),
    ) {
        let (kept, heard): (Sink<'_>, Sink<'_>) = (&mut kept, &mut heard);
        if !self.dialect.comes_in_pieces() {
            return self.plain(chunk, kept, heard);
        }
        let mut rest = self.begun(chunk, kept, heard);
        // Lines that are no pieces go on together.
        let mut plain = 0;
        let mut at = 0;
        while let Some(length) = memchr(b'\n', &rest[at..]) {
            let end = at + length + 1;
            if let Some(streamed) = self.streamed(&rest[at..end]) {
                self.plain(&rest[plain..at], kept, heard);
                self.piece(&rest[at..end], streamed, kept, heard);
                plain = end;
            }
            at = end;
        }
        self.plain(&rest[plain..at], kept, heard);
        rest = &rest[at..];
        self.line.extend_from_slice(rest);
        self.pass_long(kept, heard);
    }

    /// Hands out the rest: there is no more.
    pub fn finish(&mut self, mut kept: impl FnMut(&[u8]), mut heard: impl FnMut(&[u8])) {
        let (kept, heard): (Sink<'_>, Sink<'_>) = (&mut kept, &mut heard);
        let line = std::mem::take(&mut self.line);
        self.whole(&line, kept, heard);
        self.let_go(kept);
        self.masking.finish(|bytes| {
            kept(bytes);
            heard(bytes);
        });
    }

    /// The rest of a line that began in an earlier chunk. Gives what follows it.
    fn begun<'c>(&mut self, chunk: &'c [u8], kept: Sink<'_>, heard: Sink<'_>) -> &'c [u8] {
        if self.line.is_empty() && !self.is_long {
            return chunk;
        }
        let newline = memchr(b'\n', chunk);
        let (more, rest) = chunk.split_at(newline.map_or(chunk.len(), |at| at + 1));
        if self.is_long {
            self.is_long = newline.is_none();
            self.plain(more, kept, heard);
            return rest;
        }
        self.line.extend_from_slice(more);
        if newline.is_some() {
            let mut line = std::mem::take(&mut self.line);
            self.whole(&line, kept, heard);
            // The same memory is used again.
            line.clear();
            self.line = line;
        } else {
            self.pass_long(kept, heard);
        }
        rest
    }

    /// A last line that is too long for a piece is not held.
    fn pass_long(&mut self, kept: Sink<'_>, heard: Sink<'_>) {
        if self.line.len() > PIECE_MAX {
            self.is_long = true;
            let line = std::mem::take(&mut self.line);
            self.plain(&line, kept, heard);
        }
    }

    fn whole(&mut self, line: &[u8], kept: Sink<'_>, heard: Sink<'_>) {
        match self.streamed(line) {
            Some(streamed) => self.piece(line, streamed, kept, heard),
            None => self.plain(line, kept, heard),
        }
    }

    fn streamed<'l>(&self, line: &'l [u8]) -> Option<Streamed<'l>> {
        if line.len() <= PIECE_MAX { self.dialect.streamed(line) } else { None }
    }

    /// What is no piece: behind everything that is held.
    fn plain(&mut self, bytes: &[u8], kept: Sink<'_>, heard: Sink<'_>) {
        if bytes.is_empty() {
            return;
        }
        self.let_go(kept);
        self.masking.push(bytes, |bytes| {
            kept(bytes);
            heard(bytes);
        });
    }

    fn piece(&mut self, line: &[u8], streamed: Streamed<'_>, kept: Sink<'_>, heard: Sink<'_>) {
        heard(&self.secrets.mask_bytes(line));
        let held = match streamed {
            Streamed::Text(delta) => {
                let text = self.text(&delta, kept);
                let Text { masking, masked, .. } = &mut self.texts[text];
                masking.push(delta.text.as_bytes(), |bytes| masked.extend_from_slice(bytes));
                let piece = Some((text, delta.at, delta.text.len()));
                Held { line: line.to_vec(), piece }
            }
            Streamed::Unread { at } => {
                // As many as there were bytes between the quotation marks: the line keeps its length.
                let stars = "*".repeat(at.len().saturating_sub(2));
                Held { line: with(line, at, &stars), piece: None }
            }
            Streamed::Aside => Held { line: line.to_vec(), piece: None },
            Streamed::Ends { speaker } => {
                let ended = self.texts.iter_mut().filter(|text| text.speaker == *speaker);
                ended.for_each(|text| text.finish(&self.secrets));
                Held { line: line.to_vec(), piece: None }
            }
        };
        self.held_bytes += held.line.len();
        self.held.push_back(held);
        self.release(kept);
        if self.held_bytes > HELD_MAX {
            self.let_go(kept);
        }
    }

    /// The text that a piece is part of.
    fn text(&mut self, delta: &Delta<'_>, kept: Sink<'_>) -> usize {
        let same = |text: &Text| text.speaker == *delta.speaker && text.index == delta.index;
        if let Some(known) = self.texts.iter().position(same) {
            return known;
        }
        if self.texts.len() >= TEXTS_MAX {
            self.let_go(kept);
        }
        self.texts.push(Text {
            speaker: delta.speaker.to_string(),
            index: delta.index.to_owned(),
            masking: Masking::new(self.secrets.clone()),
            masked: Vec::new(),
        });
        self.texts.len() - 1
    }

    /// Hands out everything that is held.
    fn let_go(&mut self, kept: Sink<'_>) {
        if self.texts.is_empty() {
            return;
        }
        for text in &mut self.texts {
            text.finish(&self.secrets);
        }
        self.release(kept);
        self.texts.clear();
    }

    /// Hands out what needs not wait any longer, in the order in which it came.
    fn release(&mut self, kept: Sink<'_>) {
        while let Some(first) = self.held.front() {
            if let Some((text, _, length)) = &first.piece
                && self.texts[*text].masked.len() < *length
            {
                return;
            }
            let Some(Held { line, piece }) = self.held.pop_front() else { return };
            self.held_bytes -= line.len();
            let line = match piece {
                Some((text, at, length)) => {
                    let share: Vec<u8> = self.texts[text].masked.drain(..length).collect();
                    with(&line, at, &String::from_utf8_lossy(&share))
                }
                None => line,
            };
            kept(&self.secrets.mask_bytes(&line));
        }
    }
}

type Sink<'a> = &'a mut dyn FnMut(&[u8]);

/// The line with another string in this place; the same line if the string is the same.
fn with(line: &[u8], at: Range<usize>, text: &str) -> Vec<u8> {
    let is_same = serde_json::from_slice::<Cow<'_, str>>(&line[at.clone()])
        .is_ok_and(|before| before == text);
    if is_same {
        return line.to_vec();
    }
    let string = serde_json::Value::from(text).to_string();
    [&line[..at.start], string.as_bytes(), &line[at.end..]].concat()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    const SECRET: &str = "correct-horse-9x7Q2z";

    fn secrets() -> Secrets {
        Secrets::new([SECRET], [""; 0]).unwrap()
    }

    fn delta(speaker: Option<&str>, delta: &Value) -> String {
        let event = json!({ "type": "content_block_delta", "index": 0, "delta": delta });
        let line = json!({
            "type": "stream_event", "event": event, "session_id": "s",
            "parent_tool_use_id": speaker, "uuid": "u",
        });
        line.to_string() + "\n"
    }

    fn text(speaker: Option<&str>, text: &str) -> String {
        delta(speaker, &json!({ "type": "text_delta", "text": text }))
    }

    fn end() -> String {
        let event = json!({ "type": "content_block_stop", "index": 0 });
        json!({ "type": "stream_event", "event": event }).to_string() + "\n"
    }

    /// What is kept and what is heard of a stream that comes in pieces of this size.
    fn masked(stream: &str, size: usize) -> (String, String) {
        let mut deltas = Deltas::new(Dialect::Claude, secrets());
        let (mut kept, mut heard) = (Vec::new(), Vec::new());
        for chunk in stream.as_bytes().chunks(size.max(1)) {
            deltas.push(chunk, |out| kept.extend(out), |out| heard.extend(out));
        }
        deltas.finish(|out| kept.extend(out), |out| heard.extend(out));
        (String::from_utf8(kept).unwrap(), String::from_utf8(heard).unwrap())
    }

    /// What the pieces of a text are together.
    fn joined(kept: &str, speaker: Option<&str>) -> String {
        let lines = kept.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let lines = lines.filter(|line| line["parent_tool_use_id"].as_str() == speaker);
        lines.filter_map(|line| Some(line["event"]["delta"]["text"].as_str()?.to_owned())).collect()
    }

    #[test]
    fn a_secret_that_is_cut_into_pieces_is_masked() {
        let pieces = ["The password is correct-", "horse-", "9x7Q2z ok\nand ", "more"];
        let stream: String = pieces.iter().map(|piece| text(None, piece)).collect();
        let (kept, heard) = masked(&(stream.clone() + &end()), 1000);
        assert_eq!(joined(&kept, None), "The password is ******************** ok\nand more");
        assert_eq!(kept.len(), heard.len());
        let (kept, _) = masked(&stream, 7);
        assert_eq!(joined(&kept, None), "The password is ******************** ok\nand more");
    }

    #[test]
    fn a_form_that_is_cut_into_pieces_is_masked_to_its_end() {
        let token = concat!("gh", "p_", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
        let (kept, _) = masked(&(text(None, &token[..38]) + &text(None, &token[38..])), 1000);
        assert!(!kept.contains(&token[38..]), "{kept}");
    }

    #[test]
    fn lines_keep_their_order_and_what_is_fine_stays_as_it_is() {
        let other = "{\"type\":\"system\",\"subtype\":\"status\"}\n";
        let stream = [
            text(None, "one "),
            text(Some("t"), "two "),
            text(None, "three\n"),
            other.to_owned(),
            text(None, "a \\ \"quoted\" é"),
            end(),
            "odd\n".to_owned(),
            text(None, "the end"),
        ]
        .concat();
        for size in [1, 3, 100, 10_000] {
            let (kept, heard) = masked(&stream, size);
            assert_eq!(kept, stream);
            assert_eq!(heard, stream);
        }
    }

    #[test]
    fn those_who_write_at_the_same_time_do_not_hide_each_others_secrets() {
        let stream = [
            text(None, "my correct-"),
            text(Some("t"), "its correct-horse"),
            text(None, "horse-9x7Q2z\n"),
            text(Some("t"), "-9x7Q2z\n"),
        ];
        let (kept, _) = masked(&stream.concat(), 1000);
        assert_eq!(joined(&kept, None), "my ********************\n");
        assert_eq!(joined(&kept, Some("t")), "its ********************\n");
    }

    #[test]
    fn what_comes_whole_later_is_not_kept_in_pieces() {
        let thinking = delta(None, &json!({ "type": "thinking_delta", "thinking": "horse-é" }));
        let input = json!({ "type": "input_json_delta", "partial_json": "{\"a\": \"9x7" });
        let printed = thinking + &delta(None, &input);
        let (kept, _) = masked(&printed, 1000);
        assert!(kept.contains("\"thinking\":\"********\""), "{kept}");
        assert!(kept.contains("\"partial_json\":\"*************\""), "{kept}");
        assert_eq!(kept.len(), printed.len());
        let (kept, _) = masked(&text(None, "x").replace("\"index\":0", "\"index\":\"a\""), 9);
        assert_eq!(joined(&kept, None), "x");
    }

    #[test]
    fn a_line_goes_out_when_it_is_whole_and_another_line_waits_for_nothing() {
        let mut deltas = Deltas::new(Dialect::Claude, secrets());
        let mut push = |text: &str| {
            let (mut kept, mut heard) = (0, 0);
            deltas.push(text.as_bytes(), |out| kept += out.len(), |out| heard += out.len());
            (kept, heard)
        };
        let (first, second) = (text(None, "a line "), text(None, "ends\n"));
        assert_eq!(push(&first), (0, first.len()));
        assert_eq!(push(&second), (first.len() + second.len(), second.len()));
        assert_eq!(push(&first), (0, first.len()));
        assert_eq!(push("{}\n"), (first.len() + 3, 3));
        let long = "x".repeat(1 << 20);
        assert!(push(&long).0 > long.len() / 2, "a line without an end is held");
    }

    proptest! {
        #[test]
        fn however_it_is_cut_no_secret_is_left(
            cuts in prop::collection::vec(0..70_usize, 0..12), size in 1..400_usize,
        ) {
            let whole = format!("It is {SECRET} and\n{SECRET}{SECRET}\nso {SECRET}.");
            let mut cuts: Vec<_> = cuts.into_iter().map(|at| at.min(whole.len())).collect();
            cuts.extend([0, whole.len()]);
            cuts.sort_unstable();
            let pieces = cuts.windows(2).map(|cut| text(None, &whole[cut[0]..cut[1]]));
            let (kept, _) = masked(&pieces.collect::<String>(), size);
            prop_assert_eq!(joined(&kept, None), secrets().mask(&whole));
        }
    }
}
