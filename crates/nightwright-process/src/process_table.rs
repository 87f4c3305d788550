//! The process table of the machine, read from `/proc`. It is empty on systems without `/proc`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use rustix::process::{Pid, Signal};

/// A process at the time of the scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: Pid,
    pub(crate) stat: ProcessStat,
}

/// The fields of `/proc/PID/stat` that identify a process and its relatives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessStat {
    /// The parent's process ID; 0 for processes started by the kernel.
    pub(crate) parent: i32,
    /// The session ID of the process.
    pub(crate) session: i32,
    /// Whether the process is a zombie: dead, but not yet reaped by its parent.
    pub dead: bool,
    /// The start time in clock ticks since boot. It differs for a later process with the same ID.
    pub started: u64,
}

impl ProcessStat {
    /// Parses a line of `/proc/PID/stat`. The second field is a name in parentheses that may itself
    /// contain parentheses and spaces. After it, field 3 is the state, 4 the parent, 6 the session
    /// and 22 the start time.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let (_, fields) = line.rsplit_once(')')?;
        let mut fields = fields.split_ascii_whitespace();
        let dead = matches!(fields.next()?, "Z" | "X");
        let parent = fields.next()?.parse().ok()?;
        let session = fields.nth(1)?.parse().ok()?;
        let started = fields.nth(15)?.parse().ok()?;
        Some(Self { parent, session, dead, started })
    }

    /// Reads the fields of a living process.
    pub fn of(pid: Pid) -> Option<Self> {
        let line = fs::read(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
        Self::parse(&String::from_utf8_lossy(&line))
    }
}

/// The nesting depth of the PID namespace of a process, as seen from here.
pub(crate) fn namespace_depth(pid: Pid) -> Option<usize> {
    let status = fs::read(format!("/proc/{}/status", pid.as_raw_nonzero())).ok()?;
    depth_in(&String::from_utf8_lossy(&status))
}

/// Counts the IDs of a process, one per namespace, in its `/proc/PID/status`.
fn depth_in(status: &str) -> Option<usize> {
    let ids = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    Some(ids.split_ascii_whitespace().count())
}

impl Process {
    /// Sends a signal unless this process has exited, and returns whether it was sent.
    pub(crate) fn signal(&self, signal: Signal) -> bool {
        use rustix::io::Errno;
        use rustix::process::{PidfdFlags, kill_process, pidfd_open, pidfd_send_signal};
        // The handle refers to the current owner of the process ID. If the start times match, it is
        // the same process, even if the ID is reused later.
        let handle = pidfd_open(self.pid, PidfdFlags::empty());
        let same = ProcessStat::of(self.pid).is_some_and(|stat| stat.started == self.stat.started);
        match handle {
            Ok(handle) => same && pidfd_send_signal(&handle, signal).is_ok(),
            Err(Errno::SRCH) => false,
            // Old kernels and some sandboxes have no handles. The process ID must do, right after
            // it was checked.
            Err(_) => same && kill_process(self.pid, signal).is_ok(),
        }
    }
}

/// Sends SIGINT to the process with this ID, if `is_right` holds while the process cannot be
/// confused with a later one. Returns whether it was sent.
pub fn interrupt(pid: i32, is_right: impl Fn() -> bool) -> bool {
    let Some(pid) = Pid::from_raw(pid) else { return false };
    let Some(stat) = ProcessStat::of(pid) else { return false };
    is_right() && Process { pid, stat }.signal(Signal::INT)
}

/// Whether this system has a process table.
pub(crate) fn is_there() -> bool {
    ProcessStat::of(rustix::process::getpid()).is_some()
}

pub(crate) fn all() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .filter_map(|entry| {
            let pid = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let pid = Pid::from_raw(pid)?;
            // A process that has exited is skipped.
            Some(Process { pid, stat: ProcessStat::of(pid)? })
        })
        .collect()
}

/// Returns the living descendants of `roots`, without the roots.
pub(crate) fn below(all: &[Process], roots: &BTreeSet<i32>) -> Vec<Process> {
    let mut children: BTreeMap<i32, Vec<&Process>> = BTreeMap::new();
    for process in all {
        children.entry(process.stat.parent).or_default().push(process);
    }
    let mut found = Vec::new();
    let mut open: Vec<i32> = roots.iter().copied().collect();
    while let Some(parent) = open.pop() {
        // Removed, so that the loop ends even if process IDs were reused during the scan.
        for child in children.remove(&parent).unwrap_or_default() {
            open.push(child.pid.as_raw_nonzero().get());
            if !child.stat.dead {
                found.push(*child);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: i32, parent: i32) -> Process {
        let pid = Pid::from_raw(pid).unwrap();
        Process { pid, stat: ProcessStat { parent, session: 1, dead: false, started: 7 } }
    }

    fn numbers(processes: &[Process]) -> BTreeSet<i32> {
        processes.iter().map(|process| process.pid.as_raw_nonzero().get()).collect()
    }

    #[test]
    fn the_facts_are_found_behind_any_name() {
        let rest = "42 1 41 0 -1 4194304 9 0 0 0 1 2 0 0 20 0 1 0 555 1000 10";
        for name in ["(sleep)", "(a b)", "(a) S 1 (b)"] {
            let stat = ProcessStat { parent: 42, session: 41, dead: false, started: 555 };
            assert_eq!(ProcessStat::parse(&format!("43 {name} S {rest}")), Some(stat), "{name}");
            let stat = ProcessStat { dead: true, ..stat };
            assert_eq!(ProcessStat::parse(&format!("43 {name} Z {rest}")), Some(stat), "{name}");
        }
        assert_eq!(ProcessStat::parse(""), None);
        assert_eq!(ProcessStat::parse("43 (sleep) S"), None);
    }

    #[test]
    fn a_process_in_a_nested_namespace_has_more_ids() {
        assert_eq!(depth_in("Name:\tnode\nNSpid:\t4711\t5\nNSsid:\t1\n"), Some(2));
        assert_eq!(depth_in("Name:\tsh\nNSpid:\t4711\n"), Some(1));
        assert_eq!(depth_in("Name:\tsh\n"), None);
        assert!(namespace_depth(rustix::process::getpid()).is_some());
    }

    #[test]
    fn descendants_are_found_however_deep_and_strangers_are_not() {
        let mut dead = process(14, 11);
        dead.stat.dead = true;
        let all = [
            process(1, 0),
            process(13, 12),
            process(10, 1),
            process(11, 10),
            process(12, 11),
            process(20, 1),
            dead,
            process(15, 14),
        ];
        let found = below(&all, &BTreeSet::from([10]));
        assert_eq!(numbers(&found), BTreeSet::from([11, 12, 13, 15]));
        assert_eq!(below(&all, &BTreeSet::from([99])), []);
    }

    #[test]
    fn a_list_that_goes_round_in_circles_has_an_end() {
        let all = [process(2, 3), process(3, 2)];
        assert_eq!(numbers(&below(&all, &BTreeSet::from([2]))), BTreeSet::from([2, 3]));
    }

    #[test]
    fn a_number_that_was_given_to_another_process_is_not_signalled() {
        let me = rustix::process::getpid();
        let stat = ProcessStat::of(me).unwrap();
        assert!(all().contains(&Process { pid: me, stat }));
        let earlier = Process { pid: me, stat: ProcessStat { started: stat.started - 1, ..stat } };
        assert!(!earlier.signal(Signal::KILL));
    }
}
