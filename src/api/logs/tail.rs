//! Reads the output files of runs, from the last lines on. Structured output becomes text for
//! people, unless the raw bytes are requested.
//!
//! Invariant: bytes are read in the order in which they were written, none twice. Memory is bounded
//! by one block and by the reader of a structured stream. Everything here blocks.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::readable::{Length, Readable};
use crate::daemon;
use crate::domain::ids::RunId;
use crate::plain_file;

/// The most bytes read at once.
pub(super) const BLOCK: usize = 64 * 1024;

/// The two outputs of a run, in the order in which they are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Output {
    Stdout,
    Stderr,
}

impl Output {
    const BOTH: [Self; 2] = [Self::Stdout, Self::Stderr];

    fn file(self) -> &'static str {
        match self {
            Self::Stdout => "stdout.log",
            Self::Stderr => "stderr.log",
        }
    }
}

/// A position in the output of a run.
pub(super) struct Part {
    pub(super) run: RunId,
    dir: PathBuf,
    raw: bool,
    places: [Place; 2],
}

#[derive(Default)]
struct Place {
    file: Option<File>,
    at: u64,
    /// Turns structured output into text; `None` for plain text.
    readable: Option<Readable>,
    /// Stop reading here, even if the file grows.
    end: Option<u64>,
}

impl Part {
    /// The start of a run's output; with `raw`, its unchanged bytes.
    pub(super) fn new(runs_dir: &Path, run: RunId, raw: bool) -> Self {
        let dir = runs_dir.join(run.as_str());
        let places = Default::default();
        Self {
            run,
            dir,
            raw,
            places,
        }
    }

    /// The next available bytes of one of the outputs, standard output first; `None` if everything
    /// was read. `over` means that nothing more will be written.
    pub(super) fn read(&mut self, over: bool) -> io::Result<Option<(Output, Vec<u8>)>> {
        self.open()?;
        for (output, place) in Output::BOTH.into_iter().zip(&mut self.places) {
            let bytes = place.read(over)?;
            if !bytes.is_empty() {
                return Ok(Some((output, bytes)));
            }
        }
        Ok(None)
    }

    /// Opens the files that exist: a new run may not have them yet, and those of an old one may be
    /// gone.
    fn open(&mut self) -> io::Result<()> {
        for (output, place) in Output::BOTH.into_iter().zip(&mut self.places) {
            if place.open(&self.dir.join(output.file()))? && output == Output::Stdout && !self.raw {
                place.readable = daemon::transcript(&self.dir)?.map(Readable::new);
            }
        }
        Ok(())
    }

    /// Whether the run has any output file.
    pub(super) fn exists(&self) -> bool {
        self.places.iter().any(|place| place.file.is_some())
    }

    fn end_here(&mut self) -> io::Result<()> {
        for place in &mut self.places {
            let meta = place.file.as_ref().map(File::metadata).transpose()?;
            place.end = Some(meta.map_or(0, |meta| meta.len()));
        }
        Ok(())
    }

    /// Seeks to the last `lines` lines, and returns how many there are.
    fn seek_from_end(&mut self, lines: u64, over: bool) -> io::Result<u64> {
        self.open()?;
        let mut found = 0;
        for place in self.places.iter_mut().rev() {
            found += match &place.readable {
                Some(_) => place.skip_to_last(&self.dir, lines - found, over)?,
                None => place.seek_from_end(lines - found)?,
            };
        }
        Ok(found)
    }
}

impl Place {
    /// The next bytes to show.
    fn read(&mut self, over: bool) -> io::Result<Vec<u8>> {
        loop {
            let raw = self.read_raw()?;
            let Some(readable) = &mut self.readable else {
                return Ok(raw);
            };
            let text = match raw.is_empty() {
                true if over => return Ok(readable.finish()),
                true => return Ok(vec![]),
                false => readable.push(&raw),
            };
            if !text.is_empty() {
                return Ok(text);
            }
        }
    }

    fn read_raw(&mut self) -> io::Result<Vec<u8>> {
        let Some(file) = &self.file else {
            return Ok(vec![]);
        };
        let left = self.end.map_or(u64::MAX, |end| end.saturating_sub(self.at));
        let mut block = vec![0; usize::try_from(left).map_or(BLOCK, |left| left.min(BLOCK))];
        let count = file.read_at(&mut block, self.at)?;
        block.truncate(count);
        self.at += count as u64;
        Ok(block)
    }

    /// Opens the file if it exists; returns whether this call opened it.
    fn open(&mut self, path: &Path) -> io::Result<bool> {
        if self.file.is_some() {
            return Ok(false);
        }
        self.file = match plain_file::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            opened => Some(opened?),
        };
        Ok(self.file.is_some())
    }

    fn seek_from_end(&mut self, lines: u64) -> io::Result<u64> {
        let Some(file) = &self.file else {
            return Ok(0);
        };
        let (at, found) = last_lines(file, file.metadata()?.len(), lines)?;
        self.at = at;
        Ok(found)
    }

    /// Converts the whole text to find where its last lines start.
    fn skip_to_last(&mut self, dir: &Path, lines: u64, over: bool) -> io::Result<u64> {
        let mut length = Length::default();
        loop {
            let text = self.read(over)?;
            if text.is_empty() {
                break;
            }
            length.add(&text);
        }
        self.at = 0;
        let mut again = daemon::transcript(dir)?.map(Readable::new);
        let found = again
            .as_mut()
            .map_or(0, |again| again.skip_to_last(lines, &length));
        self.readable = again;
        Ok(found)
    }
}

