//! Child processes: the only crate that starts, signals and reaps processes.
//!
//! Each program runs below its own [guard], which knows all descendants of the program, even if
//! they daemonize. The guard kills them when the program exits, on request, or when nightwright has
//! exited. The guard of a hook spares processes that have their own session. Three kinds of program
//! have no guard:
//!
//! - Programs that talk to a person, on the user's [terminal].
//! - [`WatchedProgram`]s: nightwright itself, started by the self-test to see what its guards do.
//! - [Detached runs](start_detached()): nightwright itself, which continues without the terminal.
//!
//! ```text
//!   spawn ──▶ running ──▶ the program died ──▶ everything is gone
//!                │  terminate: SIGTERM, grace, SIGKILL   ▲
//!                └──kill, drop: SIGKILL, until ──────────┘
//! ```
//!
//! Only processes started here are signalled: a guard signals only its own descendants, each
//! through a handle that was checked against its start time.

pub mod blocking;
mod captured;
mod child;
mod command;
mod command_log;
mod containment;
mod descriptors;
mod detach;
pub mod guard;
mod hook_process;
pub mod inside;
pub mod network;
mod orphans;
mod output_tail;
pub mod own_arguments;
pub mod process_table;
mod stale_cgroups;
pub mod terminal;
pub mod tree_lock;
mod watched;

pub use captured::{
    CapturedCommand, CapturedEnd, CapturedOutput, guard_captured_commands, run_captured,
};
pub use child::{Child, Exit, GRACE, Launch, spawn, spawn_hook};
pub use command::{
    CommandEnd, FinishedCommand, MAX_OUTPUT, StopHandle, read_some, run_and_log, run_to_end, shell,
};
pub use command_log::CommandLog;
pub use containment::{Containment, ContainmentLevel, groups_folder, own_program};
pub use descriptors::set_cloexec_on_inherited_fds;
pub use detach::{DetachOutcome, DetachPipe, start_detached};
pub use guard::wire::SigtermScope;
pub use hook_process::HookProcess;
pub use orphans::{MARK, Survivors, become_subreaper, end_guards, guards, sweep};
pub use output_tail::OutputTail;
pub use stale_cgroups::{KilledProcess, kill_stale_cgroups};
pub use watched::{
    ProcessFamily, WatchedCommand, WatchedProgram, can_be_watched, live_descendants,
};

/// The pipes of a child process.
pub use tokio::net::unix::pipe::Sender as Stdin;
pub use tokio::process::{ChildStderr as Stderr, ChildStdout as Stdout};
