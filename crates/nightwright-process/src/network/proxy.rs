//! The bridge inside a sandbox that has no network at all: an HTTP proxy on its loopback.

use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use nightwright_core::sandbox::network::http::{self, MAX_HEAD};
use nightwright_core::sandbox::network::wire::{BridgeReply, BridgeRequest};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::spawn_local;
use tokio::time::{sleep, timeout};

use super::bridge::{Bridge, RETRY_DELAY};
use super::relay::relay;

/// How long a program may take to send a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// Answers the requests of programs inside.
pub(super) async fn serve(bridge: Rc<Bridge>, listener: TcpListener) {
    loop {
        let slot = Arc::clone(&bridge.slots).acquire_owned().await;
        let Ok((tcp, _)) = listener.accept().await else {
            sleep(RETRY_DELAY).await;
            continue;
        };
        let bridge = Rc::clone(&bridge);
        spawn_local(async move {
            // An error of one connection concerns no other one.
            let _ = answer(&bridge, tcp).await;
            drop(slot);
        });
    }
}

async fn answer(bridge: &Bridge, mut tcp: TcpStream) -> io::Result<()> {
    let mut head = Vec::new();
    let body = timeout(REQUEST_TIMEOUT, read_head(&mut tcp, &mut head)).await??;
    let Some(request) = http::proxy_request(&head) else {
        return tcp.write_all(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n").await;
    };
    let asked = bridge.ask(&BridgeRequest::Connect(request.target)).await;
    let (reply, mut unix, rest) = match asked {
        Ok(asked) => asked,
        Err(error) => {
            let failed = BridgeReply::Failed(error.to_string());
            return tcp.write_all(http::proxy_answer(&failed).as_bytes()).await;
        }
    };
    let is_open = reply == BridgeReply::Done;
    if !is_open || request.forward.is_empty() {
        tcp.write_all(http::proxy_answer(&reply).as_bytes()).await?;
    }
    if is_open {
        unix.write_all(&request.forward).await?;
        unix.write_all(&body).await?;
        relay(tcp, unix, &rest).await;
    }
    Ok(())
}

/// Reads the head of a request, and returns what follows it.
async fn read_head(tcp: &mut TcpStream, head: &mut Vec<u8>) -> io::Result<Vec<u8>> {
    loop {
        if let Some(end) = http::head_end(head) {
            return Ok(head.split_off(end));
        }
        if head.len() > MAX_HEAD {
            return Err(io::ErrorKind::InvalidData.into());
        }
        if tcp.read_buf(head).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}
