//! Children: the only place that starts, signals and buries processes.
//!
//! Every program we start stands below a [guard] of its own, which knows everything that
//! the program starts, however that hides, and ends it with the program, at our request, or when
//! we are gone. The guard of a hook spares what the hook put into a session of its own. Four kinds
//! have none: one talks to a person, on the user's own [terminal]; one only reads, and is
//! asked for what it prints; one is our own binary, [`WatchedProgram`] by the self-test, which
//! is after what its guards do without us; and one is our own binary once more, which
//! [departs](start_detached()) to go on without the terminal.
//!
//! ```text
//!   spawn ──▶ running ──▶ the program died ──▶ everything is gone
//!                │  terminate: SIGTERM, grace, SIGKILL   ▲
//!                └──kill, drop: SIGKILL, until ──────────┘
//! ```
//!
//! We signal only what we started: a guard signals only its own descendants, each through a handle
//! that was checked against the time of its start.

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
mod orphans;
mod output_tail;
pub mod process_table;
mod stale_cgroups;
pub mod terminal;
pub mod tree_lock;
mod watched;

pub use captured::{CapturedCommand, CapturedEnd, CapturedOutput, run_captured};
pub use child::{Child, Exit, GRACE, Launch, spawn, spawn_hook};
pub use command::{
    CommandEnd, FinishedCommand, OUTPUT_MAX, StopHandle, read_some, run_and_log, run_to_end, shell,
};
pub use command_log::CommandLog;
pub use containment::{Containment, ContainmentLevel, groups_folder};
pub use descriptors::set_cloexec_on_inherited_fds;
pub use detach::{DetachOutcome, DetachPipe, start_detached};
pub use hook_process::HookProcess;
pub use orphans::{MARK, Survivors, become_subreaper, end_guards, guards, sweep};
pub use output_tail::OutputTail;
pub use stale_cgroups::{KilledProcess, kill_stale_cgroups};
pub use watched::{
    ProcessFamily, WatchedCommand, WatchedProgram, can_be_watched, live_descendants,
};

/// The pipes of a child.
pub use tokio::net::unix::pipe::Sender as Stdin;
pub use tokio::process::{ChildStderr as Stderr, ChildStdout as Stdout};
