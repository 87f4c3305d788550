//! Formats the configuration for `config get`, `list` and `explain`.

use nightwright_core::display::{display_safe, one_line};
use nightwright_core::redact::Secrets;
use serde_json::{Value as Json, json};

use super::ConfigFormat;
use crate::config::tightening;
use crate::config::{ConfigValue, KEYS, Key, ResolvedConfig, ValueOrigin};
use crate::console::{eprint_safe, print};
use crate::error::Failure;
use crate::secrets;

/// Maximum width of a value in a list.
const WIDEST: usize = 40;

pub(super) fn get(
    key: &Key,
    resolved: &ResolvedConfig,
    format: ConfigFormat,
) -> Result<(), Failure> {
    let value = ShownMasks::of(resolved).winner(key, resolved);
    if let Some(ConfigValue::Table(entries)) = &value
        && !entries.is_empty()
    {
        let origin = resolved.origin(key.name);
        eprint_safe(&format!("nightwright hides the values of variables; see {origin}"));
    }
    if format.json {
        let value = value.map_or(Json::Null, |value| value.to_json());
        let origin = resolved.origin(key.name).to_json();
        return print_json(&json!({ "key": key.name, "value": value, "origin": origin }));
    }
    match value {
        Some(ConfigValue::List(items)) if items.is_empty() => Ok(()),
        Some(ConfigValue::Ports(ports)) if ports.is_empty() => Ok(()),
        Some(ConfigValue::Table(entries)) if entries.is_empty() => Ok(()),
        Some(value) => print(&display_safe(&value.plain())),
        None => Err(Failure::trouble(format!("`{}` is not set: {}", key.name, key.unset))),
    }
}

pub(super) fn list(resolved: &ResolvedConfig, format: ConfigFormat) -> Result<(), Failure> {
    let masks = ShownMasks::of(resolved);
    if format.json {
        let entry = |key: &Key| {
            let value = masks.winner(key, resolved);
            let value = value.map_or(Json::Null, |value| value.to_json());
            json!({ "key": key.name, "value": value, "origin": resolved.origin(key.name).to_json() })
        };
        return print_json(&KEYS.iter().map(entry).collect());
    }
    let rows: Vec<[String; 3]> = KEYS
        .iter()
        .map(|key| {
            // Mask before truncating: a truncated secret would no longer be recognised.
            let value = masks.winner(key, resolved);
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

/// The masks for values that are shown.
struct ShownMasks {
    /// All known secrets, including those of the project.
    all: Secrets,
    /// Only the secrets of the user.
    user: Secrets,
}

impl ShownMasks {
    fn of(resolved: &ResolvedConfig) -> Self {
        Self { all: secrets::to_show(resolved), user: secrets::of_user() }
    }

    /// Returns a value with secrets removed or masked. For settings that need approval, a project's
    /// own masks do not apply. Otherwise the project could hide commands that it would run.
    fn shown(&self, key: &Key, origin: &ValueOrigin, value: &ConfigValue) -> ConfigValue {
        let is_asked_for = key.gated && origin.comes_with_project();
        let secrets = if is_asked_for { &self.user } else { &self.all };
        value.without_secrets().map_texts(&|text| secrets.mask(text).into_owned())
    }

    /// Returns the effective value of a key.
    fn winner(&self, key: &Key, resolved: &ResolvedConfig) -> Option<ConfigValue> {
        resolved.value(key.name).map(|value| self.shown(key, resolved.origin(key.name), value))
    }
}

pub(super) fn explain(
    key: &Key,
    resolved: &ResolvedConfig,
    format: ConfigFormat,
) -> Result<(), Failure> {
    let layers = resolved.all(key.name);
    let masks = ShownMasks::of(resolved);
    if format.json {
        return print_json(&explain_json(key, resolved, &layers, &masks));
    }
    let mut lines = vec![key.name.to_owned(), format!("  {}", key.about), String::new()];
    let mut row = |name: &str, text: &str| lines.push(format!("  {name:12} {text}"));
    row("type", key.kind.name());
    row("allowed", &key.kind.allowed());
    row("default", &key.default_text());
    row("environment", key.env);
    let flags = key.flags();
    row("flag", &if flags.is_empty() { "none".to_owned() } else { flags.join(", ") });
    let trust = match (key.gated, tightening::is_bound(key.name)) {
        (true, _) => "a project needs your approval to set it",
        (false, true) => "a project needs your approval to loosen it",
        (false, false) => "not needed",
    };
    row("trust", trust);
    lines.push(String::new());
    lines.push("  layers (the last one wins):".to_owned());
    if layers.is_empty() {
        lines.push(format!("    not set: {}", key.unset));
    }
    for (index, (origin, value)) in layers.iter().enumerate() {
        let mark = if index + 1 == layers.len() { "->" } else { "  " };
        lines.push(format!("  {mark} {origin}: {}", masks.shown(key, origin, value)));
    }
    if let Some(value @ ConfigValue::Table(_)) = masks.winner(key, resolved)
        && layers.len() > 1
    {
        lines.push(format!("  combined: {value}"));
    }
    print(&display_safe(&lines.join("\n")))
}

fn explain_json(
    key: &Key,
    resolved: &ResolvedConfig,
    layers: &[(&ValueOrigin, &ConfigValue)],
    masks: &ShownMasks,
) -> Json {
    let last = layers.len().saturating_sub(1);
    let layers: Vec<Json> = layers
        .iter()
        .enumerate()
        .map(|(index, (origin, value))| {
            let value = masks.shown(key, origin, value).to_json();
            json!({ "origin": origin.to_json(), "value": value, "wins": index == last })
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
        "flags": key.flags(),
        "trust": key.gated,
        "value": masks.winner(key, resolved).map(|value| value.to_json()),
        "origin": resolved.origin(key.name).to_json(),
        "layers": layers,
    })
}

fn print_json(json: &Json) -> Result<(), Failure> {
    print(&format!("{json:#}"))
}
