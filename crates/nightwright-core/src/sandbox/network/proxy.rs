//! The proxies that the user's environment names, for connections from a sandbox.

use core::fmt;
use core::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{Host, HostPort};

/// The variables that name proxies, in upper case. Programs also read them in lower case.
pub const VARIABLES: [&str; 5] =
    ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY", "FTP_PROXY"];
/// The port of plain HTTP, which has a separate proxy.
const HTTP: u16 = 80;

/// An HTTP proxy of the user.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    pub target: HostPort,
    /// The value of the `Proxy-Authorization` header.
    pub authorization: Option<String>,
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxy").field("target", &self.target).finish_non_exhaustive()
    }
}

/// The proxies of a user, and the hosts that are reached without one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proxies {
    http: Option<Proxy>,
    https: Option<Proxy>,
    exceptions: Vec<Exception>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Exception {
    All,
    /// A domain with its subdomains, optionally with a port.
    Domain(String, Option<u16>),
    Address(IpAddr),
    Network(IpAddr, u32),
}

impl Proxies {
    /// Reads the variables of an environment. Returns the value of a variable that names no HTTP
    /// proxy as the error.
    pub fn from_environment<'v>(get: impl Fn(&str) -> Option<&'v str>) -> Result<Self, String> {
        let read = |name: &str| {
            let lower = get(&name.to_ascii_lowercase());
            lower.or_else(|| get(name)).map(str::trim).filter(|value| !value.is_empty())
        };
        let proxy = |name| read(name).map(parse).transpose();
        let all = proxy("ALL_PROXY");
        let https = match proxy("HTTPS_PROXY")? {
            Some(proxy) => Some(proxy),
            None => all.clone()?,
        };
        let http = match proxy("HTTP_PROXY")? {
            Some(proxy) => Some(proxy),
            None => all?,
        };
        let exceptions = read("NO_PROXY").unwrap_or_default();
        let exceptions = exceptions.split([',', ' ']).filter_map(exception).collect();
        Ok(Self { http, https, exceptions })
    }

    /// The proxy for a connection; `None` for a direct one.
    pub fn for_target(&self, target: &HostPort) -> Option<&Proxy> {
        let proxy = if target.port == HTTP { &self.http } else { &self.https };
        proxy.as_ref().filter(|_| !self.exceptions.iter().any(|known| known.covers(target)))
    }

    /// The hosts of all proxies.
    pub fn hosts(&self) -> impl Iterator<Item = &HostPort> {
        self.http.iter().chain(&self.https).map(|proxy| &proxy.target)
    }
}

fn parse(value: &str) -> Result<Proxy, String> {
    let wrong = || value.rsplit_once('@').map_or(value, |(_, place)| place).to_owned();
    let (scheme, rest) = value.split_once("://").unwrap_or(("http", value));
    if !scheme.eq_ignore_ascii_case("http") {
        return Err(wrong());
    }
    let authority = rest.split('/').next().unwrap_or_default();
    let (login, place) = match authority.rsplit_once('@') {
        Some((login, place)) => (Some(login), place),
        None => (None, authority),
    };
    let target = match place.parse() {
        Ok(target) => target,
        Err(_) => HostPort::new(place.parse().map_err(|_| wrong())?, HTTP),
    };
    let authorization = login.map(|login| format!("Basic {}", STANDARD.encode(decoded(login))));
    Ok(Proxy { target, authorization })
}

