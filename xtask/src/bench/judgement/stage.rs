//! An isolated folder for one behavior: a project and a home, independent of the machine's
//! settings.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::behaviour::{Behaviour, Hang, RunMode, TASK};
use super::observed::Observed;
use super::scenes;

/// The time after which a run counts as hung; no behavior takes this long.
const BEHAVIOUR_TIMEOUT: Duration = Duration::from_mins(5);
/// The interval between two checks whether a program has exited.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// The time without output after which an agent counts as hanging, long enough for a busy machine.
const USUAL_DEADLINE: &str = "30s";
/// The same for behaviors that do hang, so that the benchmark does not take long. It also applies
/// to the parts that do not hang, so it leaves some room.
const SHORT_DEADLINE: &str = "15s";
/// The Git settings, including the author of commits.
const GIT_SETTINGS: &str = "[user]\nname = A. Nobody\nemail = nobody@example.com\n\
                            [init]\ndefaultBranch = main\n[commit]\ngpgSign = false\n";

#[derive(Debug)]
pub(super) struct BehaviourEnv {
    folder: PathBuf,
}

impl BehaviourEnv {
    /// Creates the folder and all files in it.
    pub(super) fn set(folder: &Path, behaviour: &Behaviour) -> Result<Self, String> {
        let stage = Self { folder: folder.to_owned() };
        for name in ["project", "state", "home", "tmp"] {
            make(&stage.path(name))?;
        }
        write(&stage.path("home/.gitconfig"), GIT_SETTINGS)?;
        for (path, text) in &behaviour.files {
            let path = stage.path("project").join(path);
            path.parent().map_or(Ok(()), make)?;
            write(&path, text)?;
        }
        write(&stage.script(), &scenes::script(&behaviour.scenes)?)?;
        if behaviour.git {
            stage.shell("git init -q && git add -A && git commit -q --allow-empty -m begin")?;
        }
        Ok(stage)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Returns the path of the agent's script.
    pub(super) fn script(&self) -> PathBuf {
        self.path("script.toml")
    }

    /// Returns a command that runs in the project with a clean environment. Its output is kept.
    pub(super) fn command(&self, program: &Path) -> Result<Command, String> {
        let keep = |name| {
            let path = self.path(name);
            File::create(&path).map_err(|error| format!("cannot make {}: {error}", path.display()))
        };
        let mut command = Command::new(program);
        command
            .current_dir(self.path("project"))
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.path("home"))
            .env("TMPDIR", self.path("tmp"))
            .env("GIT_CEILING_DIRECTORIES", &self.folder)
            .env("NIGHTWRIGHT_STATE_DIR", self.path("state"))
            .env("LANG", "C.UTF-8")
            .env("TZ", "UTC")
            .stdin(Stdio::null())
            .stdout(keep("stdout")?)
            .stderr(keep("stderr")?);
        Ok(command)
    }

    /// Plays the behavior with nightwright.
    pub(super) fn nightwright(
        &self,
        program: &Path,
        behaviour: &Behaviour,
        environment: &[(&str, &str)],
    ) -> Result<Observed, String> {
        let mut command = self.command(program)?;
        command.envs(environment.iter().copied());
        command.args(arguments(behaviour)).arg("--rehearsal").arg(self.script());
        for (variable, hang) in [
            ("NIGHTWRIGHT_START_TIMEOUT", Hang::Start),
            ("NIGHTWRIGHT_IDLE_TIMEOUT", Hang::Silence),
            ("NIGHTWRIGHT_AFTER_RESULT_TIMEOUT", Hang::Result),
            ("NIGHTWRIGHT_VERIFY_MODEL_TIMEOUT", Hang::Verdict),
        ] {
            let hangs = behaviour.hangs == Some(hang);
            command.env(variable, if hangs { SHORT_DEADLINE } else { USUAL_DEADLINE });
        }
        for option in &behaviour.options {
            command.arg(option);
        }
        let ended = to_the_end(&mut command)?;
        let events = fs::read_to_string(self.path("stdout"))
            .map_err(|error| format!("cannot read the output of nightwright: {error}"))?;
        let truth = self.holds(&behaviour.truth)?;
        match Observed::of_events(&events, truth)? {
            Some(observed) => {
                let exit = ended.and_then(|status| status.code());
                Ok(Observed { exit, prompts: self.prompts(), ..observed })
            }
            None if ended.is_some() => {
                let stderr = fs::read_to_string(self.path("stderr")).unwrap_or_default();
                Err(format!("nightwright failed: {}", stderr.trim_end()))
            }
            None => Ok(Observed::without_end(&events, truth)),
        }
    }

    /// Returns the prompt of each iteration. Unreadable files are skipped.
    fn prompts(&self) -> BTreeMap<u32, String> {
        let mut prompts = BTreeMap::new();
        let mut folders = vec![self.path("state")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                // `003-1.md`; the prompts of later attempts and of other calls have different names.
                let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
                let number = name.strip_suffix("-1.md").and_then(|number| number.parse().ok());
                if folder.ends_with("prompts")
                    && let Some(number) = number
                    && let Ok(text) = fs::read_to_string(&path)
                {
                    prompts.insert(number, text);
                }
            }
        }
        prompts
    }

    /// Whether the work is done, independent of any claim.
    pub(super) fn holds(&self, truth: &str) -> Result<bool, String> {
        let status = self.sh(truth).status();
        status.map(|status| status.success()).map_err(|error| format!("cannot run sh: {error}"))
    }

    fn shell(&self, script: &str) -> Result<(), String> {
        let output = self.sh(script).output().map_err(|error| format!("cannot run sh: {error}"))?;
        if output.status.success() {
            return Ok(());
        }
        let stderr = String::from_utf8_lossy(&output.stderr);
        Err(format!("`{script}` failed: {}", stderr.trim_end()))
    }

    fn sh(&self, script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", script])
            .current_dir(self.path("project"))
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.path("home"))
            .env("GIT_CEILING_DIRECTORIES", &self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }
}

/// Runs a program until it exits, or kills it after a timeout and returns no status.
pub(super) fn to_the_end(command: &mut Command) -> Result<Option<ExitStatus>, String> {
    let trouble = |error: io::Error| format!("cannot run the command: {error}");
    let mut child = command.spawn().map_err(trouble)?;
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().map_err(trouble)? {
            return Ok(Some(status));
        }
        if begun.elapsed() > BEHAVIOUR_TIMEOUT {
            child.kill().and_then(|()| child.wait()).map_err(trouble)?;
            return Ok(None);
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// Returns the arguments for nightwright.
fn arguments(behaviour: &Behaviour) -> Vec<String> {
    let words: &[&str] = match behaviour.mode {
        RunMode::Prompt => &["run", "-p", &behaviour.goal],
        RunMode::Loop => &["run", TASK, "--mode", "loop"],
        RunMode::Iterative => &["run", TASK, "--mode", "iterative"],
        RunMode::Plan => &["plan"],
        RunMode::Build => &["build"],
    };
    let mut all: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let iterations = behaviour.max_iterations.to_string();
    let always = ["--dry-run", "--yes", "--no-delay", "--output", "json", "-m", &iterations];
    all.extend(always.map(str::to_owned));
    for check in &behaviour.checks {
        all.extend(["--verify".to_owned(), check.clone()]);
    }
    all
}

fn make(folder: &Path) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}
