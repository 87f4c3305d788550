//! Files of runs: journal, run folder, lock, retention.
pub mod baseline_cache;
pub mod journal;
pub mod lock;
pub mod log_settings;
pub mod retention;
pub mod run_dir;
pub mod temp_folder;
