//! A program that is watched and not guarded: who wants to see what becomes of everything below it
//! when it is killed must not have it ended by somebody else. This is how the self-test plays runs
//! of our own binary.
//!
//! Its output goes into files, so nobody has to read along. It leads a group of its own: a Ctrl-C
//! is for whoever watches. Nothing of it gets out of sight for good, because whoever watches is a
//! [subreaper](super::become_subreaper), and [`end_guards`](super::end_guards) ends whoever is left.

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

/// What to start, complete.
#[derive(Debug)]
pub struct WatchedCommand<'a> {
    /// The program, by its path.
    pub program: &'a Path,
    /// Its arguments.
    pub arguments: &'a [OsString],
    /// Its whole environment.
    pub environment: &'a [(OsString, OsString)],
    /// Where it runs.
    pub directory: &'a Path,
    /// Where its standard output goes.
    pub output: File,
    /// Where its standard error goes.
    pub complaints: File,
}

/// A program at work. It is killed when this is dropped; what is below it is its guards' business.
#[derive(Debug)]
pub struct WatchedProgram {
    child: Child,
    /// Who was ever seen below it.
    family: ProcessFamily,
    exit: Option<Exit>,
    _noted: OwnChild,
}

impl WatchedProgram {
    /// Starts it.
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
        let (child, noted) = orphans::start_reader(&mut command)?;
        Ok(Self { child, family: ProcessFamily::default(), exit: None, _noted: noted })
    }

    /// Looks who is below it, and whether it has ended.
    pub fn poll(&mut self) -> io::Result<Option<Exit>> {
        if self.exit.is_none() {
            // Its number is its own until its end is taken note of.
            self.family.add_descendants(self.number());
            self.exit = self.child.try_wait()?.map(Exit::from);
        }
        Ok(self.exit)
    }

    /// Sends it a signal, and nobody else.
    pub fn signal(&self, signal: Signal) {
        if self.exit.is_none()
            && let Some(pid) = self.number().and_then(Pid::from_raw)
        {
            // Dead in the meantime: then its end is seen next.
            let _ = kill_process(pid, signal);
        }
    }

    /// Who was ever seen below it.
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
            // Dead already, which is what is wanted.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Processes, each known by its number and the time of its start, so that no later one with the
/// same number is taken for it.
#[derive(Clone, Debug, Default)]
pub struct ProcessFamily {
    members: BTreeSet<(i32, u64)>,
}

impl ProcessFamily {
    /// Adds those who noted themselves: lines of `/proc/PID/stat`. Half a line is none.
    pub fn add_noted(&mut self, notes: &str) {
        for line in notes.lines() {
            let number = line.split_once(' ').and_then(|(number, _)| number.parse().ok());
            if let (Some(number), Some(stat)) = (number, ProcessStat::parse(line)) {
                self.members.insert((number, stat.started));
            }
        }
    }

    /// Adds those of another.
    pub fn add(&mut self, other: &Self) {
        self.members.extend(&other.members);
    }

    /// Who of them, and of those below them, is alive: number and command, for people.
    pub fn alive(&mut self) -> Vec<String> {
        self.add_descendants(None);
        self.living(&process_table::all()).iter().map(shown).collect()
    }

    /// Kills whoever is alive.
    pub fn end(&mut self) {
        self.add_descendants(None);
        for process in self.living(&process_table::all()) {
            process.signal(Signal::KILL);
        }
    }

    /// Takes in everybody below those who are alive, and below `root`.
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

/// Whether this system can say who is alive at all.
pub fn can_be_watched() -> bool {
    process_table::is_there()
}

/// Everybody below ourselves who is alive, for people.
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
    fn who_was_below_a_program_is_known_after_its_death_and_can_be_ended() {
        let mut watched = start("sleep 300 & sleep 300");
        until(|| {
            watched.poll().unwrap();
            watched.family.members.len() == 2
        });
        watched.signal(Signal::KILL);
        until(|| watched.poll().unwrap().is_some());
        assert_eq!(watched.poll().unwrap().and_then(Exit::signal), Some(9));
        let mut family = watched.family().clone();
        let alive = family.alive();
        assert_eq!(alive.len(), 2, "{alive:?}");
        assert!(alive.iter().all(|who| who.ends_with(" sleep 300")), "{alive:?}");
        family.end();
        until(|| family.alive().is_empty());
    }

    #[test]
    fn who_noted_itself_is_known_and_a_later_process_of_its_number_is_not() {
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
