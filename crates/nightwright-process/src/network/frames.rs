//! Packets of the link between the sandbox and the bridge, as the kernel delivers them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::system_calls::FilterStep;

/// The size of an Ethernet header.
const LINK: usize = 14;
const TYPE_V4: u16 = 0x0800;
const TYPE_V6: u16 = 0x86dd;
const TCP: u8 = 6;
const UDP: u8 = 17;
const FIN_SYN_RST_ACK: u8 = 0x17;
const SYN: u8 = 0x02;
const RST_ACK: u8 = 0x14;
const UDP_HEADER: usize = 8;
const V4_HEADER: usize = 20;
const V6_HEADER: usize = 40;
/// The port of a name server.
const DNS: u16 = 53;

/// A packet that the bridge handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Frame<'f> {
    /// The first packet of a connection to this address.
    Open(SocketAddr),
    /// A question to a name server.
    Question(&'f [u8]),
    /// The answer of the kernel that nothing listens at this port.
    Closed(u16),
}

/// The place of the transport header, and the addresses.
struct Layout {
    transport: usize,
    protocol: u8,
    source: IpAddr,
    destination: IpAddr,
}

fn layout(frame: &[u8]) -> Option<Layout> {
    let at = |place: usize| frame.get(place).copied();
    match u16::from_be_bytes([at(12)?, at(13)?]) {
        TYPE_V4 => {
            let header = usize::from(at(LINK)? & 15) * 4;
            let address = |place: usize| {
                let octets = frame.get(place..)?.first_chunk::<4>()?;
                Some(IpAddr::from(Ipv4Addr::from(*octets)))
            };
            Some(Layout {
                transport: LINK + header.max(V4_HEADER),
                protocol: at(LINK + 9)?,
                source: address(LINK + 12)?,
                destination: address(LINK + 16)?,
            })
        }
        TYPE_V6 => {
            let address = |place: usize| {
                let octets = frame.get(place..)?.first_chunk::<16>()?;
                Some(IpAddr::from(Ipv6Addr::from(*octets)))
            };
            Some(Layout {
                transport: LINK + V6_HEADER,
                protocol: at(LINK + 6)?,
                source: address(LINK + 8)?,
                destination: address(LINK + 24)?,
            })
        }
        _ => None,
    }
}

/// Reads a packet.
pub(super) fn read(frame: &[u8]) -> Option<Frame<'_>> {
    let Layout { transport, protocol, destination, .. } = layout(frame)?;
    let header = frame.get(transport..)?;
    let number =
        |place: usize| Some(u16::from_be_bytes([*header.get(place)?, *header.get(place + 1)?]));
    match protocol {
        TCP => match header.get(13)? & FIN_SYN_RST_ACK {
            SYN => Some(Frame::Open(SocketAddr::new(destination, number(2)?))),
            // Only the answer to the first packet of a connection has the sequence number 0.
            RST_ACK if header.get(4..8)? == [0; 4] => Some(Frame::Closed(number(0)?)),
            _ => None,
        },
        UDP if number(2)? == DNS => {
            let length = usize::from(number(4)?);
            Some(Frame::Question(header.get(UDP_HEADER..length)?))
        }
        _ => None,
    }
}

/// Completes the checksum of a TCP packet. The kernel leaves it to the device, and a packet that
/// is sent again has none.
pub(super) fn complete(frame: &mut [u8]) {
    let Some(Layout { transport, protocol, source, destination }) = layout(frame) else { return };
    let Some(end) = length(frame).map(|length| LINK + length).filter(|end| *end <= frame.len())
    else {
        return;
    };
    if end < transport + 18 {
        return;
    }
    frame[transport + 16..transport + 18].fill(0);
    let sum = checksum(&frame[transport..end], protocol, source, destination);
    frame[transport + 16..transport + 18].copy_from_slice(&sum.to_be_bytes());
}

/// The length of the packet without the Ethernet header.
fn length(frame: &[u8]) -> Option<usize> {
    let number = |place: usize| {
        Some(usize::from(u16::from_be_bytes([*frame.get(place)?, *frame.get(place + 1)?])))
    };
    match layout(frame)?.destination {
        IpAddr::V4(_) => number(LINK + 2),
        IpAddr::V6(_) => Some(V6_HEADER + number(LINK + 4)?),
    }
}

/// Writes the packet that answers a question to a name server, if its addresses are of IPv4.
pub(super) fn answer(frame: &[u8], message: &[u8]) -> Option<Vec<u8>> {
    let Layout { transport, source, destination, .. } = layout(frame)?;
    let (IpAddr::V4(source), IpAddr::V4(destination)) = (source, destination) else { return None };
    let ports = frame.get(transport..transport + 4)?;
    let datagram = u16::try_from(UDP_HEADER + message.len()).ok()?;
    let total = datagram.checked_add(20)?;
    let mut answer = Vec::with_capacity(LINK + usize::from(total));
    answer.extend_from_slice(frame.get(6..12)?);
    answer.extend_from_slice(frame.get(..6)?);
    answer.extend_from_slice(frame.get(12..LINK)?);
    answer.extend_from_slice(&[0x45, 0]);
    answer.extend_from_slice(&total.to_be_bytes());
    // No fragments; 64 hops.
    answer.extend_from_slice(&[0, 0, 0x40, 0, 64, UDP, 0, 0]);
    answer.extend_from_slice(&destination.octets());
    answer.extend_from_slice(&source.octets());
    let sum = fold(sum(&answer[LINK..]));
    answer[LINK + 10..LINK + 12].copy_from_slice(&sum.to_be_bytes());
    answer.extend_from_slice(&ports[2..]);
    answer.extend_from_slice(&ports[..2]);
    answer.extend_from_slice(&datagram.to_be_bytes());
    // The link loses nothing, so the datagram needs no checksum.
    answer.extend_from_slice(&[0, 0]);
    answer.extend_from_slice(message);
    Some(answer)
}

