//! A person's checkout follows its branch from one commit to another, as `git merge --ff-only` would take it.
//!
//! Invariant: what is not committed is never changed. Git's own two-way merge (`read-tree -m -u old new`) decides that: it touches a path
//! only if index and file are the old commit's, and checks all paths before it touches the first. Where git would overwrite *ignored* files, we do
//! not: they may be all there is of somebody's settings. Index and files go first, the branch last; in between they look like staged changes.
//!
//! A kill at any point is healed by [`Repo::settle_checkouts`] or by the next landing. Before the first file is touched, the note `swarm-landing`
//! is written beside the index. With the note there and
//! - the index still the old one: files that have the new content, or a beginning of it, or are gone, are ours and go back to the old;
//! - the index already the new one: the two-way merge is repeated (it then does nothing) or run backwards.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use git2::Oid;

use super::error::{At, GitError};
use super::locks::{self, Lock};
use super::names::{path_of, shown};
use super::registry::Worktree;
use super::repo::{Head, Repo};
use super::seal::under_way;
use super::status::Kind;
use crate::crash;

const NOTE: &str = "swarm-landing";
/// Paths on one command line.
const AT_ONCE: usize = 400;

/// Why a checkout cannot follow now. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocked {
    /// The checkout.
    pub worktree: PathBuf,
    /// What is in the way, for people.
    pub reason: String,
    /// The files in the way, if it is files.
    pub files: Vec<String>,
}

/// One move of a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Move<'a> {
    pub(crate) branch: &'a str,
    pub(crate) old: Oid,
    pub(crate) new: Oid,
}

type Follow = Result<(), Blocked>;

impl Repo {
    /// Puts checkouts back that a killed landing left between two commits. For the start of a daemon; landings do it by themselves.
    pub fn settle_checkouts(&self) -> Result<(), GitError> {
        self.settle_all(None)
    }

    /// The same; the checkouts that are on their way through `current` are left to it.
    pub(crate) fn settle_all(&self, current: Option<Move<'_>>) -> Result<(), GitError> {
        for checkout in self.peoples_checkouts()? {
            if let Some((branch, old, new)) = read_note(&checkout) {
                let noted = Move {
                    branch: &branch,
                    old,
                    new,
                };
                self.settle_one(&checkout, noted, current == Some(noted))?;
            }
        }
        Ok(())
    }

    /// The main work tree and the linked ones that are not ours.
    pub(crate) fn peoples_checkouts(&self) -> Result<Vec<Worktree>, GitError> {
        let ours = self.worktrees_dir()?;
        let main = Worktree {
            name: "main".into(),
            path: self.root().to_owned(),
            git_dir: self.common_dir().to_owned(),
        };
        let linked = self
            .registered()?
            .into_iter()
            .filter(|one| one.path.is_dir() && !one.path.starts_with(&ours));
        let linked = linked.map(|one| Worktree {
            name: shown(&one.path),
            path: one.path,
            git_dir: one.git_dir,
        });
        Ok(std::iter::once(main).chain(linked).collect())
    }

    /// Those that have the branch checked out, or are about to have it again.
    pub(crate) fn checkouts_of(&self, branch: &str) -> Result<Vec<Worktree>, GitError> {
        let mut found = self.peoples_checkouts()?;
        found.retain(|checkout| {
            let on_it = checkout
                .head()
                .is_ok_and(|head| head == Head::Branch(branch.to_owned()));
            on_it || rebases(&checkout.git_dir, branch)
        });
        Ok(found)
    }

