//! Asks questions on the terminal.

use std::io::{self, BufRead, Read, Write};
use std::process::ExitCode;

use nightwright_core::display::display_safe;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

use crate::app::async_command::{catch_signals, interrupted};
use crate::console::{confirm, eprint_safe, is_interactive};
use crate::error::Failure;
use crate::init::ask::{NoAnswer, Prompter};
use crate::signals::Signals;

const MAX_LINE_BYTES: u64 = 64 << 10;

/// Whether to do what `question` asks: `--yes` was given, or the user answers yes. Without a
/// terminal, fails with `refusal`, which says that `--yes` is needed.
pub(crate) fn confirm_unless(
    yes: bool,
    question: &str,
    refusal: impl FnOnce() -> Failure,
) -> Result<bool, Failure> {
    if yes {
        return Ok(true);
    }
    if !is_interactive() {
        return Err(refusal());
    }
    let agreed = confirm(question)?;
    if !agreed {
        eprint_safe("nightwright changed nothing.");
    }
    Ok(agreed)
}

/// Handles a user who left before answering all questions, when nothing is written yet. `instead`
/// names the option that avoids the questions.
pub(crate) fn cancelled(gone: NoAnswer, instead: &str) -> Result<ExitCode, Failure> {
    match gone {
        NoAnswer::Interrupted => {
            eprint_safe("\nnightwright wrote nothing.");
            Ok(interrupted())
        }
        NoAnswer::EndOfInput => Err(Failure::trouble("the input ended before the last answer")
            .and("nightwright wrote nothing")
            .hint(instead)),
    }
}

/// Asks several consecutive questions. Ctrl-C arrives as an answer, so it cannot interrupt between
/// two files.
pub(crate) struct TerminalPrompt {
    runtime: Runtime,
    signals: Signals,
    lines: Option<mpsc::Receiver<String>>,
}

impl TerminalPrompt {
    pub(crate) fn new() -> Result<Self, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Failure::trouble(format!("cannot start: {error}")))?;
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
        // If the terminal is gone, reading from it reports that.
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

/// Returns the lines of standard input. A read cannot be cancelled, so it has its own thread, which
/// is abandoned when no more lines are needed.
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
