//! The decisions of nightwright, and nothing else.
//!
//! A run is a state machine that knows nothing of the world. What happens outside comes in as an
//! [`Input`](input::Input) together with the time; the machine answers with a
//! [`Step`](effect::Step): events, which are decisions already taken, and effects, which are
//! requests. The state of a run is the fold of its events, so a crash at any point is recovered by
//! reading the journal.
//!
//! Nothing here reads a clock, opens a file, starts a process or throws dice: time is an argument
//! and chance is a seed. That is what makes every rule a story of a few lines and every run a
//! thing that can be played again.

#![warn(missing_docs)]

// Test data that other crates share names this crate.
#[cfg(test)]
extern crate self as nightwright_core;

pub mod baseline;
pub mod check_command;
pub mod display;
pub mod effect;
pub mod environment;
pub mod event;
pub mod evidence;
pub mod hook;
pub mod input;
pub mod journal;
pub mod machine;
pub mod mode;
pub mod notification;
pub mod outcome;
pub mod permissions;
pub mod phrases;
pub mod policy;
pub mod principles;
pub mod prompt;
pub mod redact;
pub mod root;
pub mod run_report;
pub mod run_view;
pub mod settings;
pub mod setup_prompts;
pub mod stream;
pub mod tamper;
pub mod temp;
pub mod test_counts;
pub mod units;
pub mod validation;
pub mod watchdog;
