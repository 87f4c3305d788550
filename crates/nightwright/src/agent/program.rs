//! The agent program on this machine: its location, its version, and whether it is supported.
//!
//! ```text
//!   PATH ──▶ search ──▶ a file ──▶ cache, else ask it ──▶ a version ──▶ covered?
//!               └─────────────────────┴───────────────────────┴──▶ ProgramError, with a hint
//! ```
//!
//! Every problem is detected before anything starts, and each has its own message: new users often
//! see these messages first.

mod ask;
pub mod cache;
mod error;
mod search;

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nightwright_core::stream::version::{SupportedVersions, Version, VersionSupport};

use self::cache::{ProgramStamp, VersionCache};
pub use self::error::ProgramError;
pub use self::search::locate;
use crate::process::Containment;

/// How long the program may take to print its version. It usually takes 15 ms.
pub const ANSWER_TIME: Duration = Duration::from_secs(10);

/// The program to find, and how to ask for its version.
pub struct ProgramQuery<'a> {
    pub name: &'a str,
    /// The value of `PATH`.
    pub path: Option<&'a OsStr>,
    /// The versions that nightwright supports.
    pub covered: SupportedVersions,
    /// The environment for `--version`.
    pub environment: Vec<(OsString, OsString)>,
    /// How the process is contained.
    pub containment: Containment,
    /// The maximum time to wait for the version.
    pub timeout: Duration,
    /// The cache of versions, if any.
    pub cache: Option<VersionCache>,
    /// Whether a cached version is acceptable.
    pub freshness: Freshness,
}

impl fmt::Debug for ProgramQuery<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The environment is left out because it contains secrets.
        f.debug_struct("ProgramQuery")
            .field("name", &self.name)
            .field("path", &self.path)
            .field("covered", &self.covered)
            .finish_non_exhaustive()
    }
}

/// Whether a cached version is acceptable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// Yes, if the file is unchanged.
    Kept,
    /// No: the program is asked, and its answer is cached.
    Asked,
}

/// A program that can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundProgram {
    /// The program's path, as found in `PATH`. Links are not followed, because some programs depend
    /// on the name they are called by.
    pub path: PathBuf,
    pub version: Version,
    /// Whether nightwright supports this version.
    pub support: VersionSupport,
}

/// Finds the program, asks for its version and checks that it is supported.
pub async fn find(wanted: &ProgramQuery<'_>) -> Result<FoundProgram, ProgramError> {
    let path = locate(wanted.name, wanted.path).map_err(|trouble| match trouble {
        ProgramError::NotFound { .. } => ProgramError::Missing,
        other => other,
    })?;
    let mut version = version(&path, wanted).await?;
    if wanted.covered.support(version) == VersionSupport::TooOld
        && wanted.freshness == Freshness::Kept
    {
        // The real program may have been updated behind a launcher that stays the same.
        version = ask::version(&path, wanted).await?;
    }
    match wanted.covered.support(version) {
        VersionSupport::TooOld => {
            let needed = wanted.covered.oldest;
            Err(ProgramError::TooOld { file: path, version, needed })
        }
        support @ (VersionSupport::Covered | VersionSupport::Newer) => {
            Ok(FoundProgram { path, version, support })
        }
    }
}

async fn version(path: &Path, wanted: &ProgramQuery<'_>) -> Result<Version, ProgramError> {
    let Some((cache, stamp)) = wanted.cache.as_ref().zip(ProgramStamp::of(path)) else {
        return ask::version(path, wanted).await;
    };
    let now = jiff::Timestamp::now();
    if wanted.freshness == Freshness::Kept
        && let Some(version) = cache.look_up(&stamp, now)
    {
        return Ok(version);
    }
    let version = ask::version(path, wanted).await?;
    cache.keep(stamp, version, now);
    Ok(version)
}
