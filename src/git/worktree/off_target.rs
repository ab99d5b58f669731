//! Worktrees of agents that have the target branch checked out, and commits that got onto the
//! target from there.
//!
//! Invariant: a worktree of ours is never left on the target: its `HEAD` is set to the commit,
//! index and files stay as they are. That an agent moves the target itself cannot be prevented; it
//! is found out by what git noted of its worktree, as far as the agent left that.

use std::fs;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use git2::Oid;

use super::registry::Worktree;
use super::reset::HeadTo;
use crate::git::error::GitError;
use crate::git::objects::names::shown;
use crate::git::repo::{Head, Repo};

/// How much of the end of a worktree's log of `HEAD` is looked at, in bytes.
const LOG_END: u64 = 256 * 1024;

/// What git writes into the log of `HEAD` when a commit is made, in contrast to one that is only
/// gone to.
const MADE: &[&str] = &[
    "commit",
    "merge",
    "cherry-pick",
    "revert",
    "rebase",
    "pull",
    "am",
];

/// The target is at a commit that was made in a worktree of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stray {
    /// The worktree's name.
    pub worktree: String,
    /// The commit.
    pub commit: Oid,
}

impl Repo {
    /// Takes the worktrees of ours off the target branch, and says in which of them its present
    /// commit was made, if in one. A worktree that cannot be taken off it now (its git is at work)
    /// is left to the next time.
    pub fn off_target(&self, target: &str) -> Result<Option<Stray>, GitError> {
        let Some(tip) = self.branch_commit(target)? else {
            return Ok(None);
        };
        let mut stray = None;
        for worktree in self.worktrees_of_agents()? {
            let on_it = worktree
                .head()
                .is_ok_and(|head| head == Head::Branch(target.to_owned()));
            if on_it && let Err(error) = worktree.set_head(&HeadTo::Detached(tip)) {
                tracing::warn!(%error, worktree = worktree.name, "it stays on the target branch \
                    for now");
            }
            if made(&worktree.git_dir, tip) {
                stray = Some(Stray {
                    worktree: worktree.name,
                    commit: tip,
                });
            }
        }
        Ok(stray)
    }

    /// Those of attempts: what begins with a dot is no agent's.
    fn worktrees_of_agents(&self) -> Result<Vec<Worktree>, GitError> {
        let ours = self.worktrees_dir()?;
        let each = self.registered()?.into_iter();
        let each = each.filter(|one| one.path.parent() == Some(&ours));
        let each = each.map(|one| Worktree {
            name: one
                .path
                .file_name()
                .map_or_else(String::new, |name| shown(Path::new(name))),
            path: one.path,
            git_dir: one.git_dir,
        });
        Ok(each.filter(|one| !one.name.starts_with('.')).collect())
    }
}

/// Whether the worktree's log of `HEAD` says that the commit was made there. A log that is not
/// there says nothing.
fn made(git_dir: &Path, commit: Oid) -> bool {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = fs::File::open(git_dir.join("logs").join("HEAD"))?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(LOG_END)))?;
        let mut end = Vec::new();
        file.take(LOG_END).read_to_end(&mut end)?;
        Ok(end)
    };
    let commit = commit.to_string();
    let end = read().unwrap_or_default();
    String::from_utf8_lossy(&end).lines().any(|line| {
        let (who, what) = line.split_once('\t').unwrap_or((line, ""));
        who.split(' ').nth(1) == Some(&commit) && MADE.iter().any(|word| what.starts_with(word))
    })
}
