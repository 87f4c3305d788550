//! Recordings of the real program, read as an attempt would read them.
//!
//! The recordings are in `tests/fixtures/claude`, one folder per case. A folder contains the
//! standard output, the standard error if there was any, and `meta.json`: the call of the program,
//! the time of each line and the exit. [`table`] lists the expected result of each recording, and
//! [`stories`] the news on the way. [`variations`] changes details that must not matter, and
//! [`outcomes`] tests outcomes without a recording.
//!
//! Some recordings are not included because nightwright never uses their format: `--output-format
//! text` (two) and `json --verbose` (one array of all events). A prompt argument of 131,072 bytes
//! is missing too, because the process could not start.

#![expect(clippy::disallowed_methods, reason = "a test has to read its recordings")]

mod noticed;
mod outcomes;
mod reading;
mod stories;
mod table;
mod variations;
