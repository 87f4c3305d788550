//! The project as legwork sees it: one hash over everything that counts as work.
//!
//! Without git's help this is a walk that honours ignore files. Paths, modes and contents count;
//! what iterations leave for each other (the notes) and legwork's own folder don't.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ignore::WalkBuilder;
use legwork_core::units::Fingerprint;
use rustix::fs::{Mode, OFlags};
use sha2::{Digest, Sha256};

use crate::hex::hex;

mod branch;
mod disk;
mod notes;

pub use branch::{Branches, branches};
pub use disk::space;
pub use notes::{NotesError, read_notes};

/// A file whose last change is younger than this when it is read may change again without its
/// times showing it: its hash is not kept.
const SETTLED: Duration = Duration::from_millis(100);
/// One read.
const CHUNK: usize = 64 << 10;

type Hash = [u8; 32];

/// A project folder.
#[derive(Debug)]
pub struct Workspace {
    root: PathBuf,
    left_out: Vec<PathBuf>,
    /// What counts although it lies in our own folder.
    counted: Vec<PathBuf>,
    /// Hashes of files that have not changed since they were read.
    known: HashMap<PathBuf, (Stamp, Hash)>,
}

/// A state of a project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    files: BTreeMap<PathBuf, Hash>,
    /// What could not be read.
    pub unreadable: Vec<String>,
}

/// What tells a file apart from its earlier self without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    size: u64,
    mode: u32,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
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
        Duration::new(seconds, nanos) + SETTLED < now
    }
}

impl Workspace {
    /// The project below `root`. Paths in `left_out` are relative to it.
    pub fn new(root: &Path, left_out: Vec<PathBuf>) -> Self {
        Self { root: root.to_owned(), left_out, counted: Vec::new(), known: HashMap::new() }
    }

    /// The same with files and folders, relative to the root, that count although they lie in our
    /// own folder: what the agent leaves there is work too.
    #[must_use]
    pub fn counting(self, counted: Vec<PathBuf>) -> Self {
        Self { counted, ..self }
    }

    /// The project as it is now.
    pub fn snapshot(&mut self) -> Snapshot {
        let mut snapshot = Snapshot::default();
        let mut known = HashMap::with_capacity(self.known.len());
        let now = SystemTime::now();
        for entry in self.walk().chain(self.counted()) {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    snapshot.unreadable.push(error.to_string());
                    continue;
                }
            };
            let Ok(path) = entry.path().strip_prefix(&self.root) else {
                continue;
            };
            let Some(kind) = entry.file_type() else {
                continue;
            };
            if kind.is_dir() || self.left_out.iter().any(|out| path.starts_with(out)) {
                continue;
            }
            match self.hash(entry.path(), path, now) {
                Ok(Some((stamp, hash))) => {
                    if stamp.is_settled(now) {
                        known.insert(path.to_owned(), (stamp, hash));
                    }
                    snapshot.files.insert(path.to_owned(), hash);
                }
                Ok(None) => {}
                // Gone between the listing and the reading: then it is not there.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    snapshot.unreadable.push(format!("{}: {error}", path.display()));
                }
            }
        }
        self.known = known;
        snapshot
    }

    fn walk(&self) -> ignore::Walk {
        WalkBuilder::new(&self.root)
            .hidden(false)
            .require_git(false)
            // What lies above the project, and what the user ignores everywhere, says nothing
            // about it: work must never be invisible.
            .parents(false)
            .git_global(false)
            .filter_entry(|entry| entry.file_name() != ".git" && entry.file_name() != ".legwork")
            .build()
    }

    /// What is in our own folder and counts, whatever ignore files say of it.
    fn counted(&self) -> impl Iterator<Item = Result<ignore::DirEntry, ignore::Error>> {
        let there = |path: &PathBuf| {
            let path = self.root.join(path);
            fs::symlink_metadata(&path).is_ok().then_some(path)
        };
        let places: Vec<_> = self.counted.iter().filter_map(there).collect();
        places.into_iter().flat_map(|place| {
            let mut walk = WalkBuilder::new(place);
            walk.standard_filters(false).build()
        })
    }

    /// The hash of one file: kind, mode and content. `None` for what has no content: sockets,
    /// pipes, devices.
    fn hash(&self, full: &Path, path: &Path, now: SystemTime) -> io::Result<Option<(Stamp, Hash)>> {
        let metadata = fs::symlink_metadata(full)?;
        let stamp = Stamp::of(&metadata);
        if let Some((before, hash)) = self.known.get(path)
            && *before == stamp
            && before.is_settled(now)
        {
            return Ok(Some((stamp, *hash)));
        }
        let mut hasher = Sha256::new();
        if metadata.is_symlink() {
            hasher.update(b"link\0");
            hasher.update(fs::read_link(full)?.as_os_str().as_bytes());
        } else if metadata.is_file() {
            let executable = metadata.mode() & 0o111 != 0;
            hasher.update(if executable { b"exec\0".as_slice() } else { b"file\0" });
            // It may have become a pipe since we asked what it is.
            let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let mut file = File::from(rustix::fs::open(full, flags, Mode::empty())?);
            let mut buffer = vec![0; CHUNK];
            loop {
                match file.read(&mut buffer)? {
                    0 => break,
                    read => hasher.update(&buffer[..read]),
                }
            }
        } else {
            return Ok(None);
        }
        Ok(Some((stamp, hasher.finalize().into())))
    }
}

impl Snapshot {
    /// One hash over all of it.
    pub fn fingerprint(&self) -> Fingerprint {
        let mut hasher = Sha256::new();
        for (path, hash) in &self.files {
            hasher.update(path.as_os_str().as_bytes());
            hasher.update([0]);
            hasher.update(hash);
        }
        let hash: Hash = hasher.finalize().into();
        Fingerprint(hex(&hash[..16]))
    }

    /// How many files were added, changed or removed since `before`.
    pub fn changed_since(&self, before: &Self) -> u32 {
        let changed =
            self.files.iter().filter(|(path, hash)| before.files.get(*path) != Some(hash));
        let removed = before.files.keys().filter(|path| !self.files.contains_key(*path));
        u32::try_from(changed.count() + removed.count()).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests;
