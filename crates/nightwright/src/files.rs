//! Access to files: reading inside the project without following links out of it, and atomic
//! replacement.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use tempfile::TempDir;

/// An operation on a file failed.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file cannot be read.
    #[error("cannot read `{}`", path.display())]
    Read { path: PathBuf, source: io::Error },
    /// The file cannot be written.
    #[error("cannot write `{}`", path.display())]
    Write { path: PathBuf, source: io::Error },
    /// The path is a link out of the project, or behind one.
    #[error("`{}` resolves to `{}`, outside the project", path.display(), target.display())]
    Elsewhere { path: PathBuf, target: PathBuf },
    /// The path is a link where a folder is required, whatever its target.
    #[error("`{}` is a link to `{}`, but must be a folder", path.display(), target.display())]
    Link { path: PathBuf, target: PathBuf },
    /// The file exceeds the maximum size of its kind.
    #[error("`{}` is larger than {most} bytes", path.display())]
    TooLarge {
        path: PathBuf,
        /// The maximum size in bytes.
        most: u64,
    },
}

impl FileError {
    /// Whether the path already exists.
    pub fn is_taken(&self) -> bool {
        match self {
            Self::Write { source, .. } => matches!(
                source.kind(),
                io::ErrorKind::AlreadyExists | io::ErrorKind::DirectoryNotEmpty
            ),
            Self::Read { .. }
            | Self::Elsewhere { .. }
            | Self::Link { .. }
            | Self::TooLarge { .. } => false,
        }
    }
}

/// Whether a folder of the project exists. A link in its place is refused, even inside the project:
/// removing or moving its contents would affect other files.
pub fn folder_inside(project: &Path, relative: &Path) -> Result<bool, FileError> {
    let path = project.join(relative);
    let kind = match fs::symlink_metadata(&path) {
        Ok(metadata) => metadata.file_type(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            check_inside(project, &path)?;
            return Ok(false);
        }
        Err(source) => return Err(FileError::Read { path, source }),
    };
    if kind.is_symlink() {
        let target = fs::read_link(&path).unwrap_or_default();
        return Err(FileError::Link { path, target });
    }
    check_inside(project, &path)?;
    if kind.is_dir() {
        return Ok(true);
    }
    Err(FileError::Read { path, source: io::Error::other("it is not a folder") })
}

/// Opens a regular file of the project; `None` if it does not exist. Links out of the project and
/// files that are not plain are refused.
pub fn open_inside(project: &Path, relative: &Path) -> Result<Option<File>, FileError> {
    let path = project.join(relative);
    let fail = |source| FileError::Read { path: path.clone(), source };
    let target = match path.canonicalize() {
        Ok(target) => target,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(fail(error)),
    };
    if !target.starts_with(project.canonicalize().map_err(fail)?) {
        return Err(FileError::Elsewhere { path, target });
    }
    // Non-blocking: opening a pipe would block forever.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::open(&target, flags, Mode::empty());
    let file = File::from(opened.map_err(|error| fail(error.into()))?);
    if !file.metadata().map_err(fail)?.is_file() {
        return Err(fail(io::Error::other("it is not a regular file")));
    }
    Ok(Some(file))
}

/// Opens a regular file for reading. Fails on anything else, without following links or blocking.
pub fn open_regular(path: &Path) -> io::Result<File> {
    open_regular_with(OpenOptions::new().read(true), path)
}

/// Opens a regular file with these options. Fails on anything else, without following links or
/// blocking.
pub fn open_regular_with(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let irregular = || io::Error::other("it is not a regular file");
    // Non-blocking: opening a pipe would block forever.
    let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed();
    let file = options.custom_flags(flags).open(path).map_err(|error| {
        match Errno::from_io_error(&error) {
            // A link, a socket or a pipe without a reader, and a folder.
            Some(Errno::LOOP | Errno::NXIO | Errno::ISDIR) => irregular(),
            Some(_) | None => error,
        }
    })?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(irregular()) }
}

/// Reads a regular file. Fails on anything else, without following links or blocking.
pub fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Opens a regular file for appending, or creates it for its owner only. Fails on anything else, and
/// on a link in place of its folder, without following links or blocking.
pub fn append_regular(path: &Path) -> io::Result<File> {
    let (folder, name) = folder_and_name(path)?;
    // Non-blocking: opening a pipe would block forever.
    let flags = OFlags::WRONLY
        | OFlags::APPEND
        | OFlags::CREATE
        | OFlags::NONBLOCK
        | OFlags::NOFOLLOW
        | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::openat(folder, name, flags, Mode::RUSR | Mode::WUSR)?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    Ok(file)
}