    /// Brings index and files from the old commit to the new one, or changes nothing and says why not.
    pub(crate) fn follow(&self, checkout: &Worktree, step: Move<'_>) -> Result<Follow, GitError> {
        if let Some(what) = under_way(&checkout.git_dir) {
            return Ok(Err(blocked(
                checkout,
                format!("a {what} is under way there"),
            )));
        }
        if let Some(held) = self.wait_for_index(checkout)? {
            return Ok(Err(held));
        }
        let hidden = self.ignored_in_the_way(checkout, step)?;
        if !hidden.is_empty() {
            return Ok(Err(in_the_way(checkout, &hidden)));
        }
        if let Err(reason) = self.rehearse(checkout, step)? {
            let files = self.changes_in_the_way(checkout, step)?;
            return Ok(Err(if files.is_empty() {
                blocked(checkout, reason)
            } else {
                in_the_way(checkout, &files)
            }));
        }
        write_note(checkout, step)?;
        crash::point("git.land.noted");
        if let Err(error) = self.two_way(checkout, step.old, step.new, &[]) {
            self.put_back(checkout, step)?;
            remove_note(checkout)?;
            return match error {
                GitError::Failed { stderr, .. } => Ok(Err(blocked(checkout, stderr))),
                other => Err(other),
            };
        }
        crash::point("git.land.followed");
        Ok(Ok(()))
    }

    /// Back from the new commit to the old one, after the branch could not be moved.
    pub(crate) fn unfollow(&self, checkout: &Worktree, step: Move<'_>) -> Result<(), GitError> {
        self.two_way(checkout, step.new, step.old, &[])?;
        remove_note(checkout)
    }

    /// The landing is done.
    pub(crate) fn followed(checkout: &Worktree) -> Result<(), GitError> {
        remove_note(checkout)
    }

    fn settle_one(
        &self,
        checkout: &Worktree,
        noted: Move<'_>,
        is_current: bool,
    ) -> Result<(), GitError> {
        if let Some(held) = self.wait_for_index(checkout)? {
            let path = checkout.git_dir.join("index.lock");
            return Err(GitError::Locked {
                path,
                why: held.reason,
                next: "Wait for it, then try again".into(),
            });
        }
        let away = checkout.head()? != Head::Branch(noted.branch.to_owned());
        let tip = self.branch_commit(noted.branch)?;
        if away || tip == Some(noted.new) {
            return self.settle_away(checkout, noted, away);
        }
        if !self.index_is_at(checkout, noted)? {
            self.put_back(checkout, noted)?;
        } else if is_current {
            // The landing goes on from here: its two-way merge finds the work done.
            return Ok(());
        } else if self.still_old(tip, noted)? {
            // Refused only if the person has since changed those very files; then they are theirs.
            let _ = self.two_way(checkout, noted.new, noted.old, &[]);
        }
        remove_note(checkout)
    }

    /// The person is elsewhere by now, or the branch has moved: nothing is to be put back.
    fn settle_away(
        &self,
        checkout: &Worktree,
        noted: Move<'_>,
        away: bool,
    ) -> Result<(), GitError> {
        if !away && !self.index_is_at(checkout, noted)? {
            // The branch moved, the files did not get there whole (the machine stopped): they follow now.
            self.put_back(checkout, noted)?;
            let _ = self.two_way(checkout, noted.old, noted.new, &[]);
        }
        remove_note(checkout)
    }

    /// Whether the branch, wherever it is now, has none of the noted change.
    fn still_old(&self, tip: Option<Oid>, noted: Move<'_>) -> Result<bool, GitError> {
        let Some(tip) = tip else { return Ok(false) };
        let ours: BTreeSet<PathBuf> = self
            .changed_paths(noted.old, noted.new)?
            .into_iter()
            .collect();
        let theirs = self.changed_paths(noted.old, tip)?;
        Ok(theirs.iter().all(|path| !ours.contains(path)))
    }

    fn two_way(
        &self,
        checkout: &Worktree,
        old: Oid,
        new: Oid,
        options: &[&str],
    ) -> Result<(), GitError> {
        let git = checkout
            .git(self)
            .long()
            .args(["read-tree", "-m", "-u"])
            .args(options);
        git.args([old.to_string(), new.to_string()])
            .ok()
            .map(|_| ())
    }

    /// The two-way merge without touching anything; the reason if it would be refused.
    fn rehearse(
        &self,
        checkout: &Worktree,
        step: Move<'_>,
    ) -> Result<Result<(), String>, GitError> {
        if self.two_way(checkout, step.old, step.new, &["-n"]).is_ok() {
            return Ok(Ok(()));
        }
        // Files that were touched but not changed look changed until the index is refreshed; the exit code only tells of real changes.
        checkout
            .git(self)
            .long()
            .args(["update-index", "-q", "--refresh"])
            .run()?;
        match self.two_way(checkout, step.old, step.new, &["-n"]) {
            Ok(()) => Ok(Ok(())),
            Err(GitError::Failed { stderr, .. }) => Ok(Err(stderr)),
            Err(other) => Err(other),
        }
    }

