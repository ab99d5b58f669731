//! The uncommitted work of a worktree as a commit under a private reference, without touching the
//! worktree.
//!
//! Invariant: neither files nor index nor branch change; an index of our own is used. Untracked
//! files are in, ignored ones and the inside of nested repositories are not. The same content with
//! the same time gives the same commit. An earlier commit under the reference is never lost: the
//! new one has it as a parent.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use git2::Oid;

use super::registry::{Found, Worktree};
use super::reset::index_is_plain;
use super::status::{Kind, status_by};
use crate::domain::time::Timestamp;
use crate::git::error::{At, GitError};
use crate::git::exec::command::Git;
use crate::git::objects::names::check_ref;
use crate::git::repo::{Identity, NewCommit, Repo, write_commit};
use crate::remove;

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

/// What an attempt has done so far, by commits that a reference keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeptWork {
    /// What is committed.
    pub tip: Oid,
    /// The files as they are, on top of that; none: as the tip has them.
    pub wip: Option<Oid>,
}

impl Repo {
    /// Keeps all the work of an attempt under the reference: of its worktree, or, where that is
    /// gone, of its branch. None: there is neither.
    pub fn keep_attempt(
        &self,
        want: &Snapshot,
        branch: &str,
    ) -> Result<Option<KeptWork>, GitError> {
        check_ref(&want.reference)?;
        let on_branch = self.branch_commit(branch)?;
        let worktree = match self.look_up(&want.name)? {
            Found::Ours(worktree) => worktree,
            // Its files are there, and cannot be kept.
            Found::Foreign(_) => self.worktree(&want.name)?,
            Found::Nothing | Found::HalfMade => {
                let Some(tip) = on_branch else {
                    return Ok(None);
                };
                self.keep_also(&want.reference, tip)?;
                return Ok(Some(KeptWork { tip, wip: None }));
            }
        };
        let tip = self.last_head(&worktree)?;
        if let Some(other) = on_branch.filter(|other| *other != tip)
            && !self.contains(tip, other)?
        {
            // The worktree has left its branch.
            self.keep_also(&format!("{}-branch", want.reference), other)?;
        }
        let wip = self.keep_work(&worktree, want)?;
        if wip.is_none() {
            self.keep_also(&want.reference, tip)?;
        }
        Ok(Some(KeptWork { tip, wip }))
    }

    /// Keeps a commit under the reference, so that git does not throw it away; answers with the
    /// name that it has by then.
    pub fn keep_commit(&self, reference: &str, commit: Oid) -> Result<String, GitError> {
        check_ref(reference)?;
        self.keep_also(reference, commit)
    }

    /// Keeps this commit under the reference; what an earlier call has put there, and this commit
    /// does not have, under the next free name.
    fn keep_also(&self, reference: &str, commit: Oid) -> Result<String, GitError> {
        self.make_durable(commit, &[])?;
        let mut name = reference.to_owned();
        let mut number = 2;
        loop {
            match self.read_ref(&name)? {
                Some(before) if before != commit && !self.contains(commit, before)? => {
                    name = format!("{reference}-{number}");
                    number += 1;
                }
                before => {
                    self.keep_at(&name, before, commit)?;
                    return Ok(name);
                }
            }
        }
    }

    /// Keeps the uncommitted work. None: there is none, and no reference is made.
    pub fn snapshot_worktree(&self, want: &Snapshot) -> Result<Option<Oid>, GitError> {
        let worktree = self.worktree(&want.name)?;
        self.keep_work(&worktree, want)
    }

    fn keep_work(&self, worktree: &Worktree, want: &Snapshot) -> Result<Option<Oid>, GitError> {
        check_ref(&want.reference)?;
        let head = self.last_head(worktree)?;
        let tree = self.snapshot_tree(worktree, head)?;
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
        let new = NewCommit {
            tree,
            parents: &parents,
            message: &want.message,
            author: &signature,
            committer: &signature,
        };
        let commit = write_commit(&self.library()?, &new)?;
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

    /// The commit checked out; if its branch is gone, the last one that the worktree's own log
    /// knows.
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
        let (nested, changed) = self.changes(worktree, &index)?;
        // What was compared with was this commit only if the agent has not made another meanwhile.
        if !changed && self.last_head(worktree)? == head {
            remove::file(&index).at("delete", &index)?;
            return self.tree_of(head);
        }
        add_all(with_index(), &nested).ok()?;
        let tree = read_oid(&with_index().arg("write-tree").ok()?)?;
        remove::file(&index).at("delete", &index)?;
        Ok(tree)
    }

    /// The worktree's own index if it can be trusted (then unchanged files need not be read), else
    /// one made from the commit.
    fn copied_index(&self, worktree: &Worktree, head: Oid) -> Result<PathBuf, GitError> {
        let index = worktree.git_dir.join(INDEX);
        for left in [
            index.clone(),
            worktree.git_dir.join(format!("{INDEX}.lock")),
        ] {
            // An agent can have put anything there.
            remove::tree_if_there(&left).at("delete", &left)?;
        }
        let own = worktree.git_dir.join("index");
        if index_is_plain(worktree) && copy_index(&own, &index).is_ok() {
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

    /// Nested repositories, and whether anything else differs from the commit checked out.
    fn changes(
        &self,
        worktree: &Worktree,
        index: &PathBuf,
    ) -> Result<(Vec<PathBuf>, bool), GitError> {
        let git = worktree
            .git(self)
            .env("GIT_INDEX_FILE", index)
            .env("GIT_OPTIONAL_LOCKS", "0");
        let (nested, other): (Vec<_>, Vec<_>) = status_by(worktree, git)?
            .into_iter()
            .partition(|entry| entry.kind == Kind::Nested);
        let nested = nested.into_iter().map(|entry| entry.path).collect();
        Ok((nested, !other.is_empty()))
    }
}

/// With its time: a file whose content changed in the same tick of the clock as the index looks
/// unchanged, and git reads it only because it is not older than the index.
fn copy_index(from: &Path, to: &Path) -> io::Result<()> {
    let mut from = File::open(from)?;
    let modified = from.metadata()?.modified()?;
    let mut to = File::create(to)?;
    io::copy(&mut from, &mut to)?;
    to.set_modified(modified)
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

/// Everything but ignored files and the given nested repositories (which git would record as
/// commits that nobody else has).
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
pub(crate) fn read_oid(output: &crate::git::exec::child::Output) -> Result<Oid, GitError> {
    let text = String::from_utf8_lossy(output.line()).into_owned();
    Oid::from_str(&text).map_err(|_| GitError::Unreadable {
        command: "git write-tree",
        found: text.chars().take(80).collect(),
    })
}
