//! Somebody at the terminal who is asked line by line.

use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::process::ExitCode;

use nightwright_core::display::display_safe;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

use super::eprint_safe;
use crate::app::async_command::{catch_signals, interrupted};
use crate::error::Failure;
use crate::init::ask::{NoAnswer, Prompter};
use crate::runtime::signals::Signals;

/// No line that somebody types is as long as that.
const MAX_LINE_BYTES: u64 = 64 << 10;

/// Whether there is somebody to ask.
pub(super) fn is_there() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Somebody left before all questions were answered, and nothing was written. `instead` is what asks
/// nothing.
pub(super) fn cancelled(gone: NoAnswer, instead: &str) -> Result<ExitCode, Failure> {
    match gone {
        NoAnswer::Interrupted => {
            eprint_safe("\nNothing was written.");
            Ok(interrupted())
        }
        NoAnswer::EndOfInput => {
            Err(Failure::trouble("the input ended before all questions were answered")
                .hint(format!("nothing was written; {instead}")))
        }
    }
}

/// Somebody at the terminal. From here on Ctrl-C comes as an answer: it can't fall between two
/// files.
pub(super) struct TerminalPrompt {
    runtime: Runtime,
    signals: Signals,
    lines: Option<mpsc::Receiver<String>>,
}

impl TerminalPrompt {
    pub(super) fn new() -> Result<Self, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Failure::trouble(format!("can't start: {error}")))?;
        let signals = runtime.block_on(async { catch_signals() })?;
        Ok(Self { runtime, signals, lines: None })
    }
}

impl Prompter for TerminalPrompt {
    fn tell(&mut self, text: &str) {
        eprint_safe(text);
    }

    fn ask(&mut self, question: &str) -> Result<String, NoAnswer> {
        let mut out = io::stderr();
        // Nobody to ask when the terminal is gone; reading from it says so.
        drop(write!(out, "{}", display_safe(question)).and_then(|()| out.flush()));
        let lines = self.lines.get_or_insert_with(read_lines);
        let signals = &mut self.signals;
        self.runtime.block_on(async {
            tokio::select! {
                biased;
                () = signals.next() => Err(NoAnswer::Interrupted),
                line = lines.recv() => line.ok_or(NoAnswer::EndOfInput),
            }
        })
    }
}

/// The lines of standard input. A read can't be given up, so a thread of its own waits for it, and
/// is left behind when nobody wants its lines any more.
fn read_lines() -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel(1);
    std::thread::spawn(move || {
        loop {
            let mut line = Vec::new();
            let mut input = io::stdin().lock().take(MAX_LINE_BYTES);
            match input.read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            if sender.blocking_send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                return;
            }
        }
    });
    receiver
}
