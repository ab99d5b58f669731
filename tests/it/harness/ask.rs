//! Asking the daemon itself: one request on its socket, one answer or none.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::Sandbox;

impl Sandbox {
    /// Posts this below `/api/v1/`; the answer's status and body. A daemon that is not there, or
    /// goes away before it has answered, is an error.
    pub fn post(&self, path: &str, body: &Value) -> io::Result<(u16, Value)> {
        let mut stream = UnixStream::connect(self.socket()?)?;
        let body = body.to_string();
        write!(
            stream,
            "POST /api/v1/{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: \
            application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        parsed(&answer).ok_or_else(|| io::Error::other(format!("cut short: `{answer}`")))
    }

    /// Sends a command, as clients write it; the answer's status and body.
    pub fn send(&self, command: &Value) -> io::Result<(u16, Value)> {
        self.post("commands", command)
    }

    /// Posts a file below `/api/v1/` as the operation of this id; the answer's status and body.
    pub fn post_file(&self, path: &str, file: &[u8], operation: &str) -> io::Result<(u16, Value)> {
        let mut stream = UnixStream::connect(self.socket()?)?;
        write!(
            stream,
            "POST /api/v1/{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
            Idempotency-Key: {operation}\r\nContent-Length: {}\r\n\r\n",
            file.len()
        )?;
        stream.write_all(file)?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        parsed(&answer).ok_or_else(|| io::Error::other(format!("cut short: `{answer}`")))
    }

    /// Asks for this view; how long the answer took.
    pub fn asked(&self, path: &str) -> io::Result<Duration> {
        let begun = Instant::now();
        let mut stream = UnixStream::connect(self.socket()?)?;
        write!(
            stream,
            "GET /api/v1/views/{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        if !answer.starts_with("HTTP/1.1 200") {
            return Err(io::Error::other(format!("no answer: `{answer}`")));
        }
        Ok(begun.elapsed())
    }

    fn socket(&self) -> io::Result<PathBuf> {
        let text = fs::read_to_string(self.private("daemon.json"))?;
        let about: Value = serde_json::from_str(&text)?;
        let named = about["socket"].as_str().map(PathBuf::from);
        Ok(named.unwrap_or_else(|| self.private("swarm.sock")))
    }
}

fn parsed(answer: &str) -> Option<(u16, Value)> {
    let status = answer.get(9..12)?.parse().ok()?;
    let (_, body) = answer.split_once("\r\n\r\n")?;
    let (from, to) = (body.find('{')?, body.rfind('}')?);
    let body = serde_json::from_str(body.get(from..=to)?).ok()?;
    Some((status, body))
}
