//! The sandbox: what the agent's programs can see and change, as a list of mounts.
//!
//! ```text
//!   facts about this machine ─┐
//!   facts about the project ──┼──▶ MountPlan ──▶ the command line of bwrap
//!   settings ─────────────────┘        └───────▶ probes of the canary, and what they must find
//! ```
//!
//! This module decides; it touches no file. The shell collects the facts, prepares the mount points
//! that the plan names, and runs the command. The canary is a small program inside
//! the sandbox that tries what must be impossible, and what must work.

pub mod bwrap;
pub mod canary;
pub mod environment;
pub mod explain;
pub mod facts;
pub mod git_settings;
pub mod hints;
pub mod lists;
pub mod mounts;
pub mod network;
pub mod package_settings;
pub mod plan;
mod project;
#[cfg(test)]
mod tests;

/// The folder in a sandbox for files that nightwright shows to one program.
pub const SHOWN_FILES: &str = "/run/nightwright";

/// The variable that names the kind of sandbox to the programs inside.
pub const VARIABLE: &str = "NIGHTWRIGHT_INSIDE_SANDBOX";
