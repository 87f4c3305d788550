//! The `logs.*` settings: retention of runs, and copies of the readable log.

use std::path::{Component, Path, PathBuf};

use super::ResolvedConfig;
use crate::error::Failure;

/// The key of the folder for copies.
const DIR: &str = "logs.dir";

/// Folders of `.nightwright/` that have another purpose.
const RESERVED_FOLDERS: [&str; 3] = ["hooks", "modes", "tasks"];

/// How many runs to keep, and where to copy the readable log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogSettings {
    /// The folder for copies of the readable log, relative to the project.
    pub dir: Option<PathBuf>,
    /// The number of ended runs that keep all their files.
    pub keep_runs: u32,
    /// The maximum size of all these files together, in bytes.
    pub max_bytes: Option<u64>,
}

impl Default for LogSettings {
    fn default() -> Self {
        Self { dir: None, keep_runs: 20, max_bytes: None }
    }
}

impl LogSettings {
    /// Returns the settings from the configuration.
    pub fn of(resolved: &ResolvedConfig) -> Result<Self, Failure> {
        let usual = Self::default();
        let dir = resolved.get_optional(DIR).flatten().map(PathBuf::from);
        if let Some(dir) = dir.as_deref().filter(|dir| !is_ours(dir)) {
            let (dir, origin) = (dir.display(), resolved.origin(DIR));
            let message = format!(
                "`{DIR}` is `{dir}` ({origin}), but must be a separate folder below `.nightwright/`"
            );
            return Err(Failure::usage(message).hint(
                "use a folder such as `.nightwright/logs`: a log elsewhere in the project would count as \
                 the agent's work",
            ));
        }
        Ok(Self {
            dir,
            keep_runs: resolved.get_count("logs.keep_runs").unwrap_or(usual.keep_runs),
            max_bytes: resolved.get_size("logs.max_bytes"),
        })
    }
}

/// Whether files there do not count as work, and the folder has no other purpose.
fn is_ours(dir: &Path) -> bool {
    let mut parts = dir.components().map(Component::as_os_str);
    parts.next().is_some_and(|first| first == ".nightwright")
        && parts.next().is_some_and(|second| !RESERVED_FOLDERS.iter().any(|taken| second == *taken))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_go_to_a_separate_folder_where_nothing_counts_as_work() {
        for dir in [".nightwright/logs", ".nightwright/logs/a"] {
            assert!(is_ours(Path::new(dir)), "{dir}");
        }
        for dir in [
            ".nightwright",
            "logs",
            "a/.nightwright/logs",
            ".nightwright/tasks/x",
            ".nightwright/hooks",
        ] {
            assert!(!is_ours(Path::new(dir)), "{dir}");
        }
    }
}
