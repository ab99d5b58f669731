//! Two marks in a worktree's administrative directory: the branch of the attempt it was prepared
//! for, and whether it is cold, that is, without the ignored files of its last use.
//!
//! Invariant: a worktree is marked cold before it loses ignored files, and stays so until a run
//! starts in it: by then the log has the outcome that reported it. A mark that an agent forged is
//! good for nothing but saving its own work under another name.

use std::fs;
use std::io::Write as _;

use crate::git::error::{At, GitError};
use crate::git::exec::special_files;
use crate::git::objects::names::branch_ref;
use crate::git::repo::{Head, Repo};
use crate::git::worktree::registry::{Found, Worktree};
use crate::remove;

const OWNER: &str = "swarm-attempt";
const COLD: &str = "swarm-cold";

impl Worktree {
    /// Branch of the attempt that it was prepared for, or `verify`; `None` if no mark says so, as
    /// in a new worktree.
    pub(crate) fn owner(&self) -> Option<String> {
        let text = special_files::read(&self.git_dir.join(OWNER)).ok()?;
        let owner = String::from_utf8(text).ok()?;
        branch_ref(&owner).is_ok().then_some(owner)
    }

    /// The owner; without a mark, the branch checked out, if it is an attempt's.
    pub(crate) fn attempt(&self, repo: &Repo) -> Option<String> {
        let checked_out = || match self.head(repo) {
            Ok(Head::Branch(branch)) if branch.starts_with("agent/") => Some(branch),
            Ok(Head::Branch(_) | Head::Detached(_)) | Err(_) => None,
        };
        self.owner().or_else(checked_out)
    }

    pub(crate) fn set_owner(&self, branch: &str) -> Result<(), GitError> {
        self.mark(OWNER, branch)
    }

    pub(crate) fn mark_cold(&self) -> Result<(), GitError> {
        self.mark(COLD, "")
    }

    /// Whether it still has the ignored files of its last use.
    pub(crate) fn is_warm(&self) -> bool {
        fs::symlink_metadata(self.git_dir.join(COLD)).is_err()
    }

    /// Writes a mark in one step. An agent may have put anything in its place, such as a link.
    fn mark(&self, name: &str, text: &str) -> Result<(), GitError> {
        let (path, new) = (
            self.git_dir.join(name),
            self.git_dir.join(format!("{name}.new")),
        );
        remove::tree_if_there(&new).at("delete", &new)?;
        let file = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&new);
        file.and_then(|mut file| file.write_all(text.as_bytes()))
            .at("write", &new)?;
        if fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_dir()) {
            remove::tree(&path).at("delete", &path)?;
        }
        fs::rename(&new, &path).at("write", &path)
    }
}

impl Repo {
    /// Notes that a run is about to start in this worktree: from now on it counts as warm.
    pub fn note_use(&self, name: &str) -> Result<(), GitError> {
        if let Found::Ours(worktree) = self.look_up(name)? {
            let mark = worktree.git_dir.join(COLD);
            remove::tree_if_there(&mark).at("delete", &mark)?;
        }
        Ok(())
    }

    /// The agents' worktrees, each with the branch of its attempt.
    pub fn attempts_in_worktrees(&self) -> Result<Vec<(String, String)>, GitError> {
        let each = self.worktrees_of_agents()?.into_iter();
        Ok(each
            .filter_map(|one| Some((one.name.clone(), one.attempt(self)?)))
            .collect())
    }
}
