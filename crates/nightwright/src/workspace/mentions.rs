//! The variables that the files of a project name: examples of environments, compose and CI files.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use nightwright_core::environment::{mentioned, names_variables};

use crate::files;

/// Folders with such files; the project folder itself is the empty one.
const FOLDERS: [&str; 3] = ["", ".github/workflows", ".circleci"];
/// Files that are read.
const FILES: usize = 50;
/// The most that is read of one.
const MAX_FILE_BYTES: u64 = 256 << 10;
/// Entries of a folder that are looked at.
const MAX_ENTRIES: usize = 10_000;

/// The variables that the files of a project name. A file that cannot be read names none.
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
