//! The control socket, by which other processes send requests to a run.
//!
//! Each connection carries one line of JSON as the request and one line as the reply. The socket is
//! in a folder that only its owner can enter; its path is in the lock file of the run.

use std::env;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nightwright_core::event::{StopSource, StopWhen};
use nightwright_core::input::Control;
use nightwright_core::units::RunId;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixListener;
use tokio::sync::mpsc;
use tokio::time::timeout;

/// Maximum size of a request. Messages to the agent are the longest ones.
const MAX_REQUEST_BYTES: u64 = 1 << 20;
/// How long to wait for the request of a client, and for its acceptance of the reply.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a client waits for the reply: a run may be waiting for a slow disk.
const REPLY_TIMEOUT: Duration = Duration::from_secs(30);
/// How often to create the folder and the socket in it.
const BIND_ATTEMPTS: u32 = 10;
/// Maximum length of the path of a unix socket.
const MAX_SOCKET_PATH: usize = 107;

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
    /// Opens the socket of a run, at a path that is short enough for the system.
    pub fn open(run: &RunId) -> io::Result<Self> {
        // Runs that end just now may remove the empty folder.
        for _ in 1..BIND_ATTEMPTS {
            match Self::bind(run) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                opened => return opened,
            }
        }
        Self::bind(run)
    }

    fn bind(run: &RunId) -> io::Result<Self> {
        let path = address(run)?;
        // This process holds the run's lock, so an existing socket was left by a dead process.
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let listener = UnixListener::bind(&path)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
        Ok(Self { listener, path })
    }

    /// The path of the socket.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Passes requests on until the receiver is closed.
    pub async fn serve(self, operator: mpsc::Sender<Control>) {
        loop {
            let Ok((mut stream, _)) = self.listener.accept().await else {
                // Probably out of descriptors: try again later.
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            };
            let operator = operator.clone();
            tokio::spawn(async move {
                let reply = match timeout(REQUEST_TIMEOUT, read_request(&mut stream)).await {
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
        // If this fails, the next socket with this name replaces it.
        let _ = fs::remove_file(&self.path);
        // Removes the folder if it is empty, that is, if no other run uses it.
        let _ = self.path.parent().map(fs::remove_dir);
    }
}

async fn read_request(stream: &mut tokio::net::UnixStream) -> io::Result<ControlRequest> {
    let mut line = Vec::new();
    let mut reader = tokio::io::BufReader::new(stream.take(MAX_REQUEST_BYTES));
    reader.read_until(b'\n', &mut line).await?;
    Ok(serde_json::from_slice(&line)?)
}

/// Sends a request to a run, and waits for the reply.
pub fn send(socket: &Path, request: &ControlRequest) -> io::Result<()> {
    let mut stream = UnixStream::connect(socket)?;
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

/// Returns the path for the socket of a run: in `$XDG_RUNTIME_DIR`, else in the folder for
/// temporary files. If that path is too long for a socket, it is in `/tmp`.
fn address(run: &RunId) -> io::Result<PathBuf> {
    let user = rustix::process::getuid().as_raw();
    let runtime = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|dir| dir.is_dir());
    let path = short_path(runtime.as_deref(), &env::temp_dir(), user, run);
    let folder = path.parent().unwrap_or(Path::new("/"));
    make_private(folder, user)?;
    Ok(path)
}

fn short_path(runtime: Option<&Path>, temp: &Path, user: u32, run: &RunId) -> PathBuf {
    let ours = format!("nightwright-{user}");
    let name = format!("{run}.sock");
    let usual = match runtime {
        Some(runtime) => runtime.join("nightwright"),
        None => temp.join(&ours),
    };
    let usual = usual.join(&name);
    if usual.as_os_str().len() <= MAX_SOCKET_PATH {
        usual
    } else {
        Path::new("/tmp").join(ours).join(name)
    }
}

/// Creates a folder that only its owner can enter.
fn make_private(folder: &Path, user: u32) -> io::Result<()> {
    match fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        Ok(()) | Err(_) => {}
    }
    // In a shared temporary folder, another user may have created it first.
    let facts = fs::symlink_metadata(folder)?;
    let closed = facts.permissions().mode() & 0o777 == 0o700;
    if facts.is_dir() && facts.uid() == user && closed {
        return Ok(());
    }
    let why = format!("`{}` is not a private folder of this user", folder.display());
    Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_folder_for_temporary_files_does_not_make_a_run_unreachable() {
        let run = RunId("20261116-095416-29b5".to_owned());
        let path = |runtime, temp: &str| short_path(runtime, Path::new(temp), 1000, &run);
        let name = "20261116-095416-29b5.sock";
        assert_eq!(path(None, "/tmp"), Path::new("/tmp/nightwright-1000").join(name));
        let runtime = Path::new("/run/user/1000");
        assert_eq!(path(Some(runtime), "/tmp"), Path::new("/run/user/1000/nightwright").join(name));
        let long = format!("/var/{}", "long/".repeat(20));
        let fallback = Path::new("/tmp/nightwright-1000").join(name);
        assert_eq!(path(None, &long), fallback);
        assert_eq!(path(Some(Path::new(&long)), "/tmp"), fallback);
    }
}
