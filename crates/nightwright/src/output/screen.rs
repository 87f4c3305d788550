//! The part of a terminal below the lines, where the panel is drawn.
//!
//! While the panel is visible, the cursor stays on its first character. When a resized terminal
//! rewraps the panel, all of it stays after the cursor. Clearing from the cursor to the end
//! therefore removes the panel and nothing above it. The cursor is never hidden, so it never has to
//! be restored.
//!
//! The screen is shared with code that needs the terminal for something else: Ctrl-Z, for example,
//! leaves a clean terminal.

use std::fmt;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::getpgrp;
use rustix::termios::tcgetpgrp;

use super::style;

/// The width of a terminal that does not report one.
const USUAL: usize = 80;

/// Clears everything after the cursor.
const CLEAR: &str = "\r\u{1b}[J";

/// Follows the last line of the panel and clears the rest. It changes no terminal modes, which
/// would stay changed if the terminal stopped reading halfway.
const END: &str = "\u{1b}[J\r";

/// How long to wait for a redraw to finish before giving up. Only a blocked terminal takes longer,
/// and it cannot be cleared anyway.
const LOCK_TIMEOUT: Duration = Duration::from_millis(250);

/// A terminal with room for a panel. Clones share the same terminal.
#[derive(Clone)]
pub struct Screen {
    shared: Arc<ScreenShared>,
}

struct ScreenShared {
    terminal: Box<dyn Terminal>,
    /// Whether the panel is visible. The lock is held while writing, which a blocked terminal can
    /// delay forever. Only the drawing thread may wait for it.
    panel: Mutex<bool>,
    /// Whether the panel is hidden because the terminal is needed for something else.
    lowered: AtomicBool,
    /// Whether the terminal accepts keys.
    keys: AtomicBool,
    /// Whether there was output of the agent since the last check.
    agent_output: AtomicBool,
}

/// The operations that a screen needs from a terminal.
pub trait Terminal: Send + Sync {
    /// The current number of columns, if known.
    fn columns(&self) -> Option<usize>;

    /// The current number of rows, if known.
    fn rows(&self) -> Option<usize>;

    /// Whether a write would succeed without blocking.
    fn takes(&self) -> bool;

    /// Whether the process is in the foreground. A background process must not draw over the output
    /// of others.
    fn is_ours(&self) -> bool;

    /// Writes directly to the terminal, from other threads than the drawing thread.
    fn write(&self, text: &str) -> io::Result<()>;
}

impl fmt::Debug for Screen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Screen").finish_non_exhaustive()
    }
}

impl Screen {
    /// A screen on standard error.
    pub fn stderr() -> Self {
        Self::of(Box::new(StderrTerminal))
    }

    /// A screen on the given terminal.
    pub fn of(terminal: Box<dyn Terminal>) -> Self {
        let (panel, lowered, keys, agent_output) = Default::default();
        Self { shared: Arc::new(ScreenShared { terminal, panel, lowered, keys, agent_output }) }
    }

    /// Sets whether keys work, so that the panel offers them only then.
    pub fn set_keys_active(&self, active: bool) {
        self.shared.keys.store(active, Ordering::Relaxed);
    }

    /// Records that the agent printed something, even if it cannot be shown yet.
    pub fn agent_output_seen(&self) {
        self.shared.agent_output.store(true, Ordering::Relaxed);
    }

    /// Returns whether there was output of the agent since the last call.
    pub(super) fn take_agent_output(&self) -> bool {
        self.shared.agent_output.swap(false, Ordering::Relaxed)
    }

