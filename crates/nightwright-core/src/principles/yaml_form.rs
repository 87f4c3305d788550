//! The YAML format of principles, written by another tool: `version`, `preset`, `created_at`, and
//! the maps `layer0` and `layer1` of weights. Any other YAML is a mistake.

use std::collections::BTreeSet;
use std::ops::Range;

use super::draft::{PrinciplesDraft, PrinciplesFormat};
use super::{Layer, Mistake, MistakeHelp, Principles, Weight};

impl Principles {
    /// Parses the YAML format. Missing values are treated as in the TOML format.
    pub fn parse_yaml(text: &str) -> Result<Self, Vec<Mistake>> {
        let mut reader = YamlReader {
            draft: PrinciplesDraft::new(PrinciplesFormat::Yaml),
            within: YamlContext::Nothing,
            seen: BTreeSet::new(),
        };
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            reader.line(at, line.trim_end_matches(['\n', '\r']));
            at += line.len();
        }
        reader.draft.finish()
    }
}

struct YamlReader<'t> {
    draft: PrinciplesDraft,
    within: YamlContext,
    /// The keys seen so far, each with its parent.
    seen: BTreeSet<(&'static str, &'t str)>,
}

/// The parent of an indented line.
#[derive(Clone, Copy)]
enum YamlContext {
    /// No parent is above the line.
    Nothing,
    /// Weights of this layer, with the indentation of the first one.
    Map(Layer, Option<usize>),
    /// An unknown key, which was already reported.
    Unknown,
}

/// A part of the text with its position.
type SpannedText<'t> = (&'t str, Range<usize>);

impl<'t> YamlReader<'t> {
    fn line(&mut self, start: usize, line: &'t str) {
        let content = line.trim_start_matches(' ');
        let indent = line.len() - content.len();
        let content = content.trim_end();
        if content.is_empty() || content.starts_with('#') || (indent == 0 && content == "---") {
            return;
        }
        let start = start + indent;
        let span = start..start + content.len();
        if content.starts_with('\t') {
            return self.wrong(span, "a line begins with a tab", "use spaces");
        }
        let Some((key, value)) = split(start, content) else {
            return self.wrong(span, "this is not a `key: value` line", "here");
        };
        let value = match plain(value) {
            Ok(value) => value,
            Err((span, label)) => return self.wrong(span, "the closing quote is missing", label),
        };
        match (indent, self.within) {
            (0, _) => self.outermost(&key, value),
            (_, YamlContext::Unknown) => {}
            (_, YamlContext::Nothing) => {
                self.wrong(span, "this line is indented, but belongs to no key", "here");
            }
            (_, YamlContext::Map(_, Some(first))) if first != indent => {
                self.wrong(span, "this line is not indented like those above it", "here");
            }
            (_, YamlContext::Map(layer, _)) => {
                self.within = YamlContext::Map(layer, Some(indent));
                if self.is_new(layer.yaml_name(), &key) {
                    let number = value.0.parse::<u8>().ok().and_then(Weight::new);
                    let number = number.ok_or_else(|| "this is not allowed".to_owned());
                    self.draft.weight(layer, key, (number, value.1));
                }
            }
        }
    }

    /// Processes a key at the start of a line.
    fn outermost(&mut self, key: &SpannedText<'t>, value: SpannedText<'t>) {
        self.within = YamlContext::Nothing;
        let (name, place) = key.clone();
        let layer = Layer::ALL.into_iter().find(|layer| layer.yaml_name() == name);
        if let Some(layer) = layer {
            self.within = YamlContext::Map(layer, None);
        }
        if !self.is_new("", key) {
            return;
        }
        match (layer, name) {
            (Some(_), _) if !value.0.is_empty() => {
                let message = format!("`{name}` must be a map of weights");
                let help = MistakeHelp::Say("write the weights below it, one per line".to_owned());
                let mistake = Mistake::new(value.1, message, "this is something else");
                self.draft.mistakes.push(mistake.help(help));
            }
            // These keys have no effect here.
            (Some(_), _) | (None, "version" | "created_at") => {}
            (None, "preset") => self.draft.preset(value.0, value.1),
            (None, _) => {
                self.draft.unknown(name, place);
                self.within = YamlContext::Unknown;
            }
        }
    }

    /// Whether a key occurs for the first time.
    fn is_new(&mut self, within: &'static str, (name, span): &SpannedText<'t>) -> bool {
        let is_new = self.seen.insert((within, name));
        if !is_new {
            let message = format!("`{name}` is duplicated");
            self.wrong(span.clone(), &message, "the second time");
        }
        is_new
    }

    fn wrong(&mut self, span: Range<usize>, message: &str, label: &str) {
        self.draft.mistakes.push(Mistake::new(span, message, label));
    }
}

/// Splits a line into a key and the text after its colon.
fn split(start: usize, content: &str) -> Option<(SpannedText<'_>, SpannedText<'_>)> {
    let colon = content.find(':')?;
    let (name, rest) = (&content[..colon], &content[colon + 1..]);
    if !(rest.is_empty() || rest.starts_with([' ', '\t'])) {
        return None;
    }
    let key = name.trim_end();
    let is_key =
        !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
    let value = rest.trim_start();
    let at = start + content.len() - value.len();
    is_key.then_some(((key, start..start + key.len()), (value, at..at + value.len())))
}

/// A value without quotes and without a trailing comment.
fn plain(value: SpannedText<'_>) -> Result<SpannedText<'_>, (Range<usize>, &'static str)> {
    let (text, span) = value;
    let Some(quote) = text.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
        let end = if text.starts_with('#') { 0 } else { text.find(" #").unwrap_or(text.len()) };
        let text = text[..end].trim_end();
        return Ok((text, span.start..span.start + text.len()));
    };
    let Some(length) = text[1..].find(quote) else {
        return Err((span, "the closing quote is missing"));
    };
    let behind = text[length + 2..].trim_start();
    if !(behind.is_empty() || behind.starts_with('#')) {
        return Err((span, "something follows the closing quote"));
    }
    Ok((&text[1..=length], span.start..span.start + length + 2))
}
