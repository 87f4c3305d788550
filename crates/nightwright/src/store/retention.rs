//! Retention: removes the prompts, output and logs of old runs, and keeps their journals.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use nightwright_core::run_view::RunView;
use nightwright_core::units::RunId;

use super::journal::error::StoreFileError;
use super::journal::private;
use super::run_dir::{HOOK_LOG, REHEARSAL_LOG, RUNS, RunDir, SEALS};
use crate::config::log_settings::LogSettings;
use crate::files;

/// A folder without a journal is abandoned after this time: no run takes as long to start.
const START: Duration = Duration::from_hours(1);

/// The facts about a run that decide whether it is pruned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrunableRun {
    pub id: RunId,
    pub state: PruneState,
    /// The size of its prompts, output and logs, in bytes.
    pub bytes: u64,
}

/// Whether a run has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PruneState {
    /// The run has ended, and no process has resumed it.
    Ended { at: Timestamp, purpose: RunPurpose },
    /// The run is active, can be resumed, or its state is unknown.
    Open,
}

/// The purpose of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunPurpose {
    /// The agent worked on a task.
    Work,
    /// The run only verified existing work. There may be many of these per working run, so they are
    /// counted separately.
    Judge,
}

/// Returns the runs to prune, oldest first.
///
/// Prunes all ended runs except the last `keep`, then the oldest until all runs together take at
/// most `most` bytes. Runs that only verified are counted separately and pruned first.
///
/// Never prunes the run of each kind that ended last or started last. `runs` are in the order of
/// their starts. The age of a resumed run is that of its last end.
pub fn to_prune(runs: &[PrunableRun], keep: u32, most: Option<u64>, now: Timestamp) -> Vec<RunId> {
    let keep = usize::try_from(keep).unwrap_or(usize::MAX);
    let mut bytes = runs.iter().fold(0_u64, |sum, run| sum.saturating_add(run.bytes));
    let mut goes = Vec::new();
    for wanted in [RunPurpose::Judge, RunPurpose::Work] {
        let ended = runs.iter().filter_map(|run| match run.state {
            PruneState::Ended { at, purpose } if purpose == wanted => Some((at, run)),
            PruneState::Ended { .. } | PruneState::Open => None,
        });
        let mut ended: Vec<_> = ended.collect();
        let begun_last = ended.last().map(|(_, run)| &run.id);
        // An end in the future means that the clock was set back later, so all other runs are
        // newer.
        ended.sort_by_key(|(at, _)| (*at <= now, *at));
        let too_many = ended.len().saturating_sub(keep);
        let older = &ended[..ended.len().saturating_sub(1)];
        for (index, (_, run)) in older.iter().enumerate() {
            let too_much = most.is_some_and(|most| bytes > most);
            let may_go = run.bytes > 0 && Some(&run.id) != begun_last;
            if may_go && (index < too_many || too_much) {
                bytes = bytes.saturating_sub(run.bytes);
                goes.push(run.id.clone());
            }
        }
    }
    goes
}

/// Prunes the runs of a project. Returns a warning if that failed. The caller holds the project's
/// lock.
pub fn prune(home: &Path, logs: &LogSettings) -> Option<String> {
    let runs = RunDir::list_all(home).ok()?;
    let folders: Vec<_> = runs.iter().filter_map(|run| RunDir::open(home, run).ok()).collect();
    folders.iter().filter(|run| is_abandoned(run)).for_each(RunDir::forget);
    remove_seals(home);
    let heavy: Vec<_> = folders.into_iter().map(|run| (weight(&run), run)).collect();
    let weighed: Vec<_> = heavy.iter().map(|(bytes, run)| weigh(*bytes, run)).collect();
    let goes = to_prune(&weighed, logs.keep_runs, logs.max_bytes, Timestamp::now());
    let mut wrong = None;
    for (_, run) in heavy.iter().filter(|(_, run)| goes.contains(run.id())) {
        if let Err(error) = empty(run) {
            wrong.get_or_insert(error);
        }
    }
    let StoreFileError { path, source, .. } = wrong?;
    Some(format!("cannot prune old runs: cannot remove `{}`: {source}", path.display()))
}

/// Removes the seals of runs whose folders are gone.
fn remove_seals(home: &Path) {
    let seals = fs::read_dir(home.join(SEALS)).into_iter().flatten().flatten();
    for seal in seals {
        if !home.join(RUNS).join(seal.file_name()).exists() {
            // A seal without a run is of no use, and of no harm.
            let _ = fs::remove_file(seal.path());
        }
    }
}

