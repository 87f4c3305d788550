//! Masking of secrets in journal records and JSON values.

use std::borrow::Cow;
use std::collections::BTreeSet;

use memchr::memchr;
use serde::Serialize;
use serde_json::Value;

use super::Secrets;
use crate::event::{Event, Record};

/// The shortest run of stars that counts as a mask.
const MASK: &str = "********";

impl Secrets {
    /// Masks every secret in the records. Borrowed if there is none.
    pub fn mask_records<'a>(&self, records: &'a [Record]) -> Cow<'a, [Record]> {
        let mut masked = Cow::Borrowed(records);
        for (index, record) in records.iter().enumerate() {
            if let Some(event) = self.mask_event(&record.event) {
                masked.to_mut()[index].event = event;
            }
        }
        masked
    }

    /// Returns the event with every secret masked; `None` if it contains none.
    pub fn mask_event(&self, event: &Event) -> Option<Event> {
        let bytes = serde_json::to_vec(event).ok()?;
        // A text with a backslash differs from its JSON encoding, so a secret may be in only one of
        // them.
        if memchr(b'\\', &bytes).is_none() && !self.are_in(&bytes) {
            return None;
        }
        let before: Value = serde_json::from_slice(&bytes).ok()?;
        let mut changes = Vec::new();
        self.texts(&before, &mut String::new(), &mut changes);
        if changes.is_empty() {
            return None;
        }
        let mut after = before.clone();
        for (place, text) in &changes {
            put(&mut after, place, text);
        }
        if let Ok(event) = serde_json::from_value(after) {
            return Some(event);
        }
        one_by_one(before, &changes)
    }

    /// Collects every text that masking changes, with its JSON pointer.
    fn texts(&self, value: &Value, place: &mut String, changes: &mut Vec<(String, String)>) {
        let length = place.len();
        match value {
            Value::String(text) => {
                if let Some(masked) = self.mask_anywhere(text) {
                    changes.push((place.clone(), masked));
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    place.push('/');
                    place.push_str(&index.to_string());
                    self.texts(item, place, changes);
                    place.truncate(length);
                }
            }
            Value::Object(members) => {
                for (name, member) in members {
                    // The name of the event determines the type of everything else.
                    if length == 0 && name == "event" {
                        continue;
                    }
                    place.push('/');
                    place.push_str(&name.replace('~', "~0").replace('/', "~1"));
                    self.texts(member, place, changes);
                    place.truncate(length);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Masks every text of a value except member names; returns whether anything was masked.
    pub fn mask_value(&self, value: &mut Value) -> bool {
        let mut any = false;
        for_each_text(value, &mut |text| {
            if let Some(masked) = self.mask_anywhere(text) {
                any = true;
                *text = masked;
            }
        });
        any
    }

    /// Masks a string as it is and in its JSON encoding, in which a value of several lines is one
    /// line.
    fn mask_anywhere(&self, text: &str) -> Option<String> {
        let masked = self.mask(text);
        let written = serde_json::to_vec(&*masked).ok()?;
        if let Cow::Owned(written) = self.mask_bytes(&written)
            && let Ok(masked) = serde_json::from_slice(&written)
        {
            return Some(masked);
        }
        match masked {
            Cow::Borrowed(_) => None,
            Cow::Owned(masked) => Some(masked),
        }
    }
}

fn for_each_text(value: &mut Value, each: &mut impl FnMut(&mut String)) {
    match value {
        Value::String(text) => each(text),
        Value::Array(items) => items.iter_mut().for_each(|item| for_each_text(item, each)),
        Value::Object(members) => members.values_mut().for_each(|one| for_each_text(one, each)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Applies the changes one by one. A secret that equals a name of the format cannot be masked
/// there, but all others can.
fn one_by_one(mut value: Value, changes: &[(String, String)]) -> Option<Event> {
    for (place, text) in changes {
        let mut attempt = value.clone();
        put(&mut attempt, place, text);
        if serde_json::from_value::<Event>(attempt.clone()).is_ok() {
            value = attempt;
        }
    }
    serde_json::from_value(value).ok()
}

fn put(value: &mut Value, place: &str, text: &str) {
    if let Some(found) = value.pointer_mut(place) {
        *found = Value::String(text.to_owned());
    }
}

/// Whether two values are equal except for the masks in the first.
pub fn agrees(masked: &impl Serialize, original: &impl Serialize) -> bool {
    match (serde_json::to_value(masked), serde_json::to_value(original)) {
        (Ok(masked), Ok(original)) => same(&masked, &original),
        (Ok(_) | Err(_), _) => false,
    }
}

/// The strings of the second value that are masked in the first, given that they agree. These were
/// secret once, even if they are no longer recognized.
pub fn masked_in(masked: &impl Serialize, original: &impl Serialize) -> Vec<String> {
    let mut found = BTreeSet::new();
    if let (Ok(masked), Ok(original)) =
        (serde_json::to_value(masked), serde_json::to_value(original))
    {
        gather(&masked, &original, &mut found);
    }
    found.into_iter().collect()
}

fn gather(masked: &Value, original: &Value, found: &mut BTreeSet<String>) {
    match (masked, original) {
        (Value::String(masked), Value::String(original)) if masked != original => {
            // A star at the edge of a mask may be part of the original text.
            let covered = covered(masked, original).into_iter().map(|text| text.trim_matches('*'));
            found.extend(covered.filter(|text| !text.is_empty()).map(str::to_owned));
        }
        (Value::Array(masked), Value::Array(original)) => {
            masked
                .iter()
                .zip(original)
                .for_each(|(masked, original)| gather(masked, original, found));
        }
        (Value::Object(masked), Value::Object(original)) => {
            for (name, masked) in masked {
                if let Some(original) = original.get(name) {
                    gather(masked, original, found);
                }
            }
        }
        (_, _) => {}
    }
}

/// The strings at the positions of the masks.
fn covered<'t>(masked: &str, original: &'t str) -> Vec<&'t str> {
    let mut covered = Vec::new();
    if masked.len() == original.len() {
        let mut at = 0;
        for piece in masked.split_inclusive(|c| c != '*') {
            let stars = piece.bytes().take_while(|byte| *byte == b'*').count();
            covered.extend(original.get(at..at + stars));
            at += piece.len();
        }
        return covered;
    }
    // A value of several lines is shorter than its mask, so the strings between the masks are
    // searched for instead.
    let Some((front, rest)) = masked.split_once(MASK) else { return covered };
    let Some(mut original) = original.strip_prefix(front) else { return covered };
    let between = rest.split(MASK).map(|piece| piece.trim_start_matches('*'));
    for piece in between.filter(|piece| !piece.is_empty()) {
        let Some((hidden, after)) = original.split_once(piece) else { return covered };
        covered.push(hidden);
        original = after;
    }
    if masked.ends_with('*') {
        covered.push(original);
    }
    covered
}

/// Whether the value contains masks.
pub fn has_masks(value: &impl Serialize) -> bool {
    fn any(value: &Value) -> bool {
        match value {
            Value::String(text) => has_mask(text),
            Value::Array(items) => items.iter().any(any),
            Value::Object(members) => members.values().any(any),
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }
    serde_json::to_value(value).is_ok_and(|value| any(&value))
}

/// Whether the text contains a run of stars that is a mask. Comment frames (`/*****`, a line of
/// stars) do not count.
fn has_mask(text: &str) -> bool {
    text.lines().any(|line| {
        let runs = line.split(|c| c != '*').filter(|run| run.len() >= MASK.len());
        let is_frame = line.chars().all(|c| matches!(c, '*' | '/' | '#' | ' ' | '\t'));
        runs.count() > 0 && !is_frame && !line.contains("/**") && !line.contains("**/")
    })
}

fn same(masked: &Value, original: &Value) -> bool {
    match (masked, original) {
        (Value::String(masked), Value::String(original)) => same_text(masked, original),
        (Value::Array(masked), Value::Array(original)) => {
            masked.len() == original.len() && masked.iter().zip(original).all(|(a, b)| same(a, b))
        }
        (Value::Object(masked), Value::Object(original)) => {
            let found = |(name, value): (&String, &Value)| {
                original.get(name).is_some_and(|original| same(value, original))
            };
            masked.len() == original.len() && masked.iter().all(found)
        }
        (masked, original) => masked == original,
    }
}

fn same_text(masked: &str, original: &str) -> bool {
    if masked.len() == original.len() {
        return masked.bytes().zip(original.bytes()).all(|(a, b)| a == b || a == b'*');
    }
    // A value of several lines is shorter than its mask.
    let Some((front, rest)) = masked.split_once(MASK) else { return false };
    let end = rest.rsplit_once('*').map_or(rest, |(_, end)| end);
    original.starts_with(front) && original.ends_with(end)
}
