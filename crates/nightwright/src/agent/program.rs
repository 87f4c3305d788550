//! The agent program on this machine: where it is, which version it is, and whether that will do.
//!
//! ```text
//!   PATH ──▶ search ──▶ a file ──▶ cache, else ask it ──▶ a version ──▶ covered?
//!               └─────────────────────┴───────────────────────┴──▶ Trouble, with what to do
//! ```
//!
//! Everything that can be wrong with it is found out before anything starts, and each has its own
//! words: people meet these messages in their first minute.

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

/// How long the program may take to say its version; it takes 15 ms.
pub const ANSWER_TIME: Duration = Duration::from_secs(10);

/// What to look for, and how.
pub struct ProgramQuery<'a> {
    /// The name of the program.
    pub name: &'a str,
    /// Where to look: what `PATH` says.
    pub path: Option<&'a OsStr>,
    /// The versions that we know.
    pub covered: SupportedVersions,
    /// What it finds in its environment when it is asked.
    pub environment: Vec<(OsString, OsString)>,
    /// What keeps it while it is asked.
    pub containment: Containment,
    /// How long it may take to answer.
    pub timeout: Duration,
    /// Where answers are kept, if anywhere.
    pub cache: Option<VersionCache>,
    /// Whether an earlier answer will do.
    pub freshness: Freshness,
}

impl fmt::Debug for ProgramQuery<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the environment: there are secrets in it.
        f.debug_struct("Wanted")
            .field("name", &self.name)
            .field("path", &self.path)
            .field("covered", &self.covered)
            .finish_non_exhaustive()
    }
}

/// Whether an earlier answer will do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// Yes, if the file is still the same.
    Kept,
    /// No: it is asked, and the answer is kept for others.
    Asked,
}

/// A program that can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundProgram {
    /// Where it is, as found on the path. Links are not followed: some programs look at the name
    /// they are called by.
    pub path: PathBuf,
    /// Its version.
    pub version: Version,
    /// Whether that is a version we know.
    pub support: VersionSupport,
}

/// Finds the program, asks for its version, and judges it.
pub async fn find(wanted: &ProgramQuery<'_>) -> Result<FoundProgram, ProgramError> {
    let path = locate(wanted.name, wanted.path).map_err(|trouble| match trouble {
        ProgramError::NotFound { .. } => ProgramError::Missing,
        other => other,
    })?;
    let mut version = version(&path, wanted).await?;
    if wanted.covered.support(version) == VersionSupport::TooOld
        && wanted.freshness == Freshness::Kept
    {
        // It may have been updated behind a file that stays the same.
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
