//! The file operations that a journal needs, and their implementation on disk.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use super::error::StoreFileError;
use super::private;
use crate::files;

/// The extension of the file with the reserved space, next to the journal.
pub(in crate::store) const RESERVE_EXTENSION: &str = "reserve";

/// A file that grows at its end.
pub trait FileLayer {
    /// The path to show in messages.
    fn path(&self) -> &Path;

    /// The state of the file now.
    fn facts(&self) -> io::Result<FileFacts>;

    /// Reads bytes at an offset; returns 0 at the end.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;

    /// Writes all bytes at the end. After an error, any part of them may be in the file.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Flushes everything to the disk.
    fn sync(&mut self) -> io::Result<()>;

    /// Removes everything after this length.
    fn truncate(&mut self, length: u64) -> io::Result<()>;

    /// Keeps a copy of what another process wrote after this length.
    fn keep_foreign(&self, _length: u64) -> io::Result<()> {
        Ok(())
    }

    /// Reserves space that [`release_reserve`](Self::release_reserve) frees.
    fn reserve(&mut self, bytes: u64) -> io::Result<()>;

    /// Frees the reserved space for an append. Does nothing if none is reserved.
    fn release_reserve(&mut self) -> io::Result<()>;
}

/// The state of a file that another process may have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileFacts {
    /// The length in bytes.
    pub length: u64,
    pub named: NamedFile,
}

/// The file that a path names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedFile {
    /// The file that is open.
    Same,
    Other,
    /// Nothing has this name.
    Missing,
}

/// The maximum size of the copy of foreign bytes.
const MAX_FOREIGN_BYTES: u64 = 1 << 20;

/// A file on disk, readable by its owner only.
#[derive(Debug)]
pub struct DiskFile {
    file: File,
    path: PathBuf,
    /// The file that occupies the reserved space.
    reserve: PathBuf,
}

impl DiskFile {
    /// Creates a new file; fails if it exists.
    pub fn create(path: &Path) -> Result<Self, StoreFileError> {
        let file = private::options()
            .read(true)
            .append(true)
            .create_new(true)
            .open(path)
            .map_err(StoreFileError::on("create", path))?;
        private::sync_parent(path)?;
        Ok(Self::new(file, path))
    }

    /// Opens an existing file.
    pub fn open(path: &Path) -> Result<Self, StoreFileError> {
        let file = files::open_regular_with(private::options().read(true).append(true), path)
            .map_err(StoreFileError::on("open", path))?;
        Ok(Self::new(file, path))
    }

    fn new(file: File, path: &Path) -> Self {
        Self { file, path: path.to_owned(), reserve: path.with_extension(RESERVE_EXTENSION) }
    }

    fn fill_reserve(&self, bytes: u64) -> io::Result<()> {
        let mut file = files::create_anew(&self.reserve)?;
        file.write_all(&incompressible(bytes))?;
        file.sync_all()
    }
}

impl FileLayer for DiskFile {
    fn path(&self) -> &Path {
        &self.path
    }

    fn facts(&self) -> io::Result<FileFacts> {
        let open = self.file.metadata()?;
        let named = match fs::symlink_metadata(&self.path) {
            Ok(named) if (named.dev(), named.ino()) == (open.dev(), open.ino()) => NamedFile::Same,
            Ok(_) => NamedFile::Other,
            Err(error) if error.kind() == io::ErrorKind::NotFound => NamedFile::Missing,
            // It cannot be inspected, which says nothing about the open file.
            Err(_) => NamedFile::Same,
        };
        Ok(FileFacts { length: open.len(), named })
    }

    fn keep_foreign(&self, length: u64) -> io::Result<()> {
        let mut bytes = vec![0; usize::try_from(MAX_FOREIGN_BYTES).unwrap_or_default()];
        let count = self.file.read_at(&mut bytes, length)?;
        files::create_anew(&self.path.with_extension("foreign"))?.write_all(&bytes[..count])
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(buffer, offset)
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()?;
        // A deleted file disappears with this process, so nothing in it is durable.
        match self.file.metadata()?.nlink() {
            0 => Err(io::Error::new(io::ErrorKind::NotFound, "the file no longer exists")),
            _ => Ok(()),
        }
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.file.set_len(length)
    }

