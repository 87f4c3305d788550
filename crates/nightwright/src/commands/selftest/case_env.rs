//! The isolated environment of one case: a project, a home and a state, without files of the user.

use std::env;
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::cases::{CHECK, CaseAction, SelftestCase, USUAL};
use super::expectations::{self, Mismatch, Shortfall};
use super::observation::CaseObservation;
use crate::agent::program::locate;
use crate::process::{Exit, ProcessFamily, WatchedCommand, WatchedProgram, can_be_watched};

/// The interval at which a run is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How long processes may live after a normal end of the run.
const PROCESS_EXIT_TIMEOUT: Duration = Duration::from_secs(1);
/// How long processes may live after the runner was killed.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum characters of standard error that are shown.
const MAX_STDERR_CHARS: usize = 300;

/// The scripts in the home of the agent.
const HOME: [(&str, &str); 4] = [
    ("family.sh", include_str!("scripts/family.sh")),
    ("ignore_signals.sh", include_str!("scripts/ignore_signals.sh")),
    ("look.sh", include_str!("scripts/look.sh")),
    ("noise.sh", include_str!("scripts/noise.sh")),
];
/// The script that runs a command on a small disk.
const SMALL_DISK: &str = include_str!("scripts/small_disk.sh");

/// The folder of one case, and its known processes. None of them outlives this value.
pub(super) struct CaseEnv<'a> {
    folder: &'a Path,
    program: &'a Path,
    deadline: Instant,
    stop: &'a AtomicBool,
    environment: Vec<(OsString, OsString)>,
    family: ProcessFamily,
}

impl Drop for CaseEnv<'_> {
    fn drop(&mut self) {
        self.family.end();
    }
}

impl<'a> CaseEnv<'a> {
    /// Creates the folder with all its files.
    pub(super) fn set(
        folder: &'a Path,
        program: &'a Path,
        case: &SelftestCase,
        deadline: Instant,
        stop: &'a AtomicBool,
    ) -> Result<Self, Shortfall> {
        let make = || {
            for name in ["", "project", "state", "home", "config", "tmp", "kept"] {
                DirBuilder::new().mode(0o700).recursive(true).create(folder.join(name))?;
            }
            for (name, text) in HOME {
                fs::write(folder.join("home").join(name), text)?;
            }
            fs::write(folder.join("home/notes"), "")?;
            fs::write(folder.join("small_disk.sh"), SMALL_DISK)?;
            fs::write(folder.join("script.toml"), case.script)
        };
        make().map_err(|error: io::Error| {
            failed(format!("cannot create the folder `{}`: {error}", folder.display()))
        })?;
        let environment = environment(folder, case);
        Ok(Self { folder, program, deadline, stop, environment, family: ProcessFamily::default() })
    }

    /// Executes the case and returns the observation.
    pub(super) fn play(&mut self, case: &SelftestCase) -> Result<CaseObservation, Shortfall> {
        // One leaves processes behind, and the other writes into the agent's stream from outside.
        let needs_proc = ["family.sh", "noise.sh"].iter().any(|name| case.script.contains(name));
        if needs_proc && !can_be_watched() {
            let why = "this system has no list of processes in /proc";
            return Err(Shortfall::NotTested(why.to_owned()));
        }
        let (state, exit, survivors) = match case.act {
            CaseAction::Leave => {
                let mut run = self.start(self.program, &self.run(), "run")?;
                let exit = self.see_out(&mut run)?;
                ("state", exit, self.survivors(PROCESS_EXIT_TIMEOUT)?)
            }
            CaseAction::Terminate => {
                let mut run = self.start(self.program, &self.run(), "run")?;
                self.until_ready(&mut run)?;
                run.signal(Signal::TERM);
                let exit = self.see_out(&mut run)?;
                ("state", exit, self.survivors(PROCESS_EXIT_TIMEOUT)?)
            }
            CaseAction::KillAndResume => {
                let mut run = self.start(self.program, &self.run(), "run")?;
                self.until_ready(&mut run)?;
                run.signal(Signal::KILL);
                self.see_out(&mut run)?;
                let mut survivors = self.survivors(EXIT_TIMEOUT)?;
                let mut resumed = self.start(self.program, &self.resume(), "resume")?;
                let exit = self.see_out(&mut resumed)?;
                survivors.extend(self.survivors(PROCESS_EXIT_TIMEOUT)?);
                ("state", exit, survivors)
            }
            CaseAction::SmallDisk => {
                let exit = self.on_a_small_disk()?;
                ("kept", exit, self.survivors(PROCESS_EXIT_TIMEOUT)?)
            }
        };
        let complaint = self.complaint();
        Ok(CaseObservation { exit: Some(exit), survivors, complaint, ..self.seen(state) })
    }

