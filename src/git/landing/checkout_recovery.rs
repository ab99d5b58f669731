//! Repairs a person's checkout after a kill in the middle of a landing.
//!
//! Invariant: before the first file is touched, the note `swarm-landing` is written beside the
//! index and synced. If the index is still the old one, files that are missing, or hold the new
//! content or a beginning of it, are ours and restored. If it is the new one, the two-way merge is
//! repeated or undone. Any other file is the person's and stays; if it blocks the merge, the note
//! stays too. A checkout on another branch is left alone. The note `swarm-rehearsal` only says that
//! a lock of the index may be ours.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::checkout_sync::Move;
use super::obstacles::obstacles;
use crate::git::error::{At, GitError};
use crate::git::exec::lock_files;
use crate::git::objects::names::{path_of, quoted, shown};
use crate::git::repo::{Head, Repo};
use crate::git::store::oid::Oid;
use crate::git::worktree::registry::Worktree;
use crate::git::worktree::status::Kind;
use crate::remove;

/// Directory of the agents' branches.
const AGENTS: &str = "refs/heads/agent";
const NOTE: &str = "swarm-landing";
const REHEARSAL: &str = "swarm-rehearsal";
/// Attempts at a two-way merge that fails in the middle.
const TRIES: u32 = 3;
/// Maximum number of paths on one command line.
const AT_ONCE: usize = 400;

/// A path changed by a move of the branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Touched {
    pub(crate) path: PathBuf,
    /// Whether the path is new.
    pub(crate) added: bool,
}

impl Repo {
    /// Repairs checkouts that a killed landing left between two commits. Called by a starting
    /// daemon; landings call it themselves. Also removes dead locks of packed references, of tables
    /// of references and of agents' branches, on which every `git gc` would fail.
    pub fn settle_checkouts(&self) -> Result<(), GitError> {
        lock_files::wait_out(&self.common_dir().join("packed-refs.lock"))?;
        lock_files::wait_out_all(&self.common_dir().join("reftable"))?;
        lock_files::wait_out_all(&self.common_dir().join(AGENTS))?;
        self.settle_all(None)
    }

    /// Repairs checkouts, except those that are being moved through `current`.
    pub(crate) fn settle_all(&self, current: Option<Move<'_>>) -> Result<(), GitError> {
        for checkout in self.peoples_checkouts()? {
            if let Some((branch, old, new)) = read_note(&checkout) {
                let noted = Move {
                    branch: &branch,
                    old,
                    new,
                };
                self.recover_checkout(&checkout, noted, current == Some(noted))?;
            } else if is_ours(&checkout) {
                // If somebody else holds the index now, the lock is theirs.
                self.wait_for_index(&checkout)?;
                end_rehearsal(&checkout)?;
            }
        }
        Ok(())
    }

    fn recover_checkout(
        &self,
        checkout: &Worktree,
        noted: Move<'_>,
        is_current: bool,
    ) -> Result<(), GitError> {
        if let Some(held) = self.wait_for_index(checkout)? {
            return Err(GitError::Locked {
                path: checkout.git_dir.join("index.lock"),
                age: held.lock_age.unwrap_or_default(),
                why: held.reason,
            });
        }
        let away = checkout.head(self)? != Head::Branch(noted.branch.to_owned());
        let tip = self.branch_commit(noted.branch)?;
        if away || tip == Some(noted.new) {
            return self.recover_moved_checkout(checkout, noted, away);
        }
        if !self.index_is_at(checkout, noted)? {
            self.put_back(checkout, noted)?;
        } else if is_current {
            // The landing continues: its two-way merge finds the work done.
            return Ok(());
        } else if self.still_old(tip, noted)? {
            let back = Move {
                old: noted.new,
                new: noted.old,
                ..noted
            };
            self.two_way_again(checkout, back)?;
        }
        remove_note(checkout)
    }

