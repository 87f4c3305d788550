//! The HTTP client: sends one request and describes its failure without secrets.

use std::ffi::OsString;
use std::io::Read as _;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use nightwright_core::display::one_line;
use nightwright_core::redact::Secrets;
use ureq::config::Config;
use ureq::http::{HeaderMap, StatusCode, header};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Body, Error, Proxy};

use super::address::Address;
use super::payload::NotifyRequest;
use crate::config::Url;
use crate::error::Failure;

/// The maximum number of bytes read from an error response.
const MAX_ANSWER_BYTES: u64 = 512;
/// The maximum length of the response in a message, in characters.
const MAX_ANSWER_CHARS: usize = 120;
/// The maximum delay that a server can request with `Retry-After`.
const MAX_RETRY_DELAY: Duration = Duration::from_mins(1);

/// The variables that name a proxy. The first one that is set applies.
const PROXIES: [&str; 6] =
    ["ALL_PROXY", "all_proxy", "HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"];

/// Why a delivery failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DeliveryError {
    /// The reason, without secrets.
    pub(super) why: String,
    /// The HTTP status of the response, if there was one.
    pub(super) status: Option<u16>,
    pub(super) retry: RetryAdvice,
}

/// Whether and when to retry a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RetryAdvice {
    /// A retry would fail in the same way.
    Never,
    /// Retry after the usual delay.
    Usual,
    /// Retry after the delay that the server requested.
    After(Duration),
}

/// An HTTP client for one address.
pub(super) struct HttpClient {
    agent: Agent,
    url: Url,
    secrets: Secrets,
}

impl HttpClient {
    pub(super) fn new(address: &Address, secrets: &Secrets) -> Result<Self, DeliveryError> {
        let url = address.url().clone();
        let mut config = Config::builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .save_redirect_history(false)
            .user_agent(concat!("nightwright/", env!("CARGO_PKG_VERSION")))
            .proxy(if url.is_loopback() { None } else { Proxy::try_from_env() });
        if !url.is_open() {
            config = config.https_only(true).tls_config(encryption()?);
        }
        Ok(Self { agent: config.build().new_agent(), url, secrets: secrets.clone() })
    }

    /// Sends a request once. `most` limits the whole exchange.
    pub(super) fn post(
        &self,
        request: &NotifyRequest,
        most: Duration,
    ) -> Result<u16, DeliveryError> {
        let mut post = self.agent.post(self.url.as_str());
        for (name, value) in &request.headers {
            post = post.header(*name, value);
        }
        let post = post.config().timeout_global(Some(most)).build();
        match post.send(request.body.as_slice()) {
            Ok(response) if response.status().is_success() => Ok(response.status().as_u16()),
            Ok(response) => {
                let (parts, body) = response.into_parts();
                Err(self.refused(parts.status, &parts.headers, body))
            }
            Err(error) => Err(self.failed(&error, most)),
        }
    }

    /// The error for a response without a success status.
    fn refused(&self, status: StatusCode, headers: &HeaderMap, body: Body) -> DeliveryError {
        let number = Some(status.as_u16());
        let named = status.canonical_reason().map(|reason| format!(" {reason}"));
        let mut why =
            format!("the server responded with {}{}", status.as_u16(), named.unwrap_or_default());
        if status.is_redirection() {
            let place = headers.get(header::LOCATION).and_then(|place| place.to_str().ok());
            let host = place.and_then(Url::parse).map(|url| url.host().to_owned());
            let host = host.map_or("elsewhere".to_owned(), |host| format!("to {host}"));
            why = format!("{why}: a redirect {host}, which nightwright does not follow");
            return self.trouble(&why, number, RetryAdvice::Never);
        }
        let again = match status {
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => pause(headers),
            StatusCode::REQUEST_TIMEOUT => RetryAdvice::Usual,
            status if status.is_server_error() => RetryAdvice::Usual,
            _ => RetryAdvice::Never,
        };
        let mut answer = Vec::new();
        // Leave out a body that cannot be read.
        let _ = body.into_reader().take(MAX_ANSWER_BYTES).read_to_end(&mut answer);
        let answer = one_line(&self.secrets.mask(&whole_words(&answer)), MAX_ANSWER_CHARS);
        if !answer.is_empty() {
            why = format!("{why}: {answer}");
        }
        self.trouble(&why, number, again)
    }