    /// Removes the panel until [`Screen::raise`] is called.
    pub fn lower(&self) {
        self.shared.lowered.store(true, Ordering::SeqCst);
        let begun = Instant::now();
        while !self.try_to_clear() && begun.elapsed() < LOCK_TIMEOUT {
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Removes the panel if this is possible without waiting. Returns whether no panel is left.
    fn try_to_clear(&self) -> bool {
        let mut stands = match self.shared.panel.try_lock() {
            Ok(stands) => stands,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return false,
        };
        if *stands && !self.shared.terminal.takes() {
            return false;
        }
        if std::mem::take(&mut *stands) {
            // If the write fails, the terminal is gone, and so is the panel.
            let _ = self.shared.terminal.write(CLEAR);
        }
        true
    }

    /// Allows the panel to be drawn again.
    pub fn raise(&self) {
        self.shared.lowered.store(false, Ordering::SeqCst);
    }

    /// The maximum width of a line. The last column stays free, because terminals differ in when
    /// they wrap.
    pub(super) fn columns(&self) -> usize {
        self.width().unwrap_or(USUAL).saturating_sub(1)
    }

    /// The width of the terminal, if known.
    pub(super) fn width(&self) -> Option<usize> {
        self.shared.terminal.columns()
    }

    /// The maximum number of panel lines. One more would scroll the lines above it off the screen.
    pub(super) fn room(&self) -> usize {
        self.shared.terminal.rows().map_or(usize::MAX, |rows| rows.saturating_sub(1))
    }

    /// Whether the terminal accepts keys.
    pub(super) fn has_keys(&self) -> bool {
        self.shared.keys.load(Ordering::Relaxed)
    }

    /// Writes lines and draws the panel below them, if the terminal is available. Lines wait for a
    /// blocked terminal. A panel is skipped instead, because the next one follows soon.
    pub(super) fn show(
        &self,
        out: &mut dyn Write,
        lines: &[u8],
        panel: Option<&[String]>,
    ) -> io::Result<()> {
        let mut stands = self.shared.panel.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = Vec::with_capacity(lines.len() + 512);
        let free = !self.shared.lowered.load(Ordering::SeqCst) && self.shared.terminal.is_ours();
        let panel = panel.filter(|panel| free && !panel.is_empty());
        let takes = panel.is_some() && self.shared.terminal.takes();
        if panel.is_some() && !takes && lines.is_empty() {
            return Ok(());
        }
        let panel = panel.filter(|_| takes);
        if *stands && (panel.is_none() || !lines.is_empty()) {
            text.extend_from_slice(CLEAR.as_bytes());
        }
        text.extend_from_slice(lines);
        if let Some(panel) = panel {
            // Overwriting the old panel flickers less than clearing it first.
            text.push(b'\r');
            text.extend_from_slice(panel.join("\u{1b}[K\n").as_bytes());
            text.extend_from_slice(END.as_bytes());
            if panel.len() > 1 {
                text.extend_from_slice(format!("\u{1b}[{}A", panel.len() - 1).as_bytes());
            }
        }
        *stands = panel.is_some();
        out.write_all(&text)?;
        out.flush()
    }
}

/// The terminal connected to standard error.
struct StderrTerminal;

impl Terminal for StderrTerminal {
    fn columns(&self) -> Option<usize> {
        style::columns(io::stderr())
    }

    fn rows(&self) -> Option<usize> {
        style::rows(io::stderr())
    }

    fn takes(&self) -> bool {
        let terminal = io::stderr();
        let mut room = [PollFd::new(&terminal, PollFlags::OUT)];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        // After an error, let the write itself fail. The same applies to a terminal that is gone.
        poll(&mut room, Some(&at_once)).is_err() || !room[0].revents().is_empty()
    }

    fn is_ours(&self) -> bool {
        // A terminal of another session has no foreground group to compare with.
        tcgetpgrp(io::stderr()).map_or(true, |front| front == getpgrp())
    }

    fn write(&self, text: &str) -> io::Result<()> {
        io::stderr().write_all(text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};

    use super::*;

    /// A terminal that records direct writes, and can be full.
    #[derive(Clone, Default)]
    struct Paper {
        text: Arc<Mutex<String>>,
        full: Arc<AtomicBool>,
    }

    impl Paper {
        fn text(&self) -> String {
            self.text.lock().unwrap_or_else(PoisonError::into_inner).clone()
        }
    }

    impl Terminal for Paper {
        fn columns(&self) -> Option<usize> {
            None
        }

        fn rows(&self) -> Option<usize> {
            None
        }

        fn takes(&self) -> bool {
            !self.full.load(Ordering::SeqCst)
        }

        fn is_ours(&self) -> bool {
            true
        }

        fn write(&self, text: &str) -> io::Result<()> {
            assert!(self.takes(), "this would wait");
            self.text.lock().unwrap_or_else(PoisonError::into_inner).push_str(text);
            Ok(())
        }
    }

    fn shown(screen: &Screen, lines: &str, panel: &[&str]) -> String {
        let panel: Vec<_> = panel.iter().map(|line| (*line).to_owned()).collect();
        let mut out = Vec::new();
        screen.show(&mut out, lines.as_bytes(), Some(&panel)).expect("a vector takes anything");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn a_lowered_panel_leaves_a_clean_terminal_and_lines_continue() {
        let paper = Paper::default();
        let screen = Screen::of(Box::new(paper.clone()));
        assert!(shown(&screen, "line\n", &["one", "two"]).starts_with("line\n\rone"));
        screen.lower();
        screen.lower();
        assert_eq!(paper.text(), CLEAR);
        assert_eq!(shown(&screen, "more\n", &["one", "two"]), "more\n");
        screen.raise();
        assert!(shown(&screen, "", &["one"]).contains("one"));
        assert!(shown(&screen, "last\n", &[]).starts_with(CLEAR));
    }

    #[test]
    fn a_terminal_that_is_full_gets_lines_and_no_panels() {
        let paper = Paper::default();
        let screen = Screen::of(Box::new(paper.clone()));
        shown(&screen, "", &["one"]);
        paper.full.store(true, Ordering::SeqCst);
        assert_eq!(shown(&screen, "", &["two"]), "");
        // The visible panel cannot be removed, and `lower` gives up.
        screen.lower();
        screen.raise();
        assert_eq!(shown(&screen, "line\n", &["three"]), format!("{CLEAR}line\n"));
        paper.full.store(false, Ordering::SeqCst);
        assert!(shown(&screen, "", &["four"]).starts_with("\rfour"));
        assert_eq!(paper.text(), "");
    }

    /// A blocked terminal, whose writes wait.
    struct Stuck {
        reached: Sender<()>,
        let_go: Receiver<()>,
    }

    impl Write for Stuck {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            // After the end of the test, the receiver is gone.
            let _ = self.reached.send(());
            let _ = self.let_go.recv();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_blocked_terminal_blocks_no_caller() {
        let screen = Screen::of(Box::new(Paper::default()));
        let (reached, is_reached) = channel();
        let (go, let_go) = channel();
        let writer = screen.clone();
        let thread = thread::spawn(move || {
            let mut out = Stuck { reached, let_go };
            writer.show(&mut out, b"line\n", Some(&["panel".to_owned()]))
        });
        is_reached.recv().expect("it writes");
        let (done, is_done) = channel();
        let other = screen.clone();
        thread::spawn(move || {
            other.set_keys_active(true);
            other.lower();
            other.raise();
            drop(done);
        });
        let waited: Result<(), _> = is_done.recv_timeout(Duration::from_secs(30));
        assert_eq!(waited, Err(RecvTimeoutError::Disconnected), "it waits for who draws");
        drop(go);
        assert!(thread.join().expect("it does not panic").is_ok());
    }
}
