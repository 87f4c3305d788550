//! Orphans: processes of a guard that was killed, or of a crashed run.
//!
//! Two properties identify an orphan. A process that loses its guard becomes a child of
//! nightwright, which is a subreaper too. Every program that a guard starts carries a mark in its
//! environment, which its children inherit. Captured commands have no mark.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nightwright_core::units::RunId;
use rustix::process::{Signal, WaitOptions, getpid, waitpid};

use super::guard::wire::KillScope;
use super::process_table::{self, Process};
use super::stale_cgroups::KilledProcess;

/// The environment variable that carries the mark.
pub const MARK: &str = "NIGHTWRIGHT_MARK";

/// The time that orphans get between SIGTERM and SIGKILL.
pub(super) const GRACE: Duration = Duration::from_secs(2);
/// The time that killed processes get to disappear. After that they are stuck in the kernel.
const KILL_TIMEOUT: Duration = Duration::from_secs(2);
/// The interval between two scans of the process table.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// The part of an environment that is searched for the mark, in bytes.
const MAX_ENVIRONMENT: usize = 4 << 20;

/// Guards of hooks. They may outlive nightwright, which does not wait for them.
static HOOK_GUARDS: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// Children started on purpose: guards and captured commands.
static KNOWN: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// Whether this process adopts orphans, so that an unknown child is one.
static ADOPTING: AtomicBool = AtomicBool::new(false);

/// Makes this process a subreaper. From then on, every child that is neither a guard nor a
/// captured command counts as an orphan.
pub fn become_subreaper() {
    if rustix::process::set_child_subreaper(Some(getpid())).is_ok() {
        ADOPTING.store(true, Ordering::Relaxed);
    }
}

/// The number of running guards and captured commands.
pub fn guards() -> usize {
    known().len()
}

/// A registered child, until this value is dropped.
#[derive(Debug)]
pub(super) struct OwnChild(i32);

impl Drop for OwnChild {
    fn drop(&mut self) {
        known().remove(&self.0);
        hook_guards().remove(&self.0);
    }
}

/// Starts a guard, registered so that a concurrent search for orphans skips it.
pub(super) fn start(
    guard: &mut tokio::process::Command,
    reach: KillScope,
) -> io::Result<(tokio::process::Child, OwnChild)> {
    let mut known = match reach {
        KillScope::AllDescendants => known(),
        KillScope::Session => hook_guards(),
    };
    let child = guard.spawn()?;
    // A child that was just started and not waited for has a process ID.
    let number = child.id().and_then(|number| i32::try_from(number).ok()).unwrap_or_default();
    known.insert(number);
    Ok((child, OwnChild(number)))
}

/// Like [`start`], for the guard of a captured command, or the command itself.
pub(super) fn start_blocking(
    reader: &mut std::process::Command,
) -> io::Result<(std::process::Child, OwnChild)> {
    let mut known = known();
    let child = reader.spawn()?;
    let number = i32::try_from(child.id()).unwrap_or_default();
    known.insert(number);
    Ok((child, OwnChild(number)))
}

/// Kills all guards and captured commands, and everything below them. For callers that cannot wait
/// for an unresponsive guard.
pub fn end_guards() {
    for process in process_table::all().iter().filter(|process| known().contains(&number(process)))
    {
        process.signal(Signal::KILL);
    }
    end(None, Duration::ZERO);
}