    /// The error for a request without a response.
    fn failed(&self, error: &Error, most: Duration) -> DeliveryError {
        let (why, again) = match error {
            Error::Timeout(_) => {
                (format!("no response within {} s", most.as_secs().max(1)), RetryAdvice::Usual)
            }
            Error::HostNotFound => ("unknown host".to_owned(), RetryAdvice::Usual),
            Error::Io(error) => (error.to_string(), RetryAdvice::Usual),
            Error::Rustls(error) => {
                (format!("cannot establish a secure connection: {error}"), RetryAdvice::Never)
            }
            Error::ConnectProxyFailed(why) => {
                (format!("the proxy responded: {why}"), RetryAdvice::Usual)
            }
            Error::InvalidProxyUrl => ("the proxy URL is invalid".to_owned(), RetryAdvice::Never),
            Error::ConnectionFailed => ("no connection".to_owned(), RetryAdvice::Usual),
            // The messages of these errors contain the address.
            Error::BadUri(_) | Error::RequireHttpsOnly(_) => {
                ("the URL is invalid".to_owned(), RetryAdvice::Never)
            }
            other => (other.to_string(), RetryAdvice::Usual),
        };
        self.trouble(&why, None, again)
    }

    fn trouble(&self, why: &str, status: Option<u16>, retry: RetryAdvice) -> DeliveryError {
        let why = self.secrets.mask(why);
        DeliveryError { why: one_line(&why, 2 * MAX_ANSWER_CHARS), status, retry }
    }
}

/// The complete words of a response. A truncated secret would not be recognized and masked.
fn whole_words(answer: &[u8]) -> String {
    let text = String::from_utf8_lossy(answer);
    let cut = answer.len() as u64 >= MAX_ANSWER_BYTES;
    let end = if cut { text.rfind(char::is_whitespace).unwrap_or(0) } else { text.len() };
    text[..end].to_owned()
}

/// Fails if the proxy in the environment is unusable. A direct connection would expose the request
/// to the network.
pub(super) fn check_proxy(get_env: impl Fn(&str) -> Option<OsString>) -> Result<(), Failure> {
    let set = PROXIES.into_iter().find_map(|name| {
        let value = get_env(name).filter(|value| !value.is_empty())?;
        Some((name, value))
    });
    let Some((name, value)) = set else { return Ok(()) };
    if value.to_str().is_some_and(|value| Proxy::new(value).is_ok()) {
        return Ok(());
    }
    // Leave out the value, which may contain a password.
    let message = format!("the proxy URL in `{name}` is invalid");
    Err(Failure::usage(message).hint("write it as http://HOST:PORT, or unset it"))
}

/// The delay from the `Retry-After` header.
fn pause(headers: &HeaderMap) -> RetryAdvice {
    let after = headers.get(header::RETRY_AFTER).and_then(|value| value.to_str().ok());
    let seconds = after.and_then(|text| text.trim().parse::<f64>().ok());
    let pause = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    pause.map_or(RetryAdvice::Usual, |pause| RetryAdvice::After(pause.min(MAX_RETRY_DELAY)))
}

/// The TLS configuration, with the certificates of the system or of `SSL_CERT_FILE`.
fn encryption() -> Result<TlsConfig, DeliveryError> {
    // Load the certificates once, because there are hundreds.
    static ROOTS: OnceLock<Vec<Certificate<'static>>> = OnceLock::new();
    let roots = ROOTS.get_or_init(|| {
        let found = rustls_native_certs::load_native_certs().certs;
        found.iter().map(|one| Certificate::from_der(one).to_owned()).collect()
    });
    if roots.is_empty() {
        let why = "no CA certificates found on this system (set `SSL_CERT_FILE`)";
        return Err(DeliveryError { why: why.to_owned(), status: None, retry: RetryAdvice::Never });
    }
    Ok(TlsConfig::builder()
        .root_certs(RootCerts::new_with_certs(roots))
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .build())
}
