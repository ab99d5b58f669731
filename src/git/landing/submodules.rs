//! Moves the submodules of a person's checkout to the commits that a landing or a rollback records.
//!
//! Invariant: nothing is fetched and nothing of the person's changes. A submodule follows only if
//! it is clean and at the commit that was recorded before, its repository has the new commit, and
//! its configuration runs no program. Any other stays, and [`Repo::submodules_behind`] names it.
//! Called when the branch has moved, and again by the next start after a kill.

use std::path::{Path, PathBuf};

use super::checkout_sync::Move;
use crate::git::error::GitError;
use crate::git::exec::command::Git;
use crate::git::exec::config_guard::Guard;
use crate::git::objects::names::{path_of, quoted, shown};
use crate::git::repo::Repo;
use crate::git::store::format::SUBMODULE;
use crate::git::worktree::registry::Worktree;
use crate::git::worktree::relocated::named_by;
use crate::git::worktree::submodules::is_below;

/// Mode of a tree's entry for a commit of another repository.
const LINK: &[u8] = b"160000";

/// Something in a person's checkout or repository that swarm leaves to them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// What is wrong, and what follows from it.
    pub what: String,
    /// The command that ends it.
    pub way_out: String,
}

/// The repository of a submodule and its folder.
struct Submodule {
    git_dir: PathBuf,
    folder: PathBuf,
}

/// A submodule whose recorded commit changes.
struct MovedLink {
    path: PathBuf,
    old: String,
    new: String,
}

impl Repo {
    /// Moves the submodules that the step moves. One that cannot follow stays where it is.
    pub(crate) fn follow_submodules(&self, checkout: &Worktree, step: Move<'_>) {
        let (old, new) = (step.old.to_string(), step.new.to_string());
        if let Err(error) = self.move_links(self.git(), &checkout.path, (&old, &new)) {
            let checkout = shown(&checkout.path);
            tracing::warn!(checkout, %error, "a submodule could not follow");
        }
    }

    /// Submodules that are not at the commit that the index records: in each checkout of this
    /// branch, or in each checkout of a person.
    pub fn submodules_behind(&self, branch: Option<&str>) -> Result<Vec<Leftover>, GitError> {
        let checkouts = match branch {
            Some(branch) => self.checkouts_of(branch)?,
            None => self.peoples_checkouts()?,
        };
        let mut found = Vec::new();
        for checkout in checkouts {
            for (path, recorded) in self.recorded_links(&checkout)? {
                let Some(submodule) = Submodule::at(&checkout.path, &path) else {
                    continue;
                };
                if let Some(why) = self.behind(&submodule, &recorded)? {
                    found.push(leftover(&checkout, &path, &recorded, why));
                }
            }
        }
        Ok(found)
    }

    /// Moves what changes between the two commits of the repository that `git` works on.
    fn move_links(
        &self,
        git: Git<'_>,
        root: &Path,
        (old, new): (&str, &str),
    ) -> Result<(), GitError> {
        let words = [
            "diff-tree",
            "-r",
            "-z",
            "--raw",
            "--no-renames",
            "--no-abbrev",
        ];
        let output = git.args(words).args([old, new]).ok()?;
        let pieces: Vec<&[u8]> = output.pieces().collect();
        for link in pieces.chunks_exact(2).filter_map(moved_link) {
            if let Some(submodule) = Submodule::at(root, &link.path) {
                self.move_submodule(&submodule, &link)?;
            }
        }
        Ok(())
    }

    fn move_submodule(&self, submodule: &Submodule, link: &MovedLink) -> Result<(), GitError> {
        let Submodule { git_dir, folder } = submodule;
        let head = self.submodule_head(submodule)?;
        if head.as_deref() != Some(&*link.old)
            || !self.submodule_has(submodule, &link.new)?
            || self.submodule_is_dirty(submodule)?
            || runs_programs(git_dir)?
        {
            return Ok(());
        }
        let words = ["checkout", "--quiet", "--detach", &link.new];
        self.git_at(git_dir, folder).long().args(words).ok()?;
        let inside = self.git_at(git_dir, folder);
        self.move_links(inside, folder, (&link.old, &link.new))
    }