    /// Waits for whoever holds the index. A lock of a dead git is removed only if the note says that it was ours.
    fn wait_for_index(&self, checkout: &Worktree) -> Result<Option<Blocked>, GitError> {
        let lock = checkout.git_dir.join("index.lock");
        let end = Instant::now() + self.lock_wait();
        loop {
            let state = locks::look(&lock)?;
            match state {
                Lock::Absent => return Ok(None),
                Lock::Dead if read_note(checkout).is_some() => locks::remove_if_dead(&lock)?,
                Lock::Held if Instant::now() < end => super::command::pause(),
                Lock::Held => {
                    return Ok(Some(blocked(
                        checkout,
                        "another program holds the index (index.lock)".into(),
                    )));
                }
                Lock::Dead => {
                    let reason = format!(
                        "a git that is gone has left {}; delete that file",
                        shown(&lock)
                    );
                    return Ok(Some(blocked(checkout, reason)));
                }
            }
        }
    }

    /// Ignored files where the new commit has files that the old one had not. Git itself refuses only for the untracked ones that
    /// are not ignored.
    fn ignored_in_the_way(
        &self,
        checkout: &Worktree,
        step: Move<'_>,
    ) -> Result<Vec<PathBuf>, GitError> {
        let added = self.added_paths(step)?;
        let there: BTreeSet<PathBuf> = added
            .iter()
            .filter_map(|path| obstacle(&checkout.path, path))
            .collect();
        if there.is_empty() {
            return Ok(Vec::new());
        }
        let words = [
            "ls-files",
            "-z",
            "--others",
            "--ignored",
            "--exclude-standard",
        ];
        self.list(checkout, &words, &there.into_iter().collect::<Vec<_>>())
    }

