//! Operations of git that stop in the middle and wait for a person or an agent: a rebase, a merge.
//!
//! Invariant: they are known by the files that git keeps for them in the git directory of the
//! worktree, as `git status` knows them.

use std::path::Path;

use crate::git::objects::names::quoted;

/// An operation that is not finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Operation {
    /// The file that shows it.
    sign: &'static str,
    /// As people call it.
    pub(crate) name: &'static str,
    /// The words that end it.
    end: &'static str,
}

const fn operation(sign: &'static str, name: &'static str, end: &'static str) -> Operation {
    Operation { sign, name, end }
}

const ALL: [Operation; 7] = [
    operation(
        "rebase-merge",
        "rebase",
        "rebase --continue   # or: --abort",
    ),
    operation(
        "rebase-apply/applying",
        "am",
        "am --continue   # or: --abort",
    ),
    operation(
        "rebase-apply",
        "rebase",
        "rebase --continue   # or: --abort",
    ),
    operation("MERGE_HEAD", "merge", "merge --continue   # or: --abort"),
    operation(
        "CHERRY_PICK_HEAD",
        "cherry-pick",
        "cherry-pick --continue   # or: --abort",
    ),
    operation("REVERT_HEAD", "revert", "revert --continue   # or: --abort"),
    operation(BISECT, "bisect", "bisect reset"),
];

const BISECT: &str = "BISECT_LOG";

impl Operation {
    /// The one in progress in a git directory.
    pub(crate) fn in_progress(git_dir: &Path) -> Option<Self> {
        let mut all = ALL.into_iter();
        all.find(|one| git_dir.join(one.sign).exists())
    }

    /// The one in progress there that has changed the index or will commit; a bisect does neither.
    pub(crate) fn of_commits(git_dir: &Path) -> Option<Self> {
        Self::in_progress(git_dir).filter(|one| one.sign != BISECT)
    }

    /// Whether it is a rebase, whose commits are not yet on its branch.
    pub(crate) fn is_rebase(self) -> bool {
        self.sign.starts_with("rebase-")
    }

    /// The command that ends it in this worktree.
    pub(crate) fn end_in(self, worktree: &Path) -> String {
        format!("git -C {} {}", quoted(worktree), self.end)
    }
}
