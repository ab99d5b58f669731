//! Reads the output of a child, while it writes or afterwards.
//!
//! Invariant: memory is bounded by the caller's buffer or [`LIMIT`], even for gigabytes without a
//! newline, binary data, or a file that shrinks. Anything but a regular file counts as missing (a
//! child could put a pipe there), so no read ever blocks.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use crate::plain_file;

/// A good buffer size for reading in pieces: 64 KiB.
pub const PIECE: usize = 64 * 1024;

/// How far back [`tail_lines`] reads: 1 MiB from the end.
const LIMIT: u64 = 1024 * 1024;

/// Follows a growing file from a remembered offset.
#[derive(Debug)]
pub struct OutputFollower {
    path: PathBuf,
    offset: u64,
    file: Option<File>,
}

impl OutputFollower {
    /// Starts at byte `offset`. The file need not exist yet.
    pub fn new(path: impl Into<PathBuf>, offset: u64) -> Self {
        Self {
            path: path.into(),
            offset,
            file: None,
        }
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Byte offset of the next read. Store it to continue after a restart.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Reads new bytes into `buf` and advances the offset. Returns 0 if there is nothing new.
    pub fn read_new(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.file.is_none() {
            self.file = open_if_there(&self.path)?;
        }
        let Some(file) = &self.file else {
            return Ok(0);
        };
        let read = loop {
            match file.read_at(buf, self.offset) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        self.offset += read as u64;
        Ok(read)
    }
}

/// The last `max_bytes` as text; empty if the file is missing. Invalid UTF-8, also from a character
/// cut at the front, becomes U+FFFD.
pub fn tail(path: &Path, max_bytes: usize) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&tail_bytes(path, max_bytes as u64)?.1).into_owned())
}

/// The last `n` lines without line ends; empty if the file is missing. Reads at most [`LIMIT`]
/// bytes, so the first line may be cut.
pub fn tail_lines(path: &Path, n: usize) -> io::Result<Vec<String>> {
    let mut want = (PIECE as u64).min(LIMIT);
    loop {
        let (whole, bytes) = tail_bytes(path, want)?;
        let text = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        let lines: Vec<&[u8]> = if bytes.is_empty() {
            Vec::new()
        } else {
            text.split(|byte| *byte == b'\n').collect()
        };
        // Read one extra line, because the first one may be cut.
        if whole || lines.len() > n || want >= LIMIT {
            let skip = lines.len().saturating_sub(n);
            let text = |line: &&[u8]| {
                String::from_utf8_lossy(line)
                    .trim_end_matches('\r')
                    .to_owned()
            };
            return Ok(lines[skip..].iter().map(text).collect());
        }
        want = (want * 4).min(LIMIT);
    }
}

/// Reads at most `max` bytes from the end; also returns whether that is the whole file.
fn tail_bytes(path: &Path, max: u64) -> io::Result<(bool, Vec<u8>)> {
    let Some(file) = open_if_there(path)? else {
        return Ok((true, Vec::new()));
    };
    let length = file.metadata()?.len();
    let start = length.saturating_sub(max);
    let size = usize::try_from(length - start).map_err(io::Error::other)?;
    let mut bytes = vec![0; size];
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read_at(&mut bytes[filled..], start + filled as u64) {
            Ok(0) => break, // the file shrank meanwhile
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    Ok((start == 0, bytes))
}

fn open_if_there(path: &Path) -> io::Result<Option<File>> {
    match plain_file::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error)
            if error.kind() == io::ErrorKind::NotFound
                || plain_file::other_kind(&error).is_some() =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;

    use proptest::prelude::*;

    use super::*;

    fn file(content: &[u8]) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("stdout.log");
        fs::write(&path, content).unwrap();
        (dir, path)
    }

    #[test]
    fn a_follower_continues_where_another_stopped() {
        let (_dir, path) = file(b"one two");
        let mut buf = [0; 4];
        let mut first = OutputFollower::new(&path, 0);
        assert_eq!(first.read_new(&mut buf).unwrap(), 4);
        let mut second = OutputFollower::new(&path, first.offset());
        assert_eq!(second.read_new(&mut buf).unwrap(), 3);
        assert_eq!(&buf[..3], b"two");
        assert_eq!(second.read_new(&mut buf).unwrap(), 0);
        let mut more = fs::OpenOptions::new().append(true).open(&path).unwrap();
        more.write_all(b"!").unwrap();
        assert_eq!(second.read_new(&mut buf).unwrap(), 1);
        assert_eq!(second.offset(), 8);
    }

    #[test]
    fn a_missing_or_shrunken_file_yields_nothing() {
        let (dir, path) = file(b"abc");
        let mut buf = [0; 4];
        let mut none = OutputFollower::new(dir.path().join("none"), 0);
        assert_eq!(none.read_new(&mut buf).unwrap(), 0);
        fs::write(dir.path().join("none"), "x").unwrap();
        assert_eq!(none.read_new(&mut buf).unwrap(), 1);
        let mut beyond = OutputFollower::new(path, 10);
        assert_eq!(beyond.read_new(&mut buf).unwrap(), 0);
        assert_eq!(tail(&dir.path().join("never"), 10).unwrap(), "");
        assert!(
            tail_lines(&dir.path().join("never"), 10)
                .unwrap()
                .is_empty()
        );
    }

    #[test]
    fn anything_but_a_regular_file_counts_as_missing() {
        let dir = tempfile::tempdir().unwrap();
        let (pipe, link) = (dir.path().join("pipe"), dir.path().join("link"));
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
        for odd in [pipe, link] {
            assert_eq!(tail(&odd, 10).unwrap(), "");
            assert!(tail_lines(&odd, 10).unwrap().is_empty());
            let mut follower = OutputFollower::new(odd, 0);
            assert_eq!(follower.read_new(&mut [0; 4]).unwrap(), 0);
        }
    }

    #[test]
    fn a_tail_is_valid_text_for_any_bytes() {
        let (_dir, path) = file("aé".as_bytes());
        assert_eq!(tail(&path, 100).unwrap(), "aé");
        assert_eq!(tail(&path, 1).unwrap(), "\u{fffd}");
        assert_eq!(tail(&path, 0).unwrap(), "");
    }

    #[test]
    fn a_huge_line_is_cut_to_the_limit() {
        let (_dir, path) = file(&vec![b'x'; 3 * 1024 * 1024]);
        let lines = tail_lines(&path, 5).unwrap();
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0].len() as u64, LIMIT);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn tail_lines_returns_the_last_lines(
            lines in prop::collection::vec("[a-z]{0,9}(xxxxxxxxxxxxxxxx){0,80}", 0..90),
            n in 0_usize..40,
            ended: bool,
        ) {
            let mut text = lines.join("\n");
            if ended && !lines.is_empty() {
                text.push('\n');
            }
            let (_dir, path) = file(text.as_bytes());
            let expected: Vec<&str> = text.lines().collect();
            let skip = expected.len().saturating_sub(n);
            prop_assert_eq!(tail_lines(&path, n).unwrap(), &expected[skip..]);
        }

        #[test]
        fn a_follower_neither_loses_nor_repeats_bytes(
            content in prop::collection::vec(any::<u8>(), 0..5000),
            size in 1_usize..700,
        ) {
            let (_dir, path) = file(&content);
            let mut follower = OutputFollower::new(&path, 0);
            let (mut all, mut buf) = (Vec::new(), vec![0; size]);
            loop {
                match follower.read_new(&mut buf).unwrap() {
                    0 => break,
                    read => all.extend_from_slice(&buf[..read]),
                }
            }
            prop_assert_eq!(all, content);
        }
    }
}
