//! Answers of agent programs to `--version`, kept so that each file is asked once.
//!
//! Nothing depends on it: whatever is wrong with the file or its folder, the program is asked
//! again, and that is all that is lost.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use nightwright_core::stream::version::Version;
use serde::{Deserialize, Serialize};

/// The version of the format; what has another one is not read.
const FORMAT: u32 = 1;
/// Answers that are kept, the newest.
const ENTRIES_MAX: usize = 16;
/// The most that is read.
const FILE_MAX: u64 = 64 << 10;
/// A small program that starts another one stays the same when the other is updated, so that no
/// answer is believed for longer than this.
const AGE_MAX: SignedDuration = SignedDuration::from_hours(24);

/// The file with the answers.
#[derive(Clone, Debug)]
pub struct VersionCache {
    file: PathBuf,
}

/// What tells a program apart from its earlier self without starting it.
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
    /// Of the file that is meant, links followed; `None` if it can't be told.
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
    /// The user's, by the environment; `None` if there is no place for one.
    pub fn of_user(variable: impl Fn(&'static str) -> Option<OsString>) -> Option<Self> {
        let absolute = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let caches = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
        Some(Self { file: caches?.join("nightwright/agents.json") })
    }

    /// What this very file answered not long ago.
    pub(super) fn look_up(&self, stamp: &ProgramStamp, now: Timestamp) -> Option<Version> {
        let kept = self.read()?;
        let entry = kept.entries.iter().find(|entry| entry.stamp == *stamp && entry.is_good(now));
        Version::parse(&entry?.version)
    }

    /// Keeps an answer, if that can be done.
    pub(super) fn keep(&self, stamp: ProgramStamp, version: Version, now: Timestamp) {
        let mut kept = self.read().unwrap_or_default();
        kept.format = FORMAT;
        kept.entries.retain(|entry| entry.stamp.path != stamp.path && entry.is_good(now));
        kept.entries.insert(0, CachedVersion { stamp, version: version.to_string(), asked: now });
        kept.entries.truncate(ENTRIES_MAX);
        // What can't be kept is asked for again.
        let _ = self.write(&kept);
    }

    fn read(&self) -> Option<VersionCacheFile> {
        // A pipe would be waited for.
        if !fs::metadata(&self.file).ok()?.is_file() {
            return None;
        }
        let mut text = Vec::new();
        File::open(&self.file).ok()?.take(FILE_MAX).read_to_end(&mut text).ok()?;
        let kept: VersionCacheFile = serde_json::from_slice(&text).ok()?;
        (kept.format == FORMAT).then_some(kept)
    }

    /// Replaces the file as a whole: others read it at the same time.
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
    /// Whether it is neither too old nor from the future.
    fn is_good(&self, now: Timestamp) -> bool {
        let age = now.duration_since(self.asked);
        !age.is_negative() && age <= AGE_MAX
    }
}
