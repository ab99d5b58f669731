//! Ancestors, and the commits between two points.
//!
//! Invariant: reads only.

use super::oid::Oid;
use crate::git::error::GitError;
use crate::git::exec::command::Git;
use crate::git::repo::Repo;

impl Repo {
    /// Whether `ancestor` is `commit` or one of its ancestors. False if either commit is missing.
    pub fn contains(&self, commit: Oid, ancestor: Oid) -> Result<bool, GitError> {
        if commit == ancestor {
            return Ok(true);
        }
        if !self.has_commit(ancestor)? || !self.has_commit(commit)? {
            return Ok(false);
        }
        is_ancestor(self.git(), ancestor, commit)
    }

    /// Best common ancestor; `None` if the histories are unrelated.
    pub fn merge_base(&self, one: Oid, other: Oid) -> Result<Option<Oid>, GitError> {
        merge_base(self.git(), one, other)
    }

    /// Commits in `tip` but not in `base`, newest first, with their subjects.
    pub fn commits_between(&self, base: Oid, tip: Oid) -> Result<Vec<(Oid, String)>, GitError> {
        let commits = self.beyond(&[tip], &[base])?.into_iter();
        commits
            .map(|oid| Ok((oid, self.commit(oid)?.subject())))
            .collect()
    }

    /// Commits that these have and those do not, none before one that descends from it.
    pub(crate) fn beyond(&self, tips: &[Oid], without: &[Oid]) -> Result<Vec<Oid>, GitError> {
        if tips.is_empty() {
            return Ok(Vec::new());
        }
        let git = self.git().long().args(["rev-list", "--topo-order"]);
        let git = git.args(tips.iter().map(Oid::to_string));
        let output = git.args(without.iter().map(|oid| format!("^{oid}"))).ok()?;
        let lines = output.stdout.split(|byte| *byte == b'\n');
        Ok(lines.filter_map(Oid::from_hex).collect())
    }

    /// Number of commits in `tip` that are not in `base`.
    pub(crate) fn count_beyond(&self, base: Oid, tip: Oid) -> Result<usize, GitError> {
        let git = self.git().args(["rev-list", "--count"]);
        let output = git.arg(format!("{base}..{tip}")).ok()?;
        let text = String::from_utf8_lossy(output.line()).into_owned();
        text.parse().map_err(|_| GitError::Unreadable {
            command: "git rev-list --count",
            found: text,
        })
    }
}

/// Best common ancestor in the repository of this command.
pub(crate) fn merge_base(git: Git<'_>, one: Oid, other: Oid) -> Result<Option<Oid>, GitError> {
    let output = git
        .args(["merge-base", &one.to_string(), &other.to_string()])
        .run()?;
    match output.code {
        0 => super::objects::read_oid(&output).map(Some),
        1 => Ok(None),
        _ => Err(output.failure()),
    }
}

/// Whether one commit is an ancestor of the other in the repository of this command.
pub(crate) fn is_ancestor(git: Git<'_>, ancestor: Oid, commit: Oid) -> Result<bool, GitError> {
    let words = ["merge-base", "--is-ancestor"];
    let output = git
        .args(words)
        .args([ancestor.to_string(), commit.to_string()])
        .run()?;
    match output.code {
        0 => Ok(true),
        1 => Ok(false),
        _ => Err(output.failure()),
    }
}
