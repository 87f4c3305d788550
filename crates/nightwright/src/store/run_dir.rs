//! Where the state of projects and runs is.
//!
//! ```text
//! STATE/temp/                          the temporary folders in use, see `temp.rs`
//! STATE/PROJECT-xxxxxxxx/              the folder's name and a hash of its whole path
//!   project.lock  task-NAME.lock
//!   runs/20261115-233412-7f3a/         start in UTC and four random digits
//!     journal.jsonl  lock  tree.lock  iterate-*.log  prompts/  output/  checks/
//! ```
//!
//! None of it is in the project: an agent that cleans, resets or deletes the project can't take
//! the journal with it.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use nightwright_core::event::CallPurpose;
use nightwright_core::hook::Hook;
use nightwright_core::units::{CallId, RunId};
use ring::digest::{SHA256, digest};

use super::journal::error::StoreFileError;
use super::journal::private::{create_folder, create_folders};
use super::journal::reader;
use crate::hex::hex;
use crate::runtime::random;

/// How often another name is tried for a new run: with 65,536 names a second, once is enough.
const MAX_NAME_TRIES: u32 = 16;

/// The most characters of a project's name that its folder keeps.
const MAX_NAME_CHARS: usize = 64;

/// The folder of the copies of hooks in the folder of a run.
pub const HOOKS: &str = "hooks";

/// The folder of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunDir {
    id: RunId,
    path: PathBuf,
}

/// A folder for state can't be found or made.
#[derive(Debug, thiserror::Error)]
pub enum RunDirError {
    /// A variable names a folder in a way that depends on where nightwright is started.
    #[error("`{variable}` has to be an absolute path, and is `{}`", value.display())]
    NotAbsolute {
        /// Which variable.
        variable: &'static str,
        /// What it says.
        value: PathBuf,
    },
    /// There is nowhere to keep state.
    #[error("none of `NIGHTWRIGHT_STATE_DIR`, `XDG_STATE_HOME` and `HOME` is set")]
    NoHome,
    /// The system says no.
    #[error(transparent)]
    File(#[from] StoreFileError),
    /// There is no such run.
    #[error("there is no run `{id}` in `{}`", folder.display())]
    NoRun {
        /// Its id.
        id: RunId,
        /// Where it should be.
        folder: PathBuf,
    },
}

/// The folder under which all state is, by the environment.
pub fn state_root(
    variable: impl Fn(&'static str) -> Option<OsString>,
) -> Result<PathBuf, RunDirError> {
    for (name, below) in [
        ("NIGHTWRIGHT_STATE_DIR", ""),
        ("XDG_STATE_HOME", "nightwright"),
        ("HOME", ".local/state/nightwright"),
    ] {
        // Set to nothing is the same as not set.
        let Some(value) = variable(name).filter(|value| !value.is_empty()) else {
            continue;
        };
        let value = PathBuf::from(value);
        if !value.is_absolute() {
            return Err(RunDirError::NotAbsolute { variable: name, value });
        }
        return Ok(if below.is_empty() { value } else { value.join(below) });
    }
    Err(RunDirError::NoHome)
}

/// The folder for the state of a project, which has to exist; its state need not.
pub fn project_folder(root: &Path, project: &Path) -> Result<PathBuf, RunDirError> {
    let canonical = project.canonicalize().map_err(StoreFileError::on("find", project))?;
    Ok(root.join(project_name(&canonical)))
}

/// What the state of a project is called: readable by its first part, unique by its second.
fn project_name(canonical: &Path) -> String {
    let name = canonical.file_name().unwrap_or_default().to_string_lossy();
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' }
    };
    let name: String = name.chars().map(plain).take(MAX_NAME_CHARS).collect();
    // A folder that `ls` hides, or that looks like an option, helps nobody.
    let name = match name.trim_start_matches(['.', '-']) {
        "" => "project",
        name => name,
    };
    let hash = digest(&SHA256, canonical.as_os_str().as_bytes());
    format!("{name}-{}", hex(&hash.as_ref()[..4]))
}

impl RunDir {
    /// Makes the folder of a new run.
    pub fn create(project_folder: &Path, now: Timestamp) -> Result<Self, RunDirError> {
        Self::create_with(project_folder, now, random::bytes)
    }

