//! The two network namespaces and the link between them.
//!
//! ```text
//!   inner namespace: the sandbox            outer namespace: the bridge
//!   eth0 198.18.0.2 ─────────────────────── nw0 198.18.0.1, and every other address
//!   TCP packets from closed ports: dropped
//! ```
//!
//! The bridge does not listen at a port before a program wants to connect to it. Until then, the
//! kernel would refuse the connection. The inner namespace therefore drops such refusals.
//!
//! Neither namespace has another interface than this link and its own loopback.

use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};

use nightwright_core::sandbox::network::stand_ins::{BRIDGE, INSIDE};
use rustix::net::{AddressFamily, Protocol, SocketFlags, SocketType, bind, ipproto, socket_with};
use rustix::process::{getgid, getuid};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};

use super::netlink::{LOOPBACK, Netlink, Requests, Rule};
use super::packets;
use super::system_calls::{FilterStep, attach, enter_new};

/// The interface of the sandbox.
pub(super) const INNER: &str = "eth0";
const OUTER: &str = "nw0";
/// The index of both interfaces, each in its own namespace.
const LINK: u32 = 2;
const NAMESPACE: &str = "/proc/thread-self/ns/net";
/// The port of a name server.
const DNS: u16 = 53;

/// The namespaces of a sandbox, and the sockets of the bridge in them.
#[derive(Debug)]
pub(super) struct Namespaces {
    outer: File,
    /// Configures the inner namespace.
    pub(super) netlink: Netlink,
    /// Receives the first packets of connections.
    pub(super) opening: OwnedFd,
    /// Sends packets from inside.
    pub(super) inside: OwnedFd,
    /// Receives questions to name servers, whatever their address.
    pub(super) questions: OwnedFd,
    /// Sends packets to the inside.
    pub(super) answers: OwnedFd,
    /// Receives the kernel's refusals on the inner loopback.
    pub(super) closed: OwnedFd,
    /// Keeps the kernel from answering that it has no name server.
    _name_server: OwnedFd,
}

impl Namespaces {
    /// Creates the namespaces and moves this thread into the inner one. The process must have no
    /// other thread.
    pub(super) fn create() -> io::Result<Self> {
        let (uid, gid) = (getuid().as_raw(), getgid().as_raw());
        enter_new(UnshareFlags::NEWUSER | UnshareFlags::NEWNET)
            .map_err(|error| explained("create a user and network namespace", &error))?;
        keep_ids(uid, gid).map_err(|error| explained("keep the user id", &error))?;
        let outer = File::open(NAMESPACE)?;
        let configure_outer = Netlink::open()?;
        let opening = raw(ipproto::TCP, &packets::OPENING)?;
        let questions = raw(ipproto::UDP, &packets::QUESTIONS)?;
        let answers = raw(ipproto::RAW, &packets::NOTHING)?;
        let flags = SocketFlags::CLOEXEC;
        let name_server = socket_with(AddressFamily::INET, SocketType::DGRAM, flags, None)?;
        attach(&name_server, &packets::NOTHING)?;
        bind(&name_server, &SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, DNS))?;
        enter_new(UnshareFlags::NEWNET)
            .map_err(|error| explained("create a network namespace", &error))?;
        let netlink = Netlink::open()?;
        connect(&netlink, &configure_outer, &outer)?;
        let closed = raw(ipproto::TCP, &packets::CLOSED)?;
        bind(&closed, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0))?;
        let inside = raw(ipproto::RAW, &packets::NOTHING)?;
        Ok(Self {
            outer,
            netlink,
            opening,
            inside,
            questions,
            answers,
            closed,
            _name_server: name_server,
        })
    }

    /// Moves this thread into the outer namespace.
    pub(super) fn enter_outer(&self) -> io::Result<()> {
        let network = Some(LinkNameSpaceType::Network);
        Ok(move_into_link_name_space(self.outer.as_fd(), network)?)
    }
}

/// Opens a socket for whole packets of a protocol.
fn raw(protocol: Protocol, filter: &[FilterStep]) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::INET, SocketType::RAW, flags, Some(protocol))?;
    attach(&socket, filter)?;
    Ok(socket)
}

fn explained(purpose: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot {purpose}: {error}"))
}

/// Gives this user the same ids in the new user namespace.
fn keep_ids(uid: u32, gid: u32) -> io::Result<()> {
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/gid_map", format!("{gid} {gid} 1"))?;
    fs::write("/proc/self/uid_map", format!("{uid} {uid} 1"))
}

/// Connects the inner namespace, which is this thread's, with the outer one.
fn connect(inner: &Netlink, outer: &Netlink, namespace: &File) -> io::Result<()> {
    let requests = Requests::default()
        .set_up(LOOPBACK)
        .add_pair((INNER, LINK), (OUTER, LINK, namespace.as_raw_fd()))
        .add_address(LINK, INSIDE, 30)
        .route_all(LINK, BRIDGE)
        .lower_local_rule()
        .add_rule(INNER, Rule::Drop);
    inner.send(&requests)?;
    // A server inside may use any port, as one in a container may.
    let _ = fs::write("/proc/sys/net/ipv4/ip_unprivileged_port_start", "0");
    let requests = Requests::default()
        .set_up(LOOPBACK)
        .set_up(LINK)
        .add_address(LINK, BRIDGE, 32)
        .except(LINK, INSIDE)
        .take_all();
    outer.send(&requests)
}
