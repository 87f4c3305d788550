//! The loop of a live run: the supervisor, its inputs, and the executor of effects.
pub mod control_socket;
pub mod effects;
pub mod evidence_files;
pub mod keep_awake;
pub mod keys;
mod observer;
pub mod status_watch;
pub mod stop_file;
pub mod supervisor;
mod timers;
