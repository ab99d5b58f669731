//! Reads and writes objects.
//!
//! Invariant: what is written gets its name from git. Nothing here syncs: before an event names a
//! commit, its objects are made durable (`objects::fsync`).

use std::io;
use std::path::Path;

use super::format::{Commit, Entry, FOLDER, Kind, NewCommit, names_of, parse_tree, tree_text};
use super::oid::Oid;
use super::reader::{Header, Reader, Stamp};
use crate::git::error::GitError;
use crate::git::exec::child::Output;
use crate::git::exec::config_guard::state_of;
use crate::git::repo::Repo;

impl Repo {
    /// The commit; `None` if there is no commit of this name.
    pub(crate) fn find_commit(&self, id: Oid) -> Result<Option<Commit>, GitError> {
        match self.object(id)? {
            Some((header, text)) if header.kind == Kind::Commit => {
                let commit = Commit::parse(id, &text);
                commit.map(Some).ok_or_else(|| damaged(id))
            }
            _ => Ok(None),
        }
    }

    /// The commit; [`GitError::CommitMissing`] if there is none.
    pub(crate) fn commit(&self, id: Oid) -> Result<Commit, GitError> {
        self.find_commit(id)?
            .ok_or(GitError::CommitMissing { oid: id })
    }

    /// Whether the repository has the object, and it is a commit.
    pub fn has_commit(&self, commit: Oid) -> Result<bool, GitError> {
        let header = self.header(&commit.to_string())?;
        Ok(header.is_some_and(|found| found.kind == Kind::Commit))
    }

    /// Whether the repository has this object.
    pub fn has_object(&self, id: Oid) -> Result<bool, GitError> {
        Ok(self.header(&id.to_string())?.is_some())
    }

    /// The files of a commit, as a tree.
    pub(crate) fn tree_of(&self, commit: Oid) -> Result<Oid, GitError> {
        Ok(self.commit(commit)?.tree)
    }

    /// The tree that an object is, or has; [`GitError::CommitMissing`] if it has none.
    pub fn peel_to_tree(&self, object: Oid) -> Result<Oid, GitError> {
        let found = self.header(&format!("{object}^{{tree}}"))?;
        found
            .map(|found| found.id)
            .ok_or(GitError::CommitMissing { oid: object })
    }

    /// The entries of a tree, in git's order.
    pub(crate) fn entries(&self, tree: Oid) -> Result<Vec<Entry>, GitError> {
        let Some((header, text)) = self.object(tree)? else {
            return Err(gone(tree));
        };
        let entries = parse_tree(&text, tree.as_bytes().len());
        entries
            .filter(|_| header.kind == Kind::Tree)
            .ok_or_else(|| damaged(tree))
    }

    /// The entry at this path of a tree, or of a commit's tree; `None` if there is none.
    pub(crate) fn entry_at(&self, tree: Oid, path: &Path) -> Result<Option<Entry>, GitError> {
        let mut at = self.peel_to_tree(tree)?;
        let names = names_of(path).unwrap_or_default();
        for (nth, name) in names.iter().enumerate() {
            let entries = self.entries(at)?.into_iter();
            let found = entries.into_iter().find(|entry| entry.name == *name);
            match found {
                Some(entry) if nth + 1 == names.len() => return Ok(Some(entry)),
                Some(entry) if entry.kind() == Kind::Tree => at = entry.id,
                _ => return Ok(None),
            }
        }
        Ok(None)
    }

    /// Content of a blob; `None` if it is no longer in the repository.
    pub fn content(&self, id: Oid) -> Result<Option<Vec<u8>>, GitError> {
        let found = self.object(id)?;
        let blob = found.filter(|(header, _)| header.kind == Kind::Blob);
        Ok(blob.map(|(_, content)| content))
    }

