//! Known values, found however they are written.
//!
//! Every value has a core: some letters and digits of it that stand next to each other, which text,
//! JSON and addresses all write in the same way. All cores are looked for at once; what has to
//! stand around one is looked at only where one is.

use std::fmt::Write as _;
use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, Input, MatchKind};
use regex::bytes::{Regex, RegexBuilder};

use super::SIZE;
use super::values::MIN_SECRET_LEN;

/// A longer value is looked for in pieces.
const LONG: usize = 128;
/// So many characters has one of them.
const PIECE: usize = 64;
/// A shorter core would be found everywhere.
const MIN_CORE_LEN: usize = 3;
/// A longer one takes more memory and is found no better.
const MAX_CORE_LEN: usize = 12;
/// Values without a core that are looked for together: more of them would make it slow.
const GROUP: usize = 32;
/// How far in front of a core what belongs to it may begin, for each of its characters.
const MAX_DISTANCE: usize = 32;

/// All known values.
#[derive(Default)]
pub(super) struct Literals {
    /// The cores; none is the beginning of another.
    cores: Option<AhoCorasick>,
    /// The values that have each of them.
    values: Vec<Vec<Literal>>,
    /// Values without a core.
    odd: Vec<Regex>,
}

/// A value, or a piece of one.
struct Literal {
    units: Vec<LiteralUnit>,
    /// Where its core is.
    core: Range<usize>,
    /// What stands in front of the core and behind it, made when it is needed first.
    sides: OnceLock<Option<(Regex, Regex)>>,
}

/// A character, or bytes that are none.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum LiteralUnit {
    Char(char),
    Bytes(Vec<u8>),
}

impl Literals {
    /// Of these values; why not if they can't be looked for.
    pub(super) fn new(values: &[Vec<u8>]) -> Result<Self, String> {
        let mut pieces: Vec<Vec<LiteralUnit>> =
            values.iter().flat_map(|value| pieces(value)).collect();
        pieces.sort();
        pieces.dedup();
        let (with_core, without): (Vec<_>, Vec<_>) = pieces
            .into_iter()
            .map(|units| (core(&units), units))
            .partition(|(core, _)| core.len() >= MIN_CORE_LEN);
        let mut literals: Vec<(String, Literal)> = with_core
            .into_iter()
            .map(|(core, units)| {
                let text = letters(&units[core.clone()]);
                (text, Literal { units, core, sides: OnceLock::new() })
            })
            .collect();
        literals.sort_by(|a, b| a.0.cmp(&b.0));
        let mut cores: Vec<String> = Vec::new();
        let mut values: Vec<Vec<Literal>> = Vec::new();
        for (core, literal) in literals {
            match (cores.last(), values.last_mut()) {
                (Some(last), Some(those)) if core.starts_with(last.as_str()) => those.push(literal),
                _ => {
                    cores.push(core);
                    values.push(vec![literal]);
                }
            }
        }
        let odd = without.chunks(GROUP).map(|group| {
            let forms: Vec<_> = group.iter().map(|(_, units)| forms(units)).collect();
            build(&forms.join("|")).map_err(|error| error.to_string())
        });
        let odd = odd.collect::<Result<Vec<_>, _>>()?;
        let cores = if cores.is_empty() {
            None
        } else {
            let built = AhoCorasick::builder().match_kind(MatchKind::LeftmostFirst).build(&cores);
            Some(built.map_err(|error| error.to_string())?)
        };
        Ok(Self { cores, values, odd })
    }

    /// Where they are, from `from` on. One may begin inside of another.
    pub(super) fn find(&self, bytes: &[u8], from: usize, mut each: impl FnMut(Range<usize>)) {
        let mut at = from;
        while let Some(cores) = &self.cores
            && let Some(core) = cores.find(Input::new(bytes).span(at..bytes.len()))
        {
            at = core.start() + 1;
            for literal in &self.values[core.pattern().as_usize()] {
                if let Some(span) = literal.around(bytes, from, core.start()) {
                    each(span);
                }
            }
        }
        for odd in &self.odd {
            let mut at = from;
            while let Some(found) = odd.find_at(bytes, at) {
                each(found.range());
                at = found.start() + 1;
                // A long run of backslashes is looked at once.
                while bytes[at - 1] == b'\\' && bytes.get(at) == Some(&b'\\') {
                    at += 1;
                }
            }
        }
    }
}

impl Literal {
    /// Where it is, if its core may be at `at`.
    fn around(&self, bytes: &[u8], from: usize, at: usize) -> Option<Range<usize>> {
        let mut end = at;
        for unit in &self.units[self.core.clone()] {
            match unit {
                LiteralUnit::Char(c) if bytes.get(end).copied().map(char::from) == Some(*c) => {
                    end += 1;
                }
                LiteralUnit::Char(_) | LiteralUnit::Bytes(_) => return None,
            }
        }
        let sides = self.sides.get_or_init(|| {
            let before = forms(&self.units[..self.core.start]);
            let after = forms(&self.units[self.core.end..]);
            Some((
                build(&format!(r"(?:{before})\z")).ok()?,
                build(&format!(r"\A(?:{after})")).ok()?,
            ))
        });
        // Pieces are so short that there are always sides. Were there none, the core is masked:
        // better too much than too little.
        let Some((before, after)) = sides else { return Some(at..end) };
        let behind = after.find(&bytes[end..])?.end();
        let reach = from.max(at.saturating_sub((self.core.start + 4) * MAX_DISTANCE));
        let front = before.find(&bytes[reach..at])?.start();
        Some(reach + front..end + behind)
    }
}

