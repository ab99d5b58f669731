//! What programs write down about a conversation in files of their own.
//!
//! Invariant: only read; a line that is torn or no object is passed over, and memory is bounded by one line however long the file is.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::json::Object;
use super::{Line, Lines};

/// How much is read at once, in bytes.
const PIECE: usize = 64 * 1024;

/// Has each object of a file of lines looked at, in order.
pub fn each(mut file: impl Read, mut look: impl FnMut(&Object)) -> io::Result<()> {
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
