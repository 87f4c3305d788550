//! Programs on the user's terminal, without a guard.
//!
//! Such a program inherits the three standard descriptors and stays in nightwright's process group,
//! because only the foreground group may read from a terminal. Ctrl-C is for the program.
//! nightwright outlives it, to restore the terminal and to kill what the program left running.
//!
//! ```text
//!   spawn ──▶ running ──▶ the program died ──▶ its leftovers die ──▶ the terminal is restored
//!               │  ▲ SIGTERM, SIGHUP: forwarded, and SIGKILL after a grace period
//!               ▼  │ the program stopped itself: nightwright stops too, until it is continued
//! ```

mod pseudo;

use std::ffi::OsString;
use std::fmt;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::{
    Pid, Signal as Kind, WaitId, WaitIdOptions, getpgrp, getpid, kill_process, waitid,
};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};
use tokio::process::Command;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Instant, sleep, sleep_until};

pub use self::pseudo::{NAME, main};
use self::pseudo::{PseudoTerminal, Relay};
use super::child::{Exit, GRACE};
use super::guard::wire::KillScope;
use super::orphans::{self, MARK, Survivors};

/// The shortest stop that counts. A shorter one was for the whole group, and has ended.
const STOPPED_FOR: Duration = Duration::from_millis(50);

/// Escape sequences that reset what a killed program may have enabled: alternate screen, hidden
/// cursor, colors, and reports of mouse, paste, focus and keys.
const PLAIN: &[u8] = b"\x1b[?1047l\x1b[?25h\x1b[0m\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\
                       \x1b[?2004l\x1b[?1004l\x1b[>4;0m\x1b[<u\r";

/// The complete description of a program. The program inherits only the terminal and these fields.
pub struct TerminalCommand {
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
    /// The complete environment, without the mark.
    pub environment: Vec<(OsString, OsString)>,
    /// The working directory of the program.
    pub directory: PathBuf,
    /// The mark that identifies processes it leaves behind.
    pub mark: String,
    pub terminal: TerminalKind,
}

/// The terminal of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerminalKind {
    /// The terminal of the user.
    Inherited,
    /// A pseudo-terminal. The program must start with the command [`NAME`], in its own session.
    Pseudo,
}

impl fmt::Debug for TerminalCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The environment is left out, because it contains secrets.
        f.debug_struct("TerminalCommand")
            .field("program", &self.program)
            .field("arguments", &self.arguments)
            .field("directory", &self.directory)
            .finish_non_exhaustive()
    }
}

/// How a program on the terminal ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalExit {
    pub exit: Exit,
    /// Whether nightwright received a signal to terminate.
    pub terminated: bool,
    /// Whether processes that the program left could not be killed.
    pub survivors: Survivors,
}

/// Whether standard input and standard output are both a terminal.
pub fn is_there() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Runs a program on the terminal until it exits.
pub async fn run_on_terminal(request: &TerminalCommand) -> io::Result<TerminalExit> {
    // Caught without effect. If they were ignored, the program would inherit that.
    let _interrupts = (signal(SignalKind::interrupt())?, signal(SignalKind::quit())?);
    let mut signals = TerminalSignals {
        terminate: signal(SignalKind::terminate())?,
        hang_up: signal(SignalKind::hangup())?,
        child: signal(SignalKind::child())?,
        resize: signal(SignalKind::window_change())?,
    };
    orphans::become_subreaper();
    let terminal = SavedTerminal::remember();
    let mut command = Command::new(&request.program);
    command
        .args(&request.arguments)
        .env_clear()
        .envs(request.environment.iter().map(|(name, value)| (name, value)))
        .env(MARK, &request.mark)
        .current_dir(&request.directory)
        .kill_on_drop(true);
    let pseudo = match request.terminal {
        TerminalKind::Inherited => None,
        TerminalKind::Pseudo => Some(PseudoTerminal::open()?),
    };
    if let Some(pseudo) = &pseudo {
        command.stdin(pseudo.stream()?).stdout(pseudo.stream()?).stderr(pseudo.stream()?);
    }
    let (mut child, noted) = orphans::start(&mut command, KillScope::AllDescendants)?;
    drop(command);
    let relay = pseudo.map(PseudoTerminal::relay).transpose()?;
    // A child that was just started has a process ID, and keeps it until it is waited for.
    let number = child.id().and_then(|number| Pid::from_raw(i32::try_from(number).ok()?));
    let number = number.ok_or_else(|| io::Error::other("it has no process ID"))?;
    let mut terminated = false;
    let mut last_moment: Option<Instant> = None;
    let exit = loop {
        let hint = tokio::select! {
            biased;
            status = child.wait() => break Exit::from(status?),
            hint = signals.next() => hint,
            () = sleep_until(last_moment.unwrap_or_else(Instant::now)), if last_moment.is_some() => {
                last_moment = None;
                // An error means that the program is already dead.
                let _ = kill_process(number, Kind::KILL);
                continue;
            }
        };
        match hint {
            TerminalEvent::End(kind) => {
                terminated = true;
                last_moment.get_or_insert_with(|| Instant::now() + GRACE);
                // An error means that the program is already dead.
                let _ = kill_process(number, kind);
            }
            TerminalEvent::Child => terminal.stop_with(number).await,
            TerminalEvent::Resize => relay.iter().for_each(Relay::resize),
        }
    };
    drop(noted);
    let mark = request.mark.clone();
    let end = move || orphans::end(Some(&mark), orphans::GRACE);
    let survivors = tokio::task::spawn_blocking(end).await.unwrap_or(Survivors::Some);
    if let Some(relay) = relay {
        let copying = tokio::task::spawn_blocking(move || relay.finish());
        // A panic there was printed already.
        let _ = copying.await;
    }
    if exit.signal().is_some() {
        SavedTerminal::make_plain();
    }
    drop(terminal);
    Ok(TerminalExit { exit, terminated, survivors })
}

