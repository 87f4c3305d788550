//! The system calls of the sandbox's network that have no safe interface: new namespaces, filters of
//! packets, and what a child does between its fork and its program.

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};
use rustix::thread::UnshareFlags;
use tokio::io::unix::AsyncFd;

/// Moves this thread into new namespaces. A user namespace needs a process with a single thread.
pub(super) fn enter_new(namespaces: UnshareFlags) -> io::Result<()> {
    assert!(!namespaces.contains(UnshareFlags::FILES), "descriptors stay shared");
    #[expect(unsafe_code, reason = "the call can give a thread its own descriptors")]
    // SAFETY: the descriptors of the process stay shared by all its threads.
    let done = unsafe { rustix::thread::unshare_unsafe(namespaces) };
    Ok(done?)
}

/// Has the kernel kill a child when this thread exits.
pub(super) fn tie_to_this_thread(command: &mut Command) {
    let parent = getpid();
    let tie = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // The parent may have died before the kernel knew.
        if getppid() == Some(parent) { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
    };
    #[expect(unsafe_code, reason = "the code runs in the child, after its fork")]
    // SAFETY: it makes two system calls and allocates nothing.
    unsafe {
        command.pre_exec(tie);
    }
}

/// One step of a packet filter, which the kernel runs on each packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct FilterStep(pub(super) u16, pub(super) u8, pub(super) u8, pub(super) u32);

/// Has a socket receive only what a filter selects.
pub(super) fn attach(socket: &OwnedFd, filter: &[FilterStep]) -> io::Result<()> {
    let mut steps: Vec<_> = filter
        .iter()
        .map(|FilterStep(code, jt, jf, k)| libc::sock_filter {
            code: *code,
            jt: *jt,
            jf: *jf,
            k: *k,
        })
        .collect();
    let len = u16::try_from(steps.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let length = libc::socklen_t::try_from(size_of::<libc::sock_fprog>())
        .map_err(|_| io::ErrorKind::InvalidInput)?;
    let program = libc::sock_fprog { len, filter: steps.as_mut_ptr() };
    #[expect(unsafe_code, reason = "the kernel reads the filter through a pointer")]
    // SAFETY: the program and its steps live until the call returns, and their lengths are correct.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            (&raw const program).cast(),
            length,
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Waits for a descriptor that is no ordinary stream.
pub(super) fn watch(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    #[expect(unsafe_code, reason = "the runtime keeps the number of a descriptor")]
    // SAFETY: the result owns the descriptor, and nothing here replaces or closes it.
    let watched = unsafe { AsyncFd::register(descriptor) };
    Ok(watched?)
}