    /// Content of the file at this path of a commit; `None` if there is none.
    pub(crate) fn content_at(&self, tree: Oid, path: &Path) -> Result<Option<Vec<u8>>, GitError> {
        match self.entry_at(tree, path)? {
            Some(entry) if entry.kind() == Kind::Blob => self.content(entry.id),
            _ => Ok(None),
        }
    }

    /// Writes a commit that nothing names yet, without a signature.
    pub(crate) fn write_commit(&self, new: &NewCommit<'_>) -> Result<Oid, GitError> {
        self.write_object(Kind::Commit, &new.text())
    }

    /// Writes an object; git checks its form.
    pub(crate) fn write_object(&self, kind: Kind, content: &[u8]) -> Result<Oid, GitError> {
        let git = self.git().args(["hash-object", "-w", "-t", kind.word()]);
        read_oid(&git.arg("--stdin").input(content).ok()?)
    }

    /// The tree with these files in the place of those at their paths. Each has a mode.
    pub(crate) fn with_files(
        &self,
        tree: Oid,
        files: &[(&Path, u32, Oid)],
    ) -> Result<Oid, GitError> {
        let mut at = tree;
        for (path, mode, id) in files {
            let Some(names) = names_of(path) else {
                return Err(damaged(tree));
            };
            at = self.with_file(at, &names, *mode, *id)?;
        }
        Ok(at)
    }

    fn with_file(&self, tree: Oid, names: &[&[u8]], mode: u32, id: Oid) -> Result<Oid, GitError> {
        let Some((first, below)) = names.split_first() else {
            return Ok(id);
        };
        let mut entries = self.entries(tree)?;
        let entry = entries.iter_mut().find(|entry| entry.name == *first);
        let entry = entry.ok_or_else(|| damaged(tree))?;
        entry.mode = if below.is_empty() { mode } else { FOLDER };
        entry.id = self.with_file(entry.id, below, mode, id)?;
        self.write_object(Kind::Tree, &tree_text(&entries))
    }

    /// What an object or the object of a reference is; `None` if it is not there.
    pub(crate) fn header(&self, name: &str) -> Result<Option<Header>, GitError> {
        self.ask(name, |reader| reader.header(name))
    }

    /// What the object of a reference is; `None` if it is not there. Asks again if references were
    /// packed meanwhile.
    pub(crate) fn header_of_ref(&self, name: &str) -> Result<Option<Header>, GitError> {
        loop {
            let before = self.stamp();
            let found = self.header(name)?;
            if self.stamp() == before {
                return Ok(found);
            }
        }
    }

    fn stamp(&self) -> Stamp {
        ["packed-refs", "config"].map(|name| state_of(&self.common_dir().join(name)))
    }

    fn object(&self, id: Oid) -> Result<Option<(Header, Vec<u8>)>, GitError> {
        let name = id.to_string();
        self.ask(&name, |reader| reader.content(&name))
    }

    fn ask<T>(
        &self,
        name: &str,
        question: impl Fn(&mut Reader) -> io::Result<T>,
    ) -> Result<T, GitError> {
        let readers = &self.0.readers;
        let answer = readers.ask(self.stamp(), || self.start_reader(), question)?;
        answer.map_err(|error| GitError::Object {
            doing: format!("read {name}"),
            why: format!("{error} (see `git fsck`)"),
        })
    }
}

/// Parses the object id that a command printed.
pub(crate) fn read_oid(output: &Output) -> Result<Oid, GitError> {
    Oid::from_hex(output.line()).ok_or_else(|| GitError::Unreadable {
        command: "git",
        found: String::from_utf8_lossy(output.line())
            .chars()
            .take(80)
            .collect(),
    })
}

fn damaged(id: Oid) -> GitError {
    GitError::Object {
        doing: format!("read {id:.10}"),
        why: "the object is damaged (see `git fsck`)".into(),
    }
}

fn gone(id: Oid) -> GitError {
    GitError::Object {
        doing: format!("read {id:.10}"),
        why: "the object is missing (see `git fsck`)".into(),
    }
}
