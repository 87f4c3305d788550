//! The first line of a connection over a unix socket.

use std::io;
use std::time::Duration;

use nightwright_core::sandbox::network::wire::MAX_LINE;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::time::timeout;

/// Reads a line, and returns it with the data after it that was already read.
pub async fn read_line(unix: &mut UnixStream, limit: Duration) -> io::Result<(String, Vec<u8>)> {
    let read = async {
        let mut data = Vec::with_capacity(MAX_LINE);
        loop {
            if let Some(end) = data.iter().position(|byte| *byte == b'\n') {
                let rest = data.split_off(end + 1);
                data.pop();
                let line = String::from_utf8(data).map_err(|_| io::ErrorKind::InvalidData)?;
                return Ok((line, rest));
            }
            if data.len() >= MAX_LINE {
                return Err(io::ErrorKind::InvalidData.into());
            }
            if unix.read_buf(&mut data).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    };
    timeout(limit, read).await?
}

/// Writes a line. It is shorter than the kernel's buffer, so this never waits.
pub async fn write_line(unix: &mut UnixStream, line: impl ToString) -> io::Result<()> {
    let line = line.to_string() + "\n";
    unix.write_all(line.as_bytes()).await
}
