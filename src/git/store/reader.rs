//! Kept `git cat-file` processes that read objects.
//!
//! Invariant: a process answers one question at a time; one that failed, timed out or got old is
//! never asked again. It ends when its standard input closes, so a killed daemon leaves none.

use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::os::fd::AsFd as _;
use std::process::{Child, ChildStdin, ChildStdout};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::format::Kind;
use super::oid::Oid;
use crate::git::GitError;
use crate::git::exec::config_guard::FileState;

/// Longest wait for an answer, or for the next part of it.
const PATIENCE: Duration = Duration::from_secs(120);
/// Age at which a process is replaced, so that packs which git has deleted give their room back.
const OLD: Duration = Duration::from_secs(60);
/// Most idle processes of a repository.
const IDLE: usize = 4;

/// Idle processes of one repository.
#[derive(Debug, Default)]
pub(crate) struct Readers(Mutex<Vec<Reader>>);

/// A running `git cat-file --batch-command`.
#[derive(Debug)]
pub(crate) struct Reader {
    child: Child,
    questions: Option<ChildStdin>,
    answers: BufReader<Patient>,
    since: Instant,
    stamp: Stamp,
}

/// Files that tell whether a running git still knows the references as they are. Git compares only
/// whole seconds, so two packings in one second can escape it.
pub(crate) type Stamp = [Option<FileState>; 2];

/// What git says about a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) id: Oid,
    pub(crate) kind: Kind,
    /// Bytes.
    pub(crate) size: u64,
}

impl Readers {
    /// Asks a process, a kept one or a new one. A kept one that fails is replaced once, since git
    /// or its repository may have changed meanwhile.
    pub(crate) fn ask<T>(
        &self,
        stamp: Stamp,
        start: impl FnOnce() -> Result<Child, GitError>,
        question: impl Fn(&mut Reader) -> io::Result<T>,
    ) -> Result<io::Result<T>, GitError> {
        if let Some(mut kept) = self.take(stamp)
            && let Ok(answer) = question(&mut kept)
        {
            self.put_back(kept);
            return Ok(Ok(answer));
        }
        let mut new = Reader::new(start()?, stamp);
        let answer = question(&mut new);
        if answer.is_ok() {
            self.put_back(new);
        }
        Ok(answer)
    }

    /// Ends all processes.
    pub(crate) fn clear(&self) {
        self.list().clear();
    }

    fn take(&self, stamp: Stamp) -> Option<Reader> {
        let mut list = self.list();
        list.retain(|reader| reader.since.elapsed() < OLD && reader.stamp == stamp);
        list.pop()
    }

    fn put_back(&self, reader: Reader) {
        let mut list = self.list();
        if list.len() < IDLE {
            list.push(reader);
        }
    }

    fn list(&self) -> std::sync::MutexGuard<'_, Vec<Reader>> {
        // Each process in the list has answered in full, also after a panic elsewhere.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reader {
    fn new(mut child: Child, stamp: Stamp) -> Self {
        Self {
            questions: child.stdin.take(),
            answers: BufReader::new(Patient(child.stdout.take())),
            child,
            since: Instant::now(),
            stamp,
        }
    }

    /// What an object, or the object of a reference, is; `None` if it is not there.
    pub(crate) fn header(&mut self, name: &str) -> io::Result<Option<Header>> {
        self.put("info", name)?;
        self.head()
    }

    /// The object with its content; `None` if it is not there.
    pub(crate) fn content(&mut self, name: &str) -> io::Result<Option<(Header, Vec<u8>)>> {
        self.put("contents", name)?;
        let Some(header) = self.head()? else {
            return Ok(None);
        };
        let mut content = Vec::new();
        (&mut self.answers)
            .take(header.size)
            .read_to_end(&mut content)?;
        let mut end = [0];
        self.answers.read_exact(&mut end)?;
        if content.len() as u64 == header.size && end == *b"\n" {
            return Ok(Some((header, content)));
        }
        Err(io::ErrorKind::UnexpectedEof.into())
    }

    fn put(&mut self, word: &str, name: &str) -> io::Result<()> {
        if name.contains('\n') {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let Some(questions) = &mut self.questions else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        questions.write_all(format!("{word} {name}\n").as_bytes())
    }

    /// Reads `<object> <type> <size>`, or `<name> missing`.
    fn head(&mut self) -> io::Result<Option<Header>> {
        let mut line = Vec::new();
        self.answers.read_until(b'\n', &mut line)?;
        let line = String::from_utf8_lossy(&line).into_owned();
        let Some(line) = line.strip_suffix('\n') else {
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        if line.ends_with(" missing") || line.ends_with(" ambiguous") {
            return Ok(None);
        }
        let mut words = line.split(' ');
        let mut next = || words.next().ok_or(io::ErrorKind::InvalidData);
        let (id, kind, size) = (next()?, next()?, next()?);
        let header = Oid::from_hex(id.as_bytes())
            .zip(Kind::parse(kind))
            .zip(size.parse().ok());
        let Some(((id, kind), size)) = header else {
            return Err(io::Error::new(io::ErrorKind::InvalidData, line.to_owned()));
        };
        Ok(Some(Header { id, kind, size }))
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.questions = None;
        // It ends by itself when its input closes, unless the disk hangs. An error of either call
        // means that it has ended, and nobody waits for what it read.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads from git, and waits only so long.
#[derive(Debug)]
struct Patient(Option<ChildStdout>);

impl Read for Patient {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let Some(pipe) = &mut self.0 else {
            return Ok(0);
        };
        let patience = PollTimeout::try_from(PATIENCE).unwrap_or(PollTimeout::MAX);
        let mut waited = [PollFd::new(pipe.as_fd(), PollFlags::POLLIN)];
        match poll(&mut waited, patience) {
            Ok(0) => Err(io::ErrorKind::TimedOut.into()),
            Err(nix::errno::Errno::EINTR) => Err(io::ErrorKind::Interrupted.into()),
            Err(error) => Err(error.into()),
            Ok(_) => pipe.read(to),
        }
    }
}
