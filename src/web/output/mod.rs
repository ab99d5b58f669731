//! The output of runs as lines: where each begins, what it looks like, and where a text occurs.
//!
//! | place | does |
//! | --- | --- |
//! | `index` | finds the n-th line of a file of any size |
//! | `ansi` | turns the bytes of a line into text with colours |
//! | `lines` | reads some lines, from a number on or the last ones |
//! | `search` | finds the lines that contain a text or match a regular expression |
//! | `rendering` | the text of a structured output, made as it grows |
//!
//! Invariant: memory is bounded, whatever the file's size and the length of its lines. The same
//! bytes look the same, whichever lines were read before. No markup here; everything blocks.

mod ansi;
mod index;
mod lines;
mod rendering;
mod search;

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub use ansi::{Colour, Span, Style, marked};
pub use lines::{Chunk, Line};
pub use search::{Found, Hit, Limits, Pattern, Place};

use crate::daemon;
use crate::domain::ids::RunId;
use crate::plain_file;
use index::Index;
use rendering::Rendering;

/// The unit of the index; colours begin anew with the first line that begins in each block.
const BLOCK: u64 = 64 * 1024;
/// How many outputs are remembered.
const KEPT: usize = 8;
/// How long an output is remembered that nobody looks at.
const KEPT_FOR: Duration = Duration::from_secs(600);

/// One of a run's two outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// What the agent says and does.
    Stdout,
    /// Its standard error.
    Stderr,
}

impl Stream {
    /// Its file in the run's folder.
    pub const fn file(self) -> &'static str {
        match self {
            Self::Stdout => "stdout.log",
            Self::Stderr => "stderr.log",
        }
    }
}

/// What is known of the outputs that were looked at lately. The files themselves are not held open.
#[derive(Default)]
pub struct Outputs(Mutex<Vec<Kept>>);

struct Kept {
    /// Device and inode.
    file: (u64, u64),
    memory: Arc<Memory>,
    used: Instant,
}

/// What is remembered of one output.
#[derive(Default)]
struct Memory {
    index: Mutex<Index>,
    rendering: Mutex<Option<Rendering>>,
}

/// An output, as long as it was when it was opened.
pub struct Output {
    text: File,
    memory: Arc<Memory>,
    /// Bytes of text.
    len: u64,
    is_rendered: bool,
}

impl Outputs {
    /// Opens an output; `None` if it is not kept. `is_over`: nothing more will be written.
    ///
    /// # Errors
    /// The file is there, but cannot be read, or its text cannot be stored.
    pub fn open(
        &self,
        runs_dir: &Path,
        run: &RunId,
        stream: Stream,
        is_over: bool,
    ) -> io::Result<Option<Output>> {
        let dir = runs_dir.join(run.as_str());
        let Some(file) = file(&dir, stream)? else {
            return Ok(None);
        };
        let meta = file.metadata()?;
        let memory = self.memory((meta.dev(), meta.ino()));
        let transcript = match stream {
            Stream::Stdout => daemon::transcript(&dir)?,
            Stream::Stderr => None,
        };
        let Some(transcript) = transcript else {
            return Ok(Some(Output {
                text: file,
                len: meta.len(),
                memory,
                is_rendered: false,
            }));
        };
        let mut rendering = lock(&memory.rendering);
        let made = match rendering.take() {
            Some(made) => made,
            None => Rendering::new(runs_dir, transcript)?,
        };
        let made = rendering.insert(made);
        made.advance(&file, is_over)?;
        let (text, len) = (made.text()?, made.len());
        drop(rendering);
        Ok(Some(Output {
            text,
            len,
            memory,
            is_rendered: true,
        }))
    }

    fn memory(&self, file: (u64, u64)) -> Arc<Memory> {
        let mut all = lock(&self.0);
        let now = Instant::now();
        all.retain(|kept| now.duration_since(kept.used) < KEPT_FOR);
        let found = all.iter().position(|kept| kept.file == file);
        let memory = match found {
            Some(at) => all.remove(at).memory,
            None => Arc::default(),
        };
        if all.len() >= KEPT {
            all.remove(0);
        }
        all.push(Kept {
            file,
            memory: Arc::clone(&memory),
            used: now,
        });
        memory
    }
}

/// The file of an output, as the agent's program wrote it; `None` if it is not kept.
///
/// # Errors
/// It is there, but cannot be opened.
pub fn file(dir: &Path, stream: Stream) -> io::Result<Option<File>> {
    match plain_file::open(&dir.join(stream.file())) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

impl Output {
    /// Its length in bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether the text was made from structured output: what is indented below a call is its
    /// result.
    pub fn is_rendered(&self) -> bool {
        self.is_rendered
    }

    /// Shows only what was before `end`, in bytes.
    pub fn cut(&mut self, end: u64) {
        self.len = self.len.min(end);
    }

    /// Shows only the lines that begin before or at `byte`.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn cut_after_line(&mut self, byte: u64) -> io::Result<()> {
        let end = index::after_newline(&self.text, byte.min(self.len), self.len)?;
        self.cut(end);
        Ok(())
    }

    /// Where line `line`, from 1, begins; `None` if there is none.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn place(&self, line: u64) -> io::Result<Option<Place>> {
        let mut index = lock(&self.memory.index);
        index.extend(&self.text, self.len)?;
        let start = index.start_of(&self.text, line.max(1) - 1)?;
        let place = |byte| Place { byte, line };
        Ok(start.filter(|start| *start < self.len).map(place))
    }

    /// The number of lines; the first call reads the file once.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn count(&self) -> io::Result<u64> {
        let mut index = lock(&self.memory.index);
        index.extend(&self.text, self.len)?;
        index.lines_before(&self.text, self.len)
    }

    /// At most `max` lines from line `from` on, counted from 1.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn lines(&self, from: u64, max: usize) -> io::Result<Chunk> {
        match self.place(from.max(1))? {
            Some(place) => lines::from(&self.text, self.len, place.byte, Some(place.line), max),
            None => Ok(Chunk::default()),
        }
    }

    /// The last lines, at most `max`; `are_counted`: with their numbers, which may mean to read the
    /// whole file once.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn tail(&self, max: usize, are_counted: bool) -> io::Result<Chunk> {
        let last = are_counted.then(|| self.count()).transpose()?;
        lines::tail(&self.text, self.len, last, max)
    }

    /// The lines that match, from a place on.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn search(&self, pattern: &Pattern, from: Place, limits: Limits) -> io::Result<Found> {
        search::search(&self.text, self.len, pattern, from, limits)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
