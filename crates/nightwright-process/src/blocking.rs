//! Blocking child processes, for nightwright programs that have no runtime and must start within a
//! millisecond.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use super::child::Exit;
use super::output_tail::OutputTail;

/// The time to wait for the output of a finished command whose pipe another process holds open.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(200);

/// Runs a shell command in the current folder, and returns its exit and the end of its output. The
/// command stays in the process group, so killing the group kills it too.
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
            // An open pipe without output is ignored only after the command has exited.
            Err(RecvTimeoutError::Timeout) if child.try_wait()?.is_some() => break,
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
    Ok((child.wait()?.into(), tail.into_text()))
}

/// Replaces this process with the same program and arguments, ignoring SIGTERM, and with `marker`
/// set in the environment. Returns only on failure.
///
/// A shell sets SIGTERM to be ignored, because that survives exec and needs no unsafe code.
pub fn start_over_ignoring_sigterm(marker: &str) -> io::Error {
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
