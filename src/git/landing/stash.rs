//! A person's uncommitted changes that are in the way of a rollback: named beforehand, and, where that was asked for, put aside.
//!
//! Invariant: not a byte is lost. First everything that is not committed in that checkout becomes a commit under a reference (the index, where
//! it says something else, as a parent of it); then what is in the way is moved, by rename, into a folder beside the index; there it goes only
//! if a checkout of the commit would give it back byte for byte. What stays there (a filter takes something out of what is committed; it was
//! written to in between) is never moved over: the next call takes a folder of its own. A kill in between leaves it in one of the two places,
//! and the same call carries on.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use git2::{ObjectType, Oid};

use super::checkout_recovery::{AT_ONCE, Touched, begin_rehearsal, end_rehearsal};
use super::checkout_sync::{Blocked, Move, in_the_way, obstacles};
use crate::crash;
use crate::git::error::{At, GitError};
use crate::git::objects::names::branch_ref;
use crate::git::repo::Repo;
use crate::git::worktree::commit_leftovers::under_way;
use crate::git::worktree::registry::Worktree;
use crate::git::worktree::snapshot::{Snapshot, Work, read_oid};
use crate::remove;

/// Beside the index of the checkout.
const FOLDER: &str = "swarm-aside";

/// What is put aside.
#[derive(Debug, Clone)]
pub struct Aside {
    /// The branch that is about to move.
    pub branch: String,
    /// Where it stands.
    pub from: Oid,
    /// Where it goes.
    pub to: Oid,
    /// How the changes are kept; the reference of a second checkout has a number behind it. The name of the worktree does not count.
    pub keep: Snapshot,
}

impl Repo {
    /// What would stop the branch from going there, in each checkout of it. Nothing of a person's changes.
    pub fn in_the_way_of(
        &self,
        branch: &str,
        from: Oid,
        to: Oid,
    ) -> Result<Vec<Blocked>, GitError> {
        branch_ref(branch)?;
        let step = Move {
            branch,
            old: from,
            new: to,
        };
        let mut found = Vec::new();
        for checkout in self.checkouts_of(branch)? {
            found.extend(self.hindrance(&checkout, step)?);
        }
        Ok(found)
    }

    /// Puts aside what would stop it. Returns the commits that have it.
    pub fn put_aside(&self, want: &Aside) -> Result<Vec<Oid>, GitError> {
        let step = Move {
            branch: &want.branch,
            old: want.from,
            new: want.to,
        };
        let mut kept = Vec::new();
        for (number, checkout) in self.checkouts_of(&want.branch)?.iter().enumerate() {
            let mut keep = want.keep.clone();
            if number > 0 {
                keep.reference = format!("{}-{}", keep.reference, number + 1);
            }
            kept.extend(self.clear_the_way(checkout, step, &keep)?);
        }
        Ok(kept)
    }

    fn hindrance(&self, checkout: &Worktree, step: Move<'_>) -> Result<Option<Blocked>, GitError> {
        if let Some(what) = under_way(&checkout.git_dir) {
            return Ok(Some(super::checkout_sync::blocked(
                checkout,
                format!("a {what} is under way there"),
            )));
        }
        if let Some(held) = self.wait_for_index(checkout)? {
            return Ok(Some(held));
        }
        let touched = self.touched_paths(step)?;
        let there = obstacles(checkout, &touched);
        if there.is_empty() && self.is_as_committed(checkout, step.old, &touched)? {
            return Ok(None);
        }
        let hidden = self.ignored_among(checkout, &there)?;
        begin_rehearsal(checkout)?;
        let refused = self.rehearse(checkout, step)?.err();
        end_rehearsal(checkout)?;
        let changed = match refused {
            Some(reason) => Some(self.why_not(checkout, &touched, reason)?),
            None => None,
        };
        if hidden.is_empty() {
            return Ok(changed);
        }
        let mut all = in_the_way(checkout, &hidden);
        let seen: BTreeSet<String> = all.files.iter().cloned().collect();
        let changed = changed.into_iter().flat_map(|changed| changed.files);
        all.files
            .extend(changed.filter(|file| !seen.contains(file)));
        Ok(Some(all))
    }

