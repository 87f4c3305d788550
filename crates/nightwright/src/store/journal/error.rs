//! Errors of the journal and of the files of a run.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nightwright_core::journal::{LineError, ScanError, ScanErrorKind, VERSION};
use nightwright_core::units::RunId;

/// An operation on a file or folder failed.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} `{}`", path.display())]
pub struct StoreFileError {
    /// The operation, as a verb phrase such as `open`.
    pub action: &'static str,
    pub path: PathBuf,
    pub source: io::Error,
}

impl StoreFileError {
    /// Returns a function for `map_err`.
    pub(crate) fn on(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self { action, path: path.to_owned(), source }
    }
}

/// A journal cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// A file operation failed.
    #[error(transparent)]
    File(#[from] StoreFileError),
    /// A recorded event is missing or unreadable.
    #[error("line {line} of `{}` is damaged", path.display())]
    Damaged {
        path: PathBuf,
        /// The line number, from 1.
        line: u64,
        #[source]
        why: ScanErrorKind,
    },
    /// The format is newer than this version of nightwright.
    #[error(
        "line {line} of `{}` has version {version}; this nightwright reads versions up to {VERSION}",
        path.display()
    )]
    Newer {
        path: PathBuf,
        /// The line number, from 1.
        line: u64,
        /// The version of the line's format.
        version: u64,
    },
    /// The event is unknown to this version of nightwright.
    #[error("line {line} of `{}` has an event unknown to this nightwright: `{name}`", path.display())]
    UnknownEvent {
        path: PathBuf,
        /// The line number, from 1.
        line: u64,
        name: String,
    },
    /// The journal belongs to another run.
    #[error("`{}` is the journal of the run {found}, not of {expected}", path.display())]
    OtherRun { path: PathBuf, expected: RunId, found: RunId },
    /// Lines that were read are gone: the writer removed an incomplete append.
    #[error("`{}` became shorter while nightwright read it", path.display())]
    CutBack { path: PathBuf },
    /// Another process changed the file while this process was writing it.
    #[error("another process changed the journal `{}`: {change}", path.display())]
    Changed { path: PathBuf, change: JournalChange },
    /// Events could not be recorded.
    #[error(transparent)]
    Failed(RecordingFailure),
    /// Events could not be recorded because of an earlier failure.
    #[error("recording stopped after an earlier failure")]
    Stopped(#[source] RecordingFailure),
}

impl JournalError {
    /// Returns the hint for this error, if any.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Newer { .. } | Self::UnknownEvent { .. } => {
                Some("update nightwright: a newer version recorded this run")
            }
            Self::File(_)
            | Self::Damaged { .. }
            | Self::OtherRun { .. }
            | Self::CutBack { .. }
            | Self::Changed { .. }
            | Self::Failed(_)
            | Self::Stopped(_) => None,
        }
    }

    /// Returns the error and its causes in one line, for the event that ends the run.
    pub fn reason(&self) -> String {
        let mut text = self.to_string();
        let mut cause = self.source();
        while let Some(error) = cause {
            text.push_str(": ");
            text.push_str(&error.to_string());
            cause = error.source();
        }
        text
    }

    pub(super) fn scan(path: &Path, error: ScanError) -> Self {
        let (path, line) = (path.to_owned(), error.line);
        match error.why {
            ScanErrorKind::Line(LineError::Newer { version }) => {
                Self::Newer { path, line, version }
            }
            ScanErrorKind::Line(LineError::UnknownEvent { name }) => {
                Self::UnknownEvent { path, line, name }
            }
            why @ (ScanErrorKind::Line(LineError::Damaged(_) | LineError::Malformed(_))
            | ScanErrorKind::Gap { .. }
            | ScanErrorKind::OtherRun { .. }
            | ScanErrorKind::TooLong) => Self::Damaged { path, line, why },
        }
    }
}

/// How a journal differs from what its writer wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JournalChange {
    /// Bytes were added or removed.
    #[error("{found} bytes instead of {expected}")]
    Length { expected: u64, found: u64 },
    /// The path names another file.
    #[error("it replaced the file")]
    Replaced,
    /// The path names nothing.
    #[error("it deleted the file")]
    Deleted,
    /// Recorded bytes were overwritten.
    #[error("it overwrote recorded events")]
    Contents,
}

/// The failure that ended recording. It is the cause of every later refusal.
#[derive(Clone, Debug, thiserror::Error)]
#[error("cannot {stage} `{}`", path.display())]
pub struct RecordingFailure {
    pub stage: RecordingStep,
    pub path: PathBuf,
    pub source: Arc<io::Error>,
}

/// The steps of recording that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordingStep {
    /// Writing events after the existing ones.
    Append,
    /// Flushing them to the disk.
    Sync,
    /// Removing a partly written append.
    CutBack,
    /// Updating the seal of the run.
    Seal,
    /// Comparing the file with what was written.
    Compare,
}

impl fmt::Display for RecordingStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Append => "append to",
            Self::Sync => "sync",
            Self::CutBack => "truncate",
            Self::Seal => "seal",
            Self::Compare => "trust",
        })
    }
}
