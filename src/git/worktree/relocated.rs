//! Repairs worktrees after the repository was renamed, moved or restored from a copy: both pointers
//! lead to the old location. Makes worktrees again that are gone.
//!
//! Invariant: an administrative directory is matched to a worktree only by the worktree's name, and
//! only if its target is gone or belongs to another repository. The worktree's own pointer, which
//! an agent can write, only decides between two candidates.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::prepare::{Prepare, staging};
use super::registry::{Found, Registered, Worktree, point_at, remove_tree, rename_new};
use super::reset::HeadTo;
use super::reuse::ignored::KeepIgnored;
use crate::crash;
use crate::git::error::GitError;
use crate::git::exec::special_files;
use crate::git::home;
use crate::git::objects::names::{branch_ref, path_of, shown};
use crate::git::repo::{Head, Repo};
use crate::git::store::oid::Oid;
use crate::git::worktrees_folder::{self, Places, SettledFolder};

/// Where a branch is checked out besides its own worktree.
enum Elsewhere {
    Nowhere,
    /// In the folder of the worktrees, under another name.
    Inside,
    /// Where somebody moved the worktree.
    Outside(PathBuf),
}

impl Repo {
    /// Finds out where the worktrees lie; chooses the folder if nobody has. Called by `swarm init`,
    /// and by a starting daemon before [`Repo::settle_worktrees`].
    ///
    /// # Errors
    /// [`GitError::NoPlace`]; what is there is not swarm's.
    pub fn settle_folder(&self, places: &Places) -> Result<SettledFolder, GitError> {
        let before = worktrees_folder::read(self.common_dir());
        let worktrees: Vec<PathBuf> = self.registered()?.into_iter().map(|it| it.path).collect();
        let (folder, mut settled) =
            worktrees_folder::settle(self.root(), self.common_dir(), places, &worktrees)?;
        self.set_worktrees_folder(folder.clone());
        home::record(self.common_dir(), self.root())?;
        let lost = before.filter(|before| settled.is_new && *before != folder);
        let is_in = |it: &&PathBuf| it.parent() == lost.as_deref();
        let of_lost: Vec<&PathBuf> = worktrees.iter().filter(is_in).collect();
        if let Some(lost) = lost.as_deref().filter(|_| !of_lost.is_empty()) {
            settled.note = Some(format!(
                "{}, the folder of the worktrees, was gone; they lie in {} now, and ideas go on \
                from the last commits of their branches",
                shown(lost),
                shown(&folder)
            ));
            for path in of_lost {
                self.discard_registrations_of(path)?;
            }
        }
        self.discard_copied_registrations()?;
        Ok(settled)
    }

    /// Makes an attempt's worktree again, on the last commit of its branch. Does nothing if it is
    /// there, or there under another name. Files in its place that git does not know any more, as
    /// after `git worktree prune`, stay as they are, and become a worktree again. One that somebody
    /// moved elsewhere is theirs now, without the branch. Returns what to tell about it. Must come
    /// after [`Repo::settle_worktrees`].
    pub fn restore_worktree(
        &self,
        name: &str,
        branch: &str,
        keep: KeepIgnored,
    ) -> Result<Option<String>, GitError> {
        let path = self.worktree_path(name);
        let Some(base) = self.branch_commit(branch)? else {
            return Ok(None);
        };
        if matches!(self.look_up(name)?, Found::Ours(_)) {
            return Ok(None);
        }
        // Left by a kill while it was registered again; nobody has worked there.
        self.discard_directory(&staging(name))?;
        let elsewhere = match self.give_up_elsewhere(branch, base)? {
            Elsewhere::Inside => return Ok(None),
            Elsewhere::Outside(path) => Some(path),
            Elsewhere::Nowhere => None,
        };
        if self.is_forgotten(&path) {
            self.register_again(name, branch, base)?;
            let path = shown(&path);
            return Ok(Some(format!(
                "git had forgotten the worktree {path}; it is one again, with all its files"
            )));
        }
        if fs::symlink_metadata(&path).is_ok() {
            return Ok(None);
        }
        self.discard_registrations_of(&path)?;
        self.prepare_worktree(&Prepare {
            name: name.to_owned(),
            branch: branch.to_owned(),
            base,
            from: None,
            saved: None,
            keep,
        })?;
        let left = elsewhere.map_or_else(String::new, |elsewhere| {
            format!("; what was not committed lies in {}", shown(&elsewhere))
        });
        Ok(Some(format!(
            "the worktree {} was gone; it is made again from the last commit of {branch}{left}",
            shown(&path)
        )))
    }

