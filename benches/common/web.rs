//! A browser's part of the conversation with a daemon's page, without a browser.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::Result;
use super::daemon::swarm;
use super::repo::Copy;

/// A session, with one connection that is kept.
pub struct Visitor {
    stream: TcpStream,
    host: String,
    /// The path of the first page: `/s/RANDOM/`.
    base: String,
    cookie: String,
}

/// An answer.
pub struct Answer {
    /// Its status and headers.
    pub head: String,
    /// Its body.
    pub body: String,
    /// From the request's first byte to the answer's last.
    pub time: Duration,
}

impl Visitor {
    /// Signs in through a new one-time link.
    pub fn enter(copy: &Copy) -> Result<Self> {
        let opened: Value = serde_json::from_str(&swarm(copy, &["open", "--json"])?)?;
        let url = opened["url"].as_str().ok_or("`open` gives no address")?;
        let rest = url.strip_prefix("http://").ok_or("no http address")?;
        let (host, path) = rest.split_once('/').ok_or("no path")?;
        let (base, _) = path.split_once("enter?").ok_or("no code")?;
        let mut this = Self {
            stream: connect(host)?,
            host: host.to_owned(),
            base: format!("/{base}"),
            cookie: String::new(),
        };
        let entered = this.request("GET", &format!("/{path}"), "")?;
        let cookie = header(&entered.head, "set-cookie").ok_or("no cookie")?;
        let cookie = cookie.split(';').next().unwrap_or_default();
        cookie.clone_into(&mut this.cookie);
        Ok(this)
    }

    /// A page: `ideas?status=done`.
    pub fn get(&mut self, page: &str) -> Result<Answer> {
        let answer = self.request("GET", &format!("{}{page}", self.base), "")?;
        if answer.head.starts_with("HTTP/1.1 200") {
            return Ok(answer);
        }
        Err(format!("/{page}: {}\n{}", answer.head, answer.body).into())
    }

    /// Opens the stream of a page; its bytes come when something changes.
    pub fn follow(&self, page: &str, document: &str) -> Result<TcpStream> {
        let mut stream = connect(&self.host)?;
        let path = format!("{}live?page={page}&document={document}", self.base);
        stream.write_all(self.head("GET", &path, "").as_bytes())?;
        Ok(stream)
    }

    fn head(&self, method: &str, path: &str, more: &str) -> String {
        format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\ncookie: {}\r\n{more}\r\n",
            self.host, self.cookie
        )
    }

    fn request(&mut self, method: &str, path: &str, more: &str) -> Result<Answer> {
        let request = self.head(method, path, more);
        let begun = Instant::now();
        self.stream.write_all(request.as_bytes())?;
        let (mut all, mut block) = (Vec::new(), vec![0; 64 * 1024]);
        let end = loop {
            let read = self.stream.read(&mut block)?;
            if read == 0 {
                return Err("the daemon closed the connection".into());
            }
            all.extend_from_slice(&block[..read]);
            let Some(head) = find(&all, b"\r\n\r\n") else {
                continue;
            };
            let length = header(&String::from_utf8_lossy(&all[..head]), "content-length");
            let length: usize = length.map_or(Ok(0), |length| length.parse())?;
            if all.len() >= head + 4 + length {
                break head;
            }
        };
        let time = begun.elapsed();
        let body = String::from_utf8(all.split_off(end + 4))?;
        let head = String::from_utf8(all)?;
        Ok(Answer { head, body, time })
    }
}

fn connect(host: &str) -> Result<TcpStream> {
    let stream = TcpStream::connect(host)?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn find(all: &[u8], wanted: &[u8]) -> Option<usize> {
    all.windows(wanted.len()).position(|part| part == wanted)
}

fn header(head: &str, name: &str) -> Option<String> {
    head.lines().find_map(|line| {
        let (its, value) = line.split_once(':')?;
        its.eq_ignore_ascii_case(name)
            .then(|| value.trim().to_owned())
    })
}
