//! Packets of IPv4, as a raw socket receives and sends them.

use std::net::{Ipv4Addr, SocketAddrV4};

use super::system_calls::FilterStep;

/// The size of a header without options.
const HEADER: usize = 20;
const TCP: u8 = 6;
const UDP: u8 = 17;
const UDP_HEADER: usize = 8;
const FIN_SYN_RST_ACK: u8 = 0x17;
const SYN: u8 = 0x02;
const RST_ACK: u8 = 0x14;
/// The byte of a header that says how many routers a packet may still pass.
const HOPS: usize = 8;
/// Its value in a packet that the bridge sends once more: the bridge receives that packet, too.
const SENT_AGAIN: u8 = 1;
/// The port of a name server.
const DNS: u16 = 53;

/// A packet that the bridge handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packet<'p> {
    /// The first packet of a connection to this address.
    Open(SocketAddrV4),
    /// A question to a name server.
    Question(&'p [u8]),
    /// The answer of the kernel that nothing listens at this port.
    Closed(u16),
}

struct Header {
    /// Where the header of TCP or UDP begins.
    length: usize,
    protocol: u8,
    source: Ipv4Addr,
    destination: Ipv4Addr,
}

fn header(packet: &[u8]) -> Option<Header> {
    let bytes = packet.first_chunk::<HEADER>()?;
    let address = |at: usize| Ipv4Addr::new(bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]);
    Some(Header {
        length: usize::from(bytes[0] & 15) * 4,
        protocol: bytes[9],
        source: address(12),
        destination: address(16),
    })
}

/// Reads a packet that the bridge may have to handle.
pub(super) fn read(packet: &[u8]) -> Option<Packet<'_>> {
    let Header { length, protocol, destination, .. } = header(packet)?;
    let inner = packet.get(length.max(HEADER)..)?;
    let number = |at: usize| Some(u16::from_be_bytes([*inner.get(at)?, *inner.get(at + 1)?]));
    match protocol {
        TCP => match inner.get(13)? & FIN_SYN_RST_ACK {
            SYN if packet.get(HOPS) == Some(&SENT_AGAIN) => None,
            SYN => Some(Packet::Open(SocketAddrV4::new(destination, number(2)?))),
            // Only the answer to the first packet of a connection has the sequence number 0.
            RST_ACK if inner.get(4..8)? == [0; 4] => Some(Packet::Closed(number(0)?)),
            _ => None,
        },
        UDP if number(2)? == DNS => {
            Some(Packet::Question(inner.get(UDP_HEADER..usize::from(number(4)?))?))
        }
        _ => None,
    }
}

/// Prepares a TCP packet to be sent again: marks it and completes its checksum. The kernel leaves
/// that to the device, so the packet has none.
pub(super) fn send_again(packet: &mut [u8]) {
    if let Some(hops) = packet.get_mut(HOPS) {
        *hops = SENT_AGAIN;
    }
    let Some(Header { length, protocol, source, destination }) = header(packet) else { return };
    let Some(inner) = packet.get_mut(length..).filter(|inner| inner.len() >= HEADER) else {
        return;
    };
    inner[16..18].fill(0);
    let length = u64::try_from(inner.len()).unwrap_or(u64::MAX);
    let addresses = sum(&source.octets()) + sum(&destination.octets());
    let checksum = fold(addresses + u64::from(protocol) + length + sum(inner));
    inner[16..18].copy_from_slice(&checksum.to_be_bytes());
}

/// Writes the packet that answers a question to a name server, with its destination. The kernel
/// completes the header.
pub(super) fn answer(question: &[u8], message: &[u8]) -> Option<(Vec<u8>, SocketAddrV4)> {
    let Header { length, source, destination, .. } = header(question)?;
    let [from_high, from_low, to_high, to_low] = *question.get(length..)?.first_chunk::<4>()?;
    let datagram = u16::try_from(UDP_HEADER + message.len()).ok()?;
    let total = datagram.checked_add(u16::try_from(HEADER).ok()?)?;
    let mut answer = Vec::with_capacity(usize::from(total));
    answer.extend_from_slice(&[0x45, 0]);
    answer.extend_from_slice(&total.to_be_bytes());
    // Not fragmented, and 64 hops.
    answer.extend_from_slice(&[0, 0, 0x40, 0, 64, UDP, 0, 0]);
    answer.extend_from_slice(&destination.octets());
    answer.extend_from_slice(&source.octets());
    answer.extend_from_slice(&[to_high, to_low, from_high, from_low]);
    answer.extend_from_slice(&datagram.to_be_bytes());
    // The link loses nothing, so the datagram needs no checksum.
    answer.extend_from_slice(&[0, 0]);
    answer.extend_from_slice(message);
    let port = u16::from_be_bytes([from_high, from_low]);
    Some((answer, SocketAddrV4::new(source, port)))
}

/// The sum of all pairs of bytes.
fn sum(bytes: &[u8]) -> u64 {
    let (pairs, last) = bytes.as_chunks::<2>();
    let last = last.first().map_or(0, |byte| u64::from(*byte) << 8);
    pairs.iter().map(|pair| u64::from(u16::from_be_bytes(*pair))).sum::<u64>() + last
}

