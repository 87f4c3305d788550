//! Finds the text of lines that carry a few characters of a message.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem::{self, Finder};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::decode::read;
use super::fast_path::{FastDelta, TEXT, fast_delta};
use super::lenient::{LenientObject, LenientText};
use crate::redact::text_of;
use crate::stream::output_masker::{StreamedPart, TextDelta};

/// The name that every such line contains, whatever the order of its fields.
static NAME: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("stream_event"));

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct DeltaLine<'a> {
    #[serde(rename = "type", borrow)]
    kind: LenientText<'a>,
    #[serde(borrow)]
    parent_tool_use_id: LenientText<'a>,
    #[serde(borrow)]
    event: LenientObject<DeltaEvent<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct DeltaEvent<'a> {
    #[serde(rename = "type", borrow)]
    kind: LenientText<'a>,
    #[serde(borrow)]
    index: Option<&'a RawValue>,
    #[serde(borrow)]
    delta: LenientObject<DeltaBody<'a>>,
    #[serde(borrow)]
    content_block: LenientObject<DeltaBody<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct DeltaBody<'a> {
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    #[serde(borrow)]
    partial_json: Option<&'a RawValue>,
    #[serde(borrow)]
    thinking: Option<&'a RawValue>,
}

/// The part of a streamed message in a line; `None` for any other line. A line without the name is
/// not parsed.
pub fn streamed(line: &[u8]) -> Option<StreamedPart<'_>> {
    if let Some(FastDelta { kind, index, at, text }) = fast_delta(line) {
        let speaker = Cow::Borrowed("");
        return Some(match kind {
            TEXT => StreamedPart::Text(TextDelta { speaker, index, at, text }),
            _ => StreamedPart::Unread { at },
        });
    }
    if !may_be_part(line) {
        return None;
    }
    let read: DeltaLine<'_> = read(line).ok()?;
    if read.kind.0 != "stream_event" {
        return None;
    }
    let speaker = read.parent_tool_use_id.0;
    let event = read.event.0.unwrap_or_default();
    let index = event.index.map_or("", RawValue::get);
    Some(match &*event.kind.0 {
        "content_block_delta" => {
            let piece = event.delta.0.unwrap_or_default();
            if let Some((at, text)) = string(line, piece.text) {
                return Some(StreamedPart::Text(TextDelta { speaker, index, at, text }));
            }
            unread(line, &piece)
        }
        // A block may begin with some of its words.
        "content_block_start" => {
            let piece = event.content_block.0.unwrap_or_default();
            match string(line, piece.text) {
                Some((at, text)) if !text.is_empty() => {
                    StreamedPart::Text(TextDelta { speaker, index, at, text })
                }
                Some(_) | None => unread(line, &piece),
            }
        }
        "content_block_stop" => {
            StreamedPart::Ends { speaker, index: event.index.map(RawValue::get) }
        }
        "message_start" | "message_stop" => StreamedPart::Ends { speaker, index: None },
        _ => StreamedPart::Aside,
    })
}

/// Whether the line may be a piece of a message. Parsing it costs much more.
pub(super) fn may_be_part(line: &[u8]) -> bool {
    NAME.find(line).is_some()
}

/// A part that is repeated later as a whole.
fn unread<'a>(line: &[u8], piece: &DeltaBody<'_>) -> StreamedPart<'a> {
    string(line, piece.partial_json)
        .or_else(|| string(line, piece.thinking))
        .map_or(StreamedPart::Aside, |(at, _)| StreamedPart::Unread { at })
}

/// Whether these lines contain the result of a turn, which ends all streamed strings.
pub fn ends_turn(lines: &[u8]) -> bool {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct LineType<'a> {
        #[serde(rename = "type", borrow)]
        kind: LenientText<'a>,
    }
    let is_result = |line: &[u8]| {
        memmem::find(line, b"\"result\"").is_some()
            && read::<LineType<'_>>(line).is_ok_and(|line| line.kind.0 == "result")
    };
    lines.split(|byte| *byte == b'\n').any(is_result)
}

/// A string of a line and its position, including its quotes.
fn string<'a>(line: &[u8], value: Option<&'a RawValue>) -> Option<(Range<usize>, Cow<'a, str>)> {
    let value = value?;
    let inside = value.get().strip_prefix('"')?.strip_suffix('"')?;
    let text = match serde_json::from_str::<LenientText<'a>>(value.get()) {
        Ok(text) => text.0,
        Err(_) => Cow::Owned(text_of(inside.as_bytes())),
    };
    // The string was not copied when the line was parsed: it lies within the line.
    let start = value.get().as_ptr().addr().checked_sub(line.as_ptr().addr())?;
    let at = start..start + value.get().len();
    line.get(at.clone())?;
    Some((at, text))
}
