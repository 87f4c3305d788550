//! Writes the planned files: everything is checked before the first write, and all writes are
//! undone if a later one fails.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use super::text::{hook_samples, ignore_text};
use crate::error::Failure;
use crate::files::{FileError, check_inside, read_inside, replace};

/// The folder that `init` creates.
pub const FOLDER: &str = ".nightwright";

/// The path of the configuration.
pub const CONFIG: &str = ".nightwright/config.toml";

/// Maximum size of a file that is replaced.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// How to handle an existing configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExistingConfig {
    /// `init` refuses to replace it.
    Refused,
    /// The old file is kept as a backup next to the new one.
    Kept,
}

/// The files to write, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilePlan {
    /// Paths relative to the project, with the contents.
    pub files: Vec<(String, Vec<u8>)>,
    /// The parts that are left as they are, with the reasons.
    pub notes: Vec<String>,
}

/// Fails if the project has a configuration that must not be replaced. Called before any questions.
pub fn check_new(project: &Path, existing: ExistingConfig) -> Result<(), Failure> {
    check_inside(project, &project.join(CONFIG)).map_err(|error| Failure::because(&error))?;
    match existing {
        ExistingConfig::Refused if fs::symlink_metadata(project.join(CONFIG)).is_ok() => {
            Err(Failure::trouble(format!("{CONFIG} already exists")).hint(
                "replace it with `--yes`; nightwright keeps the old one as `config.toml.bak`",
            ))
        }
        ExistingConfig::Refused | ExistingConfig::Kept => Ok(()),
    }
}

impl FilePlan {
    /// Returns the plan of the files that `init` itself writes.
    pub fn own(
        project: &Path,
        config: &str,
        schema: &str,
        existing: ExistingConfig,
    ) -> Result<Self, Failure> {
        check_new(project, existing)?;
        let mut placing = Self::default();
        if let Some(old) = read(project, CONFIG)?.filter(|old| old != config.as_bytes()) {
            placing.files.push((free_backup(project, CONFIG), old));
        }
        placing.push(&format!("{FOLDER}/config.schema.json"), schema);
        let ignore = format!("{FOLDER}/.gitignore");
        let old = read(project, &ignore)?.map(String::from_utf8);
        match old.transpose() {
            Ok(old) => {
                if let Some(text) = ignore_text(old.as_deref()) {
                    placing.push(&ignore, &text);
                }
            }
            Err(_) => placing
                .notes
                .push(format!("`{ignore}` is not UTF-8; nightwright leaves it unchanged")),
        }
        for (name, text) in hook_samples() {
            let path = format!("{FOLDER}/hooks/{name}.sample");
            let is_there = fs::symlink_metadata(project.join(&path)).is_ok();
            match existing {
                ExistingConfig::Refused if is_there => {
                    placing.notes.push(format!("`{path}` exists; nightwright leaves it unchanged"));
                }
                ExistingConfig::Refused | ExistingConfig::Kept => placing.push(&path, &text),
            }
        }
        // The last file: a project that has it has all files.
        placing.push(CONFIG, config);
        Ok(placing)
    }

    /// Adds a file, unless its path exists; returns whether it was added.
    pub fn add(&mut self, path: &str, text: &str) -> bool {
        let is_free = self.files.iter().all(|(other, _)| other != path);
        if is_free {
            // The configuration stays last.
            let last = self.files.len().saturating_sub(1);
            self.files.insert(last, (path.to_owned(), text.as_bytes().to_vec()));
        }
        is_free
    }

    fn push(&mut self, path: &str, text: &str) {
        self.files.push((path.to_owned(), text.as_bytes().to_vec()));
    }

