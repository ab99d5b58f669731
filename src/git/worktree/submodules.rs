//! Submodules of a worktree. Git keeps their repositories in the worktree's administrative
//! directory, so they end with it.
//!
//! Invariant: an idea, and each check of a merged tree, finds no checkout of a submodule, as in a
//! new worktree. A release first gives a submodule with work of its own its repository back: `.git`
//! becomes a directory, and `nested_repos` keeps both. swarm never commits a moved submodule, since
//! the checkout may only be older than the branch.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::nested_repos::search;
use super::registry::Worktree;
use super::relocated::named_by;
use crate::crash;
use crate::git::error::{At, GitError};
use crate::git::repo::Repo;
use crate::git::store::format::SUBMODULE;
use crate::git::store::index::{IndexEntry, entries};
use crate::git::store::oid::Oid;
use crate::remove;

/// Directory of the submodules' repositories.
const MODULES: &str = "modules";
/// A repository on its way into its checkout.
const INCOMING: &str = ".git-swarm";

/// Where the repository of a submodule lies.
enum Place {
    /// In the administrative directory.
    Apart(PathBuf),
    /// In the checkout, or on its way there.
    Inside,
}

impl Worktree {
    /// Removes the repositories of submodules, after their checkouts.
    pub(crate) fn discard_modules(&self) -> Result<(), GitError> {
        crash::point("git.reset.before-modules");
        let modules = self.git_dir.join(MODULES);
        remove::tree_if_there(&modules).at("delete", &modules)
    }
}

impl Repo {
    /// Submodules that the worktree's index records, each with its commit.
    pub fn submodules(&self, name: &str) -> Result<Vec<(PathBuf, Oid)>, GitError> {
        self.links(&self.worktree(name)?)
    }

    /// Submodules with a checkout, which swarm leaves out of its commits. One in conflict is not
    /// among them.
    pub(crate) fn checked_out_submodules(
        &self,
        worktree: &Worktree,
    ) -> Result<Vec<PathBuf>, GitError> {
        let there = |path: &PathBuf| fs::symlink_metadata(worktree.path.join(path).join(".git"));
        let paths = self.links(worktree)?.into_iter().map(|(path, _)| path);
        Ok(paths.filter(|path| there(path).is_ok()).collect())
    }

    /// Whether a submodule has work that exists nowhere else.
    pub(crate) fn has_submodule_work(&self, worktree: &Worktree) -> bool {
        let (tree, git_dir) = (&worktree.path, &worktree.git_dir);
        let modules = git_dir.join(MODULES);
        modules.is_dir()
            && (self.any_holds_work(tree, git_dir) || !self.with_commits(&modules).is_empty())
    }

    /// Removes the checkouts of submodules, which the setup makes again.
    pub(crate) fn clear_submodules(&self, worktree: &Worktree) -> Result<(), GitError> {
        if fs::symlink_metadata(worktree.git_dir.join(MODULES)).is_ok() {
            worktree.mark_cold()?;
        }
        for (path, _) in self.links(worktree)? {
            let checkout = worktree.path.join(&path);
            if !is_below(&worktree.path, &path) {
                let why = std::io::ErrorKind::NotADirectory.into();
                return Err(GitError::io("clear", &checkout, why));
            }
            if fs::read_dir(&checkout).is_ok_and(|mut all| all.next().is_none()) {
                continue;
            }
            worktree.mark_cold()?;
            remove::tree_if_there(&checkout).at("delete", &checkout)?;
            fs::create_dir(&checkout).at("make", &checkout)?;
        }
        Ok(())
    }

    /// Submodules that the index of a worktree records; none if the index is damaged.
    fn links(&self, worktree: &Worktree) -> Result<Vec<(PathBuf, Oid)>, GitError> {
        Ok(links(self.index(worktree)?.unwrap_or_default()))
    }

