//! Keys at the terminal of a run, as wishes of the operator: `s` stops after the iteration, `r`
//! tries now what is being waited for.
//!
//! A key should be heard without Enter and not be shown, so the terminal's modes are changed while
//! a run goes on, and put back on every way out. Signals stay signals: Ctrl-C interrupts.
//!
//! Only who is in front may do any of that; the system stops who reads from a terminal or changes
//! it from the background. So we look before each time, and a run that is started with `&`, or sent
//! to the background, leaves the terminal alone until it is brought to the front. Nobody tells a
//! program that runs already that it is in front now, so we look again and again.
//!
//! ```text
//!               Ctrl-Z: panel away, modes back, stopped
//!   in front ───────────────────────────────────────────▶ stopped
//!   keys are heard ◀── SIGCONT, in front ─────────────────  │
//!      ▲  │                                                 │ SIGCONT, not in front
//!      │  └───────────── not in front ──▶ background ◀──────┘
//!      └──────────────── in front ────────────┘
//! ```
//!
//! A key is a single byte with silence after it. Bytes that come together are something else: text
//! that was pasted for the shell, or one of the keys that send more than one.

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

/// So many bytes are read at once.
const READ_BYTES: usize = 256;

/// How long a key is waited for before we look whether anybody still wants to know.
const POLL_TIMEOUT: Duration = Duration::from_millis(100);

/// What comes sooner than this after something else came together with it: nobody types so fast.
const TOGETHER: Duration = Duration::from_millis(50);

/// How often we look whether we are in front.
const FOREGROUND_INTERVAL: Duration = Duration::from_millis(250);

/// Keys that are heard until this is dropped; then the terminal is as it was.
#[derive(Debug)]
pub struct KeyListener {
    terminal: Arc<KeyTerminal>,
    screen: Screen,
    task: JoinHandle<()>,
}

impl KeyListener {
    /// Hands keys on to the operator, and takes the panel off the screen while we are stopped. Where
    /// standard input is no terminal there are no keys, but there is a panel.
    pub fn listen(screen: Screen, operator: mpsc::Sender<Control>) -> io::Result<Self> {
        let terminal = Arc::new(KeyTerminal::default());
        let stops = signal(SignalKind::from_raw(Signal::TSTP.as_raw()))?;
        let goes_on = signal(SignalKind::from_raw(Signal::CONT.as_raw()))?;
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
        Ok(Self { terminal, screen, task: tokio::spawn(watch.keep(stops, goes_on)) })
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

/// Sees to it that nobody finds the terminal in our modes while we are stopped.
struct SuspendHandler {
    terminal: Arc<KeyTerminal>,
    screen: Screen,
    has_keys: bool,
}

impl SuspendHandler {
    async fn keep(self, mut stops: Signals, mut goes_on: Signals) {
        let mut looks = interval(FOREGROUND_INTERVAL);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                Some(()) = stops.recv() => self.stop(),
                Some(()) = goes_on.recv() => self.take(),
                _ = looks.tick(), if self.has_keys => {
                    self.screen.set_keys_active(self.terminal.look());
                }
                else => return,
            }
        }
    }

    /// Makes the terminal ours, if we are in front.
    fn take(&self) {
        self.screen.set_keys_active(self.has_keys && self.terminal.take());
        self.screen.raise();
    }

    /// Leaves the terminal to the shell, and stops. We go on here when somebody lets us.
    fn stop(&self) {
        self.screen.lower();
        self.terminal.put_back();
        if has_shell() {
            // We may always stop ourselves.
            let _ = kill_process(getpid(), Signal::STOP);
        }
        self.take();
    }
}

/// What is asked for by what came together, if anything.
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
    /// Nobody wants to know of keys any more.
    closed: AtomicBool,
}

#[derive(Debug, Default)]
struct TerminalModes {
    /// As they were when we were in front first: only then they are what the user wants, and not
    /// what a shell needs to read a line.
    before: Option<Termios>,
    /// Whether they are ours.
    ours: bool,
}

impl KeyTerminal {
    /// Hands keys on for as long as there are any and somebody wants to know.
    fn read(&self, operator: &mpsc::Sender<Control>) {
        while !self.is_closed() {
            if !self.modes().ours {
                thread::sleep(POLL_TIMEOUT);
                continue;
            }
            let Ok(came) = self.together() else { return };
            if let Some(wish) = parse_key(&came)
                && operator.blocking_send(wish).is_err()
            {
                return;
            }
        }
    }

    /// What comes next, and whatever comes together with it; nothing if nothing comes.
    fn together(&self) -> io::Result<Vec<u8>> {
        let mut came = self.typed(POLL_TIMEOUT)?;
        let mut goes_on = !came.is_empty();
        while goes_on && !self.is_closed() {
            let more = self.typed(TOGETHER)?;
            goes_on = !more.is_empty();
            came.extend(more);
            // That it is no key is known by now, however much of it there is.
            came.truncate(READ_BYTES);
        }
        Ok(came)
    }

    /// What is typed for us in this time; an error if the terminal is gone.
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
        // What is typed while somebody else is in front is for them.
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

    /// Looks whether we are in front, and makes the terminal ours if that is new. Says whether keys
    /// are heard.
    fn look(&self) -> bool {
        let ours = self.modes().ours;
        (ours && is_in_front()) || self.take()
    }

    /// Makes keys come at once and unseen. Says whether they do.
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
        // A read never waits: whether there is something is known before.
        keys.special_codes[SpecialCodeIndex::VMIN] = 0;
        keys.special_codes[SpecialCodeIndex::VTIME] = 0;
        modes.ours = tcsetattr(io::stdin(), OptionalActions::Now, &keys).is_ok();
        if modes.ours {
            // What was typed before was for somebody else. If it stays it is hardly a single key.
            let _ = tcflush(io::stdin(), QueueSelector::IFlush);
        }
        modes.ours
    }

    /// Puts the modes back, unless somebody else is in front and has their own. What was written
    /// is not waited for: a terminal that nobody reads must not keep us.
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

/// Whether the terminal on standard input is ours at the moment.
fn is_in_front() -> bool {
    tcgetpgrp(io::stdin()).is_ok_and(|front| front == getpgrp())
}

/// Whether somebody can let us go on once we have stopped: a parent in our session that is not in
/// our group, as a shell is. The system asks the same before it lets Ctrl-Z stop anybody.
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
    fn what_comes_together_is_no_key() {
        for came in ["", "ss", "s\n", "\u{1b}s", "\u{1b}OS", "\u{1b}[1;2R", "git status\n"] {
            assert_eq!(parse_key(came.as_bytes()), None, "{came:?}");
        }
    }
}
