//! Watched programs: processes without a guard, for the self-test. The self-test runs nightwright
//! and kills it, to see what happens to the processes below it.
//!
//! The output goes to files, so it needs no reader. The program leads its own process group, so
//! Ctrl-C reaches only the watcher. The watcher is a [subreaper](super::become_subreaper), so no
//! process escapes it, and [`end_guards`](super::end_guards) kills any that are left.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, getpid, kill_process};

use super::child::Exit;
use super::orphans::{self, OwnChild};
use super::process_table::{self, Process, ProcessStat};

/// The complete description of a program to watch.
#[derive(Debug)]
pub struct WatchedCommand<'a> {
    /// The path of the program.
    pub program: &'a Path,
    pub arguments: &'a [OsString],
    /// The complete environment; nothing is inherited.
    pub environment: &'a [(OsString, OsString)],
    /// The working directory of the program.
    pub directory: &'a Path,
    /// The file that receives standard output.
    pub output: File,
    /// The file that receives standard error.
    pub complaints: File,
}

/// A running program. It is killed when this value is dropped; its guards handle the processes
/// below it.
#[derive(Debug)]
pub struct WatchedProgram {
    child: Child,
    /// Every process that was ever seen below the program.
    family: ProcessFamily,
    exit: Option<Exit>,
    _noted: OwnChild,
}

