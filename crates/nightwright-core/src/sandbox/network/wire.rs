//! The messages between the bridge and nightwright: one line as the request, one line as the
//! reply. After the reply to a connection, the bytes of the connection follow in both directions.

use core::fmt;
use core::str::FromStr;

use super::{Host, HostPort};

/// The maximum length of a request or a reply.
pub const MAX_LINE: usize = 512;

/// A request of the bridge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BridgeRequest {
    /// Whether this name exists.
    Resolve(String),
    /// A connection to a host.
    Connect(HostPort),
    /// A connection to a port of this machine.
    HostPort(u16),
    /// A program inside found nothing at this port of its loopback.
    ClosedPort(u16),
}

/// The reply to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BridgeReply {
    /// The name exists, or the connection is open.
    Done,
    /// The name does not exist.
    NoSuchName,
    /// The policy forbids the connection.
    Refused(String),
    /// The connection or the lookup failed.
    Failed(String),
}

/// A line that is no request or no reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a line of the bridge is invalid")]
pub struct InvalidLine;

impl fmt::Display for BridgeRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Resolve(name) => write!(f, "resolve {name}"),
            Self::Connect(target) => write!(f, "connect {target}"),
            Self::HostPort(port) => write!(f, "host-port {port}"),
            Self::ClosedPort(port) => write!(f, "closed-port {port}"),
        }
    }
}

impl FromStr for BridgeRequest {
    type Err = InvalidLine;

    fn from_str(line: &str) -> Result<Self, InvalidLine> {
        let (word, rest) = line.split_once(' ').ok_or(InvalidLine)?;
        let port = || rest.parse().map_err(|_| InvalidLine);
        Ok(match word {
            "resolve" => match rest.parse() {
                Ok(Host::Name(name)) => Self::Resolve(name),
                Ok(Host::Address(_)) | Err(_) => return Err(InvalidLine),
            },
            "connect" => Self::Connect(rest.parse().map_err(|_| InvalidLine)?),
            "host-port" => Self::HostPort(port()?),
            "closed-port" => Self::ClosedPort(port()?),
            _ => return Err(InvalidLine),
        })
    }
}

impl fmt::Display for BridgeReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done => f.write_str("done"),
            Self::NoSuchName => f.write_str("no-such-name"),
            Self::Refused(why) => write!(f, "refused {}", one_line(why)),
            Self::Failed(why) => write!(f, "failed {}", one_line(why)),
        }
    }
}

/// The beginning of a text, as one line that fits into a reply.
fn one_line(text: &str) -> String {
    let bytes = text.chars().filter(|character| !character.is_control());
    bytes.take(MAX_LINE / 8).collect()
}

impl FromStr for BridgeReply {
    type Err = InvalidLine;

    fn from_str(line: &str) -> Result<Self, InvalidLine> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        Ok(match word {
            "done" => Self::Done,
            "no-such-name" => Self::NoSuchName,
            "refused" => Self::Refused(rest.to_owned()),
            "failed" => Self::Failed(rest.to_owned()),
            _ => return Err(InvalidLine),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_were_written() {
        for line in [
            "resolve example.com",
            "connect example.com:443",
            "connect [2001:db8::1]:22",
            "host-port 5432",
            "closed-port 5432",
        ] {
            assert_eq!(line.parse::<BridgeRequest>().unwrap().to_string(), line);
        }
        for line in ["done", "no-such-name", "refused 10.0.0.1 is private", "failed no route"] {
            assert_eq!(line.parse::<BridgeReply>().unwrap().to_string(), line);
        }
        for wrong in ["", "resolve", "resolve 1.2.3.4", "connect a", "host-port x", "other 1"] {
            assert!(wrong.parse::<BridgeRequest>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_longest_name_and_reason_fit_into_a_line() {
        let name = format!("{}a", "a.".repeat(126));
        let request = BridgeRequest::Connect(format!("{name}:65535").parse().unwrap());
        assert!(request.to_string().len() < MAX_LINE);
        let reply = BridgeReply::Failed("\u{1f600}\n".repeat(1_000)).to_string();
        assert!(reply.len() < MAX_LINE && !reply.contains('\n'));
    }
}
