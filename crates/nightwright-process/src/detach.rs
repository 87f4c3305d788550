//! Detached runs: nightwright starts itself again, and that process leaves the terminal once every
//! startup error has been ruled out.
//!
//! ```text
//!   nightwright run --detach ── reads the pipe ──┬── a message: prints a hint, exits with 0
//!        │ same terminal, same group               └── end of file: exits with the child's code
//!        └── nightwright run ── questions, errors ── first event on disk ── setsid ── message ──▶
//! ```
//!
//! Until the message is sent, both processes belong together. Ctrl-C reaches both. If the parent
//! dies, the kernel signals the child, or the child finds that the pipe has no reader.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::setsid;
use tokio::signal::unix::{SignalKind, signal};

use super::child::Exit;
use super::containment::own_program;

/// The maximum length of the message. It is less than a pipe buffer holds, so one write never
/// blocks.
const MAX_WORD: u64 = 4096;

/// The result of starting a detached process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DetachOutcome {
    /// The process continues without the terminal, and sent this message.
    Detached(Vec<u8>),
    /// The process ended before it detached, after printing the reason.
    Ended(Exit),
}

/// Starts nightwright itself with these arguments and an option that names the pipe: `option`
/// receives the number of a file descriptor. Waits for the message or for the exit of the process.
/// Ctrl-C is left to the child, which then ends. Requires a Tokio runtime.
pub fn start_detached(
    arguments: impl IntoIterator<Item = OsString>,
    option: impl FnOnce(i32) -> OsString,
) -> io::Result<DetachOutcome> {
    // Caught without effect. A signal that is ignored here would be ignored in the child, too.
    let _interrupts = (signal(SignalKind::interrupt())?, signal(SignalKind::quit())?);
    let (hears, speaks) = io::pipe()?;
    // The only descriptor that the child inherits besides the standard three.
    fcntl_setfd(speaks.as_fd(), FdFlags::empty())?;
    let mut arguments = arguments.into_iter();
    let mut command = Command::new(own_program());
    if let Some(name) = arguments.next() {
        command.arg0(name);
    }
    if let Some(name) = arguments.next() {
        command.arg(name);
    }
    command.arg(option(speaks.as_raw_fd())).args(arguments);
    let mut child = command.spawn()?;
    drop(speaks);
    let mut word = Vec::new();
    BufReader::new(hears.take(MAX_WORD)).read_until(b'\n', &mut word)?;
    if word.pop() == Some(b'\n') {
        return Ok(DetachOutcome::Detached(word));
    }
    Ok(DetachOutcome::Ended(Exit::from(child.wait()?)))
}

/// The child's end of the pipe.
#[derive(Debug)]
pub struct DetachPipe {
    pipe: File,
    detached: AtomicBool,
}

impl DetachPipe {
    /// Opens the pipe with this descriptor number. From now on this process ends with its parent.
    pub fn open(number: i32) -> io::Result<Self> {
        // Without a reader, a blocking open would wait forever.
        let at_once = i32::try_from(OFlags::NONBLOCK.bits()).map_err(io::Error::other)?;
        let path = format!("/dev/fd/{number}");
        let pipe = File::options().write(true).custom_flags(at_once).open(path)?;
        if !pipe.metadata()?.file_type().is_fifo() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a pipe"));
        }
        end_with_parent(true)?;
        if is_unread(&pipe)? {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        Ok(Self { pipe, detached: AtomicBool::new(false) })
    }

    /// Leaves the terminal: a new session, `/dev/null` for input and output, and `stderr` for
    /// errors (`/dev/null` without one). Then sends `word`; an error means that the process that
    /// started this one is gone.
    pub fn detach(&self, word: &[u8], stderr: Option<&File>) -> io::Result<()> {
        setsid()?;
        end_with_parent(false)?;
        let nothing = File::options().read(true).write(true).open("/dev/null")?;
        self.detached.store(true, Ordering::Relaxed);
        rustix::stdio::dup2_stdin(&nothing)?;
        rustix::stdio::dup2_stdout(&nothing)?;
        rustix::stdio::dup2_stderr(stderr.unwrap_or(&nothing))?;
        let mut line = word.to_vec();
        line.push(b'\n');
        (&self.pipe).write_all(&line)
    }

    /// Whether this process has left the terminal.
    pub fn is_detached(&self) -> bool {
        self.detached.load(Ordering::Relaxed)
    }
}

/// Whether the pipe has no reader left.
fn is_unread(pipe: &File) -> io::Result<bool> {
    let mut looked = [PollFd::new(pipe, PollFlags::OUT)];
    poll(&mut looked, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))?;
    Ok(looked[0].revents().contains(PollFlags::ERR))
}

/// Sets or clears the SIGHUP that this process receives when its parent dies.
fn end_with_parent(yes: bool) -> io::Result<()> {
    let signal = yes.then_some(rustix::process::Signal::HUP);
    Ok(rustix::process::set_parent_process_death_signal(signal)?)
}