    fn clear_the_way(
        &self,
        checkout: &Worktree,
        step: Move<'_>,
        keep: &Snapshot,
    ) -> Result<Option<Oid>, GitError> {
        let before = self.read_ref(&keep.reference)?;
        let left = self.free_folder(checkout, before)?;
        let touched = self.touched_paths(step)?;
        let mut ways: BTreeSet<PathBuf> = self
            .ignored_among(checkout, &obstacles(checkout, &touched))?
            .into_iter()
            .collect();
        let changed = self.changes_in_the_way(checkout, &touched)?;
        ways.extend(changed);
        let ways: BTreeSet<PathBuf> = ways.iter().map(|way| whole(way, &touched)).collect();
        if ways.is_empty() {
            return Ok(before);
        }
        if let Some(path) = nested_among(checkout, &ways)? {
            let path = checkout.path.join(path);
            let why = "it is a git repository of its own; move it away, then roll back again";
            return Err(GitError::PathTaken {
                path,
                why: why.into(),
            });
        }
        let ways: Vec<PathBuf> = ways.into_iter().collect();
        let commit = self.keep_work(checkout, keep, Work::Persons { forced: &ways })?;
        crash::point("git.aside.kept");
        self.move_away(checkout, step.old, &ways, &left)?;
        crash::point("git.aside.moved");
        self.let_go(checkout, &left, commit)?;
        Ok(commit)
    }

    /// The paths get the old commit's content, in the index and as files; what was there goes into the folder.
    fn move_away(
        &self,
        checkout: &Worktree,
        old: Oid,
        ways: &[PathBuf],
        folder: &Path,
    ) -> Result<(), GitError> {
        for path in ways {
            let (from, to) = (checkout.path.join(path), folder.join(path));
            if fs::symlink_metadata(&from).is_err() {
                continue;
            }
            let above = to.parent().unwrap_or(folder);
            fs::create_dir_all(above).at("make", above)?;
            fs::rename(&from, &to).at("put aside", &from)?;
        }
        crash::point("git.aside.files");
        for some in ways.chunks(AT_ONCE) {
            let reset = checkout.git(self).long().args(["reset", "-q"]);
            reset.arg(old.to_string()).paths(some).ok()?;
        }
        for some in self.wanted_files(checkout, ways)?.chunks(AT_ONCE) {
            if !some.is_empty() {
                let out = checkout
                    .git(self)
                    .long()
                    .args(["checkout-index", "-f", "-q"]);
                out.paths(some).ok()?;
            }
        }
        Ok(())
    }

    /// A folder that is not there yet. What calls before this one have left goes, if the commit has it; the rest stays where it is.
    fn free_folder(&self, checkout: &Worktree, kept: Option<Oid>) -> Result<PathBuf, GitError> {
        let mut number = 1;
        loop {
            let name = match number {
                1 => FOLDER.to_owned(),
                more => format!("{FOLDER}-{more}"),
            };
            let folder = checkout.git_dir.join(name);
            if fs::symlink_metadata(&folder).is_ok() {
                self.let_go(checkout, &folder, kept)?;
            }
            if fs::symlink_metadata(&folder).is_err() {
                return Ok(folder);
            }
            number += 1;
        }
    }

    /// Deletes from the folder what the commit has, byte for byte; the rest stays there.
    fn let_go(
        &self,
        checkout: &Worktree,
        folder: &Path,
        commit: Option<Oid>,
    ) -> Result<(), GitError> {
        // Of what is in the index alone no file was moved.
        let there = fs::symlink_metadata(folder).is_ok();
        let Some(commit) = commit.filter(|_| there) else {
            return Ok(());
        };
        let mut open = vec![folder.to_owned()];
        let mut folders = Vec::new();
        while let Some(dir) = open.pop() {
            for entry in fs::read_dir(&dir).at("list", &dir)? {
                let entry = entry.at("list", &dir)?;
                let path = entry.path();
                if entry.file_type().at("look at", &path)?.is_dir() {
                    open.push(path);
                    continue;
                }
                let name = path.strip_prefix(folder).unwrap_or(&path);
                if self.has_of_it(checkout, commit, name, &path)? {
                    remove::file(&path).at("delete", &path)?;
                }
            }
            folders.push(dir);
        }
        for dir in folders.into_iter().rev() {
            // One that still has something stays.
            let _ = remove::empty_dir(&dir);
        }
        Ok(())
    }

