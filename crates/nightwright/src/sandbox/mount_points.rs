//! Creates the mount points in folders that programs inside can change, without following links.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path};

use nightwright_core::sandbox::mounts::MountPointContent;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::hex::hex;
use crate::random;

const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// The treatment of something else in the place of a mount point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// It is removed: the folder is nightwright's own.
    Removed,
    /// It is an error: the folder is the user's.
    Refused,
}

/// Ensures that the mount point exists.
pub(super) fn ensure(
    base: &Path,
    path: &Path,
    content: &MountPointContent,
    obstacle: Obstacle,
) -> io::Result<()> {
    let Some(name) = path.file_name() else { return Ok(()) };
    let folder = ensure_folders(base, path.parent().unwrap_or(Path::new("")), obstacle)?;
    match content {
        MountPointContent::Folder => ensure_folder(&folder, name, obstacle).map(drop),
        MountPointContent::File => ensure_file(&folder, name, obstacle),
        MountPointContent::Link(target) => ensure_link(&folder, name, target, obstacle),
    }
}

/// Writes a file of nightwright's own folder, whatever is in its place.
pub(super) fn write(base: &Path, path: &Path, text: &str) -> io::Result<()> {
    use std::io::Write as _;
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let folder = ensure_folders(base, path.parent().unwrap_or(Path::new("")), Obstacle::Removed)?;
    // A program inside may have taken away the access to the old file, or linked it elsewhere.
    let new = format!(".nightwright-{}", hex(&random::nonce()));
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(&folder, &new, flags, Mode::RUSR | Mode::WUSR)?;
    std::fs::File::from(file).write_all(text.as_bytes())?;
    if kind(&folder, name) == Some(FileType::Directory) {
        clear(&folder, name, Obstacle::Removed)?;
    }
    Ok(rustix::fs::renameat(&folder, &new, &folder, name)?)
}

/// Opens the folder below `base`, and creates the missing ones.
pub(super) fn ensure_folders(base: &Path, path: &Path, obstacle: Obstacle) -> io::Result<OwnedFd> {
    let mut folder = rustix::fs::openat(CWD, base, FOLDER, Mode::empty())?;
    for part in path.components() {
        let Component::Normal(name) = part else {
            return Err(io::Error::other("it is not a plain path"));
        };
        folder = ensure_folder(&folder, name, obstacle)?;
    }
    Ok(folder)
}

fn ensure_folder(folder: &OwnedFd, name: &OsStr, obstacle: Obstacle) -> io::Result<OwnedFd> {
    let open = || rustix::fs::openat(folder, name, FOLDER, Mode::empty());
    match open() {
        Ok(found) => return with_access(found, obstacle),
        Err(Errno::NOENT) => {}
        Err(Errno::ACCESS) if obstacle == Obstacle::Removed => return reopen(folder, name),
        Err(Errno::LOOP | Errno::NOTDIR) => clear(folder, name, obstacle)?,
        Err(error) => return Err(error.into()),
    }
    match rustix::fs::mkdirat(folder, name, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => Ok(open()?),
        Err(error) => Err(error.into()),
    }
}

/// Gives nightwright the access to its own folder, which a program inside may have taken away.
fn with_access(folder: OwnedFd, obstacle: Obstacle) -> io::Result<OwnedFd> {
    let mode = Mode::from_raw_mode(rustix::fs::fstat(&folder)?.st_mode);
    if obstacle == Obstacle::Removed && !mode.contains(Mode::RWXU) {
        rustix::fs::fchmod(&folder, mode | Mode::RWXU)?;
    }
    Ok(folder)
}

/// Opens nightwright's own folder after giving it the access.
fn reopen(folder: &OwnedFd, name: &OsStr) -> io::Result<OwnedFd> {
    if kind(folder, name) != Some(FileType::Directory) {
        return Err(Errno::ACCESS.into());
    }
    // No program inside runs now, so the folder cannot become a link in between.
    rustix::fs::chmodat(folder, name, Mode::RWXU, AtFlags::empty())?;
    Ok(rustix::fs::openat(folder, name, FOLDER, Mode::empty())?)
}

