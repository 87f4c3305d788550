//! The control socket, by which other processes send requests to a run.
//!
//! Each connection carries one line of JSON as the request and one line as the reply. The socket is
//! in the folder of the run, which only its owner can enter. The path of a socket may have only 107
//! bytes, and that of the folder may be longer. Both sides therefore open the folder and use the
//! short path of its descriptor.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nightwright_core::event::{StopSource, StopWhen};
use nightwright_core::input::Control;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixListener;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::process::inside::is_descendant;

/// Maximum size of a request. Messages to the agent are the longest ones.
const MAX_REQUEST_BYTES: u64 = 1 << 20;
/// How long to wait for the request of a client, and for its acceptance of the reply.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a client waits for the reply: a run may be waiting for a slow disk.
const REPLY_TIMEOUT: Duration = Duration::from_secs(30);

/// The warning about a request from inside the run.
const FROM_INSIDE: &str = "a program that the agent, a check or a hook started tried to control \
                           this run, and nightwright refused it";

/// A request to an active run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "snake_case")]
pub enum ControlRequest {
    /// Stop, now or at a later point.
    Stop { when: StopWhen },
    /// Cancel a requested stop.
    CancelStop,
    /// Start nothing new until the run is resumed.
    Pause,
    /// Resume a paused run.
    Resume,
    /// Send a message to the agent.
    Tell { text: String },
    /// End the current wait and retry now.
    RetryNow,
}

impl From<ControlRequest> for Control {
    fn from(request: ControlRequest) -> Self {
        match request {
            ControlRequest::Stop { when } => Self::Stop { when, by: StopSource::Operator },
            ControlRequest::CancelStop => Self::CancelStop,
            ControlRequest::Pause => Self::Pause,
            ControlRequest::Resume => Self::Resume,
            ControlRequest::Tell { text } => Self::Tell { text },
            ControlRequest::RetryNow => Self::RetryNow,
        }
    }
}

/// The reply to a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
enum ControlReply {
    /// The request was passed on to the run.
    Taken,
    /// The request is invalid, or the run has ended.
    Refused { why: String },
}

/// The control socket of a run. Dropping it removes the socket.
#[derive(Debug)]
pub struct ControlServer {
    listener: UnixListener,
    path: PathBuf,
}

impl ControlServer {
    /// Opens a socket with this path. The caller holds the run's lock, so an existing socket was
    /// left by a dead process.
    pub fn open(path: PathBuf) -> io::Result<Self> {
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let listener = at_short_path(&path, |short| UnixListener::bind(short))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
        Ok(Self { listener, path })
    }

    /// Passes requests on until the receiver is closed. Refuses those of processes below this one,
    /// and passes a warning about the first of them to `warn`.
    pub async fn serve(self, operator: mpsc::Sender<Control>, warn: impl Fn(String)) {
        let mut warned = false;
        loop {
            let Ok((mut stream, _)) = self.listener.accept().await else {
                // Probably out of descriptors: try again later.
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            };
            let from_inside = is_from_inside(&stream);
            if from_inside && !std::mem::replace(&mut warned, true) {
                warn(FROM_INSIDE.to_owned());
            }
            let operator = operator.clone();
            tokio::spawn(async move {
                let reply = match timeout(REQUEST_TIMEOUT, read_request(&mut stream)).await {
                    Ok(Ok(_)) if from_inside => {
                        ControlReply::Refused { why: "a program of the run sent it".to_owned() }
                    }
                    Ok(Ok(request)) => match operator.send(request.into()).await {
                        Ok(()) => ControlReply::Taken,
                        Err(_) => ControlReply::Refused { why: "the run has ended".to_owned() },
                    },
                    Ok(Err(error)) => ControlReply::Refused { why: error.to_string() },
                    Err(_) => {
                        ControlReply::Refused { why: "no request arrived in time".to_owned() }
                    }
                };
                if let Ok(mut line) = serde_json::to_vec(&reply) {
                    line.push(b'\n');
                    // A client that does not wait does not need the reply.
                    let _ = timeout(REQUEST_TIMEOUT, stream.write_all(&line)).await;
                }
            });
        }
    }
}

