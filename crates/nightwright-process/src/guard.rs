//! The guard: nightwright as a hidden command, between the main process and a program that it
//! starts.
//!
//! A program can leave its process group, its session and its parent, but not its line of
//! ancestors. The guard is the *subreaper* of everything below it: a process that loses its parent
//! becomes the guard's child. So the guard knows all descendants, and when it has no child left,
//! none is left.
//!
//! ```text
//!   nightwright ──┬── socket: order, requests ▶  ◀ messages ──┐
//!                 │                                       guard ── subreaper, holds `tree.lock`
//!                 └── pipes: stdin, stdout, stderr ──┐      │
//!                                                    └── the program ── its tools ── children
//! ```
//!
//! A hook may leave processes running on purpose. Its guard kills only processes without their own
//! session, and stays until the others exit, so that nightwright never adopts them.
//!
//! The guard kills all descendants when the program exits, on request, and when the socket closes.
//! The kernel closes the socket however nightwright dies. The guard has no runtime and no settings.
//! Its name matches no `pkill` for nightwright or the agent, and its arguments and environment
//! contain nothing of the agent.

mod cgroup;
pub(super) mod start;
mod state;
pub(super) mod wire;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use nightwright_core::stream::outcome::ProcessExit;
use rustix::io::Errno;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, WaitStatus, getpid, setsid, wait, waitid,
};

use self::cgroup::Cgroup;
pub(super) use self::cgroup::{KILL, MEMBERS};
pub(super) use self::state::GRACE;
use self::state::{GuardAction, GuardEvent, GuardState};
use self::wire::{GuardMessage, GuardOrder, GuardRequest, KillScope, MAX_ORDER, SigtermScope};
use super::process_table::{self, Process, ProcessStat};
use super::tree_lock;

/// The name of the command, and of the process in process lists.
pub const NAME: &str = "nw-guard";

/// The number of scans before a signal counts as sent to all. A parent can die between two scans,
/// so that its child appears in neither.
const SIGNAL_ROUNDS: u32 = 3;
/// The interval between two checks whether all processes without their own session are gone.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// The capacity of the event queue. The guard handles events faster than processes die.
const MAX_NEWS: usize = 16;

/// Runs a guard until it exits. Its standard input is the socket; its two outputs are the
/// program's.
pub fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        // The error cannot be reported: the other end sees the socket close.
        Err(_) => ExitCode::FAILURE,
    }
}

fn run() -> io::Result<()> {
    prepare()?;
    let socket = UnixStream::from(rustix::stdio::stdin().try_clone_to_owned()?);
    let (order, input) = receive(&socket)?;
    let mut socket = Some(socket);
    let (word, begun) = match begin(&order, input) {
        Ok(begun) => (GuardMessage::Started, Some(begun)),
        Err(word) => (word, None),
    };
    send(&mut socket, word);
    let Some(mut begun) = begun else { return Ok(()) };
    let hearing = socket.as_ref().map(UnixStream::try_clone).transpose()?;
    let news = listen(begun.program, hearing);
    let below = watch(&mut begun, (order.kill_scope, order.sigterm_scope), &news, &mut socket);
    begun.group.remove();
    match below {
        Descendants::None => {}
        Descendants::Some => {
            drop(begun.lock);
            // Without the guard, nightwright would adopt the remaining processes and take them for
            // orphans.
            while let Ok(news) = news.recv() {
                match news {
                    GuardEvent::NobodyLeft => break,
                    GuardEvent::Alone => begun.outputs.drain(),
                    GuardEvent::Died(_) | GuardEvent::Asked(_) => {}
                }
            }
        }
    }
    Ok(())
}

/// Starts a new session and becomes a subreaper.
fn prepare() -> io::Result<()> {
    // This fails only for a group leader, that is, a guard started by hand.
    let _ = setsid();
    rustix::thread::set_name(c"nw-guard")?;
    rustix::process::set_child_subreaper(Some(getpid()))?;
    // A stopped guard notices the death of its parent only if a signal wakes it.
    rustix::process::set_parent_process_death_signal(Some(Signal::CONT))?;
    Ok(())
}

/// Receives the order, and the standard input of the program that is attached to it.
fn receive(mut socket: &UnixStream) -> io::Result<(GuardOrder, OwnedFd)> {
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    let mut length = [0; 4];
    let received =
        recvmsg(socket, &mut [io::IoSliceMut::new(&mut length)], &mut beside, RecvFlags::empty())?;
    let input = beside.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    if let Some(input) = &input {
        // No other process exists yet that could inherit it. Not every system can do both at once.
        rustix::io::fcntl_setfd(input, rustix::io::FdFlags::CLOEXEC)?;
    }
    socket.read_exact(&mut length[received.bytes..])?;
    let length = usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX);
    let (Some(input), ..=MAX_ORDER) = (input, length) else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    let mut body = vec![0; length];
    socket.read_exact(&mut body)?;
    let order = GuardOrder::decode(&body).ok_or(io::ErrorKind::InvalidData)?;
    Ok((order, input))
}

