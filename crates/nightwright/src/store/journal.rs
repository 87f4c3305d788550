//! The journal of a run: writing, reading and following its events on disk.
//!
//! # Theory of operation
//!
//! The state of a run is the fold of its events, and its events are the lines of one file,
//! `journal.jsonl`, which only grows. The supervisor *appends* the events of a step in one write
//! and *syncs* before it does anything irreversible. This gives three guarantees:
//!
//! - **Acknowledged events are durable.** An event is acknowledged when a sync after it succeeds.
//!   Later crashes and errors neither lose nor change it. When an append fails or is incomplete, the
//!   file is truncated to the last complete event. When a sync fails, nothing is ever acknowledged
//!   again, because it is unknown which bytes the system has discarded.
//! - **Every crash leaves a valid prefix.** Only the end of the file can be incomplete. Opening the
//!   journal removes and reports it. Damage before the end is an error that names the line.
//! - **Only the writer's bytes count.** Before and after each append, the path must name the file that is
//!   open, with the length that was written. Followers in the same process read up to that length.
//!   At the end, the hash of the file is compared with that of everything written.
//! - **The end can be recorded.** Space for the last events is reserved when the run starts, so that
//!   a run on a full disk still records its outcome.
//!
//! ```text
//!              append                    append fails                  sync fails
//!   ┌──────┐ ──────────▶ (unsynced) ───────────────────▶ ┌──────┐ ───────────────▶ ┌──────┐
//!   │ good │ ◀────────── sync                            │ full │                  │ lost │
//!   └──────┘                                             └──────┘                  └──────┘
//!                                          `append_last` only, into     no more appends
//!                                          the reserved space
//! ```
//!
//! [`nightwright_core::journal`] defines the format of a line. [`layer`] is the file interface of a
//! journal. [`writer`] and [`reader`] are its two ends, and [`tail`] follows a journal that another
//! process writes. [`crate::store::run_dir`] knows the paths, [`crate::store::lock`] the owner, and
//! [`crate::store::retention`] deletes old files.

pub mod error;
pub mod layer;
pub(crate) mod private;
pub mod reader;
pub mod tail;
pub mod writer;

pub use error::{JournalChange, JournalError, RecordingFailure, RecordingStep, StoreFileError};
pub(super) use layer::RESERVE_EXTENSION;
pub use layer::{DiskFile, FileFacts, FileLayer, NamedFile};
pub use private::create_file;
pub use reader::{Journal, create, first, open_for_append, read, resume, walk};
pub use tail::{JournalTail, WrittenLength};
pub use writer::JournalWriter;