    /// Submodules that the index of a checkout records, each with its commit.
    fn recorded_links(&self, checkout: &Worktree) -> Result<Vec<(PathBuf, String)>, GitError> {
        if !checkout.path.join(".gitmodules").exists() {
            return Ok(Vec::new());
        }
        let entries = self.index(checkout)?.unwrap_or_default().into_iter();
        let links = entries.filter(|entry| entry.mode == SUBMODULE && entry.stage == 0);
        Ok(links
            .map(|entry| (entry.path, entry.id.to_string()))
            .collect())
    }

    /// Why a submodule is not at the recorded commit; `None` if it is.
    fn behind(
        &self,
        submodule: &Submodule,
        recorded: &str,
    ) -> Result<Option<&'static str>, GitError> {
        if self.submodule_head(submodule)?.as_deref() == Some(recorded) {
            return Ok(None);
        }
        Ok(Some(if !self.submodule_has(submodule, recorded)? {
            "its repository does not have that commit yet"
        } else if self.submodule_is_dirty(submodule)? {
            "it has uncommitted changes"
        } else {
            "somebody has moved it"
        }))
    }

    fn submodule_head(&self, submodule: &Submodule) -> Result<Option<String>, GitError> {
        let words = ["rev-parse", "--quiet", "--verify", "HEAD^{commit}"];
        let asked = self.in_submodule(submodule).args(words).run()?;
        let head = String::from_utf8_lossy(asked.line()).into_owned();
        Ok((asked.code == 0).then_some(head))
    }

    fn submodule_has(&self, submodule: &Submodule, commit: &str) -> Result<bool, GitError> {
        let commit = format!("{commit}^{{commit}}");
        let words = ["cat-file", "-e", &commit];
        Ok(self.in_submodule(submodule).args(words).run()?.code == 0)
    }

    fn submodule_is_dirty(&self, submodule: &Submodule) -> Result<bool, GitError> {
        let words = ["status", "--porcelain", "-z", "--untracked-files=no"];
        let asked = self
            .in_submodule(submodule)
            .env("GIT_OPTIONAL_LOCKS", "0")
            .args(words)
            .arg("--ignore-submodules=none")
            .ok()?;
        Ok(!asked.stdout.is_empty())
    }

    fn in_submodule(&self, submodule: &Submodule) -> Git<'_> {
        self.git_at(&submodule.git_dir, &submodule.folder)
    }
}

impl Submodule {
    /// The submodule at a path of a checkout, if it is checked out there.
    fn at(root: &Path, path: &Path) -> Option<Self> {
        let folder = root.join(path);
        if !is_below(root, path) {
            return None;
        }
        let inside = folder.join(".git");
        let git_dir = if inside.is_dir() {
            inside
        } else {
            named_by(&folder)?
        };
        let git_dir = git_dir.join("HEAD").is_file().then_some(git_dir)?;
        Some(Self { git_dir, folder })
    }
}

/// A submodule of `:<mode> <mode> <commit> <commit> M` and its path, where both modes are links.
fn moved_link(pair: &[&[u8]]) -> Option<MovedLink> {
    let mut words = pair[0].strip_prefix(b":")?.split(|byte| *byte == b' ');
    let modes = [words.next()?, words.next()?];
    let mut commit = || Some(String::from_utf8_lossy(words.next()?).into_owned());
    (modes == [LINK, LINK]).then_some(MovedLink {
        old: commit()?,
        new: commit()?,
        path: path_of(pair[1]),
    })
}

/// Whether its configuration, which agents can change, has a setting that runs a program.
fn runs_programs(git_dir: &Path) -> Result<bool, GitError> {
    let guard = Guard::new(git_dir, false, Some(Vec::new()), &[])?;
    let found = guard.unpinned(git_dir)?;
    // Git itself writes these two into the configuration of a submodule.
    let usual = ["core.worktree", "core.bare"];
    Ok(found.iter().any(|(key, _)| !usual.contains(&key.as_str())))
}

fn leftover(checkout: &Worktree, path: &Path, recorded: &str, why: &str) -> Leftover {
    let root = quoted(&checkout.path);
    Leftover {
        what: format!(
            "the submodule {} in {} is not at the recorded commit {recorded:.10}: {why}",
            shown(path),
            shown(&checkout.path)
        ),
        way_out: format!("git -C {root} submodule update -- {}", quoted(path)),
    }
}
