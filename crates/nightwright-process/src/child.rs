//! One child with everything below it, seen from our side of its guard.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream as StdStream;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use nightwright_core::stream::outcome::ProcessExit;
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use tokio::io::AsyncReadExt as _;
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::{ChildStderr, ChildStdout, Command};
use tokio::sync::{Notify, watch};
use tokio::time::timeout;

use super::containment::Containment;
use super::guard::wire::{GuardMessage, GuardOrder, GuardRequest, KillScope, WORD};
use super::orphans::{OwnChild, Survivors};
use super::{guard, orphans};

/// What a program has between SIGTERM and SIGKILL.
pub const GRACE: Duration = guard::GRACE;
/// How long a guard may take to be there. It takes a millisecond.
const GUARD_START_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a guard may be late with what it was asked for before it is given up.
const GUARD_REPLY_TIMEOUT: Duration = Duration::from_secs(2);
/// What a program is said to have died of when its guard was killed: we then kill it too.
const UNSEEN: Exit = Exit(ProcessExit::Signal(9));

/// What to start, complete: nothing is inherited but what is named here.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The program: a path, or a name to be found in the `PATH` of `environment`.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Its whole environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Where it runs.
    pub directory: PathBuf,
    /// What keeps it.
    pub containment: Containment,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit(pub ProcessExit);

impl Exit {
    /// Whether it ended of its own will with 0.
    pub fn is_success(self) -> bool {
        self.0 == ProcessExit::Code(0)
    }

    /// The code it exited with, if no signal killed it.
    pub fn code(self) -> Option<i32> {
        match self.0 {
            ProcessExit::Code(code) => Some(code),
            ProcessExit::Signal(_) => None,
        }
    }

    /// The signal that killed it, if one did.
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
            // Neither can be said only of a process that was stopped, which is not waited for.
            (None, None) => ProcessExit::Code(-1),
        })
    }
}

/// A program that we started, with everything below it.
#[derive(Debug)]
pub struct Child {
    stdin: Option<pipe::Sender>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    /// Closing it is a request too: the guard then ends everything.
    requests: OwnedWriteHalf,
    /// The guard itself is to be killed.
    given_up: Arc<Notify>,
    stage: watch::Receiver<ChildState>,
    /// What is asked of the guard when nobody is interested any more.
    on_drop: GuardRequest,
}

/// How far a child is.
#[derive(Clone, Copy, Debug)]
enum ChildState {
    Running,
    /// The program is dead.
    Died,
    /// So is everything it started, or all of it that can be ended.
    Gone(Exit, Survivors),
}

/// Starts a program below a guard of its own, with all three pipes ours.
pub async fn spawn(launch: &Launch) -> io::Result<Child> {
    Ok(start(launch, KillScope::AllDescendants, &[]).await?.0)
}

/// The same for a program of the user's own, which may leave something running: whoever below it
/// makes itself a session of its own is left alone, and nobody else. As much of `first` as the pipe
/// takes is there to be read before the program is; also gives how much that is.
pub async fn spawn_hook(launch: &Launch, first: &[u8]) -> io::Result<(Child, usize)> {
    start(launch, KillScope::Session, first).await
}

async fn start(launch: &Launch, kill_scope: KillScope, first: &[u8]) -> io::Result<(Child, usize)> {
    let (ours, theirs) = StdStream::pair()?;
    let (input, stdin) = io::pipe()?;
    let put = put_first(&stdin, first)?;
    let mut command = Command::new(launch.containment.guard());
    command
        .arg0(guard::NAME)
        .arg(guard::NAME)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs)))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    // Not the kind of the error: it would be taken for the program's.
    let (mut guard, noted) = orphans::start(&mut command, kill_scope)
        .map_err(|error| io::Error::other(format!("its guard can't be started: {error}")))?;
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
            // It is on its way out, for our end of the socket is closed; and if it had begun
            // something before it failed, nobody else will end that.
            if timeout(GUARD_REPLY_TIMEOUT, guard.wait()).await.is_err() {
                // Dead already, which is what is wanted.
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
    // What only we started is of no use without us; the user's own may say good-bye.
    let on_drop = match kill_scope {
        KillScope::AllDescendants => GuardRequest::Kill,
        KillScope::Session => GuardRequest::Terminate,
    };
    let child = Child { stdin: Some(stdin), stdout, stderr, requests, given_up, stage, on_drop };
    Ok((child, put))
}

/// Puts as much into a pipe that nobody reads yet as it takes at once.
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

/// What the guard is told.
fn order(launch: &Launch, kill_scope: KillScope) -> GuardOrder {
    let mut order = GuardOrder {
        program: launch.program.clone(),
        arguments: launch.arguments.clone(),
        environment: launch.environment.clone(),
        directory: launch.directory.clone(),
        lock: PathBuf::new(),
        group: PathBuf::new(),
        kill_scope,
    };
    launch.containment.fill(&mut order);
    if kill_scope == KillScope::Session {
        // A group is killed as a whole.
        order.group = PathBuf::new();
    }
    order
}

