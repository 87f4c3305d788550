//! The environments of the programs of a run: the agent, and its checks and hooks.

use std::collections::BTreeSet;
use std::env;
use std::ffi::{OsStr, OsString};

use nightwright_core::withheld::{lacking_line, withheld_line};

use super::run_spec::RunSpec;
use crate::agent::environment::{CheckEnvironment, for_checks};
use crate::console::eprint_safe;
use crate::error::Failure;
use crate::store::run_dir::RunDir;
use crate::workspace::mentions;

/// The variables of each kind of program, except for those that differ between attempts.
pub(super) struct Environments {
    pub(super) agent: Vec<(OsString, OsString)>,
    pub(super) checks: CheckVariables,
}

/// The environment of checks and hooks.
pub(super) struct CheckVariables {
    pub(super) all: Vec<(OsString, OsString)>,
    /// The user's variables that are left out.
    pub(super) withheld: Vec<String>,
    /// A line that names the omitted variables, shown when a check fails.
    pub(super) line: Option<String>,
}

impl Environments {
    /// Creates the environments of this run. Names the variables that the project's files mention
    /// and the agent does not get.
    pub(super) fn of(spec: &RunSpec, folder: &RunDir) -> Result<Self, Failure> {
        let level = spec.terminal_level();
        let agent = spec.program.environment(&spec.settings, &spec.variables, folder, level)?;
        let mentioned = mentions::of(&spec.project);
        let names = lacking(&mentioned, &agent, |name| env::var_os(name).is_some());
        let line = lacking_line(&names, &spec.settings.agent.pass_environment);
        if let Some(line) = line.filter(|_| level.shows_messages()) {
            eprint_safe(&line);
        }
        Ok(Self { agent, checks: CheckVariables::of(spec, &mentioned) })
    }
}

impl CheckVariables {
    fn of(spec: &RunSpec, mentioned: &BTreeSet<String>) -> Self {
        let pass = &spec.settings.verify.pass_environment;
        let CheckEnvironment { all, withheld } =
            for_checks(env::vars_os(), &spec.variables, pass, &spec.project);
        // Variables that the project mentions are the likeliest cause of a failure.
        let (mut first, rest): (Vec<_>, Vec<_>) =
            withheld.into_iter().partition(|name| mentioned.contains(name));
        first.extend(rest);
        Self { all, line: withheld_line(&first, mentioned, pass), withheld: first }
    }
}

/// Returns the mentioned variables that are set here and that the agent does not get.
fn lacking(
    mentioned: &BTreeSet<String>,
    agent: &[(OsString, OsString)],
    is_set: impl Fn(&str) -> bool,
) -> Vec<String> {
    let gets = |name: &str| agent.iter().any(|(known, _)| known == OsStr::new(name));
    mentioned.iter().filter(|name| is_set(name) && !gets(name)).cloned().collect()
}
