//! Agent streams: the messages of agent programs, and how they are interpreted.
//!
//! Agent programs differ in their command line and in the lines they print, not in how a process is
//! run. These differences form a [`dialect`], which does no I/O.

pub mod dialect;
pub mod lines;
pub mod message;
pub mod news;
pub mod outcome;
pub mod output_masker;
pub mod transcript;
pub mod verdict;
pub mod version;
