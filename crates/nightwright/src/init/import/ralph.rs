//! Imports from Ralph: a prompt, a fix plan and instructions for the agent. The files are in
//! `.ralph/`, or in the project's folder for older versions. Some names start with `@`.

use super::shell;
use super::{Import, TaskSettings, UsedNames, unusable};
use crate::init::project_files::{ProjectFiles, inside};

const LISTS: [&str; 2] = ["fix_plan.md", "@fix_plan.md"];
const AGENTS: [&str; 2] = ["AGENT.md", "@AGENT.md"];

/// Imports from the folder `.ralph/`.
pub(super) fn folder(view: &ProjectFiles, names: &mut UsedNames) -> Option<Import> {
    if let Some(why) = view.broken(".ralph") {
        let mut import = Import::new("ralph");
        import.notes.push(why.to_owned());
        return Some(import);
    }
    view.has_folder(".ralph").then(|| import(view, names, ".ralph", "ralph (`.ralph/`)"))
}

/// Imports from the project's folder. A prompt alone could belong to any tool, so the fix plan must
/// exist too.
pub(super) fn root(view: &ProjectFiles, names: &mut UsedNames) -> Option<Import> {
    let has_list = LISTS.iter().any(|list| view.has_file(list));
    let is_ralph = view.has_file("PROMPT.md") && has_list;
    is_ralph.then(|| import(view, names, "", "ralph (`PROMPT.md` and `fix_plan.md`)"))
}

fn import(view: &ProjectFiles, names: &mut UsedNames, from: &str, source: &str) -> Import {
    let mut import = Import::new(source);
    let prompt = inside(from, "PROMPT.md");
    let has_text =
        |name: &str| view.text(&inside(from, name)).is_some_and(|text| !text.trim().is_empty());
    if has_text("PROMPT.md") || LISTS.iter().any(|list| has_text(list)) {
        let folder = names.folder("ralph");
        if !import.copy(view, &prompt, &format!("{folder}/INSTRUCTIONS.md")) {
            import.notes.push(format!("there are no instructions in `{prompt}`"));
        }
        import.copy_first(view, from, &LISTS, &format!("{folder}/TODO.md"));
        let settings = settings(&mut import, view);
        let origin = if view.has_file(&prompt) { prompt } else { inside(from, LISTS[0]) };
        import.write(&origin, &format!("{folder}/task.toml"), settings.text(&origin));
    } else {
        import.notes.extend(unusable(view, &prompt));
    }
    import.copy_agents(view, from, &AGENTS);
    import
}

fn settings(import: &mut Import, view: &ProjectFiles) -> TaskSettings {
    let mut settings = TaskSettings { mode: Some("loop"), ..TaskSettings::default() };
    let Some(text) = import.read(view, ".ralphrc") else { return settings };
    let mut number = |name: &str| match shell::number(text, name) {
        Ok(number) => number,
        Err(why) => {
            import.notes.push(format!("{why} (in `.ralphrc`)"));
            None
        }
    };
    settings.attempt_minutes = number("CLAUDE_TIMEOUT_MINUTES");
    settings.stagnation = number("CB_NO_PROGRESS_THRESHOLD");
    settings
}