/// Whether the folder is old and was left by a process that crashed before the run started.
fn is_abandoned(run: &RunDir) -> bool {
    let made = fs::metadata(run.path()).and_then(|facts| facts.modified());
    let old = made.is_ok_and(|made| made.elapsed().is_ok_and(|age| age > START));
    old && !run.is_begun() && super::lock::is_free(&run.lock())
}

fn weigh(bytes: u64, run: &RunDir) -> PrunableRun {
    // A run without files to remove need not be read.
    let end = if bytes > 0 { end(run) } else { None };
    PrunableRun { id: run.id().clone(), state: end.unwrap_or(PruneState::Open), bytes }
}

/// Returns the end of a run that no process has resumed.
fn end(run: &RunDir) -> Option<PruneState> {
    let mut view = RunView::default();
    let torn = super::journal::walk(&run.journal(), |record| view.record(&record)).ok()?;
    let free = super::lock::is_free(&run.lock()) && super::lock::is_free(&run.tree_lock());
    let ended = view.finished.is_some() && torn.is_none() && free;
    let purpose = if view.is_only_the_gate() { RunPurpose::Judge } else { RunPurpose::Work };
    view.at.filter(|_| ended).map(|at| PruneState::Ended { at, purpose })
}

/// Returns the large parts of a run: the folders to empty, and the files to remove.
fn parts(run: &RunDir) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let folders = vec![run.output(), run.prompts(), run.checks()];
    let mut files = run.logs();
    let logs = [HOOK_LOG, REHEARSAL_LOG].map(|name| run.path().join(name));
    files.extend(logs.into_iter().filter(|log| log.exists()));
    (folders, files)
}

fn weight(run: &RunDir) -> u64 {
    let (folders, files) = parts(run);
    let all = folders.iter().chain(&files);
    all.map(|path| size(path)).fold(0, u64::saturating_add)
}

/// Returns the size of a file, or of all files in a folder; 0 if it cannot be read.
fn size(path: &Path) -> u64 {
    match fs::symlink_metadata(path) {
        Ok(facts) if facts.is_dir() => {
            let entries = fs::read_dir(path).into_iter().flatten().flatten();
            entries.map(|entry| size(&entry.path())).fold(0, u64::saturating_add)
        }
        Ok(facts) => facts.len(),
        Err(_) => 0,
    }
}

/// Whether the path is a folder, not a link to one.
fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|facts| facts.is_dir())
}

