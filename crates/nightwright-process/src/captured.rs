//! Captured commands: programs such as `git`, run to completion for their output.
//!
//! Each runs below a guard, like the other programs: a process that it started is killed when it
//! exits, when the time limit passes, or when nightwright stops waiting. A program that is no
//! nightwright, such as a test, has no guard to start. There, a command leads its own process group.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::child::Exit;
use super::guard::start;
use super::guard::wire::{GuardMessage, GuardOrder, GuardRequest, KillScope, SigtermScope, WORD};
use super::orphans::{self, OwnChild};

/// The number of bytes of standard error that are kept.
const MAX_STDERR_BYTES: u64 = 4 << 10;
/// The time that a killed program gets to disappear. After that it is stuck in the kernel.
const KILL_TIMEOUT: Duration = Duration::from_secs(2);
/// The interval between two checks whether a killed program is gone.
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// The number of messages of the threads that wait for a command: all of them fit.
const MAX_NEWS: usize = 8;

/// The program that runs as the guard of captured commands.
static GUARD: OnceLock<PathBuf> = OnceLock::new();

/// Runs all captured commands below a guard from now on.
pub fn guard_captured_commands(guard: PathBuf) {
    // A later call would only name the same program.
    let _ = GUARD.set(guard);
}

/// The complete description of a command to capture.
#[derive(Debug)]
pub struct CapturedCommand<'a> {
    /// The program, searched on the `PATH` of its environment.
    pub program: &'a OsStr,
    pub arguments: &'a [OsString],
    /// The complete environment; nothing is inherited.
    pub environment: &'a [(OsString, OsString)],
    /// The working directory of the command.
    pub directory: &'a Path,
    /// The content of standard input.
    pub input: Vec<u8>,
    /// The time limit after which the command is killed.
    pub limit: Duration,
    /// The maximum number of bytes of output.
    pub max_output: usize,
}

/// The result of a captured command.
#[derive(Debug)]
pub struct CapturedOutput {
    pub ended: CapturedEnd,
    /// Standard output, up to the allowed size.
    pub output: Vec<u8>,
    /// The beginning of standard error.
    pub complaint: String,
}

/// How a captured command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapturedEnd {
    /// The command exited or was killed by a signal.
    Exited(Exit),
    /// The command exceeded its time limit and was killed.
    TimedOut,
    /// The command printed more than allowed and was killed.
    TooMuch,
}

/// Runs a command and blocks until it ends. Not for the main loop's thread.
pub fn run_captured(question: CapturedCommand<'_>) -> io::Result<CapturedOutput> {
    let begin = Instant::now();
    let CapturedCommand { limit, max_output, .. } = question;
    let (sender, news) = mpsc::sync_channel(MAX_NEWS);
    let mut running = CapturedChild::start(question, &sender)?;
    drop(sender);
    let (mut output, mut complaint) = (Vec::new(), Vec::new());
    loop {
        match news.recv_timeout(limit.saturating_sub(begin.elapsed())) {
            Ok(CapturedNews::Output(bytes)) if bytes.len() > max_output => {
                return Ok(CapturedOutput::cut(CapturedEnd::TooMuch, bytes));
            }
            Ok(CapturedNews::Output(bytes)) => output = bytes,
            Ok(CapturedNews::Complaint(bytes)) => complaint = bytes,
            Ok(CapturedNews::Guard(message)) => running.note(message)?,
            Err(RecvTimeoutError::Timeout) => {
                return Ok(CapturedOutput::cut(CapturedEnd::TimedOut, output));
            }
            // Every thread has ended, so the command has, and its output is complete.
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    let ended = CapturedEnd::Exited(running.exit()?);
    let complaint = String::from_utf8_lossy(&complaint).trim().to_owned();
    Ok(CapturedOutput { ended, output, complaint })
}

/// News from the threads that wait for a command.
enum CapturedNews {
    /// Standard output, when it has ended or is too long.
    Output(Vec<u8>),
    /// The beginning of standard error, when it has ended.
    Complaint(Vec<u8>),
    /// A message from the guard.
    Guard(GuardMessage),
}

impl CapturedOutput {
    /// Whether the command ended by itself.
    pub fn is_complete(&self) -> bool {
        matches!(self.ended, CapturedEnd::Exited(_))
    }

    fn cut(ended: CapturedEnd, output: Vec<u8>) -> Self {
        Self { ended, output, complaint: String::new() }
    }
}

/// The treatment of output beyond the limit.
#[derive(Clone, Copy)]
enum UnreadOutput {
    /// The output stays in the pipe.
    StaysInPipe,
    /// The output is read and discarded, because a full pipe would block the program forever.
    Discarded,
}

/// Reads up to the limit on a separate thread, so that a process that holds the pipe open does not
/// block the caller.
fn drain(
    pipe: Option<impl Read + Send + 'static>,
    most: u64,
    rest: UnreadOutput,
    news: &SyncSender<CapturedNews>,
    named: fn(Vec<u8>) -> CapturedNews,
) {
    let (Some(mut pipe), news) = (pipe, news.clone()) else { return };
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // A read error counts as end of file.
        let _ = (&mut pipe).take(most).read_to_end(&mut bytes);
        match rest {
            UnreadOutput::StaysInPipe => {}
            // A read error counts as end of file.
            UnreadOutput::Discarded => drop(io::copy(&mut pipe, &mut io::sink())),
        }
        // The receiver may already be gone.
        let _ = news.send(named(bytes));
    });
}

