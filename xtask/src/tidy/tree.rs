//! Reads the files that the rules check.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

use super::source;
use crate::program;

/// A text file of the repository.
#[derive(Debug)]
pub(super) struct File {
    /// The path from the root, with `/` as separator.
    pub(super) path: String,
    pub(super) text: String,
    /// The text with comments and literals blanked out; empty if it is not Rust.
    pub(super) code: String,
}

impl File {
    pub(super) fn new(path: &str, text: &str) -> Self {
        let mut file = Self { path: path.to_owned(), text: text.to_owned(), code: String::new() };
        if file.is_rust() {
            file.code = source::code_only(text);
        }
        file
    }

    pub(super) fn is_rust(&self) -> bool {
        Path::new(&self.path).extension().is_some_and(|extension| extension == "rs")
    }

    /// Whether this is the module `name` of the folder `parent`, as a file or as a folder.
    pub(super) fn belongs_to(&self, parent: &str, name: &str) -> bool {
        self.path
            .strip_prefix(parent)
            .and_then(|path| path.strip_prefix('/'))
            .and_then(|path| path.strip_prefix(name))
            .is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
    }
}

/// Reads every text file that Git tracks or would add, sorted by path.
pub(super) fn read(root: &Path) -> Result<Vec<File>, String> {
    let mut files = Vec::new();
    for path in paths(root)? {
        match fs::read(root.join(&path)) {
            // Binary files have no lines to check.
            Ok(bytes) => files.extend(String::from_utf8(bytes).map(|text| File::new(&path, &text))),
            // Tracked by Git but deleted, or a link to a folder: nothing to read.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) if error.kind() == io::ErrorKind::IsADirectory => {}
            Err(error) => return Err(format!("cannot read {path}: {error}")),
        }
    }
    Ok(files)
}

/// Returns the path of every file that Git tracks or would add.
pub(crate) fn paths(root: &Path) -> Result<BTreeSet<String>, String> {
    // An unpacked archive of the source has no `.git`; in a worktree it is a file.
    if !root.join(".git").exists() {
        return walk(root).map_err(|error| format!("cannot list the files: {error}"));
    }
    let listed = program::stdout(
        Command::new("git")
            // Allows a checkout that another user made.
            .args(["-c", "safe.directory=*", "ls-files", "-z"])
            .args(["--cached", "--others", "--exclude-standard"])
            .current_dir(root),
    )?;
    Ok(listed.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect())
}

fn walk(root: &Path) -> io::Result<BTreeSet<String>> {
    let mut paths = BTreeSet::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root.join(&folder))? {
            let entry = entry?;
            let path = folder.join(entry.file_name());
            if !entry.file_type()?.is_dir() {
                paths.insert(path.to_string_lossy().into_owned());
            } else if path != Path::new("target") {
                folders.push(path);
            }
        }
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_is_a_file_or_a_folder() {
        for (path, expected) in [
            ("src/report.rs", true),
            ("src/report/json.rs", true),
            ("src/reporter.rs", false),
            ("src/cli/report.rs", false),
            ("other/report.rs", false),
        ] {
            assert_eq!(File::new(path, "").belongs_to("src", "report"), expected, "{path}");
        }
    }

    #[test]
    fn an_unpacked_archive_is_walked() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let paths = paths(here).unwrap();
        assert!(paths.contains("Cargo.toml") && paths.contains("src/tidy/tree.rs"), "{paths:?}");
    }
}
