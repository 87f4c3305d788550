//! The decision logic of nightwright, free of I/O.
//!
//! A run is a state machine without access to the outside world. Each external event is an
//! [`Input`](input::Input), passed together with the time. The machine answers with a
//! [`Step`](effect::Step): events, which are decisions already taken, and effects, which are
//! requests. The state of a run is the fold of its events, so nightwright recovers from a crash at
//! any point by reading the journal.
//!
//! Nothing here reads a clock, opens a file, starts a process or uses randomness: time is an
//! argument and randomness comes from a seed. So every rule can be tested in a few lines, and every
//! run can be replayed.

// Test data that other crates share names this crate.
#[cfg(test)]
extern crate self as nightwright_core;

pub mod baseline;
pub mod check_command;
pub mod display;
pub mod effect;
pub mod event;
pub mod evidence;
pub mod failing;
pub mod failure_excerpt;
pub mod failure_identity;
pub mod hook;
pub mod input;
pub mod journal;
pub mod machine;
pub mod mode;
pub mod notification;
pub mod obstacles;
pub mod outcome;
pub mod permissions;
pub mod phrases;
pub mod policy;
pub mod principles;
pub mod prompt;
pub mod redact;
pub mod results;
pub mod root;
pub mod run_report;
pub mod run_view;
pub mod sandbox;
pub mod settings;
pub mod setup_prompts;
pub mod stream;
pub mod tamper;
pub mod temp;
pub mod test_counts;
pub mod units;
pub mod validation;
pub mod watchdog;
pub mod withheld;