fn known() -> MutexGuard<'static, BTreeSet<i32>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn hook_guards() -> MutexGuard<'static, BTreeSet<i32>> {
    HOOK_GUARDS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether processes are left after everything was killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Survivors {
    /// No process is left.
    None,
    /// At least one process may not be signalled, or is stuck in the kernel.
    Some,
}

/// Kills every process that lost its guard: adopted children, and processes that carry `mark`.
pub(super) fn end(mark: Option<&str>, grace: Duration) -> Survivors {
    end_all(grace, || orphans(&process_table::all(), mark), |_| {})
}

/// Sends SIGTERM, waits, and sends SIGKILL to every process found, until none is left or time is
/// up. Calls `see` with each process before its first signal.
fn end_all(
    grace: Duration,
    find: impl Fn() -> Vec<Process>,
    mut see: impl FnMut(&Process),
) -> Survivors {
    let mut ended = BTreeSet::new();
    let begin = Instant::now();
    loop {
        let found = find();
        if found.is_empty() {
            return Survivors::None;
        }
        if begin.elapsed() > grace + KILL_TIMEOUT {
            return Survivors::Some;
        }
        for process in found {
            let first = ended.insert((process.pid.as_raw_nonzero(), process.stat.started));
            if first {
                see(&process);
            }
            if begin.elapsed() >= grace {
                process.signal(Signal::KILL);
            } else if first {
                process.signal(Signal::TERM);
            }
        }
        thread::sleep(POLL_INTERVAL);
    }
}

fn number(process: &Process) -> i32 {
    process.pid.as_raw_nonzero().get()
}

fn orphans(all: &[Process], mark: Option<&str>) -> Vec<Process> {
    let us = getpid().as_raw_nonzero().get();
    // Read after the scan: a child that was started since then is not in the list.
    let mut known = known().clone();
    known.extend(hook_guards().iter());
    let adopted: BTreeSet<i32> = all
        .iter()
        .filter(|process| ADOPTING.load(Ordering::Relaxed) && process.stat.parent == us)
        .filter(|process| !known.contains(&number(process)))
        .inspect(|process| {
            if process.stat.dead {
                // No other code waits for this process.
                let _ = waitpid(Some(process.pid), WaitOptions::NOHANG);
            }
        })
        .map(number)
        .collect();
    let mut found = process_table::below(all, &adopted);
    found.extend(all.iter().filter(|process| {
        let ours = adopted.contains(&number(process));
        !process.stat.dead && (ours || (mark.is_some() && carried(process).as_deref() == mark))
    }));
    found
}

/// Kills every process that carries the mark of a run that `is_left_over`, and returns them.
pub fn sweep(is_left_over: impl Fn(&RunId) -> bool) -> Vec<KilledProcess> {
    let us = getpid();
    let run_of = |process: &Process| {
        let mark = carried(process)?;
        let run = RunId(mark.split_once('.')?.0.to_owned());
        is_left_over(&run).then_some(run)
    };
    let mut killed = Vec::new();
    let left_over = || {
        let all = process_table::all();
        let marked = |process: &&Process| {
            process.pid != us && !process.stat.dead && run_of(process).is_some()
        };
        all.iter().filter(marked).copied().collect()
    };
    // A process that survives is stuck in the kernel. Its run is known.
    let _ = end_all(GRACE, left_over, |process| {
        killed.extend(run_of(process).map(|run| KilledProcess::of(number(process), run.0)));
    });
    killed
}

/// The mark in a process's environment, if it has one and the environment is readable.
fn carried(process: &Process) -> Option<String> {
    let environment = fs::read(format!("/proc/{}/environ", process.pid.as_raw_nonzero())).ok()?;
    mark_in(&environment[..environment.len().min(MAX_ENVIRONMENT)])
}

fn mark_in(environment: &[u8]) -> Option<String> {
    environment.split(|&byte| byte == 0).find_map(|entry| {
        let value = entry.strip_prefix(MARK.as_bytes())?.strip_prefix(b"=")?;
        String::from_utf8(value.to_vec()).ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_found_by_its_whole_name() {
        assert_eq!(mark_in(b"A=1\0NIGHTWRIGHT_MARK=run.1.f\0B=2\0").as_deref(), Some("run.1.f"));
        assert_eq!(mark_in(b"XNIGHTWRIGHT_MARK=a\0NIGHTWRIGHT_MARKS=b\0NIGHTWRIGHT_MARK\0"), None);
        assert_eq!(mark_in(b""), None);
    }
}
