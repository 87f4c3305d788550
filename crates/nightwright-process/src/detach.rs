//! A run that outlives its terminal: our own binary once more, which goes its own way as soon as
//! everything that can go wrong before people's eyes has gone well.
//!
//! ```text
//!   nightwright run --detach ── reads the pipe ──┬── a word: says how to look, leaves with 0
//!        │ same terminal, same group         └── its end: leaves with the exit code of the other
//!        └── nightwright run ── questions, errors ── first event on disk ── own session ── word ──▶
//! ```
//!
//! Until the word is given both belong together: Ctrl-C reaches both, and when the first one dies
//! the other is told so by the system, or finds nobody to give its word to.

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

/// The longest word that is listened to: less than the kernel takes at once.
const WORD_MAX: u64 = 4096;

/// What became of the one that was to go its own way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DetachOutcome {
    /// It goes on, and this is what it said.
    Detached(Vec<u8>),
    /// It ended before that, and has said why.
    Ended(Exit),
}

/// Starts our own binary with these arguments and an option that tells it where to give its word:
/// `option` gets the number of a descriptor. Waits for the word, or for its end; Ctrl-C is for the
/// other, which ends then. To be called where a runtime is.
pub fn start_detached(
    arguments: impl IntoIterator<Item = OsString>,
    option: impl FnOnce(i32) -> OsString,
) -> io::Result<DetachOutcome> {
    // Caught and not acted upon: what would be ignored is ignored by the other, too.
    let _interrupts = (signal(SignalKind::interrupt())?, signal(SignalKind::quit())?);
    let (hears, speaks) = io::pipe()?;
    // The only descriptor that it has beside the standard three.
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
    BufReader::new(hears.take(WORD_MAX)).read_until(b'\n', &mut word)?;
    if word.pop() == Some(b'\n') {
        return Ok(DetachOutcome::Detached(word));
    }
    Ok(DetachOutcome::Ended(Exit::from(child.wait()?)))
}

/// The other end of that pipe.
#[derive(Debug)]
pub struct DetachPipe {
    pipe: File,
    detached: AtomicBool,
}

impl DetachPipe {
    /// The pipe with this number. From now on we end with whoever reads from it.
    pub fn open(number: i32) -> io::Result<Self> {
        // With nobody to read from it we would wait for somebody for ever.
        let at_once = i32::try_from(OFlags::NONBLOCK.bits()).map_err(io::Error::other)?;
        let path = format!("/dev/fd/{number}");
        let pipe = File::options().write(true).custom_flags(at_once).open(path)?;
        if !pipe.metadata()?.file_type().is_fifo() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a pipe"));
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

    /// Whether nobody at the terminal hears us any more.
    pub fn is_detached(&self) -> bool {
        self.detached.load(Ordering::Relaxed)
    }
}

/// Whether nobody is left who could read from a pipe.
fn is_unread(pipe: &File) -> io::Result<bool> {
    let mut looked = [PollFd::new(pipe, PollFlags::OUT)];
    poll(&mut looked, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))?;
    Ok(looked[0].revents().contains(PollFlags::ERR))
}

/// Whether we hang up when whoever started us is gone.
fn end_with_parent(yes: bool) -> io::Result<()> {
    let signal = yes.then_some(rustix::process::Signal::HUP);
    Ok(rustix::process::set_parent_process_death_signal(signal)?)
}
