//! The script of a rehearsal, and its copy in the run's folder.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use nightwright_core::hook::{Hook, Hooks};

use crate::config::OutputLevel;
use crate::console::eprint_safe;
use crate::error::Failure;
use crate::rehearsal::{self, script};
use crate::store::journal::create_file;
use crate::store::run_dir::{REHEARSAL_LOG, RunDir};

/// The text of a script that was parsed successfully.
#[derive(Debug)]
pub(crate) struct RehearsalScript(String);

impl RehearsalScript {
    /// Wraps a script that is part of nightwright.
    pub(crate) fn built_in(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// Returns the script that a run started with, if any.
    pub(crate) fn of_run(folder: &RunDir) -> Result<Option<Self>, Failure> {
        let path = Self::kept_in(folder);
        if path.exists() { Self::read(&path).map(Some) } else { Ok(None) }
    }

    fn kept_in(folder: &RunDir) -> PathBuf {
        folder.path().join("rehearsal.toml")
    }

    /// Reads a script of the user. Fails if it is invalid, before anything starts.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let text = fs::read_to_string(path).map_err(|error| {
            let path = path.display();
            Failure::usage(format!("cannot read `{path}` (--rehearsal): {error}"))
        })?;
        script::Script::parse(&text, path).map_err(|error| {
            Failure::usage(error.to_string().trim_end().to_owned())
                .hint("see `docs/reference/rehearsal.md` for the format")
        })?;
        Ok(Self(text))
    }
}

/// Writes the script to the run's folder, and returns the variables for the script and the log.
pub(super) fn stage(
    script: Option<&RehearsalScript>,
    folder: &RunDir,
    level: OutputLevel,
) -> Result<Vec<(OsString, OsString)>, Failure> {
    let mut all = Vec::new();
    if let Some(RehearsalScript(text)) = script {
        let path = RehearsalScript::kept_in(folder);
        let write = || match create_file(&path) {
            Ok(mut file) => file.write_all(text.as_bytes()),
            // A resumed run has its script already.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(error),
        };
        write().map_err(|error| {
            Failure::trouble(format!("cannot write `{}`: {error}", path.display()))
        })?;
        all.push((rehearsal::SCRIPT_VARIABLE.into(), path.into()));
    }
    let log = folder.path().join(REHEARSAL_LOG);
    if level.shows_messages() {
        eprint_safe(&format!("Requests to the rehearsal agent: {}", log.display()));
    }
    all.push((rehearsal::LOG_VARIABLE.into(), log.into()));
    Ok(all)
}

/// Names the hooks of the user that a rehearsal does not run.
pub(super) fn name_hooks(hooks: &Hooks, level: OutputLevel) {
    if hooks.any() && level.shows_messages() {
        let names = Hook::ALL.into_iter().filter(|hook| hooks.has(*hook));
        let names: Vec<_> = names.map(|hook| format!("`{}`", hook.name())).collect();
        eprint_safe(&format!(
            "Your hooks run for real: {}. They get NIGHTWRIGHT_DRY_RUN=1.",
            names.join(", ")
        ));
    }
}
