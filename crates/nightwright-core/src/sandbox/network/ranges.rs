//! Kinds of addresses. The lists follow the special-purpose registries of IANA.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The kind of an address, with regard to what it may reach from this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AddressKind {
    /// A host on the public internet.
    Public,
    /// An address by which this machine reaches itself.
    Loopback,
    /// The local network of a home, a company, a provider or a container.
    Private,
    /// The same network segment.
    LinkLocal,
    /// A service of a cloud that hands out credentials.
    Metadata,
    Multicast,
    /// The ranges for benchmarks and documentation, where no host is. Some proxies and gateways
    /// answer names with such addresses.
    Fictional,
    /// Not a host: protocols and unassigned ranges.
    Reserved,
}

/// Addresses of metadata services. Some of them are in public or private ranges.
const METADATA_V4: [Ipv4Addr; 4] = [
    Ipv4Addr::new(169, 254, 169, 254),
    // Containers of AWS.
    Ipv4Addr::new(169, 254, 170, 2),
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(168, 63, 129, 16),
];
const METADATA_V6: [Ipv6Addr; 3] = [
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0xa9fe, 0xa9fe),
];

/// The first match counts, so smaller ranges come before those that contain them. An address in none
/// of the ranges is public.
const V4: [([u8; 4], u32, AddressKind); 17] = [
    // On Linux, a connection to this network reaches this machine.
    ([0, 0, 0, 0], 8, AddressKind::Loopback),
    ([10, 0, 0, 0], 8, AddressKind::Private),
    // Shared by the customers of a provider, and by overlay networks.
    ([100, 64, 0, 0], 10, AddressKind::Private),
    ([127, 0, 0, 0], 8, AddressKind::Loopback),
    ([169, 254, 0, 0], 16, AddressKind::LinkLocal),
    ([172, 16, 0, 0], 12, AddressKind::Private),
    // The metadata service of Oracle's cloud.
    ([192, 0, 0, 192], 32, AddressKind::Metadata),
    ([192, 0, 0, 0], 24, AddressKind::Reserved),
    ([192, 0, 2, 0], 24, AddressKind::Fictional),
    ([192, 88, 99, 0], 24, AddressKind::Reserved),
    ([192, 168, 0, 0], 16, AddressKind::Private),
    ([198, 18, 0, 0], 15, AddressKind::Fictional),
    ([198, 51, 100, 0], 24, AddressKind::Fictional),
    ([203, 0, 113, 0], 24, AddressKind::Fictional),
    ([224, 0, 0, 0], 4, AddressKind::Multicast),
    ([255, 255, 255, 255], 32, AddressKind::Multicast),
    ([240, 0, 0, 0], 4, AddressKind::Reserved),
];