/// Removes the large parts, unless another process has just resumed the run. The folders stay,
/// because a resumed run writes there.
fn empty(run: &RunDir) -> Result<(), StoreFileError> {
    // Held until the end, without a name: this process does not execute the run.
    let lock = match files::open_regular(&run.lock()) {
        Ok(lock) if lock.try_lock().is_err() => return Ok(()),
        Ok(lock) => Some(lock),
        Err(_) => None,
    };
    // Written first: a partly pruned run counts as pruned.
    match private::create_file(&run.pruned()) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(StoreFileError::on("create", &run.pruned())(error));
        }
        Ok(_) | Err(_) => {}
    }
    let (folders, files) = parts(run);
    // A link is not followed: its target does not belong to the run.
    let folders = folders.iter().filter(|folder| is_folder(folder));
    let inside = folders.flat_map(|folder| fs::read_dir(folder).into_iter().flatten());
    let inside: Vec<_> = inside.flatten().map(|entry| entry.path()).collect();
    let mut wrong = Ok(());
    for path in inside.iter().chain(&files) {
        let removed =
            if is_folder(path) { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        if let Err(error) = removed
            && wrong.is_ok()
        {
            wrong = Err(StoreFileError::on("remove", path)(error));
        }
    }
    drop(lock);
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    /// A run that ended `second` seconds after the epoch.
    fn ended(second: i64, bytes: u64) -> PrunableRun {
        let at = Timestamp::from_second(second).unwrap();
        let state = PruneState::Ended { at, purpose: RunPurpose::Work };
        PrunableRun { id: RunId(second.to_string()), state, bytes }
    }

    /// A run that only verified existing work.
    fn judged(second: i64, bytes: u64) -> PrunableRun {
        let at = Timestamp::from_second(second).unwrap();
        let state = PruneState::Ended { at, purpose: RunPurpose::Judge };
        PrunableRun { state, ..ended(second, bytes) }
    }

    fn open(bytes: u64) -> PrunableRun {
        PrunableRun { id: RunId("open".to_owned()), state: PruneState::Open, bytes }
    }

    fn goes(runs: &[PrunableRun], keep: u32, most: Option<u64>) -> Vec<String> {
        goes_at(100, runs, keep, most)
    }

    fn goes_at(now: i64, runs: &[PrunableRun], keep: u32, most: Option<u64>) -> Vec<String> {
        let now = Timestamp::from_second(now).unwrap();
        to_prune(runs, keep, most, now).into_iter().map(|id| id.0).collect()
    }

    #[test]
    fn the_oldest_go_until_keep_runs_are_left() {
        let runs: Vec<_> = (1..=5).map(|number| ended(number, 10)).collect();
        assert_eq!(goes(&runs, 20, None), [""; 0]);
        assert_eq!(goes(&runs, 2, None), ["1", "2", "3"]);
        assert_eq!(goes(&[], 1, Some(1)), [""; 0]);
    }

    #[test]
    fn the_oldest_go_until_the_rest_has_room() {
        let runs: Vec<_> = (1..=5).map(|number| ended(number, 10)).collect();
        assert_eq!(goes(&runs, 20, Some(50)), [""; 0]);
        assert_eq!(goes(&runs, 20, Some(49)), ["1"]);
        assert_eq!(goes(&runs, 20, Some(25)), ["1", "2", "3"]);
    }

    #[test]
    fn the_last_that_ended_stays_whatever_it_weighs() {
        let runs = [ended(1, 10), ended(2, 1_000)];
        assert_eq!(goes(&runs, 1, Some(1)), ["1"]);
        assert_eq!(goes(&runs[1..], 1, Some(1)), [""; 0]);
    }

    #[test]
    fn a_resumed_run_is_as_old_as_its_last_end() {
        let runs = [ended(9, 10), ended(2, 10), ended(3, 10), ended(4, 10)];
        assert_eq!(goes(&runs, 1, None), ["2", "3"]);
    }

    #[test]
    fn one_that_has_not_ended_stays_and_its_room_counts() {
        let runs = [open(100), ended(2, 10), open(100), ended(4, 10), open(100)];
        assert_eq!(goes(&runs, 1, None), ["2"]);
        assert_eq!(goes(&runs, 20, Some(310)), ["2"]);
        assert_eq!(goes(&runs, 20, Some(320)), [""; 0]);
    }

    #[test]
    fn those_that_only_judged_push_out_none_that_worked() {
        let runs = [ended(1, 10), judged(2, 10), ended(3, 10), judged(4, 10), judged(5, 10)];
        assert_eq!(goes(&runs, 2, None), ["2"]);
        assert_eq!(goes(&runs, 1, None), ["2", "4", "1"]);
        assert_eq!(goes(&runs, 20, Some(35)), ["2", "4"]);
        assert_eq!(goes(&runs, 20, Some(1)), ["2", "4", "1"]);
    }

    #[test]
    fn a_clock_that_was_set_back_does_not_make_the_last_run_the_oldest() {
        // The clock was set back after the first two had ended.
        let runs = [ended(7, 10), ended(8, 10), ended(2, 10)];
        assert_eq!(goes_at(3, &runs, 1, None), ["7", "8"]);
        assert_eq!(goes_at(3, &runs, 2, None), ["7"]);
        assert_eq!(goes_at(3, &runs[1..], 1, Some(1)), ["8"]);
        // The clock was set back during the last run.
        let last = PrunableRun { id: RunId("9".to_owned()), ..ended(2, 10) };
        assert_eq!(goes_at(20, &[ended(7, 10), ended(8, 10), last], 1, None), ["7"]);
    }

    #[test]
    fn one_that_was_pruned_is_not_pruned_again() {
        let runs = [open(0), ended(2, 10), ended(3, 10)];
        assert_eq!(goes(&runs, 1, None), ["2"]);
    }

    #[test]
    fn a_run_that_was_never_begun_goes_once_no_process_can_be_starting_it() {
        let home = tempfile::tempdir().unwrap();
        let times = ["09:00:00", "10:00:00", "11:00:00", "12:00:00"];
        let [old, held, begun, new] = times.map(|time| {
            let at: Timestamp = format!("2026-11-15T{time}Z").parse().unwrap();
            RunDir::create(home.path(), at).unwrap()
        });
        fs::write(begun.journal(), "").unwrap();
        let lock = File::create(held.lock()).unwrap();
        lock.lock().unwrap();
        let long_ago = std::time::SystemTime::now() - START - Duration::from_mins(1);
        for run in [&old, &held, &begun] {
            File::open(run.path()).unwrap().set_modified(long_ago).unwrap();
        }
        let logs = LogSettings { dir: None, keep_runs: 20, max_bytes: None };
        assert_eq!(prune(home.path(), &logs), None);
        assert_eq!(
            [old, held, begun, new].map(|run| run.path().exists()),
            [false, true, true, true]
        );
    }
}
