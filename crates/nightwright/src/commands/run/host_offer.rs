//! The offer after a run whose check needs more than the sandbox has: to write the settings that
//! give it. Nothing is written without an answer.

use std::env;
use std::path::Path;

use crate::app::approval;
use crate::config::{self, ConfigFile, ConfigLayer, ConfigValue, Key, ResolvedConfig, ValueOrigin};
use crate::console::{confirm, eprint_safe, is_interactive};
use crate::error::Failure;

/// A setting, and the file for it.
struct Offered {
    key: &'static Key,
    value: ConfigValue,
    file: ConfigFile,
}

/// Offers to write these lines of configuration. `flags` are the options of the run, which would
/// override them.
pub(super) fn offer(
    project: &Path,
    task: Option<&str>,
    flags: &ConfigLayer,
    lines: &[String],
) -> Result<(), Failure> {
    if !is_interactive() {
        return Ok(());
    }
    let layers = config::load(project, task, |name| env::var_os(name))?;
    let resolved = ResolvedConfig::new(layers);
    let mut offered = Vec::new();
    for line in lines {
        offered.extend(setting(project, task, flags, &resolved, line)?);
    }
    if offered.is_empty() {
        return Ok(());
    }
    eprint_safe("\nnightwright can write this:");
    for Offered { key, value, file } in &offered {
        eprint_safe(&format!("  {} = {value}   in {}", key.name, file.path().display()));
    }
    if !confirm("Write it?")? {
        return Ok(());
    }
    for Offered { key, value, file } in &offered {
        file.set(key, value)?;
        approval::approve_setting(project, &file.layer()?, key.name)?;
    }
    eprint_safe("Written and approved. Start the run again.");
    Ok(())
}

/// The setting of a line; `None` if no file can set it, because an option or a variable does.
fn setting(
    project: &Path,
    task: Option<&str>,
    flags: &ConfigLayer,
    resolved: &ResolvedConfig,
    line: &str,
) -> Result<Option<Offered>, Failure> {
    let file = ConfigFile::project(project);
    let parsed = ConfigLayer::parse(file.origin().clone(), file.path(), line);
    let Some((key, value)) = parsed.ok().and_then(|layer| {
        let (name, _, value) = layer.iter().next()?;
        Some((config::find(name)?, value.clone()))
    }) else {
        return Ok(None);
    };
    let file = match (resolved.origin(key.name), task) {
        _ if flags.get(key.name).is_some() => return Ok(None),
        (ValueOrigin::Environment(_) | ValueOrigin::Flag(_), _) => return Ok(None),
        (ValueOrigin::Task(_), Some(task)) => ConfigFile::task(project, task)?,
        (
            ValueOrigin::Task(_)
            | ValueOrigin::Project(_)
            | ValueOrigin::User(_)
            | ValueOrigin::Mode(_)
            | ValueOrigin::BuiltIn,
            _,
        ) => file,
    };
    Ok(Some(Offered { key, value, file }))
}
