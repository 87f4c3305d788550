//! Files of runs: the journal, run folders, locks, retention and temporary folders.
pub mod baseline_cache;
pub mod folder_lock;
pub mod journal;
pub mod lock;
pub mod retention;
pub mod run_dir;
pub mod seal;
pub mod temp_folder;
