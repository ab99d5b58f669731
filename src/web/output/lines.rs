//! Reads some lines of an output.
//!
//! Invariant: a line looks the same whichever lines were read before it: its colours go on from the
//! first line that begins in the same block. Only the first 64 KiB of a line are looked at.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use memchr::memchr;

use super::index::{after_newline, last_lines};
use super::{BLOCK, Span, Style, ansi};

/// How much text of a line is shown, in bytes.
const SHOWN: usize = 4 * 1024;
/// How much text one answer has, in bytes, however many lines are wanted.
const MOST: usize = 256 * 1024;

/// A line as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// From 1; `None` if the lines before it were not counted.
    pub number: Option<u64>,
    /// Where it begins, in bytes.
    pub start: u64,
    /// Its length in bytes, with its end.
    pub len: u64,
    /// Its text.
    pub spans: Vec<Span>,
    /// Terminal sequences that are not shown.
    pub dropped: u32,
    /// Whether only the start of its text is shown.
    pub is_cut: bool,
    /// Whether it has no end yet.
    pub is_open: bool,
}

impl Line {
    /// Its text without colours.
    pub fn text(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }
}

/// Some lines in a row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Chunk {
    /// The lines, oldest first.
    pub lines: Vec<Line>,
}

/// At most `max` lines from `start` on, where line `number` begins.
pub(super) fn from(
    file: &File,
    end: u64,
    start: u64,
    number: Option<u64>,
    max: usize,
) -> io::Result<Chunk> {
    let mut reader = Reader::at(file, end, start, number)?;
    let (mut lines, mut size) = (Vec::new(), 0);
    while lines.len() < max
        && size < MOST
        && let Some(line) = reader.next()?
    {
        size += weight(&line);
        lines.push(line);
    }
    Ok(Chunk { lines })
}

/// The last lines, at most `max`; `count` is the number of all lines.
pub(super) fn tail(file: &File, end: u64, count: Option<u64>, max: usize) -> io::Result<Chunk> {
    let (start, found) = last_lines(file, end, max)?;
    let number = count.map(|count| (count + 1).saturating_sub(found as u64));
    let mut reader = Reader::at(file, end, start, number)?;
    let (mut lines, mut size) = (VecDeque::new(), 0);
    while let Some(line) = reader.next()? {
        size += weight(&line);
        lines.push_back(line);
        while size > MOST
            && lines.len() > 1
            && let Some(first) = lines.pop_front()
        {
            size -= weight(&first);
        }
    }
    Ok(Chunk {
        lines: lines.into(),
    })
}

fn weight(line: &Line) -> usize {
    // Each line and each change of the look costs markup, too.
    let texts: usize = line.spans.iter().map(|span| span.text.len() + 32).sum();
    texts + 64
}

/// Reads one line after the other.
struct Reader<'f> {
    file: &'f File,
    end: u64,
    at: u64,
    number: Option<u64>,
    style: Style,
    /// Bytes of the file from `held_at` on.
    held: Vec<u8>,
    held_at: u64,
}

impl<'f> Reader<'f> {
    /// Begins at `start`, where a line begins.
    fn at(file: &'f File, end: u64, start: u64, number: Option<u64>) -> io::Result<Self> {
        let block = start / BLOCK * BLOCK;
        let first = match block.checked_sub(1) {
            None => 0,
            Some(before) => after_newline(file, before, end)?.min(start),
        };
        let mut reader = Self {
            file,
            end,
            at: first,
            number: None,
            style: Style::default(),
            held: Vec::new(),
            held_at: 0,
        };
        while reader.at < start && reader.next()?.is_some() {}
        reader.number = number;
        Ok(reader)
    }

    fn next(&mut self) -> io::Result<Option<Line>> {
        if self.at >= self.end {
            return Ok(None);
        }
        let start = self.at;
        self.hold(start)?;
        let from = usize::try_from(start - self.held_at).unwrap_or(usize::MAX);
        let bytes = &self.held[from..];
        let looked_at = bytes
            .len()
            .min(usize::try_from(BLOCK).unwrap_or(usize::MAX));
        let bytes = &bytes[..looked_at];
        let line_end = memchr(b'\n', bytes);
        let text = ansi::line(
            &bytes[..line_end.unwrap_or(looked_at)],
            &mut self.style,
            SHOWN,
        );
        let (next, is_open, is_all) = if let Some(at) = line_end {
            (start + at as u64 + 1, false, true)
        } else {
            let looked_to = start + looked_at as u64;
            let next = after_newline(self.file, looked_to, self.end)?;
            let is_open = next == self.end && !self.ends_with_newline(looked_to)?;
            (next, is_open, next == looked_to)
        };
        if next / BLOCK != start / BLOCK {
            self.style = Style::default();
        }
        self.at = next;
        let number = self.number;
        self.number = number.map(|number| number + 1);
        Ok(Some(Line {
            number,
            start,
            len: next - start,
            spans: text.spans,
            dropped: text.dropped,
            is_cut: text.is_cut || !is_all,
            is_open,
        }))
    }

    /// Whether the last byte ends a line, if it is not before `from`.
    fn ends_with_newline(&self, from: u64) -> io::Result<bool> {
        if self.end <= from {
            return Ok(false);
        }
        let mut last = [0];
        self.file.read_exact_at(&mut last, self.end - 1)?;
        Ok(last == *b"\n")
    }

    /// Holds the block after `start`, as far as it exists.
    fn hold(&mut self, start: u64) -> io::Result<()> {
        let wanted = (start + BLOCK).min(self.end);
        let held_to = self.held_at + self.held.len() as u64;
        if start >= self.held_at && wanted <= held_to {
            return Ok(());
        }
        let ahead = (start + 4 * BLOCK).min(self.end);
        let len = usize::try_from(ahead - start).unwrap_or(usize::MAX);
        self.held.resize(len, 0);
        self.file.read_exact_at(&mut self.held, start)?;
        self.held_at = start;
        Ok(())
    }
}
