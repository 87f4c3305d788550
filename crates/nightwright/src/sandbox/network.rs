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
mod policy;
mod server;

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use nightwright_core::sandbox::bwrap::BwrapOption;
use nightwright_core::sandbox::facts::FileKind;
use nightwright_core::sandbox::network::contacts::{ContactNews, Contacts};
use nightwright_core::sandbox::network::proxy::{self, Proxies};
use nightwright_core::sandbox::network::{HostPort, NetworkWay, Policy, http};
use nightwright_core::sandbox::plan::NetworkMount;
use tokio::sync::{mpsc, oneshot};

use self::server::Server;
use crate::process::network::{NetworkOptions, SocketPath, probe};

pub use self::outside::{Outside, System};
pub(super) use self::policy::{NamedHosts, named_hosts};

/// The name of the socket in the folder of the network.
const SOCKET: &str = "bridge.sock";
/// The places of this program and of the folder inside, where the proxy needs them.
const PROGRAM_INSIDE: &str = "/run/nightwright/network/nightwright";
const FOLDER_INSIDE: &str = "/run/nightwright/network/bridge";
/// The port of the proxy on the loopback inside.
const PROXY_PORT: u16 = 61_080;
/// The maximum number of news that wait to be received. The record of contacts has at most two per
/// host.
const MAX_NEWS: usize = 2_001;

/// The best way to the bridge on this machine, with the reason if it is not the transparent one.
/// Blocks for a few milliseconds; `nightwright` is the path of this program.
pub fn choose_way(nightwright: &Path) -> (NetworkWay, Option<String>) {
    match probe(nightwright) {
        Ok(()) => (NetworkWay::Transparent, None),
        Err(why) => (NetworkWay::Proxy, Some(why)),
    }
}

/// The reach of the network of a sandbox, and the way to it.
#[derive(Clone, Debug)]
pub struct NetworkPlan {
    pub way: NetworkWay,
    pub policy: Policy,
    /// The proxies of the user.
    pub proxies: Proxies,
    /// The surroundings of the sandbox. Tests replace them.
    pub outside: Arc<dyn Outside>,
}

/// The network of a sandbox. Dropping it closes all connections.
#[derive(Debug)]
pub struct SandboxNetwork {
    way: NetworkWay,
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
        let (way, host_ports) = (plan.way, plan.policy.host_ports.clone());
        let server = Server::new(plan, Arc::clone(&contacts), news);
        let name = "nw-network".to_owned();
        let run = move || server.run(listener, stopped);
        let thread = std::thread::Builder::new().name(name).spawn(run)?;
        let folder = folder.to_owned();
        let (stop, thread) = (Some(stop), Some(thread));
        Ok((Self { way, folder, host_ports, contacts, stop, thread }, received))
    }

    /// The command in front of bwrap; empty if there is none. `nightwright` is the path of this
    /// program.
    pub fn outer_command(&self, nightwright: &Path) -> Vec<OsString> {
        match self.way {
            NetworkWay::Transparent => self.command(nightwright, &self.folder, None),
            NetworkWay::Proxy => Vec::new(),
        }
    }

    /// The command in front of the program inside; empty if there is none.
    pub fn inner_command(&self) -> Vec<OsString> {
        match self.way {
            NetworkWay::Transparent => Vec::new(),
            NetworkWay::Proxy => {
                self.command(Path::new(PROGRAM_INSIDE), Path::new(FOLDER_INSIDE), Some(PROXY_PORT))
            }
        }
    }

    fn command(&self, program: &Path, folder: &Path, proxy: Option<u16>) -> Vec<OsString> {
        let host_ports = self.host_ports.clone();
        let options = NetworkOptions { socket: folder.join(SOCKET), host_ports, proxy };
        let mut command = vec![program.into()];
        command.extend(options.to_arguments());
        command
    }

    /// The files that programs inside need.
    pub fn mounts(&self, nightwright: &Path) -> Vec<NetworkMount> {
        match self.way {
            NetworkWay::Transparent => files::mounts(&self.folder),
            NetworkWay::Proxy => {
                let mount = |from: &Path, place: &str, kind| NetworkMount {
                    place: place.into(),
                    from: from.to_owned(),
                    kind,
                };
                vec![
                    mount(nightwright, PROGRAM_INSIDE, FileKind::File),
                    mount(&self.folder, FOLDER_INSIDE, FileKind::Folder),
                ]
            }
        }
    }

    /// The options of bwrap, besides the mounts.
    pub fn options(&self) -> Vec<BwrapOption> {
        match self.way {
            // The network is there before bwrap starts.
            NetworkWay::Transparent => Vec::new(),
            NetworkWay::Proxy => vec![vec!["--unshare-net".into()]],
        }
    }

    pub fn way(&self) -> NetworkWay {
        self.way
    }

    /// The port of the proxy inside, if there is one.
    pub fn proxy_port(&self) -> Option<u16> {
        match self.way {
            NetworkWay::Transparent => None,
            NetworkWay::Proxy => Some(PROXY_PORT),
        }
    }

    /// Records no connections to this host.
    pub fn ignore(&self, target: HostPort) {
        self.contacts.lock().unwrap_or_else(PoisonError::into_inner).ignore(target);
    }

    /// The variables that programs inside need.
    pub fn environment(&self) -> Vec<(OsString, OsString)> {
        match self.way {
            NetworkWay::Transparent => Vec::new(),
            NetworkWay::Proxy => {
                let variables = http::proxy_environment(PROXY_PORT).into_iter();
                variables.map(|(name, value)| (name.into(), value.into())).collect()
            }
        }
    }

    /// Whether a variable of the user's environment must not reach programs inside: it names a proxy
    /// that only nightwright uses.
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
