//! What can go wrong with a journal.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nightwright_core::journal::{LineError, ScanError, ScanErrorKind, VERSION};
use nightwright_core::units::RunId;

/// Something could not be done with a file or folder.
#[derive(Debug, thiserror::Error)]
#[error("can't {action} `{}`", path.display())]
pub struct StoreFileError {
    /// What.
    pub action: &'static str,
    /// With which.
    pub path: PathBuf,
    /// Why.
    pub source: io::Error,
}

impl StoreFileError {
    /// For `map_err`.
    pub(crate) fn on(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self { action, path: path.to_owned(), source }
    }
}

/// A journal can't be read or written.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The system says no.
    #[error(transparent)]
    File(#[from] StoreFileError),
    /// Something that was recorded is not there any more.
    #[error("line {line} of `{}` is damaged", path.display())]
    Damaged {
        /// The journal.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is wrong with it.
        #[source]
        why: ScanErrorKind,
    },
    /// The format is one that only a later nightwright knows.
    #[error(
        "line {line} of `{}` has version {version}, and this nightwright reads up to {VERSION}",
        path.display()
    )]
    Newer {
        /// The journal.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// Its version.
        version: u64,
    },
    /// The event is one that only a later nightwright knows.
    #[error("line {line} of `{}` has an event unknown to this nightwright: `{name}`", path.display())]
    UnknownEvent {
        /// The journal.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// The event's name.
        name: String,
    },
    /// The file is another run's.
    #[error("`{}` is the journal of the run {found}, not of {expected}", path.display())]
    OtherRun {
        /// The journal.
        path: PathBuf,
        /// Whose it should be.
        expected: RunId,
        /// Whose it is.
        found: RunId,
    },
    /// Lines that were read are not there any more: the writer took back what it could not finish.
    #[error("`{}` was cut back while it was being read", path.display())]
    CutBack {
        /// The journal.
        path: PathBuf,
    },
    /// Events could not be recorded.
    #[error(transparent)]
    Failed(RecordingFailure),
    /// Events could not be recorded because of an earlier failure.
    #[error("nothing more is recorded after a failure")]
    Stopped(#[source] RecordingFailure),
}

impl JournalError {
    /// What to do about it, where there is anything.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Newer { .. } | Self::UnknownEvent { .. } => {
                Some("update nightwright: the run was recorded by a newer one")
            }
            Self::File(_)
            | Self::Damaged { .. }
            | Self::OtherRun { .. }
            | Self::CutBack { .. }
            | Self::Failed(_)
            | Self::Stopped(_) => None,
        }
    }

    /// The error and its causes in one line, for the event that ends the run.
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

/// The failure that ended recording. It is kept, and every later refusal has it as its cause.
#[derive(Clone, Debug, thiserror::Error)]
#[error("can't {stage} `{}`", path.display())]
pub struct RecordingFailure {
    /// What failed.
    pub stage: RecordingStep,
    /// On which file.
    pub path: PathBuf,
    /// Why.
    pub source: Arc<io::Error>,
}

/// What can fail while recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordingStep {
    /// Writing events behind those that are there.
    Append,
    /// Getting them onto the disk.
    Sync,
    /// Taking back what was written of events that could not be written whole.
    CutBack,
}

impl fmt::Display for RecordingStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Append => "append to",
            Self::Sync => "sync",
            Self::CutBack => "cut back",
        })
    }
}