    fn reserve(&mut self, bytes: u64) -> io::Result<()> {
        // A resumed run may still have a reserve, and perhaps no space for another.
        let found = fs::symlink_metadata(&self.reserve);
        if found.is_ok_and(|found| found.is_file() && found.len() == bytes) {
            return Ok(());
        }
        self.fill_reserve(bytes).inspect_err(|_| {
            // A partial reserve would look like a complete one. The missing space is reported.
            let _ = fs::remove_file(&self.reserve);
        })
    }

    fn release_reserve(&mut self) -> io::Result<()> {
        match fs::remove_file(&self.reserve) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        }
        // Some file systems reuse freed space only after the deletion is on disk.
        private::sync_parent(&self.reserve).map_err(|error| error.source)
    }
}

/// Returns bytes that take up their full size on file systems that compress.
fn incompressible(bytes: u64) -> Vec<u8> {
    let words = (0..bytes.div_ceil(8)).flat_map(|n| {
        // The output function of SplitMix64.
        let mut word = (n + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (word ^ (word >> 31)).to_le_bytes()
    });
    words.take(usize::try_from(bytes).unwrap_or(usize::MAX)).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    use super::*;

    fn file() -> (tempfile::TempDir, DiskFile) {
        let folder = tempfile::tempdir().unwrap();
        let file = DiskFile::create(&folder.path().join("journal.jsonl")).unwrap();
        (folder, file)
    }

    #[test]
    fn a_file_is_its_owners_only_and_never_replaces_another() {
        let (_folder, file) = file();
        let mode = fs::metadata(file.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let error = DiskFile::create(file.path()).unwrap_err();
        assert_eq!(error.source.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(error.to_string(), format!("cannot create `{}`", file.path().display()));
    }

    #[test]
    fn appends_after_a_truncation_go_to_the_new_end() {
        let (_folder, mut file) = file();
        file.append(b"whole\nhal").unwrap();
        file.truncate(6).unwrap();
        file.append(b"next\n").unwrap();
        file.sync().unwrap();
        assert_eq!(fs::read(file.path()).unwrap(), b"whole\nnext\n");
        assert_eq!(file.facts().unwrap(), FileFacts { length: 11, named: NamedFile::Same });
    }

    #[test]
    fn a_file_knows_whether_its_path_still_names_it() {
        let (folder, file) = file();
        let named = || file.facts().unwrap().named;
        fs::rename(file.path(), folder.path().join("elsewhere")).unwrap();
        assert_eq!(named(), NamedFile::Missing);
        fs::write(file.path(), "").unwrap();
        assert_eq!(named(), NamedFile::Other);
        fs::rename(folder.path().join("elsewhere"), file.path()).unwrap();
        assert_eq!(named(), NamedFile::Same);
    }

    #[test]
    fn space_set_aside_is_really_taken_and_really_given_back() {
        let (_folder, mut file) = file();
        file.reserve(64 << 10).unwrap();
        let reserve = file.path().with_extension(RESERVE_EXTENSION);
        let found = fs::metadata(&reserve).unwrap();
        assert_eq!((found.len(), found.mode() & 0o777), (64 << 10, 0o600));
        assert!(found.blocks() * 512 >= 64 << 10, "{} blocks", found.blocks());

        // A second call writes nothing.
        file.reserve(64 << 10).unwrap();
        assert_eq!(fs::metadata(&reserve).unwrap().mtime_nsec(), found.mtime_nsec());

        file.release_reserve().unwrap();
        assert!(!reserve.exists());

        // It neither waits for the other end of a pipe nor writes through a link.
        rustix::fs::mkfifoat(rustix::fs::CWD, &reserve, rustix::fs::Mode::RWXU).unwrap();
        file.reserve(64 << 10).unwrap();
        assert!(fs::symlink_metadata(&reserve).unwrap().is_file());
        let elsewhere = reserve.with_extension("elsewhere");
        fs::rename(&reserve, &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &reserve).unwrap();
        file.reserve(64 << 10).unwrap();
        assert!(fs::symlink_metadata(&reserve).unwrap().is_file());
        file.release_reserve().unwrap();
        file.release_reserve().unwrap();
    }
}
