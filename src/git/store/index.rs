//! What a worktree's index records.
//!
//! Invariant: reads only; git expands split and sparse indexes.

use std::path::PathBuf;

use super::oid::Oid;
use crate::git::error::GitError;
use crate::git::exec::command::Git;
use crate::git::objects::names::path_of;

/// An entry of the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IndexEntry {
    /// Path from the root of the work tree.
    pub(crate) path: PathBuf,
    /// Type and permissions.
    pub(crate) mode: u32,
    /// Content.
    pub(crate) id: Oid,
    /// 0, or the side of a conflict.
    pub(crate) stage: u8,
    /// Whether git does not look at the file (`--assume-unchanged`, `--skip-worktree`).
    pub(crate) hidden: bool,
}

impl IndexEntry {
    /// Whether it is a regular file.
    pub(crate) fn is_file(&self) -> bool {
        self.mode & 0o170_000 == 0o100_000
    }
}

/// Entries of the index that this command sees, all or those below the paths; `None` if git cannot
/// read it.
pub(crate) fn entries(git: Git<'_>) -> Result<Option<Vec<IndexEntry>>, GitError> {
    let git = git.args(["ls-files", "-z", "-v", "--stage", "--full-name"]);
    let output = git.run()?;
    if output.code != 0 {
        return Ok(None);
    }
    Ok(output.pieces().map(parse).collect())
}

/// Reads `<tag> <mode> <object> <stage>TAB<path>`. The tag is `S` for a skipped file and in lower
/// case for one that is assumed to be unchanged.
fn parse(line: &[u8]) -> Option<IndexEntry> {
    let tab = memchr::memchr(b'\t', line)?;
    let (head, path) = (std::str::from_utf8(&line[..tab]).ok()?, &line[tab + 1..]);
    let mut words = head.split(' ');
    let tag = words.next()?;
    Some(IndexEntry {
        path: path_of(path),
        mode: u32::from_str_radix(words.next()?, 8).ok()?,
        id: Oid::from_hex(words.next()?.as_bytes())?,
        stage: words.next()?.parse().ok()?,
        hidden: tag == "S" || tag.bytes().all(|letter| letter.is_ascii_lowercase()),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn flags_stages_and_odd_names_are_read() {
        let id = "1".repeat(40);
        let line = |tag: &str, stage: u8| format!("{tag} 100644 {id} {stage}\ta\tb\n c");
        let read = |tag, stage| parse(line(tag, stage).as_bytes()).unwrap();
        let plain = read("H", 0);
        assert_eq!(plain.path, PathBuf::from("a\tb\n c"));
        assert!(plain.is_file() && !plain.hidden);
        assert!(read("h", 0).hidden && read("S", 0).hidden && read("s", 0).hidden);
        assert_eq!(read("M", 2).stage, 2);
        assert!(parse(b"H 100644 12 0\ta").is_none());
    }
}
