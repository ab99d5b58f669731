//! The log of `HEAD` of one checkout: which commits it was at, and what brought it there.
//!
//! Invariant: reads only. It is read also where `HEAD` names a branch that is gone, for then it is
//! the last witness of that branch's commits.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use super::oid::Oid;
use crate::git::error::{At, GitError};
use crate::git::repo::Repo;

/// Bytes read from the end of a log that is a file.
const LOG_END: u64 = 256 * 1024;
/// Entries read from the end of a log in a table.
const ENTRIES: &str = "--max-count=1000";

/// An entry of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Moved {
    /// Commit before; `None` if there was none, or the log does not say.
    pub(crate) from: Option<Oid>,
    /// Commit after; `None` if there is none, as after a branch was deleted.
    pub(crate) to: Option<Oid>,
    /// What git did, such as `commit: Add a test`.
    pub(crate) what: String,
}

impl Repo {
    /// The end of the log of `HEAD`, oldest first; empty if there is none.
    pub(crate) fn head_log(&self, git_dir: &Path, tree: &Path) -> Result<Vec<Moved>, GitError> {
        if !git_dir.join("reftable").is_dir() {
            let text = end_of(&git_dir.join("logs").join("HEAD")).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            return Ok(text.lines().filter_map(line).collect());
        }
        if let Some(log) = self.table_log(git_dir, tree)? {
            return Ok(log);
        }
        // Git shows no log of a `HEAD` without a commit, so a copy gets one.
        let folder = self.common_dir().join("swarm");
        let copy = tempfile::tempdir_in(&folder).at("make a folder in", &folder)?;
        self.copy_head(git_dir, copy.path())?;
        let mut log = self.table_log(copy.path(), tree)?.unwrap_or_default();
        // What gave it a commit.
        log.pop();
        Ok(log)
    }

    /// The log from a table; `None` if git shows none.
    fn table_log(&self, git_dir: &Path, tree: &Path) -> Result<Option<Vec<Moved>>, GitError> {
        let words = [
            "log",
            "--walk-reflogs",
            ENTRIES,
            "--format=%H%x09%gs",
            "HEAD",
        ];
        let shown = self.git_at(git_dir, tree).args(words).arg("--").run()?;
        if shown.code != 0 {
            return Ok(None);
        }
        let text = String::from_utf8_lossy(&shown.stdout).into_owned();
        let moved = |line: &str| {
            let (to, what) = line.split_once('\t')?;
            Some(Moved {
                from: None,
                to: Oid::from_hex(to.as_bytes()),
                what: what.to_owned(),
            })
        };
        Ok(Some(text.lines().rev().filter_map(moved).collect()))
    }

    fn copy_head(&self, git_dir: &Path, to: &Path) -> Result<(), GitError> {
        let (from, tables) = (git_dir.join("reftable"), to.join("reftable"));
        let copy = || -> io::Result<()> {
            fs::create_dir(&tables)?;
            fs::create_dir(to.join("refs"))?;
            fs::copy(git_dir.join("HEAD"), to.join("HEAD"))?;
            let common = self.common_dir().as_os_str().as_encoded_bytes();
            fs::write(to.join("commondir"), [common, b"\n"].concat())?;
            for entry in fs::read_dir(&from)? {
                let entry = entry?;
                fs::copy(entry.path(), tables.join(entry.file_name()))?;
            }
            Ok(())
        };
        copy().at("copy", &from)?;
        let Some(commit) = self.resolve_commit("HEAD")? else {
            return Ok(());
        };
        let git = self.git_at(to, self.root());
        let git = git.args(["update-ref", "--no-deref", "HEAD"]);
        git.arg(commit.to_string()).ok().map(drop)
    }
}

fn end_of(log: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(log)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LOG_END)))?;
    let mut end = Vec::new();
    file.take(LOG_END).read_to_end(&mut end)?;
    Ok(end)
}

/// Reads `<from> <to> <name> <email> <seconds> <zone>TAB<what>`. Deleting a branch logs a line from
/// its commit to zero.
fn line(text: &str) -> Option<Moved> {
    let (who, what) = text.split_once('\t').unwrap_or((text, ""));
    let mut words = who.split(' ');
    let mut commit = || {
        let oid = Oid::from_hex(words.next()?.as_bytes())?;
        Some(Some(oid).filter(|oid| !oid.is_zero()))
    };
    Some(Moved {
        from: commit()?,
        to: commit()?,
        what: what.to_owned(),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_log_says_from_where_to_where_and_why() {
        let (one, zero) = ("1".repeat(40), "0".repeat(40));
        let read = line(&format!("{one} {zero} A B <a@b> 1 +0000\tcommit: x\ty")).unwrap();
        assert_eq!(read.from.unwrap().to_string(), one);
        assert_eq!((read.to, read.what.as_str()), (None, "commit: x\ty"));
        assert!(line("begins in the middle <a@b> 1 +0000\tcommit: x").is_none());
    }
}
