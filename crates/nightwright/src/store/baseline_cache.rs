//! A cache of baseline check results, reused by the next run on the same tree.

use std::io;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use nightwright_core::input::CheckResult;
use nightwright_core::settings::SandboxSettings;
use nightwright_core::units::Fingerprint;
use serde::{Deserialize, Serialize};

use crate::files;

/// The name of the file in the project's state folder.
const FILE: &str = "baselines.json";
/// Older results are not reused.
const MAX_AGE: SignedDuration = SignedDuration::from_hours(24);
/// Maximum number of cached baselines.
const MAX_ENTRIES: usize = 8;
/// Larger files are ignored.
const MAX_BYTES: u64 = 1 << 20;

/// The baselines that earlier runs of this project stored.
#[derive(Clone, Debug)]
pub struct BaselineCache {
    file: PathBuf,
}

/// The conditions of checks. Results hold only for the same ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckConditions {
    /// The commands of the checks.
    pub commands: Vec<String>,
    /// Those of them that run outside the sandbox.
    #[serde(default)]
    pub outside: Vec<String>,
    #[serde(default)]
    pub sandbox: SandboxSettings,
}

/// The check results on one tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CachedBaseline {
    /// The conditions of the checks.
    #[serde(flatten)]
    pub conditions: CheckConditions,
    /// The fingerprint of the project before the checks ran.
    pub fingerprint: Fingerprint,
    pub at: Timestamp,
    /// One result per command.
    pub results: Vec<CheckResult>,
    /// Files that the checks wrote, which do not count as work.
    pub outputs: Vec<String>,
}

impl BaselineCache {
    /// Returns the cache in the state folder of a project.
    pub fn of(state_folder: &Path) -> Self {
        Self { file: state_folder.join(FILE) }
    }

    /// Returns the results under these conditions on this tree, if they are recent enough.
    pub fn find(
        &self,
        conditions: &CheckConditions,
        fingerprint: &Fingerprint,
        now: Timestamp,
    ) -> Option<CachedBaseline> {
        let fits = |measured: &CachedBaseline| {
            let age = now.duration_since(measured.at);
            let fresh = age >= SignedDuration::ZERO && age <= MAX_AGE;
            fresh && measured.conditions == *conditions && measured.fingerprint == *fingerprint
        };
        self.read().into_iter().find(fits)
    }

    /// Keeps results for later runs.
    pub fn keep(&self, measured: CachedBaseline) -> io::Result<()> {
        let CachedBaseline { conditions, fingerprint, results, .. } = &measured;
        let mut all = self.read();
        all.retain(|other| other.conditions != *conditions || other.fingerprint != *fingerprint);
        let logless = |result: &CheckResult| CheckResult { log: None, ..result.clone() };
        let results = results.iter().map(logless).collect();
        all.insert(0, CachedBaseline { results, ..measured });
        all.truncate(MAX_ENTRIES);
        let bytes = serde_json::to_vec(&all).map_err(io::Error::other)?;
        files::replace_private(&self.file, &bytes).map_err(io::Error::other)
    }

    /// A missing or unreadable file only means that the checks run again.
    fn read(&self) -> Vec<CachedBaseline> {
        let bytes = files::read_at_most(&self.file, MAX_BYTES).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use nightwright_core::input::CheckVerdict;
    use nightwright_core::settings::SandboxKind;

    use super::*;

    fn conditions(command: &str) -> CheckConditions {
        CheckConditions { commands: vec![command.to_owned()], ..CheckConditions::default() }
    }

    fn passed(fingerprint: &str, at: Timestamp) -> CachedBaseline {
        CachedBaseline {
            conditions: conditions("make"),
            fingerprint: Fingerprint(fingerprint.to_owned()),
            at,
            results: vec![CheckResult::without_run("make", CheckVerdict::Passed)],
            outputs: vec!["coverage.xml".to_owned()],
        }
    }

    #[test]
    fn a_result_is_found_for_the_same_commands_on_the_same_tree_for_a_day() {
        let folder = tempfile::tempdir().expect("a folder");
        let baselines = BaselineCache::of(folder.path());
        let at: Timestamp = "2026-11-18T22:00:00Z".parse().expect("a date");
        let make = conditions("make");
        baselines.keep(passed("a", at)).expect("it is kept");
        let find = |conditions: &CheckConditions, tree: &str, hours| {
            let later = at + SignedDuration::from_hours(hours);
            baselines.find(conditions, &Fingerprint(tree.to_owned()), later).is_some()
        };
        assert!(find(&make, "a", 24));
        assert!(!find(&make, "a", 25));
        assert!(!find(&make, "a", -1));
        assert!(!find(&make, "b", 1));
        assert!(!find(&conditions("make test"), "a", 1));
        let mut inside = make.clone();
        inside.sandbox.kind = SandboxKind::Bwrap;
        assert!(!find(&inside, "a", 1), "measured without a sandbox");
    }

    #[test]
    fn a_damaged_file_is_as_good_as_none() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join(FILE), b"{ not json").expect("it can be written");
        let baselines = BaselineCache::of(folder.path());
        let (make, tree) = (conditions("make"), Fingerprint("a".to_owned()));
        let now = Timestamp::UNIX_EPOCH;
        assert_eq!(baselines.find(&make, &tree, now), None);
        baselines.keep(passed("a", now)).expect("it is kept");
        assert!(baselines.find(&make, &tree, now).is_some());
    }
}
