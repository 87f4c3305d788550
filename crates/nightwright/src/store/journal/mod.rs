//! The memory of a run: its folder, its journal, and the lock that keeps two processes apart.
//!
//! # Theory of operation
//!
//! The state of a run is the fold of its events, and its events are the lines of one file,
//! `journal.jsonl`, which only grows. The supervisor *appends* the events of a step in one write
//! and *syncs* before it does anything that can't be undone. Three promises rest on that:
//!
//! - **What was acknowledged stays.** An event is acknowledged when a sync after it succeeded. Later
//!   crashes and errors neither lose nor change it. When an append fails or stops half way, the
//!   file is cut back to the last whole event; when a sync fails, nothing is ever acknowledged
//!   again, because nobody knows which bytes the system has given up.
//! - **Every crash leaves a valid prefix.** Only the end of the file can be half written. It is cut
//!   off and reported on opening; anything wrong before it is an error that names the line.
//! - **The end can be told.** Space for the last events is set aside when the run begins, so that a
//!   full disk is an ending with a reason and not a silence.
//!
//! ```text
//!              append                    append fails                  sync fails
//!   ┌──────┐ ──────────▶ (unsynced) ───────────────────▶ ┌──────┐ ───────────────▶ ┌──────┐
//!   │ good │ ◀────────── sync                            │ full │                  │ lost │
//!   └──────┘                                             └──────┘                  └──────┘
//!                                          `append_last` only, from     nothing any more
//!                                          the space set aside
//! ```
//!
//! The format of a line is [`nightwright_core::journal`]'s. Here is what touches the disk: [`layer`]
//! is all that a journal asks of a file;
//! [`writer`] and [`reader`] are the two ends, [`tail`] follows a journal that another process
//! writes; [`crate::store::run_dir`] says where everything is, and [`crate::store::lock`] whose it is; [`crate::store::retention`] makes room.

pub mod error;
pub mod layer;
pub(crate) mod private;
pub mod reader;
pub mod tail;
pub mod writer;

pub use crate::store::lock::{Lock, LockError, LockHeld, LockOwner};
pub use crate::store::run_dir::{RunDir, RunDirError, attempt_label, call_label};
pub use error::{JournalError, RecordingFailure, RecordingStep, StoreFileError};
pub use layer::{DiskFile, FileLayer};
pub use private::create_file;
pub use reader::{Journal, create, first, open_for_append, read, resume, walk};
pub use tail::JournalTail;
pub use writer::JournalWriter;
