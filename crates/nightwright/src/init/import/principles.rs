//! Imports the principles of another tool: the weights of trade-off priorities.

use std::path::Path;

use nightwright_core::principles::Principles;

use super::{Import, UsedNames};
use crate::config::principles::{FOREIGN, in_a_line, is_own_name, is_yaml};
use crate::init::project_files::ProjectFiles;

pub(super) fn principles(view: &ProjectFiles, _: &mut UsedNames) -> Option<Import> {
    if !view.has_file(FOREIGN) {
        return None;
    }
    let mut import = Import::new(format!("principles (`{FOREIGN}`)"));
    let ours = view.principles_file();
    if let Some(why) = left_alone(view, ours) {
        import.notes.push(format!("skipped `{FOREIGN}`: {why}"));
        return Some(import);
    }
    let Some(text) = import.read(view, FOREIGN) else { return Some(import) };
    match Principles::parse_yaml(text) {
        Ok(principles) => import.write(FOREIGN, ours, principles.to_toml()),
        Err(mistakes) => import.notes.push(in_a_line(FOREIGN, text, &mistakes)),
    }
    Some(import)
}

/// Returns why the principles must not be imported, if so.
fn left_alone(view: &ProjectFiles, ours: &str) -> Option<String> {
    let path = Path::new(ours);
    match ours {
        "" => Some("`principles.file` says that there are none".to_owned()),
        FOREIGN => Some("`principles.file` names it, and it is used as it is".to_owned()),
        _ if is_yaml(path) || is_own_name(path) => {
            Some(format!("`principles.file` names `{ours}`, where it cannot be written to"))
        }
        _ => view.get(ours).map(|_| format!("`{ours}` exists already")),
    }
}
