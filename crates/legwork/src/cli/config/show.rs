//! How the configuration is shown.

use legwork_core::display::{display_safe, one_line};
use serde_json::{Value as Json, json};

use super::Format;
use crate::cli::{print, say};
use crate::config::{KEYS, Key, Origin, Resolved, Value};
use crate::error::Failure;
use crate::secrets;

/// A value in a list takes no more room than this.
const WIDEST: usize = 40;

pub(super) fn get(key: &Key, resolved: &Resolved, format: Format) -> Result<(), Failure> {
    let mask = mask(resolved);
    let value = resolved.value(key.name).map(mask);
    if let Some(Value::Table(entries)) = &value
        && !entries.is_empty()
    {
        let origin = resolved.origin(key.name);
        say(&format!("values of variables may be secret and are not shown; see them in: {origin}"));
    }
    if format.json {
        let value = value.map_or(Json::Null, |value| value.to_json());
        let origin = resolved.origin(key.name).to_json();
        return print_json(&json!({ "key": key.name, "value": value, "origin": origin }));
    }
    match value {
        Some(Value::List(items)) if items.is_empty() => Ok(()),
        Some(Value::Table(entries)) if entries.is_empty() => Ok(()),
        Some(value) => print(&display_safe(&value.plain())),
        None => Err(Failure::trouble(format!("`{}` is not set: {}", key.name, key.unset))),
    }
}

pub(super) fn list(resolved: &Resolved, format: Format) -> Result<(), Failure> {
    let mask = mask(resolved);
    if format.json {
        let entry = |key: &Key| {
            let value = resolved.value(key.name).map(&mask);
            let value = value.map_or(Json::Null, |value| value.to_json());
            json!({ "key": key.name, "value": value, "origin": resolved.origin(key.name).to_json() })
        };
        return print_json(&KEYS.iter().map(entry).collect());
    }
    let rows: Vec<[String; 3]> = KEYS
        .iter()
        .map(|key| {
            // What was cut could not be masked any more.
            let value = resolved.value(key.name).map(&mask);
            let value = value.map_or(format!("({})", key.unset), |value| value.to_string());
            let origin = one_line(&resolved.origin(key.name).to_string(), usize::MAX);
            [key.name.to_owned(), one_line(&value, WIDEST), origin]
        })
        .collect();
    let width = |column: usize| {
        rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default()
    };
    let (first, second) = (width(0), width(1));
    let lines: Vec<_> = rows
        .iter()
        .map(|[key, value, origin]| format!("{key:first$}  {value:second$}  {origin}"))
        .collect();
    print(&lines.join("\n"))
}

/// A value without what may be secret, and with masks for what is known to be.
fn mask(resolved: &Resolved) -> impl Fn(&Value) -> Value + use<> {
    let secrets = secrets::to_show(resolved);
    move |value| value.without_secrets().map_texts(&|text| secrets.mask(text).into_owned())
}

pub(super) fn explain(key: &Key, resolved: &Resolved, format: Format) -> Result<(), Failure> {
    let layers = resolved.all(key.name);
    let mask = mask(resolved);
    if format.json {
        return print_json(&explain_json(key, resolved, &layers, &mask));
    }
    let mut lines = vec![key.name.to_owned(), format!("  {}", key.about), String::new()];
    let mut row = |name: &str, text: &str| lines.push(format!("  {name:12} {text}"));
    row("type", key.kind.name());
    row("has to be", &key.kind.allowed());
    row("default", &key.default_text());
    row("environment", key.env);
    row(
        "flag",
        match key.flag {
            Some("--") => "what follows `--`",
            Some(flag) => flag,
            None => "none",
        },
    );
    row("trust", if key.gated { "a project needs your approval to set it" } else { "not needed" });
    lines.push(String::new());
    lines.push("  the layers, the last one wins:".to_owned());
    if layers.is_empty() {
        lines.push(format!("    none sets it: {}", key.unset));
    }
    for (index, (origin, value)) in layers.iter().enumerate() {
        let mark = if index + 1 == layers.len() { "->" } else { "  " };
        lines.push(format!("  {mark} {origin}: {}", mask(value)));
    }
    if let Some(value @ Value::Table(_)) = resolved.value(key.name)
        && layers.len() > 1
    {
        lines.push(format!("  together: {}", mask(value)));
    }
    print(&display_safe(&lines.join("\n")))
}

fn explain_json(
    key: &Key,
    resolved: &Resolved,
    layers: &[(&Origin, &Value)],
    mask: &impl Fn(&Value) -> Value,
) -> Json {
    let secretless = |value: &Value| mask(value).to_json();
    let last = layers.len().saturating_sub(1);
    let layers: Vec<Json> = layers
        .iter()
        .enumerate()
        .map(|(index, (origin, value))| {
            json!({ "origin": origin.to_json(), "value": secretless(value), "wins": index == last })
        })
        .collect();
    json!({
        "key": key.name,
        "about": key.about,
        "type": key.kind.name(),
        "allowed": key.kind.allowed(),
        "default": key.default_value().map(|value| value.to_json()),
        "unset": (!key.unset.is_empty()).then_some(key.unset),
        "environment": key.env,
        "flag": key.flag,
        "trust": key.gated,
        "value": resolved.value(key.name).map(secretless),
        "origin": resolved.origin(key.name).to_json(),
        "layers": layers,
    })
}

fn print_json(json: &Json) -> Result<(), Failure> {
    print(&format!("{json:#}"))
}
