//! A cache of the agent programs' answers to `--version`, so that each file is asked once.
//!
//! The cache is optional: if its file or folder cannot be used, the program is asked again.

use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use nightwright_core::stream::version::Version;
use serde::{Deserialize, Serialize};

use crate::files;

/// The version of the file format; other versions are ignored.
const FORMAT: u32 = 1;
/// Maximum number of entries; the newest are kept.
const MAX_ENTRIES: usize = 16;
/// Maximum bytes that are read.
const MAX_FILE: u64 = 64 << 10;
/// Maximum age of an entry. A launcher stays the same when the program behind it is updated, so no
/// entry is valid forever.
const MAX_AGE: SignedDuration = SignedDuration::from_hours(24);

/// The versions of agent programs, stored in a file.
#[derive(Clone, Debug)]
pub struct VersionCache {
    file: PathBuf,
}

/// Identifies a version of a program file without running it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramStamp {
    path: String,
    size: u64,
    modified: (i64, i64),
    inode: u64,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct VersionCacheFile {
    format: u32,
    entries: Vec<CachedVersion>,
}

#[derive(Debug, Serialize, Deserialize)]
struct CachedVersion {
    #[serde(flatten)]
    stamp: ProgramStamp,
    version: String,
    asked: Timestamp,
}

impl ProgramStamp {
    /// Returns the stamp of the file, following links; `None` if it cannot be read.
    pub fn of(program: &Path) -> Option<Self> {
        let facts = fs::metadata(program).ok()?;
        Some(Self {
            path: program.to_str()?.to_owned(),
            size: facts.size(),
            modified: (facts.mtime(), facts.mtime_nsec()),
            inode: facts.ino(),
        })
    }
}

impl VersionCache {
    /// Returns the user's cache according to the environment; `None` if there is no place for one.
    pub fn of_user(variable: impl Fn(&'static str) -> Option<OsString>) -> Option<Self> {
        let absolute = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let caches = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
        Some(Self { file: caches?.join("nightwright/agents.json") })
    }

    /// Returns the version of this exact file, if the entry is recent enough.
    pub(super) fn look_up(&self, stamp: &ProgramStamp, now: Timestamp) -> Option<Version> {
        let kept = self.read()?;
        let entry = kept.entries.iter().find(|entry| entry.stamp == *stamp && entry.is_good(now));
        Version::parse(&entry?.version)
    }

    /// Stores an answer, if possible.
    pub(super) fn keep(&self, stamp: ProgramStamp, version: Version, now: Timestamp) {
        let mut kept = self.read().unwrap_or_default();
        kept.format = FORMAT;
        kept.entries.retain(|entry| entry.stamp.path != stamp.path && entry.is_good(now));
        kept.entries.insert(0, CachedVersion { stamp, version: version.to_string(), asked: now });
        kept.entries.truncate(MAX_ENTRIES);
        // On a failure, the program is asked again next time.
        let _ = self.write(&kept);
    }

    fn read(&self) -> Option<VersionCacheFile> {
        let mut text = Vec::new();
        files::open_regular(&self.file).ok()?.take(MAX_FILE).read_to_end(&mut text).ok()?;
        let kept: VersionCacheFile = serde_json::from_slice(&text).ok()?;
        (kept.format == FORMAT).then_some(kept)
    }

    /// Replaces the file atomically: other processes may read it at the same time.
    fn write(&self, kept: &VersionCacheFile) -> io::Result<()> {
        let folder = self.file.parent().unwrap_or(Path::new("/"));
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(&serde_json::to_vec(kept)?)?;
        file.persist(&self.file)?;
        Ok(())
    }
}

impl CachedVersion {
    /// Whether the entry is neither too old nor from the future.
    fn is_good(&self, now: Timestamp) -> bool {
        let age = now.duration_since(self.asked);
        !age.is_negative() && age <= MAX_AGE
    }
}
