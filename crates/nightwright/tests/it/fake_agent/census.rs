//! Finds the living processes of a test: by the notes that they write, and by the environment
//! entries that children inherit.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// How often it is looked again.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Counts the processes of one test, and of no other.
#[derive(Clone, Debug)]
pub(crate) struct Census {
    /// Lines of `/proc/PID/stat`, as processes have copied them.
    pub(crate) notes: PathBuf,
    /// Entries of an environment, the beginnings of them, that only processes of this test have.
    pub(crate) signs: Vec<String>,
}

/// One process, and no later one with the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CountedProcess {
    pid: i32,
    started: u64,
}

impl CountedProcess {
    /// Reads a line of `/proc/PID/stat`; `None` for one that is dead and only not buried, or for
    /// half a line.
    fn parse(line: &str) -> Option<Self> {
        let pid = line.split_once(' ')?.0.parse().ok()?;
        let mut fields = line.rsplit_once(')')?.1.split_ascii_whitespace();
        let dead = matches!(fields.next()?, "Z" | "X");
        let started = fields.nth(18)?.parse().ok()?;
        (!dead).then_some(Self { pid, started })
    }

    /// Returns the process that currently has this ID.
    fn with_number(pid: &str) -> Option<Self> {
        let line = fs::read(format!("/proc/{pid}/stat")).ok()?;
        Self::parse(&String::from_utf8_lossy(&line))
    }

    fn is_alive(&self) -> bool {
        Self::with_number(&self.pid.to_string()) == Some(*self)
    }

    /// Returns the process ID and the command, for messages.
    fn shown(&self) -> String {
        let command = fs::read(format!("/proc/{}/cmdline", self.pid)).unwrap_or_default();
        format!("{} {}", self.pid, String::from_utf8_lossy(&command).replace('\0', " "))
    }
}

impl Census {
    /// How many processes have left a note of themselves.
    pub(crate) fn noted(&self) -> usize {
        self.notes().len()
    }

    /// Those of the processes with notes that are alive: quick to find out.
    pub(crate) fn noted_alive(&self) -> Vec<String> {
        self.noted_living().iter().map(CountedProcess::shown).collect()
    }

    /// All that are alive.
    pub(crate) fn alive(&self) -> Vec<String> {
        self.living().iter().map(CountedProcess::shown).collect()
    }

    /// Fails if any process is alive.
    #[track_caller]
    pub(crate) fn nobody(&self, when: &str) {
        let alive = self.alive();
        assert!(alive.is_empty(), "{when}: still alive: {alive:#?}");
    }

    /// Waits until no process is alive, and returns how long it took.
    #[track_caller]
    pub(crate) fn empty_within(&self, patience: Duration) -> Duration {
        let begun = Instant::now();
        loop {
            if self.noted_living().is_empty() && self.living().is_empty() {
                return begun.elapsed();
            }
            if begun.elapsed() > patience {
                let alive = self.alive();
                assert!(alive.is_empty(), "still alive after {patience:?}: {alive:#?}");
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Kills the remaining processes of a failed test.
    pub(crate) fn end(&self) {
        for process in self.living() {
            if let Some(pid) = Pid::from_raw(process.pid) {
                // The process may have exited in the meantime.
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }

    fn notes(&self) -> Vec<CountedProcess> {
        let notes = fs::read_to_string(&self.notes).unwrap_or_default();
        notes.lines().filter_map(CountedProcess::parse).collect()
    }

    fn noted_living(&self) -> Vec<CountedProcess> {
        self.notes().into_iter().filter(CountedProcess::is_alive).collect()
    }

    fn living(&self) -> Vec<CountedProcess> {
        let mut living = self.noted_living();
        for entry in fs::read_dir("/proc").unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.bytes().all(|byte| byte.is_ascii_digit())
                && self.is_signed(&path)
                && let Some(process) = CountedProcess::with_number(&name)
                && !living.contains(&process)
            {
                living.push(process);
            }
        }
        living
    }

    fn is_signed(&self, process: &Path) -> bool {
        let environment = fs::read(process.join("environ")).unwrap_or_default();
        environment
            .split(|byte| *byte == 0)
            .any(|entry| self.signs.iter().any(|sign| entry.starts_with(sign.as_bytes())))
    }
}