    /// Whether a folder says that it is a worktree of this repository, and git does not know it.
    fn is_forgotten(&self, path: &Path) -> bool {
        let ours = self.common_dir().join("worktrees");
        named_by(path).is_some_and(|named| named.parent() == Some(&ours) && !named.exists())
    }

    /// Makes a worktree of the files that lie at the place of one; what differs from `commit`, the
    /// branch's, is uncommitted there.
    fn register_again(&self, name: &str, branch: &str, commit: Oid) -> Result<(), GitError> {
        let path = self.worktree_path(name);
        let staged = self.added(&staging(name), commit)?;
        staged.set_head(self, &HeadTo::Branch(branch_ref(branch)?))?;
        staged
            .git(self)
            .args(["read-tree", &commit.to_string()])
            .ok()?;
        staged.set_owner(branch)?;
        staged.mark_cold()?;
        let trash = self.new_trash()?;
        rename_new(&staged.path, &trash.join("tree"))?;
        crash::point("git.rename.between");
        point_at(&path.join(".git"), b"gitdir: ", &staged.git_dir)?;
        point_at(&staged.git_dir.join("gitdir"), b"", &path.join(".git"))?;
        remove_tree(&trash)
    }

    /// Takes the branch from a worktree outside of the folder of the worktrees, which keeps its
    /// commit and all its files.
    fn give_up_elsewhere(&self, branch: &str, commit: Oid) -> Result<Elsewhere, GitError> {
        let on_it = Some(Head::Branch(branch.to_owned()));
        let folder = self.worktrees_folder();
        for one in self.registered()? {
            let is_there = fs::symlink_metadata(&one.path).is_ok();
            if !is_there || self.head_at(&one.git_dir, &one.path).ok() != on_it {
                continue;
            }
            if one.path.parent() == Some(&folder) {
                return Ok(Elsewhere::Inside);
            }
            let theirs = Worktree {
                name: one.path.display().to_string(),
                path: one.path,
                git_dir: one.git_dir,
            };
            theirs.set_head(self, &HeadTo::Detached(commit))?;
            return Ok(Elsewhere::Outside(theirs.path));
        }
        Ok(Elsewhere::Nowhere)
    }

    /// Repairs the pointers of worktrees and registrations, so that running agents have a working
    /// git. Called by a starting daemon. What cannot be repaired is reported when the worktree is
    /// used.
    ///
    /// # Errors
    /// The directory of the worktrees cannot be read.
    pub fn settle_worktrees(&self) -> Result<(), GitError> {
        for name in self.names_with("")? {
            if let Err(error) = self.look_up(&name) {
                tracing::warn!(%error, name, "cannot repair the pointers of this worktree");
            }
        }
        Ok(())
    }
}

/// Administrative directory that `path`, a worktree of swarm, had at the old location; `all` are
/// the existing ones.
pub(crate) fn left_behind(path: &Path, all: &[Registered]) -> Option<PathBuf> {
    fs::symlink_metadata(path)
        .ok()
        .filter(fs::Metadata::is_dir)?;
    let fits = |one: &&Registered| {
        is_same_place(&one.path, path) && named_by(&one.path).as_ref() != Some(&one.git_dir)
    };
    let mut fitting: Vec<&Registered> = all.iter().filter(fits).collect();
    if let Some(named) = named_by(path) {
        fitting.retain(|one| one.git_dir.file_name() == named.file_name());
    }
    match fitting[..] {
        [one] => Some(one.git_dir.clone()),
        _ => None,
    }
}

/// Administrative directory that a worktree points to, whether or not it exists.
pub(crate) fn named_by(path: &Path) -> Option<PathBuf> {
    let text = special_files::read(&path.join(".git")).ok()?;
    let named = path.join(path_of(text.strip_prefix(b"gitdir: ")?.trim_ascii_end()));
    Some(fs::canonicalize(&named).unwrap_or(named))
}

/// Whether both are a worktree with the same name in the same folder, which is named at random.
fn is_same_place(one: &Path, other: &Path) -> bool {
    let last_two = |path: &Path| -> Vec<_> {
        let names = path.iter().rev().take(2);
        names.map(OsStr::to_owned).collect()
    };
    last_two(one) == last_two(other)
}
