//! The identity of a file: its kind and its content, named as git names them.
//!
//! The same file has the same name whether git tracks it or not. A file is not read again while its
//! times and size stay the same.
//!
//! The name is that of the content on disk. If git stores another form of a file (other line
//! endings, the result of a filter), the names differ although nothing was changed. This does not
//! count as a difference as long as git reports none: git handles line endings and untouched files.
//! A touched file with a filter counts as changed, because the filter is never run.

use std::collections::HashMap;
use std::fs::{self, File, Metadata};
use std::io::{self, Read, Seek as _, SeekFrom};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ring::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY, SHA256};
use rustix::fs::{Mode, OFlags};

use crate::hex::hex;

/// A file whose last change is more recent than this may change again with the same times, so its
/// identity is not cached.
const MIN_FILE_AGE: Duration = Duration::from_millis(100);
/// Size of one read.
const CHUNK: usize = 64 << 10;
/// Larger files are not read completely: they may have holes of any size.
const WHOLE: u64 = 256 << 20;
/// Bytes that are read at each end of a larger file.
const END: u64 = 1 << 20;

/// The mode of a regular file.
pub(super) const FILE: u32 = 0o100_644;
/// The mode of an executable file.
pub(super) const PROGRAM: u32 = 0o100_755;
/// The mode of a symbolic link.
pub(super) const LINK: u32 = 0o120_000;
/// The mode of a submodule.
pub(super) const REPOSITORY: u32 = 0o160_000;

/// The kind and content of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    /// One of the modes above.
    pub(super) mode: u32,
    /// Git's object name of the content.
    pub(super) id: Arc<[u8]>,
}

/// Git's hash algorithm for object names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ObjectFormat {
    /// The format of most repositories.
    Sha1,
    /// The format of some newer repositories, and of projects without git.
    #[default]
    Sha256,
}

/// A cache of the identities of files.
#[derive(Debug, Default)]
pub(super) struct IdentityCache {
    pub(super) format: ObjectFormat,
    /// The files that have not changed since they were read.
    known: HashMap<PathBuf, (FileStamp, Identity)>,
    /// The files that the current snapshot has requested.
    asked: HashMap<PathBuf, (FileStamp, Identity)>,
}

impl IdentityCache {
    pub(super) fn new(format: ObjectFormat) -> Self {
        Self { format, ..Self::default() }
    }

    /// Returns the identity of the file `full`, which is `path` in the project; `None` for folders,
    /// sockets, pipes and devices, which have no content.
    pub(super) fn of(&mut self, full: &Path, path: &Path) -> io::Result<Option<Identity>> {
        let now = SystemTime::now();
        let metadata = fs::symlink_metadata(full)?;
        let stamp = FileStamp::of(&metadata);
        let (stamp, identity) = match self.known.get(path) {
            Some((before, identity)) if *before == stamp && before.is_settled(now) => {
                (stamp, identity.clone())
            }
            Some(_) | None => match read(full, &metadata, self.format)? {
                Some(read) => read,
                None => return Ok(None),
            },
        };
        if stamp.is_settled(now) {
            self.asked.insert(path.to_owned(), (stamp, identity.clone()));
        }
        Ok(Some(identity))
    }

    /// Ends a snapshot: files that it did not request no longer exist and are forgotten.
    pub(super) fn settle(&mut self) {
        self.known = std::mem::take(&mut self.asked);
    }
}

