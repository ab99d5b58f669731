//! Takes agents' worktrees off the target branch and finds commits that an agent made on the
//! target.
//!
//! Invariant: no worktree of swarm stays on the target: its `HEAD` is detached at the commit, index
//! and files stay. An agent cannot be kept from moving the target; the worktree's log of `HEAD`
//! shows it, as far as the agent left that log.

use std::fs;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use git2::Oid;

use super::registry::Worktree;
use super::reset::HeadTo;
use crate::git::error::GitError;
use crate::git::landing::verify_tree::{CONTROL, VERIFY};
use crate::git::objects::names::shown;
use crate::git::repo::{Head, Repo};

/// Bytes read from the end of a worktree's log of `HEAD`.
const LOG_END: u64 = 256 * 1024;

/// Reflog actions that create a commit, unlike those that only check one out.
const MADE: &[&str] = &[
    "commit",
    "merge",
    "cherry-pick",
    "revert",
    "rebase",
    "pull",
    "am",
];

/// The target's commit was made in a worktree of swarm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stray {
    /// Name of the worktree.
    pub worktree: String,
    /// The target's commit.
    pub commit: Oid,
}

impl Repo {
    /// Takes swarm's worktrees off the target branch; returns the worktree in which the target's
    /// commit was made, if any. A worktree that git is using now is left for the next call.
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
                tracing::warn!(%error, worktree = worktree.name, "cannot take this worktree \
                    off the target branch yet");
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

    /// Worktrees of attempts. Names that start with a dot belong to no agent, nor do `verify` and
    /// `control`.
    pub(crate) fn worktrees_of_agents(&self) -> Result<Vec<Worktree>, GitError> {
        let ours = self.worktrees_folder();
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
        Ok(each
            .filter(|one| !one.name.starts_with('.') && ![VERIFY, CONTROL].contains(&&*one.name))
            .collect())
    }
}

/// Whether the worktree's log of `HEAD` says that the commit was made there. False if there is no
/// log.
fn made(git_dir: &Path, commit: Oid) -> bool {
    commits_made(git_dir).contains(&commit)
}

/// Commits that a repository's log of `HEAD` says were made there.
pub(super) fn commits_made(git_dir: &Path) -> Vec<Oid> {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = fs::File::open(git_dir.join("logs").join("HEAD"))?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(LOG_END)))?;
        let mut end = Vec::new();
        file.take(LOG_END).read_to_end(&mut end)?;
        Ok(end)
    };
    let end = read().unwrap_or_default();
    let end = String::from_utf8_lossy(&end);
    let made = end.lines().filter_map(|line| {
        let (who, what) = line.split_once('\t').unwrap_or((line, ""));
        let is_made = MADE.iter().any(|word| what.starts_with(word));
        Oid::from_str(who.split(' ').nth(1).filter(|_| is_made)?).ok()
    });
    made.collect()
}