    /// Returns the observation of the run so far.
    fn seen(&self, state: &str) -> CaseObservation {
        let path = |name: &str| self.folder.join(name);
        CaseObservation::of_run(&path(state), &path("home"))
    }

    /// Returns the arguments of a run.
    fn run(&self) -> Vec<OsString> {
        let mut arguments = words(&["run", "-p", "write a file called done", "--dry-run"]);
        arguments.extend(words(&["--quiet", "--require-complete", "--verify", CHECK]));
        arguments.extend(["--rehearsal".into(), self.folder.join("script.toml").into()]);
        arguments.extend(self.project());
        arguments
    }

    fn resume(&self) -> Vec<OsString> {
        let mut arguments = words(&["resume", "--quiet", "--require-complete"]);
        arguments.extend(self.project());
        arguments
    }

    /// Names the project explicitly, because the temporary folder may be in a repository of the
    /// user.
    fn project(&self) -> [OsString; 2] {
        ["-C".into(), self.folder.join("project").into()]
    }

    fn start(
        &self,
        program: &Path,
        arguments: &[OsString],
        name: &str,
    ) -> Result<WatchedProgram, Shortfall> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(interrupted());
        }
        let file = |what: &str| File::create(self.folder.join(format!("{name}.{what}")));
        let start = || {
            WatchedProgram::start(WatchedCommand {
                program,
                arguments,
                environment: &self.environment,
                directory: &self.folder.join("project"),
                output: file("out")?,
                complaints: file("err")?,
            })
        };
        start().map_err(|error| failed(format!("cannot start `{}`: {error}", program.display())))
    }

    /// Sleeps for the poll interval. Fails after the deadline or an interruption.
    fn pause(&self, waiting_for: &'static str) -> Result<(), Shortfall> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(interrupted());
        }
        if Instant::now() > self.deadline {
            let last = self.seen("state").records.last().map(|record| record.event.name());
            let last = last.map(|name| format!("; the last event is `{name}`"));
            let complaint = self.complaint();
            let said = if complaint.is_empty() { "" } else { ", and it said: " };
            return Err(Shortfall::Missed(Mismatch {
                expected: waiting_for.to_owned(),
                seen: format!("timed out{}", last.unwrap_or_default()),
                ended: format!("nightwright killed it{said}{complaint}"),
            }));
        }
        thread::sleep(POLL_INTERVAL);
        Ok(())
    }

    fn look(&mut self, run: &mut WatchedProgram) -> Result<Option<Exit>, Shortfall> {
        let exit = run.poll().map_err(|error| failed(error.to_string()))?;
        self.family.add(run.family());
        Ok(exit)
    }

    fn see_out(&mut self, run: &mut WatchedProgram) -> Result<Exit, Shortfall> {
        loop {
            if let Some(exit) = self.look(run)? {
                return Ok(exit);
            }
            self.pause("the end of the run")?;
        }
    }

    /// Waits until the agent is busy and all expected processes exist.
    fn until_ready(&mut self, run: &mut WatchedProgram) -> Result<(), Shortfall> {
        while !self.folder.join("home/ready").exists() {
            if let Some(exit) = self.look(run)? {
                let ended = expectations::ended(&CaseObservation {
                    exit: Some(exit),
                    complaint: self.complaint(),
                    ..self.seen("state")
                });
                return Err(failed(format!("the run ended at its beginning: {ended}")));
            }
            self.pause("an agent in the middle of its work")?;
        }
        // Checks once more, now that all processes exist.
        self.look(run)?;
        Ok(())
    }

    /// Returns the processes that are alive after this time; returns earlier if none is alive.
    fn survivors(&mut self, patience: Duration) -> Result<Vec<String>, Shortfall> {
        self.family.add_noted(&self.notes());
        let begun = Instant::now();
        loop {
            let alive = self.family.alive();
            if alive.is_empty() || begun.elapsed() > patience {
                return Ok(alive);
            }
            self.pause("no process left")?;
        }
    }

    fn notes(&self) -> String {
        fs::read_to_string(self.folder.join("home/notes")).unwrap_or_default()
    }

    /// Executes a run with its state on a separate disk, in a private mount namespace. Uses a user
    /// namespace, or root.
    fn on_a_small_disk(&mut self) -> Result<Exit, Shortfall> {
        let Ok(unshare) = locate("unshare", env::var_os("PATH").as_deref()) else {
            let why = "cannot mount a test disk: `unshare` is not installed";
            return Err(Shortfall::NotTested(why.to_owned()));
        };
        for way in ["-rm", "-m"] {
            let mut arguments = words(&[way, "sh"]);
            for name in ["small_disk.sh", "state", "kept"] {
                arguments.push(self.folder.join(name).into());
            }
            arguments.push(self.program.into());
            arguments.extend(self.run());
            let mut run = self.start(&unshare, &arguments, "run")?;
            let exit = self.see_out(&mut run)?;
            if self.folder.join("kept/mounted").exists() {
                // A disk in a private namespace is not visible here.
                let hidden = fs::read_dir(self.folder.join("state"))
                    .is_ok_and(|mut entries| entries.next().is_none());
                let why = || "the test disk is not a separate file system".to_owned();
                return if hidden { Ok(exit) } else { Err(Shortfall::NotTested(why())) };
            }
        }
        Err(Shortfall::NotTested(format!("cannot mount a test disk: {}", self.complaint())))
    }

    /// Returns the last line that any nightwright process wrote to standard error.
    fn complaint(&self) -> String {
        ["resume.err", "run.err"]
            .iter()
            .filter_map(|name| fs::read(self.folder.join(name)).ok())
            .find_map(|bytes| {
                let text = String::from_utf8_lossy(&bytes);
                let line = text.lines().rev().find(|line| !line.trim().is_empty())?;
                Some(line.chars().take(MAX_STDERR_CHARS).collect())
            })
            .unwrap_or_default()
    }
}

