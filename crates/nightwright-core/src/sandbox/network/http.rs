//! The little HTTP that a proxy inside a sandbox needs: requests for a connection, and plain
//! requests for a page.

use core::net::Ipv4Addr;

use super::wire::BridgeReply;
use super::{Host, HostPort};

/// The maximum size of the head of a request.
pub const MAX_HEAD: usize = 32 << 10;
const END: &[u8] = b"\r\n\r\n";

/// A request to a proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyRequest {
    pub target: HostPort,
    /// The first bytes for the host. Empty if the program asked for a connection.
    pub forward: Vec<u8>,
}

/// Finds the end of a head in the data read so far.
pub fn head_end(data: &[u8]) -> Option<usize> {
    data.windows(END.len()).position(|window| window == END).map(|place| place + END.len())
}

/// Reads the head of a request. Returns `None` for anything that is no request to a proxy.
pub fn proxy_request(head: &[u8]) -> Option<ProxyRequest> {
    let text = core::str::from_utf8(head).ok()?;
    let (line, headers) = text.split_once("\r\n")?;
    let mut words = line.split(' ');
    let (method, place, version) = (words.next()?, words.next()?, words.next()?);
    if words.next().is_some() || !version.starts_with("HTTP/1.") {
        return None;
    }
    if method == "CONNECT" {
        return Some(ProxyRequest { target: place.parse().ok()?, forward: Vec::new() });
    }
    let scheme = place.get(..7)?;
    let rest = place.get(7..).filter(|_| scheme.eq_ignore_ascii_case("http://"))?;
    let target = HostPort::of_url(place)?;
    let path = rest.find(['/', '?']).map_or("/", |begin| &rest[begin..]);
    let slash = if path.starts_with('/') { "" } else { "/" };
    let mut forward = format!("{method} {slash}{path} {version}\r\n");
    for header in headers.split("\r\n").filter(|header| !header.is_empty()) {
        let name = header.split(':').next().unwrap_or_default().to_ascii_lowercase();
        // They are for the proxy. Only one request is read from each connection.
        if !["connection", "proxy-connection", "proxy-authorization", "keep-alive"]
            .contains(&name.as_str())
        {
            forward.push_str(header);
            forward.push_str("\r\n");
        }
    }
    forward.push_str("Connection: close\r\n\r\n");
    Some(ProxyRequest { target, forward: forward.into_bytes() })
}

/// The answer of the proxy to a request for a connection, or to any request that failed.
pub fn proxy_answer(reply: &BridgeReply) -> String {
    let (status, why) = match reply {
        BridgeReply::Done => return "HTTP/1.1 200 Connection established\r\n\r\n".to_owned(),
        BridgeReply::Refused(why) => ("403 Forbidden", format!("nightwright refused it: {why}")),
        BridgeReply::NoSuchName => ("502 Bad Gateway", "the host does not exist".to_owned()),
        BridgeReply::Failed(why) => ("502 Bad Gateway", why.clone()),
    };
    let length = why.len() + 1;
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{why}\n"
    )
}

/// The variables that make programs inside use a proxy at a port of their loopback.
pub fn proxy_environment(port: u16) -> Vec<(&'static str, String)> {
    let proxy = format!("http://{}:{port}", Ipv4Addr::LOCALHOST);
    let own = [Host::Name("localhost".to_owned()), Host::Address(Ipv4Addr::LOCALHOST.into())];
    let exceptions: Vec<_> = own.iter().map(ToString::to_string).chain(["::1".into()]).collect();
    let mut variables: Vec<_> =
        ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"]
            .into_iter()
            .map(|name| (name, proxy.clone()))
            .collect();
    for name in ["NO_PROXY", "no_proxy"] {
        variables.push((name, exceptions.join(",")));
    }
    // Node ignores the others without it.
    variables.push(("NODE_USE_ENV_PROXY", "1".to_owned()));
    variables
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_for_connections_and_pages_are_read() {
        let connect = proxy_request(b"CONNECT a.example:443 HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        assert_eq!(
            (connect.target.to_string().as_str(), connect.forward.len()),
            ("a.example:443", 0)
        );
        let head = b"GET HTTP://u:p@a.example:8080/b?c HTTP/1.1\r\nHost: a.example\r\n\
                     Proxy-Connection: keep-alive\r\nConnection: keep-alive\r\nX: y\r\n\r\n";
        let page = proxy_request(head).unwrap();
        assert_eq!(page.target.to_string(), "a.example:8080");
        let forward = "GET /b?c HTTP/1.1\r\nHost: a.example\r\nX: y\r\nConnection: close\r\n\r\n";
        assert_eq!(String::from_utf8(page.forward).unwrap(), forward);
        let root = proxy_request(b"GET http://a.example?q HTTP/1.0\r\n\r\n").unwrap();
        assert_eq!(root.target.to_string(), "a.example:80");
        assert!(root.forward.starts_with(b"GET /?q HTTP/1.0\r\n"));
        for wrong in [
            "",
            "\r\n\r\n",
            "GET / HTTP/1.1\r\n\r\n",
            "GET https://a.example/ HTTP/1.1\r\n\r\n",
            "GET http:///x HTTP/1.1\r\n\r\n",
            "CONNECT a.example HTTP/1.1\r\n\r\n",
            "CONNECT a.example:443 HTTP/2\r\n\r\n",
            "CONNECT a.example:443 HTTP/1.1 x\r\n\r\n",
            "CONNECT ä:443 HTTP/1.1\r\n\r\n",
        ] {
            assert_eq!(proxy_request(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn a_refusal_says_why() {
        let answer = proxy_answer(&BridgeReply::Refused("10.0.0.1 is private".to_owned()));
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 403 "), "{head}");
        assert_eq!(body, "nightwright refused it: 10.0.0.1 is private\n");
        assert!(head.contains(&format!("Content-Length: {}", body.len())), "{head}");
    }

    #[test]
    fn the_end_of_a_head_is_found_at_any_place() {
        assert_eq!(head_end(b"a\r\n\r\nb"), Some(5));
        assert_eq!(head_end(b"a\r\n\r"), None);
    }
}
