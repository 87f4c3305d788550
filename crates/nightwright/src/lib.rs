//! nightwright runs a coding agent unattended until the work is really done.

#[cfg(not(target_os = "linux"))]
compile_error!("nightwright runs on Linux and WSL2");

pub mod agent;
pub mod ask;
pub mod awake;
pub mod baselines;
mod chance;
pub mod checks;
pub mod cli;
pub mod clock;
pub mod config;
mod console_files;
pub mod control;
pub mod decisions;
pub mod error;
pub mod evidence;
pub mod files;
pub mod hands;
mod hex;
pub mod hooks;
pub mod init;
pub mod journal;
pub mod keys;
pub mod logs;
pub mod mentions;
pub mod modes;
mod nearest;
pub mod notify;
mod paste;
pub mod permissions;
pub mod principles;
pub mod process;
pub mod publish;
pub mod rehearsal;
pub mod report;
pub mod root;
pub mod secrets;
pub mod signals;
pub mod status_watch;
pub mod stop_file;
pub mod supervisor;
pub mod task;
pub mod temp;
pub mod trust;
pub mod workspace;