    fn create_with(
        project_folder: &Path,
        now: Timestamp,
        mut chance: impl FnMut() -> io::Result<[u8; 2]>,
    ) -> Result<Self, RunDirError> {
        let runs = project_folder.join(RUNS);
        create_folders(&runs)?;
        let start = now.strftime("%Y%m%d-%H%M%S");
        let mut tries = 0;
        loop {
            tries += 1;
            let digits = chance().map_err(StoreFileError::on("name a run in", &runs))?;
            let id = RunId(format!("{start}-{}", hex(&digits)));
            let path = runs.join(&id.0);
            match create_folder(&path) {
                Ok(()) => {
                    let run = Self { id, path };
                    create_folder(&run.prompts())?;
                    create_folder(&run.output())?;
                    return Ok(run);
                }
                Err(error)
                    if error.source.kind() == io::ErrorKind::AlreadyExists
                        && tries < MAX_NAME_TRIES => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The folder of a run that is there.
    pub fn open(project_folder: &Path, id: &RunId) -> Result<Self, RunDirError> {
        let folder = project_folder.join(RUNS);
        let path = folder.join(&id.0);
        // An id comes from a command line: it must not lead anywhere else, nor must a link.
        if is_run_id(&id.0) && path.symlink_metadata().is_ok_and(|facts| facts.is_dir()) {
            Ok(Self { id: id.clone(), path })
        } else {
            Err(RunDirError::NoRun { id: id.clone(), folder })
        }
    }

    /// The runs of a project that have a journal, the oldest first. What has none was never begun:
    /// it is about to, or never will.
    pub fn list(project_folder: &Path) -> Result<Vec<RunId>, RunDirError> {
        let runs = project_folder.join(RUNS);
        let mut ids = Self::list_all(project_folder)?;
        ids.retain(|id| has_journal(&runs.join(&id.0)));
        Ok(ids)
    }

    /// All folders of runs of a project, the oldest first. Their names tell the second of their
    /// start; those of the same second are in the order in which their journals say that they began,
    /// and one that has not said so yet is the newest of them.
    pub fn list_all(project_folder: &Path) -> Result<Vec<RunId>, RunDirError> {
        let runs = project_folder.join(RUNS);
        let entries = match fs::read_dir(&runs) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(StoreFileError::on("list", &runs)(error).into()),
        };
        let mut ids = Vec::new();
        for entry in entries {
            let entry = entry.map_err(StoreFileError::on("list", &runs))?;
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                // A link leads to what is not ours.
                continue;
            }
            let name = entry.file_name();
            ids.extend(
                name.to_str().filter(|name| is_run_id(name)).map(|name| RunId(name.to_owned())),
            );
        }
        ids.sort();
        for same in ids.chunk_by_mut(|one, other| second(one) == second(other)) {
            if same.len() > 1 {
                same.sort_by_cached_key(|id| (began(&runs.join(&id.0)), id.clone()));
            }
        }
        Ok(ids)
    }

    /// Whether it has a journal.
    pub fn is_begun(&self) -> bool {
        has_journal(&self.path)
    }

    /// Removes the folder of a run that never was. Whatever somebody else has put there stays, and
    /// so does the folder then: it is listed nowhere, and does no harm.
    pub fn forget(&self) {
        if self.is_begun() {
            return;
        }
        for file in [self.lock(), self.tree_lock()] {
            // Each may never have been made.
            let _ = fs::remove_file(file);
        }
        let copies = self.path.join(HOOKS);
        // A link in its place would lead to files of somebody else's.
        if fs::symlink_metadata(&copies).is_ok_and(|found| found.is_dir()) {
            for hook in Hook::ALL {
                // Most runs have none of them.
                let _ = fs::remove_file(copies.join(hook.name()));
            }
        }
        for folder in [&copies, &self.prompts(), &self.output(), &self.path] {
            // Only an empty one can be removed.
            let _ = fs::remove_dir(folder);
        }
    }

    /// The run.
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The state folder of the project.
    pub fn project_folder(&self) -> &Path {
        let runs = self.path.parent().and_then(Path::parent);
        runs.unwrap_or(&self.path)
    }

    /// The journal.
    pub fn journal(&self) -> PathBuf {
        self.path.join(JOURNAL)
    }

    /// Held by the process that runs it.
    pub fn lock(&self) -> PathBuf {
        self.path.join("lock")
    }

    /// Held by guards while a process of the run is alive.
    pub fn tree_lock(&self) -> PathBuf {
        self.path.join("tree.lock")
    }

    /// What the agent was told.
    pub fn prompts(&self) -> PathBuf {
        self.path.join("prompts")
    }

    /// What the agent printed.
    pub fn output(&self) -> PathBuf {
        self.path.join("output")
    }

    /// What the checks printed.
    pub fn checks(&self) -> PathBuf {
        self.path.join("checks")
    }

    /// The readable logs, in the order in which they were written.
    pub fn logs(&self) -> Vec<PathBuf> {
        let is_log = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let stem = name.strip_suffix(".log").and_then(|name| name.strip_prefix("iterate-"));
            stem.is_some_and(|stem| !stem.is_empty())
        };
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let mut logs: Vec<_> = entries.map(|entry| entry.path()).filter(is_log).collect();
        logs.sort();
        logs
    }

