//! One integration binary, one file a feature.

#![expect(clippy::unwrap_used, reason = "a test that can't go on fails there and then")]

mod agent_command;
mod agent_program;
mod attempt;
mod branches;
mod cli;
mod config;
mod containment;
mod doctor;
mod evidence;
mod fake_agent;
mod git;
mod harness;
mod help;
mod include_messages;
mod init;
mod inspect;
mod journal;
mod kill;
mod lock;
mod locks;
mod log;
#[cfg(target_os = "linux")]
mod memory;
mod messages_api;
mod modes;
mod panel;
mod principles;
mod process;
mod prompts;
mod pty;
mod publish;
mod real;
mod recordings_shown;
mod rehearsal;
mod report;
mod resume;
mod secrets;
mod selftest;
mod setup;
mod simulation;
mod stage;
mod status;
mod status_watch;
mod steering;
mod summaries;
mod supervisor;
mod tasks;
mod terminal;
mod trust;
mod unwatched;
mod validate;
mod verify;