/// Gives the order, and waits for the word that it was carried out.
async fn begin(
    order: &GuardOrder,
    socket: StdStream,
    input: &io::PipeReader,
) -> io::Result<(OwnedReadHalf, OwnedWriteHalf)> {
    send(&socket, order, input)?;
    socket.set_nonblocking(true)?;
    let (mut words, requests) = UnixStream::from_std(socket)?.into_split();
    match timeout(GUARD_START_TIMEOUT, read_message(&mut words)).await {
        Ok(Some(GuardMessage::Started)) => Ok((words, requests)),
        Ok(Some(GuardMessage::NotStarted { errno: 0 })) => {
            Err(io::Error::other("the system did not say why"))
        }
        Ok(Some(GuardMessage::NotStarted { errno })) => Err(io::Error::from_raw_os_error(errno)),
        Ok(Some(GuardMessage::Unprepared { errno })) => {
            let error = io::Error::from_raw_os_error(errno);
            Err(io::Error::other(format!("its guard could not begin: {error}")))
        }
        Ok(Some(GuardMessage::Died(_) | GuardMessage::Empty) | None) => {
            Err(io::Error::other("its guard was ended before it began"))
        }
        Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "its guard does not answer")),
    }
}

/// An order larger than the kernel's buffer waits for the guard to read; that one is there in a
/// moment, or never.
fn send(mut socket: &StdStream, order: &GuardOrder, input: &io::PipeReader) -> io::Result<()> {
    let order = order.encode();
    socket.set_write_timeout(Some(GUARD_START_TIMEOUT))?;
    let descriptors = [input.as_fd()];
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    beside.push(SendAncillaryMessage::ScmRights(&descriptors));
    let slices = [io::IoSlice::new(&order)];
    // A guard that is gone is an error here, not a signal: the runtime ignores that one.
    let sent = sendmsg(socket, &slices, &mut beside, SendFlags::empty())?;
    socket.write_all(&order[sent..])
}

async fn read_message(words: &mut OwnedReadHalf) -> Option<GuardMessage> {
    let mut word = [0; WORD];
    words.read_exact(&mut word).await.ok()?;
    GuardMessage::from_bytes(word)
}

/// A guard at work.
struct GuardHandle {
    guard: tokio::process::Child,
    noted: OwnChild,
    messages: OwnedReadHalf,
    mark: Option<String>,
    /// Its control group; no path if it has none.
    group: PathBuf,
    given_up: Arc<Notify>,
    kill_scope: KillScope,
}

impl GuardHandle {
    /// Listens to the guard until all is over. A guard that was killed has left that to us.
    async fn run(mut self, stage: watch::Sender<ChildState>) {
        let mut exit = None;
        let mut empty = false;
        // What is left of the time that everybody has, should the guard be killed.
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
                        // The guard may stay with those that go on; nobody waits for that.
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
        // Nothing is asked of it but to be dead.
        let _ = self.guard.wait().await;
        drop(self.noted);
        let left = if empty {
            Survivors::None
        } else {
            let left = end_orphans(self.mark, grace).await;
            // One that is not empty stays, and the next run sees to it.
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
                // Dead already, which is what is wanted.
                let _ = self.guard.start_kill();
                *grace = Duration::ZERO;
                None
            }
        }
    }
}

/// Ends those whose guard is dead. The list of all processes is read several times for that, which
/// is not for the loop's thread.
async fn end_orphans(mark: Option<String>, grace: Duration) -> Survivors {
    let end = move || orphans::end(mark.as_deref(), grace);
    tokio::task::spawn_blocking(end).await.unwrap_or(Survivors::Some)
}

/// The mark by which orphans of this child are known.
fn mark(launch: &Launch) -> Option<String> {
    let (_, mark) = launch.environment.iter().find(|(name, _)| name == orphans::MARK)?;
    mark.to_str().map(str::to_owned)
}

impl Child {
    /// The pipe to its standard input; closed by dropping it. `None` the second time.
    pub fn take_stdin(&mut self) -> Option<pipe::Sender> {
        self.stdin.take()
    }

    /// The pipe from its standard output. `None` the second time.
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.stdout.take()
    }

    /// The pipe from its standard error. `None` the second time.
    pub fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.stderr.take()
    }

    /// Asks it and everything below it to leave; who has not done so after [`GRACE`] is killed.
    pub fn terminate(&self) {
        self.ask(GuardRequest::Terminate);
    }

    /// Ends it and everything below it at once.
    pub fn kill(&self) {
        self.ask(GuardRequest::Kill);
    }

    /// Leaves it to its guard for a few seconds more, whatever becomes of us.
    pub fn leave_running(mut self) {
        self.on_drop = GuardRequest::LeaveRunning;
    }

    /// Gives up on a guard that does nothing: it is killed, and we end what was below it.
    fn give_up(&self) {
        self.given_up.notify_one();
    }

    /// Waits for the death of the program. What it started may still be there.
    pub async fn exited(&self) {
        let mut stage = self.stage.clone();
        // Without somebody who listens to the guard nothing more can be waited for.
        let _ =
            stage.wait_for(|stage| matches!(stage, ChildState::Died | ChildState::Gone(..))).await;
    }

    /// SIGTERM, some seconds, SIGKILL; returns at the death of the program.
    pub async fn end(&self) {
        self.terminate();
        if timeout(GRACE + GUARD_REPLY_TIMEOUT, self.exited()).await.is_err() {
            self.end_now().await;
        }
    }

    /// SIGKILL; returns at the death of the program.
    pub async fn end_now(&self) {
        self.kill();
        if timeout(GUARD_REPLY_TIMEOUT, self.exited()).await.is_err() {
            self.give_up();
            self.exited().await;
        }
    }

    /// Waits until it and everything below it is gone, and says how it died and who could not be
    /// ended. To be called after its death: what is left then has the usual grace, and the guard
    /// not much more.
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
        // A few bytes always find room; a guard that is gone has done all it could be asked for.
        let _ = self.requests.try_write(&[request.to_byte()]);
    }
}

impl Drop for Child {
    /// Nobody will hear any more of it.
    fn drop(&mut self) {
        self.ask(self.on_drop);
    }
}
