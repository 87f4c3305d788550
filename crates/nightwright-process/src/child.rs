//! A child process with all its descendants, as seen by nightwright: the counterpart of the guard.

use std::ffi::OsString;
use std::io;
use std::os::unix::net::UnixStream as StdStream;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use nightwright_core::stream::outcome::ProcessExit;
use rustix::io::Errno;
use tokio::io::AsyncReadExt as _;
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::{ChildStderr, ChildStdout, Command};
use tokio::sync::{Notify, watch};
use tokio::time::timeout;

use super::containment::Containment;
use super::guard::start::{self, GUARD_START_TIMEOUT};
use super::guard::wire::{GuardMessage, GuardOrder, GuardRequest, KillScope, SigtermScope, WORD};
use super::orphans::{OwnChild, Survivors};
use super::{guard, orphans};

/// The time a program gets between SIGTERM and SIGKILL.
pub const GRACE: Duration = guard::GRACE;
/// The time a guard may exceed a deadline before it is killed.
const GUARD_REPLY_TIMEOUT: Duration = Duration::from_secs(2);
/// The exit reported for a program whose guard was killed. The program is then killed too.
const UNSEEN: Exit = Exit(ProcessExit::Signal(9));

/// The complete description of a program to start. The program inherits nothing else.
#[derive(Clone, Debug)]
pub struct Launch {
    /// A path, or a name to find on the `PATH` of `environment`.
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
    /// The complete environment of the program.
    pub environment: Vec<(OsString, OsString)>,
    /// The working directory of the program.
    pub directory: PathBuf,
    /// The containment that keeps its processes together.
    pub containment: Containment,
    /// The processes that receive SIGTERM before they are killed.
    pub sigterm_scope: SigtermScope,
}

/// The exit code of a process, or the signal that killed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit(pub ProcessExit);

impl Exit {
    /// Whether the process exited with code 0.
    pub fn is_success(self) -> bool {
        self.0 == ProcessExit::Code(0)
    }

    /// The exit code, if no signal killed the process.
    pub fn code(self) -> Option<i32> {
        match self.0 {
            ProcessExit::Code(code) => Some(code),
            ProcessExit::Signal(_) => None,
        }
    }

    /// The signal that killed the process, if any.
    pub fn signal(self) -> Option<i32> {
        match self.0 {
            ProcessExit::Code(_) => None,
            ProcessExit::Signal(signal) => Some(signal),
        }
    }
}

impl From<ExitStatus> for Exit {
    fn from(status: ExitStatus) -> Self {
        Self(match (status.code(), status.signal()) {
            (Some(code), _) => ProcessExit::Code(code),
            (None, Some(signal)) => ProcessExit::Signal(signal),
            // Only a stopped process has neither, and stopped processes are not waited for.
            (None, None) => ProcessExit::Code(-1),
        })
    }
}

/// A started program with all its descendants.
#[derive(Debug)]
pub struct Child {
    stdin: Option<pipe::Sender>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    /// Closing this is a request too: the guard then kills everything.
    requests: OwnedWriteHalf,
    /// Notified to have the guard itself killed.
    given_up: Arc<Notify>,
    stage: watch::Receiver<ChildState>,
    /// The request sent to the guard when the child is dropped.
    on_drop: GuardRequest,
}

/// The progress of a child from start to exit.
#[derive(Clone, Copy, Debug)]
enum ChildState {
    Running,
    /// The program has exited; its descendants may still run.
    Died,
    /// The program and its descendants are gone, except for those that cannot be killed.
    Gone(Exit, Survivors),
}

/// Starts a program below a new guard, with pipes for all three standard streams.
pub async fn spawn(launch: &Launch) -> io::Result<Child> {
    Ok(launch_below_guard(launch, KillScope::AllDescendants, &[]).await?.0)
}

/// Like [`spawn`], for a hook, which may leave processes running: descendants with their own
/// session are not killed. Writes as much of `first` to standard input as the pipe takes before the
/// program starts, and returns that number of bytes.
pub async fn spawn_hook(launch: &Launch, first: &[u8]) -> io::Result<(Child, usize)> {
    launch_below_guard(launch, KillScope::Session, first).await
}

