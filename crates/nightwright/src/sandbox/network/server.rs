//! The server that answers the requests of the bridge.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::net::UnixListener as StdListener;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use nightwright_core::sandbox::network::contacts::{ContactNews, Contacts};
use nightwright_core::sandbox::network::wire::{BridgeReply, BridgeRequest};
use nightwright_core::sandbox::network::{
    Decision, Host, HostPort, Refusal, RefusalReason, TEST_NAME,
};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpStream, UnixListener, UnixStream};
use tokio::runtime::Builder;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::{LocalSet, spawn_blocking, spawn_local};
use tokio::time::{Instant, sleep, timeout};

use super::NetworkPlan;
use super::connector::{ask_proxy, bare_address, connect, connect_to_host_port};
use crate::process::network::{MAX_CONNECTIONS, read_line, relay, write_line};

/// The maximum number of requests at the same time: connections, and questions for names.
const MAX_REQUESTS: usize = MAX_CONNECTIONS + 64;
/// The maximum number of lookups at the same time; each has a thread.
const MAX_LOOKUPS: usize = 16;
/// How long the bridge may take to send a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a lookup may take.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(20);
/// How long the addresses of a name are kept: from the question of a program to its connection.
const KEEP_ADDRESSES: Duration = Duration::from_secs(5);
/// The maximum number of names whose addresses are kept.
const MAX_KEPT: usize = 512;
/// The pause after an error of the system, for example too many open files.
const RETRY_DELAY: Duration = Duration::from_millis(50);

/// The server of a sandbox's network.
#[derive(Debug)]
pub(super) struct Server {
    plan: NetworkPlan,
    contacts: Arc<Mutex<Contacts>>,
    news: mpsc::Sender<ContactNews>,
    known: RefCell<HashMap<String, (Instant, Vec<IpAddr>)>>,
    lookups: Semaphore,
}

/// An open connection, and the data that the host has already sent.
type Opened = (TcpStream, Vec<u8>);

/// Why a connection was not opened.
enum NotOpened {
    Refused(Refusal),
    Failed(io::Error),
}

impl From<io::Error> for NotOpened {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

impl Server {
    pub(super) fn new(
        plan: NetworkPlan,
        contacts: Arc<Mutex<Contacts>>,
        news: mpsc::Sender<ContactNews>,
    ) -> Self {
        let lookups = Semaphore::new(MAX_LOOKUPS);
        Self { plan, contacts, news, known: RefCell::default(), lookups }
    }

    /// Answers requests until the other end of `stopped` is dropped.
    pub(super) fn run(self, listener: StdListener, stopped: oneshot::Receiver<()>) {
        let mut builder = Builder::new_current_thread();
        // Without a runtime, the bridge gets no answer and resets each connection.
        let Ok(runtime) = builder.enable_all().max_blocking_threads(MAX_LOOKUPS).build() else {
            return;
        };
        let tasks = LocalSet::new();
        tasks.block_on(&runtime, async {
            let Ok(listener) = UnixListener::from_std(listener) else { return };
            tokio::select! {
                () = Rc::new(self).accept(&listener) => {}
                // Both a message and the end mean the same.
                _ = stopped => {}
            }
        });
        drop(tasks);
        // A lookup may still block its thread.
        runtime.shutdown_background();
    }

    async fn accept(self: Rc<Self>, listener: &UnixListener) {
        let slots = Arc::new(Semaphore::new(MAX_REQUESTS));
        loop {
            let slot = Arc::clone(&slots).acquire_owned().await;
            match listener.accept().await {
                Ok((unix, _)) => {
                    let server = Rc::clone(&self);
                    spawn_local(async move {
                        // An error of one connection concerns no other one.
                        let _ = server.serve(unix).await;
                        drop(slot);
                    });
                }
                Err(_) => sleep(RETRY_DELAY).await,
            }
        }
    }

    async fn serve(&self, mut unix: UnixStream) -> io::Result<()> {
        let (line, rest) = read_line(&mut unix, REQUEST_TIMEOUT).await?;
        let request = line.parse().map_err(|_| io::ErrorKind::InvalidData)?;
        let opened = match request {
            BridgeRequest::Resolve(name) => {
                let reply = self.resolve(&name).await;
                return write_line(&mut unix, reply).await;
            }
            BridgeRequest::ClosedPort(port) => {
                self.report_closed_port(port);
                return write_line(&mut unix, BridgeReply::Done).await;
            }
            BridgeRequest::Connect(target) => self.open(&target).await,
            BridgeRequest::HostPort(port) => self.open_host_port(port).await,
        };
        match opened {
            Ok((tcp, first)) => {
                write_line(&mut unix, BridgeReply::Done).await?;
                unix.write_all(&first).await?;
                relay(tcp, unix, &rest).await;
                Ok(())
            }
            Err(NotOpened::Refused(refusal)) => {
                write_line(&mut unix, BridgeReply::Refused(refusal.to_string())).await
            }
            Err(NotOpened::Failed(error)) => {
                write_line(&mut unix, BridgeReply::Failed(error.to_string())).await
            }
        }
    }

