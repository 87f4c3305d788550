//! Listeners of the bridge. A port gets one when the first packet for it arrives.
//!
//! The kernel drops TCP packets to all other ports. A listener that is opened for a packet has
//! missed it, so the bridge sends the packet once more.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::rc::Rc;
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, SocketFlags, SocketType};
use tokio::net::TcpListener;
use tokio::task::AbortHandle;

use super::links::OUTER;
use super::netlink::{Family, Netlink, Requests, Rule};

/// The maximum number of ports that are open at the same time.
const MAX_PORTS: usize = 128;
/// How long after the opening of a port packets may have been dropped before.
const OPENING: Duration = Duration::from_millis(200);
/// The number of connections that wait to be accepted.
const BACKLOG: i32 = 256;

/// The port of a listener, for one version of the internet protocol.
type Key = (Family, u16);

/// Whether a first packet has to be sent once more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FirstPacket {
    Delivered,
    Dropped,
}

#[derive(Debug)]
struct OpenPort {
    opened: Instant,
    used: Instant,
    connections: Connections,
    accepting: AbortHandle,
}

/// The number of connections to a port.
#[derive(Clone, Debug, Default)]
pub(super) struct Connections(Rc<Cell<usize>>);

impl Connections {
    /// Counts a connection until the result is dropped.
    pub(super) fn count(&self) -> CountedConnection {
        self.0.set(self.0.get() + 1);
        CountedConnection(self.clone())
    }
}

#[derive(Debug)]
pub(super) struct CountedConnection(Connections);

impl Drop for CountedConnection {
    fn drop(&mut self) {
        let Connections(count) = &self.0;
        count.set(count.get() - 1);
    }
}

#[derive(Debug, Default)]
pub(super) struct Ports(RefCell<HashMap<Key, OpenPort>>);

impl Ports {
    /// Opens the port of an address, if it is not open. `accept` starts to accept connections.
    pub(super) fn open(
        &self,
        address: SocketAddr,
        netlink: &Netlink,
        accept: impl FnOnce(TcpListener, Connections) -> AbortHandle,
    ) -> io::Result<FirstPacket> {
        let key = (Family::of(address.ip()), address.port());
        let mut ports = self.0.borrow_mut();
        let now = Instant::now();
        if let Some(port) = ports.get_mut(&key) {
            port.used = now;
            let is_new = now.duration_since(port.opened) < OPENING;
            return Ok(if is_new { FirstPacket::Dropped } else { FirstPacket::Delivered });
        }
        if ports.len() >= MAX_PORTS {
            close_oldest(&mut ports, netlink)?;
        }
        let listener = listen(key)?;
        let rule = Rule::AcceptPort(key.1);
        netlink.send(&Requests::default().add_rule(key.0, OUTER, rule))?;
        let connections = Connections::default();
        let accepting = accept(listener, connections.clone());
        ports.insert(key, OpenPort { opened: now, used: now, connections, accepting });
        Ok(FirstPacket::Dropped)
    }
}

/// Closes the port that was not used for the longest time. A port with connections stays.
fn close_oldest(ports: &mut HashMap<Key, OpenPort>, netlink: &Netlink) -> io::Result<()> {
    let unused = ports.iter().filter(|(_, port)| port.connections.0.get() == 0);
    let oldest = unused.min_by_key(|(_, port)| port.used).map(|(key, _)| *key);
    let Some(key) = oldest else { return Err(io::ErrorKind::QuotaExceeded.into()) };
    if let Some(port) = ports.remove(&key) {
        port.accepting.abort();
    }
    netlink.send(&Requests::default().remove_rule(key.0, OUTER, Rule::AcceptPort(key.1)))
}

fn listen((family, port): Key) -> io::Result<TcpListener> {
    let (domain, address) = match family {
        Family::V4 => (AddressFamily::INET, IpAddr::from(Ipv4Addr::UNSPECIFIED)),
        Family::V6 => (AddressFamily::INET6, IpAddr::from(Ipv6Addr::UNSPECIFIED)),
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(domain, SocketType::STREAM, flags, None)?;
    rustix::net::sockopt::set_socket_reuseaddr(&socket, true)?;
    if family == Family::V6 {
        rustix::net::sockopt::set_ipv6_v6only(&socket, true)?;
    }
    rustix::net::bind(&socket, &SocketAddr::new(address, port))?;
    rustix::net::listen(&socket, BACKLOG)?;
    TcpListener::from_std(socket.into())
}