impl Drop for ControlServer {
    fn drop(&mut self) {
        // If this fails, the next process of the run replaces it.
        let _ = fs::remove_file(&self.path);
    }
}

async fn read_request(stream: &mut tokio::net::UnixStream) -> io::Result<ControlRequest> {
    let mut line = Vec::new();
    let mut reader = tokio::io::BufReader::new(stream.take(MAX_REQUEST_BYTES));
    reader.read_until(b'\n', &mut line).await?;
    Ok(serde_json::from_slice(&line)?)
}

/// Whether the agent, a check or a hook of this run sent the request. A process of another PID
/// namespace around this one has no number here, and is none of them.
fn is_from_inside(stream: &tokio::net::UnixStream) -> bool {
    let pid = stream.peer_cred().ok().and_then(|peer| peer.pid());
    pid.is_some_and(|pid| pid > 0 && is_descendant(pid))
}

/// Sends a request to a run, and waits for the reply. If the process that executes the run is known,
/// no other one gets the request.
pub fn send(socket: &Path, request: &ControlRequest, process: Option<i32>) -> io::Result<()> {
    let mut stream = at_short_path(socket, |short| UnixStream::connect(short))?;
    let peer = rustix::net::sockopt::socket_peercred(&stream)?.pid.as_raw_nonzero().get();
    if process.is_some_and(|process| process != peer) {
        let why = format!("another process (pid {peer}) answers for it");
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    stream.set_read_timeout(Some(REPLY_TIMEOUT))?;
    stream.set_write_timeout(Some(REQUEST_TIMEOUT))?;
    let mut line = serde_json::to_vec(request)?;
    line.push(b'\n');
    stream.write_all(&line)?;
    let mut answer = String::new();
    let read = BufReader::new(stream.take(MAX_REQUEST_BYTES)).read_line(&mut answer);
    read.map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => io::Error::new(
            io::ErrorKind::TimedOut,
            format!(
                "no reply within {} s, but the request may still take effect",
                REPLY_TIMEOUT.as_secs()
            ),
        ),
        _ => error,
    })?;
    match serde_json::from_str(&answer)? {
        ControlReply::Taken => Ok(()),
        ControlReply::Refused { why } => Err(io::Error::other(why)),
    }
}

/// Calls `action` with another path of the same file, which is always short enough for a socket.
fn at_short_path<T>(path: &Path, action: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a socket needs a folder"));
    };
    // A link or a pipe in place of the folder is neither followed nor waited for.
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = rustix::fs::open(folder, flags, rustix::fs::Mode::empty())?;
    action(&Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn send_from(path: PathBuf, process: i32) -> io::Result<()> {
        let send = move || send(&path, &ControlRequest::Pause, Some(process));
        tokio::task::spawn_blocking(send).await.unwrap()
    }

    #[tokio::test]
    async fn a_run_in_a_folder_with_a_long_path_can_be_reached() {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("long/".repeat(40));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("control.sock");
        let gone = send(&path, &ControlRequest::Pause, None).unwrap_err();
        assert_eq!(gone.kind(), io::ErrorKind::NotFound);
        // A socket that a dead process left is replaced.
        let bind = |short: &Path| std::os::unix::net::UnixListener::bind(short);
        drop(at_short_path(&path, bind).unwrap());
        let server = ControlServer::open(path.clone()).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let (operator, mut requests) = mpsc::channel(1);
        let serving = tokio::spawn(server.serve(operator, |_| {}));
        let client = path.clone();
        let own = i32::try_from(std::process::id()).unwrap();
        let other = send_from(path.clone(), own + 1).await.unwrap_err();
        assert_eq!(other.kind(), io::ErrorKind::PermissionDenied, "{other}");
        let sent =
            tokio::task::spawn_blocking(move || send(&client, &ControlRequest::Pause, Some(own)));
        assert_eq!(requests.recv().await, Some(Control::Pause));
        sent.await.unwrap().unwrap();
        serving.abort();
        assert!(serving.await.unwrap_err().is_cancelled());
        assert!(!path.exists(), "the socket is removed with its server");
    }
}
