//! A misbehaving agent program as a shell script, the files that it writes, and its living
//! processes.
//!
//! A script consists of the functions in `fake_agent/prelude.sh`. For example, `init; tool; family;
//! sleep 300` reports that it is ready, begins a tool call, starts processes that are hard to kill,
//! and hangs.
//!
//! A [`ProcessAgent`](nightwright::agent::process::ProcessAgent) plays it on an [`AgentEnv`], or a
//! whole run in this process ([`trial`]). The real binary plays it as the `claude` of a [`TestEnv`]
//! ([`FakeAgentEnv`]).

pub(crate) mod census;
mod deadlines;
mod ends;
mod output;
mod trial;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use nightwright::agent::process::{AgentSetup, ProcessAgent};
use nightwright::process::{Containment, MARK};
use nightwright_core::units::RunId;
use rustix::process::{Pid, Signal, kill_process};

use self::census::Census;
use super::agent_env::{AgentEnv, NIGHTWRIGHT};
use super::agent_program::program;
use super::harness::{RunningCommand, TestEnv, shell_path};

/// The timeout of a test; only a failing test takes this long.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_mins(1);

/// The shell functions that scripts can use.
const PRELUDE: &str = include_str!("fake_agent/prelude.sh");
/// The scripts of child processes.
const CHILDREN: [(&str, &str); 4] = [
    ("ignore_signals.sh", include_str!("fake_agent/ignore_signals.sh")),
    ("polite.sh", include_str!("fake_agent/polite.sh")),
    ("stopped.sh", include_str!("fake_agent/stopped.sh")),
    ("storm.sh", include_str!("fake_agent/storm.sh")),
];

/// A fake agent in a separate folder.
#[derive(Debug)]
pub(crate) struct FakeAgent {
    folder: PathBuf,
}

impl FakeAgent {
    /// Creates its folder inside another one.
    pub(crate) fn inside(folder: &Path) -> Self {
        let folder = folder.join("fake");
        fs::create_dir(&folder).unwrap();
        for (name, text) in CHILDREN {
            fs::write(folder.join(name), text).unwrap();
        }
        for name in ["notes", "printed"] {
            fs::write(folder.join(name), "").unwrap();
        }
        Self { folder }
    }

    /// The complete script, with the prelude.
    pub(crate) fn script(&self, words: &str) -> String {
        format!("fake={}\n{PRELUDE}\n{words}\n", shell_path(&self.folder))
    }

    /// The path of a file that the agent writes or waits for.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Returns the content of a file that it wrote.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).unwrap_or_default()
    }

    /// Creates a file that the agent waits for.
    pub(crate) fn tell(&self, name: &str) {
        fs::write(self.file(name), "").unwrap();
    }

    /// Waits until it has written a file with this number of lines.
    #[track_caller]
    pub(crate) fn wait_for(&self, name: &str, lines: usize) {
        let begun = Instant::now();
        while self.read(name).lines().count() < lines {
            assert!(begun.elapsed() < TEST_TIMEOUT, "no {lines} lines in `{name}`");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Returns its living processes. `signs` are environment entries that only its processes have.
    pub(crate) fn census(&self, signs: Vec<String>) -> Census {
        Census { notes: self.file("notes"), signs }
    }
}

impl Drop for FakeAgent {
    /// Kills the remaining processes of a failed test.
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.census(Vec::new()).end();
        }
    }
}

/// The part of a run's mark that all its processes share.
fn mark(run: &str) -> String {
    format!("{MARK}={run}.")
}

/// A fake agent for single attempts, without a run.
pub(crate) struct FakeAttempt {
    pub(crate) stage: AgentEnv,
    pub(crate) agent: FakeAgent,
    run: RunId,
}

