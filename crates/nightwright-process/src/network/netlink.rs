//! Requests to the kernel to configure a network namespace (rtnetlink).

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

/// The index of the loopback interface of every namespace.
pub(super) const LOOPBACK: u32 = 1;

const NEW_LINK: u16 = 16;
const NEW_ADDRESS: u16 = 20;
const NEW_ROUTE: u16 = 24;
const NEW_RULE: u16 = 32;
const DELETE_RULE: u16 = 33;

const REQUEST: u16 = 1;
const ACKNOWLEDGE: u16 = 4;
const EXCLUSIVE: u16 = 0x200;
const CREATE: u16 = 0x400;
/// The type of a reply that acknowledges a request or reports its error.
const ERROR: u16 = 2;

const HEADER: usize = 16;
const INTERFACE_UP: u32 = 1;
const TABLE_LOCAL: u8 = 255;
const TABLE_MAIN: u8 = 254;
const FAMILY: u8 = 2;
const WHOLE_ADDRESS: u8 = 32;
const PROTOCOL_TCP: u8 = 6;

/// An attribute of a request.
struct Attribute(u16, Vec<u8>);

impl Attribute {
    fn nested(kind: u16, inner: &[Self]) -> Self {
        let mut bytes = Vec::new();
        for attribute in inner {
            attribute.write(&mut bytes);
        }
        Self(kind, bytes)
    }

    fn text(kind: u16, text: &str) -> Self {
        let mut bytes = text.as_bytes().to_vec();
        bytes.push(0);
        Self(kind, bytes)
    }

    fn number(kind: u16, number: u32) -> Self {
        Self(kind, number.to_ne_bytes().to_vec())
    }

    fn address(kind: u16, address: Ipv4Addr) -> Self {
        Self(kind, address.octets().to_vec())
    }

    fn write(&self, buffer: &mut Vec<u8>) {
        let length = u16::try_from(self.1.len() + 4).expect("attributes are short");
        buffer.extend_from_slice(&length.to_ne_bytes());
        buffer.extend_from_slice(&self.0.to_ne_bytes());
        buffer.extend_from_slice(&self.1);
        buffer.resize(buffer.len().next_multiple_of(4), 0);
    }
}

/// A rule for TCP packets that arrive at an interface.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rule {
    /// Accepts those from this port.
    AcceptFrom(u16),
    /// Drops every TCP packet.
    Drop,
}

/// Requests that are sent together.
#[derive(Default)]
pub(super) struct Requests {
    bytes: Vec<u8>,
    /// The purpose of each request, for the message if it fails.
    purposes: Vec<&'static str>,
}

impl Requests {
    fn push(
        &mut self,
        purpose: &'static str,
        (kind, flags): (u16, u16),
        body: &[u8],
        attributes: &[Attribute],
    ) {
        let begin = self.bytes.len();
        let number = u32::try_from(self.purposes.len()).expect("few requests are sent together");
        self.bytes.extend_from_slice(&[0; 4]);
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        self.bytes.extend_from_slice(&(flags | REQUEST | ACKNOWLEDGE).to_ne_bytes());
        self.bytes.extend_from_slice(&number.to_ne_bytes());
        self.bytes.extend_from_slice(&[0; 4]);
        self.bytes.extend_from_slice(body);
        for attribute in attributes {
            attribute.write(&mut self.bytes);
        }
        let length = u32::try_from(self.bytes.len() - begin).expect("requests are short");
        self.bytes[begin..begin + 4].copy_from_slice(&length.to_ne_bytes());
        self.purposes.push(purpose);
    }

    pub(super) fn set_up(mut self, interface: u32) -> Self {
        self.push("activate an interface", (NEW_LINK, 0), &link(interface, INTERFACE_UP), &[]);
        self
    }