/// A started command. It is killed, with all that it started, unless it was seen to exit.
struct CapturedChild {
    /// The guard, or the command itself without one.
    child: Child,
    _noted: OwnChild,
    /// The socket of the guard.
    requests: Option<UnixStream>,
    /// The exit of the command, as reported by the guard.
    died: Option<Exit>,
    exited: bool,
}

impl CapturedChild {
    fn start(question: CapturedCommand<'_>, news: &SyncSender<CapturedNews>) -> io::Result<Self> {
        let most = question.max_output as u64 + 1;
        let mut running = match GUARD.get() {
            Some(guard) => Self::below(guard, question, news)?,
            None => Self::alone(question, news)?,
        };
        let Child { stdout, stderr, .. } = &mut running.child;
        let (stdout, stderr) = (stdout.take(), stderr.take());
        drain(stdout, most, UnreadOutput::StaysInPipe, news, CapturedNews::Output);
        drain(stderr, MAX_STDERR_BYTES, UnreadOutput::Discarded, news, CapturedNews::Complaint);
        Ok(running)
    }

    /// Starts a command below a guard.
    fn below(
        guard: &Path,
        question: CapturedCommand<'_>,
        news: &SyncSender<CapturedNews>,
    ) -> io::Result<Self> {
        let order = GuardOrder {
            program: question.program.into(),
            arguments: question.arguments.to_vec(),
            environment: question.environment.to_vec(),
            directory: question.directory.to_owned(),
            lock: PathBuf::new(),
            group: PathBuf::new(),
            kill_scope: KillScope::AllDescendants,
            sigterm_scope: SigtermScope::All,
        };
        let (ours, theirs) = UnixStream::pair()?;
        // The command holds the other end, and must be gone before the guard's end is waited for.
        // A group leader makes no session: a new one waits for its share of a busy processor.
        let started = orphans::start_blocking(start::command(guard, theirs).process_group(0));
        let (child, noted) = started
            .map_err(|error| io::Error::other(format!("cannot start its guard: {error}")))?;
        let requests = Some(ours.try_clone()?);
        let running = Self { child, _noted: noted, requests, died: None, exited: false };
        if question.input.is_empty() {
            start::send(&ours, &order, &File::open("/dev/null")?)?;
        } else {
            let (input, pipe) = io::pipe()?;
            start::send(&ours, &order, &input)?;
            feed(pipe, question.input);
        }
        let news = news.clone();
        thread::spawn(move || {
            let mut word = [0; WORD];
            while (&ours).read_exact(&mut word).is_ok() {
                let Some(message) = GuardMessage::from_bytes(word) else { break };
                // The receiver may already be gone.
                let _ = news.send(CapturedNews::Guard(message));
            }
        });
        Ok(running)
    }

