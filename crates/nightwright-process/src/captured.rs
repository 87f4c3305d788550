//! Captured commands: read-only programs such as `git`, run to completion for their output.
//!
//! They have no guard: they change nothing, run often and leave no process behind, so a guard would
//! cost more than the command. Each leads its own process group. The group is killed when the time
//! limit passes or when nightwright stops waiting.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::child::Exit;
use super::orphans;

/// The number of bytes of standard error that are kept.
const MAX_STDERR_BYTES: u64 = 4 << 10;
/// The time that a killed program gets to disappear. After that it is stuck in the kernel.
const KILL_TIMEOUT: Duration = Duration::from_secs(2);
/// The longest interval between two checks whether a program that closed its output has exited.
const MAX_POLL_INTERVAL: Duration = Duration::from_millis(5);

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
    let CapturedCommand { program, arguments, environment, directory, input, limit, max_output } =
        question;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .current_dir(directory)
        .stdin(if input.is_empty() { Stdio::null() } else { Stdio::piped() })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let (child, _noted) = orphans::start_reader(&mut command)?;
    let mut running = CapturedChild { child, exited: false };
    if let Some(mut pipe) = running.child.stdin.take() {
        // A program that does not read all of its input reports the reason itself.
        thread::spawn(move || drop(pipe.write_all(&input)));
    }
    let output =
        drain(running.child.stdout.take(), max_output as u64 + 1, UnreadOutput::StaysInPipe);
    let complaint = drain(running.child.stderr.take(), MAX_STDERR_BYTES, UnreadOutput::Discarded);
    let left = |begin: Instant| limit.saturating_sub(begin.elapsed());
    let Ok(output) = output.recv_timeout(left(begin)) else {
        return Ok(CapturedOutput::cut(CapturedEnd::TimedOut, Vec::new()));
    };
    if output.len() > max_output {
        return Ok(CapturedOutput::cut(CapturedEnd::TooMuch, output));
    }
    let Some(exit) = running.wait(limit, begin)? else {
        return Ok(CapturedOutput::cut(CapturedEnd::TimedOut, output));
    };
    let complaint =
        complaint.recv_timeout(MAX_POLL_INTERVAL.max(left(begin).min(Duration::from_secs(1))));
    let complaint = String::from_utf8_lossy(&complaint.unwrap_or_default()).trim().to_owned();
    Ok(CapturedOutput { ended: CapturedEnd::Exited(exit), output, complaint })
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
) -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    if let Some(mut pipe) = pipe {
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
            let _ = sender.send(bytes);
        });
    }
    receiver
}

/// A child that is killed with its group unless it was seen to exit.
struct CapturedChild {
    child: Child,
    exited: bool,
}

impl CapturedChild {
    /// Waits for the exit of the child. Returns `None` when the time is up.
    fn wait(&mut self, limit: Duration, begin: Instant) -> io::Result<Option<Exit>> {
        let mut pause = Duration::from_micros(50);
        loop {
            if let Some(status) = self.child.try_wait()? {
                self.exited = true;
                return Ok(Some(status.into()));
            }
            if begin.elapsed() > limit {
                return Ok(None);
            }
            thread::sleep(pause);
            pause = (pause * 2).min(MAX_POLL_INTERVAL);
        }
    }
}

impl Drop for CapturedChild {
    fn drop(&mut self) {
        if self.exited {
            return;
        }
        // The process ID is not reused before it is waited for, and the group has the same ID.
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            // An error means that the group is already dead.
            let _ = kill_process_group(group, Signal::KILL);
        }
        // A process that is stuck in the kernel is left to the search for orphans.
        let _ = self.wait(KILL_TIMEOUT, Instant::now());
    }
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
