//! Reads the records that programs keep of their conversations.
//!
//! Invariant: reads regular files only, and writes none. Skips torn lines. The longest line
//! ([`Lines`]) bounds memory, and [`MOST`] bounds time.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::json::Object;
use super::{Line, Lines};
use crate::plain_file;

/// How much is read at once, in bytes.
const PIECE: usize = 64 * 1024;

/// How much of a file is read, in bytes: 1 GiB from its beginning.
const MOST: u64 = 1024 * 1024 * 1024;

/// Has each object of a file of lines looked at, in order. What is no regular file holds none.
pub fn each(path: &Path, look: impl FnMut(&Object)) -> io::Result<()> {
    let file = match plain_file::open(path) {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            tracing::warn!(%error, "cannot read the conversation's records");
            return Ok(());
        }
        file => file?,
    };
    let length = file.metadata()?.len();
    if length > MOST {
        tracing::warn!(path = %path.display(), length, "the conversation's records are very long; \
            swarm reads only the first {MOST} bytes");
    }
    of(file.take(MOST), look)
}

fn of(mut file: impl Read, mut look: impl FnMut(&Object)) -> io::Result<()> {
    let mut lines = Lines::default();
    let mut piece = vec![0; PIECE];
    let mut line = |line: &Line| {
        if let Line::Json(object) = line {
            look(object);
        }
    };
    loop {
        let read = file.read(&mut piece)?;
        lines.push(&piece[..read]).iter().for_each(&mut line);
        if read == 0 {
            lines.finish().iter().for_each(&mut line);
            return Ok(());
        }
    }
}

/// What is in a folder, the last name first; nothing where it is none.
pub fn last_first(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(vec![]);
        }
        entries => entries?,
    };
    let paths: io::Result<Vec<PathBuf>> = entries.map(|entry| Ok(entry?.path())).collect();
    let mut paths = paths?;
    paths.sort_unstable_by(|one, other| other.cmp(one));
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_are_records() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("file"), "{\"a\":1}\nno object\n{\"a\":2}").unwrap();
        let mut seen = Vec::new();
        each(&at("file"), |line| seen.push(line["a"].clone())).unwrap();
        assert_eq!(seen, [1, 2]);
        nix::unistd::mkfifo(&at("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        std::os::unix::fs::symlink("/dev/zero", at("zero")).unwrap();
        fs::create_dir(at("folder")).unwrap();
        for odd in ["pipe", "zero", "folder"] {
            each(&at(odd), |_| panic!("a line of {odd}")).unwrap();
        }
    }

    #[test]
    fn what_never_ends_is_read_to_a_bound() {
        let endless = io::repeat(b'x').take(70 * 1024 * 1024);
        of(endless, |_| panic!("no line is an object")).unwrap();
    }
}
