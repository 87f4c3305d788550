//! Commands that run to completion, with their exit code and the end of their output.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use nightwright_core::redact::{Secrets, StreamMasker};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, sleep, timeout};

use super::child::{Child, Exit, Launch, spawn};
use super::command_log::CommandLog;
use super::containment::Containment;
use super::guard::wire::SigtermScope;
use super::output_tail::OutputTail;

/// The number of bytes kept from the end of a command's output.
pub const MAX_OUTPUT: usize = 64 << 10;
/// The time that pipes which another process holds open are read after the command's exit.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);
/// The longest sleep that is counted in one step.
const STEP: Duration = Duration::from_secs(1);
/// The size of one read from a pipe; the kernel returns at most this much.
const CHUNK: usize = 64 << 10;

/// The result of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinishedCommand {
    pub ended: CommandEnd,
    /// The end of its output, standard output and standard error combined.
    pub output: String,
    pub duration: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandEnd {
    /// The command exited or was killed by a signal.
    Exited(Exit),
    /// The command exceeded its time limit.
    TimedOut,
    /// The command was stopped through its [`StopHandle`].
    Stopped,
    /// The command could not be started.
    NotStarted { why: String },
}

/// Stops running commands from another task. A command that has not started yet is stopped as soon
/// as it starts.
#[derive(Clone, Debug, Default)]
pub struct StopHandle {
    asked: Arc<Notify>,
}

impl StopHandle {
    /// Stops the running command, or else the next one.
    pub fn stop(&self) {
        self.asked.notify_one();
    }
}

/// Returns the launch of a shell command, with both outputs in the order they were written.
pub fn shell(
    command: &str,
    environment: Vec<(OsString, OsString)>,
    directory: &Path,
    containment: &Containment,
) -> Launch {
    Launch {
        program: "/bin/sh".into(),
        arguments: vec!["-c".into(), format!("exec 2>&1; {command}").into()],
        environment,
        directory: directory.to_owned(),
        containment: containment.clone(),
        sigterm_scope: SigtermScope::All,
    }
}

/// Runs a command until it ends, times out or is stopped. No process that it started is left.
pub async fn run_to_end(
    launch: &Launch,
    limit: Duration,
    keep: usize,
    stop: &StopHandle,
) -> FinishedCommand {
    let sink = OutputSink { tail: OutputTail::new(keep), log: None };
    read_to_end(launch, limit, sink, stop, None).await
}

/// Like [`run_to_end`], and writes the complete output to a log, with secrets masked.
pub async fn run_and_log(
    launch: &Launch,
    limit: Duration,
    keep: usize,
    stop: &StopHandle,
    (log, secrets): (Option<&mut CommandLog>, &Secrets),
) -> FinishedCommand {
    let sink = OutputSink { tail: OutputTail::new(keep), log };
    read_to_end(launch, limit, sink, stop, Some(secrets)).await
}

async fn read_to_end(
    launch: &Launch,
    limit: Duration,
    sink: OutputSink<'_>,
    stop: &StopHandle,
    secrets: Option<&Secrets>,
) -> FinishedCommand {
    let begin = Instant::now();
    let masks = OutputMasks::new(secrets);
    let (ended, output) = match spawn(launch).await {
        Ok(child) => run(child, limit, (sink, masks), stop).await,
        Err(error) => {
            let why = format!("cannot start `{}`: {error}", launch.program.display());
            (CommandEnd::NotStarted { why }, String::new())
        }
    };
    FinishedCommand { ended, output, duration: begin.elapsed() }
}

/// The destination of a command's output.
pub(super) struct OutputSink<'a> {
    pub(super) tail: OutputTail,
    pub(super) log: Option<&'a mut CommandLog>,
}

impl OutputSink<'_> {
    fn push(&mut self, more: &[u8]) {
        self.tail.push(more);
        if let Some(log) = &mut self.log {
            log.push(more);
        }
    }
}