/// Creates a new file for its owner only, replacing any existing file. Fails on a folder, and on a
/// link in place of its folder.
pub fn create_anew(path: &Path) -> io::Result<File> {
    let (folder, name) = folder_and_name(path)?;
    match rustix::fs::unlinkat(&folder, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(error) => return Err(error.into()),
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::openat(folder, name, flags, Mode::RUSR | Mode::WUSR)?))
}

/// Opens the folder of a file without following a link in its place.
fn folder_and_name(path: &Path) -> io::Result<(OwnedFd, &OsStr)> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok((rustix::fs::open(folder.unwrap_or(Path::new(".")), flags, Mode::empty())?, name))
}

/// Reads a file of the project of at most `most` bytes; `None` if it does not exist.
pub fn read_inside(
    project: &Path,
    relative: &Path,
    most: u64,
) -> Result<Option<Vec<u8>>, FileError> {
    let Some(file) = open_inside(project, relative)? else { return Ok(None) };
    let path = project.join(relative);
    let mut bytes = Vec::new();
    match file.take(most + 1).read_to_end(&mut bytes) {
        Ok(_) if bytes.len() as u64 > most => Err(FileError::TooLarge { path, most }),
        Ok(_) => Ok(Some(bytes)),
        Err(source) => Err(FileError::Read { path, source }),
    }
}

/// Reads a file of at most `most` bytes, without following a link.
pub fn read_at_most(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(bytes)
}

/// Fails if `path`, or its nearest existing parent, is outside the project.
pub fn check_inside(project: &Path, path: &Path) -> Result<(), FileError> {
    let fail = |source| FileError::Write { path: path.to_owned(), source };
    let root = project.canonicalize().map_err(fail)?;
    for above in path.ancestors() {
        match above.canonicalize() {
            Ok(target) if target.starts_with(&root) => return Ok(()),
            Ok(target) => return Err(FileError::Elsewhere { path: path.to_owned(), target }),
            // A dangling link leads out of the project too.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if let Ok(target) = fs::read_link(above) {
                    return Err(FileError::Elsewhere { path: path.to_owned(), target });
                }
            }
            Err(error) => return Err(fail(error)),
        }
    }
    Ok(())
}

/// Replaces a file atomically, readable by its owner only. Creates missing parent folders.
pub fn replace_private(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    private_folder_of(path)?;
    replace_with_mode(path, bytes, 0o600)
}

/// Like [`replace_private`], for a program: only its owner may run it.
pub fn replace_program(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    private_folder_of(path)?;
    replace_with_mode(path, bytes, 0o700)
}

/// Creates the folder of a private file, for its owner only.
fn private_folder_of(path: &Path) -> Result<(), FileError> {
    let fail = |source| FileError::Write { path: path.to_owned(), source };
    let Some(folder) = path.parent() else { return Ok(()) };
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(fail)
}

/// Replaces a file atomically: readers see either the old or the new text, also after a crash.
/// Creates missing parent folders.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    // The permissions of an existing file are kept.
    let mode = fs::metadata(path).map_or(0o644, |metadata| metadata.permissions().mode());
    replace_with_mode(path, bytes, mode)
}

fn replace_with_mode(path: &Path, bytes: &[u8], mode: u32) -> Result<(), FileError> {
    let fail = |source| FileError::Write { path: path.to_owned(), source };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(fail)?;
    let mut file = tempfile::Builder::new()
        .prefix(".nightwright-")
        .permissions(fs::Permissions::from_mode(mode))
        .tempfile_in(folder)
        .map_err(fail)?;
    file.write_all(bytes).map_err(fail)?;
    file.as_file().sync_all().map_err(fail)?;
    file.persist(path).map_err(|error| fail(error.error))?;
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(fail)
}

/// A folder that is filled under a temporary name and then renamed. If it is dropped before that,
/// it is removed.
#[derive(Debug)]
pub struct Staging {
    /// A private folder; the folder inside it gets the default permissions.
    around: TempDir,
    place: PathBuf,
}

impl Staging {
    /// Starts a folder that will be renamed to `place`. Creates missing parent folders.
    pub fn new(place: &Path) -> Result<Self, FileError> {
        let fail = |source| FileError::Write { path: place.to_owned(), source };
        let above = place.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(above).map_err(fail)?;
        let around = temporary_in(above).map_err(fail)?;
        let staging = Self { around, place: place.to_owned() };
        fs::create_dir(staging.folder()).map_err(fail)?;
        Ok(staging)
    }

