//! nightwright runs a coding agent unattended in a loop until the work is done.

#[cfg(not(target_os = "linux"))]
compile_error!("nightwright runs on Linux and WSL2");

pub mod agent;
pub mod app;
pub mod clock;
pub mod commands;
pub mod config;
mod console;
pub mod error;
pub mod files;
mod hex;
pub mod hooks;
pub mod init;
mod name;
pub mod output;
mod paste;
mod random;
pub mod rehearsal;
pub mod runtime;
pub mod sandbox;
pub mod secrets;
pub mod signals;
pub mod store;
pub mod task;
pub mod trust;
pub mod workspace;

pub use nightwright_process as process;