/// An event while the program runs.
enum TerminalEvent {
    /// Nightwright received this signal to terminate.
    End(Kind),
    /// A child exited or stopped.
    Child,
    /// The user's terminal has another size.
    Resize,
}

struct TerminalSignals {
    terminate: Signal,
    hang_up: Signal,
    child: Signal,
    resize: Signal,
}

impl TerminalSignals {
    async fn next(&mut self) -> TerminalEvent {
        tokio::select! {
            Some(()) = self.terminate.recv() => TerminalEvent::End(Kind::TERM),
            Some(()) = self.hang_up.recv() => TerminalEvent::End(Kind::HUP),
            Some(()) = self.child.recv() => TerminalEvent::Child,
            Some(()) = self.resize.recv() => TerminalEvent::Resize,
            else => std::future::pending().await,
        }
    }
}

/// The settings of the terminal, restored when this value is dropped.
struct SavedTerminal {
    settings: Option<Termios>,
}

impl SavedTerminal {
    fn remember() -> Self {
        Self { settings: tcgetattr(io::stdin()).ok() }
    }

    /// Stops with a program that stopped itself. The shell does not notice if only the program
    /// stops, so nightwright stops too, and later continues the program.
    async fn stop_with(&self, program: Pid) {
        if !is_stopped(program) {
            return;
        }
        sleep(STOPPED_FOR).await;
        if !is_stopped(program) {
            return;
        }
        let theirs = tcgetattr(io::stdin()).ok();
        put(self.settings.as_ref());
        // Without a shell that could continue nightwright, this has no effect, and the program
        // continues immediately.
        let _ = kill_process(getpid(), Kind::TSTP);
        put(theirs.as_ref());
        // If the program is gone by now, its exit is seen next.
        let _ = kill_process(program, Kind::CONT);
    }

    fn make_plain() {
        let mut out = io::stdout();
        // A terminal that is gone shows nothing.
        let _ = out.write_all(PLAIN).and_then(|()| out.flush());
    }
}

impl Drop for SavedTerminal {
    fn drop(&mut self) {
        put(self.settings.as_ref());
    }
}

/// Applies settings to the terminal, if this process is in the foreground. Otherwise the attempt
/// would stop it.
fn put(settings: Option<&Termios>) {
    if let Some(settings) = settings
        && tcgetpgrp(io::stdin()).is_ok_and(|front| front == getpgrp())
    {
        // A terminal that is gone needs no settings.
        let _ = tcsetattr(io::stdin(), OptionalActions::Drain, settings);
    }
}

/// Whether the program is stopped. The status is left in place for the code that waits for its
/// exit.
fn is_stopped(program: Pid) -> bool {
    let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    waitid(WaitId::Pid(program), options).is_ok_and(|status| status.is_some())
}