    /// Handles a checkout that is on another branch, or whose branch has moved: nothing needs to be
    /// restored.
    fn recover_moved_checkout(
        &self,
        checkout: &Worktree,
        noted: Move<'_>,
        away: bool,
    ) -> Result<(), GitError> {
        if !away && !self.index_is_at(checkout, noted)? {
            // The branch moved but the files were incomplete (a power cut): they are updated now.
            self.put_back(checkout, noted)?;
            self.two_way_again(checkout, noted)?;
        }
        if !away {
            self.follow_submodules(checkout, noted);
        }
        remove_note(checkout)
    }

    /// Repeats the two-way merge under the note. If it is refused because the person has changed
    /// those files, the note stays and the person decides. If git was killed or the disk failed in
    /// between, the files are restored and it starts again.
    fn two_way_again(&self, checkout: &Worktree, step: Move<'_>) -> Result<(), GitError> {
        let mut tries = 0;
        loop {
            let Err(error) = self.two_way(checkout, step.old, step.new, &[]) else {
                return Ok(());
            };
            tries += 1;
            if tries == TRIES || self.wait_for_index(checkout)?.is_some() {
                return Err(error);
            }
            self.put_back(checkout, step)?;
            // The rehearsal refreshes the index too; restored files look changed before that.
            if self.rehearse(checkout, step)?.is_err() {
                let files = self.changed_since(checkout, step)?;
                return Err(if files.is_empty() {
                    error
                } else {
                    refusal(checkout, step, &files)
                });
            }
        }
    }

    /// Files on the move's way that the person has created or staged since.
    fn changed_since(
        &self,
        checkout: &Worktree,
        step: Move<'_>,
    ) -> Result<BTreeSet<PathBuf>, GitError> {
        let touched = self.touched_paths(step)?;
        let paths: Vec<PathBuf> = touched.iter().map(|one| one.path.clone()).collect();
        let old = step.old.to_string();
        let staged = ["diff-index", "--cached", "-z", "--name-only", &old];
        let mut files = self.list(checkout, &["diff-files", "-z", "--name-only"], &paths)?;
        files.extend(obstacles(checkout, &touched));
        // If a file is merely missing, the two-way merge continues.
        files.retain(|file| is_there(checkout, file));
        files.extend(self.list(checkout, &staged, &paths)?);
        Ok(files.into_iter().collect())
    }

    /// Whether the branch, wherever it is now, lacks the noted change.
    fn still_old(&self, tip: Option<Oid>, noted: Move<'_>) -> Result<bool, GitError> {
        let Some(tip) = tip else { return Ok(false) };
        let ours: BTreeSet<PathBuf> = self
            .changed_paths(noted.old, noted.new)?
            .into_iter()
            .collect();
        let theirs = self.changed_paths(noted.old, tip)?;
        Ok(theirs.iter().all(|path| !ours.contains(path)))
    }

    /// Paths changed by the move, without rename detection.
    pub(crate) fn touched_paths(&self, step: Move<'_>) -> Result<Vec<Touched>, GitError> {
        let words = [
            "diff-tree",
            "-r",
            "-z",
            "--name-status",
            "--no-renames",
            "--no-ext-diff",
        ];
        let output = self
            .git()
            .args(words)
            .args([step.old.to_string(), step.new.to_string()])
            .ok()?;
        let pieces: Vec<_> = output.pieces().collect();
        let touched = pieces.chunks_exact(2).map(|pair| Touched {
            added: pair[0] == b"A",
            path: path_of(pair[1]),
        });
        Ok(touched.collect())
    }

    /// Runs a listing command for many paths in batches, since a command line is limited.
    pub(crate) fn list(
        &self,
        checkout: &Worktree,
        words: &[&str],
        paths: &[PathBuf],
    ) -> Result<Vec<PathBuf>, GitError> {
        let mut found = Vec::new();
        for some in paths.chunks(AT_ONCE) {
            let output = checkout.git(self).args(words).paths(some).ok()?;
            found.extend(output.pieces().map(path_of));
        }
        Ok(found)
    }

