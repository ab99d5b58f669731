//! Saves the uncommitted work of a worktree as a commit under a private reference, without touching
//! the worktree.
//!
//! Invariant: files, index and branch do not change; a separate index is used. Untracked files are
//! included, ignored ones and nested repositories are not. The same content at the same time gives
//! the same commit. The previous commit under the reference becomes a parent, so it is never lost.

pub mod trees;

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::domain::time::Timestamp;
use crate::git::error::{At, GitError};
use crate::git::exec::command::Git;
use crate::git::objects::names::check_ref;
use crate::git::person::Identity;
use crate::git::repo::Repo;
use crate::git::resolution::note;
use crate::git::store::format::NewCommit;
use crate::git::store::objects::read_oid;
use crate::git::store::oid::Oid;
use crate::git::worktree::registry::{Found, Worktree};
use crate::git::worktree::status::{Kind, status_by};
use crate::remove;

/// Arguments of [`Repo::snapshot_worktree`].
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// Name of the worktree.
    pub name: String,
    /// Reference that keeps the commit, `refs/swarm/...`.
    pub reference: String,
    /// Commit message.
    pub message: String,
    /// Author and committer of the commit.
    pub identity: Identity,
    /// Date of the commit, fixed when the snapshot was requested, so that a repeated call gives the
    /// same commit.
    pub time: Timestamp,
}

impl Snapshot {
    /// Where the files of a merge that swarm left open are kept, for people.
    pub(crate) fn of_open_merge(&self) -> Self {
        Self {
            reference: format!("{}-merge", self.reference),
            ..self.clone()
        }
    }
}

/// Separate index beside the worktree's.
const INDEX: &str = "swarm-index";
/// Attempts at a snapshot: a running agent may change a file while it is read.
const TRIES: u32 = 3;

/// Saved work of an attempt; references keep its commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeptWork {
    /// Tip of the branch.
    pub tip: Oid,
    /// Commit on top of `tip` with the uncommitted files; `None` if there are none.
    pub wip: Option<Oid>,
}

impl Repo {
    /// Saves all work of an attempt under the reference: from its worktree or, if that is gone,
    /// from its branch. `None` if neither exists. Of a merge that swarm left open only the branch
    /// counts; its files are kept under `<reference>-merge`.
    pub fn keep_attempt(
        &self,
        want: &Snapshot,
        branch: &str,
    ) -> Result<Option<KeptWork>, GitError> {
        check_ref(&want.reference)?;
        let on_branch = self.branch_commit(branch)?;
        let worktree = match self.look_up(&want.name)? {
            Found::Ours(worktree) => worktree,
            // The files exist but cannot be saved: this reports why.
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
            // The worktree is not on its branch, so the branch is saved too.
            self.keep_also(&format!("{}-branch", want.reference), other)?;
        }
        let wip = if note::is_open(&worktree) {
            // What the target brought into it must not come back as the branch's own work.
            self.keep_work(&worktree, &want.of_open_merge())?;
            None
        } else {
            self.keep_work(&worktree, want)?
        };
        if wip.is_none() {
            self.keep_also(&want.reference, tip)?;
        }
        Ok(Some(KeptWork { tip, wip }))
    }

    /// Saves a commit from garbage collection under the reference; returns the reference's final
    /// name.
    pub fn keep_commit(&self, reference: &str, commit: Oid) -> Result<String, GitError> {
        check_ref(reference)?;
        self.keep_also(reference, commit)
    }

    /// Saves the commit under the reference, or under the next free name if an earlier call saved
    /// something that the commit does not contain.
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

    /// Saves the uncommitted work. `None` if there is none; then no reference is created.
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
        let signature = want.identity.at(want.time);
        let new = NewCommit {
            tree,
            parents: &parents,
            message: &want.message,
            author: &signature,
            committer: &signature,
        };
        let commit = self.write_commit(&new)?;
        self.make_durable(commit, &[])?;
        self.keep_at(&want.reference, before, commit)?;
        Ok(commit)
    }

    /// Creates the reference, or moves it from `before`.
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

    /// Commit checked out; if its branch is gone, the last one in the worktree's log of `HEAD`.
    pub(crate) fn last_head(&self, worktree: &Worktree) -> Result<Oid, GitError> {
        match self.head_commit(worktree) {
            Err(error @ GitError::BranchMissing { .. }) => {
                let log = self.head_log(&worktree.git_dir, &worktree.path)?;
                let last = log.last().and_then(|last| last.to.or(last.from));
                last.ok_or(error)
            }
            other => other,
        }
    }

    /// Writes the files of the worktree as a tree.
    pub(crate) fn snapshot_tree(&self, worktree: &Worktree, head: Oid) -> Result<Oid, GitError> {
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
        // The comparison was with this commit only if the agent has not committed meanwhile.
        if !changed && self.last_head(worktree)? == head {
            remove::file(&index).at("delete", &index)?;
            return self.tree_of(head);
        }
        let copies = self.exposed_copies(worktree)?;
        add_all(with_index(), nested.iter().chain(&copies)).ok()?;
        let tree = read_oid(&with_index().arg("write-tree").ok()?)?;
        remove::file(&index).at("delete", &index)?;
        Ok(tree)
    }

    /// A copy of the worktree's index, so that unchanged files need not be read; if it cannot be
    /// trusted, an index built from the commit.
    fn copied_index(&self, worktree: &Worktree, head: Oid) -> Result<PathBuf, GitError> {
        let index = worktree.git_dir.join(INDEX);
        for left in [
            index.clone(),
            worktree.git_dir.join(format!("{INDEX}.lock")),
        ] {
            // An agent may have put anything here.
            remove::tree_if_there(&left).at("delete", &left)?;
        }
        let own = worktree.git_dir.join("index");
        if self.index_is_plain(worktree)? && copy_index(&own, &index).is_ok() {
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

    /// Lists nested repositories; also returns whether anything else differs from the commit
    /// checked out.
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

/// Copies the index with its modification time. Git re-reads a file changed in the same clock tick
/// only if it is not older than the index.
fn copy_index(from: &Path, to: &Path) -> io::Result<()> {
    let mut from = File::open(from)?;
    let modified = from.metadata()?.modified()?;
    let mut to = File::create(to)?;
    io::copy(&mut from, &mut to)?;
    to.set_modified(modified)
}

/// Adds everything except ignored files and these paths: nested repositories, which git would
/// record as commits that nobody else has, and copies of a person's local files.
pub(crate) fn add_all<'a, 'p>(
    git: Git<'a>,
    except: impl IntoIterator<Item = &'p PathBuf>,
) -> Git<'a> {
    let without = except.into_iter().map(|path| {
        let mut word = OsString::from(":(exclude,top,literal)");
        word.push(path);
        word
    });
    git.args(["add", "--all", "--sparse", "--", ":/"])
        .args(without)
}