fn fold(mut sum: u64) -> u16 {
    while sum > u64::from(u16::MAX) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !u16::try_from(sum).expect("it was folded")
}

const LOAD_HEADER_LENGTH: u16 = 0xb1;
const LOAD_BYTE_AFTER_HEADER: u16 = 0x50;
const LOAD_HALF_AFTER_HEADER: u16 = 0x48;
const AND: u16 = 0x54;
const JUMP_IF_EQUAL: u16 = 0x15;
const RETURN: u16 = 0x06;
const WHOLE: FilterStep = FilterStep(RETURN, 0, 0, u32::MAX);
const NONE: FilterStep = FilterStep(RETURN, 0, 0, 0);

/// Selects TCP packets with these flags.
const fn with_flags(flags: u8) -> [FilterStep; 6] {
    [
        FilterStep(LOAD_HEADER_LENGTH, 0, 0, 0),
        FilterStep(LOAD_BYTE_AFTER_HEADER, 0, 0, 13),
        FilterStep(AND, 0, 0, FIN_SYN_RST_ACK as u32),
        FilterStep(JUMP_IF_EQUAL, 0, 1, flags as u32),
        WHOLE,
        NONE,
    ]
}

/// Selects first packets of connections.
pub(super) const OPENING: [FilterStep; 6] = with_flags(SYN);
/// Selects the answers of the kernel that nothing listens at a port.
pub(super) const CLOSED: [FilterStep; 6] = with_flags(RST_ACK);
/// Selects questions to name servers.
pub(super) const QUESTIONS: [FilterStep; 5] = [
    FilterStep(LOAD_HEADER_LENGTH, 0, 0, 0),
    FilterStep(LOAD_HALF_AFTER_HEADER, 0, 0, 2),
    FilterStep(JUMP_IF_EQUAL, 0, 1, DNS as u32),
    WHOLE,
    NONE,
];
/// Selects no packet at all.
pub(super) const NOTHING: [FilterStep; 1] = [NONE];

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(protocol: u8, inner: &[u8]) -> Vec<u8> {
        let mut packet = vec![0x46, 0, 0, 0, 0, 0, 0, 0, 64, protocol, 0, 0];
        packet.extend_from_slice(&[198, 18, 0, 2, 1, 2, 3, 4]);
        // An option, so that the header is longer than usual.
        packet.extend_from_slice(&[1, 1, 1, 0]);
        packet.extend_from_slice(inner);
        packet
    }

    fn tcp(sequence: u8, flags: u8) -> Vec<u8> {
        let mut inner = vec![0x12, 0x34, 0x20, 0xfb, 0, 0, 0, sequence, 0, 0, 0, 0, 0x50, flags];
        inner.resize(HEADER, 7);
        packet(TCP, &inner)
    }

    #[test]
    fn first_packets_differ_from_refusals() {
        let address = SocketAddrV4::new(Ipv4Addr::new(1, 2, 3, 4), 8443);
        assert_eq!(read(&tcp(9, 0x02)), Some(Packet::Open(address)));
        assert_eq!(read(&tcp(9, 0xc2)), Some(Packet::Open(address)), "with flags of congestion");
        assert_eq!(read(&tcp(0, 0x14)), Some(Packet::Closed(0x1234)));
        for other in [tcp(9, 0x14), tcp(9, 0x12), tcp(9, 0x10), tcp(9, 0x18), packet(1, &[8; 40])] {
            assert_eq!(read(&other), None);
        }
        let whole = tcp(9, 0x02);
        for end in 0..whole.len() - 6 {
            assert_eq!(read(&whole[..end]), None, "{end}");
        }
    }

    #[test]
    fn a_question_is_answered_to_where_it_came_from() {
        let question = packet(UDP, &[0x12, 0x34, 0, 53, 0, 11, 0, 0, b'a', b'b', b'c', 9]);
        assert_eq!(read(&question), Some(Packet::Question(b"abc")));
        let (answer, destination) = answer(&question, b"reply").unwrap();
        assert_eq!(destination.to_string(), "198.18.0.2:4660");
        assert_eq!(answer[12..20], [1, 2, 3, 4, 198, 18, 0, 2]);
        assert_eq!(answer[20..], *b"\x00\x35\x12\x34\x00\x0d\x00\x00reply");
        let short = packet(UDP, &[0x12, 0x34, 0, 53, 0, 7, 0, 0]);
        assert_eq!(read(&short), None, "a length below that of the header");
    }

    #[test]
    fn a_packet_that_is_sent_again_has_the_expected_sum_and_is_not_handled_again() {
        let mut packet = tcp(9, 0x02);
        send_again(&mut packet);
        assert_eq!(read(&packet), None);
        let inner = &packet[24..];
        let addresses = sum(&packet[12..20]);
        let length = u64::try_from(inner.len()).unwrap();
        assert_eq!(fold(addresses + u64::from(TCP) + length + sum(inner)), 0);
        send_again(&mut packet[..30]);
        send_again(&mut []);
    }
}
