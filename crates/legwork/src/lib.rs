//! legwork runs a coding agent unattended until the work is really done.

pub mod agent;
mod chance;
pub mod checks;
pub mod cli;
pub mod clock;
pub mod control;
pub mod error;
pub mod hands;
mod hex;
pub mod journal;
pub mod process;
pub mod publish;
pub mod rehearsal;
pub mod report;
pub mod signals;
pub mod stop_file;
pub mod supervisor;
pub mod workspace;