    /// Prepares the submodules with work that exists nowhere else to be kept with the nested
    /// repositories. Those without a checkout are kept at once.
    pub(crate) fn embed_submodules(
        &self,
        worktree: &Worktree,
        attempt: &str,
    ) -> Result<(), GitError> {
        if !worktree.git_dir.join(MODULES).is_dir() {
            return Ok(());
        }
        for (checkout, place) in self.submodules_in(&worktree.path, &worktree.git_dir) {
            match place {
                Place::Inside => finish_embedding(&checkout)?,
                Place::Apart(repository) if self.holds_work(&checkout, &repository) => {
                    self.embed(&checkout, &repository)?;
                }
                Place::Apart(_) => {}
            }
        }
        self.keep_modules(&worktree.git_dir, attempt)
    }

    /// Keeps the repositories of submodules with commits that exist nowhere else.
    pub(crate) fn keep_modules(&self, git_dir: &Path, attempt: &str) -> Result<(), GitError> {
        let modules = git_dir.join(MODULES);
        for repository in self.with_commits(&modules) {
            let name = repository.strip_prefix(&modules).unwrap_or(&repository);
            let mut name = name.as_os_str().to_owned();
            name.push(".git");
            self.forget_work_tree(&repository)?;
            let to = self.free_place(attempt, Path::new(&name))?;
            crash::point("git.release.before-module");
            fs::rename(&repository, &to).at("rename", &repository)?;
        }
        Ok(())
    }
}

/// The submodules among the entries of an index; one in conflict is none.
fn links(entries: Vec<IndexEntry>) -> Vec<(PathBuf, Oid)> {
    let entries = entries.into_iter();
    let links = entries.filter(|entry| entry.mode == SUBMODULE && entry.stage == 0);
    let links = links.map(|entry| (entry.path, entry.id));
    links.filter(|(path, _)| is_inside(path)).collect()
}

fn is_inside(path: &Path) -> bool {
    let mut parts = path.components();
    parts.all(|part| matches!(part, Component::Normal(_)))
}

/// Whether every folder on the way from `root` to `path` is a real one.
pub(crate) fn is_below(root: &Path, path: &Path) -> bool {
    let above = path.ancestors().skip(1).map(|folder| root.join(folder));
    let is_folder = |path: PathBuf| fs::symlink_metadata(path).is_ok_and(|there| there.is_dir());
    above.into_iter().all(is_folder)
}

impl Repo {
    /// Checkouts of submodules in a tree, with their repositories.
    fn submodules_in(&self, tree: &Path, git_dir: &Path) -> Vec<(PathBuf, Place)> {
        let recorded = entries(self.git_at(git_dir, tree)).ok().flatten();
        let paths = if let Some(recorded) = recorded {
            links(recorded).into_iter().map(|(path, _)| path).collect()
        } else {
            let mut found = Vec::new();
            search(tree, Path::new(""), &mut found, &|there| there.is_file());
            found
        };
        let Ok(modules) = fs::canonicalize(git_dir.join(MODULES)) else {
            return Vec::new();
        };
        let is_dir = |path: PathBuf| fs::symlink_metadata(path).is_ok_and(|there| there.is_dir());
        let paths = paths.into_iter().filter(|path| is_below(tree, path));
        let each = paths.map(|path| tree.join(path)).filter_map(|checkout| {
            if is_dir(checkout.join(INCOMING)) || is_dir(checkout.join(".git")) {
                return Some((checkout, Place::Inside));
            }
            let repository = named_by(&checkout).filter(|named| named.starts_with(&modules))?;
            Some((checkout, Place::Apart(repository)))
        });
        each.collect()
    }

    fn any_holds_work(&self, tree: &Path, git_dir: &Path) -> bool {
        let mut all = self.submodules_in(tree, git_dir).into_iter();
        all.any(|(checkout, place)| match place {
            Place::Inside => true,
            Place::Apart(repository) => self.holds_work(&checkout, &repository),
        })
    }