    /// Returns the path of the folder while it is filled.
    pub fn folder(&self) -> PathBuf {
        self.around.path().join(self.place.file_name().unwrap_or(OsStr::new("folder")))
    }

    /// Renames the folder to its final path, unless that exists.
    pub fn commit(self) -> Result<(), FileError> {
        let fail = |source| FileError::Write { path: self.place.clone(), source };
        let folder = self.folder();
        // A folder cannot be opened for writing; reading is enough to sync its entries.
        File::open(&folder).and_then(|folder| folder.sync_all()).map_err(fail)?;
        rename_unless_taken(&folder, &self.place).map_err(fail)?;
        let above = self.place.parent().unwrap_or(Path::new("."));
        File::open(above).and_then(|above| above.sync_all()).map_err(fail)
    }
}

/// The result of removing a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Removed {
    /// The folder is completely removed.
    Wholly,
    /// The folder was renamed, and some of it remains at this path.
    Leaving(PathBuf),
}

/// Removes a folder: renames it first, and then deletes its contents.
pub fn remove_folder(path: &Path) -> Result<Removed, FileError> {
    let fail = |source| FileError::Write { path: path.to_owned(), source };
    let above = path.parent().unwrap_or(Path::new("."));
    let around = temporary_in(above).map_err(fail)?;
    fs::rename(path, around.path().join("folder")).map_err(fail)?;
    File::open(above).and_then(|above| above.sync_all()).map_err(fail)?;
    let rest = around.path().to_owned();
    match around.close() {
        Ok(()) => Ok(Removed::Wholly),
        Err(_) => Ok(Removed::Leaving(rest)),
    }
}

fn temporary_in(folder: &Path) -> io::Result<TempDir> {
    tempfile::Builder::new().prefix(".nightwright-").tempdir_in(folder)
}

/// Renames a file or folder without replacing: a normal rename would silently replace an empty
/// folder.
fn rename_unless_taken(from: &Path, to: &Path) -> io::Result<()> {
    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Not supported by all file systems.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => match fs::symlink_metadata(to) {
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
            Err(_) => fs::rename(from, to),
        },
        done => done.map_err(io::Error::from),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn pipe(path: &Path) {
        rustix::fs::mkfifoat(CWD, path, Mode::RWXU).unwrap();
    }

    #[test]
    fn only_a_private_regular_file_is_appended_to() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("log");
        for text in ["a", "b"] {
            append_regular(&file).unwrap().write_all(text.as_bytes()).unwrap();
        }
        assert_eq!(fs::read(&file).unwrap(), b"ab");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn neither_a_pipe_nor_a_link_is_added_to() {
        let folder = tempfile::tempdir().unwrap();
        let (queue, link, outside) =
            (folder.path().join("pipe"), folder.path().join("link"), folder.path().join("outside"));
        pipe(&queue);
        assert!(append_regular(&queue).is_err());
        // With a reader, the pipe could be opened.
        let _reader = rustix::fs::open(&queue, OFlags::RDWR | OFlags::NONBLOCK, Mode::empty());
        assert!(append_regular(&queue).is_err());
        symlink(&outside, &link).unwrap();
        assert!(append_regular(&link).is_err());
        assert!(!outside.exists());
    }

    #[test]
    fn a_new_file_takes_the_place_of_whatever_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let (queue, link, outside) =
            (folder.path().join("pipe"), folder.path().join("link"), folder.path().join("outside"));
        pipe(&queue);
        symlink(&outside, &link).unwrap();
        fs::write(&outside, "theirs").unwrap();
        for file in [&queue, &link, &queue] {
            create_anew(file).unwrap().write_all(b"ours").unwrap();
            assert!(fs::symlink_metadata(file).unwrap().is_file());
            assert_eq!(fs::read(file).unwrap(), b"ours");
        }
        assert_eq!(fs::read(&outside).unwrap(), b"theirs");
    }

    #[test]
    fn a_link_in_the_place_of_the_folder_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (link, outside) = (folder.path().join("link"), folder.path().join("outside"));
        fs::create_dir(&outside).unwrap();
        symlink(&outside, &link).unwrap();
        assert!(append_regular(&link.join("log")).is_err());
        assert!(create_anew(&link.join("log")).is_err());
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    }
}
