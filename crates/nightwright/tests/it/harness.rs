//! The binary in a hermetic folder with a separate project, state and environment.

use std::fs;
use std::io::Read;
use std::ops::{Deref, DerefMut};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nightwright::store::seal::Seal;
use nightwright_core::event::{Event, Record, RunEvent};
use nightwright_core::policy::signals::ONE_EVENT;
use nightwright_core::run_view::shell_word;
use nightwright_core::units::RunId;
use tempfile::TempDir;

use super::agent_env::NIGHTWRIGHT;
use super::tasks::disk::skip;

/// The timeout of a test; only a failing test takes this long.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_mins(1);

/// The number of tries on a busy machine.
const TRIES: usize = 3;

/// A folder with a project, isolated from the settings of the machine.
pub(crate) struct TestEnv {
    folder: TempDir,
}

/// The exit code and the output of a command.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl TestEnv {
    pub(crate) fn new() -> Self {
        // Messages name folders by their real paths.
        let parent = std::env::temp_dir().canonicalize().unwrap();
        let folder = tempfile::tempdir_in(parent).unwrap();
        for name in ["project", "state", "home", "tmp", "bin"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        Self { folder }
    }

    /// An environment with these files in its project.
    pub(crate) fn with_files(files: &[(&str, &str)]) -> Self {
        let env = Self::new();
        for (name, text) in files {
            let path = env.project().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        env
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The path as one word of a shell command.
    pub(crate) fn word(&self, name: &str) -> String {
        shell_path(&self.path(name))
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.path("project")
    }

    /// Writes a file in the project.
    pub(crate) fn file(&self, name: &str, text: &str) -> &Self {
        fs::write(self.project().join(name), text).unwrap();
        self
    }

    /// Writes a rehearsal script next to the project and returns its path.
    pub(crate) fn script(&self, text: &str) -> String {
        let path = self.path("script.toml");
        fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        self.program(NIGHTWRIGHT, arguments)
    }

    /// Runs a command line in a shell in the project.
    pub(crate) fn paste(&self, line: &str) -> Output {
        finish(self.shell(line).spawn().unwrap())
    }

    /// Returns the command for a command line in a shell.
    pub(crate) fn shell(&self, line: &str) -> Command {
        let link = self.path("bin").join("nightwright");
        if !link.exists() {
            std::os::unix::fs::symlink(NIGHTWRIGHT, link).unwrap();
        }
        self.program("sh", &["-c", line])
    }

    fn program(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(self.project())
            .env_clear()
            .env("PATH", format!("{}:/usr/bin:/bin", self.path("bin").display()))
            .env("HOME", self.path("home"))
            .env("TMPDIR", self.path("tmp"))
            .env("GIT_CEILING_DIRECTORIES", self.folder.path())
            .env("NIGHTWRIGHT_STATE_DIR", self.path("state"))
            .env("LANG", "C.UTF-8")
            .env("TZ", "UTC")
            // Avoids another process per run. The tests of this feature enable it.
            .env("NIGHTWRIGHT_KEEP_AWAKE", "false")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs a command and waits for its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        finish(self.command(arguments).spawn().unwrap())
    }

    /// Runs a scripted agent until the run ends.
    pub(crate) fn rehearse(&self, script: &str, most: &str, more: &[&str]) -> Output {
        let script = self.script(script);
        let run = ["run", "-p", "x", "-m", most, "--no-delay"];
        self.run(&[&run, more, &["--dry-run", "--rehearsal", &script]].concat())
    }

    pub(crate) fn start(&self, arguments: &[&str]) -> RunningCommand {
        self.command(arguments).spawn().unwrap().into()
    }

    /// Runs a command as a user who may write everywhere in this environment except in the project.
    /// Returns `None` if that is impossible here.
    pub(crate) fn run_without_write_access(&self, arguments: &[&str]) -> Option<Output> {
        let mode = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        for name in ["", "state", "home", "tmp"] {
            mode(&self.path(name), 0o777);
        }
        mode(&self.project(), 0o555);
        // Root may write everywhere, so the command runs as another user.
        let command = if rustix::process::getuid().is_root() {
            let user = ["--reuid=65534", "--regid=65534", "--clear-groups", NIGHTWRIGHT];
            self.program("setpriv", &[&user[..], arguments].concat()).spawn()
        } else {
            self.command(arguments).spawn()
        };
        let output = command.map(finish);
        mode(&self.project(), 0o755);
        match output {
            Ok(output) if !output.err.starts_with("setpriv:") => Some(output),
            other => {
                skip(&format!("a folder that may not be written to: {other:?}"));
                None
            }
        }
    }

    /// The folders of all runs, the oldest first.
    pub(crate) fn runs(&self) -> Vec<PathBuf> {
        let mut runs = Vec::new();
        for project in list(&self.path("state")) {
            runs.extend(list(&project.join("runs")));
        }
        // The names of runs that began in the same second have no order.
        runs.sort_by_cached_key(|run| (second(run), began(run), run.clone()));
        runs
    }

    /// The records in the journal of the only run.
    pub(crate) fn journal(&self) -> Vec<Record> {
        let runs = self.runs();
        assert_eq!(runs.len(), 1, "{runs:?}");
        nightwright::store::journal::read(&runs[0].join("journal.jsonl")).unwrap().records
    }

    /// Makes the current journal of the only run the one that was written.
    pub(crate) fn reseal(&self) {
        let runs = self.runs();
        assert_eq!(runs.len(), 1, "{runs:?}");
        let (run, journal) = (&runs[0], runs[0].join("journal.jsonl"));
        let seals = run.ancestors().nth(2).unwrap().join("seals");
        let id = RunId(run.file_name().unwrap().to_str().unwrap().to_owned());
        let (_, mut writer) = nightwright::store::journal::open_for_append(&journal, &id).unwrap();
        writer.keep_seal(Seal::create(&seals.join(&id.0)).unwrap()).unwrap();
    }

    /// Waits until the journal of the only run contains an event with this name.
    pub(crate) fn wait_for(&self, event: &str) {
        self.wait_for_nth(event, 1);
    }

    /// Waits until a journal has this number of such events.
    #[track_caller]
    pub(crate) fn wait_for_nth(&self, event: &str, number: usize) {
        let begun = Instant::now();
        let name = format!("\"event\":\"{event}\"");
        loop {
            let there = self.runs().iter().any(|run| {
                fs::read_to_string(run.join("journal.jsonl"))
                    .is_ok_and(|text| text.matches(&name).count() >= number)
            });
            if there {
                return;
            }
            assert!(begun.elapsed() < TEST_TIMEOUT, "no {event} after {TEST_TIMEOUT:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Returns the requests to the rehearsal agent, one per line.
    pub(crate) fn asked(&self) -> Vec<serde_json::Value> {
        let mut lines = Vec::new();
        let projects = list(&self.path("state")).into_iter();
        for folder in projects.chain(self.runs()) {
            if let Ok(text) = fs::read_to_string(folder.join("rehearsal.log")) {
                lines.extend(text.lines().map(|line| serde_json::from_str(line).unwrap()));
            }
        }
        lines
    }
}

/// A command that was started. It is killed on drop, so that a failed test leaves no run alive.
#[derive(Debug)]
pub(crate) struct RunningCommand(Child);

impl From<Child> for RunningCommand {
    fn from(child: Child) -> Self {
        Self(child)
    }
}

impl Deref for RunningCommand {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for RunningCommand {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for RunningCommand {
    fn drop(&mut self) {
        // Both do nothing for a command that was waited for.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// A path as one word of a shell command. It may contain double quotes, so a rehearsal script needs
/// a literal string (`'''`) around it.
pub(crate) fn shell_path(path: &Path) -> String {
    shell_word(&path.to_string_lossy())
}

/// Waits long enough that the next signal counts as a second one.
pub(crate) fn wait_past_debounce() {
    std::thread::sleep(ONE_EVENT);
}

/// Waits for a command to exit. Fails if it takes too long.
pub(crate) fn finish(child: impl Into<RunningCommand>) -> Output {
    finish_within(child, TEST_TIMEOUT)
}

/// Like [`finish`], with another timeout.
pub(crate) fn finish_within(child: impl Into<RunningCommand>, patience: Duration) -> Output {
    let mut child = child.into();
    let (out, err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let drain = |mut pipe: Box<dyn Read + Send>| {
        std::thread::spawn(move || {
            let mut text = Vec::new();
            pipe.read_to_end(&mut text).unwrap();
            String::from_utf8_lossy(&text).into_owned()
        })
    };
    let (out, err) = (drain(Box::new(out)), drain(Box::new(err)));
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if begun.elapsed() > patience {
            child.kill().unwrap();
            panic!("not done after {patience:?}; it said:\n{}", err.join().unwrap());
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    Output { code: status.code(), out: out.join().unwrap(), err: err.join().unwrap() }
}

/// Fails unless this takes less than `limit` at least once. A busy machine is slow sometimes, but a
/// program that waits for `limit` is slow every time.
#[track_caller]
pub(crate) fn takes_less_than(limit: Duration, attempt: impl Fn() -> Duration) {
    let mut tries = Tries { limit, took: Vec::new() };
    while !tries.has_proof(attempt()) {}
}

/// Like [`takes_less_than`], with an asynchronous attempt.
pub(crate) async fn soon_takes_less_than(
    limit: Duration,
    mut attempt: impl AsyncFnMut() -> Duration,
) {
    let mut tries = Tries { limit, took: Vec::new() };
    while !tries.has_proof(attempt().await) {}
}

struct Tries {
    limit: Duration,
    took: Vec<Duration>,
}

impl Tries {
    /// Whether an attempt took less than the limit. Fails if none of them did.
    #[track_caller]
    fn has_proof(&mut self, took: Duration) -> bool {
        let Self { limit, took: all } = self;
        all.push(took);
        assert!(took < *limit || all.len() < TRIES, "not once in less than {limit:?}: {all:?}");
        took < *limit
    }
}

/// The second in which a run began, from its name.
fn second(run: &Path) -> Option<String> {
    run.file_name()?.to_str()?.get(..15).map(str::to_owned)
}

/// The time when a run began, from its journal.
fn began(run: &Path) -> Option<jiff::Timestamp> {
    let journal = fs::read_to_string(run.join("journal.jsonl")).ok()?;
    let first: serde_json::Value = serde_json::from_str(journal.lines().next()?).ok()?;
    first["at"].as_str()?.parse().ok()
}

fn list(folder: &Path) -> Vec<PathBuf> {
    match fs::read_dir(folder) {
        Ok(entries) => entries.map(|entry| entry.unwrap().path()).collect(),
        Err(_) => Vec::new(),
    }
}

/// The names of all events in a journal.
pub(crate) fn names(journal: &[Record]) -> Vec<&'static str> {
    journal.iter().map(|record| record.event.name()).collect()
}

/// The name of the outcome, which must be the last event.
pub(crate) fn run_outcome(journal: &[Record]) -> &'static str {
    match &journal.last().expect("events").event {
        Event::Run(RunEvent::Finished { outcome, .. }) => outcome.name(),
        other => panic!("the last event is {}", other.name()),
    }
}

impl Output {
    /// Fails unless the command exited with this code.
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "\nstdout:\n{}\nstderr:\n{}", self.out, self.err);
        self
    }

    /// Fails unless standard error contains all of these strings.
    pub(crate) fn says(self, words: &[&str]) -> Self {
        for word in words {
            assert!(self.err.contains(word), "`{word}` is not in:\n{}", self.err);
        }
        self
    }
}
