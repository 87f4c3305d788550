//! Connections to hosts outside, directly or through the user's proxy.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use nightwright_core::sandbox::network::proxy::Proxy;
use nightwright_core::sandbox::network::{Host, HostPort};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long a connection to one address may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The maximum size of a proxy's reply.
const MAX_REPLY: usize = 8 << 10;
/// The end of a reply's header.
const END: &[u8] = b"\r\n\r\n";

/// Connects to the first address that answers.
pub(super) async fn connect(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    let mut failure = io::Error::new(io::ErrorKind::NotFound, "it has no address");
    for address in addresses {
        match timeout(CONNECT_TIMEOUT, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => failure = error,
            Err(_) => failure = io::ErrorKind::TimedOut.into(),
        }
    }
    Err(failure)
}

/// Connects to a port of this machine.
pub(super) async fn connect_to_host_port(port: u16) -> io::Result<TcpStream> {
    connect(&[(Ipv4Addr::LOCALHOST, port).into(), (Ipv6Addr::LOCALHOST, port).into()]).await
}

/// The address of a proxy that has no name.
pub(super) fn bare_address(proxy: &Proxy) -> Option<SocketAddr> {
    match proxy.target.host {
        Host::Address(address) => Some(SocketAddr::new(address, proxy.target.port)),
        Host::Name(_) => None,
    }
}

/// Asks a proxy for a connection. Returns the data that the host has already sent.
pub(super) async fn ask_proxy(
    stream: &mut TcpStream,
    proxy: &Proxy,
    target: &HostPort,
) -> io::Result<Vec<u8>> {
    let header = proxy.authorization.as_ref();
    let header = header.map(|login| format!("Proxy-Authorization: {login}\r\n"));
    let header = header.unwrap_or_default();
    let request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{header}\r\n");
    let exchange = async {
        stream.write_all(request.as_bytes()).await?;
        let mut reply = Vec::new();
        loop {
            if let Some(end) = reply.windows(END.len()).position(|window| window == END) {
                let rest = reply.split_off(end + END.len());
                return status(&reply).map(|()| rest);
            }
            if reply.len() >= MAX_REPLY || stream.read_buf(&mut reply).await? == 0 {
                return Err(io::Error::other("the proxy sent no valid reply"));
            }
        }
    };
    timeout(CONNECT_TIMEOUT, exchange).await?
}

fn status(reply: &[u8]) -> io::Result<()> {
    let text = String::from_utf8_lossy(reply);
    let line = text.lines().next().unwrap_or_default();
    match line.split(' ').nth(1) {
        Some(code) if code.starts_with('2') => Ok(()),
        Some(_) | None => Err(io::Error::other(format!("the proxy refused it: {line}"))),
    }
}
