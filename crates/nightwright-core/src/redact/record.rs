//! Secrets in what is recorded.

use std::borrow::Cow;
use std::collections::BTreeSet;

use memchr::memchr;
use serde::Serialize;
use serde_json::Value;

use super::Secrets;
use crate::event::{Event, Record};

/// A run of so many stars is a mask.
const MASK: &str = "********";

impl Secrets {
    /// The records with every secret masked. Borrowed when there is none.
    pub fn mask_records<'a>(&self, records: &'a [Record]) -> Cow<'a, [Record]> {
        let mut masked = Cow::Borrowed(records);
        for (index, record) in records.iter().enumerate() {
            if let Some(event) = self.mask_event(&record.event) {
                masked.to_mut()[index].event = event;
            }
        }
        masked
    }

    /// The event with every secret masked, if there is one in it.
    pub fn mask_event(&self, event: &Event) -> Option<Event> {
        let bytes = serde_json::to_vec(event).ok()?;
        // A text and the way JSON writes it differ where there is a backslash: then a secret may be
        // in the one and not in the other.
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

    /// Every text that has to be another, by its place.
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
                    // The name of the event says what all the rest is.
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

    /// Masks every text of a value but the names in it, and says whether there was anything to mask.
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

    /// A text masked as it is and as JSON writes it, where the lines of a value are one.
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

/// A secret that happens to be a word of ours can't be masked where that word is meant: everything
/// else still is.
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

/// Whether two things are the same but for what is masked in the first.
pub fn agrees(masked: &impl Serialize, told: &impl Serialize) -> bool {
    match (serde_json::to_value(masked), serde_json::to_value(told)) {
        (Ok(masked), Ok(told)) => same(&masked, &told),
        (Ok(_) | Err(_), _) => false,
    }
}

/// What is masked in the first of two things that agree, as it stands in the second: what was secret
/// once, whether or not anybody could tell by now.
pub fn masked_in(masked: &impl Serialize, told: &impl Serialize) -> Vec<String> {
    let mut found = BTreeSet::new();
    if let (Ok(masked), Ok(told)) = (serde_json::to_value(masked), serde_json::to_value(told)) {
        gather(&masked, &told, &mut found);
    }
    found.into_iter().collect()
}

fn gather(masked: &Value, told: &Value, found: &mut BTreeSet<String>) {
    match (masked, told) {
        (Value::String(masked), Value::String(told)) if masked != told => {
            // A star at the edge of a mask may have been one before.
            let covered = covered(masked, told).into_iter().map(|text| text.trim_matches('*'));
            found.extend(covered.filter(|text| !text.is_empty()).map(str::to_owned));
        }
        (Value::Array(masked), Value::Array(told)) => {
            masked.iter().zip(told).for_each(|(masked, told)| gather(masked, told, found));
        }
        (Value::Object(masked), Value::Object(told)) => {
            for (name, masked) in masked {
                if let Some(told) = told.get(name) {
                    gather(masked, told, found);
                }
            }
        }
        (_, _) => {}
    }
}

/// What stands where there are stars.
fn covered<'t>(masked: &str, told: &'t str) -> Vec<&'t str> {
    let mut covered = Vec::new();
    if masked.len() == told.len() {
        let mut at = 0;
        for piece in masked.split_inclusive(|c| c != '*') {
            let stars = piece.bytes().take_while(|byte| *byte == b'*').count();
            covered.extend(told.get(at..at + stars));
            at += piece.len();
        }
        return covered;
    }
    // What was written over several lines is shorter than its mask: what stands between the masks
    // is looked for instead.
    let Some((front, rest)) = masked.split_once(MASK) else { return covered };
    let Some(mut told) = told.strip_prefix(front) else { return covered };
    let between = rest.split(MASK).map(|piece| piece.trim_start_matches('*'));
    for piece in between.filter(|piece| !piece.is_empty()) {
        let Some((hidden, after)) = told.split_once(piece) else { return covered };
        covered.push(hidden);
        told = after;
    }
    if masked.ends_with('*') {
        covered.push(told);
    }
    covered
}

/// Whether anything in it is masked.
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

/// Whether there is a run of stars that is a mask, as far as one can tell: frames of comments
/// (`/*****`, a line of stars) are none.
fn has_mask(text: &str) -> bool {
    text.lines().any(|line| {
        let runs = line.split(|c| c != '*').filter(|run| run.len() >= MASK.len());
        let is_frame = line.chars().all(|c| matches!(c, '*' | '/' | '#' | ' ' | '\t'));
        runs.count() > 0 && !is_frame && !line.contains("/**") && !line.contains("**/")
    })
}

fn same(masked: &Value, told: &Value) -> bool {
    match (masked, told) {
        (Value::String(masked), Value::String(told)) => same_text(masked, told),
        (Value::Array(masked), Value::Array(told)) => {
            masked.len() == told.len() && masked.iter().zip(told).all(|(a, b)| same(a, b))
        }
        (Value::Object(masked), Value::Object(told)) => {
            let found = |(name, value): (&String, &Value)| {
                told.get(name).is_some_and(|told| same(value, told))
            };
            masked.len() == told.len() && masked.iter().all(found)
        }
        (masked, told) => masked == told,
    }
}

fn same_text(masked: &str, told: &str) -> bool {
    if masked.len() == told.len() {
        return masked.bytes().zip(told.bytes()).all(|(a, b)| a == b || a == b'*');
    }
    // What was written over several lines is shorter than its mask.
    let Some((front, rest)) = masked.split_once(MASK) else { return false };
    let end = rest.rsplit_once('*').map_or(rest, |(_, end)| end);
    told.starts_with(front) && told.ends_with(end)
}
