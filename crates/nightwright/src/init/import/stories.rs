//! Imports `prd.json`: user stories with acceptance criteria, each of which passes or fails.

use nightwright_core::display::one_line;
use serde_json::Value;

use super::{Import, ImportedFile, ImportedUnit, UsedNames};
use crate::config::ConfigValue;
use crate::init::project_files::ProjectFiles;
use crate::task::{INSTRUCTIONS, TODO};

/// The paths at which tools store the file.
const PLACES: [&str; 3] = ["prd.json", "scripts/ralph/prd.json", ".ralph/prd.json"];

/// Maximum length of a heading; a longer one is truncated.
const HEADING: usize = 200;

/// One story of the file, which becomes an item of the checklist.
struct UserStory {
    heading: String,
    description: String,
    criteria: Vec<String>,
    priority: f64,
    passes: bool,
}

pub(super) fn stories(view: &ProjectFiles, names: &mut UsedNames) -> Option<Import> {
    let path = PLACES.into_iter().find(|path| view.has_file(path))?;
    let mut import = Import::new(format!("user stories (`{path}`)"));
    import.notes.extend(view.broken(path).map(str::to_owned));
    let document: Value = match serde_json::from_str(view.text(path).unwrap_or_default()) {
        Ok(document) => document,
        Err(_) if view.broken(path).is_some() => return Some(import),
        Err(error) => {
            import.notes.push(format!("`{path}` is not valid JSON: {error}"));
            return Some(import);
        }
    };
    let list = document.as_array().or_else(|| document["userStories"].as_array());
    let Some(list) = list else {
        import.notes.push(format!("`{path}` has no list `userStories`"));
        return Some(import);
    };
    let mut stories: Vec<UserStory> = Vec::new();
    for (index, value) in list.iter().enumerate() {
        match story(value) {
            Ok(story) => {
                let passes = &value["passes"];
                if !passes.is_boolean() && !passes.is_null() {
                    let number = index + 1;
                    import.notes.push(format!(
                        "story {number} of `{path}` has {passes} for `passes`: it counts as open"
                    ));
                }
                stories.push(story);
            }
            Err(why) => {
                import.notes.push(format!("skipped story {} of `{path}`: it {why}", index + 1));
            }
        }
    }
    if stories.is_empty() {
        return Some(import);
    }
    // A stable sort keeps the original order of stories with the same priority.
    stories.sort_by(|a, b| a.priority.total_cmp(&b.priority));
    let word = |keys: &[&str]| keys.iter().find_map(|key| words(&document[*key]));
    let branch = word(&["branchName"]).map(|name| name.trim_start_matches("ralph/").to_owned());
    let title = word(&["project", "projectName", "feature", "name"]);
    let folder = names.task(&branch.or(title.clone()).unwrap_or_else(|| "prd".to_owned()));
    let title = one_line(title.as_deref().unwrap_or("User stories"), HEADING);
    let about = word(&["description"]).unwrap_or_default();
    for (file, text) in
        [(INSTRUCTIONS, instructions(&title, &about, &stories)), (TODO, boxes(&stories))]
    {
        let (from, to) = (path.to_owned(), format!("{folder}/{file}"));
        import.files.push(ImportedFile { from, to, text });
    }
    let (origin, settings) = (path.to_owned(), vec![("mode", ConfigValue::from("loop"))]);
    import.units.push(ImportedUnit { folder, origin, settings, settings_from: Vec::new() });
    Some(import)
}

fn story(value: &Value) -> Result<UserStory, &'static str> {
    if !value.is_object() {
        return Err("is not an object");
    }
    let id = match &value["id"] {
        Value::Number(number) => Some(number.to_string()),
        other => words(other),
    };
    let heading = match (id, words(&value["title"])) {
        (Some(id), Some(title)) => format!("{id}: {title}"),
        (None, Some(title)) => title,
        (_, None) => return Err("has no title"),
    };
    let criteria = match &value["acceptanceCriteria"] {
        Value::Array(items) => items.iter().filter_map(words).collect(),
        other => words(other).into_iter().collect(),
    };
    Ok(UserStory {
        heading: one_line(&heading, HEADING),
        description: words(&value["description"]).unwrap_or_default(),
        criteria,
        priority: value["priority"].as_f64().unwrap_or(f64::MAX),
        passes: value["passes"].as_bool().unwrap_or(false),
    })
}

fn words(value: &Value) -> Option<String> {
    value.as_str().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
}

fn instructions(title: &str, about: &str, stories: &[UserStory]) -> String {
    let mut parts = vec![format!("# {title}")];
    parts.extend((!about.is_empty()).then(|| about.to_owned()));
    parts.push(
        "## How to work\n\nThe stories below are in order. Their checkboxes are in `TODO.md`: check \
         one when all of its criteria hold."
            .to_owned(),
    );
    for story in stories {
        parts.push(format!("## {}", story.heading));
        parts.extend((!story.description.is_empty()).then(|| story.description.clone()));
        if !story.criteria.is_empty() {
            let item = |criterion: &String| format!("- {}", one_line(criterion, usize::MAX));
            let items: Vec<String> = story.criteria.iter().map(item).collect();
            parts.push(format!("Acceptance criteria:\n\n{}", items.join("\n")));
        }
    }
    parts.join("\n\n") + "\n"
}

fn boxes(stories: &[UserStory]) -> String {
    let line = |story: &UserStory| {
        let tick = if story.passes { 'x' } else { ' ' };
        format!("- [{tick}] {}\n", story.heading)
    };
    let lines: String = stories.iter().map(line).collect();
    format!("# To do\n\n{lines}")
}
