//! Links in a git folder that lead out of it. Git outside would write through them: a program inside
//! could make it append to any file of the user.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders with many files, in which no link is looked for. Git writes no texts there.
const SKIPPED: &[&str] = &["objects", "lfs", "annex"];
/// Maximum number of entries that are looked at.
const MAX_ENTRIES: usize = 20_000;

/// The links in a git folder before a program runs.
#[derive(Debug)]
pub(super) struct GitLinks {
    folder: PathBuf,
    known: BTreeSet<(PathBuf, PathBuf)>,
}

impl GitLinks {
    pub(super) fn of(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), known: leading_out(folder) }
    }

    /// The links that are new.
    pub(super) fn again(&self) -> Vec<PathBuf> {
        let now = leading_out(&self.folder);
        now.difference(&self.known).map(|(link, _)| link.clone()).collect()
    }
}

/// The links that lead out of the folder, with their targets.
fn leading_out(folder: &Path) -> BTreeSet<(PathBuf, PathBuf)> {
    let mut found = BTreeSet::new();
    let mut folders = vec![folder.to_owned()];
    let mut budget = MAX_ENTRIES;
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).into_iter().flatten().flatten() {
            if budget == 0 {
                return found;
            }
            budget -= 1;
            let (path, Ok(kind)) = (entry.path(), entry.file_type()) else { continue };
            let is_skipped = SKIPPED.iter().any(|name| entry.file_name() == *name);
            if kind.is_dir() && !is_skipped {
                folders.push(path);
            } else if kind.is_symlink()
                && let Ok(target) = fs::read_link(&path)
                && leads_out(&path, &target, folder)
            {
                found.insert((path, target));
            }
        }
    }
    found
}

/// Whether a link may lead out of the folder. A target that does not exist could be created.
fn leads_out(link: &Path, target: &Path, folder: &Path) -> bool {
    let real = link.parent().and_then(|parent| parent.join(target).canonicalize().ok());
    real.is_none_or(|real| !real.starts_with(folder))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_new_link_out_of_the_folder_is_found_and_others_are_not() {
        let temp = tempfile::tempdir().unwrap();
        let git = temp.path().canonicalize().unwrap().join(".git");
        fs::create_dir_all(git.join("logs")).unwrap();
        fs::write(git.join("HEAD"), "").unwrap();
        symlink("/etc/passwd", git.join("known")).unwrap();
        let before = GitLinks::of(&git);
        symlink("../HEAD", git.join("logs/inside")).unwrap();
        assert_eq!(before.again(), [] as [PathBuf; 0]);
        symlink(temp.path().join("missing"), git.join("logs/HEAD")).unwrap();
        fs::remove_file(git.join("known")).unwrap();
        symlink("/etc/hostname", git.join("known")).unwrap();
        assert_eq!(before.again(), [git.join("known"), git.join("logs/HEAD")]);
    }
}
