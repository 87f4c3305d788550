//! The control socket: how another process speaks to a run.
//!
//! One connection, one line of JSON there, one line back. The socket is in a folder that only its
//! owner can enter; its address is in the lock file of the run.

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

/// A longer line is no wish. A word for the agent is the longest that comes.
const MAX_REQUEST_BYTES: u64 = 1 << 20;
/// Who connects and says nothing is not waited for longer than this.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// The system takes no longer address.
const MAX_SOCKET_PATH: usize = 107;

/// What can be asked of a run that is going on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "wish", rename_all = "snake_case")]
pub enum ControlRequest {
    /// Stop, soon or now.
    Stop {
        /// How soon.
        when: StopWhen,
    },
    /// Take back a stop.
    CancelStop,
    /// Start nothing new.
    Pause,
    /// Go on.
    Resume,
    /// A word for the agent.
    Tell {
        /// The word.
        text: String,
    },
    /// Try now what is being waited for.
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

/// The answer to a wish.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
enum ControlReply {
    /// It was handed on.
    Taken,
    /// It was not understood, or nobody decides any more.
    Refused { why: String },
}

/// The ear of a run. Dropping it removes the socket.
#[derive(Debug)]
pub struct ControlServer {
    listener: UnixListener,
    path: PathBuf,
}

impl ControlServer {
    /// Opens the socket of a run, at a path short enough for the system.
    pub fn open(run: &RunId) -> io::Result<Self> {
        match Self::bind(run) {
            // A run that ended just now has removed the folder, which was empty then.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::bind(run),
            opened => opened,
        }
    }

    fn bind(run: &RunId) -> io::Result<Self> {
        let path = address(run)?;
        // The run's lock is ours, so a socket of this name is what a dead process left.
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let listener = UnixListener::bind(&path)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
        Ok(Self { listener, path })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Hands wishes on for as long as somebody decides upon them.
    pub async fn serve(self, operator: mpsc::Sender<Control>) {
        loop {
            let Ok((mut stream, _)) = self.listener.accept().await else {
                // Out of descriptors, most likely: nothing to be done but to try again.
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            };
            let operator = operator.clone();
            tokio::spawn(async move {
                let reply = match timeout(REQUEST_TIMEOUT, read_request(&mut stream)).await {
                    Ok(Ok(request)) => match operator.send(request.into()).await {
                        Ok(()) => ControlReply::Taken,
                        Err(_) => ControlReply::Refused { why: "the run is over".to_owned() },
                    },
                    Ok(Err(error)) => ControlReply::Refused { why: error.to_string() },
                    Err(_) => ControlReply::Refused { why: "nothing was said in time".to_owned() },
                };
                if let Ok(mut line) = serde_json::to_vec(&reply) {
                    line.push(b'\n');
                    // Who does not wait for the answer does not want it.
                    let _ = timeout(REQUEST_TIMEOUT, stream.write_all(&line)).await;
                }
            });
        }
    }
}

impl Drop for ControlServer {
    fn drop(&mut self) {
        // What stays is removed by the next one of this name.
        let _ = fs::remove_file(&self.path);
        // The last one to leave removes the folder: a folder that is not empty stays.
        let _ = self.path.parent().map(fs::remove_dir);
    }
}

async fn read_request(stream: &mut tokio::net::UnixStream) -> io::Result<ControlRequest> {
    let mut line = Vec::new();
    let mut reader = tokio::io::BufReader::new(stream.take(MAX_REQUEST_BYTES));
    reader.read_until(b'\n', &mut line).await?;
    Ok(serde_json::from_slice(&line)?)
}

/// Says a wish to a run.
pub fn send(socket: &Path, request: &ControlRequest) -> io::Result<()> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(REQUEST_TIMEOUT))?;
    stream.set_write_timeout(Some(REQUEST_TIMEOUT))?;
    let mut line = serde_json::to_vec(request)?;
    line.push(b'\n');
    stream.write_all(&line)?;
    let mut answer = String::new();
    BufReader::new(stream.take(MAX_REQUEST_BYTES)).read_line(&mut answer)?;
    match serde_json::from_str(&answer)? {
        ControlReply::Taken => Ok(()),
        ControlReply::Refused { why } => Err(io::Error::other(why)),
    }
}

/// Where the socket of a run goes: in `$XDG_RUNTIME_DIR`, else in the folder for temporary files,
/// and in `/tmp` where that leaves no room for the name of a socket.
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

/// Makes a folder that only we can enter.
fn make_private(folder: &Path, user: u32) -> io::Result<()> {
    match fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        Ok(()) | Err(_) => {}
    }
    // In a folder for everybody's temporary files somebody else may have been first.
    let facts = fs::symlink_metadata(folder)?;
    let closed = facts.permissions().mode() & 0o777 == 0o700;
    if facts.is_dir() && facts.uid() == user && closed {
        return Ok(());
    }
    let why = format!("`{}` is not a folder of ours alone", folder.display());
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
