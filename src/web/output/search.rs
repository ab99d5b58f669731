//! Finds the lines of an output that contain a text or match a regular expression.
//!
//! Invariant: each line is judged alone, as if there were no other. Lines longer than what is read
//! at once are searched piece by piece, so a match in them is found if it is shorter than
//! [`OVERLAP`]. Time is linear in the output's size, whatever the expression is.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::thread;
use std::time::{Duration, Instant};

use memchr::{memchr, memchr_iter, memrchr};
use regex::bytes::{Regex, RegexBuilder};

use super::index::after_newline;

/// Bytes read at once.
const READ: usize = 512 * 1024;
/// How much of a long line's piece is searched again with the next.
const OVERLAP: usize = 16 * 1024;
/// The share of one thread.
const SHARE: u64 = 16 << 20;
/// At most so many threads search.
const THREADS: usize = 4;
/// Bytes that a compiled expression may take.
const COMPILED: usize = 1 << 20;
/// The longest text to search for, in bytes.
const LONGEST: usize = 1_000;

/// What to search for.
#[derive(Debug, Clone)]
pub struct Pattern(Regex);

impl Pattern {
    /// A text, or a regular expression. Case counts if there is a capital letter in it.
    ///
    /// # Errors
    /// Why it is no pattern, for people.
    pub fn new(text: &str, is_regex: bool) -> Result<Self, String> {
        if text.len() > LONGEST {
            return Err(format!("it is longer than {LONGEST} bytes"));
        }
        let has_capital = |c: char| c.is_uppercase();
        let source = if is_regex {
            text.to_owned()
        } else {
            regex::escape(text)
        };
        // `\S` and `\W` are not capital letters.
        let letters = if is_regex {
            text.replace("\\\\", "")
                .split('\\')
                .enumerate()
                .map(|(at, part)| if at == 0 { part } else { after_first(part) })
                .collect()
        } else {
            text.to_owned()
        };
        let built = RegexBuilder::new(&source)
            .case_insensitive(!letters.chars().any(has_capital))
            .unicode(!text.is_ascii() || is_regex)
            .multi_line(true)
            .size_limit(COMPILED)
            .dfa_size_limit(COMPILED)
            .build();
        built.map(Self).map_err(|error| {
            if matches!(error, regex::Error::CompiledTooBig(_)) {
                "it is too large".to_owned()
            } else {
                error.to_string()
            }
        })
    }

    /// Where it matches in a text of one line: starts and ends in bytes.
    pub fn matches(&self, text: &str) -> Vec<(usize, usize)> {
        let found = self.0.find_iter(text.as_bytes());
        found
            .map(|found| (found.start(), found.end()))
            .filter(|(start, end)| {
                start < end && text.is_char_boundary(*start) && text.is_char_boundary(*end)
            })
            .collect()
    }
}

fn after_first(text: &str) -> &str {
    let mut chars = text.chars();
    chars.next();
    chars.as_str()
}

/// A place between two lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// In bytes from the start.
    pub byte: u64,
    /// The number of the line that begins here.
    pub line: u64,
}

impl Place {
    /// Before the first line.
    pub const START: Self = Self { byte: 0, line: 1 };
}

/// When to stop.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// After so many lines that match; a few more may come.
    pub hits: usize,
    /// After so much time; a little more may pass.
    pub time: Duration,
}

/// A line that matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hit {
    /// Its number, from 1.
    pub line: u64,
    /// Where it begins, in bytes.
    pub byte: u64,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The lines, in order.
    pub hits: Vec<Hit>,
    /// Where to go on; `None` at the end.
    pub next: Option<Place>,
}

/// Searches from a place on.
pub(super) fn search(
    file: &File,
    end: u64,
    pattern: &Pattern,
    from: Place,
    limits: Limits,
) -> io::Result<Found> {
    let began = Instant::now();
    let mut at = from;
    let mut hits = Vec::new();
    // The first hit is most often near; then several threads look for the rest.
    let mut threads = 1;
    let cores = thread::available_parallelism().map_or(1, usize::from);
    while at.byte < end {
        let mut shares = Vec::new();
        let mut start = at.byte;
        while shares.len() < threads && start < end {
            let share = if threads == 1 { SHARE / 16 } else { SHARE };
            let upto = (start + share).min(end);
            let upto = after_newline(file, upto - 1, end)?;
            shares.push((start, upto));
            start = upto;
        }
        for part in search_shares(file, pattern, &shares)? {
            hits.extend(part.hits.iter().map(|hit| Hit {
                line: hit.line + at.line,
                byte: hit.byte,
            }));
            at.line += part.newlines;
        }
        at.byte = start;
        if hits.len() >= limits.hits || began.elapsed() >= limits.time {
            break;
        }
        threads = cores.min(THREADS);
    }
    let next = (at.byte < end).then_some(at);
    Ok(Found { hits, next })
}