    /// Creates a pair of interfaces: an active one here, the other one in the namespace of this
    /// descriptor.
    pub(super) fn add_pair(mut self, (name, index): (&str, u32), peer: (&str, u32, i32)) -> Self {
        const NAME: u16 = 3;
        const INFORMATION: u16 = 18;
        const NAMESPACE: u16 = 28;
        let (peer_name, peer_index, namespace) = peer;
        let mut other = link(peer_index, 0);
        Attribute::text(NAME, peer_name).write(&mut other);
        Attribute(NAMESPACE, namespace.to_ne_bytes().to_vec()).write(&mut other);
        let pair = Attribute::nested(2, &[Attribute(1, other)]);
        let information = Attribute::nested(INFORMATION, &[Attribute(1, b"veth".to_vec()), pair]);
        self.push(
            "create a pair of interfaces",
            (NEW_LINK, CREATE | EXCLUSIVE),
            &link(index, INTERFACE_UP),
            &[Attribute::text(NAME, name), information],
        );
        self
    }

    pub(super) fn add_address(mut self, interface: u32, address: Ipv4Addr, prefix: u8) -> Self {
        let mut body = vec![FAMILY, prefix, 0, 0];
        body.extend_from_slice(&interface.to_ne_bytes());
        let attributes = [Attribute::address(1, address), Attribute::address(2, address)];
        self.push("add an address", (NEW_ADDRESS, CREATE | EXCLUSIVE), &body, &attributes);
        self
    }

    /// Sends packets to all other addresses through this gateway.
    pub(super) fn route_all(mut self, interface: u32, gateway: Ipv4Addr) -> Self {
        let attributes = [Attribute::number(4, interface), Attribute::address(5, gateway)];
        let body = route(0, TABLE_MAIN, 0, 1);
        self.push("add a route", (NEW_ROUTE, CREATE | EXCLUSIVE), &body, &attributes);
        self
    }

    /// Takes all addresses for addresses of this namespace.
    pub(super) fn take_all(mut self) -> Self {
        let attributes = [Attribute::number(4, LOOPBACK)];
        let body = route(0, TABLE_LOCAL, 254, 2);
        self.push("accept all addresses", (NEW_ROUTE, CREATE | EXCLUSIVE), &body, &attributes);
        self
    }

    /// Excepts an address from [`take_all`](Self::take_all): it is at the other end of an interface.
    pub(super) fn except(mut self, interface: u32, address: Ipv4Addr) -> Self {
        let attributes = [Attribute::address(1, address), Attribute::number(4, interface)];
        let body = route(WHOLE_ADDRESS, TABLE_LOCAL, 253, 1);
        self.push("add a route", (NEW_ROUTE, CREATE | EXCLUSIVE), &body, &attributes);
        self
    }

    /// Moves the rule that looks for local addresses, so that other rules come before it.
    pub(super) fn lower_local_rule(mut self) -> Self {
        const PRIORITY: u32 = 30;
        let body = rule(TABLE_LOCAL, 1);
        let lowered = [Attribute::number(6, PRIORITY)];
        self.push("add a rule", (NEW_RULE, CREATE | EXCLUSIVE), &body, &lowered);
        let first = [Attribute::number(6, 0)];
        self.push("remove a rule", (DELETE_RULE, 0), &body, &first);
        self
    }

    /// Adds a rule for packets from this interface.
    pub(super) fn add_rule(mut self, interface: &str, wanted: Rule) -> Self {
        let (body, attributes) = rule_parts(interface, wanted);
        self.push("add a rule", (NEW_RULE, CREATE | EXCLUSIVE), &body, &attributes);
        self
    }

    pub(super) fn remove_rule(mut self, interface: &str, wanted: Rule) -> Self {
        let (body, attributes) = rule_parts(interface, wanted);
        self.push("remove a rule", (DELETE_RULE, 0), &body, &attributes);
        self
    }
}