    /// Whether a checkout of the commit's file of that name would write this one. A pipe or the like is never opened.
    fn has_of_it(
        &self,
        checkout: &Worktree,
        commit: Oid,
        name: &Path,
        file: &Path,
    ) -> Result<bool, GitError> {
        let meta = fs::symlink_metadata(file).at("look at", file)?;
        let library = self.library()?;
        let read = GitError::library(format!("read {commit}"));
        let tree = library
            .find_commit(commit)
            .and_then(|commit| commit.tree())
            .map_err(read)?;
        let Ok(known) = tree.get_path(name).map(|entry| entry.id()) else {
            return Ok(false);
        };
        let blob = if meta.is_symlink() {
            let target = fs::read_link(file).at("read", file)?;
            Oid::hash_object(ObjectType::Blob, target.as_os_str().as_bytes())
        } else if meta.is_file() {
            Oid::hash_file(ObjectType::Blob, file)
        } else {
            return Ok(false);
        };
        // A filter or another line end may lie between the two.
        Ok(blob.is_ok_and(|blob| blob == known)
            || meta.is_file() && self.is_written_by(checkout, name, commit, file)?)
    }

    /// The files that the index has at these paths and below them, without those that a sparse checkout leaves out and other repositories.
    pub(crate) fn wanted_files(
        &self,
        checkout: &Worktree,
        paths: &[PathBuf],
    ) -> Result<Vec<PathBuf>, GitError> {
        let words = ["ls-files", "-z", "-t", "--stage"];
        let lines = self.list(checkout, &words, paths)?;
        // `H 100644 <object> 0<tab><path>`
        let file = |line: PathBuf| {
            let line = line.into_os_string().into_vec();
            let at = line.iter().position(|byte| *byte == b'\t')?;
            let there = line.starts_with(b"H 1") && !line.starts_with(b"H 160000 ");
            there.then(|| PathBuf::from(OsStr::from_bytes(&line[at + 1..])))
        };
        let all: BTreeSet<PathBuf> = lines.into_iter().filter_map(file).collect();
        Ok(all.into_iter().collect())
    }

    /// The index of the checkout as a commit, if it says something else than the commit checked out and the files.
    pub(crate) fn index_as_tree(&self, checkout: &Worktree) -> Result<Option<Oid>, GitError> {
        let written = checkout.git(self).long().arg("write-tree").run()?;
        // With conflicts in it there is no tree; their text is in the files.
        if written.code != 0 {
            return Ok(None);
        }
        read_oid(&written).map(Some)
    }
}

/// The directory that stands where one of the commits has a file, for what lies in it: emptied, it would be in the way still.
fn whole(way: &Path, touched: &[Touched]) -> PathBuf {
    let around = touched.iter().map(|one| &*one.path);
    let around = around.filter(|path| way.starts_with(path));
    let topmost = around.min_by_key(|path| path.components().count());
    topmost.unwrap_or(way).to_owned()
}

/// A repository at one of these paths or below it.
fn nested_among(
    checkout: &Worktree,
    ways: &BTreeSet<PathBuf>,
) -> Result<Option<PathBuf>, GitError> {
    let mut open: Vec<PathBuf> = ways.iter().cloned().collect();
    while let Some(path) = open.pop() {
        let full = checkout.path.join(&path);
        if !fs::symlink_metadata(&full).is_ok_and(|meta| meta.is_dir()) {
            continue;
        }
        if full.join(".git").exists() {
            return Ok(Some(path));
        }
        for entry in fs::read_dir(&full).at("list", &full)? {
            open.push(path.join(entry.at("list", &full)?.file_name()));
        }
    }
    Ok(None)
}
