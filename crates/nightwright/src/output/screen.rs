//! The place on a terminal below the lines, where a panel can stand.
//!
//! While the panel stands the cursor rests on its first character. Whatever the terminal makes of
//! the lines below when its size changes, all of them come after the cursor: to take the panel away
//! is to clear from there to the end, and nothing above it can be hit. The cursor is never hidden,
//! so nobody has to bring it back.
//!
//! The screen is shared between who draws and who has to have the terminal for something else:
//! somebody who presses Ctrl-Z gets a clean one.

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

/// How wide a terminal is that does not say.
const USUAL: usize = 80;

/// Takes everything away from the cursor on.
const CLEAR: &str = "\r\u{1b}[J";

/// After the last line of the panel: what stands below it goes. The terminal's modes are left alone:
/// one that stops reading in the middle would keep them.
const END: &str = "\u{1b}[J\r";

/// How long somebody who needs the terminal waits for who draws. Longer only takes a terminal that
/// nobody reads, and nothing can be cleared there.
const LOCK_TIMEOUT: Duration = Duration::from_millis(250);

/// A terminal with room for a panel. Clones are the same one.
#[derive(Clone)]
pub struct Screen {
    shared: Arc<ScreenShared>,
}

struct ScreenShared {
    terminal: Box<dyn Terminal>,
    /// Whether a panel stands there. Held while something is written, which may take for ever where
    /// nobody reads: only who draws may wait for it.
    panel: Mutex<bool>,
    /// Whether somebody has the terminal for something else.
    lowered: AtomicBool,
    /// Whether keys are heard.
    keys: AtomicBool,
    /// Whether the agent was heard since somebody asked last.
    agent_output: AtomicBool,
}

/// What has to be known of a terminal.
pub trait Terminal: Send + Sync {
    /// How many columns it has at the moment.
    fn columns(&self) -> Option<usize>;

    /// How many rows it has at the moment.
    fn rows(&self) -> Option<usize>;

    /// Whether it takes something at the moment: one that nobody reads is full some time.
    fn takes(&self) -> bool;

    /// Whether it is ours at the moment: who works in the background does not draw over what others
    /// write.
    fn is_ours(&self) -> bool;

    /// Writes to it, for who is not its usual writer.
    fn write(&self, text: &str) -> io::Result<()>;
}

impl fmt::Debug for Screen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Screen").finish_non_exhaustive()
    }
}

impl Screen {
    /// The terminal on standard error.
    pub fn stderr() -> Self {
        Self::of(Box::new(StderrTerminal))
    }

    /// A terminal.
    pub fn of(terminal: Box<dyn Terminal>) -> Self {
        let (panel, lowered, keys, agent_output) = Default::default();
        Self { shared: Arc::new(ScreenShared { terminal, panel, lowered, keys, agent_output }) }
    }

    /// Says whether keys are heard, so that people are told of them only then.
    pub fn set_keys_active(&self, heard: bool) {
        self.shared.keys.store(heard, Ordering::Relaxed);
    }

    /// Says that the agent was heard, whatever it said and whether or not it can be shown yet.
    pub fn agent_output_seen(&self) {
        self.shared.agent_output.store(true, Ordering::Relaxed);
    }

    /// Whether the agent was heard since this was called last.
    pub(super) fn take_agent_output(&self) -> bool {
        self.shared.agent_output.swap(false, Ordering::Relaxed)
    }

    /// Takes the panel away until somebody raises it again.
    pub fn lower(&self) {
        self.shared.lowered.store(true, Ordering::SeqCst);
        let begun = Instant::now();
        while !self.try_to_clear() && begun.elapsed() < LOCK_TIMEOUT {
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Takes the panel away, unless that has to wait. Says whether there is none now.
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
            // A terminal that is gone shows no panel either.
            let _ = self.shared.terminal.write(CLEAR);
        }
        true
    }

    /// Lets the panel be drawn again.
    pub fn raise(&self) {
        self.shared.lowered.store(false, Ordering::SeqCst);
    }

    /// How many columns a line may take. The last one stays free: what a terminal does at its very
    /// edge differs.
    pub(super) fn columns(&self) -> usize {
        self.width().unwrap_or(USUAL).saturating_sub(1)
    }

    /// How many columns the terminal has, if it says.
    pub(super) fn width(&self) -> Option<usize> {
        self.shared.terminal.columns()
    }

    /// How many lines a panel may have: with one more than that the lines above it would be pushed
    /// off the screen.
    pub(super) fn room(&self) -> usize {
        self.shared.terminal.rows().map_or(usize::MAX, |rows| rows.saturating_sub(1))
    }

    /// Whether keys are heard.
    pub(super) fn has_keys(&self) -> bool {
        self.shared.keys.load(Ordering::Relaxed)
    }

    /// Writes lines, which stay, and the panel below them, if there is one and its place is free.
    /// Lines wait until the terminal takes them. A panel does not: there is another one soon.
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
            // Written over what stands there, which flickers less than to clear it first.
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

/// The terminal on standard error.
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
        // Where it cannot be known, writing tells; and one that is gone is told by writing, too.
        poll(&mut room, Some(&at_once)).is_err() || !room[0].revents().is_empty()
    }

    fn is_ours(&self) -> bool {
        // One that is not the terminal of our session has no front and no background.
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

    /// A terminal that remembers what others wrote to it, until it is full.
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
    fn who_needs_the_terminal_gets_a_clean_one_and_lines_go_on() {
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
        // The one that stands there cannot be taken away, and nobody waits until it can be.
        screen.lower();
        screen.raise();
        assert_eq!(shown(&screen, "line\n", &["three"]), format!("{CLEAR}line\n"));
        paper.full.store(false, Ordering::SeqCst);
        assert!(shown(&screen, "", &["four"]).starts_with("\rfour"));
        assert_eq!(paper.text(), "");
    }

    /// A terminal that nobody reads.
    struct Stuck {
        reached: Sender<()>,
        let_go: Receiver<()>,
    }

    impl Write for Stuck {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            // Nobody waits for it once the test is over.
            let _ = self.reached.send(());
            let _ = self.let_go.recv();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn nobody_waits_for_a_terminal_that_nobody_reads() {
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
