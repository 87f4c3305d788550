//! The two network namespaces and the link between them.
//!
//! ```text
//!   inner namespace: the sandbox          outer namespace: the bridge
//!   eth0 198.18.0.2 ───────────────────── nw0 198.18.0.1, and every other address
//!   default route through 198.18.0.1      TCP packets are dropped, except to open ports
//! ```
//!
//! Neither namespace has another interface than this link and a loopback of its own.

use std::fs::{self, File};
use std::io;
use std::net::{IpAddr, Ipv6Addr};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};

use nightwright_core::sandbox::network::stand_ins::{BRIDGE, INSIDE};
use rustix::process::{getgid, getuid};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};

use super::frames;
use super::netlink::{Family, LOOPBACK, Netlink, Requests, Rule};
use super::system_calls::{enter_new, packets_of};

/// The interface of the bridge.
pub(super) const OUTER: &str = "nw0";
const INNER: &str = "eth0";
/// The index of both interfaces, each in its own namespace.
const LINK: u32 = 2;
/// Addresses for packets of IPv6. The prefix is private and otherwise unused.
const BRIDGE_V6: Ipv6Addr = Ipv6Addr::new(0xfd6e, 0x7769, 0x6768, 0, 0, 0, 0, 1);
const INSIDE_V6: Ipv6Addr = Ipv6Addr::new(0xfd6e, 0x7769, 0x6768, 0, 0, 0, 0, 2);
const NAMESPACE: &str = "/proc/thread-self/ns/net";

/// The namespaces of a sandbox.
#[derive(Debug)]
pub(super) struct Namespaces {
    outer: File,
    /// Configures the outer namespace.
    pub(super) netlink: Netlink,
    /// Receives and sends packets at the outer end of the link.
    pub(super) requests: OwnedFd,
    /// Sends packets from the inner end of the link.
    pub(super) inner_link: OwnedFd,
    /// Receives the kernel's refusals on the inner loopback.
    pub(super) refusals: OwnedFd,
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
        let netlink = Netlink::open()?;
        enter_new(UnshareFlags::NEWNET)
            .map_err(|error| explained("create a network namespace", &error))?;
        let inner = File::open(NAMESPACE)?;
        connect(&netlink, &outer)?;
        let inner_link = packets_of(LINK, &frames::NOTHING)?;
        let refusals = packets_of(LOOPBACK, &frames::REFUSALS)?;
        move_into(&outer)?;
        let requests = packets_of(LINK, &frames::REQUESTS)?;
        move_into(&inner)?;
        Ok(Self { outer, netlink, requests, inner_link, refusals })
    }

    /// Moves this thread into the outer namespace.
    pub(super) fn enter_outer(&self) -> io::Result<()> {
        move_into(&self.outer)
    }
}

fn move_into(namespace: &File) -> io::Result<()> {
    Ok(move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?)
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
fn connect(outer: &Netlink, namespace: &File) -> io::Result<()> {
    let (bridge, inside) = (IpAddr::from(BRIDGE), IpAddr::from(INSIDE));
    let inner = Netlink::open()?;
    let peer = (OUTER, LINK, namespace.as_raw_fd());
    let requests = Requests::default()
        .set_up(LOOPBACK)
        .add_pair((INNER, LINK), peer)
        .add_address(LINK, inside, 30)
        .route_all(LINK, bridge);
    inner.send(&requests)?;
    // A server inside may use any port, as a container's may.
    let _ = fs::write("/proc/sys/net/ipv4/ip_unprivileged_port_start", "0");
    let requests = Requests::default()
        .set_up(LOOPBACK)
        .set_up(LINK)
        .add_address(LINK, bridge, 32)
        .except(LINK, inside)
        .take_all(Family::V4)
        .lower_local_rule(Family::V4)
        .add_rule(Family::V4, OUTER, Rule::DropTcp)
        .add_rule(Family::V4, OUTER, Rule::DropNameQuestions);
    outer.send(&requests)?;
    // Some machines have no IPv6. Names have no such addresses, so programs rarely need it.
    let _ = connect_v6(&inner, outer);
    Ok(())
}

fn connect_v6(inner: &Netlink, outer: &Netlink) -> io::Result<()> {
    let (bridge, inside) = (IpAddr::from(BRIDGE_V6), IpAddr::from(INSIDE_V6));
    let requests = Requests::default()
        .add_address(LINK, bridge, 128)
        .except(LINK, inside)
        .take_all(Family::V6)
        .lower_local_rule(Family::V6)
        .add_rule(Family::V6, OUTER, Rule::DropTcp);
    outer.send(&requests)?;
    inner.send(&Requests::default().add_address(LINK, inside, 64).route_all(LINK, bridge))
}
