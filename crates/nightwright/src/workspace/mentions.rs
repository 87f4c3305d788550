//! The variables that the files of a project name: sample environments, compose files and CI files.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use nightwright_core::withheld::{mentioned, names_variables};

use crate::files;

/// Folders with such files; the empty name is the project folder itself.
const FOLDERS: [&str; 3] = ["", ".github/workflows", ".circleci"];
/// Maximum number of files to read.
const FILES: usize = 50;
/// Maximum bytes read of one file.
const MAX_FILE_BYTES: u64 = 256 << 10;
/// Maximum number of entries to inspect per folder.
const MAX_ENTRIES: usize = 10_000;

/// Returns the variables that the files of a project name. A file that cannot be read names none.
pub fn of(project: &Path) -> BTreeSet<String> {
    let names = |folder: &'static str| {
        let entries = fs::read_dir(project.join(folder)).into_iter().flatten().flatten();
        entries.take(MAX_ENTRIES).filter_map(move |entry| {
            let name = entry.file_name().into_string().ok()?;
            Some(if folder.is_empty() { name } else { format!("{folder}/{name}") })
        })
    };
    let paths = FOLDERS.into_iter().flat_map(names).filter(|path| names_variables(path));
    let read = |path: String| {
        let bytes = files::read_inside(project, Path::new(&path), MAX_FILE_BYTES).ok()??;
        Some(mentioned(&path, &String::from_utf8_lossy(&bytes)))
    };
    paths.take(FILES).filter_map(read).flatten().collect()
}
