//! Imports the principles of another tool: the weights of trade-off priorities.

use std::path::Path;

use nightwright_core::principles::Principles;

use crate::config::principles::{FOREIGN, in_a_line, is_own_name, is_yaml};
use crate::init::project_files::ProjectFiles;

/// Returns the path and the text of the converted principles, or why they are skipped.
pub(super) fn convert(
    view: &ProjectFiles,
    from: &str,
    text: &str,
) -> Result<(String, String), String> {
    let ours = view.principles_file();
    if let Some(why) = left_alone(view, ours) {
        return Err(format!("skipped `{from}`: {why}"));
    }
    let principles =
        Principles::parse_yaml(text).map_err(|mistakes| in_a_line(from, text, &mistakes))?;
    Ok((ours.to_owned(), principles.to_toml()))
}

/// Returns why the principles must not be imported, if so.
fn left_alone(view: &ProjectFiles, ours: &str) -> Option<String> {
    let path = Path::new(ours);
    match ours {
        "" => Some("`principles.file` turns principles off".to_owned()),
        FOREIGN => Some("`principles.file` names it, and nightwright uses it unchanged".to_owned()),
        _ if is_yaml(path) || is_own_name(path) => {
            Some(format!("`principles.file` names `{ours}`, where nightwright cannot write it"))
        }
        _ => view.get(ours).map(|_| format!("`{ours}` already exists")),
    }
}