impl FakeAttempt {
    pub(crate) fn new() -> Self {
        // A separate run ID, so that no other test has the same marks.
        static RUNS: AtomicU32 = AtomicU32::new(0);
        let number = RUNS.fetch_add(1, Ordering::Relaxed);
        let run = RunId(format!("fake-{}-{number}", std::process::id()));
        let stage = AgentEnv::new();
        let agent = FakeAgent::inside(stage.project().parent().unwrap());
        Self { stage, agent, run }
    }

    /// Returns an agent that plays a script under a guard.
    pub(crate) fn playing(&self, words: &str) -> ProcessAgent {
        self.kept(Containment::with_guard(NIGHTWRIGHT.into(), None, None), words)
    }

    /// Returns an agent that plays a script with this containment.
    pub(crate) fn kept(&self, containment: Containment, words: &str) -> ProcessAgent {
        let script = self.agent.script(words);
        ProcessAgent::new(AgentSetup {
            arguments: Box::new(move |_, _| vec!["-c".into(), script.clone().into()]),
            containment,
            run: self.run.clone(),
            ..self.stage.setup("/bin/sh")
        })
    }

    pub(crate) fn census(&self) -> Census {
        self.agent.census(vec![mark(&self.run.0)])
    }

    /// Fails unless the raw output of the first attempt is exactly the printed one.
    #[track_caller]
    pub(crate) fn all_is_kept(&self) {
        same_bytes(
            &self.stage.run_folder().join("output/001-1.ndjson"),
            &self.agent.file("printed"),
        );
    }
}

impl Drop for FakeAttempt {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.census().end();
        }
    }
}

/// Fails unless two files have the same content, which may be too long to print.
#[track_caller]
fn same_bytes(kept: &Path, printed: &Path) {
    let (kept, printed) = (fs::read(kept).unwrap(), fs::read(printed).unwrap());
    assert_eq!(kept.len(), printed.len(), "so many bytes were kept, and so many printed");
    let different = kept.iter().zip(&printed).position(|(kept, printed)| kept != printed);
    assert_eq!(different, None, "kept and printed are not the same from this byte on");
}

/// A test environment whose `claude` is a fake agent.
pub(crate) struct FakeAgentEnv {
    pub(crate) env: TestEnv,
    pub(crate) agent: FakeAgent,
}

impl FakeAgentEnv {
    /// Plays the script in every attempt and call. `$NIGHTWRIGHT_ATTEMPT` identifies them.
    pub(crate) fn new(words: &str) -> Self {
        let env = TestEnv::new();
        let agent = FakeAgent::inside(&env.path(""));
        let script = agent.script(words);
        let version = "[ \"$1\" = --version ] && echo '2.1.325 (Claude Code)' && exit";
        program(&env, "claude", &format!("#!/bin/sh\n{version}\n{script}"));
        Self { env, agent }
    }

    /// Returns the command for a run with these arguments.
    pub(crate) fn command(&self, more: &[&str]) -> Command {
        self.env.command(&[&["run", "-p", "x", "--no-delay"][..], more].concat())
    }

    pub(crate) fn start(&self, more: &[&str]) -> RunningCommand {
        self.command(more).spawn().unwrap().into()
    }

    /// Returns the processes with the mark of a run or the home of the test environment, and those
    /// that wrote a note.
    pub(crate) fn census(&self) -> Census {
        let mut signs = vec![format!("HOME={}", self.env.path("home").display())];
        for run in self.env.runs() {
            signs.push(mark(&run.file_name().unwrap_or_default().to_string_lossy()));
        }
        self.agent.census(signs)
    }

    /// Fails unless the raw output of an attempt is exactly the printed one.
    #[track_caller]
    pub(crate) fn all_is_kept(&self, label: &str) {
        let kept = self.env.runs()[0].join(format!("output/{label}.ndjson"));
        same_bytes(&kept, &self.agent.file("printed"));
    }
}

impl Drop for FakeAgentEnv {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.census().end();
        }
    }
}

/// Sends a signal to a child process that was not waited for yet.
pub(crate) fn send(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}
