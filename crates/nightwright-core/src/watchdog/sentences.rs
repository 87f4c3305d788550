//! The last sentences of a message, in two forms: as written, and as matched.
//!
//! In the matched form, code, addresses and quotations are replaced by one mark, because they are
//! not the agent's own words. Tables and checkboxes of a plan are left out for the same reason.

use std::borrow::Cow;

use crate::evidence::{QUOTES, prose};

/// The maximum number of sentences.
const MAX_SENTENCES: usize = 12;

/// The maximum number of lines at the end that are searched.
const MAX_LINES: usize = 80;
const MAX_CHARACTERS: usize = 8 << 10;

/// The maximum number of bytes examined at either end of a sentence.
const MAX_HALF: usize = 500;

/// The maximum length of a quotation in characters. An unclosed quotation mark quotes nothing.
const MAX_QUOTED: usize = 600;

/// Stands for text that is not the agent's own.
const NOT_OWN: char = '…';

/// Abbreviations after which a full stop does not end a sentence.
const SHORTENED: &[&str] = &["e.g", "i.e", "eg", "vs", "approx", "resp", "incl", "cf", "no", "z.B"];

/// A sentence near the end of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sentence {
    /// The sentence as matched.
    pub(super) own: String,
    /// The sentence as written, without emphasis.
    pub(super) written: String,
    pub(super) place: BlockKind,
    /// The index of its paragraph or list item.
    pub(super) block: usize,
}

/// The kind of block that contains a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockKind {
    Text,
    Item,
    Heading,
}

impl Sentence {
    /// Whether the sentence ends with a question mark, ignoring decoration at its end.
    pub(super) fn is_question(&self) -> bool {
        let is_mark = |c: char| matches!(c, '?' | '？');
        let end = self.own.trim_end_matches(|c: char| {
            !c.is_alphanumeric() && !is_mark(c) && c != '.' && c != NOT_OWN
        });
        end.ends_with(is_mark)
    }

    /// Whether the sentence consists only of code or a quotation.
    pub(super) fn is_mute(&self) -> bool {
        !self.own.contains(char::is_alphanumeric)
    }
}

/// The last sentences of a message, whose own lines are `own`.
pub(super) fn last(message: &str, own: &[String]) -> Vec<Sentence> {
    let mut sentences: Vec<Sentence> = Vec::new();
    for (number, block) in blocks(message, own).into_iter().enumerate() {
        block.split(number, &mut sentences);
    }
    sentences.split_off(sentences.len().saturating_sub(MAX_SENTENCES))
}

/// One character, as matched and as written.
#[derive(Clone, Copy)]
struct Letter {
    own: char,
    written: char,
}

/// A paragraph, a list item or a heading.
struct TextBlock {
    letters: Vec<Letter>,
    place: BlockKind,
}

/// The blocks at the end of a message. `own` has one line per written line, of the same length
/// except for trailing white space; or it has only the last lines.
fn blocks(message: &str, own: &[String]) -> Vec<TextBlock> {
    let (mut first, mut lines, mut characters) = (own.len(), 0, 0);
    while first > 0 && lines < MAX_LINES && characters < MAX_CHARACTERS {
        first -= 1;
        lines += usize::from(!own[first].is_empty());
        characters += own[first].len();
    }
    let written = message.lines().skip(message.lines().count().saturating_sub(own.len()));
    let mut blocks: Vec<TextBlock> = Vec::new();
    let mut goes_on = false;
    for (own, written) in own.iter().zip(written).skip(first) {
        let line = ParsedLine::read(own, written);
        goes_on = match (line, blocks.last_mut()) {
            (ParsedLine::None, _) => false,
            (ParsedLine::GoesOn(letters), Some(block)) if goes_on => {
                block.letters.push(Letter { own: ' ', written: ' ' });
                block.letters.extend(letters);
                true
            }
            (ParsedLine::GoesOn(letters), _) => {
                blocks.push(TextBlock { letters, place: BlockKind::Text });
                true
            }
            (ParsedLine::Begins(letters, place), _) => {
                blocks.push(TextBlock { letters, place });
                place != BlockKind::Heading
            }
        };
    }
    blocks
}

enum ParsedLine {
    /// A line without the agent's own words.
    None,
    /// A line that may continue a paragraph.
    GoesOn(Vec<Letter>),
    Begins(Vec<Letter>, BlockKind),
}

impl ParsedLine {
    fn read(own: &str, written: &str) -> Self {
        let letters = letters(own, written);
        let text = own.trim_start();
        let behind = prose::after_list_markers(own);
        let is_box = ["[ ]", "[x]", "[X]", "[~]"].iter().any(|mark| behind.starts_with(mark));
        let is_rule = !own.contains(|c: char| c.is_alphanumeric() || c == prose::BLANK);
        if text.starts_with('|') || is_box || is_rule {
            Self::None
        } else if text.starts_with('#') {
            Self::Begins(letters, BlockKind::Heading)
        } else if behind == text {
            Self::GoesOn(letters)
        } else {
            let from = own.chars().count() - behind.chars().count();
            let from = from.saturating_sub(own.chars().count() - letters.len());
            Self::Begins(letters[from.min(letters.len())..].to_vec(), BlockKind::Item)
        }
    }
}

/// The characters of a line; only the last ones if the line is very long.
fn letters(own: &str, written: &str) -> Vec<Letter> {
    let pairs = own.chars().zip(written.chars());
    let mut letters: Vec<_> = pairs
        .map(|(own, written)| Letter {
            own: match own {
                prose::BLANK => NOT_OWN,
                '’' => '\'',
                own => own,
            },
            written,
        })
        .collect();
    letters.split_off(letters.len().saturating_sub(MAX_CHARACTERS))
}