/// A running program and the resources held for it.
struct GuardedProgram {
    program: Pid,
    group: Cgroup,
    lock: Option<File>,
    outputs: ProgramOutputs,
}

/// The read ends of the program's outputs. The guard does not read while nightwright does.
struct ProgramOutputs(Vec<File>);

impl ProgramOutputs {
    /// Opens the read ends of the guard's own outputs, which are the program's, where the system
    /// allows it.
    fn of(kill_scope: KillScope) -> Self {
        match kill_scope {
            KillScope::AllDescendants => Self(Vec::new()),
            KillScope::Session => {
                let ends = ["/proc/self/fd/1", "/proc/self/fd/2"];
                Self(ends.iter().filter_map(|end| File::open(end).ok()).collect())
            }
        }
    }

    /// Reads and discards the output, so that it blocks no process after nightwright is gone.
    fn drain(&mut self) {
        for mut output in self.0.drain(..) {
            // A read error counts as end of file.
            thread::spawn(move || drop(io::copy(&mut output, &mut io::sink())));
        }
    }
}

/// Starts the program. From then on, only the program holds its pipes.
fn begin(order: &GuardOrder, input: OwnedFd) -> Result<GuardedProgram, GuardMessage> {
    let errno = |error: io::Error| error.raw_os_error().unwrap_or(0);
    let unprepared = |error| GuardMessage::Unprepared { errno: errno(error) };
    let nothing = File::options().read(true).write(true).open("/dev/null").map_err(unprepared)?;
    let none = order.lock.as_os_str().is_empty();
    let share = || tree_lock::share(&order.lock).map_err(unprepared);
    let lock = if none { None } else { Some(share()?) };
    let mut group = Cgroup::enter(&order.group);
    let outputs = ProgramOutputs::of(order.kill_scope);
    let spawned = Command::new(&order.program)
        .args(&order.arguments)
        .env_clear()
        .envs(order.environment.iter().map(|(name, value)| (name, value)))
        .current_dir(&order.directory)
        .stdin(Stdio::from(input))
        .stdout(Stdio::inherit())
        .stderr(Stdio::inherit())
        .process_group(0)
        .spawn();
    group.leave();
    let mut child = spawned.map_err(|error| {
        group.remove();
        GuardMessage::NotStarted { errno: errno(error) }
    })?;
    let number = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    match (number, close_pipes(&nothing)) {
        (Some(program), Ok(())) => Ok(GuardedProgram { program, group, lock, outputs }),
        // The end of its output could not be seen. Wait for its exit; nightwright adopts any
        // process it has started by now.
        (_, done) => {
            let _ = child.kill();
            let _ = child.wait();
            Err(unprepared(done.err().map_or_else(|| io::ErrorKind::Other.into(), Into::into)))
        }
    }
}

fn close_pipes(nothing: &File) -> Result<(), Errno> {
    rustix::stdio::dup2_stdin(nothing)?;
    rustix::stdio::dup2_stdout(nothing)?;
    rustix::stdio::dup2_stderr(nothing)
}

/// Listens to the kernel and to the socket, on one thread each.
fn listen(program: Pid, socket: Option<UnixStream>) -> mpsc::Receiver<GuardEvent> {
    let (sender, news) = mpsc::sync_channel(MAX_NEWS);
    let deaths = sender.clone();
    thread::spawn(move || reap_all(program, &deaths));
    thread::spawn(move || read_requests(socket, &sender));
    news
}

/// Reaps every descendant, and reports the exits of the program and of the last descendant.
fn reap_all(program: Pid, news: &mpsc::SyncSender<GuardEvent>) {
    let mut last = false;
    while !last {
        let event = match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == program => Some(GuardEvent::Died(death(status))),
            Ok(_) | Err(Errno::INTR) => None,
            Err(_) => {
                last = true;
                Some(GuardEvent::NobodyLeft)
            }
        };
        if let Some(event) = event {
            // The main thread receives until no descendant is left.
            let _ = news.send(event);
        }
    }
}

fn death(status: WaitStatus) -> ProcessExit {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => ProcessExit::Code(code),
        (None, Some(signal)) => ProcessExit::Signal(signal),
        // Only a stopped process has neither, and stopped processes are not waited for.
        (None, None) => ProcessExit::Code(-1),
    }
}

fn read_requests(socket: Option<UnixStream>, news: &mpsc::SyncSender<GuardEvent>) {
    let mut byte = [0];
    if let Some(mut socket) = socket {
        while socket.read_exact(&mut byte).is_ok() {
            let Some(request) = GuardRequest::from_byte(byte[0]) else { break };
            if news.send(GuardEvent::Asked(request)).is_err() {
                return;
            }
        }
    }
    // The main thread ends only when everything has ended.
    let _ = news.send(GuardEvent::Alone);
}

