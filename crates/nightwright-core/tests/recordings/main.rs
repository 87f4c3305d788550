//! What the real program printed, read as an attempt would read it.
//!
//! The recordings are in `tests/fixtures/claude`, one folder a case: standard output as it came,
//! standard error where there was any, and in `meta.json` how the program was called, when each
//! line came and how it ended. [`table`] says what is to come of each, [`stories`] what they tell
//! on the way, [`variations`] what must not depend on how a recording happens to be written, and
//! [`endings`] what holds for endings that nobody has recorded.
//!
//! Left out are the runs that are no stream of ours: `--output-format text` (two) and
//! `json --verbose` (one array of all events), for which we never ask, and a prompt as an argument
//! of 131,072 bytes, of which no process came.

#![expect(clippy::disallowed_methods, reason = "a test has to read its recordings")]

mod endings;
mod noticed;
mod reading;
mod stories;
mod table;
mod variations;
