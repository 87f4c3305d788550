//! Both directions of a connection, between a TCP connection and a unix socket.
//!
//! A TCP connection can end in two ways: each side says that it has no more data, or one side resets
//! it. A unix socket knows only the first way. Here, a side that closes its unix socket before the
//! other one has finished means a reset.

use std::cell::Cell;
use std::io;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::{set_socket_keepalive, set_socket_linger, set_tcp_nodelay};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::{Instant, sleep_until};

/// The largest piece of data that is copied at once.
const CHUNK: usize = 32 << 10;
/// How long a connection may carry nothing before it is reset.
const IDLE_LIMIT: Duration = Duration::from_hours(2);

/// Copies data in both directions until both have ended. `first` has data that was already read
/// from the unix socket.
pub async fn relay(tcp: TcpStream, unix: UnixStream, first: &[u8]) {
    // Both only improve the connection.
    let _ = set_tcp_nodelay(&tcp, true);
    let _ = set_socket_keepalive(&tcp, true);
    let active = Cell::new(Instant::now());
    let sent = Cell::new(false);
    let up = async {
        copy(&tcp, &unix, &[], &active).await?;
        sent.set(true);
        shut_down(&unix)
    };
    let down = async {
        copy(&unix, &tcp, first, &active).await?;
        if !sent.get() && is_closed(&unix) {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        shut_down(&tcp)
    };
    let both = async { tokio::try_join!(up, down).map(|_| ()) };
    let ended = tokio::select! {
        ended = both => ended,
        () = idle(&active) => Err(io::ErrorKind::TimedOut.into()),
    };
    if ended.is_err() {
        reset(&tcp);
    }
}

/// Has the kernel reset a connection when it is closed.
pub fn reset(tcp: &TcpStream) {
    // Without it, the other side sees the normal end of a connection.
    let _ = set_socket_linger(tcp, Some(Duration::ZERO));
}

/// Waits until nothing was copied for [`IDLE_LIMIT`].
async fn idle(active: &Cell<Instant>) {
    loop {
        let due = active.get() + IDLE_LIMIT;
        if due <= Instant::now() {
            return;
        }
        sleep_until(due).await;
    }
}

/// One side of a connection, used by both directions at once.
trait Side {
    async fn readable(&self) -> io::Result<()>;
    async fn writable(&self) -> io::Result<()>;
    fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize>;
    fn try_write(&self, data: &[u8]) -> io::Result<usize>;
}

impl Side for TcpStream {
    async fn readable(&self) -> io::Result<()> {
        self.readable().await
    }

    async fn writable(&self) -> io::Result<()> {
        self.writable().await
    }

    fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.try_read(buffer)
    }

    fn try_write(&self, data: &[u8]) -> io::Result<usize> {
        self.try_write(data)
    }
}

impl Side for UnixStream {
    async fn readable(&self) -> io::Result<()> {
        self.readable().await
    }

    async fn writable(&self) -> io::Result<()> {
        self.writable().await
    }

    fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.try_read(buffer)
    }

    fn try_write(&self, data: &[u8]) -> io::Result<usize> {
        self.try_write(data)
    }
}

/// Copies data until the first side ends. An idle connection holds no buffer.
async fn copy(
    from: &impl Side,
    to: &impl Side,
    first: &[u8],
    active: &Cell<Instant>,
) -> io::Result<()> {
    write_all(to, first).await?;
    loop {
        from.readable().await?;
        let mut buffer = vec![0; CHUNK];
        match from.try_read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(length) => {
                active.set(Instant::now());
                write_all(to, &buffer[..length]).await?;
                active.set(Instant::now());
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
}

async fn write_all(to: &impl Side, mut data: &[u8]) -> io::Result<()> {
    while !data.is_empty() {
        to.writable().await?;
        match to.try_write(data) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(length) => data = &data[length..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Says that no more data follows.
fn shut_down(side: &impl std::os::fd::AsFd) -> io::Result<()> {
    match rustix::net::shutdown(side, rustix::net::Shutdown::Write) {
        // The other side has already closed the connection.
        Ok(()) | Err(rustix::io::Errno::NOTCONN) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Whether the other side has closed a unix socket in both directions.
fn is_closed(unix: &UnixStream) -> bool {
    let mut states = [PollFd::new(unix, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut states, Some(&now)).is_ok() && states[0].revents().contains(PollFlags::HUP)
}