/// The maskers of standard output and standard error, if secrets are masked.
pub(super) struct OutputMasks {
    stdout: Option<StreamMasker>,
    stderr: Option<StreamMasker>,
}

impl OutputMasks {
    pub(super) fn new(secrets: Option<&Secrets>) -> Self {
        let masking = || secrets.cloned().map(StreamMasker::new);
        Self { stdout: masking(), stderr: masking() }
    }

    pub(super) fn finish(&mut self, sink: &mut OutputSink<'_>) {
        for masking in [&mut self.stdout, &mut self.stderr].into_iter().flatten() {
            masking.finish(|text| sink.push(text));
        }
    }
}

/// Masks more of one output, and passes it on.
fn write(masking: &mut Option<StreamMasker>, sink: &mut OutputSink<'_>, more: &[u8]) {
    match masking {
        Some(masking) => masking.push(more, |text| sink.push(text)),
        None => sink.push(more),
    }
}

async fn run(
    mut child: Child,
    limit: Duration,
    (mut sink, mut masks): (OutputSink<'_>, OutputMasks),
    stop: &StopHandle,
) -> (CommandEnd, String) {
    drop(child.take_stdin());
    let (stdout, stderr) = (child.take_stdout(), child.take_stderr());
    let (over, is_over) = oneshot::channel();
    let watch = async {
        let cut = tokio::select! {
            biased;
            () = child.exited() => None,
            () = stop.asked.notified() => Some(CommandEnd::Stopped),
            () = pass(limit) => Some(CommandEnd::TimedOut),
        };
        if cut.is_some() {
            child.end().await;
        }
        // Both readers may already have ended.
        let _ = over.send(());
        cut
    };
    let (cut, ()) = tokio::join!(watch, collect(stdout, stderr, (&mut sink, &mut masks), is_over));
    masks.finish(&mut sink);
    let (exit, _) = child.gone().await;
    (cut.unwrap_or(CommandEnd::Exited(exit)), sink.tail.into_text())
}

/// Waits for `limit`, without the time in which this process was stopped. Each step counts only its
/// own length, however late the process wakes up.
pub(super) async fn pass(limit: Duration) {
    let mut rest = limit;
    while !rest.is_zero() {
        let step = rest.min(STEP);
        sleep(step).await;
        rest -= step;
    }
}

/// Reads both pipes to their end, or until [`DRAIN_TIMEOUT`] after the command's exit.
pub(super) async fn collect(
    mut stdout: Option<impl AsyncRead + Unpin>,
    mut stderr: Option<impl AsyncRead + Unpin>,
    (sink, masks): (&mut OutputSink<'_>, &mut OutputMasks),
    over: oneshot::Receiver<()>,
) {
    let read = async {
        let (mut out, mut err) = (vec![0; CHUNK], vec![0; CHUNK]);
        while stdout.is_some() || stderr.is_some() {
            tokio::select! {
                n = read_some(&mut stdout, &mut out) => write(&mut masks.stdout, sink, &out[..n]),
                n = read_some(&mut stderr, &mut err) => write(&mut masks.stderr, sink, &err[..n]),
            }
        }
    };
    tokio::pin!(read);
    tokio::select! {
        () = &mut read => return,
        _ = over => {}
    }
    // A process that still holds a pipe got SIGTERM with the command. Its output does not
    // belong to the command.
    let _ = timeout(DRAIN_TIMEOUT, read).await;
}

/// Bytes read; a pipe at end of file is dropped and not polled again.
pub async fn read_some(pipe: &mut Option<impl AsyncRead + Unpin>, buffer: &mut [u8]) -> usize {
    let Some(open) = pipe else {
        return std::future::pending().await;
    };
    // A read error counts as end of file.
    let n = open.read(buffer).await.unwrap_or(0);
    if n == 0 {
        *pipe = None;
    }
    n
}
