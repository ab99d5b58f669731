//! The uncommitted work of a worktree as a commit under a private reference, without touching the worktree.
//!
//! Invariant: neither files nor index nor branch change; an index of our own is used. Untracked files are in, ignored ones and the inside of
//! nested repositories are not. The same content with the same time gives the same commit. An earlier commit under
//! the reference is never lost: the new one has it as a parent.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use git2::Oid;

use super::command::Git;
use super::error::{At, GitError};
use super::names::check_ref;
use super::registry::Worktree;
use super::repo::{Identity, NewCommit, Repo, write_commit};
use super::reset::index_is_plain;
use super::status::{Kind, status_by};
use crate::domain::time::Timestamp;

/// What is wanted.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The worktree.
    pub name: String,
    /// Where the commit is kept, `refs/swarm/...`.
    pub reference: String,
    /// Its message.
    pub message: String,
    /// Author and committer.
    pub identity: Identity,
    /// Of the intention, so that a redo gives the same commit.
    pub time: Timestamp,
}

/// An index of our own beside the worktree's.
const INDEX: &str = "swarm-index";
/// A working agent may change a file while it is being read.
const TRIES: u32 = 3;

impl Repo {
    /// Keeps the uncommitted work. None: there is none, and no reference is made.
    pub fn snapshot_worktree(&self, want: &Snapshot) -> Result<Option<Oid>, GitError> {
        check_ref(&want.reference)?;
        let worktree = self.worktree(&want.name)?;
        let head = self.last_head(&worktree)?;
        let tree = self.snapshot_tree(&worktree, head)?;
        if tree == self.tree_of(head)? {
            return Ok(None);
        }
        self.keep_snapshot(want, head, tree).map(Some)
    }

    fn keep_snapshot(&self, want: &Snapshot, head: Oid, tree: Oid) -> Result<Oid, GitError> {
        let before = self.read_ref(&want.reference)?;
        if let Some(before) = before
            && self.tree_of(before)? == tree
            && self.contains(before, head)?
        {
            return Ok(before);
        }
        let parents: Vec<Oid> = std::iter::once(head).chain(before).collect();
        let signature = want.identity.signature(want.time)?;
        let commit = write_commit(
            &self.library()?,
            &NewCommit {
                tree,
                parents: &parents,
                message: &want.message,
                author: &signature,
                committer: &signature,
            },
        )?;
        self.make_durable(commit, &[])?;
        self.keep_at(&want.reference, before, commit)?;
        Ok(commit)
    }

    /// Makes the reference, or moves it on from where it was.
    pub(crate) fn keep_at(
        &self,
        reference: &str,
        before: Option<Oid>,
        commit: Oid,
    ) -> Result<(), GitError> {
        match before {
            None => self.create_ref(reference, commit, "swarm: kept"),
            Some(before) => self.move_ref(reference, before, commit, "swarm: kept"),
        }
    }

    /// The commit checked out; if its branch is gone, the last one that the worktree's own log knows.
    pub(crate) fn last_head(&self, worktree: &Worktree) -> Result<Oid, GitError> {
        match self.head_commit(worktree) {
            Err(error @ GitError::BranchMissing { .. }) => last_logged(worktree).ok_or(error),
            other => other,
        }
    }

    pub(crate) fn tree_of(&self, commit: Oid) -> Result<Oid, GitError> {
        let library = self.library()?;
        let found = library.find_commit(commit).map(|commit| commit.tree_id());
        found.map_err(|_| GitError::CommitMissing { oid: commit })
    }

    /// The files of the worktree as a tree.
    fn snapshot_tree(&self, worktree: &Worktree, head: Oid) -> Result<Oid, GitError> {
        let mut tries = 1;
        loop {
            match self.snapshot_once(worktree, head) {
                Err(GitError::Failed { .. }) if tries < TRIES => tries += 1,
                other => return other,
            }
        }
    }

    fn snapshot_once(&self, worktree: &Worktree, head: Oid) -> Result<Oid, GitError> {
        let index = self.copied_index(worktree, head)?;
        let with_index = || worktree.git(self).long().env("GIT_INDEX_FILE", &index);
        let nested = self.nested_repositories(worktree, &index)?;
        add_all(with_index(), &nested).ok()?;
        let tree = read_oid(&with_index().arg("write-tree").ok()?)?;
        fs::remove_file(&index).at("delete", &index)?;
        Ok(tree)
    }

    /// The worktree's own index if it can be trusted (then unchanged files need not be read), else one made from the commit.
    fn copied_index(&self, worktree: &Worktree, head: Oid) -> Result<PathBuf, GitError> {
        let index = worktree.git_dir.join(INDEX);
        for left in [
            index.clone(),
            worktree.git_dir.join(format!("{INDEX}.lock")),
        ] {
            match fs::remove_file(&left) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(error).at("delete", &left);
                }
                _ => {}
            }
        }
        let own = worktree.git_dir.join("index");
        if index_is_plain(worktree) && fs::copy(&own, &index).is_ok() {
            return Ok(index);
        }
        let git = worktree
            .git(self)
            .env("GIT_INDEX_FILE", &index)
            .config("core.sparseCheckout=false");
        git.args(["read-tree", "--reset"])
            .arg(head.to_string())
            .ok()?;
        Ok(index)
    }

    fn nested_repositories(
        &self,
        worktree: &Worktree,
        index: &PathBuf,
    ) -> Result<Vec<PathBuf>, GitError> {
        let git = worktree
            .git(self)
            .env("GIT_INDEX_FILE", index)
            .env("GIT_OPTIONAL_LOCKS", "0");
        let entries = status_by(worktree, git)?;
        Ok(entries
            .into_iter()
            .filter(|entry| entry.kind == Kind::Nested)
            .map(|entry| entry.path)
            .collect())
    }
}

/// The last commit in the log of `HEAD`; a deleted branch leaves a line from it to nothing.
fn last_logged(worktree: &Worktree) -> Option<Oid> {
    let log = fs::read(worktree.git_dir.join("logs/HEAD")).ok()?;
    let last = log.trim_ascii_end().rsplit(|byte| *byte == b'\n').next()?;
    let mut fields = last
        .split(|byte| *byte == b' ')
        .map(String::from_utf8_lossy);
    let (from, to) = (fields.next()?, fields.next()?);
    let oids = [to, from].map(|field| Oid::from_str(&field).ok());
    oids.into_iter().flatten().find(|oid| !oid.is_zero())
}

/// Everything but ignored files and the given nested repositories (which git would record as commits that nobody else has).
pub(crate) fn add_all<'a>(git: Git<'a>, nested: &[PathBuf]) -> Git<'a> {
    let without = nested.iter().map(|path| {
        let mut word = OsString::from(":(exclude,top,literal)");
        word.push(path);
        word
    });
    git.args(["add", "--all", "--sparse", "--", ":/"])
        .args(without)
}

/// The object id that a command answered with.
pub(crate) fn read_oid(output: &super::child::Output) -> Result<Oid, GitError> {
    let text = String::from_utf8_lossy(output.line()).into_owned();
    Oid::from_str(&text).map_err(|_| GitError::Unreadable {
        command: "git write-tree",
        found: text.chars().take(80).collect(),
    })
}
