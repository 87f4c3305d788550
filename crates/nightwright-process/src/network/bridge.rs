//! The bridge: accepts the connections of the sandbox and asks nightwright for them.

use std::cell::RefCell;
use std::collections::HashSet;
use std::io;
use std::net::{IpAddr, Ipv4Addr, TcpListener as StdListener};
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use nightwright_core::sandbox::network::dns::{self, Answer};
use nightwright_core::sandbox::network::stand_ins::StandIns;
use nightwright_core::sandbox::network::wire::{BridgeReply, BridgeRequest};
use nightwright_core::sandbox::network::{Host, HostPort};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, sendto};
use tokio::io::unix::AsyncFd;
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::spawn_local;
use tokio::time::sleep;

use super::lines::{read_line, write_line};
use super::links::Namespaces;
use super::packets::{self, Packet};
use super::ports::{Connections, FirstPacket, Ports};
use super::relay::{relay, reset};
use super::socket_path::SocketPath;
use super::system_calls::watch;

/// The maximum number of open connections. Further ones wait in the kernel.
pub const MAX_CONNECTIONS: usize = 256;
/// The maximum number of questions for names that nightwright answers at the same time.
const MAX_QUESTIONS: usize = 64;
/// The maximum number of questions that wait for that. Programs repeat the others.
const MAX_WAITING: usize = 1024;
/// The maximum number of closed ports that are reported.
const MAX_CLOSED_PORTS: usize = 256;
/// The largest packet that is read.
const MAX_PACKET: usize = 2048;
/// How long nightwright may take to look up a name or to open a connection.
const REPLY_TIMEOUT: Duration = Duration::from_mins(1);
/// The pause after an error of the system, for example too many open files.
pub(super) const RETRY_DELAY: Duration = Duration::from_millis(50);

/// The bridge between the sandbox and nightwright.
#[derive(Debug)]
pub(super) struct Bridge {
    pub(super) nightwright: SocketPath,
    pub(super) slots: Arc<Semaphore>,
}

impl Bridge {
    pub(super) fn new(nightwright: SocketPath) -> Self {
        Self { nightwright, slots: Arc::new(Semaphore::new(MAX_CONNECTIONS)) }
    }

    /// Opens a connection to nightwright with a request, and returns the reply with the data that
    /// followed it.
    pub(super) async fn ask(
        &self,
        request: &BridgeRequest,
    ) -> io::Result<(BridgeReply, UnixStream, Vec<u8>)> {
        let mut unix = UnixStream::connect(self.nightwright.short()).await?;
        write_line(&mut unix, request).await?;
        let (line, rest) = read_line(&mut unix, REPLY_TIMEOUT).await?;
        let reply = line.parse().map_err(|_| io::ErrorKind::InvalidData)?;
        Ok((reply, unix, rest))
    }

    /// Accepts connections and passes each on with the request that belongs to it.
    pub(super) async fn accept<C>(
        self: Rc<Self>,
        listener: TcpListener,
        request: impl Fn(&TcpStream) -> Option<BridgeRequest>,
        count: impl Fn() -> C,
    ) where
        C: 'static,
    {
        loop {
            let slot = Arc::clone(&self.slots).acquire_owned().await;
            let Ok((tcp, _)) = listener.accept().await else {
                sleep(RETRY_DELAY).await;
                continue;
            };
            let Some(request) = request(&tcp) else {
                reset(&tcp);
                continue;
            };
            let counted = count();
            let bridge = Rc::clone(&self);
            spawn_local(async move {
                bridge.pass_on(tcp, &request).await;
                drop((slot, counted));
            });
        }
    }

    async fn pass_on(&self, tcp: TcpStream, request: &BridgeRequest) {
        match self.ask(request).await {
            Ok((BridgeReply::Done, unix, rest)) => relay(tcp, unix, &rest).await,
            Ok((
                BridgeReply::NoSuchName | BridgeReply::Refused(_) | BridgeReply::Failed(_),
                ..,
            ))
            | Err(_) => reset(&tcp),
        }
    }

    /// Passes connections to a port of the inner loopback on to the same port of the host.
    pub(super) fn open_host_port(
        self: &Rc<Self>,
        port: u16,
        listener: StdListener,
    ) -> io::Result<()> {
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let request = move |_: &TcpStream| Some(BridgeRequest::HostPort(port));
        spawn_local(Rc::clone(self).accept(listener, request, || ()));
        Ok(())
    }
}

/// The bridge at the outer end of the link.
#[derive(Debug)]
pub(super) struct OuterBridge {
    bridge: Rc<Bridge>,
    namespaces: Namespaces,
    names: RefCell<StandIns>,
    ports: Ports,
    questions: Semaphore,
    waiting: Arc<Semaphore>,
}

impl OuterBridge {
    pub(super) fn new(bridge: Rc<Bridge>, namespaces: Namespaces) -> Self {
        Self {
            bridge,
            namespaces,
            names: RefCell::default(),
            ports: Ports::default(),
            questions: Semaphore::new(MAX_QUESTIONS),
            waiting: Arc::new(Semaphore::new(MAX_WAITING)),
        }
    }

