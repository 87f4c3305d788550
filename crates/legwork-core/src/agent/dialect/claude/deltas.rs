//! Lines that bring a few characters of a message each: where in the line those are.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memmem;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::decode::read;
use super::lenient::{Object, Text};
use crate::agent::deltas::{Delta, Streamed};

/// What such a line has in it, whatever the order of its fields.
const NAME: &[u8] = b"stream_event";

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Line<'a> {
    #[serde(rename = "type", borrow)]
    kind: Text<'a>,
    #[serde(borrow)]
    parent_tool_use_id: Text<'a>,
    #[serde(borrow)]
    event: Object<Event<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Event<'a> {
    #[serde(rename = "type", borrow)]
    kind: Text<'a>,
    #[serde(borrow)]
    index: Option<&'a RawValue>,
    #[serde(borrow)]
    delta: Object<Piece<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Piece<'a> {
    #[serde(rename = "type", borrow)]
    kind: Text<'a>,
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    #[serde(borrow)]
    partial_json: Option<&'a RawValue>,
    #[serde(borrow)]
    thinking: Option<&'a RawValue>,
}

/// What a line brings of a message that is being written; `None` if it is another line. One that has
/// not the name in it is not read.
pub fn streamed(line: &[u8]) -> Option<Streamed<'_>> {
    memmem::find(line, NAME)?;
    let read: Line<'_> = read(line).ok()?;
    if read.kind.0 != "stream_event" {
        return None;
    }
    let speaker = read.parent_tool_use_id.0;
    let event = read.event.0.unwrap_or_default();
    Some(match &*event.kind.0 {
        "content_block_delta" => {
            let piece = event.delta.0.unwrap_or_default();
            let index = event.index.map_or("", RawValue::get);
            match &*piece.kind.0 {
                "text_delta" => string(line, piece.text).map_or(Streamed::Aside, |(at, text)| {
                    Streamed::Text(Delta { speaker, index, at, text })
                }),
                _ => string(line, piece.partial_json)
                    .or_else(|| string(line, piece.thinking))
                    .map_or(Streamed::Aside, |(at, _)| Streamed::Unread { at }),
            }
        }
        "ping" => Streamed::Aside,
        _ => Streamed::Ends { speaker },
    })
}

/// A string of a line, and where it is, with its quotation marks.
fn string<'a>(line: &[u8], value: Option<&'a RawValue>) -> Option<(Range<usize>, Cow<'a, str>)> {
    let value = value?;
    let text: Text<'a> = serde_json::from_str(value.get()).ok()?;
    // It was not copied when the line was read: it lies within.
    let start = value.get().as_ptr().addr().checked_sub(line.as_ptr().addr())?;
    let at = start..start + value.get().len();
    let is_string = line.get(at.clone()).is_some_and(|bytes| bytes.starts_with(b"\""));
    is_string.then_some((at, text.0))
}
