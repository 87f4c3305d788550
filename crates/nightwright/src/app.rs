//! From options to a finished run, in the order in which it happens:
//!
//! - `run_spec`: a request, with the configuration, becomes the description of a run;
//! - `prepare` (a new run) or `resume`: locks, run folder, agent program, environments, machine;
//! - `wire`: the supervisor is connected to its inputs and outputs;
//! - `execute`: the loop;
//! - `finish`: the last deliveries, the summary and the exit code.

pub(crate) mod agent_program;
pub(crate) mod approval;
pub(crate) mod async_command;
mod control_inputs;
pub(crate) mod detach;
mod environments;
pub(crate) mod execute;
pub(crate) mod finish;
mod force_quit;
mod keep_awake;
pub(crate) mod locked_run;
mod operator_messages;
mod outputs;
mod permission_rules;
mod prepare;
pub(crate) mod resume;
pub(crate) mod run_spec;
pub(crate) mod sandbox;
mod stderr_writer;
mod wire;
