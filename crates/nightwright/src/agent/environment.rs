//! The environment of the programs that nightwright starts: inherited variables, fixed ones, and
//! those that identify the attempt.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::Path;

use nightwright_core::stream::dialect::Dialect;
use nightwright_core::units::RunId;
use nightwright_core::withheld::{self, Withheld};

use super::process::AgentSetup;
use super::{AgentRequest, NewsSource};
use crate::hex::hex;
use crate::process::MARK;
use crate::random;

/// Returns the variables of `ours` that the agent inherits, plus those that the dialect sets.
/// `own` are the variables that the user sets for the agent, and `also` allows additional ones.
pub fn inherited(
    dialect: Dialect,
    ours: impl IntoIterator<Item = (OsString, OsString)>,
    own: &BTreeMap<String, String>,
    also: impl Fn(&str) -> bool,
) -> Vec<(OsString, OsString)> {
    let ours: Vec<_> = ours.into_iter().collect();
    let is_on = |switch: &str| is_on(switch, &ours, own);
    let allowed = |name: &OsStr| {
        name.to_str().is_some_and(|name| dialect.environment_allows(name, &is_on) || also(name))
    };
    let mut all: Vec<_> = ours.iter().filter(|(name, _)| allowed(name)).cloned().collect();
    for (name, value) in dialect.environment_defaults() {
        if !all.iter().any(|(there, _)| there == name) {
            all.push((name.into(), value.into()));
        }
    }
    for (name, value) in dialect.environment_sets() {
        set(&mut all, name, value);
    }
    all
}

/// Whether a switch is on. A value that the user sets for the agent overrides the inherited one.
pub fn is_on(switch: &str, ours: &[(OsString, OsString)], own: &BTreeMap<String, String>) -> bool {
    match own.get(switch) {
        Some(value) => !is_off(OsStr::new(value)),
        None => ours.iter().any(|(name, value)| name == switch && !is_off(value)),
    }
}

/// Whether the value of a switch turns it off.
fn is_off(value: &OsStr) -> bool {
    value.is_empty() || value == "0" || value == "false"
}

/// The environment of checks and hooks.
#[derive(Clone, Default)]
pub struct CheckEnvironment {
    /// The variables that are passed to them.
    pub all: Vec<(OsString, OsString)>,
    /// The names of the credentials that are withheld.
    pub withheld: Vec<String>,
}

impl fmt::Debug for CheckEnvironment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The environment is left out because it contains secrets.
        f.debug_struct("CheckEnvironment").field("withheld", &self.withheld).finish_non_exhaustive()
    }
}

/// Returns the variables of `ours` and those that the user sets for the agent, without the
/// variables withheld from checks and hooks. `pass` lists the exceptions.
pub fn for_checks(
    ours: impl IntoIterator<Item = (OsString, OsString)>,
    own: &BTreeMap<String, String>,
    pass: &[String],
    project: &Path,
) -> CheckEnvironment {
    let mut all: Vec<(OsString, OsString)> = ours.into_iter().collect();
    keep_libraries_outside(&mut all, project);
    for (name, value) in own {
        set(&mut all, name, value);
    }
    let on = all.iter().filter(|(_, value)| !is_off(value));
    let names: BTreeSet<OsString> = on.map(|(name, _)| name.clone()).collect();
    let is_set = |name: &str| names.contains(OsStr::new(name));
    let mut withheld = Vec::new();
    all.retain(|(name, _)| {
        // A name that is not valid UTF-8 is not a known credential.
        let Some(name) = name.to_str() else { return true };
        match withheld::withheld(name, pass, is_set) {
            None => return true,
            Some(Withheld::Session | Withheld::Loader) => {}
            Some(Withheld::Login | Withheld::Credential) => withheld.push(name.to_owned()),
        }
        false
    });
    withheld.sort();
    CheckEnvironment { all, withheld }
}

