//! The user's variables: what checks and hooks get of them, and what the agent lacks.

use std::collections::BTreeSet;
use std::env;
use std::ffi::{OsStr, OsString};

use nightwright_core::environment::{lacking_line, withheld_line};

use super::execute::Session;
use crate::agent::environment::{CheckEnvironment, for_checks};
use crate::commands::eprint_safe;
use crate::workspace::mentions;

/// The environment of checks and hooks.
pub(super) struct CheckVariables {
    pub(super) all: Vec<(OsString, OsString)>,
    /// The variables that they don't get.
    pub(super) withheld: Vec<String>,
    /// What is said of those when a check fails.
    pub(super) line: Option<String>,
}

impl Session {
    /// The environment of checks and hooks. Says which variables the project's files mention and
    /// the agent does not get.
    pub(super) fn environment_of_checks(&self, agent: &[(OsString, OsString)]) -> CheckVariables {
        let pass = &self.settings.verify.pass_environment;
        let CheckEnvironment { all, withheld } = for_checks(env::vars_os(), &self.variables, pass);
        let mentioned = mentions::of(&self.project);
        let names = lacking(&mentioned, agent, |name| env::var_os(name).is_some());
        let line = lacking_line(&names, &self.settings.agent.pass_environment);
        if let Some(line) = line.filter(|_| self.first_level().shows_messages()) {
            eprint_safe(&line);
        }
        // Those that the project speaks of are the likeliest reason.
        let (mut first, rest): (Vec<_>, Vec<_>) =
            withheld.into_iter().partition(|name| mentioned.contains(name));
        first.extend(rest);
        CheckVariables { all, line: withheld_line(&first, &mentioned, pass), withheld: first }
    }
}

/// Those of the mentioned variables that are set and that the agent does not get.
fn lacking(
    mentioned: &BTreeSet<String>,
    agent: &[(OsString, OsString)],
    is_set: impl Fn(&str) -> bool,
) -> Vec<String> {
    let gets = |name: &str| agent.iter().any(|(known, _)| known == OsStr::new(name));
    mentioned.iter().filter(|name| is_set(name) && !gets(name)).cloned().collect()
}