fn ensure_file(folder: &OwnedFd, name: &OsStr, obstacle: Obstacle) -> io::Result<()> {
    match kind(folder, name) {
        Some(FileType::RegularFile) => return Ok(()),
        None => {}
        Some(_) => clear(folder, name, obstacle)?,
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(folder, name, flags, Mode::RUSR | Mode::WUSR)?;
    Ok(())
}

fn ensure_link(
    folder: &OwnedFd,
    name: &OsStr,
    target: &Path,
    obstacle: Obstacle,
) -> io::Result<()> {
    use std::os::unix::ffi::OsStrExt as _;
    let found = rustix::fs::readlinkat(folder, name, Vec::new());
    if found.is_ok_and(|found| found.as_bytes() == target.as_os_str().as_bytes()) {
        return Ok(());
    }
    if kind(folder, name).is_some() {
        clear(folder, name, obstacle)?;
    }
    Ok(rustix::fs::symlinkat(target, folder, name)?)
}

fn kind(folder: impl AsFd, name: &OsStr) -> Option<FileType> {
    let found = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some(FileType::from_raw_mode(found.st_mode))
}

/// Moves something out of the way: a folder with files keeps them, under another name.
fn clear(folder: &OwnedFd, name: &OsStr, obstacle: Obstacle) -> io::Result<()> {
    if obstacle == Obstacle::Refused {
        return Err(io::Error::other(format!("`{}` is in the way", name.display())));
    }
    let flags = match kind(folder, name) {
        Some(FileType::Directory) => AtFlags::REMOVEDIR,
        Some(_) => AtFlags::empty(),
        None => return Ok(()),
    };
    match rustix::fs::unlinkat(folder, name, flags) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(Errno::NOTEMPTY | Errno::EXIST) => {
            let mut aside = name.to_owned();
            aside.push(format!(".moved-{}", hex(&random::nonce())));
            Ok(rustix::fs::renameat(folder, name, folder, &aside)?)
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn planted_links_are_removed_and_never_followed() {
        let root = tempfile::tempdir().unwrap();
        let (base, outside) = (root.path().join("home"), root.path().join("outside"));
        fs::create_dir(&base).unwrap();
        fs::create_dir(&outside).unwrap();
        symlink(&outside, base.join("a")).unwrap();
        ensure(&base, Path::new("a/b"), &MountPointContent::Folder, Obstacle::Removed).unwrap();
        assert!(base.join("a/b").is_dir());
        assert!(!fs::symlink_metadata(base.join("a")).unwrap().is_symlink());
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);

        let victim = outside.join("file");
        fs::write(&victim, "theirs").unwrap();
        symlink(&victim, base.join("config")).unwrap();
        write(&base, Path::new("config"), "ours").unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "theirs");
        assert_eq!(fs::read_to_string(base.join("config")).unwrap(), "ours");
    }

    #[test]
    fn in_a_folder_of_the_user_nothing_is_removed() {
        let root = tempfile::tempdir().unwrap();
        symlink("/etc", root.path().join("x")).unwrap();
        let refused =
            |content| ensure(root.path(), Path::new("x"), &content, Obstacle::Refused).is_err();
        assert!(refused(MountPointContent::Folder));
        assert!(refused(MountPointContent::File));
        assert!(fs::symlink_metadata(root.path().join("x")).unwrap().is_symlink());
    }

    #[test]
    fn files_of_an_earlier_program_in_the_way_are_kept_under_another_name() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("file")).unwrap();
        fs::write(root.path().join("file/x"), "work").unwrap();
        ensure(root.path(), Path::new("file"), &MountPointContent::File, Obstacle::Removed)
            .unwrap();
        assert!(root.path().join("file").is_file());
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 2);
        let link = MountPointContent::Link("target".into());
        for _ in 0..2 {
            ensure(root.path(), Path::new("file"), &link, Obstacle::Removed).unwrap();
        }
        assert_eq!(fs::read_link(root.path().join("file")).unwrap(), Path::new("target"));
    }
}