/// Replaces the `%XX` of a URL with the bytes that they stand for.
fn decoded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let escaped = after.first_chunk::<2>().filter(|_| *first == b'%');
        let value = escaped.and_then(|pair| core::str::from_utf8(pair).ok());
        if let Some(byte) = value.and_then(|pair| u8::from_str_radix(pair, 16).ok()) {
            bytes.push(byte);
            rest = &after[2..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    bytes
}

fn exception(text: &str) -> Option<Exception> {
    let text = text.trim();
    if text == "*" {
        return Some(Exception::All);
    }
    if let Some((base, length)) = text.split_once('/') {
        return Some(Exception::Network(base.parse().ok()?, length.parse().ok()?));
    }
    if let Ok(Host::Address(address)) = text.parse() {
        return Some(Exception::Address(address));
    }
    let text = text.trim_start_matches("*.").trim_start_matches('.').to_ascii_lowercase();
    let (name, port) = match text.split_once(':') {
        Some((name, port)) => (name, Some(port.parse().ok()?)),
        None => (text.as_str(), None),
    };
    (!name.is_empty()).then(|| Exception::Domain(name.to_owned(), port))
}

impl Exception {
    fn covers(&self, target: &HostPort) -> bool {
        match (self, &target.host) {
            (Self::All, _) => true,
            (Self::Domain(domain, port), Host::Name(name)) => {
                let is_inside = name == domain
                    || name.strip_suffix(domain.as_str()).is_some_and(|rest| rest.ends_with('.'));
                is_inside && port.is_none_or(|port| port == target.port)
            }
            (Self::Address(known), Host::Address(address)) => known == address,
            (Self::Network(base, length), Host::Address(address)) => {
                is_in_network(*address, *base, *length)
            }
            (Self::Domain(..), Host::Address(_))
            | (Self::Address(_) | Self::Network(..), Host::Name(_)) => false,
        }
    }
}

fn is_in_network(address: IpAddr, base: IpAddr, length: u32) -> bool {
    let (differs, width) = match (address, base) {
        (IpAddr::V4(address), IpAddr::V4(base)) => {
            (u128::from(u32::from(address) ^ u32::from(base)), u32::BITS)
        }
        (IpAddr::V6(address), IpAddr::V6(base)) => {
            (u128::from(address) ^ u128::from(base), u128::BITS)
        }
        (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => return false,
    };
    let ignored = width.saturating_sub(length);
    differs.checked_shr(ignored).unwrap_or(0) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxies(variables: &[(&str, &'static str)]) -> Result<Proxies, String> {
        let find = |name: &str| variables.iter().find(|(known, _)| *known == name);
        Proxies::from_environment(|name| find(name).map(|(_, value)| *value))
    }

    fn used(proxies: &Proxies, target: &str) -> Option<String> {
        let target = target.parse().unwrap();
        proxies.for_target(&target).map(|proxy| proxy.target.to_string())
    }

    #[test]
    fn proxies_are_chosen_by_port_and_exceptions() {
        let proxies = proxies(&[
            ("HTTPS_PROXY", "http://ignored.example"),
            ("https_proxy", "http://us%40er:pa%ss@proxy.example:3128/"),
            ("ALL_PROXY", "all.example:8080"),
            ("NO_PROXY", "localhost, .corp.example,direct.example:443,10.0.0.0/8,1.2.3.4,fd00::/8"),
        ])
        .unwrap();
        let by_https = Some("proxy.example:3128");
        for (target, expected) in [
            ("a.example:443", by_https),
            ("a.example:22", by_https),
            ("a.example:80", Some("all.example:8080")),
            ("localhost:443", None),
            ("corp.example:443", None),
            ("git.corp.example:443", None),
            ("evilcorp.example:443", by_https),
            ("direct.example:443", None),
            ("direct.example:444", by_https),
            ("10.255.0.1:443", None),
            ("11.0.0.1:443", by_https),
            ("1.2.3.4:443", None),
            ("[fd12::1]:443", None),
            ("[2606::1]:443", by_https),
        ] {
            assert_eq!(used(&proxies, target).as_deref(), expected, "{target}");
        }
        let login = &proxies.https.as_ref().unwrap().authorization;
        let expected = format!("Basic {}", STANDARD.encode("us@er:pa%ss"));
        assert_eq!(login.as_deref(), Some(expected.as_str()));
        assert!(!format!("{proxies:?}").contains("Basic"));
    }

    #[test]
    fn an_environment_without_proxies_has_none_and_an_unknown_kind_is_an_error() {
        assert_eq!(proxies(&[]), Ok(Proxies::default()));
        assert_eq!(proxies(&[("HTTPS_PROXY", " ")]), Ok(Proxies::default()));
        let all = proxies(&[("HTTPS_PROXY", "http://p.example"), ("NO_PROXY", "*")]).unwrap();
        assert_eq!(used(&all, "a.example:443"), None);
        let socks = proxies(&[("ALL_PROXY", "socks5://user:secret@proxy.example:1080")]);
        assert_eq!(socks, Err("proxy.example:1080".to_owned()));
    }
}