/// The header of a request about an interface.
fn link(index: u32, flags: u32) -> Vec<u8> {
    let mut body = vec![0; 4];
    body.extend_from_slice(&index.to_ne_bytes());
    body.extend_from_slice(&flags.to_ne_bytes());
    body.extend_from_slice(&INTERFACE_UP.to_ne_bytes());
    body
}

/// The header of a request about a route.
fn route(prefix: u8, table: u8, scope: u8, kind: u8) -> [u8; 12] {
    const BY_THE_ADMINISTRATOR: u8 = 3;
    [FAMILY, prefix, 0, 0, table, BY_THE_ADMINISTRATOR, scope, kind, 0, 0, 0, 0]
}

/// The header of a request about a rule.
fn rule(table: u8, action: u8) -> [u8; 12] {
    [FAMILY, 0, 0, 0, table, 0, 0, action, 0, 0, 0, 0]
}

fn rule_parts(interface: &str, wanted: Rule) -> ([u8; 12], Vec<Attribute>) {
    const LOOK_UP: u8 = 1;
    const DROP: u8 = 6;
    let (table, action, priority, port) = match wanted {
        Rule::AcceptFrom(port) => (TABLE_LOCAL, LOOK_UP, 10, Some(port)),
        Rule::Drop => (0, DROP, 20, None),
    };
    let mut attributes = vec![
        Attribute::text(3, interface),
        Attribute::number(6, priority),
        Attribute(22, vec![PROTOCOL_TCP]),
    ];
    attributes.extend(port.map(|port| {
        let [first, second] = port.to_ne_bytes();
        Attribute(23, vec![first, second, first, second])
    }));
    (rule(table, action), attributes)
}

/// A socket for requests about the namespace in which it was opened.
#[derive(Debug)]
pub(super) struct Netlink(OwnedFd);

impl Netlink {
    pub(super) fn open() -> io::Result<Self> {
        // Without a protocol, the socket is for the configuration of networks.
        let flags = SocketFlags::CLOEXEC;
        let socket =
            rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?;
        rustix::net::bind(&socket, &SocketAddrNetlink::new(0, 0))?;
        Ok(Self(socket))
    }

    /// Sends requests and waits for the kernel to carry them out. All are tried; the first error
    /// counts.
    pub(super) fn send(&self, requests: &Requests) -> io::Result<()> {
        rustix::net::send(&self.0, &requests.bytes, SendFlags::empty())?;
        let mut buffer = [0; 8192];
        let mut missing = requests.purposes.len();
        let mut done = Ok(());
        while missing > 0 {
            let (length, _) = rustix::net::recv(&self.0, &mut buffer, RecvFlags::empty())?;
            for (number, errno) in replies(&buffer[..length]) {
                missing = missing.saturating_sub(1);
                if errno != 0 && done.is_ok() {
                    let purpose = requests.purposes.get(number).copied().unwrap_or("configure it");
                    let error = io::Error::from_raw_os_error(errno);
                    done = Err(io::Error::new(error.kind(), format!("cannot {purpose}: {error}")));
                }
            }
        }
        done
    }
}

/// The numbers of the requests that the kernel has answered, with their error (0: none).
fn replies(mut bytes: &[u8]) -> Vec<(usize, i32)> {
    let mut replies = Vec::new();
    while let Some(header) = bytes.first_chunk::<HEADER>() {
        let number = |at: usize| {
            u32::from_ne_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
        };
        let length = usize::try_from(number(0)).unwrap_or(usize::MAX);
        let kind = u16::from_ne_bytes([header[4], header[5]]);
        if let (ERROR, Some(code)) = (kind, bytes[HEADER..].first_chunk::<4>()) {
            let place = usize::try_from(number(8)).unwrap_or(usize::MAX);
            replies.push((place, i32::from_ne_bytes(*code).saturating_neg()));
        }
        bytes = bytes.get(length.max(HEADER).next_multiple_of(4)..).unwrap_or_default();
    }
    replies
}
