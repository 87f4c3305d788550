//! The surroundings of the sandbox: names, addresses and listeners of this machine.

use std::fmt::Debug;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _, UdpSocket};

/// The questions about the outside that the server asks. Tests answer them differently.
pub trait Outside: Debug + Send + Sync {
    /// Looks a name up. This may block for several seconds. No addresses mean that the name does
    /// not exist.
    fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>>;

    /// Whether an address belongs to this machine.
    fn is_own(&self, address: IpAddr) -> bool;

    /// Whether a program on this machine listens at a port of the loopback.
    fn has_listener(&self, port: u16) -> bool;

    /// The address to connect to for an address that the policy allowed.
    fn destination(&self, address: SocketAddr) -> SocketAddr {
        address
    }
}

/// The system's own answers.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

impl Outside for System {
    fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        match (name, 0).to_socket_addrs() {
            Ok(addresses) => {
                let mut found: Vec<IpAddr> = Vec::new();
                for address in addresses.map(|address| address.ip()) {
                    if !found.contains(&address) {
                        found.push(address);
                    }
                }
                Ok(found)
            }
            Err(error) if is_temporary(&error) => Err(error),
            Err(_) => Ok(Vec::new()),
        }
    }

    /// The kernel connects to an own address from that address itself. A datagram socket sends
    /// nothing when it is connected.
    fn is_own(&self, address: IpAddr) -> bool {
        let any: IpAddr = match address {
            IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let source = UdpSocket::bind((any, 0)).and_then(|socket| {
            socket.connect((address, 9))?;
            socket.local_addr()
        });
        source.is_ok_and(|source| source.ip() == address)
    }

    fn has_listener(&self, port: u16) -> bool {
        ["/proc/net/tcp", "/proc/net/tcp6"]
            .iter()
            .any(|table| fs::read_to_string(table).is_ok_and(|table| lists_listener(&table, port)))
    }
}

/// Whether the resolver failed, instead of finding no such name. The library's texts are not
/// translated, because this program sets no locale.
fn is_temporary(error: &io::Error) -> bool {
    let text = error.to_string();
    ["Temporary failure", "System error", "Memory"].iter().any(|part| text.contains(part))
}

/// Whether a table of the kernel has a listener that the loopback reaches.
fn lists_listener(table: &str, port: u16) -> bool {
    const LISTENING: &str = "0A";
    /// `127.0.0.1`, `::1`, and their mapped forms, as the kernel writes them; zeros mean all.
    const LOOPBACK: [&str; 3] =
        ["0100007F", "00000000000000000000000001000000", "0000000000000000FFFF00000100007F"];
    table.lines().skip(1).any(|line| {
        let mut words = line.split_ascii_whitespace().skip(1);
        let (Some(local), Some(_), Some(state)) = (words.next(), words.next(), words.next()) else {
            return false;
        };
        let Some((address, found)) = local.split_once(':') else { return false };
        let is_reached = address.bytes().all(|byte| byte == b'0') || LOOPBACK.contains(&address);
        state == LISTENING && is_reached && u16::from_str_radix(found, 16) == Ok(port)
    })
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn the_system_knows_its_own_addresses_and_listeners() {
        assert!(System.is_own(IpAddr::from(Ipv4Addr::LOCALHOST)));
        assert!(!System.is_own("192.0.2.1".parse().unwrap()));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        assert!(System.has_listener(port));
        drop(listener);
        assert!(!System.has_listener(port));
    }

    #[test]
    fn only_listeners_on_the_loopback_count() {
        let table = "  sl  local_address rem_address   st\n\
                     0: 0100007F:1538 00000000:0000 0A 0\n\
                     1: 0500000A:1539 00000000:0000 0A 0\n\
                     2: 00000000:153A 00000000:0000 0A 0\n\
                     3: 0100007F:153B 0100007F:0050 01 0\n\
                     4: 00000000000000000000000001000000:153C 0:0 0A 0\n\
                     5: broken\n";
        let found: Vec<_> = (5432..5438).filter(|port| lists_listener(table, *port)).collect();
        assert_eq!(found, [5432, 5434, 5436]);
    }

    #[test]
    fn names_of_this_machine_are_found_and_others_are_not() {
        let found = System.resolve("localhost").unwrap();
        assert!(found.iter().all(IpAddr::is_loopback) && !found.is_empty(), "{found:?}");
    }
}
