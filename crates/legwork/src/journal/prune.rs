//! Makes room: what is heavy of old runs goes, their journals stay.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use legwork_core::event::Event;
use legwork_core::units::RunId;

use super::error::FileError;
use super::private;
use super::run_dir::RunDir;
use crate::logs::Logs;

/// A run, as far as it matters here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weighed {
    /// Which.
    pub id: RunId,
    /// Whether it has come to its end.
    pub state: State,
    /// How much room its prompts, output and logs take.
    pub bytes: u64,
}

/// Whether a run has come to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It has, and nobody goes on with it.
    Ended {
        /// When.
        at: Timestamp,
    },
    /// It is going on, can be gone on with, or nobody can tell.
    Open,
}

/// Which runs have to give up what is heavy: of those that have ended all but the last `keep`, then
/// the oldest until all runs together take no more than `most` bytes. The last one that ended gives
/// up nothing. They are named the oldest first, by their ends: one that was gone on with is as old
/// as its last end.
pub fn to_prune(runs: &[Weighed], keep: u32, most: Option<u64>) -> Vec<RunId> {
    let mut ended: Vec<_> = runs
        .iter()
        .filter_map(|run| match run.state {
            State::Ended { at } => Some((at, run)),
            State::Open => None,
        })
        .collect();
    ended.sort_by_key(|(at, _)| *at);
    let Some((_, older)) = ended.split_last() else { return Vec::new() };
    let keep = usize::try_from(keep).unwrap_or(usize::MAX);
    let too_many = ended.len().saturating_sub(keep);
    let mut bytes = runs.iter().fold(0_u64, |sum, run| sum.saturating_add(run.bytes));
    let mut goes = Vec::new();
    for (index, (_, run)) in older.iter().enumerate() {
        let too_much = most.is_some_and(|most| bytes > most);
        if run.bytes > 0 && (index < too_many || too_much) {
            bytes = bytes.saturating_sub(run.bytes);
            goes.push(run.id.clone());
        }
    }
    goes
}

/// Makes room among the runs of a project. Gives what people should know, if it went wrong. Whoever
/// calls it holds the project's lock.
pub fn prune(home: &Path, logs: &Logs) -> Option<String> {
    let runs = RunDir::list(home).ok()?;
    let folders = runs.iter().filter_map(|run| RunDir::open(home, run).ok());
    let heavy: Vec<_> = folders.map(|run| (weight(&run), run)).collect();
    let weighed: Vec<_> = heavy.iter().map(|(bytes, run)| weigh(*bytes, run)).collect();
    let goes = to_prune(&weighed, logs.keep_runs, logs.max_bytes);
    let mut wrong = None;
    for (_, run) in heavy.iter().filter(|(_, run)| goes.contains(run.id())) {
        if let Err(error) = empty(run) {
            wrong.get_or_insert(error);
        }
    }
    let FileError { path, source, .. } = wrong?;
    Some(format!("old runs could not be pruned: can't remove `{}`: {source}", path.display()))
}

fn weigh(bytes: u64, run: &RunDir) -> Weighed {
    // One that has nothing to give up need not be read.
    let end = if bytes > 0 { end(run) } else { None };
    let state = end.map_or(State::Open, |at| State::Ended { at });
    Weighed { id: run.id().clone(), state, bytes }
}

/// When a run ended that nobody goes on with.
fn end(run: &RunDir) -> Option<Timestamp> {
    let journal = super::read(&run.journal()).ok()?;
    let last = journal.records.last()?;
    let ended = journal.torn.is_none() && matches!(last.event, Event::RunFinished { .. });
    let free = super::lock::is_free(&run.lock()) && super::lock::is_free(&run.tree_lock());
    (ended && free).then_some(last.at)
}

/// What is heavy of a run: folders that are emptied, and files.
fn parts(run: &RunDir) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let folders = vec![run.output(), run.prompts(), run.checks(), run.path().join("tmp")];
    (folders, run.logs())
}

fn weight(run: &RunDir) -> u64 {
    let (folders, files) = parts(run);
    let all = folders.iter().chain(&files);
    all.map(|path| size(path)).fold(0, u64::saturating_add)
}

/// The size of a file or of all files of a folder. What can't be looked at weighs nothing.
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

/// Whether it is a folder itself, and not a link to one.
fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|facts| facts.is_dir())
}

/// Removes what is heavy, unless somebody has just begun to go on with the run. The folders stay:
/// a run that is gone on with writes there.
fn empty(run: &RunDir) -> Result<(), FileError> {
    // Held until the end, without a name in it: nobody runs this run.
    let lock = match File::open(run.lock()) {
        Ok(lock) if lock.try_lock().is_err() => return Ok(()),
        Ok(lock) => Some(lock),
        Err(_) => None,
    };
    // Said first: a run that is half empty is one that was pruned.
    match private::create_file(&run.pruned()) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(FileError::on("create", &run.pruned())(error));
        }
        Ok(_) | Err(_) => {}
    }
    let (folders, files) = parts(run);
    // A link is not followed: what it leads to is not ours.
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
            wrong = Err(FileError::on("remove", path)(error));
        }
    }
    drop(lock);
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run that ended so many seconds after the beginning of all time.
    fn ended(second: i64, bytes: u64) -> Weighed {
        let state = State::Ended { at: Timestamp::from_second(second).unwrap() };
        Weighed { id: RunId(second.to_string()), state, bytes }
    }

    fn open(bytes: u64) -> Weighed {
        Weighed { id: RunId("open".to_owned()), state: State::Open, bytes }
    }

    fn goes(runs: &[Weighed], keep: u32, most: Option<u64>) -> Vec<String> {
        to_prune(runs, keep, most).into_iter().map(|id| id.0).collect()
    }

    #[test]
    fn the_oldest_go_until_so_many_are_left() {
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
    fn one_that_was_gone_on_with_is_as_old_as_its_last_end() {
        let runs = [ended(9, 10), ended(2, 10), ended(3, 10)];
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
    fn one_that_was_pruned_is_not_pruned_again() {
        let runs = [open(0), ended(2, 10), ended(3, 10)];
        assert_eq!(goes(&runs, 1, None), ["2"]);
    }
}
