//! Attacks by the agent, and by a project that was cloned. None of them gains anything, and each has
//! a control: without the rule, or with the user's approval, the same attack works.

mod approval;
mod control;
mod environment;
mod files;
mod journal;
mod judge;
mod locks;
mod money;
mod private_git;
mod sandbox;
mod sandbox_files;
mod sandbox_git;
mod sandbox_network;
mod secrets;
mod templates;
