//! Connections that are many, slow, half closed or broken.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr};
use std::thread;
use std::time::Duration;

use nightwright_core::sandbox::network::Policy;
use rustix::net::sockopt::set_socket_linger;

use super::Sandbox;
use super::outside::{FakeOutside, page, serve};

fn sandbox(server: SocketAddr, script: &str) -> Sandbox {
    let outside = FakeOutside::default()
        .name("web.example", "93.184.216.34")
        .server("93.184.216.34:7000", server)
        .server("93.184.216.34:80", page("meanwhile\n"));
    let sandbox = Sandbox::new(Policy::default(), outside);
    let head = "import socket, threading, time, hashlib, urllib.request\n\
                def connect(port=7000):\n    \
                return socket.create_connection(('web.example', port), 30)\n";
    fs::write(sandbox.path().join("script.py"), head.to_owned() + script).unwrap();
    sandbox
}

const RUN: &str = "/usr/bin/python3 script.py";

#[tokio::test]
async fn two_hundred_connections_work_at_the_same_time() {
    // Each connection is answered only when all are open.
    let barrier = std::sync::Arc::new(std::sync::Barrier::new(200));
    let server = serve(move |mut stream| {
        let mut byte = [0];
        let _ = stream.read(&mut byte);
        barrier.wait();
        let _ = stream.write_all(&byte);
    });
    let script = r"
done = []
def one(number):
    s = connect(); s.sendall(bytes([number])); done.append(s.recv(1) == bytes([number]))
threads = [threading.Thread(target=one, args=(n,)) for n in range(200)]
[t.start() for t in threads]; [t.join() for t in threads]
print(len(done), all(done))
";
    let sandbox = sandbox(server, script);
    assert_eq!(sandbox.run(RUN).await, "200 True\n");
    assert_eq!(sandbox.contacts()["web.example:7000"], (200, 0));
}

#[tokio::test]
async fn a_slow_reader_gets_all_data_and_delays_no_other_connection() {
    const SIZE: usize = 16 << 20;
    let server = serve(|mut stream| {
        let data: Vec<u8> = (0..SIZE).map(|n| u8::try_from(n % 251).unwrap()).collect();
        let _ = stream.write_all(&data);
    });
    let script = r"
s = connect(); time.sleep(1)
print(urllib.request.urlopen('http://web.example/').read().decode().strip())
got = b''.join(iter(lambda: s.recv(1 << 20), b''))
print(len(got), got == bytes(n % 251 for n in range(len(got))))
";
    let sandbox = sandbox(server, script);
    assert_eq!(sandbox.run(RUN).await, format!("meanwhile\n{SIZE} True\n"));
}

#[tokio::test]
async fn a_side_that_has_finished_still_receives() {
    let server = serve(|mut stream| {
        let mut all = Vec::new();
        let _ = stream.read_to_end(&mut all);
        thread::sleep(Duration::from_millis(100));
        let _ = stream.write_all(format!("got {}", all.len()).as_bytes());
        let _ = stream.shutdown(Shutdown::Write);
    });
    let script = r"
s = connect(); s.sendall(b'x' * 3000000); s.shutdown(socket.SHUT_WR)
print(b''.join(iter(lambda: s.recv(99), b'')))
";
    assert_eq!(sandbox(server, script).run(RUN).await, "b'got 3000000'\n");
}

#[tokio::test]
async fn a_reset_stays_a_reset_in_both_directions() {
    let (ended, end) = std::sync::mpsc::channel();
    let server = serve(move |mut stream| {
        let mut byte = [0];
        let _ = stream.read(&mut byte);
        if byte == *b"r" {
            let _ = stream.write_all(b"half of");
            thread::sleep(Duration::from_millis(200));
            set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
        } else {
            let result = stream.read(&mut byte).map_err(|error| error.kind());
            ended.send(result).unwrap();
        }
    });
    let script = r"
import struct
s = connect(); s.sendall(b'r')
print(s.recv(99))
try: print(s.recv(99))
except ConnectionResetError: print('reset')
s = connect(); s.sendall(b'x'); time.sleep(0.2)
s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0)); s.close()
time.sleep(0.2)
s = connect(); s.sendall(b'x'); time.sleep(0.2); s.close()
time.sleep(0.2)
";
    assert_eq!(sandbox(server, script).run(RUN).await, "b'half of'\nreset\n");
    assert_eq!(end.recv().unwrap(), Err(std::io::ErrorKind::ConnectionReset));
    assert_eq!(end.recv().unwrap(), Ok(0));
}

#[tokio::test]
async fn more_ports_than_can_be_open_are_used_one_after_the_other() {
    let server = page("x");
    let mut outside = FakeOutside::default();
    for port in 2000..2300 {
        outside = outside.server(&format!("93.184.216.34:{port}"), server);
    }
    let sandbox = Sandbox::new(Policy::default(), outside);
    let script = "import urllib.request as r\n\
                  print(sum(len(r.urlopen(f'http://93.184.216.34:{p}/').read())\n\
                  for p in range(2000, 2300)))\n";
    fs::write(sandbox.path().join("script.py"), script).unwrap();
    assert_eq!(sandbox.run(RUN).await, "300\n");
}
