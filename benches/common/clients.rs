//! Many clients of a daemon's socket at once, and the floor beside them: bare group commit.
//!
//! Invariant: a request and its answer are written and read by hand, because this measures the
//! daemon and not a client library.

// Counts as they are printed, with three digits.
#![allow(clippy::cast_precision_loss)]

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

use super::Result;

/// What all clients got in one round.
pub struct Round {
    /// How long each of them waited for each answer.
    pub waits: Vec<Duration>,
    /// Answers per second.
    pub rate: f64,
}

impl Round {
    /// A round that began then.
    pub fn since(begun: Instant, mut waits: Vec<Duration>) -> Self {
        let rate = waits.len() as f64 / begun.elapsed().as_secs_f64();
        waits.sort_unstable();
        Self { waits, rate }
    }

    /// A percentile of the waits, in milliseconds.
    pub fn percentile(&self, percent: usize) -> f64 {
        let last = self.waits.len().saturating_sub(1);
        let at = (self.waits.len() * percent / 100).min(last);
        let wait = self.waits.get(at).copied().unwrap_or_default();
        wait.as_secs_f64() * 1_000.0
    }
}

/// Sends a request and waits for the whole answer; its status and its body.
pub async fn request(
    stream: &mut UnixStream,
    method: &str,
    path: &str,
    body: &str,
) -> Result<(u16, Value)> {
    let request = format!(
        "{method} /api/v1/{path} HTTP/1.1\r\nhost: swarm\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::with_capacity(2_048);
    loop {
        if stream.read_buf(&mut answer).await? == 0 {
            return Err("the daemon closed the connection".into());
        }
        if let Some(whole) = whole(&answer)? {
            return Ok(whole);
        }
    }
}

/// An answer that is there with all of its body.
fn whole(answer: &[u8]) -> Result<Option<(u16, Value)>> {
    let text = String::from_utf8_lossy(answer);
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return Ok(None);
    };
    let status = head.split(' ').nth(1).ok_or("an answer without a status")?;
    let length = |line: &str| {
        line.to_ascii_lowercase()
            .strip_prefix("content-length:")?
            .trim()
            .parse()
            .ok()
    };
    let length: usize = head
        .lines()
        .find_map(length)
        .ok_or("an answer without its length")?;
    if body.len() < length {
        return Ok(None);
    }
    Ok(Some((status.parse()?, serde_json::from_str(body)?)))
}

/// The floor: threads hand lines to one writer, which takes all that wait, writes once, syncs once,
/// and wakes their owners.
pub fn group_commit(path: &Path, clients: usize, bytes: usize, time: Duration) -> Result<Round> {
    let file = OpenOptions::new().create(true).append(true).open(path)?;
    let mut line = vec![b'x'; bytes - 1];
    line.push(b'\n');
    let begun = Instant::now();
    let end = begun + time;
    let (lines, waiting) = mpsc::channel();
    let (mut answers, mut owners) = (Vec::new(), Vec::new());
    for _ in 0..clients {
        let (answer, answered) = mpsc::channel();
        owners.push(answer);
        answers.push(answered);
    }
    let waits = std::thread::scope(|scope| {
        let writer = scope.spawn(move || write_groups(file, &waiting, &owners));
        let clients: Vec<_> = answers
            .into_iter()
            .enumerate()
            .map(|(index, answered)| {
                let (lines, line) = (lines.clone(), line.clone());
                scope.spawn(move || client(index, &lines, &line, &answered, end))
            })
            .collect();
        drop(lines);
        let waits = clients
            .into_iter()
            .flat_map(|client| client.join().unwrap_or_default())
            .collect();
        writer.join().map_err(|_| "the writer panicked")??;
        Result::Ok(waits)
    })?;
    Ok(Round::since(begun, waits))
}

type Line = (usize, Vec<u8>);

fn client(
    index: usize,
    lines: &mpsc::Sender<Line>,
    line: &[u8],
    answered: &mpsc::Receiver<()>,
    end: Instant,
) -> Vec<Duration> {
    let mut waits = Vec::new();
    while Instant::now() < end {
        let asked = Instant::now();
        if lines.send((index, line.to_vec())).is_err() || answered.recv().is_err() {
            break;
        }
        waits.push(asked.elapsed());
    }
    waits
}

fn write_groups(
    mut file: File,
    waiting: &mpsc::Receiver<Line>,
    owners: &[mpsc::Sender<()>],
) -> Result {
    let (mut text, mut group) = (Vec::new(), Vec::new());
    while let Ok(first) = waiting.recv() {
        for (owner, line) in std::iter::once(first).chain(waiting.try_iter()) {
            text.extend_from_slice(&line);
            group.push(owner);
        }
        file.write_all(&text)?;
        file.sync_data()?;
        text.clear();
        for owner in group.drain(..) {
            // A client that has gone waits for nothing.
            let _ = owners[owner].send(());
        }
    }
    Ok(())
}