    /// Handles the packets of the link, and reports closed ports. Must run in the outer namespace.
    pub(super) fn start(self: &Rc<Self>) -> io::Result<()> {
        for socket in [&self.namespaces.opening, &self.namespaces.questions] {
            let outer = Rc::clone(self);
            let socket = watch(socket.try_clone()?)?;
            spawn_local(receive(socket, move |packet| outer.handle(packet)));
        }
        let closed = watch(self.namespaces.closed.try_clone()?)?;
        let bridge = Rc::clone(&self.bridge);
        let mut reported = HashSet::new();
        spawn_local(receive(closed, move |packet| {
            if let Some(Packet::Closed(port)) = packets::read(packet)
                && reported.len() < MAX_CLOSED_PORTS
                && reported.insert(port)
            {
                let bridge = Rc::clone(&bridge);
                spawn_local(async move {
                    // The report is for nightwright, which may have exited.
                    let _ = bridge.ask(&BridgeRequest::ClosedPort(port)).await;
                });
            }
        }));
        Ok(())
    }

    fn handle(self: &Rc<Self>, packet: &mut [u8]) {
        match packets::read(packet) {
            Some(Packet::Open(address)) => {
                let accept = |listener, connections: Connections| {
                    let outer = Rc::clone(self);
                    let request = move |tcp: &TcpStream| outer.request_for(tcp);
                    let bridge = Rc::clone(&self.bridge);
                    let count = move || connections.count();
                    spawn_local(bridge.accept(listener, request, count)).abort_handle()
                };
                let opened = self.ports.open(address.port(), &self.namespaces.netlink, accept);
                // After an error, the kernel inside repeats the packet.
                if matches!(opened, Ok(FirstPacket::Dropped)) {
                    packets::send_again(packet);
                    let _ = sendto(&self.namespaces.inside, packet, SendFlags::empty(), &address);
                }
            }
            Some(Packet::Question(_)) => {
                let Ok(slot) = Arc::clone(&self.waiting).try_acquire_owned() else { return };
                let (outer, packet) = (Rc::clone(self), packet.to_vec());
                spawn_local(async move {
                    outer.answer(&packet).await;
                    drop(slot);
                });
            }
            Some(Packet::Closed(_)) | None => {}
        }
    }

    /// The request for a connection, by the name or address that the program used.
    fn request_for(&self, tcp: &TcpStream) -> Option<BridgeRequest> {
        let local = tcp.local_addr().ok()?;
        let host = match local.ip() {
            IpAddr::V4(address) => match self.names.borrow().name_of(address) {
                Some(name) => Host::Name(name.to_owned()),
                None => Host::Address(address.into()),
            },
            IpAddr::V6(address) => Host::Address(address.into()),
        };
        Some(BridgeRequest::Connect(HostPort::new(host, local.port())))
    }

    async fn answer(&self, packet: &[u8]) {
        let Some(Packet::Question(message)) = packets::read(packet) else { return };
        let Some(question) = dns::question(message) else { return };
        // The semaphore is never closed.
        let slot = self.questions.acquire().await;
        let answer = self.look_up(&question).await;
        drop(slot);
        let reply = dns::reply(message, &question, answer);
        if let Some((packet, address)) = packets::answer(packet, &reply) {
            // A lost answer is asked for again.
            let _ = sendto(&self.namespaces.answers, &packet, SendFlags::empty(), &address);
        }
    }

    async fn look_up(&self, question: &dns::Question) -> Answer {
        let name = question.name.as_str();
        if name.is_empty() {
            return Answer::NoSuchName;
        }
        if !question.wants_address {
            return Answer::NoData;
        }
        if Host::Name(name.to_owned()).is_loopback() {
            return Answer::Address(Ipv4Addr::LOCALHOST);
        }
        match self.bridge.ask(&BridgeRequest::Resolve(name.to_owned())).await {
            Ok((BridgeReply::Done, ..)) => {
                Answer::Address(self.names.borrow_mut().address_of(name))
            }
            Ok((BridgeReply::NoSuchName, ..)) => Answer::NoSuchName,
            Ok((BridgeReply::Refused(_) | BridgeReply::Failed(_), ..)) | Err(_) => Answer::Failed,
        }
    }
}

/// Receives packets and handles each.
async fn receive(socket: AsyncFd<OwnedFd>, mut handle: impl FnMut(&mut [u8])) {
    let mut buffer = vec![0; MAX_PACKET];
    loop {
        let Ok(mut ready) = socket.readable().await else { return };
        match recv(socket.get_ref(), &mut buffer[..], RecvFlags::empty()) {
            Ok((length, _)) => handle(&mut buffer[..length]),
            Err(Errno::AGAIN) => ready.clear_ready(),
            // The link is down for a moment, or a packet was dropped.
            Err(_) => sleep(RETRY_DELAY).await,
        }
    }
}