/// Removes the folders in the project from the library path: the agent can put a library there.
pub fn keep_libraries_outside(all: &mut Vec<(OsString, OsString)>, project: &Path) {
    // Without a project, nothing is inside it.
    if project.as_os_str().is_empty() {
        return;
    }
    let Some(found) = all.iter().position(|(name, _)| name == withheld::LIBRARY_PATH) else {
        return;
    };
    let project = project.canonicalize().unwrap_or_else(|_| project.to_owned());
    let is_inside = |folder: &Path| {
        let real = folder.canonicalize();
        folder.starts_with(&project) || real.is_ok_and(|real| real.starts_with(&project))
    };
    let value = all[found].1.to_string_lossy().into_owned();
    match withheld::library_path(&value, is_inside) {
        Some(safe) => all[found].1 = safe.into(),
        None => {
            all.remove(found);
        }
    }
}

/// Adds the variables that are specific to one attempt or call. `turn` is the number of the call
/// within its purpose.
pub(super) fn add(
    all: &mut Vec<(OsString, OsString)>,
    setup: &AgentSetup,
    request: &AgentRequest,
    turn: Option<u32>,
) {
    let (name, number, mark) = match request.source {
        NewsSource::Attempt(id) => ("NIGHTWRIGHT_ATTEMPT", id.0, id.to_string()),
        NewsSource::Call(id) => ("NIGHTWRIGHT_CALL", id.0, format!("c{id}")),
    };
    set(all, name, number.to_string());
    let place = ProgramContext {
        run: &setup.run,
        task: setup.task.as_deref(),
        iteration: request.iteration,
    };
    place.add(all, &mark);
    if let Some(purpose) = request.purpose {
        set(all, "NIGHTWRIGHT_PURPOSE", purpose.name());
    }
    if let Some(turn) = turn {
        set(all, "NIGHTWRIGHT_TURN", turn.to_string());
    }
}

/// Sets the variables that name the folder for temporary files.
pub fn set_temp(all: &mut Vec<(OsString, OsString)>, dialect: Dialect, folder: &Path) {
    for name in dialect.temp_variables() {
        set(all, name, folder);
    }
}

/// Adds the variables that are specific to a check.
pub fn add_for_check(all: &mut Vec<(OsString, OsString)>, place: ProgramContext<'_>) {
    place.add(all, "check");
}

/// The run, task and iteration that a program is started for.
#[derive(Clone, Copy, Debug)]
pub struct ProgramContext<'a> {
    pub run: &'a RunId,
    /// The name of the task, if any.
    pub task: Option<&'a str>,
    pub iteration: u32,
}

impl ProgramContext<'_> {
    /// Adds the variables; `who` distinguishes this program from the others of the run.
    fn add(self, all: &mut Vec<(OsString, OsString)>, who: &str) {
        set(all, MARK, format!("{}.{who}.{}", self.run, nonce()));
        set(all, "NIGHTWRIGHT_RUN_ID", &self.run.0);
        set(all, "NIGHTWRIGHT_ITERATION", self.iteration.to_string());
        set(all, "NIGHTWRIGHT_TASK", self.task.unwrap_or_default());
    }
}

pub(super) fn set(all: &mut Vec<(OsString, OsString)>, name: &str, value: impl AsRef<OsStr>) {
    all.retain(|(there, _)| there != name);
    all.push((name.into(), value.as_ref().to_owned()));
}

/// Distinguishes the marks of two processes that are otherwise identical.
fn nonce() -> String {
    hex(&random::nonce())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cloud_that_the_user_turns_on_for_the_agent_gets_its_account() {
        let ours = || {
            [("AWS_PROFILE", "me"), ("CLAUDE_CODE_USE_VERTEX", "0"), ("GOOGLE_CLOUD_PROJECT", "p")]
                .map(|(name, value)| (name.into(), value.into()))
        };
        let names = |own: &[(&str, &str)]| {
            let own = own.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            let all = inherited(Dialect::Claude, ours(), &own.collect(), |_| false);
            let is_account = |(name, _): &(OsString, OsString)| {
                name == "AWS_PROFILE" || name == "GOOGLE_CLOUD_PROJECT"
            };
            all.into_iter().filter(is_account).map(|(name, _)| name).collect::<Vec<_>>()
        };
        assert_eq!(names(&[]), Vec::<OsString>::new());
        assert_eq!(names(&[("CLAUDE_CODE_USE_BEDROCK", "1")]), ["AWS_PROFILE"]);
        assert_eq!(names(&[("CLAUDE_CODE_USE_VERTEX", "1")]), ["GOOGLE_CLOUD_PROJECT"]);
    }
}