    /// Whether the index has the new commit's version of every path of the move.
    fn index_is_at(&self, checkout: &Worktree, step: Move<'_>) -> Result<bool, GitError> {
        let wanted: BTreeSet<PathBuf> = self
            .changed_paths(step.old, step.new)?
            .into_iter()
            .collect();
        let words = [
            "diff-index",
            "--cached",
            "-z",
            "--name-only",
            "--no-renames",
            "--no-ext-diff",
            "--ignore-submodules=dirty",
        ];
        let output = checkout
            .git(self)
            .args(words)
            .arg(step.new.to_string())
            .arg("--")
            .ok()?;
        Ok(output.pieces().all(|path| !wanted.contains(&path_of(path))))
    }

    /// With the old index: restores files that a killed move had written or deleted.
    pub(crate) fn put_back(&self, checkout: &Worktree, step: Move<'_>) -> Result<(), GitError> {
        if self.index_is_at(checkout, step)? {
            return Ok(());
        }
        let wanted: BTreeSet<PathBuf> = self
            .changed_paths(step.old, step.new)?
            .into_iter()
            .collect();
        let mut restored = Vec::new();
        for entry in self.status(checkout)? {
            if !wanted.contains(&entry.path) {
                continue;
            }
            let ours = match entry.kind {
                Kind::Missing => true,
                Kind::Changed => self.is_written_by_us(checkout, &entry.path, step.new)?,
                Kind::Unmerged { .. } | Kind::Untracked | Kind::Nested => false,
            };
            if ours {
                restored.push(entry.path);
            }
        }
        let added = self.touched_paths(step)?.into_iter();
        let added = added.filter(|one| one.added).map(|one| one.path);
        for path in self.untracked_among(checkout, added.collect())? {
            let file = checkout.path.join(&path);
            if self.is_written_by_us(checkout, &path, step.new)? {
                remove::file(&file).at("delete", &file)?;
            }
        }
        self.restore(checkout, &restored)
    }

    /// Writes the index's version of the paths; paths not in the index stay.
    fn restore(&self, checkout: &Worktree, paths: &[PathBuf]) -> Result<(), GitError> {
        let known = self.list(checkout, &["ls-files", "-z", "--cached"], paths)?;
        for some in known.chunks(AT_ONCE) {
            let git = checkout.git(self).long();
            git.args(["checkout-index", "-f", "-q"]).paths(some).ok()?;
        }
        Ok(())
    }

    /// Existing paths that are not in the index.
    fn untracked_among(
        &self,
        checkout: &Worktree,
        paths: Vec<PathBuf>,
    ) -> Result<Vec<PathBuf>, GitError> {
        let mut there = paths;
        there.retain(|path| fs::symlink_metadata(checkout.path.join(path)).is_ok());
        let known = self.list(checkout, &["ls-files", "-z", "--cached"], &there)?;
        let known: BTreeSet<PathBuf> = known.into_iter().collect();
        there.retain(|path| {
            let next = known.range::<PathBuf, _>(path..).next();
            next.is_none_or(|next| !next.starts_with(path))
        });
        Ok(there)
    }

    /// Whether the file equals the commit's content or a beginning of it. Does not ask git, which
    /// is slow for thousands of files.
    fn is_beginning_of(&self, file: &Path, path: &Path, commit: Oid) -> Result<bool, GitError> {
        let all = self.content_at(commit, path)?;
        Ok(all.is_some_and(|all| {
            content(file, all.len()).is_some_and(|found| all.starts_with(&found))
        }))
    }

    /// Whether the file equals what a checkout of the new commit writes, or a beginning of it.
    fn is_written_by_us(
        &self,
        checkout: &Worktree,
        path: &Path,
        new: Oid,
    ) -> Result<bool, GitError> {
        let file = checkout.path.join(path);
        if self.is_beginning_of(&file, path, new)? {
            return Ok(true);
        }
        let written = self.as_checked_out(checkout, path, new)?;
        Ok(written.is_some_and(|all| {
            content(&file, all.len()).is_some_and(|found| all.starts_with(&found))
        }))
    }

