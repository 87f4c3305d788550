//! The host's side of the network of a sandbox.
//!
//! A thread answers the requests of the bridge: it looks names up, asks the policy, connects, copies
//! data and records hosts. It has its own runtime, so heavy traffic does not delay a run.
//!
//! ```text
//!   agent ─▶ bridge ─▶ unix socket ─▶ server ─▶ policy ─▶ connector ─▶ host or the user's proxy
//!                                       └─▶ contacts, news
//! ```

mod connector;
mod files;
mod outside;
mod server;

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use nightwright_core::sandbox::network::Policy;
use nightwright_core::sandbox::network::contacts::{ContactNews, Contacts};
use nightwright_core::sandbox::network::proxy::{self, Proxies};
use tokio::sync::{mpsc, oneshot};

use self::server::Server;
use crate::process::Launch;
use crate::process::network::{NetworkOptions, SocketPath};

pub use self::outside::{Outside, System};

/// The name of the socket in the folder of the network.
const SOCKET: &str = "bridge.sock";
/// The maximum number of news that wait to be received. The record of contacts has at most two per
/// host.
const MAX_NEWS: usize = 2_001;

/// What the network of a sandbox may reach, and how.
#[derive(Clone, Debug)]
pub struct NetworkPlan {
    pub policy: Policy,
    /// The proxies of the user.
    pub proxies: Proxies,
    /// What is outside of the sandbox. Tests replace it.
    pub outside: Arc<dyn Outside>,
}

/// The network of a sandbox. Dropping it closes all connections.
#[derive(Debug)]
pub struct SandboxNetwork {
    folder: PathBuf,
    host_ports: Vec<u16>,
    contacts: Arc<Mutex<Contacts>>,
    /// Closed to stop the server.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl SandboxNetwork {
    /// Starts to answer requests at a socket in a new folder. The receiver gets each host once, when
    /// it is contacted and when it is refused for the first time.
    pub fn start(
        folder: &Path,
        plan: NetworkPlan,
    ) -> io::Result<(Self, mpsc::Receiver<ContactNews>)> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        files::write(folder)?;
        let listener = listen(&folder.join(SOCKET))?;
        let contacts = Arc::default();
        let (news, received) = mpsc::channel(MAX_NEWS);
        let (stop, stopped) = oneshot::channel();
        let host_ports = plan.policy.host_ports.clone();
        let server = Server::new(plan, Arc::clone(&contacts), news);
        let name = "nw-network".to_owned();
        let run = move || server.run(listener, stopped);
        let thread = std::thread::Builder::new().name(name).spawn(run)?;
        let folder = folder.to_owned();
        let (stop, thread) = (Some(stop), Some(thread));
        Ok((Self { folder, host_ports, contacts, stop, thread }, received))
    }

    /// The launch of a program in this network. `nightwright` is the path of this program.
    pub fn wrap(&self, launch: Launch, nightwright: &Path) -> Launch {
        let options = NetworkOptions {
            socket: self.folder.join(SOCKET),
            host_ports: self.host_ports.clone(),
            program: launch.program,
            arguments: launch.arguments,
        };
        Launch { program: nightwright.into(), arguments: options.to_arguments(), ..launch }
    }

    /// The arguments of bwrap that make programs inside look names up in this network. They belong
    /// behind those that mount `/etc` and `/run`.
    pub fn bwrap_arguments(&self) -> Vec<OsString> {
        files::bwrap_arguments(&self.folder)
    }

    /// Whether a variable of the user's environment must not reach programs inside: they reach all
    /// hosts without a proxy.
    pub fn hides_variable(name: &str) -> bool {
        proxy::VARIABLES.iter().any(|known| known.eq_ignore_ascii_case(name))
    }

    /// The hosts that programs inside contacted until now.
    pub fn contacts(&self) -> Contacts {
        self.contacts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for SandboxNetwork {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the server was already printed.
            let _ = thread.join();
        }
        // If this fails, the next start replaces it.
        let _ = fs::remove_file(self.folder.join(SOCKET));
    }
}

/// Opens a socket that only this user can connect to.
fn listen(path: &Path) -> io::Result<UnixListener> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let listener = UnixListener::bind(SocketPath::new(path)?.short())?;
    fs::set_permissions(path, Permissions::from_mode(0o600))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}
