//! What any agent can say, and what is made of it.
//!
//! What differs between agent programs is not how a process is run but its command line and its
//! lines: that is a [`dialect`], and it is pure.

pub mod decode;
pub mod dialect;
pub mod message;
pub mod outcome;
pub mod redacting_tee;
pub mod report;
pub mod transcript;
pub mod verdict;
pub mod version;
