//! A pseudo-terminal between the user's terminal and a program with its own session.
//!
//! ```text
//!   user's terminal (raw) ──▶ input ──▶ master ═ slave ◀──▶ the program
//!                         ◀── output ◀──
//! ```
//!
//! A program in a sandbox must not share the session of the user's terminal: it could write into
//! its input. With its own terminal, it still has job control and receives Ctrl-C.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode, Stdio};
use std::thread::{self, JoinHandle};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, OFlags};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Signal, getpid, ioctl_tiocsctty, kill_process, setsid};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr, tcsetwinsize};

/// The hidden command that starts a program with its standard input as its terminal.
pub const NAME: &str = "nw-terminal";

/// Bytes that are copied at once.
const CHUNK: usize = 16 << 10;

/// A pseudo-terminal with the settings and the size of the user's.
#[derive(Debug)]
pub(super) struct PseudoTerminal {
    master: OwnedFd,
    slave: OwnedFd,
}

impl PseudoTerminal {
    pub(super) fn open() -> io::Result<Self> {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&master)?;
        unlockpt(&master)?;
        let name = ptsname(&master, Vec::new())?;
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let slave = rustix::fs::open(name, flags, Mode::empty())?;
        if let Ok(settings) = tcgetattr(io::stdin()) {
            tcsetattr(&slave, OptionalActions::Now, &settings)?;
        }
        copy_size(&master);
        Ok(Self { master, slave })
    }

    /// The end for one of the program's standard streams.
    pub(super) fn stream(&self) -> io::Result<Stdio> {
        Ok(self.slave.try_clone()?.into())
    }

    /// Begins to copy between the terminals. The user's terminal passes every key on from now on.
    pub(super) fn relay(self) -> io::Result<Relay> {
        let Self { master, slave } = self;
        // The program has its own copies. The output ends when the last one is closed.
        drop(slave);
        if let Ok(settings) = tcgetattr(io::stdin()) {
            make_raw(settings);
        }
        let (stopped, stop) = pipe_with(PipeFlags::CLOEXEC)?;
        let (source, sink) = (master.try_clone()?, master.try_clone()?);
        let output = thread::spawn(move || copy_output(source));
        let input = thread::spawn(move || copy_input(sink, &stopped));
        Ok(Relay { master, stop, threads: [input, output] })
    }
}

/// The copying between the terminals.
#[derive(Debug)]
pub(super) struct Relay {
    master: OwnedFd,
    stop: OwnedFd,
    threads: [JoinHandle<()>; 2],
}

impl Relay {
    /// Gives the program the size of the user's terminal.
    pub(super) fn resize(&self) {
        copy_size(&self.master);
    }

    /// Copies the rest of the output. All processes of the program must be gone.
    pub(super) fn finish(self) {
        let Self { master, stop, threads } = self;
        drop((master, stop));
        for thread in threads {
            // A panic there was printed already.
            let _ = thread.join();
        }
    }
}

fn copy_size(master: &OwnedFd) {
    if let Ok(size) = tcgetwinsize(io::stdin()) {
        // With the previous size, the program still works.
        let _ = tcsetwinsize(master, size);
    }
}

fn make_raw(mut settings: Termios) {
    settings.make_raw();
    // Without raw mode, lines are edited twice, but they arrive.
    let _ = tcsetattr(io::stdin(), OptionalActions::Drain, &settings);
}

fn copy_output(source: OwnedFd) {
    let mut source = File::from(source);
    let mut buffer = [0; CHUNK];
    let mut out = io::stdout();
    loop {
        match source.read(&mut buffer) {
            Ok(0) => return,
            Ok(count) => {
                // A terminal that is gone shows nothing.
                let _ = out.write_all(&buffer[..count]).and_then(|()| out.flush());
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // All copies of the other end are closed.
            Err(_) => return,
        }
    }
}

fn copy_input(sink: OwnedFd, stopped: &OwnedFd) {
    let mut sink = File::from(sink);
    let stdin = io::stdin();
    let mut buffer = [0; CHUNK];
    loop {
        let mut sources = [
            PollFd::new(&stdin, PollFlags::IN),
            PollFd::from_borrowed_fd(stopped.as_fd(), PollFlags::empty()),
        ];
        match poll(&mut sources, None) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return,
        }
        if !sources[1].revents().is_empty() {
            return;
        }
        // Unbuffered: what is not copied stays for the user's shell.
        match rustix::io::read(&stdin, &mut buffer) {
            Err(rustix::io::Errno::INTR) => {}
            Ok(0) | Err(_) => return hang_up(),
            Ok(count) => {
                if sink.write_all(&buffer[..count]).is_err() {
                    return;
                }
            }
        }
    }
}

/// Ends this process, and so the program: the user's terminal is gone. The kernel says so only to
/// the leader of its session.
fn hang_up() {
    // The signal reaches this process itself, so it cannot fail.
    let _ = kill_process(getpid(), Signal::HUP);
}

/// Runs the hidden command: makes the standard input the terminal of this session, and becomes the
/// program that the arguments name.
pub fn main(arguments: &[OsString]) -> ExitCode {
    let Some((program, rest)) = arguments.split_first() else { return ExitCode::FAILURE };
    // bubblewrap leads the session that it created. Only a leader can have a terminal. Without one,
    // the program has no job control.
    let _ = setsid().and_then(|_| ioctl_tiocsctty(io::stdin()));
    let error = Command::new(program).args(rest).exec();
    // If standard error is closed, the exit code must be enough.
    let _ = writeln!(io::stderr(), "cannot start `{}`: {error}", program.display());
    ExitCode::from(127)
}