    /// Whether a submodule, or one inside it, has commits or files that exist nowhere else. What
    /// cannot be read might be work.
    fn holds_work(&self, checkout: &Path, repository: &Path) -> bool {
        self.has_commits(repository).unwrap_or(true)
            || self.is_dirty(checkout, repository).unwrap_or(true)
            || self.any_holds_work(checkout, repository)
    }

    /// Whether a commit was made here that no remote-tracking branch contains. A commit that was
    /// only checked out came from elsewhere, perhaps by a tag.
    fn has_commits(&self, repository: &Path) -> Result<bool, GitError> {
        let git = || self.git_at(repository, repository);
        let mut tips = Vec::new();
        for commit in self.commits_made(repository, repository)? {
            let asked = git().args(["cat-file", "-e"]);
            if asked.arg(format!("{commit}^{{commit}}")).run()?.code == 0 {
                tips.push(commit.to_string());
            }
        }
        let stash = ["rev-parse", "--verify", "--quiet", "refs/stash"];
        if git().args(stash).run()?.code == 0 {
            tips.push("refs/stash".into());
        }
        let words = ["rev-list", "--max-count=1", "--branches"];
        let beyond = git()
            .args(words)
            .args(tips)
            .args(["--not", "--remotes"])
            .ok()?;
        Ok(!beyond.line().is_empty())
    }

    fn is_dirty(&self, checkout: &Path, repository: &Path) -> Result<bool, GitError> {
        let git = self
            .git_at(repository, checkout)
            .env("GIT_OPTIONAL_LOCKS", "0");
        let words = [
            "status",
            "--porcelain",
            "--untracked-files=all",
            "--ignore-submodules=all",
        ];
        Ok(!git.args(words).ok()?.line().is_empty())
    }

    /// Repositories below `folder` with commits that exist nowhere else.
    fn with_commits(&self, folder: &Path) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            if !path.join("HEAD").is_file() || !path.join("objects").is_dir() {
                // The name of a submodule may have several parts.
                found.extend(self.with_commits(&path));
            } else if self.has_commits(&path).unwrap_or(true) {
                found.push(path);
            } else {
                found.extend(self.with_commits(&path.join(MODULES)));
            }
        }
        found
    }

    /// Moves a submodule's repository into its checkout, and those of the submodules inside it.
    fn embed(&self, checkout: &Path, repository: &Path) -> Result<(), GitError> {
        for (checkout, place) in self.submodules_in(checkout, repository) {
            match place {
                Place::Inside => finish_embedding(&checkout)?,
                Place::Apart(repository) => self.embed(&checkout, &repository)?,
            }
        }
        self.forget_work_tree(repository)?;
        let incoming = checkout.join(INCOMING);
        if fs::symlink_metadata(&incoming).is_ok_and(|there| !there.is_dir()) {
            remove::file(&incoming).at("delete", &incoming)?;
        }
        crash::point("git.release.before-embedding");
        fs::rename(repository, &incoming).at("rename", repository)?;
        crash::point("git.release.embedding");
        finish_embedding(checkout)
    }

    /// Makes git look for the files beside the repository again.
    fn forget_work_tree(&self, repository: &Path) -> Result<(), GitError> {
        let words = ["config", "--file"];
        let git = self.git().args(words).arg(repository.join("config"));
        let output = git.args(["--unset-all", "core.worktree"]).run()?;
        match output.code {
            // Git says 5 where there is no such setting.
            0 | 5 => Ok(()),
            _ => Err(output.failure()),
        }
    }
}

fn finish_embedding(checkout: &Path) -> Result<(), GitError> {
    let (incoming, place) = (checkout.join(INCOMING), checkout.join(".git"));
    let is_dir = |path: &Path| fs::symlink_metadata(path).is_ok_and(|there| there.is_dir());
    if is_dir(&incoming) && !is_dir(&place) {
        remove::file_if_there(&place).at("delete", &place)?;
        fs::rename(&incoming, &place).at("rename", &incoming)?;
    }
    Ok(())
}
