//! Looks at files of the machine: where they really are, and which links lead there.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

use nightwright_core::sandbox::facts::{Entries, Entry, FileKind, Link};

/// Maximum number of links on the way to a file, as in the kernel.
const MAX_LINKS: usize = 40;

/// Looks at all paths.
pub(super) fn entries_at(paths: impl IntoIterator<Item = PathBuf>) -> Entries {
    let found = paths.into_iter().filter_map(|path| Some((path.clone(), entry_at(&path)?)));
    Entries(found.collect())
}

/// Returns what exists at an absolute path.
pub(super) fn entry_at(path: &Path) -> Option<Entry> {
    let mut real = PathBuf::from("/");
    let mut links = Vec::new();
    let mut rest: VecDeque<OsString> = parts(path).into();
    while let Some(part) = rest.pop_front() {
        if part == ".." {
            real.pop();
            continue;
        }
        let next = real.join(&part);
        if !fs::symlink_metadata(&next).ok()?.is_symlink() {
            real = next;
            continue;
        }
        if links.len() == MAX_LINKS {
            return None;
        }
        let target = fs::read_link(&next).ok()?;
        if target.is_absolute() {
            real = PathBuf::from("/");
        }
        for part in parts(&target).into_iter().rev() {
            rest.push_front(part);
        }
        links.push(Link { at: next, target });
    }
    Some(Entry { kind: kind_of(&real)?, real, links })
}

/// The names in a path, with `..` for the folder above.
fn parts(path: &Path) -> Vec<OsString> {
    let part = |component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::Prefix(_) | Component::RootDir | Component::CurDir => None,
    };
    path.components().filter_map(part).collect()
}

fn kind_of(real: &Path) -> Option<FileKind> {
    let found = fs::symlink_metadata(real).ok()?;
    Some(if found.is_dir() {
        FileKind::Folder
    } else if found.is_file() {
        FileKind::File
    } else {
        FileKind::Special
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_followed_and_remembered_and_circles_end() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/file"), "x").unwrap();
        symlink("a", root.join("relative")).unwrap();
        symlink(root.join("relative/b"), root.join("absolute")).unwrap();
        symlink("circle", root.join("circle")).unwrap();
        let found = entry_at(&root.join("absolute/../b/file")).unwrap();
        assert_eq!((found.real, found.kind), (root.join("a/b/file"), FileKind::File));
        let links: Vec<_> = found.links.iter().map(|link| link.at.clone()).collect();
        assert_eq!(links, [root.join("absolute"), root.join("relative")]);
        assert_eq!(entry_at(&root.join("circle")), None);
        assert_eq!(entry_at(&root.join("missing")), None);
        assert_eq!(entry_at(&root.join("a")).unwrap().kind, FileKind::Folder);
    }
}
