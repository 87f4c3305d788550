//! Children: the only place that starts, signals and buries processes.
//!
//! Every program we start stands below a [guard] of its own, which knows everything that
//! the program starts, however that hides, and ends it with the program, at our request, or when
//! we are gone. The guard of a hook spares what the hook put into a session of its own. Four kinds
//! have none: one talks to a person, on the user's own [terminal]; one only reads, and is
//! [asked](answer()) for what it prints; one is our own binary, [`Watched`] by the self-test, which
//! is after what its guards do without us; and one is our own binary once more, which
//! [departs](depart()) to go on without the terminal.
//!
//! ```text
//!   spawn ──▶ running ──▶ the program died ──▶ everything is gone
//!                │  terminate: SIGTERM, grace, SIGKILL   ▲
//!                └──kill, drop: SIGKILL, until ──────────┘
//! ```
//!
//! We signal only what we started: a guard signals only its own descendants, each through a handle
//! that was checked against the time of its start.

mod answer;
pub mod blocking;
mod check;
mod child;
mod containment;
mod descriptors;
mod detach;
pub mod guard;
mod leashed;
mod left_over;
mod log;
mod orphans;
pub(crate) mod table;
mod tail;
pub mod terminal;
pub mod tree_lock;
mod watched;

pub use answer::{Answer, AnswerEnd, Question, answer};
pub use check::{Ended, Finished, OUTPUT_MAX, Stop, run_and_log, run_to_end, shell};
pub use child::{Child, Exit, GRACE, Launch, spawn, spawn_leashed};
pub use containment::{Containment, Level, groups_folder};
pub use descriptors::keep_to_ourselves;
pub use detach::{Departed, Departure, depart};
pub use leashed::Leashed;
pub use left_over::{Killed, end_left_over};
pub use log::Log;
pub use orphans::{Left, MARK, adopt, end_guards, guards, sweep};
pub use tail::Tail;
pub use watched::{Errand, Family, Watched, below_us, can_be_watched};

/// The pipes of a child.
pub use tokio::net::unix::pipe::Sender as Stdin;
pub use tokio::process::{ChildStderr as Stderr, ChildStdout as Stdout};