    /// Content that a checkout of the commit writes.
    fn as_checked_out(
        &self,
        checkout: &Worktree,
        path: &Path,
        commit: Oid,
    ) -> Result<Option<Vec<u8>>, GitError> {
        let mut name = std::ffi::OsString::from(format!("{commit}:"));
        name.push(path);
        let git = checkout.git(self).args(["cat-file", "--filters"]);
        let output = git.arg(name).run()?;
        Ok((output.code == 0).then_some(output.stdout))
    }
}

fn is_there(checkout: &Worktree, file: &Path) -> bool {
    fs::symlink_metadata(checkout.path.join(file)).is_ok()
}

/// The error for files that a person changed after a kill, with a command that moves them aside.
fn refusal(checkout: &Worktree, step: Move<'_>, files: &BTreeSet<PathBuf>) -> GitError {
    let mut command = vec![format!("cd {}", quoted(&checkout.path))];
    for file in files.iter().filter(|file| is_there(checkout, file)) {
        let mut aside = file.clone().into_os_string();
        aside.push(".mine");
        let (from, to) = (quoted(file), quoted(Path::new(&aside)));
        command.push(format!("mv -n {from} {to}"));
    }
    let names: Vec<String> = files.iter().map(|file| quoted(file)).collect();
    command.push(format!("git reset -q {} -- {}", step.old, names.join(" ")));
    GitError::ChangedSince {
        checkout: checkout.path.clone(),
        files: files.iter().map(|file| shown(file)).collect(),
        command: command.join(" && "),
    }
}

/// Content of a file, or target of a symbolic link. `None` if it is longer than `longest`, or a
/// pipe or device, on which a read would block.
fn content(file: &Path, longest: usize) -> Option<Vec<u8>> {
    let meta = fs::symlink_metadata(file).ok()?;
    if meta.is_symlink() {
        return fs::read_link(file)
            .ok()
            .map(|target| target.as_os_str().as_bytes().to_vec());
    }
    if !meta.is_file() || meta.len() > longest as u64 {
        return None;
    }
    fs::read(file).ok()
}

/// Writes `<old> <new> <branch>`. The branch comes last: its name may contain anything but a line
/// end.
pub(crate) fn write_note(checkout: &Worktree, step: Move<'_>) -> Result<(), GitError> {
    let path = checkout.git_dir.join(NOTE);
    let text = format!("{} {} {}\n", step.old, step.new, step.branch);
    fs::write(&path, text).at("write", &path)?;
    fs::File::open(&path)
        .and_then(|file| file.sync_all())
        .at("sync", &path)?;
    fs::File::open(&checkout.git_dir)
        .and_then(|dir| dir.sync_all())
        .at("sync", &checkout.git_dir)
}

/// Records that a lock of the index may be ours, before git takes it. Not synced: neither is the
/// lock, which appears later in the same directory.
pub(crate) fn begin_rehearsal(checkout: &Worktree) -> Result<(), GitError> {
    let path = checkout.git_dir.join(REHEARSAL);
    fs::write(&path, "").at("write", &path)
}

/// Ends the rehearsal: no git of ours uses the index, or the landing's note says so.
pub(crate) fn end_rehearsal(checkout: &Worktree) -> Result<(), GitError> {
    remove(&checkout.git_dir.join(REHEARSAL))
}

/// Whether a dead lock of the index is ours.
pub(crate) fn is_ours(checkout: &Worktree) -> bool {
    checkout.git_dir.join(REHEARSAL).exists() || read_note(checkout).is_some()
}

fn remove(path: &Path) -> Result<(), GitError> {
    remove::file_if_there(path).at("delete", path)
}

/// `None` also for a half-written note: then nothing had been touched.
pub(crate) fn read_note(checkout: &Worktree) -> Option<(String, Oid, Oid)> {
    let text = fs::read_to_string(checkout.git_dir.join(NOTE)).ok()?;
    let mut fields = text.strip_suffix('\n')?.splitn(3, ' ');
    let (old, new) = (
        Oid::from_str(fields.next()?).ok()?,
        Oid::from_str(fields.next()?).ok()?,
    );
    Some((fields.next()?.to_owned(), old, new))
}

pub(crate) fn remove_note(checkout: &Worktree) -> Result<(), GitError> {
    remove(&checkout.git_dir.join(NOTE))
}