impl TextBlock {
    /// Appends the sentences of the block.
    fn split(mut self, number: usize, sentences: &mut Vec<Sentence>) {
        self.letters.retain(|letter| letter.own != '*');
        hide_addresses(&mut self.letters);
        hide_quotations(&mut self.letters);
        let mut from = 0;
        for at in 0..self.letters.len() {
            let end = at + 1;
            if end == self.letters.len() || ends_sentence(&self.letters, from, at) {
                sentences.extend(self.sentence(number, &self.letters[from..end]));
                from = end;
            }
        }
    }

    fn sentence(&self, number: usize, letters: &[Letter]) -> Option<Sentence> {
        let mut own = String::new();
        for letter in letters {
            let blank_again = letter.own.is_whitespace() && own.ends_with(char::is_whitespace);
            if !(blank_again || letter.own == NOT_OWN && own.ends_with(NOT_OWN)) {
                own.push(if letter.own.is_whitespace() { ' ' } else { letter.own });
            }
        }
        let own = shortened(&own);
        let own = own
            .trim_start_matches(|c: char| {
                !c.is_alphanumeric() && !matches!(c, NOT_OWN | '(' | '¿' | '\'')
            })
            .trim_end();
        let written: String = letters.iter().map(|letter| letter.written).collect();
        own.contains(|c: char| c.is_alphanumeric() || c == NOT_OWN).then(|| Sentence {
            own: own.to_owned(),
            written: written.split_whitespace().collect::<Vec<_>>().join(" "),
            place: self.place,
            block: number,
        })
    }
}

/// The sentence without its middle, if it is too long.
fn shortened(own: &str) -> Cow<'_, str> {
    if own.len() <= 2 * MAX_HALF {
        return Cow::Borrowed(own);
    }
    let head = &own[..own.floor_char_boundary(MAX_HALF)];
    let tail = &own[own.ceil_char_boundary(own.len() - MAX_HALF)..];
    Cow::Owned(format!("{head}{NOT_OWN}{tail}"))
}

/// Whether a sentence that began at `from` ends after this character.
fn ends_sentence(letters: &[Letter], from: usize, at: usize) -> bool {
    let is_end = |c: char| matches!(c, '.' | '!' | '?' | ';');
    let closes = |c: char| matches!(c, ')' | ']' | '"' | '”' | '_' | '\'');
    match letters[at].own {
        '。' | '？' | '！' => return true,
        c if is_end(c) || closes(c) => {}
        _ => return false,
    }
    // Closing marks belong to the sentence before them.
    let mark = letters[from..=at].iter().rev().find(|letter| !closes(letter.own));
    let ends = mark.is_some_and(|letter| is_end(letter.own));
    let next = letters.get(at + 1).is_none_or(|letter| letter.own.is_whitespace());
    ends && next && !is_shortened(&letters[from..=at])
}

fn is_shortened(letters: &[Letter]) -> bool {
    let Some((Letter { own: '.', .. }, before)) = letters.split_last() else {
        return false;
    };
    let word: String = before
        .rsplit(|letter| letter.own.is_whitespace() || letter.own == '(')
        .next()
        .unwrap_or_default()
        .iter()
        .map(|letter| letter.own)
        .collect();
    SHORTENED.iter().any(|short| short.eq_ignore_ascii_case(&word)) && before.len() > word.len()
}

fn hide(letters: &mut [Letter]) {
    for letter in letters {
        letter.own = NOT_OWN;
    }
}

/// Hides addresses, which may contain a question mark.
fn hide_addresses(letters: &mut [Letter]) {
    let mut at = 0;
    while at < letters.len() {
        let rest = &letters[at..];
        let begins = |text: &str| {
            rest.len() > text.len() && text.chars().zip(rest).all(|(c, letter)| c == letter.own)
        };
        let length = if begins("http://") || begins("https://") {
            let is_over = |letter: &Letter| {
                letter.own.is_whitespace() || matches!(letter.own, ')' | '>' | ']')
            };
            rest.iter().position(is_over).unwrap_or(rest.len())
        } else {
            at += 1;
            continue;
        };
        hide(&mut letters[at..at + length]);
        at += length;
    }
}

/// Hides text in quotation marks of any kind.
fn hide_quotations(letters: &mut [Letter]) {
    let mut at = 0;
    while at < letters.len() {
        match quotation(letters, at) {
            Some(end) => {
                hide(&mut letters[at + 1..end]);
                at = end + 1;
            }
            None => at += 1,
        }
    }
}

/// The position where a quotation that opens here is closed.
fn quotation(letters: &[Letter], at: usize) -> Option<usize> {
    let open = letters[at].written;
    let is_word = |letter: &Letter| letter.own.is_alphanumeric();
    let opens = at == 0 || !is_word(&letters[at - 1]);
    let closes = |close: char, end: usize| match close {
        '\'' | '’' => {
            letters[end].written == close
                && !letters[end - 1].own.is_whitespace()
                && !letters.get(end + 1).is_some_and(is_word)
        }
        close => letters[end].written == close,
    };
    let within = at + 2..letters.len().min(at + MAX_QUOTED);
    match open {
        '"' => within.clone().find(|end| closes('"', *end)),
        '\'' if opens => within.clone().find(|end| closes('\'', *end)),
        open => {
            let ends = |end: usize| {
                QUOTES.iter().any(|(first, close)| *first == open && closes(*close, end))
            };
            QUOTES
                .iter()
                .any(|(first, _)| *first == open)
                .then(|| within.clone().find(|end| ends(*end)))
                .flatten()
        }
    }
}
