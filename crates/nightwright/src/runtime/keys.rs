//! Keys at the terminal of a run: `s` stops after the iteration, `r` ends a wait and retries now.
//!
//! Keys work without Enter and are not echoed. For this, the modes of the terminal are changed
//! during a run and restored on every exit. Signals still work: Ctrl-C interrupts.
//!
//! Only the foreground process may do that; the system stops a background process that reads from
//! the terminal or changes it. A run that is started with `&` or sent to the background leaves the
//! terminal alone until it is in the foreground. There is no signal for that, so it is polled.
//!
//! ```text
//!            Ctrl-Z: panel removed, modes restored
//!   foreground ─────────────────────────────────────────▶ stopped
//!   keys are read ◀── SIGCONT, foreground ────────────────  │
//!      ▲  │                                                 │ SIGCONT, background
//!      │  └───────────── background ────▶ background ◀──────┘
//!      └──────────────── foreground ──────────┘
//! ```
//!
//! A key is a single byte followed by a pause. Several bytes together are something else: text that
//! was pasted for the shell, or a key that sends several bytes.

use std::io::{self, IsTerminal as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use nightwright_core::event::{StopSource, StopWhen};
use nightwright_core::input::Control;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use rustix::process::{Signal, getpgid, getpgrp, getpid, getppid, getsid, kill_process};
use rustix::termios::{
    LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcflush, tcgetattr,
    tcgetpgrp, tcsetattr,
};
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

use crate::output::Screen;

/// Maximum bytes of one read.
const READ_BYTES: usize = 256;

/// How long to wait for a key before checking whether the listener is closed.
const POLL_TIMEOUT: Duration = Duration::from_millis(100);

/// Bytes within this interval belong together: typing is slower.
const TOGETHER: Duration = Duration::from_millis(50);

/// The interval at which the foreground is checked.
const FOREGROUND_INTERVAL: Duration = Duration::from_millis(250);

/// Reads keys until it is dropped; then the terminal is restored.
#[derive(Debug)]
pub struct KeyListener {
    terminal: Arc<KeyTerminal>,
    screen: Screen,
    task: JoinHandle<()>,
}

impl KeyListener {
    /// Passes keys on to the operator, and removes the panel from the screen while the process is
    /// stopped. If standard input is not a terminal, there are no keys, but there is a panel.
    pub fn listen(screen: Screen, operator: mpsc::Sender<Control>) -> io::Result<Self> {
        let terminal = Arc::new(KeyTerminal::default());
        let stops = signal(SignalKind::from_raw(Signal::TSTP.as_raw()))?;
        let continues = signal(SignalKind::from_raw(Signal::CONT.as_raw()))?;
        let has_keys = io::stdin().is_terminal();
        if has_keys {
            let terminal = Arc::clone(&terminal);
            thread::Builder::new()
                .name("keys".to_owned())
                .spawn(move || terminal.read(&operator))?;
        }
        let watch =
            SuspendHandler { terminal: Arc::clone(&terminal), screen: screen.clone(), has_keys };
        watch.take();
        Ok(Self { terminal, screen, task: tokio::spawn(watch.keep(stops, continues)) })
    }
}

impl Drop for KeyListener {
    fn drop(&mut self) {
        self.task.abort();
        self.terminal.closed.store(true, Ordering::Relaxed);
        self.screen.set_keys_active(false);
        self.screen.lower();
        self.terminal.put_back();
    }
}

/// Restores the modes of the terminal while the process is stopped.
struct SuspendHandler {
    terminal: Arc<KeyTerminal>,
    screen: Screen,
    has_keys: bool,
}

impl SuspendHandler {
    async fn keep(self, mut stops: Signals, mut continues: Signals) {
        let mut looks = interval(FOREGROUND_INTERVAL);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                Some(()) = stops.recv() => self.stop(),
                Some(()) = continues.recv() => self.take(),
                _ = looks.tick(), if self.has_keys => {
                    self.screen.set_keys_active(self.terminal.look());
                }
                else => return,
            }
        }
    }

    /// Sets the modes of the terminal, if the process is in the foreground.
    fn take(&self) {
        self.screen.set_keys_active(self.has_keys && self.terminal.take());
        self.screen.raise();
    }

    /// Leaves the terminal to the shell and stops the process. Execution continues here after
    /// SIGCONT.
    fn stop(&self) {
        self.screen.lower();
        self.terminal.put_back();
        if has_shell() {
            // A process may always stop itself.
            let _ = kill_process(getpid(), Signal::STOP);
        }
        self.take();
    }
}

/// Returns the request for bytes that arrived together, if any.
fn parse_key(came: &[u8]) -> Option<Control> {
    match came {
        [b's' | b'S'] => {
            Some(Control::Stop { when: StopWhen::AfterIteration, by: StopSource::Key })
        }
        [b'r' | b'R'] => Some(Control::RetryNow),
        _ => None,
    }
}

/// The terminal on standard input.
#[derive(Debug, Default)]
struct KeyTerminal {
    modes: Mutex<TerminalModes>,
    /// Whether the listener is closed.
    closed: AtomicBool,
}