    /// Answers of `ls-files` for many paths; a command line holds only so much.
    fn list(
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

    fn added_paths(&self, step: Move<'_>) -> Result<Vec<PathBuf>, GitError> {
        let words = [
            "diff-tree",
            "-r",
            "-z",
            "--name-only",
            "--no-renames",
            "--diff-filter=A",
            "--no-ext-diff",
        ];
        let output = self
            .git()
            .args(words)
            .args([step.old.to_string(), step.new.to_string()])
            .ok()?;
        Ok(output.pieces().map(path_of).collect())
    }

    /// Uncommitted paths that the move would have to touch.
    fn changes_in_the_way(
        &self,
        checkout: &Worktree,
        step: Move<'_>,
    ) -> Result<Vec<PathBuf>, GitError> {
        let wanted = self.changed_paths(step.old, step.new)?;
        let entries = self.status(checkout)?;
        let hit = |path: &Path| {
            wanted
                .iter()
                .any(|other| other.starts_with(path) || path.starts_with(other))
        };
        // A file that is merely gone is never in the way.
        let there = entries
            .into_iter()
            .filter(|entry| entry.kind != Kind::Missing);
        Ok(there
            .map(|entry| entry.path)
            .filter(|path| hit(path))
            .collect())
    }

    /// Whether the index holds the new commit's version of every path that the move changes.
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

    /// The index is the old one: files that a killed move had already written or deleted go back to what they were.
    fn put_back(&self, checkout: &Worktree, step: Move<'_>) -> Result<(), GitError> {
        if self.index_is_at(checkout, step)? {
            return Ok(());
        }
        let wanted: BTreeSet<PathBuf> = self
            .changed_paths(step.old, step.new)?
            .into_iter()
            .collect();
        let mut restored = Vec::new();
        for entry in self.status(checkout)? {
            let ours = match entry.kind {
                _ if !wanted.contains(&entry.path) => false,
                Kind::Missing => true,
                Kind::Changed => self.is_written_by_us(checkout, &entry.path, step.new)?,
                _ => false,
            };
            if ours {
                restored.push(entry.path);
            }
        }
        for path in self.added_paths(step)? {
            let file = checkout.path.join(&path);
            if self.is_untracked(checkout, &path)?
                && self.is_written_by_us(checkout, &path, step.new)?
            {
                fs::remove_file(&file).at("delete", &file)?;
            }
        }
        self.restore(checkout, &restored)
    }

    /// Writes the index's version of the paths; what the index does not have stays as it is.
    fn restore(&self, checkout: &Worktree, paths: &[PathBuf]) -> Result<(), GitError> {
        let known = self.list(checkout, &["ls-files", "-z", "--cached"], paths)?;
        for some in known.chunks(AT_ONCE) {
            let git = checkout.git(self).long();
            git.args(["checkout-index", "-f", "-q"]).paths(some).ok()?;
        }
        Ok(())
    }

    fn is_untracked(&self, checkout: &Worktree, path: &Path) -> Result<bool, GitError> {
        if fs::symlink_metadata(checkout.path.join(path)).is_err() {
            return Ok(false);
        }
        let known = checkout
            .git(self)
            .args(["ls-files", "-z", "--cached"])
            .paths([path])
            .ok()?;
        Ok(known.pieces().next().is_none())
    }

    /// Whether the file is the new commit's, or a beginning of it, as a checkout would write it.
    fn is_written_by_us(
        &self,
        checkout: &Worktree,
        path: &Path,
        new: Oid,
    ) -> Result<bool, GitError> {
        let Some(found) = content(&checkout.path.join(path)) else {
            return Ok(false);
        };
        let mut name = std::ffi::OsString::from(format!("{new}:"));
        name.push(path);
        let output = checkout
            .git(self)
            .args(["cat-file", "--filters"])
            .arg(name)
            .run()?;
        Ok(output.code == 0 && output.stdout.starts_with(&found))
    }
}

/// What is on the way to the path: itself, or a file where it needs a directory.
fn obstacle(root: &Path, path: &Path) -> Option<PathBuf> {
    let mut at = PathBuf::new();
    for part in path.components() {
        at.push(part);
        let Ok(meta) = fs::symlink_metadata(root.join(&at)) else {
            return None;
        };
        if !meta.is_dir() {
            return Some(at);
        }
    }
    Some(at)
}

/// Content of a file, or target of a symbolic link.
fn content(file: &Path) -> Option<Vec<u8>> {
    let meta = fs::symlink_metadata(file).ok()?;
    if meta.is_symlink() {
        return fs::read_link(file)
            .ok()
            .map(|target| target.as_os_str().as_bytes().to_vec());
    }
    fs::read(file).ok()
}

fn rebases(git_dir: &Path, branch: &str) -> bool {
    let names = ["rebase-merge/head-name", "rebase-apply/head-name"];
    let is_it = |text: String| text.trim_end() == format!("refs/heads/{branch}");
    names
        .iter()
        .any(|name| fs::read_to_string(git_dir.join(name)).is_ok_and(is_it))
}

fn blocked(checkout: &Worktree, reason: String) -> Blocked {
    Blocked {
        worktree: checkout.path.clone(),
        reason,
        files: Vec::new(),
    }
}

fn in_the_way(checkout: &Worktree, files: &[PathBuf]) -> Blocked {
    Blocked {
        files: files.iter().map(|path| shown(path)).collect(),
        ..blocked(
            checkout,
            "uncommitted files there would be overwritten; commit, stash or move them".into(),
        )
    }
}

/// The branch is last: its name may hold anything but a line end.
fn write_note(checkout: &Worktree, step: Move<'_>) -> Result<(), GitError> {
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

/// None also for a note that a kill left half written: then nothing had been touched yet.
fn read_note(checkout: &Worktree) -> Option<(String, Oid, Oid)> {
    let text = fs::read_to_string(checkout.git_dir.join(NOTE)).ok()?;
    let mut fields = text.strip_suffix('\n')?.splitn(3, ' ');
    let (old, new) = (
        Oid::from_str(fields.next()?).ok()?,
        Oid::from_str(fields.next()?).ok()?,
    );
    Some((fields.next()?.to_owned(), old, new))
}

fn remove_note(checkout: &Worktree) -> Result<(), GitError> {
    let path = checkout.git_dir.join(NOTE);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).at("delete", &path)
        }
        _ => Ok(()),
    }
}
