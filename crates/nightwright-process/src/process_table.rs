//! The processes of the machine, as the kernel lists them in `/proc`. Where there is no such list
//! it is empty, and whoever asks has to do with less.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use rustix::process::{Pid, Signal};

/// One process at the moment of the look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: Pid,
    pub(crate) stat: ProcessStat,
}

/// What the kernel says of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessStat {
    /// Its parent; 0 for those the kernel started.
    pub(crate) parent: i32,
    /// The session it is in.
    pub(crate) session: i32,
    /// Whether it is dead, and only its parent has not taken note yet.
    pub dead: bool,
    /// When it was started, in clock ticks since the machine was: a later process with the same
    /// number has another.
    pub started: u64,
}

impl ProcessStat {
    /// Reads a line of `/proc/PID/stat`. The second field is a name in brackets that may itself
    /// have brackets and blanks; behind it the third is the state, the fourth the parent, the
    /// sixth the session and the 22nd the start.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let (_, fields) = line.rsplit_once(')')?;
        let mut fields = fields.split_ascii_whitespace();
        let dead = matches!(fields.next()?, "Z" | "X");
        let parent = fields.next()?.parse().ok()?;
        let session = fields.nth(1)?.parse().ok()?;
        let started = fields.nth(15)?.parse().ok()?;
        Some(Self { parent, session, dead, started })
    }

    /// Of a process that is there.
    pub fn of(pid: Pid) -> Option<Self> {
        let line = fs::read(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
        Self::parse(&String::from_utf8_lossy(&line))
    }
}

impl Process {
    /// Sends a signal, unless this very process is gone. Says whether it was sent.
    pub(crate) fn signal(&self, signal: Signal) -> bool {
        use rustix::io::Errno;
        use rustix::process::{PidfdFlags, kill_process, pidfd_open, pidfd_send_signal};
        // The handle stands for whoever has the number now; if that one began at the same tick as
        // ours, it is ours, and stays so however the number is used afterwards.
        let handle = pidfd_open(self.pid, PidfdFlags::empty());
        let same = ProcessStat::of(self.pid).is_some_and(|stat| stat.started == self.stat.started);
        match handle {
            Ok(handle) => same && pidfd_send_signal(&handle, signal).is_ok(),
            Err(Errno::SRCH) => false,
            // An old kernel, or a sandbox that knows no handles: then the number has to do, a
            // moment after it was checked.
            Err(_) => same && kill_process(self.pid, signal).is_ok(),
        }
    }
}

/// Whether there is a list at all.
pub(crate) fn is_there() -> bool {
    ProcessStat::of(rustix::process::getpid()).is_some()
}

/// All processes.
pub(crate) fn all() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .filter_map(|entry| {
            let pid = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let pid = Pid::from_raw(pid)?;
            // One that is gone by now is none.
            Some(Process { pid, stat: ProcessStat::of(pid)? })
        })
        .collect()
}

/// Those of `all` that descend from one of `roots`, which are not among them; the dead are left
/// out.
pub(crate) fn below(all: &[Process], roots: &BTreeSet<i32>) -> Vec<Process> {
    let mut children: BTreeMap<i32, Vec<&Process>> = BTreeMap::new();
    for process in all {
        children.entry(process.stat.parent).or_default().push(process);
    }
    let mut found = Vec::new();
    let mut open: Vec<i32> = roots.iter().copied().collect();
    while let Some(parent) = open.pop() {
        // Taken out, so that even a list that was read while numbers changed hands has an end.
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