async fn launch_below_guard(
    launch: &Launch,
    kill_scope: KillScope,
    first: &[u8],
) -> io::Result<(Child, usize)> {
    let (ours, theirs) = StdStream::pair()?;
    let (input, stdin) = io::pipe()?;
    let put = put_first(&stdin, first)?;
    let mut command = Command::from(start::command(launch.containment.guard(), theirs));
    // The error kind is dropped: it would be taken for the program's.
    let (mut guard, noted) = orphans::start(&mut command, kill_scope)
        .map_err(|error| io::Error::other(format!("cannot start its guard: {error}")))?;
    drop(command);
    let (stdout, stderr) = (guard.stdout.take(), guard.stderr.take());
    let mark = mark(launch);
    let given_up = Arc::new(Notify::new());
    let order = order(launch, kill_scope);
    let begun = begin(&order, ours, &input).await;
    drop(input);
    let stage = match begun {
        Ok((messages, requests)) => {
            let (tell, stage) = watch::channel(ChildState::Running);
            let given_up = Arc::clone(&given_up);
            let group = order.group;
            let held = GuardHandle { guard, noted, messages, mark, group, given_up, kill_scope };
            tokio::spawn(held.run(tell));
            Ok((stage, requests))
        }
        Err(error) => {
            // The guard exits, because its socket is closed. If it started something before it
            // failed, nothing else kills that.
            if timeout(GUARD_REPLY_TIMEOUT, guard.wait()).await.is_err() {
                // An error means that the guard is already dead.
                let _ = guard.start_kill();
                let _ = timeout(GUARD_REPLY_TIMEOUT, guard.wait()).await;
            }
            drop(noted);
            end_orphans(mark, orphans::GRACE).await;
            Err(error)
        }
    };
    let (stage, requests) = stage?;
    let stdin = pipe::Sender::from_owned_fd(stdin.into())?;
    // A program of nightwright's own is useless without it. A hook may finish its work.
    let on_drop = match kill_scope {
        KillScope::AllDescendants => GuardRequest::Kill,
        KillScope::Session => GuardRequest::Terminate,
    };
    let child = Child { stdin: Some(stdin), stdout, stderr, requests, given_up, stage, on_drop };
    Ok((child, put))
}

/// Writes as much to a pipe without a reader as it takes without blocking.
fn put_first(pipe: &io::PipeWriter, first: &[u8]) -> io::Result<usize> {
    rustix::io::ioctl_fionbio(pipe, true)?;
    let mut put = 0;
    while put < first.len() {
        match rustix::io::write(pipe, &first[put..]) {
            Ok(more) => put += more,
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(put)
}

/// The order for the guard.
fn order(launch: &Launch, kill_scope: KillScope) -> GuardOrder {
    let mut order = GuardOrder {
        program: launch.program.clone(),
        arguments: launch.arguments.clone(),
        environment: launch.environment.clone(),
        directory: launch.directory.clone(),
        lock: PathBuf::new(),
        group: PathBuf::new(),
        kill_scope,
        sigterm_scope: launch.sigterm_scope,
    };
    launch.containment.fill(&mut order);
    if kill_scope == KillScope::Session {
        // A cgroup is killed as a whole.
        order.group = PathBuf::new();
    }
    order
}

/// Sends the order, and waits until the guard reports that the program has started.
async fn begin(
    order: &GuardOrder,
    socket: StdStream,
    input: &io::PipeReader,
) -> io::Result<(OwnedReadHalf, OwnedWriteHalf)> {
    start::send(&socket, order, input)?;
    socket.set_nonblocking(true)?;
    let (mut words, requests) = UnixStream::from_std(socket)?.into_split();
    match timeout(GUARD_START_TIMEOUT, read_message(&mut words)).await {
        Ok(message) => start::started(message).map(|()| (words, requests)),
        Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "its guard does not answer")),
    }
}

async fn read_message(words: &mut OwnedReadHalf) -> Option<GuardMessage> {
    let mut word = [0; WORD];
    words.read_exact(&mut word).await.ok()?;
    GuardMessage::from_bytes(word)
}

/// A running guard and its socket.
struct GuardHandle {
    guard: tokio::process::Child,
    noted: OwnChild,
    messages: OwnedReadHalf,
    mark: Option<String>,
    /// The cgroup of the guard; an empty path if it has none.
    group: PathBuf,
    given_up: Arc<Notify>,
    kill_scope: KillScope,
}

impl GuardHandle {
    /// Reads messages from the guard until everything has ended. If the guard is killed, ends its
    /// processes directly.
    async fn run(mut self, stage: watch::Sender<ChildState>) {
        let mut exit = None;
        let mut empty = false;
        // The grace that remains for all processes if the guard is killed.
        let mut grace = orphans::GRACE;
        while let Some(word) = self.next(&mut grace).await {
            match word {
                GuardMessage::Died(death) => {
                    exit = Some(Exit(death));
                    stage.send_replace(ChildState::Died);
                }
                GuardMessage::Empty => {
                    empty = true;
                    if self.kill_scope == KillScope::Session {
                        // The guard may stay with processes that continue to run; nothing waits for
                        // it.
                        stage.send_replace(ChildState::Gone(
                            exit.unwrap_or(UNSEEN),
                            Survivors::None,
                        ));
                    }
                }
                GuardMessage::Started
                | GuardMessage::NotStarted { .. }
                | GuardMessage::Unprepared { .. } => {}
            }
        }
        // Only the exit of the guard matters, not its status.
        let _ = self.guard.wait().await;
        drop(self.noted);
        let left = if empty {
            Survivors::None
        } else {
            let left = end_orphans(self.mark, grace).await;
            // A cgroup that is not empty stays, and the next run removes it.
            let _ = std::fs::remove_dir(&self.group);
            left
        };
        stage.send_replace(ChildState::Gone(exit.unwrap_or(UNSEEN), left));
    }

