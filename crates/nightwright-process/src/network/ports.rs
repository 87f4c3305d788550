//! Listeners of the bridge. A port gets one when the first packet for it arrives.
//!
//! A listener that is opened for a packet has missed it, so the bridge sends the packet once more.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::rc::Rc;
use std::time::{Duration, Instant};

use rustix::net::sockopt::set_socket_reuseaddr;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with};
use tokio::net::TcpListener;
use tokio::task::AbortHandle;

use super::links::INNER;
use super::netlink::{Netlink, Requests, Rule};

/// The maximum number of ports that are open at the same time.
const MAX_PORTS: usize = 128;
/// How long after the opening of a port packets may have been dropped before.
const OPENING: Duration = Duration::from_millis(200);
/// The number of connections that wait to be accepted.
const BACKLOG: i32 = 256;

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
pub(super) struct Ports(RefCell<HashMap<u16, OpenPort>>);

impl Ports {
    /// Opens a port, if it is not open. `accept` starts to accept connections.
    pub(super) fn open(
        &self,
        port: u16,
        netlink: &Netlink,
        accept: impl FnOnce(TcpListener, Connections) -> AbortHandle,
    ) -> io::Result<FirstPacket> {
        let mut ports = self.0.borrow_mut();
        let now = Instant::now();
        if let Some(open) = ports.get_mut(&port) {
            open.used = now;
            let is_new = now.duration_since(open.opened) < OPENING;
            return Ok(if is_new { FirstPacket::Dropped } else { FirstPacket::Delivered });
        }
        if ports.len() >= MAX_PORTS {
            close_oldest(&mut ports, netlink)?;
        }
        let listener = listen(port)?;
        netlink.send(&Requests::default().add_rule(INNER, Rule::AcceptFrom(port)))?;
        let connections = Connections::default();
        let accepting = accept(listener, connections.clone());
        ports.insert(port, OpenPort { opened: now, used: now, connections, accepting });
        Ok(FirstPacket::Dropped)
    }
}

/// Closes the port that was not used for the longest time. A port with connections stays.
fn close_oldest(ports: &mut HashMap<u16, OpenPort>, netlink: &Netlink) -> io::Result<()> {
    let unused = ports.iter().filter(|(_, open)| open.connections.0.get() == 0);
    let oldest = unused.min_by_key(|(_, open)| open.used).map(|(port, _)| *port);
    let Some(port) = oldest else { return Err(io::ErrorKind::QuotaExceeded.into()) };
    if let Some(open) = ports.remove(&port) {
        open.accepting.abort();
    }
    netlink.send(&Requests::default().remove_rule(INNER, Rule::AcceptFrom(port)))
}

fn listen(port: u16) -> io::Result<TcpListener> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
    set_socket_reuseaddr(&socket, true)?;
    bind(&socket, &SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port))?;
    rustix::net::listen(&socket, BACKLOG)?;
    TcpListener::from_std(socket.into())
}
