//! One integration binary, one file a feature.

#![expect(clippy::unwrap_used, reason = "a test that can't go on fails there and then")]

mod agent_command;
mod agent_program;
mod attempt;
#[cfg(target_os = "linux")]
mod awake;
mod baseline;
mod branches;
mod cli;
mod config;
mod containment;
#[cfg(target_os = "linux")]
mod detach;
mod doctor;
mod environment;
mod error_hints;
mod evidence;
mod fake_agent;
mod git;
mod harness;
mod help;
mod hints;
mod hooks;
mod include_messages;
mod init;
mod inspect;
mod journal;
mod kill;
mod lock;
mod locks;
mod log;
mod looking_back;
#[cfg(target_os = "linux")]
mod memory;
mod messages_api;
mod modes;
mod not_work;
mod notify;
mod panel;
mod permissions;
mod principles;
mod process;
mod projects;
mod prompts;
mod pty;
mod publish;
mod readme;
mod real;
mod recordings_shown;
mod rehearsal;
mod report;
mod report_page;
mod resume;
mod resume_changes;
mod root;
mod secrets;
mod selftest;
mod service;
mod setup;
mod simulation;
mod stage;
mod status;
mod status_watch;
mod steering;
mod summaries;
mod supervisor;
mod tasks;
mod temp;
mod terminal;
mod trust;
mod unwatched;
mod validate;
mod verify;
