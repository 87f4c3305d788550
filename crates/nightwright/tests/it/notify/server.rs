//! A scripted server on loopback that records the requests.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// The response to a request.
#[derive(Clone, Debug)]
pub(crate) enum ServerAnswer {
    /// A status, headers (each with its end of line) and a string.
    With(u16, &'static str, &'static str),
    /// A redirect to another address.
    Elsewhere(String),
    /// 200, once this file is there.
    When(PathBuf),
    /// Nothing, and the connection stays.
    Never,
    /// A little, and a little more, and never all of it.
    Drip,
}

/// A request that the server received.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Sent {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(there, _)| there == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

/// The server. It is there as long as the process is.
pub(crate) struct Server {
    port: u16,
    seen: Arc<Mutex<Vec<Sent>>>,
}

impl Server {
    /// Answers one request after the other like this, and all further ones like the last.
    pub(crate) fn start(answers: Vec<ServerAnswer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen: Arc<Mutex<Vec<Sent>>> = Arc::default();
        let theirs = Arc::clone(&seen);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (seen, answers) = (Arc::clone(&theirs), answers.clone());
                thread::spawn(move || serve(&stream.unwrap(), &seen, &answers));
            }
        });
        Self { port, seen }
    }

    /// One that takes everything.
    pub(crate) fn kind() -> Self {
        Self::start(vec![ServerAnswer::With(200, "", "{}")])
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub(crate) fn seen(&self) -> Vec<Sent> {
        self.seen.lock().unwrap().clone()
    }
}

/// An address that refuses connections. Its port belongs to the outgoing side of a connection, so
/// no server can take it.
pub(crate) struct Refusing {
    port: u16,
    _connection: (TcpListener, TcpStream),
}

impl Refusing {
    pub(crate) fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        Self { port: stream.local_addr().unwrap().port(), _connection: (listener, stream) }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/gone", self.port)
    }
}

fn serve(stream: &TcpStream, seen: &Mutex<Vec<Sent>>, answers: &[ServerAnswer]) {
    let mut reader = BufReader::new(stream);
    while let Some(sent) = read(&mut reader) {
        let number = {
            let mut all = seen.lock().unwrap();
            all.push(sent);
            all.len()
        };
        let answer = answers.get(number - 1).or(answers.last()).unwrap();
        if write(stream, answer).is_none() {
            return;
        }
    }
}

/// The next request of a connection, if any.
fn read(reader: &mut impl BufRead) -> Option<Sent> {
    let mut line = || {
        let mut text = String::new();
        reader.read_line(&mut text).ok().filter(|read| *read > 0)?;
        Some(text.trim_end().to_owned())
    };
    let path = line()?.split(' ').nth(1)?.to_owned();
    let mut headers = Vec::new();
    while let Some((name, value)) = line()?.split_once(':') {
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut sent = Sent { path, headers, body: String::new() };
    let length = sent.header("content-length").map_or(0, |length| length.parse().unwrap());
    reader.take(length).read_to_string(&mut sent.body).ok()?;
    Some(sent)
}

fn write(mut stream: &TcpStream, answer: &ServerAnswer) -> Option<()> {
    match answer {
        ServerAnswer::With(status, headers, text) => {
            let length = text.len();
            let head = format!("HTTP/1.1 {status} Scripted\r\n{headers}content-length: {length}");
            stream.write_all(format!("{head}\r\n\r\n{text}").as_bytes()).ok()
        }
        ServerAnswer::Elsewhere(place) => {
            let head = format!("HTTP/1.1 301 Moved\r\nlocation: {place}\r\ncontent-length: 0");
            stream.write_all(format!("{head}\r\n\r\n").as_bytes()).ok()
        }
        ServerAnswer::When(file) => {
            while !file.exists() {
                thread::sleep(Duration::from_millis(5));
            }
            write(stream, &ServerAnswer::With(200, "", "{}"))
        }
        ServerAnswer::Never => {
            // Until the other side has had enough.
            let _ = stream.read(&mut [0; 1]);
            None
        }
        ServerAnswer::Drip => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nx: ").ok()?;
            loop {
                stream.write_all(b"x").ok()?;
                thread::sleep(Duration::from_millis(50));
            }
        }
    }
}
