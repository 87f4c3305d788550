//! The environment of programs in a sandbox.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::VARIABLE;
use super::mounts::MountPlan;
use super::{git_settings, lists};

/// The folder for temporary files, in every sandbox.
pub const TEMPORARY: &str = "/tmp";

/// The facts about a sandbox that its environment depends on.
#[derive(Clone, Copy, Debug)]
pub struct Inside<'a> {
    pub plan: &'a MountPlan,
    pub home: &'a Path,
    /// The folder of the machine that is shown as [`TEMPORARY`].
    pub temporary: &'a Path,
    /// The name of the kind of sandbox.
    pub kind: &'static str,
}

/// Returns the variables that are useful inside, with the paths that are valid there.
pub fn inside(
    variables: &[(OsString, OsString)],
    sandbox: Inside<'_>,
) -> Vec<(OsString, OsString)> {
    let mut all: Vec<_> = variables
        .iter()
        .filter(|(name, value)| is_useful(name, value, sandbox.plan))
        .map(|(name, value)| (name.clone(), moved(value, sandbox.temporary)))
        .collect();
    for (name, value) in [("HOME", sandbox.home.as_os_str()), (VARIABLE, sandbox.kind.as_ref())] {
        all.retain(|(known, _)| known != name);
        all.push((name.into(), value.into()));
    }
    all
}

/// Makes git use the ignore rules in the private home although the repository names other ones.
pub fn set_ignore_file(variables: &mut Vec<(OsString, OsString)>, home: &Path) {
    if variables.iter().any(|(name, _)| name == "GIT_CONFIG_COUNT") {
        return;
    }
    let file = home.join(git_settings::IGNORE_PLACE).into_os_string();
    let name = git_settings::IGNORE_FILE.into();
    for (variable, value) in
        [("GIT_CONFIG_COUNT", "1".into()), ("GIT_CONFIG_KEY_0", name), ("GIT_CONFIG_VALUE_0", file)]
    {
        variables.push((variable.into(), value));
    }
}

/// Whether a variable means something inside: it does not name a folder that is not shown.
fn is_useful(name: &OsStr, value: &OsStr, plan: &MountPlan) -> bool {
    let Some(name) = name.to_str() else { return true };
    if lists::UNREACHABLE.contains(&name) {
        return false;
    }
    let names_folder = lists::PROGRAM_FOLDERS.contains(&name)
        || lists::TOOL_HOMES.iter().any(|(variable, _)| *variable == name)
        || lists::NAMED_FILES.contains(&name)
        || (name.starts_with("XDG_") && name.ends_with("_HOME"))
        || name.ends_with("_HOME");
    let path = Path::new(value);
    !names_folder || !path.is_absolute() || plan.source_of(path).is_some()
}

/// The value with the path of a file in the folder for temporary files as it is inside.
fn moved(value: &OsStr, temporary: &Path) -> OsString {
    match Path::new(value).strip_prefix(temporary) {
        Ok(rest) if rest.as_os_str().is_empty() => TEMPORARY.into(),
        Ok(rest) => PathBuf::from(TEMPORARY).join(rest).into(),
        Err(_) => value.to_owned(),
    }
}
