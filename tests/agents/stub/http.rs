//! As much of HTTP/1.1 as the agents' clients speak: one request on a connection, one answer, then
//! it is closed.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read as _, Write};
use std::net::TcpStream;

/// A request.
#[derive(Debug)]
pub struct Request {
    /// `GET`, `POST`, ...
    pub method: String,
    /// Without the part after `?`.
    pub path: String,
    /// Names in small letters.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub body: Vec<u8>,
}

/// Reads the request of a connection; none where the other side closed it without one.
pub fn read(stream: &TcpStream) -> io::Result<Option<Request>> {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut words = first.split_whitespace();
    let (Some(method), Some(target)) = (words.next(), words.next()) else {
        return Ok(None);
    };
    let path = target.split('?').next().unwrap_or_default();
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.split_once(':') else {
            break;
        };
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let body = body(&mut reader, &headers)?;
    Ok(Some(Request {
        method: method.to_owned(),
        path: path.to_owned(),
        headers,
        body,
    }))
}

fn body(reader: &mut impl BufRead, headers: &BTreeMap<String, String>) -> io::Result<Vec<u8>> {
    let mut body = vec![];
    if headers
        .get("transfer-encoding")
        .is_some_and(|how| how.contains("chunked"))
    {
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let size = line.trim().split(';').next().unwrap_or_default();
            let size = u64::from_str_radix(size, 16).map_err(io::Error::other)?;
            reader.take(size).read_to_end(&mut body)?;
            reader.read_line(&mut String::new())?;
            if size == 0 {
                return Ok(body);
            }
        }
    }
    let length = headers.get("content-length");
    let length = length.and_then(|length| length.parse().ok()).unwrap_or(0);
    reader.take(length).read_to_end(&mut body)?;
    Ok(body)
}

/// Answers with one document.
pub fn document(
    stream: &mut impl Write,
    status: u16,
    more: &[(&str, String)],
    text: &str,
) -> io::Result<()> {
    let mut head = format!(
        "HTTP/1.1 {status} Stub\r\nContent-Type: application/json\r\nContent-Length: \
        {}\r\nConnection: close\r\n",
        text.len()
    );
    for (name, value) in more {
        for part in [name, ": ", value, "\r\n"] {
            head.push_str(part);
        }
    }
    write!(stream, "{head}\r\n{text}")?;
    stream.flush()
}

/// Answers with the first half of a document, as if there were more.
pub fn half(stream: &mut impl Write, text: &str) -> io::Result<()> {
    write!(
        stream,
        "HTTP/1.1 200 Stub\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: \
        close\r\n\r\n",
        text.len()
    )?;
    stream.write_all(&text.as_bytes()[..text.len() / 2])?;
    stream.flush()
}

/// Begins an answer of server-sent events; its end is the connection's.
pub fn begin_events(stream: &mut impl Write) -> io::Result<()> {
    stream.write_all(
        b"HTTP/1.1 200 Stub\r\nContent-Type: text/event-stream\r\nCache-Control: \
            no-cache\r\nConnection: close\r\n\r\n",
    )?;
    stream.flush()
}
