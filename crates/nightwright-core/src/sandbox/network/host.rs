//! Hosts, as programs and settings name them.

use core::fmt;
use core::net::{IpAddr, Ipv6Addr};
use core::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The maximum length of a host name, as DNS limits it.
const MAX_NAME: usize = 253;
/// The maximum length of one part of a host name.
const MAX_LABEL: usize = 63;

/// A host: a name or an address.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Host {
    /// A name in lower case, without the final dot.
    Name(String),
    Address(IpAddr),
}

/// A text is not the name or the address of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum HostError {
    #[error("a host is a name such as `example.com` or an address")]
    Host,
    #[error("a host needs a port, as in `example.com:443`")]
    Port,
}

impl Host {
    /// Whether the host is this machine by its name or address alone.
    pub fn is_loopback(&self) -> bool {
        match self {
            Self::Name(name) => name == "localhost" || name.ends_with(".localhost"),
            Self::Address(address) => address.to_canonical().is_loopback(),
        }
    }
}

impl FromStr for Host {
    type Err = HostError;

    fn from_str(text: &str) -> Result<Self, HostError> {
        let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
        if let Some(inner) = bare {
            let address: Ipv6Addr = inner.parse().map_err(|_| HostError::Host)?;
            return Ok(Self::Address(address.into()));
        }
        if let Ok(address) = text.parse() {
            return Ok(Self::Address(address));
        }
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        let is_name = name.len() <= MAX_NAME && name.split('.').all(is_label);
        // The system's resolver takes `127.1`, `0x7f.1` and `2130706433` for addresses.
        let looks_like_an_address = name.rsplit('.').next().is_some_and(is_number);
        if is_name && !looks_like_an_address { Ok(Self::Name(name)) } else { Err(HostError::Host) }
    }
}

fn is_label(label: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (1..=MAX_LABEL).contains(&label.len())
        && !label.starts_with('-')
        && label.bytes().all(is_allowed)
}

fn is_number(label: &str) -> bool {
    let is_hex = label
        .strip_prefix("0x")
        .is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_hexdigit()));
    is_hex || label.bytes().all(|byte| byte.is_ascii_digit())
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(address) => address.fmt(f),
        }
    }
}

/// A host and a port: `example.com:443`, `10.0.0.5:5432`, `[2001:db8::1]:22`.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct HostPort {
    pub host: Host,
    pub port: u16,
}

impl HostPort {
    pub fn new(host: Host, port: u16) -> Self {
        Self { host, port }
    }

    /// The host and port that a URL or a git remote (`git@example.com:project.git`) names; `None`
    /// for a path and for a scheme without a usual port.
    pub fn of_url(url: &str) -> Option<Self> {
        let Some((scheme, rest)) = url.split_once("://") else {
            return Self::of_scp_address(url);
        };
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let place = authority.rsplit_once('@').map_or(authority, |(_, place)| place);
        if let Ok(found) = place.parse() {
            return Some(found);
        }
        Some(Self::new(place.parse().ok()?, usual_port(scheme)?))
    }

    /// The host of `user@host:path`. A path with a slash before the colon is a local file.
    fn of_scp_address(address: &str) -> Option<Self> {
        let (place, _) = address.split_once(':')?;
        let place = place.rsplit_once('@').map_or(place, |(_, place)| place);
        Some(Self::new(place.parse().ok()?, 22))
    }
}

fn usual_port(scheme: &str) -> Option<u16> {
    Some(match scheme.to_ascii_lowercase().as_str() {
        "http" | "ws" | "git+http" | "sparse+http" => 80,
        "https" | "wss" | "git+https" | "sparse+https" => 443,
        "ssh" | "git+ssh" | "ssh+git" | "sftp" => 22,
        "git" => 9418,
        "ftp" => 21,
        "socks4" | "socks4a" | "socks5" | "socks5h" => 1080,
        _ => return None,
    })
}

impl FromStr for HostPort {
    type Err = HostError;

    fn from_str(text: &str) -> Result<Self, HostError> {
        let (host, port) = text.rsplit_once(':').ok_or(HostError::Port)?;
        let is_bare_v6 = host.contains(':') && !host.starts_with('[');
        match port.parse() {
            Ok(port @ 1..) if !is_bare_v6 => Ok(Self { host: host.parse()?, port }),
            Ok(_) | Err(_) => Err(HostError::Port),
        }
    }
}

impl TryFrom<String> for HostPort {
    type Error = HostError;

    fn try_from(text: String) -> Result<Self, HostError> {
        text.parse()
    }
}

impl From<HostPort> for String {
    fn from(host_port: HostPort) -> Self {
        host_port.to_string()
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        match host {
            Host::Address(IpAddr::V6(address)) => write!(f, "[{address}]:{port}"),
            Host::Address(IpAddr::V4(_)) | Host::Name(_) => write!(f, "{host}:{port}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_names_or_addresses() {
        for (text, shown) in [
            ("Example.COM.:443", "example.com:443"),
            ("_dmarc.a-b.example:1", "_dmarc.a-b.example:1"),
            ("10.0.0.5:5432", "10.0.0.5:5432"),
            ("[::1]:65535", "[::1]:65535"),
        ] {
            assert_eq!(text.parse::<HostPort>().unwrap().to_string(), shown);
        }
        let long = format!("{}:1", "a.".repeat(127) + "a");
        for wrong in [
            "example.com",
            "example.com:",
            "example.com:0",
            "example.com:65536",
            ":80",
            "a b:80",
            "a..b:80",
            "-a:80",
            "::1:80",
            "[1.2.3.4]:80",
            "127.1:80",
            "2130706433:80",
            "0x7f.1:80",
            "a\n:80",
            "ä.example:80",
            "1.2.3.4.5:80",
            "a.0x7f000001:80",
            &long,
        ] {
            assert!(wrong.parse::<HostPort>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn urls_and_git_remotes_name_hosts() {
        for (url, expected) in [
            ("https://registry.example/npm/", Some("registry.example:443")),
            ("http://user:pass@10.0.0.5:4873", Some("10.0.0.5:4873")),
            ("http://[::1]:80/x", Some("[::1]:80")),
            ("https://[2001:db8::1]", Some("[2001:db8::1]:443")),
            ("sparse+https://index.example/", Some("index.example:443")),
            ("ssh://git@example.com/a.git", Some("example.com:22")),
            ("git@example.com:a/b.git", Some("example.com:22")),
            ("socks5h://proxy.example", Some("proxy.example:1080")),
            ("/srv/git/a.git", None),
            ("../a:b", None),
            ("file:///srv/git", None),
            ("unknown://example.com", None),
            ("unknown://example.com:5", Some("example.com:5")),
            ("", None),
        ] {
            let found = HostPort::of_url(url).map(|found| found.to_string());
            assert_eq!(found.as_deref(), expected, "{url}");
        }
    }

    #[test]
    fn loopback_hosts_are_known_by_name_and_address() {
        for (host, expected) in [
            ("localhost", true),
            ("a.localhost", true),
            ("127.8.9.1", true),
            ("[::1]", true),
            ("[::ffff:127.0.0.1]", true),
            ("localhost.example", false),
            ("10.0.0.1", false),
        ] {
            assert_eq!(host.parse::<Host>().unwrap().is_loopback(), expected, "{host}");
        }
    }
}
