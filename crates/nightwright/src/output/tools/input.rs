//! The JSON arguments and results of tool calls, read without assuming their shape.

use std::collections::BTreeMap;

use nightwright_core::stream::dialect::MAX_SHOWN_TEXT;
use nightwright_core::stream::lines::is_cut;
use serde::Deserialize;
use serde_json::value::RawValue;

/// A text that may be truncated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PartialText {
    pub(super) text: String,
    pub(super) extent: Extent,
}

/// Whether a string is complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Extent {
    #[default]
    Whole,
    /// The end of the text was cut off by the decoder.
    Beginning,
}

impl Extent {
    /// The phrase in front of a number of lines or bytes.
    pub(super) fn at_least(self) -> &'static str {
        match self {
            Self::Whole => "",
            Self::Beginning => "more than ",
        }
    }
}

/// The note at the end of a truncated text, after the ellipsis.
pub(super) fn cut_here() -> String {
    let most = MAX_SHOWN_TEXT >> 10;
    format!("truncated after {most} KB; the raw output contains everything")
}

/// The arguments of a call. Values are parsed on access, so that one of the wrong type does not
/// affect the others.
#[derive(Debug, Default)]
pub(super) struct ToolArguments<'a>(BTreeMap<String, &'a RawValue>);

impl<'a> ToolArguments<'a> {
    /// Parses a JSON object. Anything else counts as no arguments.
    pub(super) fn of(json: &'a str) -> Self {
        serde_json::from_str(json).map(Self).unwrap_or_default()
    }

    /// A string argument that is not blank.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        self.any_text(name).filter(|text| !text.trim().is_empty())
    }

    /// A string argument, even if it is empty.
    pub(super) fn any_text(&self, name: &str) -> Option<String> {
        self.read(name)
    }

    /// A string argument that may be truncated.
    pub(super) fn long_text(&self, name: &str) -> Option<PartialText> {
        text(self.0.get(name)?.get())
    }

    /// An integer argument, given as a number or a string.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.read(name).or_else(|| self.any_text(name)?.trim().parse().ok())
    }

    /// Whether a boolean argument is true.
    pub(super) fn is_set(&self, name: &str) -> bool {
        self.read(name) == Some(true)
    }

    /// The objects of an array argument.
    pub(super) fn objects(&self, name: &str) -> Vec<ToolArguments<'a>> {
        let entries: Vec<&RawValue> = self.read(name).unwrap_or_default();
        entries.into_iter().map(|entry| ToolArguments::of(entry.get())).collect()
    }

    /// The names of all arguments, separated by commas.
    pub(super) fn names(&self) -> String {
        self.0.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
    }

    fn read<T: Deserialize<'a>>(&self, name: &str) -> Option<T> {
        let value: &'a RawValue = self.0.get(name)?;
        serde_json::from_str(value.get()).ok()
    }
}

/// The content of a result as text: a string, a list of blocks, or else the JSON itself.
pub(super) fn content(json: &str) -> PartialText {
    if let Some(text) = text(json) {
        return text;
    }
    let Ok(blocks) = serde_json::from_str::<Vec<&RawValue>>(json) else {
        return whole(json);
    };
    let blocks: Vec<_> = blocks.into_iter().map(|block| block_text(block.get())).collect();
    let cut = blocks.iter().find(|block| block.extent == Extent::Beginning);
    let extent = cut.map(|block| block.extent).unwrap_or_default();
    let texts: Vec<_> = blocks.into_iter().map(|block| block.text).collect();
    PartialText { text: texts.join("\n"), extent }
}

fn block_text(json: &str) -> PartialText {
    if let Some(text) = text(json) {
        return text;
    }
    let block = ToolArguments::of(json);
    let kind = || block.text("type").map(|kind| whole(&format!("[{kind}]")));
    block.long_text("text").or_else(kind).unwrap_or_else(|| whole(json))
}

/// Parses a JSON string, if it is one.
fn text(json: &str) -> Option<PartialText> {
    let mut text: String = serde_json::from_str(json).ok()?;
    let raw = json.trim();
    if !is_cut(raw.strip_suffix('"').unwrap_or(raw), MAX_SHOWN_TEXT) {
        return Some(PartialText { text, extent: Extent::Whole });
    }
    // Remove the truncation mark, which is not part of the text.
    text.pop();
    Some(PartialText { text, extent: Extent::Beginning })
}

fn whole(text: &str) -> PartialText {
    PartialText { text: text.to_owned(), extent: Extent::Whole }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_of_the_wrong_type_costs_nothing_but_itself() {
        let arguments =
            ToolArguments::of(r#"{"a":7,"b":"x","c":"  ","d":"12","e":true,"f":[{},1]}"#);
        assert_eq!((arguments.text("a"), arguments.text("b")), (None, Some("x".to_owned())));
        assert_eq!((arguments.text("c"), arguments.any_text("c")), (None, Some("  ".to_owned())));
        assert_eq!((arguments.number("a"), arguments.number("d")), (Some(7), Some(12)));
        assert_eq!((arguments.number("b"), arguments.is_set("e")), (None, true));
        assert_eq!((arguments.objects("f").len(), arguments.objects("e").len()), (2, 0));
        for nothing in ["", "null", "[]", "7", "{", "\"text\""] {
            assert_eq!(ToolArguments::of(nothing).names(), "", "{nothing}");
        }
    }

    #[test]
    fn a_text_that_was_cut_is_known_by_its_length_and_its_mark() {
        let long = "x".repeat(MAX_SHOWN_TEXT);
        let cut = PartialText { text: long.clone(), extent: Extent::Beginning };
        assert_eq!(content(&format!("\"{long}…\"")), cut);
        assert_eq!(content(&format!(r#"[{{"type":"text","text":"{long}…"}}]"#)), cut);
        assert_eq!(content(&format!("\"{long}\"")), whole(&long));
        assert_eq!(content("\"wait…\""), whole("wait…"));
    }

    #[test]
    fn any_shape_of_tool_output_becomes_text() {
        let cases = [
            (r#""a\nb""#, "a\nb"),
            (r#"[{"type":"text","text":"a"},{"type":"text","text":"b"}]"#, "a\nb"),
            (r#"[{"type":"image","source":{}},"c",7]"#, "[image]\nc\n7"),
            (r#"{"odd":1}"#, r#"{"odd":1}"#),
            ("", ""),
            ("not json", "not json"),
        ];
        for (json, text) in cases {
            assert_eq!(content(json), whole(text), "{json}");
        }
    }
}
