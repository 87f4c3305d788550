//! Every rule of a run as a story. The name states the rule.

mod all_failed;
mod claims;
mod corners;
mod council;
mod edges;
mod endings;
mod evidence;
mod extras;
mod failures;
mod gate;
mod hooks;
mod injections;
mod iteration;
mod last_gate;
mod limits;
mod order;
mod plan;
mod progress;
mod recovery;
mod review;
mod session;
mod status;
mod steering;
mod verifier;
mod waiting;
mod watchdog;
