//! The paths in `sandbox.write` that lift the protection of entries in the project.

use std::path::{Component, Path, PathBuf};

use crate::sandbox::plan;

/// Returns the entries of the project whose protection the settings lift. Every setting without an
/// effect gets a note.
pub(super) fn paths(
    names: &[String],
    root: &Path,
    tops: &[PathBuf],
    home: &Path,
    notes: &mut Vec<String>,
) -> Vec<PathBuf> {
    let mut opened = Vec::new();
    for name in names {
        let outside = plan::outside_path(name, home);
        let is_outside = outside.is_some();
        let path = outside.unwrap_or_else(|| root.join(name));
        let is_plain =
            !name.is_empty() && path.components().all(|part| part != Component::ParentDir);
        if !is_plain {
            notes.push(format!(
                "`{name}` in `sandbox.write` has no effect: write a path in the project, or one that \
                 starts with `/` or `~/`"
            ));
        } else if root.starts_with(&path) {
            notes.push(format!(
                "`{name}` in `sandbox.write` contains the project: its protected files stay read-only"
            ));
        } else if tops.iter().any(|top| path.starts_with(top)) {
            opened.push(path);
        } else if !is_outside {
            notes.push(format!("`{name}` in `sandbox.write` is not in the project"));
        }
    }
    opened
}
