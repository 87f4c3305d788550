//! Hosts outside, as servers on the loopback.

use std::collections::HashMap;
use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Mutex;
use std::thread;

use nightwright::sandbox::network::{Outside, System};

use super::{Shared, address};

/// The outside of a test: names, and the servers behind public addresses.
#[derive(Debug, Default)]
pub(super) struct FakeOutside {
    /// The answers to each name, one after the other; the last one stays.
    names: Mutex<HashMap<String, Vec<Vec<IpAddr>>>>,
    own: Vec<IpAddr>,
    servers: HashMap<SocketAddr, SocketAddr>,
    /// All addresses that were connected to.
    pub(super) dialed: Shared<SocketAddr>,
}

impl FakeOutside {
    /// Adds a name with its address.
    pub(super) fn name(self, name: &str, address: &str) -> Self {
        self.names(name, &[&[address]])
    }

    /// Adds a name whose addresses change with each lookup.
    pub(super) fn names(self, name: &str, answers: &[&[&str]]) -> Self {
        let parse = |answer: &&[&str]| answer.iter().map(|one| one.parse().unwrap()).collect();
        let answers = answers.iter().map(parse).collect();
        self.names.lock().unwrap().insert(name.to_owned(), answers);
        self
    }

    /// Puts a server behind a public address.
    pub(super) fn server(mut self, public: &str, server: SocketAddr) -> Self {
        self.servers.insert(address(public), server);
        self
    }

    pub(super) fn own(mut self, address: &str) -> Self {
        self.own.push(address.parse().unwrap());
        self
    }
}

impl Outside for FakeOutside {
    fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let mut names = self.names.lock().unwrap();
        let Some(answers) = names.get_mut(name) else { return Ok(Vec::new()) };
        Ok(if answers.len() > 1 { answers.remove(0) } else { answers[0].clone() })
    }

    fn is_own(&self, address: IpAddr) -> bool {
        self.own.contains(&address)
    }

    fn has_listener(&self, port: u16) -> bool {
        System.has_listener(port)
    }

    fn destination(&self, address: SocketAddr) -> SocketAddr {
        self.dialed.lock().unwrap().push(address);
        // Nothing listens at port 1, and nothing leaves the machine.
        let nothing = (Ipv4Addr::LOCALHOST, 1).into();
        self.servers.get(&address).copied().unwrap_or(nothing)
    }
}

/// Starts a server that handles each connection on a thread, and returns its address.
pub(super) fn serve(handle: impl Fn(TcpStream) + Clone + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let handle = handle.clone();
            thread::spawn(move || handle(stream));
        }
    });
    address
}

/// A web server whose pages are all the same text.
pub(super) fn page(text: &'static str) -> SocketAddr {
    serve(move |stream| answer(stream, |_| Some(text.into())))
}

/// A web server for the files of a folder.
pub(super) fn files(folder: PathBuf) -> SocketAddr {
    serve(move |stream| {
        answer(stream, |path| fs::read(folder.join(path.trim_start_matches('/'))).ok());
    })
}

fn answer(stream: TcpStream, page: impl Fn(&str) -> Option<Vec<u8>>) {
    let mut reader = BufReader::new(stream);
    let mut request = String::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        if line == "\r\n" {
            break;
        }
        request += &line;
    }
    let path = request.split(' ').nth(1).unwrap_or_default();
    let path = path.split('?').next().unwrap_or_default();
    let (status, body) = page(path).map_or(("404 Not Found", Vec::new()), |body| ("200 OK", body));
    let length = body.len();
    let mut stream = reader.into_inner();
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    let _ = stream.write_all(&[head.as_bytes(), &body].concat());
    // Closing with unread data would reset the connection.
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let _ = stream.read_to_end(&mut Vec::new());
}