/// Like [`V4`]; an address in none of the ranges is reserved.
const V6: [([u16; 8], u32, AddressKind); 14] = [
    ([0, 0, 0, 0, 0, 0, 0, 0], 128, AddressKind::Loopback),
    ([0, 0, 0, 0, 0, 0, 0, 1], 128, AddressKind::Loopback),
    ([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48, AddressKind::Private),
    ([0x100, 0, 0, 0, 0, 0, 0, 0], 64, AddressKind::Reserved),
    // Protocol assignments, among them Teredo and benchmarks.
    ([0x2001, 0, 0, 0, 0, 0, 0, 0], 23, AddressKind::Reserved),
    ([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32, AddressKind::Reserved),
    ([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20, AddressKind::Reserved),
    ([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7, AddressKind::Private),
    ([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10, AddressKind::LinkLocal),
    // Site-local addresses are obsolete, and still routed inside some sites.
    ([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10, AddressKind::Private),
    ([0xff00, 0, 0, 0, 0, 0, 0, 0], 8, AddressKind::Multicast),
    ([0x5f00, 0, 0, 0, 0, 0, 0, 0], 16, AddressKind::Reserved),
    ([0x2000, 0, 0, 0, 0, 0, 0, 0], 3, AddressKind::Public),
    ([0, 0, 0, 0, 0, 0, 0, 0], 0, AddressKind::Reserved),
];

impl AddressKind {
    pub fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => Self::of_v4(address),
            IpAddr::V6(address) => match embedded(address) {
                Some(inner) => Self::of_v4(inner),
                None => Self::of_v6(address),
            },
        }
    }

    fn of_v4(address: Ipv4Addr) -> Self {
        if METADATA_V4.contains(&address) {
            return Self::Metadata;
        }
        let contains = |base: [u8; 4], length: u32| {
            let differs = u32::from(address) ^ u32::from(Ipv4Addr::from(base));
            length == 0 || differs >> (u32::BITS - length) == 0
        };
        let found = V4.iter().find(|(base, length, _)| contains(*base, *length));
        found.map_or(Self::Public, |(_, _, kind)| *kind)
    }

    fn of_v6(address: Ipv6Addr) -> Self {
        if METADATA_V6.contains(&address) {
            return Self::Metadata;
        }
        let contains = |base: [u16; 8], length: u32| {
            let differs = u128::from(address) ^ u128::from(Ipv6Addr::from(base));
            length == 0 || differs >> (u128::BITS - length) == 0
        };
        let found = V6.iter().find(|(base, length, _)| contains(*base, *length));
        found.map_or(Self::Reserved, |(_, _, kind)| *kind)
    }
}

/// The IPv4 address that a mapped, translated (NAT64) or tunneled (6to4) address stands for.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let inner = |high: u16, low: u16| Ipv4Addr::from(u32::from(high) << 16 | u32::from(low));
    match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => Some(inner(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_range_ends_where_the_registry_says() {
        use AddressKind::{
            Fictional, LinkLocal, Loopback, Metadata, Multicast, Private, Public, Reserved,
        };
        for (address, kind) in [
            ("0.0.0.0", Loopback),
            ("0.255.255.255", Loopback),
            ("1.0.0.0", Public),
            ("9.255.255.255", Public),
            ("10.0.0.0", Private),
            ("10.255.255.255", Private),
            ("11.0.0.0", Public),
            ("100.63.255.255", Public),
            ("100.64.0.0", Private),
            ("100.100.100.200", Metadata),
            ("100.127.255.255", Private),
            ("100.128.0.0", Public),
            ("126.255.255.255", Public),
            ("127.0.0.1", Loopback),
            ("127.255.255.255", Loopback),
            ("128.0.0.0", Public),
            ("168.63.129.15", Public),
            ("168.63.129.16", Metadata),
            ("169.253.255.255", Public),
            ("169.254.0.0", LinkLocal),
            ("169.254.169.254", Metadata),
            ("169.254.170.2", Metadata),
            ("169.255.0.0", Public),
            ("172.15.255.255", Public),
            ("172.16.0.0", Private),
            ("172.31.255.255", Private),
            ("172.32.0.0", Public),
            ("192.0.0.192", Metadata),
            ("192.0.0.8", Reserved),
            ("192.0.1.0", Public),
            ("192.0.2.1", Fictional),
            ("192.88.99.1", Reserved),
            ("192.167.255.255", Public),
            ("192.168.0.0", Private),
            ("192.168.255.255", Private),
            ("192.169.0.0", Public),
            ("198.17.255.255", Public),
            ("198.18.0.0", Fictional),
            ("198.19.255.255", Fictional),
            ("198.20.0.0", Public),
            ("198.51.100.1", Fictional),
            ("203.0.113.1", Fictional),
            ("223.255.255.255", Public),
            ("224.0.0.1", Multicast),
            ("239.255.255.255", Multicast),
            ("240.0.0.0", Reserved),
            ("255.255.255.254", Reserved),
            ("255.255.255.255", Multicast),
        ] {
            assert_eq!(AddressKind::of(address.parse().unwrap()), kind, "{address}");
            // Each notation of the same address in IPv6 is of the same kind.
            let v4: Ipv4Addr = address.parse().unwrap();
            let [a, b, c, d] = v4.octets();
            let (high, low) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
            for v6 in [
                v4.to_ipv6_mapped(),
                Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, high, low),
                Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
                Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1),
            ] {
                assert_eq!(AddressKind::of(v6.into()), kind, "{v6}");
            }
        }
        for (address, kind) in [
            ("::", Loopback),
            ("::1", Loopback),
            ("::2", Reserved),
            ("::127.0.0.1", Reserved),
            ("64:ff9b:1::1", Private),
            ("100::1", Reserved),
            ("2000::1", Public),
            ("2001::1", Reserved),
            ("2001:1ff::1", Reserved),
            ("2001:200::1", Public),
            ("2001:db8::1", Reserved),
            ("2606:4700::1111", Public),
            ("3ffe::1", Public),
            ("3fff::1", Reserved),
            ("3fff:1000::1", Public),
            ("4000::1", Reserved),
            ("5f00::1", Reserved),
            ("fbff::1", Reserved),
            ("fc00::1", Private),
            ("fd00:ec2::254", Metadata),
            ("fd20:ce::254", Metadata),
            ("fdff::1", Private),
            ("fe80::1", LinkLocal),
            ("fe80::a9fe:a9fe", Metadata),
            ("febf::1", LinkLocal),
            ("fec0::1", Private),
            ("ff02::1", Multicast),
        ] {
            assert_eq!(AddressKind::of(address.parse().unwrap()), kind, "{address}");
        }
    }
}
