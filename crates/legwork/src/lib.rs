//! legwork runs a coding agent unattended until the work is really done.

pub mod agent;
pub mod ask;
mod chance;
pub mod checks;
pub mod cli;
pub mod clock;
pub mod config;
pub mod control;
pub mod error;
pub mod evidence;
pub mod files;
pub mod hands;
mod hex;
pub mod init;
pub mod journal;
pub mod modes;
mod nearest;
pub mod process;
pub mod publish;
pub mod rehearsal;
pub mod report;
pub mod signals;
pub mod stop_file;
pub mod supervisor;
pub mod task;
pub mod trust;
pub mod workspace;
