//! Attacks by the agent, and by a project that was cloned. Each test shows that nothing is gained, and
//! that the same attack works where the rule does not apply.

mod control;
mod journal;
mod locks;
mod private_git;
