//! The locations of the state of projects and runs.
//!
//! ```text
//! STATE/temp/                          the temporary folders in use, see `temp_folder`
//! STATE/PROJECT-xxxxxxxx/              the folder's name and a hash of its full path
//!   project.lock  task-NAME.lock
//!   runs/20261115-233412-7f3a/         start in UTC and four random digits
//!     journal.jsonl  lock  tree.lock  control.sock  iterate-*.log  prompts/  output/  checks/
//! ```
//!
//! All of it is outside the project: an agent that cleans, resets or deletes the project cannot
//! delete the journal.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use nightwright_core::event::{AttemptEvent, CallEvent, CallPurpose, Event};
use nightwright_core::hook::Hook;
use nightwright_core::run_report::RunPaths;
use nightwright_core::run_view::RunView;
use nightwright_core::units::{CallId, RunId};
use ring::digest::{SHA256, digest};

use super::journal::error::StoreFileError;
use super::journal::private::{create_folder, create_folders};
use super::journal::{RESERVE_EXTENSION, reader};
use crate::error::Failure;
use crate::hex::hex;
use crate::random;

/// How many names are tried for a new run. With 65,536 names per second, one is almost always
/// enough.
const MAX_NAME_TRIES: u32 = 16;

/// Maximum characters of the project's name in the name of its state folder.
const MAX_NAME_CHARS: usize = 64;

/// The name of the log of hooks, in the run folder.
pub const HOOK_LOG: &str = "hooks.log";
/// The name of the request log of the rehearsal agent, in the run folder.
pub const REHEARSAL_LOG: &str = "rehearsal.log";
/// The name of the file with the unmasked texts of the journal, in the run folder.
pub const UNMASKED: &str = "unmasked.json";
/// The name of the folder for copies of hooks, in the run folder.
pub const HOOKS: &str = "hooks";

/// The folder of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunDir {
    id: RunId,
    path: PathBuf,
}

