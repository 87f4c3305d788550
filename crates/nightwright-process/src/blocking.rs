//! Children of programs of ours that have no runtime and must start in a millisecond.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use super::child::Exit;
use super::output_tail::OutputTail;

/// How long the output of a finished command is waited for when something it left running holds
/// the pipe.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(200);

/// Runs a command line in the current folder and gives back how it ended and the end of what it
/// printed. It stays in our group: whoever ends us ends it too.
pub fn shell(command: &str, keep: usize) -> io::Result<(Exit, String)> {
    let (mut reader, writer) = io::pipe()?;
    let mut child = Command::new("/bin/sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .spawn()?;
    let (chunks, received) = mpsc::sync_channel::<Vec<u8>>(16);
    thread::spawn(move || {
        let mut buffer = [0; 16 << 10];
        while let Ok(n @ 1..) = reader.read(&mut buffer) {
            if chunks.send(buffer[..n].to_vec()).is_err() {
                return;
            }
        }
    });
    let mut tail = OutputTail::new(keep);
    loop {
        match received.recv_timeout(DRAIN_TIMEOUT) {
            Ok(chunk) => tail.push(&chunk),
            Err(RecvTimeoutError::Disconnected) => break,
            // Silent, but is it over? Only then an open pipe means nothing.
            Err(RecvTimeoutError::Timeout) if child.try_wait()?.is_some() => break,
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
    Ok((child.wait()?.into(), tail.into_text()))
}

/// Becomes the same program with the same arguments once more, deaf to SIGTERM, and with
/// `marker` set in its environment. Returns only if that fails.
///
/// A shell does the ignoring, because it is inherited through exec and needs no unsafe code.
pub fn start_over_deaf_to_term(marker: &str) -> io::Error {
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => return error,
    };
    Command::new("/bin/sh")
        .args(["-c", "trap '' TERM; exec \"$0\" \"$@\""])
        .arg(program)
        .args(std::env::args_os().skip(1))
        .env(marker, "1")
        .exec()
}
