//! One integration binary, one file a feature.

#![expect(clippy::unwrap_used, reason = "a test that can't go on fails there and then")]

mod attempt;
mod cli;
mod harness;
mod journal;
mod lock;
mod locks;
mod process;
mod publish;
mod rehearsal;
mod report;
mod resume;
mod simulation;
mod stage;
mod steering;
mod supervisor;
mod terminal;
