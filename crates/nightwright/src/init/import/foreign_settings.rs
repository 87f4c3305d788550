//! Reads the settings files of other tools: JSON, TOML, simple YAML and shell assignments. All
//! become a list of dotted names with their values.

use std::collections::BTreeSet;

use serde_json::Value;

use super::shell;

/// A setting: its name, and the words of its value, or why it cannot be read.
pub(super) type ForeignSetting = (String, Result<Vec<String>, String>);

/// Reads a settings file, whose name tells its format.
pub(super) fn read(path: &str, text: &str) -> Result<Vec<ForeignSetting>, String> {
    let invalid = |format: &str, why: &dyn std::fmt::Display| {
        format!("`{path}` is not valid {format} ({why}): skipped its settings")
    };
    let mut found = Vec::new();
    match path.rsplit('.').next().unwrap_or_default() {
        "json" => {
            let value: Value =
                serde_json::from_str(text).map_err(|error| invalid("JSON", &error))?;
            flatten("", &value, &mut found);
        }
        "toml" => {
            let value: Value =
                toml::from_str(text).map_err(|error| invalid("TOML", &error.message()))?;
            flatten("", &value, &mut found);
        }
        "yaml" | "yml" => found = yaml(text),
        _ => found = assignments(text),
    }
    Ok(found)
}

fn flatten(name: &str, value: &Value, found: &mut Vec<ForeignSetting>) {
    let word = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    };
    let words = match value {
        Value::Null => return,
        Value::Object(fields) => {
            for (key, value) in fields {
                let inner = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
                flatten(&inner, value, found);
            }
            return;
        }
        Value::Array(items) => items.iter().map(word).collect::<Option<Vec<_>>>(),
        Value::String(_) | Value::Number(_) | Value::Bool(_) => word(value).map(|word| vec![word]),
    };
    found.push((name.to_owned(), words.ok_or_else(|| format!("`{name}` is {value}"))));
}

/// The maximum depth of sections within sections.
const MAX_DEPTH: usize = 16;

/// Reads `key: value` lines and the sections that contain them. Anything else cannot be read.
fn yaml(text: &str) -> Vec<ForeignSetting> {
    let mut found = Vec::new();
    // The sections around a line: their indentation and their dotted names.
    let mut sections: Vec<(usize, String)> = Vec::new();
    // The indentation of a line that cannot be read: the lines within it belong to it.
    let mut unread = None;
    for (number, line) in text.lines().enumerate() {
        let body = line.trim();
        let indent = line.len() - line.trim_start().len();
        let is_within = unread.is_some_and(|unread| indent > unread);
        if is_within || body.is_empty() || body.starts_with('#') || body == "---" {
            continue;
        }
        let is_item = body == "-" || body.starts_with("- ");
        // The items of a section may stand below its name.
        sections.retain(|(section, _)| *section < indent || is_item && *section == indent);
        let section = sections.last().map_or("", |(_, name)| name);
        let pair = body.split_once(':').filter(|_| !is_item && sections.len() < MAX_DEPTH);
        let text = pair.and_then(|(_, value)| scalar(value.trim()));
        let is_block = pair.is_some_and(|(_, value)| value.trim_start().starts_with(['|', '>']));
        unread = (pair.is_none() || is_block).then_some(indent);
        let Some((key, _)) = pair.filter(|_| !is_block) else {
            let within = if section.is_empty() { section } else { &format!("`{section}`: ") };
            let why = format!("{within}unreadable line {} (`{body}`)", number + 1);
            found.push((section.to_owned(), Err(why)));
            continue;
        };
        let key = key.trim_end();
        let name = if section.is_empty() { key.to_owned() } else { format!("{section}.{key}") };
        match text {
            Some(value) => found.push((name, Ok(vec![value]))),
            None => sections.push((indent, name)),
        }
    }
    found
}

/// Returns the text of a value without quotes and comment; `None` if a section follows.
fn scalar(value: &str) -> Option<String> {
    for quote in ['"', '\''] {
        if let Some((text, _)) = value.strip_prefix(quote).and_then(|rest| rest.split_once(quote)) {
            return Some(text.to_owned());
        }
    }
    let value = value.split(" #").next().unwrap_or_default().trim();
    (!value.is_empty() && !value.starts_with('#')).then(|| value.to_owned())
}

fn assignments(text: &str) -> Vec<ForeignSetting> {
    let is_name = |name: &str| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let name = |line: &'_ str| -> Option<String> {
        let line = line.trim_start();
        let line = line.strip_prefix("export ").map_or(line, str::trim_start);
        let (name, _) = line.split_once('=')?;
        is_name(name).then(|| name.to_owned())
    };
    let names: BTreeSet<String> = text.lines().filter_map(name).collect();
    let value = |name: String| {
        let value = shell::value(text, &name)?;
        Some((name, value.map(|value| vec![value])))
    };
    names.into_iter().filter_map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(path: &str, text: &str) -> Vec<String> {
        let line = |(name, value): ForeignSetting| match value {
            Ok(words) => format!("{name} = {}", words.join("|")),
            Err(why) => format!("{name}: {why}"),
        };
        read(path, text).unwrap().into_iter().map(line).collect()
    }

    #[test]
    fn every_format_becomes_the_same_list() {
        let json = r#"{"a": {"b": 1, "c": ["x", "y"]}, "d": null, "e": [1, {}], "f": ""}"#;
        assert_eq!(shown("x.json", json), ["a.b = 1", "a.c = x|y", "e: `e` is [1,{}]", "f = "]);
        assert_eq!(shown("x.toml", "[a]\nb = true\n"), ["a.b = true"]);
        let yaml = "# x\na:\n  b: \"c # d\"  # e\n  f: g # h\n  i: ''\nj: 1\nk:\n  - one\n";
        assert_eq!(
            shown("x.yaml", yaml),
            ["a.b = c # d", "a.f = g", "a.i = ", "j = 1", "k: `k`: unreadable line 8 (`- one`)"]
        );
        let script = "#!/bin/sh\nexport B=\"${B:-2}\"\nA=1 # one\nif [ x = y ]; then\nC=$(date)\n";
        assert_eq!(
            shown("x.sh", script),
            ["A = 1", "B = 2", "C: nightwright does not run the file to read `C`"]
        );
    }

    #[test]
    fn the_sections_of_yaml_end_with_their_indentation() {
        let nested = "a:\n  b:\n    c: 1\n  d: 2\ne: 3\nf:\n    g:\n      h: 4\n    i: 5\n";
        assert_eq!(
            shown("x.yaml", nested),
            ["a.b.c = 1", "a.d = 2", "e = 3", "f.g.h = 4", "f.i = 5"]
        );
        let unread = "a:\n- b: 1\n  c: 2\nd: 3\ne: |\n  f: 4\n\n  g\nh: 5\n";
        assert_eq!(
            shown("x.yaml", unread),
            [
                "a: `a`: unreadable line 2 (`- b: 1`)",
                "d = 3",
                ": unreadable line 5 (`e: |`)",
                "h = 5",
            ]
        );
        let deep: String = (0..99).map(|depth| " ".repeat(depth) + "x:\n").collect();
        assert_eq!(
            shown("x.yaml", &deep).len(),
            1,
            "the rest belongs to the line that is too deep"
        );
    }

    #[test]
    fn a_broken_file_is_named() {
        assert!(read("x.json", "{").unwrap_err().starts_with("`x.json` is not valid JSON ("));
        assert!(read("x.toml", "= 1").unwrap_err().starts_with("`x.toml` is not valid TOML ("));
    }
}
