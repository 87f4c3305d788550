//! HTTP URLs in the configuration. The part after the host is often as sensitive as a password, so
//! it is never shown.

use std::net::IpAddr;

/// Characters allowed besides letters and digits; all others must be percent-encoded.
const SIGNS: &str = "-._~:/?[]!$&'()*+,;=%";

/// A valid HTTP or HTTPS URL.
#[derive(Clone, PartialEq, Eq)]
pub struct Url {
    text: String,
    /// The range of the host name and port.
    host: (usize, usize),
}

impl Url {
    /// Parses a URL; `None` if it is invalid, or has a user, a password or a fragment.
    pub fn parse(text: &str) -> Option<Self> {
        let start = scheme(text)?;
        if !text.chars().all(|c| c.is_ascii_alphanumeric() || SIGNS.contains(c)) {
            return None;
        }
        let rest = &text[start..];
        let end = start + rest.find(['/', '?']).unwrap_or(rest.len());
        let url = Self { text: text.to_owned(), host: (start, end) };
        let (name, port) = url.parts();
        let is_address = |inner: &str| inner.parse::<IpAddr>().is_ok_and(|ip| ip.is_ipv6());
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        let is_name = if let Some(inner) = name.strip_prefix('[') {
            inner.strip_suffix(']').is_some_and(is_address)
        } else {
            !name.is_empty() && !name.starts_with('.') && name.chars().all(fits)
        };
        let is_port = port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0));
        (is_name && is_port).then_some(url)
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether the connection is unencrypted.
    pub fn is_open(&self) -> bool {
        !self.text[..self.host.0].eq_ignore_ascii_case("https://")
    }

    /// The host, with the port if there is one. This part may be shown.
    pub fn host(&self) -> &str {
        &self.text[self.host.0..self.host.1]
    }

    /// The host name alone, in lower case.
    pub fn name(&self) -> String {
        self.parts().0.to_ascii_lowercase()
    }

    /// The part that may be secret: the host and everything after it; `None` if nothing follows the
    /// host.
    pub fn secret(&self) -> Option<&str> {
        self.path().map(|_| &self.text[self.host.0..])
    }

    /// The part after the host, which the server may repeat in its answers; `None` if it is empty.
    pub fn path(&self) -> Option<&str> {
        let path = &self.text[self.host.1..];
        (path.len() > 1).then_some(path)
    }

    /// Whether the host is this machine.
    pub fn is_loopback(&self) -> bool {
        let name = self.name();
        let address = name.trim_start_matches('[').trim_end_matches(']');
        name == "localhost" || address.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }

    /// The URL without the parts that may be secret.
    pub fn shown(&self) -> String {
        let hidden = if self.secret().is_some() { "/..." } else { "" };
        format!("{}{hidden}", &self.text[..self.host.1])
    }

    fn parts(&self) -> (&str, Option<&str>) {
        let host = self.host();
        // Colons inside brackets do not end the host name.
        let inside = host.find(']').unwrap_or(0);
        match host[inside..].rfind(':') {
            Some(at) => (&host[..inside + at], Some(&host[inside + at + 1..])),
            None => (host, None),
        }
    }
}

impl std::fmt::Debug for Url {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.shown())
    }
}

/// The offset at which the host starts.
fn scheme(text: &str) -> Option<usize> {
    let begins = |scheme: &&str| {
        text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    ["https://", "http://"].iter().find(|scheme| begins(scheme)).map(|scheme| scheme.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_host_is_shown() {
        for (text, host, shown) in [
            ("https://ntfy.sh/my-topic", "ntfy.sh", "https://ntfy.sh/..."),
            (
                "HTTPS://Hooks.Slack.com/services/T0/B0/x",
                "Hooks.Slack.com",
                "HTTPS://Hooks.Slack.com/...",
            ),
            ("http://127.0.0.1:8080?key=x", "127.0.0.1:8080", "http://127.0.0.1:8080/..."),
            ("http://[::1]:9/a", "[::1]:9", "http://[::1]:9/..."),
            ("https://example.org", "example.org", "https://example.org"),
            ("https://example.org/", "example.org", "https://example.org"),
        ] {
            let url = Url::parse(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!((url.host(), url.shown().as_str()), (host, shown));
            assert_eq!(format!("{url:?}"), shown);
        }
    }

    #[test]
    fn an_invalid_address_is_none() {
        for text in [
            "",
            "ntfy.sh/topic",
            "ftp://ntfy.sh/x",
            "https://",
            "https:///x",
            "https://a b/",
            "https://user:word@host/x",
            "https://host/x#y",
            "https://host:0/",
            "https://host:99999/",
            "https://host:x/",
            "https://[::1/",
            "https://hüst/",
            "https://host/\n",
            "https://ho\"st/",
            "https://[1.2.3.4]/",
        ] {
            assert_eq!(Url::parse(text), None, "{text}");
        }
    }

    #[test]
    fn this_machine_is_known_by_its_names() {
        for (text, is) in [
            ("http://localhost/x", true),
            ("http://LOCALHOST:80/x", true),
            ("http://127.9.9.9/x", true),
            ("http://[::1]/x", true),
            ("http://localhost.example.org/x", false),
            ("http://127.0.0.1.example.org/x", false),
            ("http://10.0.0.1/x", false),
        ] {
            assert_eq!(Url::parse(text).unwrap().is_loopback(), is, "{text}");
        }
    }

    #[test]
    fn https_can_not_be_read_on_the_way() {
        assert!(!Url::parse("https://a/").unwrap().is_open());
        assert!(!Url::parse("HttpS://a/").unwrap().is_open());
        assert!(Url::parse("http://a/").unwrap().is_open());
    }
}