    /// Starts a command as the leader of a process group.
    fn alone(question: CapturedCommand<'_>, news: &SyncSender<CapturedNews>) -> io::Result<Self> {
        let mut command = Command::new(question.program);
        command
            .args(question.arguments)
            .env_clear()
            .envs(question.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(question.directory)
            .stdin(if question.input.is_empty() { Stdio::null() } else { Stdio::piped() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let (mut child, noted) = orphans::start_blocking(&mut command)?;
        if let Some(pipe) = child.stdin.take() {
            feed(OwnedFd::from(pipe).into(), question.input);
        }
        let (pid, news) = (pid_of(&child), news.clone());
        thread::spawn(move || {
            // The command is reaped later, so its process ID stays valid until then.
            let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while matches!(pid.map(|pid| waitid(WaitId::Pid(pid), look)), Some(Err(Errno::INTR))) {}
            drop(news);
        });
        Ok(Self { child, _noted: noted, requests: None, died: None, exited: false })
    }

    /// Notes a message from the guard. An error means that the command did not start.
    fn note(&mut self, message: GuardMessage) -> io::Result<()> {
        match message {
            GuardMessage::Died(exit) => {
                self.died = Some(Exit(exit));
                // The grace for other programs would delay the caller.
                self.kill_below_guard();
                Ok(())
            }
            GuardMessage::Empty => Ok(()),
            GuardMessage::Started
            | GuardMessage::NotStarted { .. }
            | GuardMessage::Unprepared { .. } => start::started(Some(message)),
        }
    }

    /// The exit of the command, after everything has ended.
    fn exit(mut self) -> io::Result<Exit> {
        let status = self.child.wait()?;
        self.exited = true;
        match (&self.requests, self.died) {
            (None, _) => Ok(status.into()),
            (Some(_), Some(exit)) => Ok(exit),
            (Some(_), None) => {
                orphans::end(None, Duration::ZERO);
                Err(io::Error::other("a signal killed its guard"))
            }
        }
    }

    fn kill_below_guard(&self) {
        if let Some(mut requests) = self.requests.as_ref() {
            // A guard that is gone has nothing left to kill.
            let _ = requests.write_all(&[GuardRequest::Kill.to_byte()]);
        }
    }

    /// Waits for the exit of the child, for a limited time.
    fn has_exited(&mut self) -> bool {
        let begin = Instant::now();
        loop {
            match self.child.try_wait() {
                Ok(None) if begin.elapsed() < KILL_TIMEOUT => thread::sleep(POLL_INTERVAL),
                Ok(found) => return found.is_some(),
                // It cannot be waited for, so it is gone.
                Err(_) => return true,
            }
        }
    }
}

impl Drop for CapturedChild {
    fn drop(&mut self) {
        if self.exited {
            return;
        }
        if self.requests.is_some() {
            self.kill_below_guard();
            if !self.has_exited() {
                // An error means that the guard is already dead.
                let _ = self.child.kill();
                let _ = self.child.wait();
            }
            // A guard that did not end by itself left its tree.
            if self.died.is_none() {
                orphans::end(None, Duration::ZERO);
            }
            return;
        }
        // The process ID is not reused before it is waited for, and the group has the same ID.
        if let Some(group) = pid_of(&self.child) {
            // An error means that the group is already dead.
            let _ = kill_process_group(group, Signal::KILL);
        }
        // A process that is stuck in the kernel is left to the search for orphans.
        self.has_exited();
    }
}

fn pid_of(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

/// Writes the input on a separate thread. A program that does not read all of it reports the reason
/// itself.
fn feed(pipe: io::PipeWriter, input: Vec<u8>) {
    let mut pipe = pipe;
    thread::spawn(move || drop(pipe.write_all(&input)));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(script: &str, input: &str, limit: Duration) -> CapturedOutput {
        run_captured(CapturedCommand {
            program: OsStr::new("/bin/sh"),
            arguments: &["-c".into(), script.into()],
            environment: &[("PATH".into(), "/usr/bin:/bin".into())],
            directory: Path::new("/"),
            input: input.as_bytes().to_vec(),
            limit,
            max_output: 1000,
        })
        .unwrap()
    }

    const LONG: Duration = Duration::from_secs(30);

    #[test]
    fn all_that_is_printed_is_the_answer() {
        let answer = ask("cat; echo bad >&2; exit 3", "in", LONG);
        assert_eq!(answer.output, b"in");
        assert_eq!(answer.complaint, "bad");
        let CapturedEnd::Exited(exit) = answer.ended else { panic!("{answer:?}") };
        assert_eq!(exit.code(), Some(3));
    }

    #[test]
    fn endless_standard_error_is_truncated_without_blocking() {
        let answer = ask("yes complaint | head -c 1000000 >&2; echo done", "", LONG);
        assert_eq!(answer.output, b"done\n");
        assert!(answer.complaint.starts_with("complaint\n"));
        assert!(answer.complaint.len() <= 4096);
    }

    #[test]
    fn a_command_that_takes_too_long_or_prints_too_much_is_killed() {
        let answer = ask("sleep 1000 & sleep 1000", "", Duration::from_millis(50));
        assert_eq!(answer.ended, CapturedEnd::TimedOut);
        let answer = ask("exec 1>&-; sleep 1000", "", Duration::from_millis(50));
        assert_eq!(answer.ended, CapturedEnd::TimedOut);
        let answer = ask("yes", "", LONG);
        assert_eq!(answer.ended, CapturedEnd::TooMuch);
        assert_eq!(answer.output.len(), 1001);
    }
}
