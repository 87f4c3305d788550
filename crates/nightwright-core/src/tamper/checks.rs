//! Changes to files that define the checks, part by part.

use std::collections::HashMap;

use regex::Regex;
use serde_json::Value;

use super::mask::{MaskedSource, mask};
use super::patterns::{CheckFileRule, ConfigSyntax, LazyRegex, PATTERNS};
use super::shape::BlockStructure;
use super::{FileDiff, FileSide};
use crate::input::TamperFinding;

/// The maximum depth of names; deeper values belong to the last name.
const MAX_DEPTH: usize = 6;

/// The number of changed parts that are named.
const MAX_NAMED: usize = 3;

/// The name and the value of a part.
type ConfigPart = (String, String);

/// The changes to the definitions of the checks.
pub(super) fn findings(change: &FileDiff) -> Vec<TamperFinding> {
    let checks = PATTERNS.checks.iter().filter(|check| check.files.is_match(&change.path));
    checks.filter_map(|check| finding(check, change)).collect()
}

fn finding(check: &CheckFileRule, change: &FileDiff) -> Option<TamperFinding> {
    let found = |what: String| Some(TamperFinding { path: change.path.clone(), what });
    let (before, after) = match (&change.before, &change.after) {
        (FileSide::Text(before), FileSide::Text(after)) if before == after => return None,
        (FileSide::Text(before), FileSide::Text(after)) => {
            (parts(check, before), parts(check, after))
        }
        (FileSide::Absent, FileSide::Text(_)) if check.existing => return None,
        (FileSide::Absent, FileSide::Text(after)) => (Vec::new(), parts(check, after)),
        (FileSide::Text(before), FileSide::Absent) => (parts(check, before), Vec::new()),
        (FileSide::Opaque, FileSide::Absent)
            if check.parts == ConfigSyntax::Whole || check.existing =>
        {
            return found(what(check, &[]));
        }
        (FileSide::Absent | FileSide::Opaque, _) | (FileSide::Text(_), FileSide::Opaque) => {
            return None;
        }
    };
    let changed = changed(check, &before, &after);
    if changed.is_empty() { None } else { found(what(check, &changed)) }
}

/// The names of the changed parts, each once.
fn changed<'a>(
    check: &CheckFileRule,
    before: &'a [ConfigPart],
    after: &'a [ConfigPart],
) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    let mut name = |part: &'a ConfigPart| {
        if names.len() <= MAX_NAMED && !names.contains(&part.0.as_str()) {
            names.push(&part.0);
        }
    };
    let now: HashMap<&str, &str> = after.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    for part in missing(before, after) {
        let value = now.get(part.0.as_str()).copied();
        let is_stricter = is_higher(check, part, value) || is_level_kept(check, part, value);
        if !is_stricter && !matches(check.placeholder.as_ref(), part) {
            name(part);
        }
    }
    missing(after, before).filter(|part| is_weaker(check, part)).for_each(name);
    names
}

fn matches(pattern: Option<&LazyRegex>, (key, value): &ConfigPart) -> bool {
    pattern.is_some_and(|pattern| pattern.is_match(&format!("{key} = {value}")))
}

/// Whether a new part weakens the checks.
fn is_weaker(check: &CheckFileRule, (key, value): &ConfigPart) -> bool {
    let part = format!("{key} = {value}");
    let part = match &check.ordinary {
        Some(ordinary) => ordinary.replace_all(&part, ""),
        None => part.into(),
    };
    check.added.as_ref().is_some_and(|added| added.is_match(&part))
}

/// Whether a number that may rise did so.
fn is_higher(check: &CheckFileRule, part: &ConfigPart, now: Option<&str>) -> bool {
    let number = |text: &str| text.parse::<f64>().ok();
    let numbers = now.and_then(number).zip(number(&part.1));
    matches(check.higher.as_ref(), part) && numbers.is_some_and(|(now, then)| now >= then)
}

/// Whether a level was not lowered. The lowest level may also be removed.
fn is_level_kept(check: &CheckFileRule, part: &ConfigPart, now: Option<&str>) -> bool {
    let level = |text: &str| check.levels.iter().position(|level| level == text);
    match (level(&part.1), now) {
        (Some(0), None) => true,
        (Some(then), Some(now)) => level(now).is_some_and(|now| now >= then),
        (Some(_) | None, None) | (None, Some(_)) => false,
    }
}

/// The parts that the other list lacks, counting duplicates.
fn missing<'a>(
    there: &'a [ConfigPart],
    other: &[ConfigPart],
) -> impl Iterator<Item = &'a ConfigPart> {
    let mut rest: HashMap<ConfigPart, usize> = HashMap::new();
    for part in other {
        *rest.entry(part.clone()).or_default() += 1;
    }
    there.iter().filter(move |part| match rest.get_mut(*part) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    })
}

fn what(check: &CheckFileRule, names: &[&str]) -> String {
    let mut named = names.iter().take(MAX_NAMED).copied().collect::<Vec<_>>().join(", ");
    if names.len() > MAX_NAMED {
        named.push_str(" and more");
    }
    check.what.replace("{}", &named)
}

