//! As much of HTTP/1.1 as the test server needs: one request a connection, answers with a length or in chunks.

use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Result, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A client that sends nothing for so long is gone.
const READ_LIMIT: Duration = Duration::from_secs(20);

/// A request as it came.
pub(super) struct Head {
    pub(super) method: String,
    /// Path and query.
    pub(super) target: String,
    /// Names in lower case.
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
}

impl Head {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name)?;
        Some(&found.1)
    }
}

/// Reads one request; `None` when the client closed without sending any.
pub(super) fn read(stream: &mut TcpStream) -> Result<Option<Head>> {
    stream.set_read_timeout(Some(READ_LIMIT))?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let method = words.next().unwrap_or_default().to_owned();
    let target = words.next().unwrap_or("/").to_owned();
    let mut headers = Vec::new();
    loop {
        let mut header = String::new();
        if reader.read_line(&mut header)? == 0 || header.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = header.split_once(':') {
            headers.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    let mut head = Head {
        method,
        target,
        headers,
        body: String::new(),
    };
    let body = if head.header("transfer-encoding") == Some("chunked") {
        chunks(&mut reader)?
    } else {
        let length = head.header("content-length").unwrap_or("0").parse();
        let mut body = vec![0; length.map_err(|_| bad("content-length"))?];
        reader.read_exact(&mut body)?;
        body
    };
    head.body = String::from_utf8(body).map_err(|_| bad("body"))?;
    Ok(Some(head))
}

fn chunks(reader: &mut impl BufRead) -> Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut size = String::new();
        reader.read_line(&mut size)?;
        let size = usize::from_str_radix(size.trim(), 16).map_err(|_| bad("chunk size"))?;
        let mut chunk = vec![0; size + 2];
        reader.read_exact(&mut chunk)?;
        if size == 0 {
            return Ok(body);
        }
        body.extend_from_slice(&chunk[..size]);
    }
}

fn bad(what: &str) -> Error {
    Error::new(ErrorKind::InvalidData, what.to_owned())
}

/// A whole answer with a JSON or text body.
pub(super) fn answer(
    stream: &mut TcpStream,
    status: u16,
    headers: &[(String, String)],
    body: &str,
) -> Result<()> {
    let kind = if body.starts_with(['{', '[']) {
        "application/json"
    } else {
        "text/plain"
    };
    begin(stream, status, kind, headers)?;
    write!(stream, "content-length: {}\r\n\r\n{body}", body.len())
}

/// The beginning of an answer whose body follows through [`chunk`].
pub(super) fn begin_stream(stream: &mut TcpStream, headers: &[(String, String)]) -> Result<()> {
    stream.set_nodelay(true)?;
    begin(stream, 200, "text/event-stream", headers)?;
    write!(stream, "transfer-encoding: chunked\r\n\r\n")
}

fn begin(
    stream: &mut TcpStream,
    status: u16,
    kind: &str,
    headers: &[(String, String)],
) -> Result<()> {
    write!(
        stream,
        "HTTP/1.1 {status} Scripted\r\nconnection: close\r\ncontent-type: {kind}\r\n"
    )?;
    for (name, value) in headers {
        write!(stream, "{name}: {value}\r\n")?;
    }
    Ok(())
}

/// One piece of a streamed body.
pub(super) fn chunk(stream: &mut TcpStream, bytes: &[u8]) -> Result<()> {
    write!(stream, "{:x}\r\n", bytes.len())?;
    stream.write_all(bytes)?;
    stream.write_all(b"\r\n")
}

/// The regular end of a streamed body.
pub(super) fn end_stream(stream: &mut TcpStream) -> Result<()> {
    stream.write_all(b"0\r\n\r\n")
}

/// Waits until the client closes the connection.
pub(super) fn wait_for_close(stream: &mut TcpStream) -> Result<()> {
    let mut nothing = [0; 64];
    while stream.read(&mut nothing)? > 0 {}
    Ok(())
}
