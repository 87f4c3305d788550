//! Asks git for the settings of the user and of a repository.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::Duration;

use nightwright_core::sandbox::git_settings::{self, RepositorySettings};

use crate::process::{CapturedCommand, run_captured};
use crate::workspace::safe_path;

/// Git answers within milliseconds.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum size of the settings.
const MAX_BYTES: usize = 1 << 20;

/// The settings in the user's own files, as `git config --list --null` prints them. Empty without
/// git. `top` is the folder that programs inside can write to.
pub(super) fn users_settings(top: &Path) -> Vec<u8> {
    ask(top, Path::new("/"), &["config", "--global", "--includes", "--list", "--null"])
}

/// The files that the settings of a repository name.
pub(super) fn repository_settings(top: &Path, home: &Path) -> RepositorySettings {
    let listed = ask(top, top, &["config", "--list", "--null", "--show-scope", "--show-origin"]);
    git_settings::of_repository(&listed, top, home)
}

fn ask(top: &Path, folder: &Path, arguments: &[&str]) -> Vec<u8> {
    let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
    let is_other = |name: &OsString| !name.to_string_lossy().starts_with("GIT_") && name != "PATH";
    let mut environment: Vec<_> = env::vars_os().filter(|(name, _)| is_other(name)).collect();
    environment.push(("PATH".into(), safe_path(top)));
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