    async fn next(&mut self, grace: &mut Duration) -> Option<GuardMessage> {
        tokio::select! {
            biased;
            word = read_message(&mut self.messages) => word,
            () = self.given_up.notified() => {
                // An error means that the guard is already dead.
                let _ = self.guard.start_kill();
                *grace = Duration::ZERO;
                None
            }
        }
    }
}

/// Kills the processes of a dead guard. This reads the process table several times, so it runs
/// outside the main loop's thread.
async fn end_orphans(mark: Option<String>, grace: Duration) -> Survivors {
    let end = move || orphans::end(mark.as_deref(), grace);
    tokio::task::spawn_blocking(end).await.unwrap_or(Survivors::Some)
}

/// The mark that identifies orphans of this child.
fn mark(launch: &Launch) -> Option<String> {
    let (_, mark) = launch.environment.iter().find(|(name, _)| name == orphans::MARK)?;
    mark.to_str().map(str::to_owned)
}

impl Child {
    /// The pipe to standard input, closed by dropping it. Returns `None` the second time.
    pub fn take_stdin(&mut self) -> Option<pipe::Sender> {
        self.stdin.take()
    }

    /// The pipe from standard output. Returns `None` the second time.
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.stdout.take()
    }

    /// The pipe from standard error. Returns `None` the second time.
    pub fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.stderr.take()
    }

    /// Sends SIGTERM to the program and its descendants, and SIGKILL after [`GRACE`].
    pub fn terminate(&self) {
        self.ask(GuardRequest::Terminate);
    }

    /// Kills the program and its descendants immediately.
    pub fn kill(&self) {
        self.ask(GuardRequest::Kill);
    }

    /// Leaves the program to its guard for a few more seconds, even if nightwright exits.
    pub fn leave_running(mut self) {
        self.on_drop = GuardRequest::LeaveRunning;
    }

    /// Kills an unresponsive guard, and then the processes below it.
    fn give_up(&self) {
        self.given_up.notify_one();
    }

    /// Waits for the exit of the program. Its descendants may still run.
    pub async fn exited(&self) {
        let mut stage = self.stage.clone();
        // Without the task that reads from the guard, there is nothing left to wait for.
        let _ =
            stage.wait_for(|stage| matches!(stage, ChildState::Died | ChildState::Gone(..))).await;
    }

    /// Sends SIGTERM, and SIGKILL after the grace. Returns when the program has exited.
    pub async fn end(&self) {
        self.terminate();
        if timeout(GRACE + GUARD_REPLY_TIMEOUT, self.exited()).await.is_err() {
            self.end_now().await;
        }
    }

    /// Sends SIGKILL. Returns when the program has exited.
    pub async fn end_now(&self) {
        self.kill();
        if timeout(GUARD_REPLY_TIMEOUT, self.exited()).await.is_err() {
            self.give_up();
            self.exited().await;
        }
    }

    /// Waits until the program and its descendants are gone, and returns its exit and whether any
    /// survived. Call this after the program's exit: the remaining processes get the usual grace,
    /// and the guard little more.
    pub async fn gone(&self) -> (Exit, Survivors) {
        if timeout(GRACE + GUARD_REPLY_TIMEOUT, self.finished()).await.is_err() {
            self.kill();
            if timeout(GUARD_REPLY_TIMEOUT, self.finished()).await.is_err() {
                self.give_up();
            }
        }
        self.finished().await
    }

    async fn finished(&self) -> (Exit, Survivors) {
        let mut stage = self.stage.clone();
        match stage.wait_for(|stage| matches!(stage, ChildState::Gone(..))).await.as_deref() {
            Ok(ChildState::Gone(exit, left)) => (*exit, *left),
            Ok(ChildState::Running | ChildState::Died) | Err(_) => (UNSEEN, Survivors::Some),
        }
    }

    fn ask(&self, request: GuardRequest) {
        // A few bytes always fit. A guard that is gone has nothing left to do.
        let _ = self.requests.try_write(&[request.to_byte()]);
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.ask(self.on_drop);
    }
}