/// Returns the environment of the case: its own home, state and other folders.
fn environment(folder: &Path, case: &SelftestCase) -> Vec<(OsString, OsString)> {
    let path = env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    let mut all: Vec<(OsString, OsString)> =
        vec![("PATH".into(), path), ("GIT_CEILING_DIRECTORIES".into(), folder.into())];
    for (variable, name) in [
        ("HOME", "home"),
        ("TMPDIR", "tmp"),
        ("NIGHTWRIGHT_STATE_DIR", "state"),
        ("XDG_STATE_HOME", "state"),
        ("XDG_CONFIG_HOME", "config"),
        ("XDG_CACHE_HOME", "tmp"),
    ] {
        all.push((variable.into(), folder.join(name).into()));
    }
    let settings =
        USUAL.iter().filter(|(name, _)| !case.settings.iter().any(|(own, _)| own == name));
    all.extend(settings.chain(case.settings).map(|(name, value)| (name.into(), value.into())));
    all.push(("LC_ALL".into(), "C".into()));
    all
}

fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

/// Returns the failure of a case that could not be executed.
fn failed(why: String) -> Shortfall {
    Shortfall::missed("an executable test", why)
}

/// Returns the failure of a case that the user interrupted.
fn interrupted() -> Shortfall {
    Shortfall::missed("the end of the test", "you interrupted it")
}
