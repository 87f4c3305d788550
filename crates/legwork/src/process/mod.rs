//! Children: the only place that starts, signals and buries processes.
//!
//! Every child leads a process group of its own, and it is the group that is signalled, so that
//! what the child started goes with it. A number of a process can be given to another one once
//! its parent has taken note of the death; a signal to it would then hit a stranger. So the two
//! halves of waiting are kept apart:
//!
//! ```text
//!   spawn ──▶ running ──▶ dead, not buried ──▶ buried
//!             └── the number is ours: signals go out ──┘  no signal any more
//! ```
//!
//! [`Child::exited`] waits for the death and leaves the body where it is; [`Child::bury`] ends
//! the rest of the group and takes note of the death. A child that is dropped is killed with its
//! group.
//!
//! A descendant that makes itself a session of its own leaves the group and is out of reach here.

pub mod blocking;
mod check;
mod child;
mod tail;

pub use check::{Ended, Finished, OUTPUT_MAX, Stop, run_to_end, shell};
pub use child::{Child, Exit, GRACE, Launch, spawn};
pub use tail::Tail;

/// The pipes of a child.
pub use tokio::process::{ChildStderr as Stderr, ChildStdin as Stdin, ChildStdout as Stdout};
