//! A program on the user's own terminal: the one kind of child without a guard.
//!
//! It has our three descriptors as they are and stays in our process group, because only the group
//! in front may read from a terminal. Ctrl-C is for the program; we outlive it, to put the terminal
//! back into order and to end what it left running.
//!
//! ```text
//!   spawn ──▶ running ──▶ the program died ──▶ what it left is ended ──▶ the terminal is as before
//!               │  ▲ SIGTERM, SIGHUP: handed on, and after a grace SIGKILL
//!               ▼  │ it stopped by itself: so do we, until somebody lets us go on
//! ```

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

use super::child::{Exit, GRACE};
use super::guard::wire::KillScope;
use super::orphans::{self, MARK, Survivors};

/// A stop that goes on for so long is one. A shorter one was the whole group's, and is over.
const STOPPED_FOR: Duration = Duration::from_millis(50);

/// Ends what a program that was killed may have switched on: other screen, hidden cursor, colours,
/// reports of the mouse, of pasting, of the focus and of keys.
const PLAIN: &[u8] = b"\x1b[?1047l\x1b[?25h\x1b[0m\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\
                       \x1b[?2004l\x1b[?1004l\x1b[>4;0m\x1b[<u\r";

/// What to run, complete: nothing is inherited but the terminal and what is named here.
pub struct TerminalCommand {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Its whole environment, but for the mark.
    pub environment: Vec<(OsString, OsString)>,
    /// Where it runs.
    pub directory: PathBuf,
    /// The mark by which what it leaves is known.
    pub mark: String,
}

impl fmt::Debug for TerminalCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the environment: there are secrets in it.
        f.debug_struct("Talk")
            .field("program", &self.program)
            .field("arguments", &self.arguments)
            .field("directory", &self.directory)
            .finish_non_exhaustive()
    }
}

/// How it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalExit {
    /// How the program ended.
    pub exit: Exit,
    /// Whether we were told to end.
    pub terminated: bool,
    /// Who of those whom it left could not be ended.
    pub survivors: Survivors,
}

/// Whether there is somebody to talk to: a terminal to read from, and one to write to.
pub fn is_there() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Runs a program on our terminal to its end.
pub async fn run_on_terminal(talk: &TerminalCommand) -> io::Result<TerminalExit> {
    // Caught and not acted upon: that the program would inherit ignoring them is thus avoided.
    let _interrupts = (signal(SignalKind::interrupt())?, signal(SignalKind::quit())?);
    let mut signals = TerminalSignals {
        terminate: signal(SignalKind::terminate())?,
        hang_up: signal(SignalKind::hangup())?,
        child: signal(SignalKind::child())?,
    };
    orphans::become_subreaper();
    let terminal = SavedTerminal::remember();
    let mut command = Command::new(&talk.program);
    command
        .args(&talk.arguments)
        .env_clear()
        .envs(talk.environment.iter().map(|(name, value)| (name, value)))
        .env(MARK, &talk.mark)
        .current_dir(&talk.directory)
        .kill_on_drop(true);
    let (mut child, noted) = orphans::start(&mut command, KillScope::AllDescendants)?;
    drop(command);
    // A child that was just started and not waited for has a number, and keeps it until then.
    let number = child.id().and_then(|number| Pid::from_raw(i32::try_from(number).ok()?));
    let number = number.ok_or_else(|| io::Error::other("it has no process number"))?;
    let mut terminated = false;
    let mut last_moment: Option<Instant> = None;
    let exit = loop {
        let hint = tokio::select! {
            biased;
            status = child.wait() => break Exit::from(status?),
            hint = signals.next() => hint,
            () = sleep_until(last_moment.unwrap_or_else(Instant::now)), if last_moment.is_some() => {
                last_moment = None;
                // Dead already, which is what is wanted.
                let _ = kill_process(number, Kind::KILL);
                continue;
            }
        };
        match hint {
            TerminalEvent::End(kind) => {
                terminated = true;
                last_moment.get_or_insert_with(|| Instant::now() + GRACE);
                // Dead already, which is what is wanted.
                let _ = kill_process(number, kind);
            }
            TerminalEvent::Child => terminal.stop_with(number).await,
        }
    };
    drop(noted);
    let mark = talk.mark.clone();
    let end = move || orphans::end(Some(&mark), orphans::GRACE);
    let survivors = tokio::task::spawn_blocking(end).await.unwrap_or(Survivors::Some);
    if exit.signal().is_some() {
        SavedTerminal::make_plain();
    }
    drop(terminal);
    Ok(TerminalExit { exit, terminated, survivors })
}

/// What happens around the program.
enum TerminalEvent {
    /// We are to end, by this signal.
    End(Kind),
    /// Something about a child: it ended, or stopped.
    Child,
}

struct TerminalSignals {
    terminate: Signal,
    hang_up: Signal,
    child: Signal,
}

impl TerminalSignals {
    async fn next(&mut self) -> TerminalEvent {
        tokio::select! {
            Some(()) = self.terminate.recv() => TerminalEvent::End(Kind::TERM),
            Some(()) = self.hang_up.recv() => TerminalEvent::End(Kind::HUP),
            Some(()) = self.child.recv() => TerminalEvent::Child,
            else => std::future::pending().await,
        }
    }
}

/// The terminal as it was; it is so again when this is dropped.
struct SavedTerminal {
    settings: Option<Termios>,
}

impl SavedTerminal {
    fn remember() -> Self {
        Self { settings: tcgetattr(io::stdin()).ok() }
    }

    /// If the program has stopped by itself, and not the whole group with it, the shell knows
    /// nothing of it: we stop too, and go on with it.
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
        // Where no shell could let us go on this does nothing, and so the program goes on at once.
        let _ = kill_process(getpid(), Kind::TSTP);
        put(theirs.as_ref());
        // Gone in the meantime: then its end is seen next.
        let _ = kill_process(program, Kind::CONT);
    }

    fn make_plain() {
        let mut out = io::stdout();
        // A terminal that is gone shows nothing anyway.
        let _ = out.write_all(PLAIN).and_then(|()| out.flush());
    }
}

impl Drop for SavedTerminal {
    fn drop(&mut self) {
        put(self.settings.as_ref());
    }
}

/// Gives the terminal these settings, if we are in front: otherwise the attempt would stop us.
fn put(settings: Option<&Termios>) {
    if let Some(settings) = settings
        && tcgetpgrp(io::stdin()).is_ok_and(|front| front == getpgrp())
    {
        // A terminal that is gone needs no settings.
        let _ = tcsetattr(io::stdin(), OptionalActions::Drain, settings);
    }
}

/// Asks without taking note, so that whoever waits for its end still hears of it.
fn is_stopped(program: Pid) -> bool {
    let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    waitid(WaitId::Pid(program), options).is_ok_and(|status| status.is_some())
}