#[derive(Debug, Default)]
struct TerminalModes {
    /// The modes when the process was first in the foreground. Only then are they the user's modes,
    /// not those of a shell that reads a line.
    before: Option<Termios>,
    /// Whether the modes for keys are set.
    ours: bool,
}

impl KeyTerminal {
    /// Passes keys on until the terminal or the listener is closed.
    fn read(&self, operator: &mpsc::Sender<Control>) {
        while !self.is_closed() {
            if !self.modes().ours {
                thread::sleep(POLL_TIMEOUT);
                continue;
            }
            let Ok(came) = self.together() else { return };
            if let Some(control) = parse_key(&came)
                && operator.blocking_send(control).is_err()
            {
                return;
            }
        }
    }

    /// Returns the next bytes that arrive together; empty if there are none.
    fn together(&self) -> io::Result<Vec<u8>> {
        let mut came = self.typed(POLL_TIMEOUT)?;
        let mut continues = !came.is_empty();
        while continues && !self.is_closed() {
            let more = self.typed(TOGETHER)?;
            continues = !more.is_empty();
            came.extend(more);
            // Several bytes are not a key, so the rest does not matter.
            came.truncate(READ_BYTES);
        }
        Ok(came)
    }

    /// Returns the bytes typed within this time; an error if the terminal is gone.
    fn typed(&self, patience: Duration) -> io::Result<Vec<u8>> {
        let input = io::stdin();
        let mut key = [PollFd::new(&input, PollFlags::IN)];
        let patience = Timespec::try_from(patience).ok();
        retry_on_intr(|| poll(&mut key, patience.as_ref()))?;
        let state = key[0].revents();
        if state.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut modes = self.modes();
        // Input that is typed while another process is in the foreground belongs to that process.
        modes.ours &= is_in_front();
        if !modes.ours || state.is_empty() {
            return Ok(Vec::new());
        }
        let mut typed = vec![0; READ_BYTES];
        let count = retry_on_intr(|| rustix::io::read(&input, typed.as_mut_slice()))?;
        typed.truncate(count);
        Ok(typed)
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// Checks whether the process is in the foreground, and sets the modes if that is new. Returns
    /// whether keys are read.
    fn look(&self) -> bool {
        let ours = self.modes().ours;
        (ours && is_in_front()) || self.take()
    }

    /// Disables line buffering and echo. Returns whether that worked.
    fn take(&self) -> bool {
        let mut modes = self.modes();
        if !is_in_front() {
            modes.ours = false;
            return false;
        }
        let before = match &modes.before {
            Some(before) => before.clone(),
            None => match tcgetattr(io::stdin()) {
                Ok(before) => modes.before.insert(before).clone(),
                Err(_) => return false,
            },
        };
        let mut keys = before;
        keys.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        // A read never blocks: `poll` has reported that input is available.
        keys.special_codes[SpecialCodeIndex::VMIN] = 0;
        keys.special_codes[SpecialCodeIndex::VTIME] = 0;
        modes.ours = tcsetattr(io::stdin(), OptionalActions::Now, &keys).is_ok();
        if modes.ours {
            // Earlier input was meant for another program. If it cannot be discarded, it is hardly
            // a single key.
            let _ = tcflush(io::stdin(), QueueSelector::IFlush);
        }
        modes.ours
    }

    /// Restores the modes, unless another process is in the foreground with its own modes. It does
    /// not wait for pending output, because a blocked terminal must not delay the exit.
    fn put_back(&self) {
        let mut modes = self.modes();
        if let (true, Some(before), true) = (modes.ours, &modes.before, is_in_front()) {
            // A terminal that is gone needs no modes.
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, before);
        }
        modes.ours = false;
    }

    fn modes(&self) -> MutexGuard<'_, TerminalModes> {
        self.modes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether this process is in the foreground of the terminal on standard input.
fn is_in_front() -> bool {
    tcgetpgrp(io::stdin()).is_ok_and(|front| front == getpgrp())
}

/// Whether another process can continue this one after a stop: a parent in the same session but
/// another process group, such as a shell. The system applies the same condition to Ctrl-Z.
fn has_shell() -> bool {
    let Some(parent) = getppid() else { return false };
    let same_session = getsid(Some(parent)).ok() == getsid(None).ok();
    same_session && getpgid(Some(parent)).is_ok_and(|group| group != getpgrp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_two_keys_ask_for_something() {
        let stop = Control::Stop { when: StopWhen::AfterIteration, by: StopSource::Key };
        for key in 0..=u8::MAX {
            let wanted = match key {
                b's' | b'S' => Some(stop.clone()),
                b'r' | b'R' => Some(Control::RetryNow),
                _ => None,
            };
            assert_eq!(parse_key(&[key]), wanted, "{key}");
        }
    }

    #[test]
    fn several_bytes_at_once_are_no_key() {
        for came in ["", "ss", "s\n", "\u{1b}s", "\u{1b}OS", "\u{1b}[1;2R", "git status\n"] {
            assert_eq!(parse_key(came.as_bytes()), None, "{came:?}");
        }
    }
}
