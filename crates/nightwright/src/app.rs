//! From options to a finished run.
mod agent_program;
pub(crate) mod approval;
mod check_environment;
pub(crate) mod detach;
mod earlier_run;
pub(crate) mod execute;
mod finish;
mod finished_hook;
mod inputs;
mod keep_awake;
mod locked_run;
mod operator_messages;
mod outputs;
pub(crate) mod run_spec;
mod stderr_writer;
