//! The run that a process belongs to, found by its ancestors.
//!
//! Everything that an agent starts stays below the guard of its attempt, however it forks. The guard
//! and nightwright itself hold the locks of their run open, and the kernel shows which files a
//! process has open. A process that the user's service manager starts for the agent is no
//! descendant, and is not recognized.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::process::{Pid, getpid, test_kill_process};

use super::guard;
use super::process_table::ProcessStat;

/// The maximum number of ancestors that are inspected.
const MAX_ANCESTORS: usize = 256;
/// How often the ancestors are read if one of them exits in between.
const MAX_WALKS: usize = 5;
/// The end that the kernel adds to the path of an open file that was deleted.
const DELETED: &str = " (deleted)";

/// The run or conversation that a process belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Membership {
    /// The run with this id.
    Run(String),
    /// A conversation about a task.
    Task,
}

/// Returns what this process belongs to, among the runs in this state folder.
pub fn membership(state: &Path) -> Option<Membership> {
    let state = state.canonicalize().ok()?;
    let Ancestry { pids, .. } = Ancestry::of(getpid());
    pids.into_iter().find_map(|pid| holder_of(role(pid), &open_files(pid), &state))
}

/// Whether a process is a descendant of this one. One that is gone counts as one, because it may
/// have been; so does one whose ancestors are gone.
pub fn is_descendant(pid: i32) -> bool {
    let own = getpid();
    let Some(pid) = Pid::from_raw(pid) else { return false };
    if pid == own {
        return false;
    }
    let Ancestry { pids, is_whole } = Ancestry::of(pid);
    !is_whole || pids.contains(&own)
}

/// Whether a process is alive and runs another program than this one.
pub fn is_other_program(pid: i32) -> bool {
    let pid = Pid::from_raw(pid);
    pid.is_some_and(|pid| ProcessStat::of(pid).is_some() && role(pid) == Role::Other)
}

/// Whether a process has this file open, under this name or under this name before it was deleted.
pub fn has_open(pid: i32, path: &Path) -> bool {
    let pid = Pid::from_raw(pid);
    pid.is_some_and(|pid| open_files(pid).iter().any(|open| open == path))
}

/// The role of an ancestor, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Guard,
    /// The same program as this one.
    Nightwright,
    Other,
}

/// Returns the role of a process by its name or its program, which other processes cannot change. The
/// kernel gives a detached run another name.
fn role(pid: Pid) -> Role {
    let name = |pid: Pid| fs::read_to_string(format!("/proc/{}/comm", pid.as_raw_nonzero())).ok();
    let program = |pid: Pid| {
        let file = fs::metadata(format!("/proc/{}/exe", pid.as_raw_nonzero())).ok()?;
        Some((file.dev(), file.ino()))
    };
    match name(pid) {
        Some(found) if found.trim_end() == guard::NAME => Role::Guard,
        Some(found) if Some(&found) == name(getpid()).as_ref() => Role::Nightwright,
        Some(_) if program(pid).is_some_and(|own| program(getpid()) == Some(own)) => {
            Role::Nightwright
        }
        Some(_) | None => Role::Other,
    }
}

/// Returns what a process with these open files belongs to.
fn holder_of(role: Role, files: &[PathBuf], state: &Path) -> Option<Membership> {
    if role == Role::Other {
        return None;
    }
    let inside = |file: &PathBuf| {
        let names = file.strip_prefix(state).ok()?.iter();
        Some(names.map(|name| name.to_string_lossy().into_owned()).collect::<Vec<_>>())
    };
    let mut found = None;
    for names in files.iter().filter_map(inside) {
        match names.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            [_, "runs", run, "lock" | "tree.lock"] => {
                return Some(Membership::Run((*run).to_owned()));
            }
            // A run holds the lock of its task too.
            [_, name]
                if name.strip_suffix(".lock").is_some_and(|name| name.starts_with("task-")) =>
            {
                found = Some(Membership::Task);
            }
            _ => {}
        }
    }
    found
}

/// The ancestors of a process, the nearest first.
struct Ancestry {
    pids: Vec<Pid>,
    /// Whether the first process of the system was reached, or the first one of another user.
    is_whole: bool,
}

impl Ancestry {
    /// Reads the ancestors again if one of them exits in between, because it hides those above it.
    fn of(pid: Pid) -> Self {
        let mut last = Self::read(pid);
        for _ in 1..MAX_WALKS {
            if last.is_whole {
                break;
            }
            last = Self::read(pid);
        }
        last
    }

    fn read(pid: Pid) -> Self {
        let (mut pids, mut last) = (Vec::new(), pid);
        while pids.len() < MAX_ANCESTORS {
            let Some(stat) = ProcessStat::of(last) else {
                // The system may hide the processes of other users.
                let is_whole = test_kill_process(last) == Err(Errno::PERM);
                return Self { pids, is_whole };
            };
            let Some(parent) = Pid::from_raw(stat.parent) else {
                return Self { pids, is_whole: true };
            };
            pids.push(parent);
            last = parent;
        }
        Self { pids, is_whole: false }
    }
}

/// Returns the paths of the files that a process has open; none if it belongs to another user.
fn open_files(pid: Pid) -> Vec<PathBuf> {
    let entries = fs::read_dir(format!("/proc/{}/fd", pid.as_raw_nonzero()));
    let links = entries.into_iter().flatten().flatten();
    links.filter_map(|entry| fs::read_link(entry.path()).ok()).map(named).collect()
}

/// Returns the name that a file had before it was deleted.
fn named(link: PathBuf) -> PathBuf {
    match link.to_str().and_then(|link| link.strip_suffix(DELETED)) {
        Some(name) => PathBuf::from(name),
        None => link,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_known_by_its_open_locks_in_the_same_state_folder() {
        let state = Path::new("/state");
        let belongs = |path: &str| holder_of(Role::Guard, &[named(path.into())], state);
        let tree = ["/state/p-1/runs/20261118-010203-0a1b/tree.lock".into()];
        assert_eq!(holder_of(Role::Other, &tree, state), None, "it only tests the lock");
        let run = || Some(Membership::Run("20261118-010203-0a1b".to_owned()));
        for (path, expected) in [
            ("/state/p-1/runs/20261118-010203-0a1b/tree.lock", run()),
            ("/state/p-1/runs/20261118-010203-0a1b/lock", run()),
            ("/state/p-1/runs/20261118-010203-0a1b/lock (deleted)", run()),
            ("/state/p-1/task-fix.lock", Some(Membership::Task)),
            ("/state/p-1/runs/20261118-010203-0a1b/journal.jsonl", None),
            ("/state/p-1/project.lock", None),
            ("/elsewhere/p-1/runs/20261118-010203-0a1b/tree.lock", None),
            ("/dev/null", None),
        ] {
            assert_eq!(belongs(path), expected, "{path}");
        }
    }

    #[test]
    fn a_child_is_a_descendant_and_this_process_and_its_parent_are_not() {
        let own = getpid().as_raw_nonzero().get();
        assert!(!is_descendant(own));
        assert!(!is_descendant(1));
        assert!(!is_descendant(0));
        assert!(is_descendant(i32::MAX), "a process that is gone may have been one");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("file");
        let _file = fs::File::create(&path).unwrap();
        assert!(has_open(own, &path));
        fs::remove_file(&path).unwrap();
        assert!(has_open(own, &path), "the file is still open");
        assert!(!has_open(own, Path::new("/nowhere")));
    }
}