/// Where the last `lines` lines before `end` begin, and how many of them there are. A last line
/// without its end counts.
fn last_lines(file: &File, end: u64, lines: u64) -> io::Result<(u64, u64)> {
    if lines == 0 || end == 0 {
        return Ok((end, 0));
    }
    let mut found = 0;
    let mut block = vec![0; BLOCK];
    let mut before = end;
    while before > 0 {
        let count = before.min(BLOCK as u64);
        before -= count;
        let block = &mut block[..usize::try_from(count).unwrap_or(BLOCK)];
        file.read_exact_at(block, before)?;
        for (at, _) in block
            .iter()
            .enumerate()
            .rev()
            .filter(|(_, byte)| **byte == b'\n')
        {
            let next = before + at as u64 + 1;
            // The last line's end does not start another line.
            if next < end {
                found += 1;
                if found == lines {
                    return Ok((next, found));
                }
            }
        }
    }
    Ok((0, found + 1))
}

/// Which output to read.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    /// Only the last `lines` lines.
    pub(super) lines: u64,
    /// Also what is written from now on.
    pub(super) follow: bool,
    /// The bytes unchanged.
    pub(super) raw: bool,
    /// The run that is still running.
    pub(super) live: Option<RunId>,
}

/// The parts that contain the last lines of all these runs, oldest first. The last run is always
/// among them, even without output.
pub(super) fn plan(runs_dir: &Path, runs: Vec<RunId>, wanted: &Wanted) -> io::Result<Vec<Part>> {
    let mut parts = Vec::new();
    let mut left = wanted.lines;
    for run in runs.into_iter().rev() {
        if left == 0 && !parts.is_empty() {
            break;
        }
        let over = wanted.live.as_ref() != Some(&run);
        let mut part = Part::new(runs_dir, run, wanted.raw);
        left -= part.seek_from_end(left, over)?;
        if !wanted.follow {
            part.end_here()?;
        }
        parts.push(part);
    }
    parts.reverse();
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use proptest::prelude::*;

    use super::*;

    fn run(dir: &Path, name: &str, stdout: &[u8], stderr: &[u8]) -> RunId {
        fs::create_dir_all(dir.join(name)).unwrap();
        fs::write(dir.join(name).join("stdout.log"), stdout).unwrap();
        fs::write(dir.join(name).join("stderr.log"), stderr).unwrap();
        name.parse().unwrap()
    }

    fn last(lines: u64, follow: bool) -> Wanted {
        Wanted {
            lines,
            follow,
            raw: false,
            live: None,
        }
    }

    fn text(parts: Vec<Part>) -> String {
        let mut out = String::new();
        for mut part in parts {
            while let Some((_, bytes)) = part.read(true).unwrap() {
                out.push_str(&String::from_utf8_lossy(&bytes));
            }
        }
        out
    }

    #[test]
    fn the_last_lines_may_span_outputs_and_runs() {
        let dir = tempfile::tempdir().unwrap();
        let runs = vec![
            run(dir.path(), "r1", b"a\nb\n", b""),
            run(dir.path(), "r2", b"c\nd\n", b"e\n"),
        ];
        for (lines, expected) in [
            (0, ""),
            (1, "e\n"),
            (2, "d\ne\n"),
            (4, "b\nc\nd\ne\n"),
            (9, "a\nb\nc\nd\ne\n"),
        ] {
            let parts = plan(dir.path(), runs.clone(), &last(lines, false)).unwrap();
            assert_eq!(text(parts), expected, "{lines}");
        }
    }

    #[test]
    fn links_and_fifos_are_refused_without_waiting() {
        let dir = tempfile::tempdir().unwrap();
        let id = run(dir.path(), "r1", b"", b"");
        let stdout = dir.path().join("r1/stdout.log");
        fs::remove_file(&stdout).unwrap();
        symlink("/etc/hostname", &stdout).unwrap();
        assert!(Part::new(dir.path(), id.clone(), false).read(true).is_err());
        fs::remove_file(&stdout).unwrap();
        nix::unistd::mkfifo(&stdout, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(Part::new(dir.path(), id, false).read(true).is_err());
    }

    proptest! {
        #[test]
        fn the_last_lines_equal_those_of_the_split_file(
            lines in prop::collection::vec("[a-z]{0,3}", 0..40),
            repeat in 1_usize..4_000,
            ended: bool,
            wanted in 0_u64..50,
        ) {
            let mut whole = lines.iter().map(|line| line.repeat(repeat)).collect::<Vec<_>>()
                .join("\n");
            if ended { whole.push('\n'); }
            let dir = tempfile::tempdir().unwrap();
            let id = run(dir.path(), "r1", whole.as_bytes(), b"");
            let pieces: Vec<&str> = whole.split_inclusive('\n').collect();
            let skip = pieces.len().saturating_sub(usize::try_from(wanted).unwrap());
            let parts = plan(dir.path(), vec![id], &last(wanted, true)).unwrap();
            prop_assert_eq!(text(parts), pieces[skip..].concat());
        }
    }
}