    /// Writes the files, all or none as far as possible.
    pub fn write(&self, project: &Path) -> Result<(), Failure> {
        let mut before = Vec::new();
        for (relative, _) in &self.files {
            let path = project.join(relative);
            check_inside(project, &path).map_err(|error| Failure::because(&error))?;
            check_writable(&path)?;
            before.push((path, read(project, relative)?));
        }
        let mut made = Vec::new();
        for (index, (relative, bytes)) in self.files.iter().enumerate() {
            made.extend(missing_folders(&project.join(relative)));
            if let Err(error) = replace(&project.join(relative), bytes) {
                return Err(take_back(&before[..=index], &made, &error));
            }
        }
        Ok(())
    }
}

/// Returns the contents of a file; `None` if it does not exist.
pub(crate) fn read(project: &Path, relative: &str) -> Result<Option<Vec<u8>>, Failure> {
    read_inside(project, Path::new(relative), MAX_FILE_BYTES)
        .map_err(|error| Failure::because(&error))
}

/// Returns an unused name for the backup of a file.
pub(crate) fn free_backup(project: &Path, file: &str) -> String {
    let name = |number: u32| match number {
        1 => format!("{file}.bak"),
        number => format!("{file}.bak{number}"),
    };
    let is_free = |name: &String| fs::symlink_metadata(project.join(name)).is_err();
    (1..u32::MAX).map(name).find(is_free).unwrap_or_else(|| name(1))
}

/// Fails if the nearest existing parent is not a folder, or not writable.
pub(crate) fn check_writable(path: &Path) -> Result<(), Failure> {
    let refuse = |at: &Path, why: &dyn std::fmt::Display| {
        Failure::trouble(format!("cannot write `{}`: `{}` {why}", path.display(), at.display()))
    };
    for folder in path.ancestors().skip(1) {
        match fs::metadata(folder) {
            Ok(metadata) if !metadata.is_dir() => return Err(refuse(folder, &"is not a folder")),
            Ok(_) => {
                return access(folder, Access::WRITE_OK | Access::EXEC_OK).map_err(|error| {
                    let error = io::Error::from(error);
                    refuse(folder, &format_args!("is not writable: {error}"))
                });
            }
            // The next parent decides.
            Err(_) => {}
        }
    }
    Ok(())
}

/// Returns the missing parent folders of a file, the innermost first.
fn missing_folders(path: &Path) -> Vec<PathBuf> {
    path.ancestors().skip(1).take_while(|folder| !folder.exists()).map(Path::to_owned).collect()
}

/// Undoes all writes, and returns the failure with what could not be undone.
fn take_back(
    before: &[(PathBuf, Option<Vec<u8>>)],
    made: &[PathBuf],
    error: &FileError,
) -> Failure {
    let failure = Failure::because(error);
    let mut left = Vec::new();
    for (path, bytes) in before.iter().rev() {
        let done = match bytes {
            Some(bytes) => replace(path, bytes).is_ok(),
            None => match fs::remove_file(path) {
                Ok(()) => true,
                Err(error) => {
                    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
                }
            },
        };
        if !done {
            left.push(format!("`{}`", path.display()));
        }
    }
    let mut folders = made.to_vec();
    folders.sort_by_key(|folder| std::cmp::Reverse(folder.components().count()));
    for folder in folders {
        // A folder that is not empty contains other files.
        drop(fs::remove_dir(folder));
    }
    if left.is_empty() {
        failure.and("nightwright changed nothing")
    } else {
        failure.hint(format!("restore these yourself: {}", left.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_files_are_removed_if_a_later_one_fails() {
        let project = tempfile::tempdir().unwrap();
        fs::write(project.path().join("old"), "mine").unwrap();
        let mut placing = FilePlan::default();
        for path in ["old", "new", "a/b/c", "a/b/c/d"] {
            placing.push(path, "ours");
        }
        let failure = placing.write(project.path()).unwrap_err();
        assert!(failure.message.contains("a/b/c/d"), "{failure}");
        assert!(failure.message.ends_with("; nightwright changed nothing"), "{failure}");
        assert_eq!(fs::read_to_string(project.path().join("old")).unwrap(), "mine");
        assert_eq!(fs::read_dir(project.path()).unwrap().count(), 1);
    }
}