    /// Whether a name exists. A name that may not be looked up exists: a connection to it is refused
    /// and recorded with its port.
    async fn resolve(&self, name: &str) -> BridgeReply {
        if name == TEST_NAME {
            return BridgeReply::Done;
        }
        let target = HostPort::new(Host::Name(name.to_owned()), 443);
        if !self.plan.policy.allows_lookup(name) {
            return BridgeReply::Done;
        }
        match self.look_up(name).await {
            Ok(addresses) if !addresses.is_empty() => BridgeReply::Done,
            // The proxy may know names that this machine does not.
            Ok(_) | Err(_) if self.plan.proxies.for_target(&target).is_some() => BridgeReply::Done,
            Ok(_) => BridgeReply::NoSuchName,
            Err(error) => BridgeReply::Failed(error.to_string()),
        }
    }

    async fn open(&self, target: &HostPort) -> Result<Opened, NotOpened> {
        let policy = &self.plan.policy;
        if target.host == Host::Name(TEST_NAME.to_owned()) {
            let reason = RefusalReason::Reserved;
            let (target, address, setting) = (target.clone(), None, None);
            return Err(NotOpened::Refused(Refusal { target, reason, address, setting }));
        }
        policy.check_target(target).map_err(|refusal| self.refuse(target, refusal))?;
        let proxy = self.plan.proxies.for_target(target);
        let addresses = match &target.host {
            Host::Address(address) => vec![*address],
            Host::Name(name) => match (self.look_up(name).await, proxy) {
                (Ok(addresses), _) => addresses,
                (Err(_), Some(_)) => Vec::new(),
                (Err(error), None) => return Err(error.into()),
            },
        };
        let own: Vec<_> =
            addresses.iter().copied().filter(|one| self.plan.outside.is_own(*one)).collect();
        let allowed = match policy.decide(target, &addresses, &own) {
            Decision::Connect(allowed) => allowed,
            Decision::Refuse(refusal) => return Err(self.refuse(target, refusal)),
        };
        self.record(target, None);
        let Some(proxy) = proxy else {
            let places: Vec<_> =
                allowed.into_iter().map(|one| self.plan.outside.destination(one)).collect();
            return Ok((connect(&places).await?, Vec::new()));
        };
        let places = match bare_address(proxy) {
            Some(address) => vec![address],
            None => self.addresses_of(&proxy.target).await?,
        };
        let mut tcp = connect(&places).await?;
        let first = ask_proxy(&mut tcp, proxy, target).await?;
        Ok((tcp, first))
    }

    /// The addresses of the user's own proxy, which needs no permission.
    async fn addresses_of(&self, target: &HostPort) -> io::Result<Vec<SocketAddr>> {
        let found = self.look_up(&target.host.to_string()).await?;
        Ok(found.into_iter().map(|address| SocketAddr::new(address, target.port)).collect())
    }

    async fn open_host_port(&self, port: u16) -> Result<Opened, NotOpened> {
        let target = HostPort::new(Host::Name("localhost".to_owned()), port);
        let checked = self.plan.policy.check_host_port(port);
        checked.map_err(|refusal| self.refuse(&target, refusal))?;
        self.record(&target, None);
        Ok((connect_to_host_port(port).await?, Vec::new()))
    }

    /// Records a connection to the loopback that only the host's loopback would have accepted.
    fn report_closed_port(&self, port: u16) {
        if let Err(refusal) = self.plan.policy.check_host_port(port)
            && self.plan.outside.has_listener(port)
        {
            let target = refusal.target.clone();
            self.record(&target, Some(&refusal));
        }
    }

    fn refuse(&self, target: &HostPort, refusal: Refusal) -> NotOpened {
        self.record(target, Some(&refusal));
        NotOpened::Refused(refusal)
    }

    fn record(&self, target: &HostPort, refusal: Option<&Refusal>) {
        let mut contacts = self.contacts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(news) = contacts.record(target, refusal) {
            // The queue holds all news that there can be. Without a receiver, only the record counts.
            let _ = self.news.try_send(news);
        }
    }

    /// Looks a name up, on a thread that may block.
    async fn look_up(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        if let Some((found, addresses)) = self.known.borrow().get(name)
            && found.elapsed() < KEEP_ADDRESSES
        {
            return Ok(addresses.clone());
        }
        let outside = Arc::clone(&self.plan.outside);
        let question = name.to_owned();
        let look_up = async {
            // The semaphore is never closed.
            let _slot = self.lookups.acquire().await;
            spawn_blocking(move || outside.resolve(&question)).await?
        };
        let addresses = timeout(LOOKUP_TIMEOUT, look_up).await??;
        let mut known = self.known.borrow_mut();
        if known.len() >= MAX_KEPT {
            known.retain(|_, (found, _)| found.elapsed() < KEEP_ADDRESSES);
        }
        if known.len() < MAX_KEPT {
            known.insert(name.to_owned(), (Instant::now(), addresses.clone()));
        }
        Ok(addresses)
    }
}