fn build(pattern: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern).unicode(false).size_limit(SIZE).build()
}

fn units(value: &[u8]) -> Vec<LiteralUnit> {
    let mut units = Vec::new();
    for chunk in value.utf8_chunks() {
        units.extend(chunk.valid().chars().map(LiteralUnit::Char));
        if !chunk.invalid().is_empty() {
            units.push(LiteralUnit::Bytes(chunk.invalid().to_vec()));
        }
    }
    units
}

/// A value in pieces of a length that can be looked for, but for the signs around it: nobody
/// learns anything from a sign.
fn pieces(value: &[u8]) -> Vec<Vec<LiteralUnit>> {
    let all = units(value);
    let is_sign = |unit: &LiteralUnit| matches!(unit, LiteralUnit::Char(c) if c.is_ascii() && !c.is_ascii_alphanumeric());
    let first = all.iter().position(|unit| !is_sign(unit)).unwrap_or(0);
    let end = all.iter().rposition(|unit| !is_sign(unit)).map_or(all.len(), |last| last + 1);
    let bare = if end - first >= MIN_SECRET_LEN { &all[first..end] } else { &all[..] };
    if bare.len() <= LONG {
        return vec![bare.to_vec()];
    }
    let mut pieces: Vec<Vec<LiteralUnit>> =
        bare.chunks_exact(PIECE).map(<[LiteralUnit]>::to_vec).collect();
    // The last one goes to the end, whatever it has in common with the one before it.
    pieces.push(bare[bare.len() - PIECE..].to_vec());
    pieces
}

/// Where the core is: in the longest run of letters and digits.
fn core(units: &[LiteralUnit]) -> Range<usize> {
    let mut best = 0..0;
    let mut start = 0;
    for (index, unit) in units.iter().enumerate() {
        if !matches!(unit, LiteralUnit::Char(c) if c.is_ascii_alphanumeric()) {
            start = index + 1;
        } else if index + 1 - start > best.len() {
            best = start..index + 1;
        }
    }
    best.start..best.end.min(best.start + MAX_CORE_LEN)
}

fn letters(units: &[LiteralUnit]) -> String {
    let chars = units.iter().filter_map(|unit| match unit {
        LiteralUnit::Char(c) => Some(*c),
        LiteralUnit::Bytes(_) => None,
    });
    chars.collect()
}

/// Every way to write a value in text, in JSON, in JSON inside of JSON, in an address, in a command
/// and in a page.
fn forms(units: &[LiteralUnit]) -> String {
    let mut pattern = String::with_capacity(units.len() * 8);
    for unit in units {
        match unit {
            LiteralUnit::Char(c) => form(&mut pattern, *c),
            // Whoever writes it as text writes another character in its place.
            LiteralUnit::Bytes(bytes) => {
                pattern.push_str("(?:");
                hexadecimal(&mut pattern, bytes, r"\x");
                pattern.push_str(r"|(?:\xef\xbf\xbd|\\+u[fF]{3}[dD])+|(?i:");
                hexadecimal(&mut pattern, bytes, "%");
                pattern.push_str("))");
            }
        }
    }
    pattern
}

fn form(pattern: &mut String, c: char) {
    if c.is_ascii_alphanumeric() {
        return pattern.push(c);
    }
    let mut buffer = [0; 4];
    let bytes = c.encode_utf8(&mut buffer).as_bytes();
    pattern.push_str("(?:");
    match c {
        '\\' => pattern.push_str(r"\\+"),
        // A form that was sent has a plus for a space.
        ' ' => pattern.push_str(r"\\* |\+"),
        // Inside of quotes a shell wants `'\''` or `'"'"'`.
        '\'' => pattern.push_str(r#"\\*'(?:\\+''|\\*"'\\*"')?|&(?:apos|#0?39|#x27);"#),
        '"' => pattern.push_str(r#"\\*"|&(?:quot|#34|#x22);"#),
        '<' => pattern.push_str(r"\\*<|&lt;"),
        '>' => pattern.push_str(r"\\*>|&gt;"),
        '&' => pattern.push_str(r"\\*&(?:amp;)?"),
        '/' => pattern.push_str(r"\\*/|&#(?:47|x2[fF]);"),
        // And without quotes it wants a backslash.
        _ if c.is_ascii_punctuation() => put(pattern, format_args!(r"\\*\x{:02x}", u32::from(c))),
        // The end of a line as it is ends what is looked for.
        '\n' => pattern.push_str(r"\\+n"),
        '\r' => pattern.push_str(r"\\+r"),
        '\t' => pattern.push_str(r"\t|\\+t"),
        '\u{8}' => pattern.push_str(r"\x08|\\+b"),
        '\u{c}' => pattern.push_str(r"\x0c|\\+f"),
        _ => hexadecimal(pattern, bytes, r"\x"),
    }
    pattern.push_str("|(?i:");
    for unit in c.encode_utf16(&mut [0; 2]) {
        put(pattern, format_args!(r"\\+u{unit:04x}"));
    }
    pattern.push('|');
    hexadecimal(pattern, bytes, "%");
    pattern.push_str("))");
}

fn hexadecimal(pattern: &mut String, bytes: &[u8], sign: &str) {
    for byte in bytes {
        put(pattern, format_args!("{sign}{byte:02x}"));
    }
}

fn put(pattern: &mut String, text: std::fmt::Arguments<'_>) {
    pattern.write_fmt(text).expect("writing to memory can't fail");
}
