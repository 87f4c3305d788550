//! Stale cgroups: those whose creator and guard are both dead. Their processes may have cleared the
//! mark by which orphans are found.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use nightwright_core::display::one_line;
use rustix::process::Pid;

use super::containment::{groups_folder, maker_of, number_space, run_of};
use super::guard::{self, KILL, MEMBERS};
use super::process_table::{self, Process};

/// The time that killed processes get to disappear.
const KILL_TIMEOUT: Duration = Duration::from_secs(2);
/// The number of characters of a command line that are shown.
const COMMAND: usize = 80;
/// The interval between two checks.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A process left over from an earlier run, which was killed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KilledProcess {
    pub pid: i32,
    /// The command line, truncated if it is long.
    pub command: String,
    /// The run that started the process.
    pub run: String,
}

impl KilledProcess {
    /// Describes a process that still exists.
    pub(super) fn of(pid: i32, run: String) -> Self {
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words: Vec<_> = words.split(|&byte| byte == 0).map(String::from_utf8_lossy).collect();
        Self { pid, command: one_line(words.join(" ").trim(), COMMAND), run }
    }
}

impl fmt::Display for KilledProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pid {} `{}` (run {})", self.pid, self.command, self.run)
    }
}

/// Kills every process in a stale cgroup of this state folder's runs, and removes the cgroup.
/// Returns the killed processes.
pub fn kill_stale_cgroups(state: &Path) -> Vec<KilledProcess> {
    let Some(entries) = groups_folder().and_then(|folder| fs::read_dir(folder).ok()) else {
        return Vec::new();
    };
    let space = number_space();
    let mut killed = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let maker = maker_of(name, &space).and_then(Pid::from_raw);
        if maker.is_none_or(|maker| process_table::ProcessStat::of(maker).is_some()) {
            continue;
        }
        match run_of(name, state) {
            Some(run) => killed.extend(end(&entry.path(), run)),
            // Processes of another state folder are left alone. An empty cgroup belongs to no run.
            None => drop(fs::remove_dir(entry.path())),
        }
    }
    killed
}

fn end(group: &Path, run: &str) -> Vec<KilledProcess> {
    let members = members(group);
    if !members.is_disjoint(&guarded(&process_table::all())) {
        // Their guard is still alive, and is terminating them with a grace period.
        return Vec::new();
    }
    let killed = members.iter().map(|pid| KilledProcess::of(*pid, run.to_owned())).collect();
    if !members.is_empty() {
        // This fails only if the cgroup is gone, and its processes with it.
        let _ = fs::write(group.join(KILL), "1");
    }
    let begin = Instant::now();
    while fs::remove_dir(group).is_err() && group.exists() && begin.elapsed() < KILL_TIMEOUT {
        thread::sleep(POLL_INTERVAL);
    }
    killed
}

fn members(group: &Path) -> BTreeSet<i32> {
    let list = fs::read_to_string(group.join(MEMBERS)).unwrap_or_default();
    list.lines().filter_map(|number| number.parse().ok()).collect()
}

/// All processes below any guard.
fn guarded(all: &[Process]) -> BTreeSet<i32> {
    let number = |process: &Process| process.pid.as_raw_nonzero().get();
    let is_guard = |process: &&Process| {
        let words = fs::read(format!("/proc/{}/cmdline", number(process))).unwrap_or_default();
        words.split(|&byte| byte == 0).next() == Some(guard::NAME.as_bytes())
    };
    let guards = all.iter().filter(is_guard).map(number).collect();
    process_table::below(all, &guards).iter().map(number).collect()
}
