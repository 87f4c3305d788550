//! The strings that make up a prompt.

use std::fs;
use std::path::Path;

use nightwright_core::settings::PromptTexts;

use super::RunRequest;
use crate::config::modes::Mode;
use crate::config::{ResolvedConfig, ValueOrigin};
use crate::error::Failure;
use crate::files;
use crate::task::{self, Task};

/// Maximum size of a file; a larger one does not help an agent.
const MAX_TEXT_BYTES: u64 = 1 << 20;

pub(super) fn read(
    request: &RunRequest,
    mode: &Mode,
    task: Option<&Task>,
    resolved: &ResolvedConfig,
) -> Result<PromptTexts, Failure> {
    let agents = match resolved.get_optional("prompt.agents_file").flatten() {
        None => String::new(),
        Some(file) => match text_of(&request.project, Path::new(&file))? {
            Some(text) => text,
            None if *resolved.origin("prompt.agents_file") == ValueOrigin::BuiltIn => String::new(),
            // Only the default file may be missing.
            None => {
                let message = format!("`prompt.agents_file` names `{file}`, which does not exist");
                return Err(Failure::usage(message));
            }
        },
    };
    let appended = match &request.appended {
        Some(file) => fs::read_to_string(file).map_err(|error| {
            let file = file.display();
            Failure::usage(format!("cannot read `{file}` (--append-system-prompt-file): {error}"))
        })?,
        None => String::new(),
    };
    Ok(PromptTexts {
        system: mode.system.clone(),
        prompt: mode.prompt.clone(),
        agents,
        status: task.map(|task| task.text(task::STATUS_INSTRUCTIONS)).transpose()?.flatten(),
        appended,
    })
}

fn text_of(project: &Path, file: &Path) -> Result<Option<String>, Failure> {
    let bytes = files::read_inside(project, file, MAX_TEXT_BYTES)
        .map_err(|error| Failure::because(&error))?;
    bytes
        .map(String::from_utf8)
        .transpose()
        .map_err(|_| Failure::usage(format!("`{}` is not UTF-8 text", file.display())))
}
