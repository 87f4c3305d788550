//! Reads the user's git settings.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::process::{CapturedCommand, run_captured};

/// Git answers within milliseconds.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum size of the settings.
const MAX_BYTES: usize = 1 << 20;

/// The settings in the user's own files, as `git config --list --null` prints them. Empty without
/// git.
pub(super) fn users_settings() -> Vec<u8> {
    ask(Path::new("/"), &["config", "--global", "--includes", "--list", "--null"])
}

/// The folder with the hooks of a repository, if a setting names one.
pub(super) fn hooks_path(top: &Path) -> Option<PathBuf> {
    let answer = ask(top, &["config", "--type=path", "--get", "core.hooksPath"]);
    let path = String::from_utf8(answer).ok()?;
    let path = path.trim_end_matches('\n');
    (!path.is_empty()).then(|| top.join(path))
}

fn ask(folder: &Path, arguments: &[&str]) -> Vec<u8> {
    let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
    let environment: Vec<_> =
        env::vars_os().filter(|(name, _)| !name.to_string_lossy().starts_with("GIT_")).collect();
    let answer = run_captured(CapturedCommand {
        program: OsStr::new("git"),
        arguments: &arguments,
        environment: &environment,
        directory: folder,
        input: Vec::new(),
        limit: TIMEOUT,
        max_output: MAX_BYTES,
    });
    // Without an answer, the sandbox has only the settings that it needs.
    answer
        .ok()
        .filter(crate::process::CapturedOutput::is_complete)
        .map(|done| done.output)
        .unwrap_or_default()
}
