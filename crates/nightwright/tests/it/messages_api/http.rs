//! As much of HTTP/1.1 as the agent program needs, by hand.

use std::io::{self, BufRead, Read, Write};

/// No request of a test is longer.
const MAX_BODY: usize = 64 << 20;
/// Nor has it more lines in front of its body.
const MAX_HEADERS: usize = 200;

/// The first line and the headers of a request, and what follows them.
#[derive(Debug)]
pub(super) struct HttpMessage {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

/// Reads the next request of a connection; `None` when there will be none.
pub(super) fn read(stream: &mut impl BufRead) -> io::Result<Option<HttpMessage>> {
    let Some(first) = line(stream)? else { return Ok(None) };
    let mut words = first.split(' ');
    let (Some(method), Some(target)) = (words.next(), words.next()) else {
        return Err(wrong("no request line"));
    };
    let path = target.split('?').next().unwrap_or(target);
    let mut message = HttpMessage {
        method: method.to_owned(),
        path: path.to_owned(),
        headers: Vec::new(),
        body: Vec::new(),
    };
    loop {
        let text = line(stream)?.ok_or_else(|| wrong("cut off in the headers"))?;
        if text.is_empty() {
            break;
        }
        let (name, value) = text.split_once(':').ok_or_else(|| wrong("a header without colon"))?;
        message.headers.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
        if message.headers.len() > MAX_HEADERS {
            return Err(wrong("too many headers"));
        }
    }
    message.body = body(stream, &message)?;
    Ok(Some(message))
}

impl HttpMessage {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(there, _)| there == name);
        found.map(|(_, value)| value.as_str())
    }
}

fn body(stream: &mut impl BufRead, message: &HttpMessage) -> io::Result<Vec<u8>> {
    if message.header("transfer-encoding").is_some_and(|coding| coding.contains("chunked")) {
        return chunks(stream);
    }
    let length = match message.header("content-length") {
        Some(length) => length.parse().map_err(|_| wrong("a length that is no number"))?,
        None => 0,
    };
    bytes(stream, length)
}

fn chunks(stream: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    loop {
        let size = line(stream)?.ok_or_else(|| wrong("cut off between chunks"))?;
        let size = usize::from_str_radix(size.trim(), 16).map_err(|_| wrong("no chunk size"))?;
        all.extend(bytes(stream, size)?);
        line(stream)?;
        if size == 0 {
            return Ok(all);
        }
        if all.len() > MAX_BODY {
            return Err(wrong("too long"));
        }
    }
}

fn bytes(stream: &mut impl Read, length: usize) -> io::Result<Vec<u8>> {
    if length > MAX_BODY {
        return Err(wrong("too long"));
    }
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn line(stream: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut text = String::new();
    if stream.read_line(&mut text)? == 0 {
        return Ok(None);
    }
    text.truncate(text.trim_end_matches(['\r', '\n']).len());
    Ok(Some(text))
}

fn wrong(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Sends a whole answer.
pub(super) fn answer(
    stream: &mut impl Write,
    status: u16,
    headers: &[(&str, String)],
    body: &str,
) -> io::Result<()> {
    let length = ("content-length", body.len().to_string());
    head(stream, status, "application/json", headers, &length)?;
    stream.write_all(body.as_bytes())?;
    stream.flush()
}

/// Begins an answer that comes in pieces.
pub(super) fn begin(stream: &mut impl Write, headers: &[(&str, String)]) -> io::Result<()> {
    let coding = ("transfer-encoding", "chunked".to_owned());
    head(stream, 200, "text/event-stream", headers, &coding)?;
    stream.flush()
}

/// Sends one piece; an empty one is the last.
pub(super) fn piece(stream: &mut impl Write, text: &str) -> io::Result<()> {
    write!(stream, "{:x}\r\n{text}\r\n", text.len())?;
    stream.flush()
}

fn head(
    stream: &mut impl Write,
    status: u16,
    kind: &str,
    headers: &[(&str, String)],
    length: &(&str, String),
) -> io::Result<()> {
    write!(stream, "HTTP/1.1 {status} Scripted\r\ncontent-type: {kind}\r\n")?;
    for (name, value) in headers.iter().chain([length]) {
        write!(stream, "{name}: {value}\r\n")?;
    }
    write!(stream, "\r\n")
}
