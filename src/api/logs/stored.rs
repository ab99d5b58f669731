//! Reads an agent's output from its files, without a daemon; the text is the same as with one.
//!
//! Invariant: it reads what exists when it is opened, and ends. Memory is bounded, however long the
//! output is.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use super::tail::{self, Part, Wanted};
use super::{Page, known_runs};
use crate::api::client::MAX_LINE;
use crate::domain::ids::{AgentId, RunId};
use crate::domain::state::State;

/// Which output to read.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The agent.
    pub agent: &'a AgentId,
    /// Only the last `lines` lines.
    pub lines: u64,
    /// The bytes unchanged.
    pub raw: bool,
    /// Whether its last run is still running.
    pub running: bool,
}

/// Passes each line to `each`. Returns false if there is no such agent. It blocks.
///
/// # Errors
/// A file cannot be read, or `each` fails.
pub fn lines<E: From<io::Error>>(
    state: &State,
    runs_dir: &Path,
    asked: Asked<'_>,
    mut each: impl FnMut(&str) -> Result<(), E>,
) -> Result<bool, E> {
    let Some(known) = known_runs(state, asked.agent) else {
        return Ok(false);
    };
    let wanted = Wanted {
        lines: asked.lines,
        follow: false,
        raw: asked.raw,
        live: known.live.filter(|_| asked.running),
    };
    let parts = tail::plan(runs_dir, known.runs, &wanted)?;
    let mut kept = BufReader::new(Kept {
        parts: parts.into(),
        live: wanted.live,
        page: Page::default(),
        ready: VecDeque::new(),
    });
    let mut line = Vec::new();
    while kept
        .by_ref()
        .take(MAX_LINE as u64)
        .read_until(b'\n', &mut line)?
        > 0
    {
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        each(&String::from_utf8_lossy(text))?;
        line.clear();
    }
    Ok(true)
}

/// Reads the bytes of the page.
struct Kept {
    parts: VecDeque<Part>,
    live: Option<RunId>,
    page: Page,
    ready: VecDeque<u8>,
}

impl Read for Kept {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.ready.is_empty() {
            let Some(part) = self.parts.front_mut() else {
                return Ok(0);
            };
            let read = part.read(self.live.as_ref() != Some(&part.run))?;
            let over = read.is_none();
            self.ready = self.page.show(part, read, over).into();
            if over {
                self.parts.pop_front();
            }
        }
        self.ready.read(into)
    }
}
