//! Imports from claude-iterate: one folder per task, with instructions, a checklist and metadata.

use serde_json::Value;

use super::{Import, TaskSettings, UsedNames};
use crate::init::project_files::{ProjectFiles, WORKSPACES};

pub(super) fn workspaces(view: &ProjectFiles, names: &mut UsedNames) -> Option<Import> {
    let mut import = Import::new(format!("claude-iterate (`{WORKSPACES}/`)"));
    if let Some(why) = view.broken(WORKSPACES) {
        import.notes.push(why.to_owned());
        return Some(import);
    }
    let found: Vec<&str> = view.names_in(WORKSPACES).collect();
    if found.is_empty() {
        return None;
    }
    for name in found {
        let from = format!("{WORKSPACES}/{name}");
        if let Some(why) = view.broken(&from) {
            import.notes.push(format!("skipped `{from}`: {why}"));
        } else if view.has_folder(&from) {
            workspace(&mut import, view, names, &from, name);
        }
    }
    Some(import)
}

fn workspace(
    import: &mut Import,
    view: &ProjectFiles,
    names: &mut UsedNames,
    from: &str,
    name: &str,
) {
    let at = |file: &str| format!("{from}/{file}");
    let [instructions, list, metadata] = ["INSTRUCTIONS.md", "TODO.md", ".metadata.json"].map(at);
    let there = [&instructions, &list, &metadata];
    if !there.iter().any(|path| view.text(path).is_some()) {
        import.notes.extend(there.iter().filter_map(|path| view.broken(path)).map(str::to_owned));
        import.notes.push(format!("`{from}` has nothing to import"));
        return;
    }
    let folder = names.folder(name);
    if !import.copy(view, &instructions, &format!("{folder}/INSTRUCTIONS.md")) {
        import.notes.push(format!("`{from}` has no instructions yet"));
    }
    import.copy(view, &list, &format!("{folder}/TODO.md"));
    let settings = settings(import, view, &metadata);
    let origin = if view.has_file(&metadata) { &metadata } else { from };
    let text = settings.text(origin);
    import.write(origin, &format!("{folder}/task.toml"), text);
}

fn settings(import: &mut Import, view: &ProjectFiles, path: &str) -> TaskSettings {
    let mut settings = TaskSettings { mode: Some("loop"), ..TaskSettings::default() };
    let Some(text) = import.read(view, path) else { return settings };
    let metadata: Value = match serde_json::from_str(text) {
        Ok(metadata) => metadata,
        Err(error) => {
            let note = format!("`{path}` is not valid JSON ({error}): skipped mode and limits");
            import.notes.push(note);
            return settings;
        }
    };
    match &metadata["mode"] {
        Value::Null => {}
        Value::String(mode) if mode == "loop" => {}
        Value::String(mode) if mode == "iterative" => settings.mode = Some("iterative"),
        other => {
            import.notes.push(format!("the mode {other} of `{path}` is unknown: `loop` is set"));
        }
    }
    let mut number = |key: &str, least: u32| match &metadata[key] {
        Value::Null => None,
        value => {
            let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
            let number = number.filter(|number| *number >= least);
            if number.is_none() {
                import.notes.push(format!("`{key}` of `{path}` is {value}: skipped"));
            }
            number
        }
    };
    settings.max_iterations = number("maxIterations", 1);
    settings.delay_seconds = number("delay", 0);
    settings.stagnation = number("stagnationThreshold", 0);
    if metadata["status"] == "completed" {
        import.notes.push(format!("`{path}` says that this task was completed"));
    }
    settings
}
