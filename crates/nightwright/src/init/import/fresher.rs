//! Imports from fresher: `.fresher/` with its configuration, one prompt per mode and instructions
//! for the agent. `IMPLEMENTATION_PLAN.md` stays in place, because the modes `plan` and `build` use
//! the same file.

use super::shell;
use super::{Import, ImportedSettings, TaskSettings, UsedNames, unusable};
use crate::init::project_files::{ProjectFiles, has_extension};

const FOLDER: &str = ".fresher";

pub(super) fn fresher(view: &ProjectFiles, names: &mut UsedNames) -> Option<Import> {
    if let Some(why) = view.broken(FOLDER) {
        let mut import = Import::new("fresher");
        import.notes.push(why.to_owned());
        return Some(import);
    }
    if !view.has_folder(FOLDER) {
        return None;
    }
    let mut import = Import::new("fresher (`.fresher/`)");
    configuration(&mut import, view);
    let prompts: Vec<String> = view
        .names_in(FOLDER)
        .filter(|name| name.starts_with("PROMPT.") && has_extension(name, "md"))
        .map(str::to_owned)
        .collect();
    for prompt in prompts {
        let part = prompt.trim_start_matches("PROMPT.").trim_end_matches("md").trim_matches('.');
        let (wanted, mode) = match part {
            "planning" => ("fresher-planning".to_owned(), "plan"),
            "building" => ("fresher-building".to_owned(), "build"),
            "" => ("fresher".to_owned(), "build"),
            other => (format!("fresher-{other}"), "iterative"),
        };
        let from = format!("{FOLDER}/{prompt}");
        if view.text(&from).is_none_or(|text| text.trim().is_empty()) {
            import.notes.extend(unusable(view, &from));
            continue;
        }
        let folder = names.folder(&wanted);
        import.copy(view, &from, &format!("{folder}/INSTRUCTIONS.md"));
        let settings = TaskSettings { mode: Some(mode), ..TaskSettings::default() };
        import.write(&from, &format!("{folder}/task.toml"), settings.text(&from));
    }
    import.copy_agents(view, FOLDER, &["AGENTS.md"]);
    Some(import)
}

fn configuration(import: &mut Import, view: &ProjectFiles) {
    // The newer format has priority.
    let (toml, script) = (format!("{FOLDER}/config.toml"), format!("{FOLDER}/config.sh"));
    if let Some(text) = import.read(view, &toml) {
        match toml::from_str(text) {
            Ok(table) => from_toml(import, &table, &toml),
            Err(error) => {
                import.notes.push(format!("`{toml}` is not valid TOML: {}", error.message()));
            }
        }
    } else if let Some(text) = import.read(view, &script) {
        from_shell(import, text, &script);
    }
}

fn from_shell(import: &mut Import, text: &str, path: &str) {
    let Import { taken, notes, .. } = import;
    let mut take = |result: Result<(), String>| {
        if let Err(why) = result {
            notes.push(format!("{why} (in `{path}`)"));
        }
    };
    let number =
        |name: &str, into: &mut Option<u32>| shell::number(text, name).map(|value| *into = value);
    let words =
        |name: &str, into: &mut Option<String>| shell::words(text, name).map(|value| *into = value);
    take(number("FRESHER_MAX_ITERATIONS", &mut taken.max_iterations));
    take(number("FRESHER_MAX_TURNS", &mut taken.max_turns));
    take(words("FRESHER_MODEL", &mut taken.model));
    take(words("FRESHER_TEST_CMD", &mut taken.commands.test));
    take(words("FRESHER_BUILD_CMD", &mut taken.commands.build));
    take(words("FRESHER_LINT_CMD", &mut taken.commands.lint));
    if matches!(shell::value(text, "FRESHER_DANGEROUS_PERMISSIONS"), Some(Ok(value)) if value == "true")
    {
        import.notes.push(no_skip());
    }
}

fn from_toml(import: &mut Import, table: &toml::Table, path: &str) {
    let value = |section: &str, key: &str| table.get(section).and_then(|table| table.get(key));
    let mut notes = Vec::new();
    let mut number = |key: &str| match value("fresher", key) {
        None | Some(toml::Value::Integer(0)) => None,
        Some(value) => {
            let number = value.as_integer().and_then(|number| u32::try_from(number).ok());
            if number.is_none() {
                notes.push(format!("`fresher.{key}` of `{path}` is not a whole number"));
            }
            number
        }
    };
    let (max_iterations, max_turns) = (number("max_iterations"), number("max_turns"));
    let words = |section: &str, key: &str| {
        let text = value(section, key)?.as_str()?;
        (!text.trim().is_empty()).then(|| text.to_owned())
    };
    import.taken = ImportedSettings {
        max_iterations,
        max_turns,
        model: words("fresher", "model"),
        ..ImportedSettings::default()
    };
    import.taken.commands.test = words("commands", "test");
    import.taken.commands.build = words("commands", "build");
    import.taken.commands.lint = words("commands", "lint");
    import.notes.extend(notes);
    if value("fresher", "dangerous_permissions").and_then(toml::Value::as_bool) == Some(true) {
        import.notes.push(no_skip());
    }
}

fn no_skip() -> String {
    "the permission bypass of fresher is not imported; set `agent.permissions = \"bypass\"` if you \
     need it"
        .to_owned()
}