/// The parts of a string, without comments.
pub(super) fn parts(check: &CheckFileRule, text: &str) -> Vec<ConfigPart> {
    let language = check.language.as_deref().and_then(|one| PATTERNS.extension(one));
    let masked = language.map(|language| mask(text, language));
    let content = masked.as_ref().map_or(text, |masked| masked.without_comments.as_str());
    let is_comment = |line: &str| {
        let sign = check.comments.as_deref();
        line.is_empty() || sign.is_some_and(|sign| line.starts_with(sign))
    };
    let lines = || content.lines().filter(|line| !is_comment(line.trim()));
    match (check.parts, &check.keys) {
        (ConfigSyntax::Whole, _) => {
            let content: Vec<_> = lines().map(str::trim_end).collect();
            let content = content.join("\n");
            if content.is_empty() { Vec::new() } else { vec![(String::new(), content)] }
        }
        (ConfigSyntax::Lines, Some(keys)) => {
            let is_part = |line: &&str| keys.is_match(line);
            lines().filter(is_part).map(|line| (String::new(), words(line))).collect()
        }
        (ConfigSyntax::Blocks, Some(keys)) => blocks(lines(), keys, check.end.as_deref()),
        (ConfigSyntax::Braces, Some(keys)) => {
            masked.as_ref().map_or_else(Vec::new, |one| braces(one, keys))
        }
        (ConfigSyntax::Json, Some(keys)) => {
            let content = masked.as_ref().map_or_else(|| content.to_owned(), without_last_commas);
            serde_json::from_str(&content).map_or_else(|_| Vec::new(), |value| values(&value, keys))
        }
        (ConfigSyntax::Toml, Some(keys)) => {
            toml::from_str(content).map_or_else(|_| Vec::new(), |value: Value| values(&value, keys))
        }
        (
            ConfigSyntax::Lines
            | ConfigSyntax::Blocks
            | ConfigSyntax::Braces
            | ConfigSyntax::Json
            | ConfigSyntax::Toml,
            None,
        ) => Vec::new(),
    }
}

/// The words of a string, separated by single spaces.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Removes trailing commas, which people write in JSON.
fn without_last_commas(masked: &MaskedSource) -> String {
    let mut bytes = masked.without_comments.clone().into_bytes();
    let mut comma = None;
    for (at, byte) in masked.code.bytes().enumerate() {
        match byte {
            b',' => comma = Some(at),
            b'}' | b']' => {
                if let Some(at) = comma.take() {
                    bytes[at] = b' ';
                }
            }
            byte if byte.is_ascii_whitespace() => {}
            _ => comma = None,
        }
    }
    String::from_utf8(bytes).unwrap_or_default()
}

/// The content of the braces after a name.
fn braces(masked: &MaskedSource, keys: &Regex) -> Vec<ConfigPart> {
    let shape = BlockStructure::of(&masked.code);
    let (mut parts, mut behind) = (Vec::new(), 0);
    for found in keys.captures_iter(&masked.code) {
        let Some(whole) = found.get(0).filter(|whole| whole.start() >= behind) else { continue };
        if let Some(inside) = shape.next_braces(whole.start()) {
            let name = found.name("name").map_or_else(String::new, |name| name.as_str().to_owned());
            parts.push((name, words(&masked.without_comments[inside.clone()])));
            behind = inside.end;
        }
    }
    parts
}

/// Lines from one that begins a block to one that ends it.
fn blocks<'a>(
    lines: impl Iterator<Item = &'a str>,
    keys: &Regex,
    end: Option<&Regex>,
) -> Vec<ConfigPart> {
    let mut blocks: Vec<ConfigPart> = Vec::new();
    let mut is_open = false;
    for line in lines {
        if let Some(begins) = keys.captures(line) {
            let name = begins.name("name").map_or(line, |name| name.as_str());
            blocks.push((name.to_owned(), String::new()));
            is_open = true;
        } else if end.is_some_and(|end| end.is_match(line)) {
            is_open = false;
        }
        if let Some((_, block)) = blocks.last_mut().filter(|_| is_open) {
            block.push_str(line.trim());
            block.push('\n');
        }
    }
    blocks
}

/// The values with these names.
fn values(value: &Value, keys: &Regex) -> Vec<ConfigPart> {
    let mut parts = Vec::new();
    collect(value, String::new(), 0, keys, &mut parts);
    parts
}

fn collect(value: &Value, name: String, depth: usize, keys: &Regex, parts: &mut Vec<ConfigPart>) {
    match value {
        Value::Object(fields) if depth < MAX_DEPTH => {
            for (key, value) in fields {
                let name = match (depth, key.as_str()) {
                    (0, key) => key.to_owned(),
                    // `{ level = "deny" }` is the long form of `"deny"`.
                    (_, "level") => name.clone(),
                    (_, key) => format!("{name}.{key}"),
                };
                collect(value, name, depth + 1, keys, parts);
            }
        }
        Value::Array(elements) if keys.is_match(&name) => {
            parts.extend(elements.iter().map(|element| (name.clone(), element.to_string())));
        }
        Value::String(text) if keys.is_match(&name) => parts.push((name, text.clone())),
        _ if keys.is_match(&name) => {
            let text = value.to_string();
            parts.push((name, text));
        }
        _ => {}
    }
}