/// Identifies a version of a file without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileStamp {
    inode: u64,
    size: u64,
    mode: u32,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileStamp {
    fn of(metadata: &Metadata) -> Self {
        Self {
            inode: metadata.ino(),
            size: metadata.size(),
            mode: metadata.mode(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    fn is_settled(&self, now: SystemTime) -> bool {
        let now = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        let (seconds, nanos) = self.changed.max(self.modified);
        let (Ok(seconds), Ok(nanos)) = (u64::try_from(seconds), u32::try_from(nanos)) else {
            return false;
        };
        Duration::new(seconds, nanos) + MIN_FILE_AGE < now
    }
}

fn read(
    full: &Path,
    metadata: &Metadata,
    format: ObjectFormat,
) -> io::Result<Option<(FileStamp, Identity)>> {
    if metadata.is_symlink() {
        let target = fs::read_link(full)?;
        let target = target.as_os_str().as_bytes();
        let mut hasher = Hasher::new(format, target.len() as u64);
        hasher.update(target);
        let identity = Identity { mode: LINK, id: hasher.finish() };
        return Ok(Some((FileStamp::of(metadata), identity)));
    }
    if !metadata.is_file() {
        return Ok(None);
    }
    // It may have become a pipe since its metadata was read.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::open(full, flags, Mode::empty())?);
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Ok(None);
    }
    let mode = if metadata.mode() & 0o100 == 0 { FILE } else { PROGRAM };
    let stamp = FileStamp::of(&metadata);
    let mut hasher = Hasher::new(format, metadata.size());
    if metadata.size() > WHOLE {
        let FileStamp { modified, changed, .. } = stamp;
        hasher.update(format!("{modified:?} {changed:?}").as_bytes());
        hasher.read((&mut file).take(END))?;
        file.seek(SeekFrom::End(-(END.cast_signed())))?;
    }
    // Reads no further than the size at opening: a program that keeps writing must not block this.
    hasher.read(file.take(metadata.size().min(WHOLE)))?;
    Ok(Some((stamp, Identity { mode, id: hasher.finish() })))
}

/// Whether a content matches git's name for it.
pub(super) fn is_named(content: &[u8], name: &str) -> bool {
    let format = if name.len() == 64 { ObjectFormat::Sha256 } else { ObjectFormat::Sha1 };
    let mut hasher = Hasher::new(format, content.len() as u64);
    hasher.update(content);
    hex(&hasher.finish()) == name
}

/// Computes git's name of a content.
struct Hasher(Context);

impl Hasher {
    fn new(format: ObjectFormat, length: u64) -> Self {
        let mut context = Context::new(match format {
            // Most repositories use SHA-1 for names. Nothing here relies on its security.
            ObjectFormat::Sha1 => &SHA1_FOR_LEGACY_USE_ONLY,
            ObjectFormat::Sha256 => &SHA256,
        });
        context.update(format!("blob {length}\0").as_bytes());
        Self(context)
    }

    fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn read(&mut self, mut from: impl Read) -> io::Result<()> {
        let mut buffer = vec![0; CHUNK];
        loop {
            match from.read(&mut buffer)? {
                0 => return Ok(()),
                read => self.update(&buffer[..read]),
            }
        }
    }

    fn finish(self) -> Arc<[u8]> {
        Arc::from(self.0.finish().as_ref())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;
    use crate::hex::hex;

    #[test]
    fn contents_are_named_as_git_names_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "hello\n").unwrap();
        let named = |format| {
            let mut identities = IdentityCache::new(format);
            hex(&identities.of(&path, Path::new("a")).unwrap().unwrap().id)
        };
        assert_eq!(named(ObjectFormat::Sha1), "ce013625030ba8dba906f756967f9e9ca394464a");
        assert_eq!(
            named(ObjectFormat::Sha256),
            "2cf8d83d9ee29543b34a87727421fdecb7e3f3a183d337639025de576db9ebb4"
        );
    }

    #[test]
    fn a_huge_file_is_identified_by_its_ends_and_times() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("huge");
        // A sparse file: reading all of it would take hours.
        let mut file = File::create(&path).unwrap();
        file.set_len(1 << 42).unwrap();
        let mut names = Vec::new();
        for place in [SeekFrom::Start(3), SeekFrom::End(-3), SeekFrom::Start(1 << 40)] {
            file.seek(place).unwrap();
            file.write_all(b"x").unwrap();
            let name = IdentityCache::default().of(&path, Path::new("huge")).unwrap().unwrap().id;
            assert!(!names.contains(&name), "{place:?}");
            names.push(name);
            file.set_modified(UNIX_EPOCH + Duration::from_secs(names.len() as u64)).unwrap();
        }
    }

    #[test]
    fn a_content_is_checked_against_its_hash() {
        // The output of `printf 'hello\n' | git hash-object --stdin`.
        let name = "ce013625030ba8dba906f756967f9e9ca394464a";
        assert!(is_named(b"hello\n", name));
        assert!(!is_named(b"hullo\n", name));
    }
}
