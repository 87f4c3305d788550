//! A command that is run to its end for its exit code and its last words.

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
use super::output_tail::OutputTail;

/// How much of a command's output is kept, from its end.
pub const OUTPUT_MAX: usize = 64 << 10;
/// How long pipes that somebody holds open are read after the end.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);
/// The longest sleep that is counted at once.
const STEP: Duration = Duration::from_secs(1);
/// One read from a pipe; the kernel gives no more at once.
const CHUNK: usize = 64 << 10;

/// How a command went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinishedCommand {
    /// How it ended.
    pub ended: CommandEnd,
    /// The end of what it printed, standard output and error in one.
    pub output: String,
    /// How long it took.
    pub duration: Duration,
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandEnd {
    /// By itself.
    Exited(Exit),
    /// It took longer than it was given.
    TimedOut,
    /// It was stopped through its handle.
    Stopped,
    /// It could not be started.
    NotStarted {
        /// Why.
        why: String,
    },
}

/// Stops commands that are running, from elsewhere. A command that has not begun yet when the
/// word comes is stopped as soon as it begins.
#[derive(Clone, Debug, Default)]
pub struct StopHandle {
    asked: Arc<Notify>,
}

impl StopHandle {
    /// Stops the command that is running, or the next one.
    pub fn stop(&self) {
        self.asked.notify_one();
    }
}

/// A command line as a shell would run it, with both outputs in the order they were written.
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
    }
}

/// Runs a command until it ends, its time is up, or it is stopped; nothing that it started is left.
pub async fn run_to_end(
    launch: &Launch,
    limit: Duration,
    keep: usize,
    stop: &StopHandle,
) -> FinishedCommand {
    let heard = OutputSink { tail: OutputTail::new(keep), log: None };
    read_to_end(launch, limit, heard, stop, None).await
}

/// The same, with everything that it prints in a log, and secrets masked.
pub async fn run_and_log(
    launch: &Launch,
    limit: Duration,
    keep: usize,
    stop: &StopHandle,
    (log, secrets): (Option<&mut CommandLog>, &Secrets),
) -> FinishedCommand {
    let heard = OutputSink { tail: OutputTail::new(keep), log };
    read_to_end(launch, limit, heard, stop, Some(secrets)).await
}

async fn read_to_end(
    launch: &Launch,
    limit: Duration,
    heard: OutputSink<'_>,
    stop: &StopHandle,
    secrets: Option<&Secrets>,
) -> FinishedCommand {
    let begin = Instant::now();
    let masks = OutputMasks::new(secrets);
    let (ended, output) = match spawn(launch).await {
        Ok(child) => run(child, limit, (heard, masks), stop).await,
        Err(error) => {
            let why = format!("can't start `{}`: {error}", launch.program.display());
            (CommandEnd::NotStarted { why }, String::new())
        }
    };
    FinishedCommand { ended, output, duration: begin.elapsed() }
}

/// What becomes of what a command prints.
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

/// What masks each of the two outputs, if anything does.
pub(super) struct OutputMasks {
    stdout: Option<StreamMasker>,
    stderr: Option<StreamMasker>,
}

impl OutputMasks {
    pub(super) fn new(secrets: Option<&Secrets>) -> Self {
        let masking = || secrets.cloned().map(StreamMasker::new);
        Self { stdout: masking(), stderr: masking() }
    }

    pub(super) fn finish(&mut self, heard: &mut OutputSink<'_>) {
        for masking in [&mut self.stdout, &mut self.stderr].into_iter().flatten() {
            masking.finish(|text| heard.push(text));
        }
    }
}

/// Hears more of one output.
fn write(masking: &mut Option<StreamMasker>, heard: &mut OutputSink<'_>, more: &[u8]) {
    match masking {
        Some(masking) => masking.push(more, |text| heard.push(text)),
        None => heard.push(more),
    }
}

async fn run(
    mut child: Child,
    limit: Duration,
    (mut heard, mut masks): (OutputSink<'_>, OutputMasks),
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
        // Nobody listens any more once both pipes are at their end.
        let _ = over.send(());
        cut
    };
    let (cut, ()) = tokio::join!(watch, collect(stdout, stderr, (&mut heard, &mut masks), is_over));
    masks.finish(&mut heard);
    let (exit, _) = child.gone().await;
    (cut.unwrap_or(CommandEnd::Exited(exit)), heard.tail.into_text())
}

/// Lets so much time pass, not counting time in which we were stopped: of each step only its own
/// length counts, however late we wake up.
pub(super) async fn pass(limit: Duration) {
    let mut rest = limit;
    while !rest.is_zero() {
        let step = rest.min(STEP);
        sleep(step).await;
        rest -= step;
    }
}

/// Reads both pipes to their end, or until some time after the command is over.
pub(super) async fn collect(
    mut stdout: Option<impl AsyncRead + Unpin>,
    mut stderr: Option<impl AsyncRead + Unpin>,
    (heard, masks): (&mut OutputSink<'_>, &mut OutputMasks),
    over: oneshot::Receiver<()>,
) {
    let read = async {
        let (mut out, mut err) = (vec![0; CHUNK], vec![0; CHUNK]);
        while stdout.is_some() || stderr.is_some() {
            tokio::select! {
                n = read_some(&mut stdout, &mut out) => write(&mut masks.stdout, heard, &out[..n]),
                n = read_some(&mut stderr, &mut err) => write(&mut masks.stderr, heard, &err[..n]),
            }
        }
    };
    tokio::pin!(read);
    tokio::select! {
        () = &mut read => return,
        _ = over => {}
    }
    // Whoever still holds a pipe was asked to leave when the command ended: what it says is not
    // the command's.
    let _ = timeout(DRAIN_TIMEOUT, read).await;
}

/// Bytes read; a pipe at its end is let go and never comes up again.
pub async fn read_some(pipe: &mut Option<impl AsyncRead + Unpin>, buffer: &mut [u8]) -> usize {
    let Some(open) = pipe else {
        return std::future::pending().await;
    };
    // An error on a pipe is its end: there is nothing more to be had from it.
    let n = open.read(buffer).await.unwrap_or(0);
    if n == 0 {
        *pipe = None;
    }
    n
}