/// A folder for state cannot be found or created.
#[derive(Debug, thiserror::Error)]
pub enum RunDirError {
    /// A variable contains a relative path.
    #[error("`{variable}` must be an absolute path, but is `{}`", value.display())]
    NotAbsolute { variable: &'static str, value: PathBuf },
    /// No variable names a place for state.
    #[error("none of `NIGHTWRIGHT_STATE_DIR`, `XDG_STATE_HOME` and `HOME` is set")]
    NoHome,
    /// A file operation failed.
    #[error(transparent)]
    File(#[from] StoreFileError),
    /// There is no such run.
    #[error("there is no run `{id}` in `{}`", folder.display())]
    NoRun {
        id: RunId,
        /// The folder that should contain it.
        folder: PathBuf,
    },
}

/// Returns the folder for all state, according to the environment.
pub fn state_root(
    variable: impl Fn(&'static str) -> Option<OsString>,
) -> Result<PathBuf, RunDirError> {
    for (name, below) in [
        ("NIGHTWRIGHT_STATE_DIR", ""),
        ("XDG_STATE_HOME", "nightwright"),
        ("HOME", ".local/state/nightwright"),
    ] {
        // An empty variable counts as unset.
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

/// Returns the folder for the state of a project. The project must exist; its state need not.
pub fn project_folder(root: &Path, project: &Path) -> Result<PathBuf, RunDirError> {
    let canonical = project.canonicalize().map_err(StoreFileError::on("find", project))?;
    Ok(root.join(project_name(&canonical)))
}

/// Returns the folder for the state of a project, according to the environment.
pub fn state_of(project: &Path) -> Result<PathBuf, Failure> {
    let folder = state_root(env::var_os).and_then(|root| project_folder(&root, project));
    folder.map_err(|error| Failure::because(&error))
}

/// Returns the name of a project's state folder: a readable part, and a hash that makes it unique.
fn project_name(canonical: &Path) -> String {
    let name = canonical.file_name().unwrap_or_default().to_string_lossy();
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' }
    };
    let name: String = name.chars().map(plain).take(MAX_NAME_CHARS).collect();
    // A name that `ls` hides or that looks like an option is inconvenient.
    let name = match name.trim_start_matches(['.', '-']) {
        "" => "project",
        name => name,
    };
    let hash = digest(&SHA256, canonical.as_os_str().as_bytes());
    format!("{name}-{}", hex(&hash.as_ref()[..4]))
}

impl RunDir {
    /// Creates the folder of a new run.
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
            let digits =
                chance().map_err(StoreFileError::on("choose a name for a run in", &runs))?;
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

    /// Opens the folder of an existing run.
    pub fn open(project_folder: &Path, id: &RunId) -> Result<Self, RunDirError> {
        let folder = project_folder.join(RUNS);
        let path = folder.join(&id.0);
        // The id may come from a command line: neither it nor a link may lead outside the folder.
        if is_run_id(&id.0) && path.symlink_metadata().is_ok_and(|facts| facts.is_dir()) {
            Ok(Self { id: id.clone(), path })
        } else {
            Err(RunDirError::NoRun { id: id.clone(), folder })
        }
    }

    /// Lists the runs of a project that have a journal, oldest first. A folder without one belongs
    /// to a run that has not started, or never will.
    pub fn list(project_folder: &Path) -> Result<Vec<RunId>, RunDirError> {
        let runs = project_folder.join(RUNS);
        let mut ids = Self::list_all(project_folder)?;
        ids.retain(|id| has_journal(&runs.join(&id.0)));
        Ok(ids)
    }

    /// Lists all run folders of a project, oldest first.
    ///
    /// Their names contain the second of the start. Runs of the same second are ordered by the
    /// start time in their journals; a run without one comes last.
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
                // A link may lead outside the state folder.
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

    /// Whether the run has a journal.
    pub fn is_begun(&self) -> bool {
        has_journal(&self.path)
    }

    /// Whether the journal contains anything, or something else is in its place.
    fn is_recorded(&self) -> bool {
        let journal = self.journal().symlink_metadata();
        journal.is_ok_and(|found| !found.is_file() || found.len() > 0)
    }

    /// Removes the folder of a run that never started: its journal is missing or empty. If the folder
    /// contains foreign files, they stay, and so does the folder; it is not listed and is harmless.
    pub fn forget(&self) {
        if self.is_recorded() {
            return;
        }
        let unmasked = self.path.join(UNMASKED);
        let journal = self.journal();
        let reserve = journal.with_extension(RESERVE_EXTENSION);
        for file in [journal, reserve, self.seal(), unmasked, self.lock(), self.tree_lock()] {
            // Each of them may be missing.
            let _ = fs::remove_file(file);
        }
        let copies = self.path.join(HOOKS);
        // A link in its place would lead to foreign files.
        if fs::symlink_metadata(&copies).is_ok_and(|found| found.is_dir()) {
            for hook in Hook::ALL {
                // Most runs have none of them.
                let _ = fs::remove_file(copies.join(hook.name()));
            }
        }
        for folder in [&copies, &self.prompts(), &self.output(), &self.path] {
            // `remove_dir` fails if a folder is not empty.
            let _ = fs::remove_dir(folder);
        }
    }

    pub fn id(&self) -> &RunId {
        &self.id
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The state folder of the project.
    pub fn project_folder(&self) -> &Path {
        let runs = self.path.parent().and_then(Path::parent);
        runs.unwrap_or(&self.path)
    }

    /// The path of the journal.
    pub fn journal(&self) -> PathBuf {
        self.path.join(JOURNAL)
    }

    /// The seal of the journal, outside the folder.
    pub fn seal(&self) -> PathBuf {
        self.project_folder().join(SEALS).join(&self.id.0)
    }

    /// The lock of the process that executes the run.
    pub fn lock(&self) -> PathBuf {
        self.path.join("lock")
    }

    /// The lock that guards hold while a process of the run is alive.
    pub fn tree_lock(&self) -> PathBuf {
        self.path.join("tree.lock")
    }

    /// The socket by which other processes send requests to the run.
    pub fn socket(&self) -> PathBuf {
        self.path.join("control.sock")
    }

    /// The folder of the prompts that the agent received.
    pub fn prompts(&self) -> PathBuf {
        self.path.join("prompts")
    }

    /// The folder of the agent's raw output.
    pub fn output(&self) -> PathBuf {
        self.path.join("output")
    }

    /// The folder of the checks' output.
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

    /// The paths of the files that a person reads.
    pub fn paths(&self) -> RunPaths {
        let (run_folder, journal) = (self.path.clone(), self.journal());
        RunPaths { run_folder, journal, log: self.logs().pop() }
    }

    /// Returns the path for the readable log of the process that starts now. The name is the time
    /// of the start, or the next second without a log.
    pub fn new_log(&self, now: Timestamp) -> PathBuf {
        let named =
            |at: Timestamp| self.path.join(format!("iterate-{}.log", at.strftime("%Y%m%d-%H%M%S")));
        let later =
            (0..i64::from(MAX_NAME_TRIES)).map(|second| now + SignedDuration::from_secs(second));
        later.map(named).find(|path| !path.exists()).unwrap_or_else(|| named(now))
    }

    /// The file that marks a run whose prompts, output and logs were removed.
    pub fn pruned(&self) -> PathBuf {
        self.path.join("pruned")
    }
}

/// Returns the base name of an attempt's files in the run folder.
pub fn attempt_label(iteration: u32, number: u32) -> String {
    format!("{iteration:03}-{number}")
}

/// Returns the base name of a call's files in the run folder.
pub fn call_label(iteration: u32, purpose: CallPurpose, call: CallId) -> String {
    format!("{iteration:03}-{}-{call}", purpose.name())
}

/// Returns the base name of the output that begins with an event; `None` if none does. The view
/// already includes the event.
pub fn output_label(view: &RunView, event: &Event) -> Option<String> {
    let (iteration, number) =
        view.iteration.map_or((0, 1), |current| (current.number.0, current.attempts));
    if let Event::Attempt(AttemptEvent::Started { .. }) = event {
        Some(attempt_label(iteration, number))
    } else if let Event::Call(CallEvent::Started { call, purpose, .. }) = event {
        Some(call_label(iteration, *purpose, *call))
    } else {
        None
    }
}

pub(super) const RUNS: &str = "runs";
/// The folder of the seals in the state folder of a project.
pub(super) const SEALS: &str = "seals";
const JOURNAL: &str = "journal.jsonl";

/// Returns the part of a run's id that contains the time of its start.
fn second(id: &RunId) -> &str {
    id.0.rsplit_once('-').map_or(&id.0, |(second, _)| second)
}

fn has_journal(folder: &Path) -> bool {
    folder.join(JOURNAL).symlink_metadata().is_ok()
}

/// Returns the start of a run, from its journal.
fn began(folder: &Path) -> Timestamp {
    let first = reader::first(&folder.join(JOURNAL)).ok().flatten();
    first.map_or(Timestamp::MAX, |record| record.at)
}

/// Whether a name has the form `YYYYMMDD-HHMMSS-xxxx`.
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
                format!("`{name}` must be an absolute path, but is `here`")
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
        fs::write(begun.journal(), "{}\n").unwrap();
        for run in [&begun, &empty, &used] {
            run.forget();
        }
        assert!(begun.prompts().is_dir() && used.path().join("mine.txt").exists());
        assert!(!empty.path().exists());
    }

    #[test]
    fn a_run_whose_first_event_was_not_recorded_leaves_nothing() {
        let state = tempfile::tempdir().unwrap();
        let run = RunDir::create(state.path(), at("2026-11-15T09:00:00Z")).unwrap();
        fs::create_dir(state.path().join(SEALS)).unwrap();
        let reserve = run.journal().with_extension(RESERVE_EXTENSION);
        for file in [run.journal(), reserve, run.seal(), run.lock(), run.path().join(UNMASKED)] {
            fs::write(file, "").unwrap();
        }
        assert_eq!(RunDir::list(state.path()).unwrap(), [run.id().clone()]);
        run.forget();
        assert!(!run.path().exists() && !run.seal().exists());
        assert_eq!(RunDir::list(state.path()).unwrap(), []);
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