    /// Where the process that starts now writes its readable log: named by its start, and by the
    /// next second that is free where another has that name.
    pub fn new_log(&self, now: Timestamp) -> PathBuf {
        let named =
            |at: Timestamp| self.path.join(format!("iterate-{}.log", at.strftime("%Y%m%d-%H%M%S")));
        let later =
            (0..i64::from(MAX_NAME_TRIES)).map(|second| now + SignedDuration::from_secs(second));
        later.map(named).find(|path| !path.exists()).unwrap_or_else(|| named(now))
    }

    /// There once its prompts, output and logs were removed to make room.
    pub fn pruned(&self) -> PathBuf {
        self.path.join("pruned")
    }
}

/// The name of an attempt's files in the run folder.
pub fn attempt_label(iteration: u32, number: u32) -> String {
    format!("{iteration:03}-{number}")
}

/// The name of a call's files in the run folder.
pub fn call_label(iteration: u32, purpose: CallPurpose, call: CallId) -> String {
    format!("{iteration:03}-{}-{call}", purpose.name())
}

const RUNS: &str = "runs";
const JOURNAL: &str = "journal.jsonl";

/// The part of a run's name that tells when it began.
fn second(id: &RunId) -> &str {
    id.0.rsplit_once('-').map_or(&id.0, |(second, _)| second)
}

fn has_journal(folder: &Path) -> bool {
    folder.join(JOURNAL).symlink_metadata().is_ok()
}

/// When a run began, by its journal.
fn began(folder: &Path) -> Timestamp {
    let first = reader::first(&folder.join(JOURNAL)).ok().flatten();
    first.map_or(Timestamp::MAX, |record| record.at)
}

/// `YYYYMMDD-HHMMSS-xxxx`.
fn is_run_id(name: &str) -> bool {
    let digits =
        |part: &str, length| part.len() == length && part.bytes().all(|byte| byte.is_ascii_digit());
    let hex_digits = |part: &str| {
        part.len() == 4 && part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    match name.split('-').collect::<Vec<_>>()[..] {
        [date, time, chance] => digits(date, 8) && digits(time, 6) && hex_digits(chance),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn root(variables: &[(&str, &str)]) -> Result<PathBuf, RunDirError> {
        state_root(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        })
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn the_nearest_variable_says_where_state_is() {
        let home = ("HOME", "/h");
        let xdg = ("XDG_STATE_HOME", "/x");
        let ours = ("NIGHTWRIGHT_STATE_DIR", "/s");
        assert_eq!(root(&[home]).unwrap(), Path::new("/h/.local/state/nightwright"));
        assert_eq!(root(&[home, xdg]).unwrap(), Path::new("/x/nightwright"));
        assert_eq!(root(&[home, xdg, ours]).unwrap(), Path::new("/s"));
        assert_eq!(root(&[home, ("NIGHTWRIGHT_STATE_DIR", "")]).unwrap(), root(&[home]).unwrap());
        assert!(matches!(root(&[]), Err(RunDirError::NoHome)));
    }

    #[test]
    fn a_relative_folder_for_state_is_refused_by_the_name_of_its_variable() {
        for name in ["NIGHTWRIGHT_STATE_DIR", "XDG_STATE_HOME", "HOME"] {
            let error = root(&[(name, "here"), ("HOME", "/h")]).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("`{name}` has to be an absolute path, and is `here`")
            );
        }
    }

    #[test]
    fn a_project_is_named_readably_and_told_apart_by_its_path() {
        assert_eq!(project_name(Path::new("/srv/shop")), "shop-e7c7ea0b");
        assert_ne!(project_name(Path::new("/a/shop")), project_name(Path::new("/b/shop")));
        for (path, name) in [
            ("/a/my shop\n", "my-shop--"),
            ("/a/.dot", "dot-"),
            ("/a/ä", "project-"),
            ("/", "project-"),
        ] {
            assert!(project_name(Path::new(path)).starts_with(name), "{path}");
        }
        assert_eq!(project_name(Path::new(&format!("/{}", "x".repeat(255)))).len(), 64 + 9);
    }

    #[test]
    fn a_new_run_has_its_folders_for_its_owner_only() {
        let state = tempfile::tempdir().unwrap();
        let project = state.path().join("nightwright/shop-e7c7ea0b");
        let run = RunDir::create(&project, at("2026-11-15T23:34:12.9+01:00")).unwrap();
        assert!(run.id().0.starts_with("20261115-223412-"), "{}", run.id());
        assert!(is_run_id(&run.id().0), "{}", run.id());
        for folder in [
            state.path().join("nightwright"),
            project,
            run.path().to_owned(),
            run.prompts(),
            run.output(),
        ] {
            let mode = fs::metadata(&folder).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o700, "{}", folder.display());
        }
    }

    #[test]
    fn a_name_that_is_taken_is_not_taken_twice() {
        let state = tempfile::tempdir().unwrap();
        let now = at("2026-11-15T23:34:12Z");
        let mut chances = [[0, 1], [0, 1], [0, 1], [0xAB, 0xCD]].into_iter();
        let mut create = || RunDir::create_with(state.path(), now, || Ok(chances.next().unwrap()));
        assert_eq!(create().unwrap().id().0, "20261115-233412-0001");
        assert_eq!(create().unwrap().id().0, "20261115-233412-abcd");

        let error = RunDir::create_with(state.path(), now, || Ok([0, 1])).unwrap_err();
        assert!(error.to_string().contains("20261115-233412-0001"), "{error}");
    }

    #[test]
    fn runs_are_listed_by_start_and_other_things_are_not_runs() {
        let state = tempfile::tempdir().unwrap();
        assert_eq!(RunDir::list(&state.path().join("none")).unwrap(), []);
        let second = RunDir::create(state.path(), at("2026-11-15T23:34:12Z")).unwrap();
        let first = RunDir::create(state.path(), at("2026-11-15T09:00:00Z")).unwrap();
        fs::create_dir(state.path().join("runs/old")).unwrap();
        for run in [&first, &second] {
            fs::write(run.journal(), "").unwrap();
        }
        let ids = RunDir::list(state.path()).unwrap();
        assert_eq!(ids, [first.id().clone(), second.id().clone()]);
        assert_eq!(RunDir::open(state.path(), &ids[1]).unwrap(), second);
    }

    #[test]
    fn a_run_that_was_never_begun_is_not_listed_and_leaves_nothing_but_what_is_not_its_own() {
        let state = tempfile::tempdir().unwrap();
        let begun = RunDir::create(state.path(), at("2026-11-15T09:00:00Z")).unwrap();
        fs::write(begun.journal(), "").unwrap();
        let [empty, used] = ["2026-11-15T10:00:00Z", "2026-11-15T11:00:00Z"]
            .map(|time| RunDir::create(state.path(), at(time)).unwrap());
        fs::write(empty.lock(), "").unwrap();
        fs::create_dir(empty.path().join(HOOKS)).unwrap();
        fs::write(empty.path().join(HOOKS).join("finished"), "").unwrap();
        fs::write(used.path().join("mine.txt"), "").unwrap();
        assert_eq!(RunDir::list(state.path()).unwrap(), [begun.id().clone()]);
        assert_eq!(RunDir::list_all(state.path()).unwrap().len(), 3);
        for run in [&begun, &empty, &used] {
            run.forget();
        }
        assert!(begun.prompts().is_dir() && used.path().join("mine.txt").exists());
        assert!(!empty.path().exists());
    }

    #[test]
    fn runs_of_the_same_second_are_in_the_order_in_which_they_began() {
        use std::time::Duration;

        use nightwright_core::event::{Event, OperatorEvent, Record};
        use nightwright_core::journal::encode;

        let state = tempfile::tempdir().unwrap();
        let second = at("2026-11-15T23:34:12Z");
        let begin = |chance: u8, millis: Option<i64>| {
            let run = RunDir::create_with(state.path(), second, || Ok([0, chance])).unwrap();
            if let Some(millis) = millis {
                let mut line = Vec::new();
                let at = second + SignedDuration::from_millis(millis);
                let record = Record {
                    at,
                    active: Duration::ZERO,
                    event: Event::Operator(OperatorEvent::Paused),
                };
                encode(&mut line, 1, run.id(), &record);
                fs::write(run.journal(), line).unwrap();
            }
            run.id().clone()
        };
        let [late, begun, early] = [begin(1, Some(700)), begin(2, None), begin(3, Some(30))];
        assert_eq!(RunDir::list_all(state.path()).unwrap(), [early, late, begun]);
    }

    #[test]
    fn an_id_leads_nowhere_but_to_a_run() {
        let state = tempfile::tempdir().unwrap();
        RunDir::create(state.path(), at("2026-11-15T23:34:12Z")).unwrap();
        for id in ["", ".", "..", "../runs", "20261115-233412-zzzz", "20200101-000000-0000"] {
            let error = RunDir::open(state.path(), &RunId(id.to_owned())).unwrap_err();
            assert!(matches!(error, RunDirError::NoRun { .. }), "{id}");
        }
    }
}