/// Whether descendants are left below a guard that has killed all it had to.
enum Descendants {
    None,
    /// Some processes are left, and may continue to run.
    Some,
}

/// The main loop of the guard: receives events, decides and acts, until no process is left to kill.
fn watch(
    begun: &mut GuardedProgram,
    (kill_scope, sigterm_scope): (KillScope, SigtermScope),
    news: &mpsc::Receiver<GuardEvent>,
    socket: &mut Option<UnixStream>,
) -> Descendants {
    let begin = Instant::now();
    let mut state = GuardState::Watching;
    let mut died = false;
    loop {
        let now = begin.elapsed();
        // The kernel does not report the exit of the last process of a session.
        let look = (died && kill_scope == KillScope::Session).then(|| now + POLL_INTERVAL);
        let received = match state.due().into_iter().chain(look).min() {
            None => news.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(due) => news.recv_timeout(due.saturating_sub(now)),
        };
        let now = begin.elapsed();
        if received == Ok(GuardEvent::Alone) {
            begun.outputs.drain();
        }
        let acts = match received {
            Ok(news) => state.handle(now, news),
            Err(RecvTimeoutError::Timeout) => state.wake(now).into_iter().collect(),
            // Both threads are dead, which never happens before the end.
            Err(RecvTimeoutError::Disconnected) => vec![GuardAction::Kill, GuardAction::Leave],
        };
        for act in acts {
            match act {
                GuardAction::Send(word) => {
                    died |= matches!(word, GuardMessage::Died(_));
                    send(socket, word);
                }
                GuardAction::Terminate => terminate_all(begun.program, kill_scope, sigterm_scope),
                GuardAction::Kill => {
                    begun.group.kill();
                    signal_all(begun.program, kill_scope, Signal::KILL, &|_| true);
                }
                GuardAction::Leave => return Descendants::None,
            }
        }
        // Scanned twice: a parent can die during a scan, before its child is listed.
        let over = || within(kill_scope).is_empty() && within(kill_scope).is_empty();
        if died && kill_scope == KillScope::Session && over() {
            send(socket, GuardMessage::Empty);
            return Descendants::Some;
        }
    }
}

/// Sends a message to nightwright, if it is still connected.
fn send(socket: &mut Option<UnixStream>, word: GuardMessage) {
    if let Some(open) = socket
        && open.write_all(&word.to_bytes()).is_err()
    {
        *socket = None;
    }
}

/// All descendants to kill.
fn within(kill_scope: KillScope) -> Vec<Process> {
    let us = getpid();
    let all =
        process_table::below(&process_table::all(), &BTreeSet::from([us.as_raw_nonzero().get()]));
    match (kill_scope, ProcessStat::of(us)) {
        (KillScope::AllDescendants, _) | (KillScope::Session, None) => all,
        (KillScope::Session, Some(own)) => {
            all.into_iter().filter(|process| process.stat.session == own.session).collect()
        }
    }
}

/// Sends SIGTERM to the descendants that receive it.
fn terminate_all(program: Pid, kill_scope: KillScope, sigterm_scope: SigtermScope) {
    match sigterm_scope {
        SigtermScope::All => signal_all(program, kill_scope, Signal::TERM, &|_| true),
        SigtermScope::Namespace => {
            let own = process_table::namespace_depth(getpid());
            let is_inside = |process: &Process| process_table::namespace_depth(process.pid) > own;
            signal_all(program, kill_scope, Signal::TERM, &is_inside);
        }
    }
}

/// Signals the descendants that `is_wanted` selects, each once, until a scan finds no new one.
fn signal_all(
    program: Pid,
    kill_scope: KillScope,
    signal: Signal,
    is_wanted: &dyn Fn(&Process) -> bool,
) {
    if !has_children() {
        return;
    }
    let mut reached = BTreeSet::new();
    if !process_table::is_there() {
        return signal_group(program, signal);
    }
    for _ in 0..SIGNAL_ROUNDS {
        let new: Vec<_> = within(kill_scope)
            .into_iter()
            .filter(is_wanted)
            .filter(|process| reached.insert((process.pid.as_raw_nonzero(), process.stat.started)))
            .collect();
        if new.is_empty() {
            return;
        }
        for process in new {
            process.signal(signal);
        }
    }
}

/// Whether the guard has a child, dead or alive. Without one, it has no descendant, and the kernel
/// answers faster than a scan of the process table.
fn has_children() -> bool {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::All, look), Err(Errno::CHILD))
}

fn signal_group(program: Pid, signal: Signal) {
    // An error means that the group is already gone.
    let _ = rustix::process::kill_process_group(program, signal);
}
