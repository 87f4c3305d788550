//! The start of a guard, for callers with and without a runtime.

use std::io::{self, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

use super::NAME;
use super::wire::{GuardMessage, GuardOrder};

/// The time a guard gets to start. It usually takes a millisecond.
pub(crate) const GUARD_START_TIMEOUT: Duration = Duration::from_secs(10);

/// The command that starts a guard with this end of its socket. The outputs of the guard are those
/// of the program.
pub(crate) fn command(guard: &Path, socket: UnixStream) -> Command {
    let mut command = Command::new(guard);
    command
        .arg0(NAME)
        .arg(NAME)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::from(OwnedFd::from(socket)))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Sends the order. An order larger than the kernel's buffer blocks until the guard reads it, which
/// takes a moment at most.
pub(crate) fn send(
    mut socket: &UnixStream,
    order: &GuardOrder,
    input: &impl AsFd,
) -> io::Result<()> {
    let order = order.encode();
    socket.set_write_timeout(Some(GUARD_START_TIMEOUT))?;
    let descriptors = [input.as_fd()];
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    beside.push(SendAncillaryMessage::ScmRights(&descriptors));
    let slices = [io::IoSlice::new(&order)];
    // A missing guard is an error here, not a signal, because the runtime ignores SIGPIPE.
    let sent = sendmsg(socket, &slices, &mut beside, SendFlags::empty())?;
    socket.write_all(&order[sent..])
}

/// Whether the first message of a guard reports the start of the program; `None` if its socket is
/// closed.
pub(crate) fn started(message: Option<GuardMessage>) -> io::Result<()> {
    match message {
        Some(GuardMessage::Started) => Ok(()),
        Some(GuardMessage::NotStarted { errno: 0 }) => {
            Err(io::Error::other("the system gave no reason"))
        }
        Some(GuardMessage::NotStarted { errno }) => Err(io::Error::from_raw_os_error(errno)),
        Some(GuardMessage::Unprepared { errno }) => {
            let error = io::Error::from_raw_os_error(errno);
            Err(io::Error::other(format!("its guard could not prepare: {error}")))
        }
        Some(GuardMessage::Died(_) | GuardMessage::Empty) | None => {
            Err(io::Error::other("its guard exited before it started the program"))
        }
    }
}
