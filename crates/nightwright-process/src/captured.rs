//! A question to a program that only reads: run to its end for all that it prints.
//!
//! It has no guard: it is a well-known program that changes nothing of the user's, is asked many
//! times, and leaves nobody behind; a guard would cost more than the answer. It stands in a group of
//! its own and is killed with it when its time is up, or when we leave before it has answered.

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

/// How much of the program's complaints is kept.
const MAX_STDERR_BYTES: u64 = 4 << 10;
/// How long a killed program may take to be gone. Beyond that it is stuck in the kernel.
const KILL_TIMEOUT: Duration = Duration::from_secs(2);
/// The longest pause between two looks at whether a program that has said all is gone.
const MAX_POLL_INTERVAL: Duration = Duration::from_millis(5);

/// What is asked.
#[derive(Debug)]
pub struct CapturedCommand<'a> {
    /// The program, looked for on the `PATH` of its environment.
    pub program: &'a OsStr,
    /// Its arguments.
    pub arguments: &'a [OsString],
    /// Its whole environment.
    pub environment: &'a [(OsString, OsString)],
    /// Where it runs.
    pub directory: &'a Path,
    /// What it reads.
    pub input: Vec<u8>,
    /// How long it may take.
    pub limit: Duration,
    /// How much it may print.
    pub max_output: usize,
}

/// What came of it.
#[derive(Debug)]
pub struct CapturedOutput {
    /// How it ended.
    pub ended: CapturedEnd,
    /// What it printed, as much of it as was allowed.
    pub output: Vec<u8>,
    /// The beginning of its complaints.
    pub complaint: String,
}

/// How a program that was asked something ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapturedEnd {
    /// By itself.
    Exited(Exit),
    /// It took longer than it was given, and was killed.
    TimedOut,
    /// It printed more than is wanted, and was killed.
    TooMuch,
}

/// Asks, and waits for the answer: not for the loop's thread.
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
        // A program that does not read all of it has its reasons, and says so.
        thread::spawn(move || drop(pipe.write_all(&input)));
    }
    let output = drain(running.child.stdout.take(), max_output as u64 + 1, UnreadOutput::Left);
    let complaint = drain(running.child.stderr.take(), MAX_STDERR_BYTES, UnreadOutput::Read);
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
    fn cut(ended: CapturedEnd, output: Vec<u8>) -> Self {
        Self { ended, output, complaint: String::new() }
    }
}

/// What becomes of that which nobody wants to keep.
#[derive(Clone, Copy)]
enum UnreadOutput {
    /// It stays in the pipe.
    Left,
    /// It is read and thrown away: a program that can't complain would wait for ever.
    Read,
}

/// Reads as much as is wanted, beside us: whoever holds the pipe open must not hold us.
fn drain(
    pipe: Option<impl Read + Send + 'static>,
    most: u64,
    rest: UnreadOutput,
) -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    if let Some(mut pipe) = pipe {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            // An error on a pipe is its end.
            let _ = (&mut pipe).take(most).read_to_end(&mut bytes);
            match rest {
                UnreadOutput::Left => {}
                // An error on a pipe is its end.
                UnreadOutput::Read => drop(io::copy(&mut pipe, &mut io::sink())),
            }
            // Nobody waits for it any more.
            let _ = sender.send(bytes);
        });
    }
    receiver
}

/// A program that is killed, with its group, unless it was seen to end.
struct CapturedChild {
    child: Child,
    exited: bool,
}

impl CapturedChild {
    /// Waits for its end; `None` when its time is up.
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
        // Its number is its own until we wait for it, and its group has that number.
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            // Dead already, which is what is wanted.
            let _ = kill_process_group(group, Signal::KILL);
        }
        // Whoever is stuck in the kernel is left to those who look for orphans.
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
    fn of_endless_complaints_the_beginning_is_kept_and_nobody_waits() {
        let answer = ask("yes complaint | head -c 1000000 >&2; echo done", "", LONG);
        assert_eq!(answer.output, b"done\n");
        assert!(answer.complaint.starts_with("complaint\n"));
        assert!(answer.complaint.len() <= 4096);
    }

    #[test]
    fn whoever_takes_too_long_or_says_too_much_is_killed() {
        let answer = ask("sleep 1000 & sleep 1000", "", Duration::from_millis(50));
        assert_eq!(answer.ended, CapturedEnd::TimedOut);
        let answer = ask("exec 1>&-; sleep 1000", "", Duration::from_millis(50));
        assert_eq!(answer.ended, CapturedEnd::TimedOut);
        let answer = ask("yes", "", LONG);
        assert_eq!(answer.ended, CapturedEnd::TooMuch);
        assert_eq!(answer.output.len(), 1001);
    }
}