/// What was found in a share; lines are counted from its start.
#[derive(Default)]
struct Part {
    hits: Vec<Hit>,
    newlines: u64,
}

fn search_shares(file: &File, pattern: &Pattern, shares: &[(u64, u64)]) -> io::Result<Vec<Part>> {
    let one = |&(start, end): &(u64, u64)| Share::new(file, pattern, start, end).search();
    if let [only] = shares {
        return Ok(vec![one(only)?]);
    }
    thread::scope(|scope| {
        let working: Vec<_> = shares
            .iter()
            .map(|share| scope.spawn(move || one(share)))
            .collect();
        working
            .into_iter()
            .map(|part| {
                let part = part.join();
                part.map_err(|_| io::Error::other("the search failed"))?
            })
            .collect()
    })
}

/// The part of a file from the start of a line to the end of one.
struct Share<'a> {
    file: &'a File,
    pattern: &'a Regex,
    at: u64,
    end: u64,
    found: Part,
}

impl<'a> Share<'a> {
    fn new(file: &'a File, Pattern(pattern): &'a Pattern, start: u64, end: u64) -> Self {
        Self {
            file,
            pattern,
            at: start,
            end,
            found: Part::default(),
        }
    }

    fn search(mut self) -> io::Result<Part> {
        let mut buffer = vec![0; READ];
        while self.at < self.end {
            let len = usize::try_from(self.end - self.at).map_or(READ, |left| left.min(READ));
            let bytes = &mut buffer[..len];
            self.file.read_exact_at(bytes, self.at)?;
            let is_end = self.at + len as u64 == self.end;
            match memrchr(b'\n', bytes) {
                _ if is_end => self.search_lines(bytes),
                Some(last) => self.search_lines(&bytes[..=last]),
                None => self.search_long_line(&mut buffer)?,
            }
        }
        Ok(self.found)
    }

    /// Searches whole lines.
    fn search_lines(&mut self, bytes: &[u8]) {
        let (mut from, mut counted) = (0, 0);
        while from < bytes.len()
            && let Some(found) = self.pattern.find_at(bytes, from)
        {
            // After the last line's end there is no line.
            if found.start() == bytes.len() && bytes.ends_with(b"\n") {
                break;
            }
            let start = memrchr(b'\n', &bytes[..found.start()]).map_or(0, |at| at + 1);
            let rest = &bytes[found.start()..];
            let end = memchr(b'\n', rest).map_or(bytes.len(), |at| found.start() + at);
            // A match that goes on in the next line says nothing about this one.
            if found.end() <= end || self.pattern.is_match(&bytes[start..end]) {
                self.found.newlines += memchr_iter(b'\n', &bytes[counted..start]).count() as u64;
                counted = start;
                self.found.hits.push(Hit {
                    line: self.found.newlines,
                    byte: self.at + start as u64,
                });
            }
            from = end + 1;
        }
        self.found.newlines += memchr_iter(b'\n', &bytes[counted..]).count() as u64;
        self.at += bytes.len() as u64;
    }

    /// Searches a line that is longer than the buffer.
    fn search_long_line(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        let start = self.at;
        let line_end = after_newline(self.file, start, self.end)?;
        let mut last = [0];
        self.file.read_exact_at(&mut last, line_end - 1)?;
        let is_ended = last == *b"\n";
        let text_end = line_end - u64::from(is_ended);
        let mut at = start;
        loop {
            let len = usize::try_from(text_end - at).map_or(READ, |left| left.min(READ));
            let bytes = &mut buffer[..len];
            self.file.read_exact_at(bytes, at)?;
            // The byte before shows that the line does not begin here.
            let from = usize::from(at > start);
            let found = self.pattern.find_at(bytes, from);
            let is_last = at + len as u64 == text_end;
            // The line does not end where the buffer does.
            if found.is_some_and(|found| is_last || found.end() < len) {
                self.found.hits.push(Hit {
                    line: self.found.newlines,
                    byte: start,
                });
                break;
            }
            if is_last {
                break;
            }
            at += (len - OVERLAP) as u64;
        }
        self.found.newlines += u64::from(is_ended);
        self.at = line_end;
        Ok(())
    }
}
