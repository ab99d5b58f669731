//! Where each line of a file begins: for every block of 64 KiB, how many lines end before its end.
//!
//! Invariant: what was counted once is not read again, so a file that grows costs what it grew by.
//! 1 GB of output needs 128 KB of memory.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::thread;

use memchr::{memchr_iter, memrchr};

use super::BLOCK;

/// Bytes read at once: whole blocks that stay in the processor's cache.
const READ: u64 = 4 * BLOCK;
/// From this size on, several threads count.
const MUCH: u64 = 32 << 20;
/// At most this many of them.
const THREADS: u64 = 4;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// For each whole block, the number of line ends before its own end.
    ends: Vec<u64>,
    /// Bytes that were counted.
    counted: u64,
    /// The line ends among them.
    newlines: u64,
}

impl Index {
    /// Counts up to `len`.
    pub(super) fn extend(&mut self, file: &File, len: u64) -> io::Result<()> {
        if len <= self.counted {
            return Ok(());
        }
        // The unfinished block is counted anew.
        let first = self.ends.len() as u64;
        let counts = count(file, first, len.div_ceil(BLOCK), len)?;
        let mut newlines = self.ends.last().copied().unwrap_or(0);
        for (block, count) in (first..).zip(counts) {
            newlines += u64::from(count);
            if (block + 1) * BLOCK <= len {
                self.ends.push(newlines);
            }
        }
        self.newlines = newlines;
        self.counted = len;
        Ok(())
    }

    /// Where line `number`, from 0, begins; `None` if there are not so many line ends.
    pub(super) fn start_of(&self, file: &File, number: u64) -> io::Result<Option<u64>> {
        if number == 0 {
            return Ok(Some(0));
        }
        if number > self.newlines {
            return Ok(None);
        }
        let block = self.ends.partition_point(|ends| *ends < number);
        let before = block.checked_sub(1).map_or(0, |before| self.ends[before]);
        let start = block as u64 * BLOCK;
        let bytes = read(file, start, (start + BLOCK).min(self.counted))?;
        let nth = usize::try_from(number - before - 1).unwrap_or(usize::MAX);
        let end = memchr_iter(b'\n', &bytes).nth(nth);
        Ok(end.map(|end| start + end as u64 + 1))
    }

    /// How many lines begin before `end`, which must have been counted.
    pub(super) fn lines_before(&self, file: &File, end: u64) -> io::Result<u64> {
        let block = end / BLOCK;
        let whole = usize::try_from(block).unwrap_or(usize::MAX);
        let before = whole.checked_sub(1).map_or(0, |before| self.ends[before]);
        let bytes = read(file, block * BLOCK, end)?;
        let last_is_whole = match bytes.last() {
            Some(last) => *last == b'\n',
            None if end == 0 => true,
            None => read(file, end - 1, end)? == b"\n",
        };
        let within = memchr_iter(b'\n', &bytes).count() as u64;
        Ok(before + within + u64::from(!last_is_whole))
    }
}

/// The line ends in each of these blocks, `len` being the end of the last.
fn count(file: &File, first: u64, end: u64, len: u64) -> io::Result<Vec<u32>> {
    let much = (end - first) * BLOCK >= MUCH;
    let threads = match thread::available_parallelism() {
        Ok(count) if much => (count.get() as u64).min(THREADS),
        _ => 1,
    };
    let share = (end - first).div_ceil(threads).max(1);
    thread::scope(|scope| {
        let parts: Vec<_> = (0..threads)
            .map(|part| {
                let from = (first + part * share).min(end);
                let upto = (from + share).min(end);
                scope.spawn(move || count_part(file, from, upto, len))
            })
            .collect();
        let mut all = Vec::new();
        for part in parts {
            let counted = part.join();
            all.extend(counted.map_err(|_| io::Error::other("counting lines failed"))??);
        }
        Ok(all)
    })
}

fn count_part(file: &File, first: u64, end: u64, len: u64) -> io::Result<Vec<u32>> {
    let mut counts = Vec::with_capacity(usize::try_from(end - first).unwrap_or(0));
    let mut bytes = vec![0; usize::try_from(READ).unwrap_or(usize::MAX)];
    let mut at = first * BLOCK;
    let end = (end * BLOCK).min(len);
    while at < end {
        let wanted = usize::try_from((end - at).min(READ)).unwrap_or(0);
        file.read_exact_at(&mut bytes[..wanted], at)?;
        let blocks = bytes[..wanted].chunks(usize::try_from(BLOCK).unwrap_or(usize::MAX));
        let newlines = blocks.map(|block| memchr_iter(b'\n', block).count());
        counts.extend(newlines.map(|count| u32::try_from(count).unwrap_or(u32::MAX)));
        at += wanted as u64;
    }
    Ok(counts)
}

/// The bytes from `start` to `end`.
pub(super) fn read(file: &File, start: u64, end: u64) -> io::Result<Vec<u8>> {
    let len = usize::try_from(end.saturating_sub(start)).unwrap_or(usize::MAX);
    let mut bytes = vec![0; len];
    file.read_exact_at(&mut bytes, start)?;
    Ok(bytes)
}

/// The position after the first line end at or after `from`; `end` if there is none.
pub(super) fn after_newline(file: &File, from: u64, end: u64) -> io::Result<u64> {
    let mut at = from;
    while at < end {
        let bytes = read(file, at, (at + BLOCK).min(end))?;
        if let Some(found) = memchr::memchr(b'\n', &bytes) {
            return Ok(at + found as u64 + 1);
        }
        at += bytes.len() as u64;
    }
    Ok(end)
}

/// Where the last `max` lines before `end` begin, and how many there are.
pub(super) fn last_lines(file: &File, end: u64, max: usize) -> io::Result<(u64, usize)> {
    if max == 0 || end == 0 {
        return Ok((end, 0));
    }
    let mut found = 0;
    let mut before = end;
    while before > 0 {
        let start = before.saturating_sub(BLOCK);
        let bytes = read(file, start, before)?;
        let mut upto = bytes.len();
        while let Some(at) = memrchr(b'\n', &bytes[..upto]) {
            upto = at;
            let next = start + at as u64 + 1;
            // The last line's end does not begin another line.
            if next < end {
                found += 1;
                if found == max {
                    return Ok((next, found));
                }
            }
        }
        before = start;
    }
    Ok((0, found + 1))
}
