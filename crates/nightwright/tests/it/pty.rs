//! A pseudo-terminal for tests: renders the output, or leaves it unread.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// The timeout of a test; only a failing test takes this long.
const TEST_TIMEOUT: Duration = Duration::from_mins(1);

/// The number of kept lines that have scrolled off the screen.
const SCROLLBACK: usize = 10_000;

/// Both ends of a terminal.
pub(crate) struct Pty {
    ours: OwnedFd,
    theirs: File,
}

impl Pty {
    pub(crate) fn new(rows: u16, columns: u16) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let theirs = open(&ours, OFlags::NOCTTY);
        let pty = Self { ours, theirs };
        pty.resize(rows, columns);
        pty
    }

    /// Returns the end for a writer.
    pub(crate) fn end(&self) -> Stdio {
        self.theirs.try_clone().unwrap().into()
    }

    /// Waits until the terminal is full.
    #[track_caller]
    pub(crate) fn is_filled(&self) {
        let begun = Instant::now();
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        loop {
            let mut room = [PollFd::new(&self.theirs, PollFlags::OUT)];
            if poll(&mut room, Some(&at_once)).unwrap() == 0 {
                return;
            }
            assert!(begun.elapsed() < TEST_TIMEOUT, "it was never full");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Fills the terminal, so that further writes block.
    pub(crate) fn fill(&self) {
        let mut end = open(&self.ours, OFlags::NOCTTY | OFlags::NONBLOCK);
        while end.write(b".").is_ok() {}
        self.is_filled();
    }

    /// Reads until this text appears, and returns everything up to it.
    #[track_caller]
    pub(crate) fn read_until(&self, wanted: &str) -> String {
        let mut from = File::from(self.ours.try_clone().unwrap());
        let (mut all, mut bytes) = (Vec::new(), vec![0; 4 << 10]);
        let begun = Instant::now();
        let blink = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };
        loop {
            let text = String::from_utf8_lossy(&all).into_owned();
            if text.contains(wanted) {
                return text;
            }
            assert!(begun.elapsed() < TEST_TIMEOUT, "`{wanted}` was never written:\n{text}");
            if poll(&mut [PollFd::new(&self.ours, PollFlags::IN)], Some(&blink)).unwrap() > 0 {
                let count = from.read(&mut bytes).unwrap();
                all.extend_from_slice(&bytes[..count]);
            }
        }
    }

    pub(crate) fn types(&self, text: &str) {
        File::from(self.ours.try_clone().unwrap()).write_all(text.as_bytes()).unwrap();
    }

    fn resize(&self, rows: u16, columns: u16) {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.ours, size).unwrap();
    }

    /// Returns the unread output, once all writers have closed the terminal.
    pub(crate) fn unread(self) -> Vec<u8> {
        let mut from = File::from(self.ours);
        drop(self.theirs);
        let (mut all, mut bytes) = (Vec::new(), vec![0; 64 << 10]);
        // An error means that the other end is closed.
        while let Ok(count @ 1..) = from.read(&mut bytes) {
            all.extend_from_slice(&bytes[..count]);
        }
        all
    }

    /// Starts to read the output. A writer must already have its end.
    pub(crate) fn watch(self, rows: u16, columns: u16) -> WatchedPty {
        let picture = Arc::new(Mutex::new(vt100::Parser::new(rows, columns, SCROLLBACK)));
        let mut all = Vec::new();
        let mut from = File::from(self.ours.try_clone().unwrap());
        let drawn = Arc::clone(&picture);
        drop(self.theirs);
        let reader = std::thread::spawn(move || {
            let mut bytes = vec![0; 64 << 10];
            // An error means that the other end is closed.
            while let Ok(count @ 1..) = from.read(&mut bytes) {
                drawn.lock().unwrap().process(&bytes[..count]);
                all.extend_from_slice(&bytes[..count]);
            }
            all
        });
        WatchedPty { ours: self.ours, picture, reader }
    }
}

/// Opens the writers' end of a terminal.
fn open(ours: &OwnedFd, flags: OFlags) -> File {
    let name = ptsname(ours, Vec::new()).unwrap();
    let path = Path::new(std::ffi::OsStr::from_bytes(name.as_bytes()));
    let flags = i32::try_from(flags.bits()).unwrap();
    OpenOptions::new().read(true).write(true).custom_flags(flags).open(path).unwrap()
}

/// A terminal whose output is rendered.
pub(crate) struct WatchedPty {
    ours: OwnedFd,
    picture: Arc<Mutex<vt100::Parser>>,
    reader: JoinHandle<Vec<u8>>,
}

impl WatchedPty {
    pub(crate) fn screen(&self) -> String {
        self.picture.lock().unwrap().screen().contents()
    }

    /// Waits until the screen meets a condition.
    #[track_caller]
    pub(crate) fn shows(&self, wanted: impl Fn(&str) -> bool) -> String {
        let begun = Instant::now();
        loop {
            let screen = self.screen();
            if wanted(&screen) {
                return screen;
            }
            assert!(begun.elapsed() < TEST_TIMEOUT, "it never came; the screen is\n{screen}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Types a text, with control characters for keys.
    pub(crate) fn types(&self, text: &str) {
        let mut keyboard = File::from(self.ours.try_clone().unwrap());
        keyboard.write_all(text.as_bytes()).unwrap();
    }

    pub(crate) fn resize(&self, rows: u16, columns: u16) {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        self.picture.lock().unwrap().screen_mut().set_size(rows, columns);
        tcsetwinsize(&self.ours, size).unwrap();
    }

    /// Returns all bytes, once all writers have closed the terminal.
    pub(crate) fn bytes(self) -> Vec<u8> {
        self.reader.join().unwrap()
    }

    /// Returns all lines, including those that have scrolled off, once all writers have closed the
    /// terminal.
    pub(crate) fn all(self) -> Vec<String> {
        self.reader.join().unwrap();
        let mut picture = self.picture.lock().unwrap();
        let screen = picture.screen_mut();
        assert!(!screen.hide_cursor(), "the cursor is hidden");
        let (_, columns) = screen.size();
        screen.set_scrollback(usize::MAX);
        let gone = screen.scrollback();
        let mut lines = Vec::new();
        for left in (1..=gone).rev() {
            screen.set_scrollback(left);
            lines.extend(screen.rows(0, columns).next());
        }
        screen.set_scrollback(0);
        lines.extend(screen.rows(0, columns));
        lines.into_iter().map(|line| line.trim_end().to_owned()).collect()
    }
}