fn checksum(segment: &[u8], protocol: u8, source: IpAddr, destination: IpAddr) -> u16 {
    let addresses = match (source, destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            sum(&source.octets()) + sum(&destination.octets())
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            sum(&source.octets()) + sum(&destination.octets())
        }
        // Both addresses of a packet are of the same version.
        (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => 0,
    };
    let length = u64::try_from(segment.len()).unwrap_or(u64::MAX);
    fold(addresses + u64::from(protocol) + length + sum(segment))
}

fn sum(bytes: &[u8]) -> u64 {
    let pairs = bytes.chunks(2).map(|pair| match pair {
        [high, low] => u64::from(u16::from_be_bytes([*high, *low])),
        [high] => u64::from(u16::from_be_bytes([*high, 0])),
        _ => 0,
    });
    pairs.sum()
}

fn fold(mut sum: u64) -> u16 {
    while sum > u64::from(u16::MAX) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !u16::try_from(sum).expect("it was folded")
}

const LOAD_BYTE: u16 = 0x30;
const LOAD_HALF: u16 = 0x28;
const LOAD_BYTE_AFTER_HEADER: u16 = 0x50;
const LOAD_HALF_AFTER_HEADER: u16 = 0x48;
const LOAD_HEADER_LENGTH: u16 = 0xb1;
const AND: u16 = 0x54;
const JUMP_IF_EQUAL: u16 = 0x15;
const RETURN: u16 = 0x06;
/// The number of bytes of a packet that the bridge receives.
const WHOLE: u32 = 2048;

/// Selects first packets of connections, and questions to name servers.
pub(super) const REQUESTS: [FilterStep; 20] = [
    FilterStep(LOAD_HALF, 0, 0, 12),
    FilterStep(JUMP_IF_EQUAL, 0, 9, TYPE_V4 as u32),
    FilterStep(LOAD_HEADER_LENGTH, 0, 0, 14),
    FilterStep(LOAD_BYTE, 0, 0, 23),
    FilterStep(JUMP_IF_EQUAL, 0, 3, TCP as u32),
    FilterStep(LOAD_BYTE_AFTER_HEADER, 0, 0, 14 + 13),
    FilterStep(AND, 0, 0, FIN_SYN_RST_ACK as u32),
    FilterStep(JUMP_IF_EQUAL, 11, 10, SYN as u32),
    FilterStep(JUMP_IF_EQUAL, 0, 9, UDP as u32),
    FilterStep(LOAD_HALF_AFTER_HEADER, 0, 0, 14 + 2),
    FilterStep(JUMP_IF_EQUAL, 8, 7, DNS as u32),
    FilterStep(JUMP_IF_EQUAL, 0, 6, TYPE_V6 as u32),
    FilterStep(LOAD_BYTE, 0, 0, 20),
    FilterStep(JUMP_IF_EQUAL, 0, 4, TCP as u32),
    FilterStep(LOAD_BYTE, 0, 0, 14 + 40 + 13),
    FilterStep(AND, 0, 0, FIN_SYN_RST_ACK as u32),
    FilterStep(JUMP_IF_EQUAL, 2, 1, SYN as u32),
    FilterStep(RETURN, 0, 0, 0),
    FilterStep(RETURN, 0, 0, 0),
    FilterStep(RETURN, 0, 0, WHOLE),
];

/// Selects the answers of the kernel that nothing listens at a port.
pub(super) const REFUSALS: [FilterStep; 16] = [
    FilterStep(LOAD_HALF, 0, 0, 12),
    FilterStep(JUMP_IF_EQUAL, 0, 6, TYPE_V4 as u32),
    FilterStep(LOAD_BYTE, 0, 0, 23),
    FilterStep(JUMP_IF_EQUAL, 0, 11, TCP as u32),
    FilterStep(LOAD_HEADER_LENGTH, 0, 0, 14),
    FilterStep(LOAD_BYTE_AFTER_HEADER, 0, 0, 14 + 13),
    FilterStep(AND, 0, 0, FIN_SYN_RST_ACK as u32),
    FilterStep(JUMP_IF_EQUAL, 6, 7, RST_ACK as u32),
    FilterStep(JUMP_IF_EQUAL, 0, 6, TYPE_V6 as u32),
    FilterStep(LOAD_BYTE, 0, 0, 20),
    FilterStep(JUMP_IF_EQUAL, 0, 4, TCP as u32),
    FilterStep(LOAD_BYTE, 0, 0, 14 + 40 + 13),
    FilterStep(AND, 0, 0, FIN_SYN_RST_ACK as u32),
    FilterStep(JUMP_IF_EQUAL, 0, 1, RST_ACK as u32),
    FilterStep(RETURN, 0, 0, WHOLE),
    FilterStep(RETURN, 0, 0, 0),
];

/// Selects nothing, for a socket that only sends.
pub(super) const NOTHING: [FilterStep; 1] = [FilterStep(RETURN, 0, 0, 0)];