impl WatchedProgram {
    pub fn start(errand: WatchedCommand<'_>) -> io::Result<Self> {
        let mut command = Command::new(errand.program);
        command
            .args(errand.arguments)
            .env_clear()
            .envs(errand.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(errand.directory)
            .stdin(Stdio::null())
            .stdout(errand.output)
            .stderr(errand.complaints)
            .process_group(0);
        let (child, noted) = orphans::start_blocking(&mut command)?;
        Ok(Self { child, family: ProcessFamily::default(), exit: None, _noted: noted })
    }

    /// Records the processes below the program, and returns its exit if it has ended.
    pub fn poll(&mut self) -> io::Result<Option<Exit>> {
        if self.exit.is_none() {
            // The process ID is not reused before the exit is collected.
            self.family.add_descendants(self.number());
            self.exit = self.child.try_wait()?.map(Exit::from);
        }
        Ok(self.exit)
    }

    /// Sends a signal to the program alone.
    pub fn signal(&self, signal: Signal) {
        if self.exit.is_none()
            && let Some(pid) = self.number().and_then(Pid::from_raw)
        {
            // If the program is dead by now, the next poll sees it.
            let _ = kill_process(pid, signal);
        }
    }

    /// Every process that was ever seen below the program.
    pub fn family(&self) -> &ProcessFamily {
        &self.family
    }

    fn number(&self) -> Option<i32> {
        i32::try_from(self.child.id()).ok()
    }
}

impl Drop for WatchedProgram {
    fn drop(&mut self) {
        if self.exit.is_none() {
            // An error means that the program is already dead.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// A set of processes, each identified by process ID and start time, so that a reused ID is not
/// mistaken for it.
#[derive(Clone, Debug, Default)]
pub struct ProcessFamily {
    members: BTreeSet<(i32, u64)>,
}

impl ProcessFamily {
    /// Adds processes from lines of `/proc/PID/stat`. Incomplete lines are skipped.
    pub fn add_noted(&mut self, notes: &str) {
        for line in notes.lines() {
            let number = line.split_once(' ').and_then(|(number, _)| number.parse().ok());
            if let (Some(number), Some(stat)) = (number, ProcessStat::parse(line)) {
                self.members.insert((number, stat.started));
            }
        }
    }

    /// Adds the processes of another family.
    pub fn add(&mut self, other: &Self) {
        self.members.extend(&other.members);
    }

    /// Process ID and command of every living process of the family and its descendants, for
    /// display.
    pub fn alive(&mut self) -> Vec<String> {
        self.add_descendants(None);
        self.living(&process_table::all()).iter().map(shown).collect()
    }

    /// Kills every living process of the family.
    pub fn end(&mut self) {
        self.add_descendants(None);
        for process in self.living(&process_table::all()) {
            process.signal(Signal::KILL);
        }
    }

    /// Adds all descendants of the living processes, and of `root`.
    fn add_descendants(&mut self, root: Option<i32>) {
        let all = process_table::all();
        let mut roots: BTreeSet<i32> = self.living(&all).iter().map(number).collect();
        roots.extend(root);
        self.members.extend(process_table::below(&all, &roots).iter().map(key));
    }

    fn living(&self, all: &[Process]) -> Vec<Process> {
        let living =
            |process: &&Process| !process.stat.dead && self.members.contains(&key(process));
        all.iter().filter(living).copied().collect()
    }
}

/// Whether this system has a process table that shows which processes are alive.
pub fn can_be_watched() -> bool {
    process_table::is_there()
}

/// All living descendants of the current process, for display.
pub fn live_descendants() -> Vec<String> {
    process_table::below(&process_table::all(), &BTreeSet::from([getpid().as_raw_nonzero().get()]))
        .iter()
        .map(shown)
        .collect()
}

fn number(process: &Process) -> i32 {
    process.pid.as_raw_nonzero().get()
}

fn key(process: &Process) -> (i32, u64) {
    (number(process), process.stat.started)
}

fn shown(process: &Process) -> String {
    let command = fs::read(format!("/proc/{}/cmdline", number(process))).unwrap_or_default();
    let command = String::from_utf8_lossy(&command).replace('\0', " ");
    format!("{} {}", number(process), command.trim_end())
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;
    use std::time::Duration;

    use super::*;

    fn start(script: &str) -> WatchedProgram {
        let nowhere = || File::options().write(true).open("/dev/null").unwrap();
        WatchedProgram::start(WatchedCommand {
            program: Path::new("/bin/sh"),
            arguments: &["-c".into(), script.into()],
            environment: &[("PATH".into(), "/usr/bin:/bin".into())],
            directory: Path::new("/"),
            output: nowhere(),
            complaints: nowhere(),
        })
        .unwrap()
    }

    fn until(mut fact: impl FnMut() -> bool) {
        for _ in 0..1000 {
            if fact() {
                return;
            }
            sleep(Duration::from_millis(10));
        }
        panic!("it never came");
    }

    #[test]
    fn descendants_are_known_and_can_be_killed_after_the_programs_death() {
        let mut watched = start("sleep 300 & sleep 300");
        // A process that is just being started has no command yet.
        let sleeps = |alive: &[String]| alive.iter().all(|who| who.ends_with(" sleep 300"));
        until(|| {
            watched.poll().unwrap();
            watched.family.members.len() == 2 && sleeps(&watched.family.alive())
        });
        watched.signal(Signal::KILL);
        until(|| watched.poll().unwrap().is_some());
        assert_eq!(watched.poll().unwrap().and_then(Exit::signal), Some(9));
        let mut family = watched.family().clone();
        let alive = family.alive();
        assert_eq!(alive.len(), 2, "{alive:?}");
        assert!(sleeps(&alive), "{alive:?}");
        family.end();
        until(|| family.alive().is_empty());
    }

    #[test]
    fn a_registered_process_is_not_confused_with_a_reused_pid() {
        let note = fs::read_to_string("/proc/self/stat").unwrap();
        let mut family = ProcessFamily::default();
        family.add_noted(&note);
        assert_eq!(family.members.len(), 1);
        assert!(!family.alive().is_empty());
        let mut earlier = ProcessFamily::default();
        earlier.members.extend(family.members.iter().map(|&(number, at)| (number, at - 1)));
        assert_eq!(earlier.alive(), [""; 0]);
        family.add_noted("17 (half a li");
        family.add_noted("no number at all");
    }
}
