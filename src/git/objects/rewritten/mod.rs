//! Finds landed work in a rewritten history: after `git pull --rebase`, a squash, a cherry-pick, an
//! amended merge or a reset.
//!
//! Invariant: moves nothing, and never takes missing work for landed. Work is there if one commit
//! has its whole patch, if every own commit of it has an equal one, or if a tree of the new history
//! already contains the change. Called when the target no longer contains its last known commit.

mod patch_ids;

use std::collections::{HashMap, HashSet};

use crate::git::Oid;
use crate::git::error::GitError;
use crate::git::objects::names::printable;
use crate::git::repo::Repo;
use patch_ids::{Commit, FORMAT, PATCH, PatchId, parse_log, patch_id};

/// At most so many commits of the new history are compared, the newest ones.
const MOST_COMMITS: &str = "--max-count=10000";

/// Who writes the commits with which trees are compared; no reference ever names them.
const NOBODY: [(&str, &str); 6] = [
    ("GIT_AUTHOR_NAME", "swarm"),
    ("GIT_AUTHOR_EMAIL", "swarm@localhost"),
    ("GIT_AUTHOR_DATE", "@0 +0000"),
    ("GIT_COMMITTER_NAME", "swarm"),
    ("GIT_COMMITTER_EMAIL", "swarm@localhost"),
    ("GIT_COMMITTER_DATE", "@0 +0000"),
];

/// Where the target has the work of an idea.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Landing {
    /// The commit with which all of it is there.
    pub commit: Oid,
    /// The commit before the first one of it; `None` if `commit` is a merge, which brought it.
    pub since: Option<Oid>,
}

/// Commits of the new history that the old one lacks.
struct Rewritten {
    old: Oid,
    new: Oid,
    /// Newest first, none before one that descends from it.
    commits: Vec<Commit>,
    /// The newest commit with this patch.
    by_patch: HashMap<PatchId, usize>,
    /// The line of first parents, oldest first.
    line: Vec<usize>,
}

impl Repo {
    /// Those of these commits that `old` contains and `new` does not. All that `new` lacks if `old`
    /// is not here, as in a clone that never had it.
    pub fn commits_gone(
        &self,
        commits: &HashSet<Oid>,
        (old, new): (Oid, Oid),
    ) -> Result<HashSet<Oid>, GitError> {
        if commits.is_empty() {
            return Ok(HashSet::new());
        }
        if self.tree_of(old).is_err() {
            let there = self.ids(&["rev-list", &new.to_string()])?;
            let there: HashSet<Oid> = there.into_iter().collect();
            return Ok(commits.difference(&there).copied().collect());
        }
        let gone = self.ids(&["rev-list", &old.to_string(), &format!("^{new}")])?;
        Ok(gone.into_iter().filter(|it| commits.contains(it)).collect())
    }

    /// Where the new history has each of these landings of the old one, in their order; `None` if
    /// it lacks the work, or if the old history is not here to compare with.
    pub fn find_landings(
        &self,
        (old, new): (Oid, Oid),
        landings: &[Landing],
    ) -> Result<Vec<Option<Landing>>, GitError> {
        if landings.is_empty() || self.tree_of(old).is_err() {
            return Ok(vec![None; landings.len()]);
        }
        let history = self.rewritten(old, new)?;
        let find = |landing| self.find_landing(&history, landing);
        landings.iter().map(find).collect()
    }

    /// Whether `tip` has every change that `other` made since their histories parted.
    pub fn contains_changes(&self, tip: Oid, other: Oid) -> Result<bool, GitError> {
        let output = self
            .git()
            .long()
            .attributes_of(tip)
            .args(["merge-tree", "--write-tree"])
            .args([tip.to_string(), other.to_string()])
            .run()?;
        // Any other code: a conflict, or histories that have nothing in common.
        let tree = output.stdout.split(|byte| *byte == b'\n').next();
        let same = self.tree_of(tip)?.to_string();
        Ok(output.code == 0 && tree == Some(same.as_bytes()))
    }

    fn find_landing(
        &self,
        history: &Rewritten,
        landing: &Landing,
    ) -> Result<Option<Landing>, GitError> {
        if self.contains(history.new, landing.commit)? {
            return Ok(Some(*landing));
        }
        let base = match landing.since {
            Some(since) => Some(since),
            None => self.parents(landing.commit)?.first().copied(),
        };
        let Some(base) = base else {
            return Ok(None);
        };
        match self.find_patches(history, landing.commit, base)? {
            Some(found) => Ok(Some(found)),
            None => self.find_change(history, landing.commit, base),
        }
    }

    /// By its whole patch, as a squash or a cherry-pick of the merge has it, or by the patches of
    /// its commits.
    fn find_patches(
        &self,
        history: &Rewritten,
        commit: Oid,
        base: Oid,
    ) -> Result<Option<Landing>, GitError> {
        let whole = self.patch_between(base, commit)?;
        if let Some(at) = whole.and_then(|patch| history.by_patch.get(&patch)) {
            return Ok(history.landing(&[*at]));
        }
        let range = [commit.to_string(), format!("^{base}")];
        let own = self.log(&["--no-merges", &range[0], &range[1]])?;
        let patches = own.iter().filter_map(|it| it.patch);
        let found = patches.map(|patch| history.by_patch.get(&patch).copied());
        let found = found.collect::<Option<Vec<usize>>>();
        let Some(found) = found.and_then(|found| history.landing(&found)) else {
            return Ok(None);
        };
        // A merge among them may have resolved a conflict, and its patch is in none of them.
        let merges = self.ids(&["rev-list", "--merges", &range[0], &range[1]])?;
        let linear = merges.iter().all(|merge| *merge == commit);
        let kept = linear || self.has_change(found.commit, base, commit)?;
        Ok(kept.then_some(found))
    }

    /// By the trees: several ideas may have become one commit, or a conflict was resolved.
    fn find_change(
        &self,
        history: &Rewritten,
        commit: Oid,
        base: Oid,
    ) -> Result<Option<Landing>, GitError> {
        if self.has_change(history.new, base, commit)? {
            let has = |at| self.has_change(at, base, commit);
            return self.first_with(history, has).map(Some);
        }
        let tree = self.tree_of(commit)?;
        let mut line = history.line.iter().rev();
        if let Some(at) = line.find(|at| history.commits[**at].tree == tree) {
            return Ok(history.landing(&[*at]));
        }
        // Later landings may have changed the same lines.
        if self.contains_changes(history.new, history.old)? {
            let has = |at| self.contains_changes(at, history.old);
            return self.first_with(history, has).map(Some);
        }
        Ok(None)
    }

    /// The first commit on the line with this property, which the newest one has.
    fn first_with(
        &self,
        history: &Rewritten,
        has: impl Fn(Oid) -> Result<bool, GitError>,
    ) -> Result<Landing, GitError> {
        let (mut low, mut high) = (0, history.line.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            if has(history.commits[history.line[middle]].id)? {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        let first = history.line.get(low);
        if let Some(found) = first.and_then(|at| history.landing(&[*at])) {
            return Ok(found);
        }
        let parents = self.parents(history.new)?;
        Ok(Landing {
            commit: history.new,
            since: if let [one] = parents[..] {
                Some(one)
            } else {
                None
            },
        })
    }

    /// Whether the tree of `at` already contains the change from `base` to `commit`.
    fn has_change(&self, at: Oid, base: Oid, commit: Oid) -> Result<bool, GitError> {
        // `merge-tree --merge-base` needs git 2.40. A commit with the wanted parent works with
        // every supported git.
        let git = self.git().args(["commit-tree", "-m", "compare", "-p"]);
        let git = git.args([base.to_string(), format!("{at}^{{tree}}")]);
        let git = NOBODY
            .iter()
            .fold(git, |git, (name, value)| git.env(name, value));
        let output = git.ok()?;
        let probe = ids_in(&output.stdout);
        match probe.as_deref() {
            Some([probe]) => self.contains_changes(*probe, commit),
            _ => Err(unreadable("git commit-tree", &output.stdout)),
        }
    }

    fn rewritten(&self, old: Oid, new: Oid) -> Result<Rewritten, GitError> {
        let range = [new.to_string(), format!("^{old}")];
        let merges = "--diff-merges=first-parent";
        let commits = self.log(&[MOST_COMMITS, "--topo-order", merges, &range[0], &range[1]])?;
        let mut by_patch = HashMap::new();
        let mut place = HashMap::new();
        for (at, commit) in commits.iter().enumerate() {
            place.insert(commit.id, at);
            if let Some(patch) = commit.patch {
                by_patch.entry(patch).or_insert(at);
            }
        }
        let mut line = Vec::new();
        let mut next = place.get(&new);
        while let Some(at) = next {
            line.push(*at);
            let parent = commits[*at].parents.first();
            next = parent.and_then(|parent| place.get(parent));
        }
        line.reverse();
        Ok(Rewritten {
            old,
            new,
            commits,
            by_patch,
            line,
        })
    }

    fn log(&self, what: &[&str]) -> Result<Vec<Commit>, GitError> {
        let git = self.git().long().args(["log", FORMAT]);
        let output = git.args(PATCH).args(what).ok()?;
        parse_log(&output.stdout).ok_or_else(|| unreadable("git log --patch", &output.stdout))
    }

    fn patch_between(&self, from: Oid, to: Oid) -> Result<Option<PatchId>, GitError> {
        let git = self.git().long().arg("diff").args(PATCH);
        let output = git.args([from.to_string(), to.to_string()]).ok()?;
        Ok(patch_id(&output.stdout))
    }

    fn parents(&self, commit: Oid) -> Result<Vec<Oid>, GitError> {
        let commit = commit.to_string();
        let ids = self.ids(&["rev-list", "--parents", "--max-count=1", &commit])?;
        Ok(ids.into_iter().skip(1).collect())
    }

    /// The ids that git prints.
    fn ids(&self, words: &[&str]) -> Result<Vec<Oid>, GitError> {
        let output = self.git().long().args(words).ok()?;
        ids_in(&output.stdout).ok_or_else(|| unreadable("git rev-list", &output.stdout))
    }
}

impl Rewritten {
    /// Where work lies that has become these commits.
    fn landing(&self, found: &[usize]) -> Option<Landing> {
        let newest = *found.iter().min()?;
        let last = self.brings(newest)?;
        let commit = &self.commits[self.line[last]];
        let &[parent] = &commit.parents[..] else {
            let commit = commit.id;
            return Some(Landing {
                commit,
                since: None,
            });
        };
        let oldest = *found.iter().max()?;
        let first = self.line.iter().position(|at| *at == oldest);
        // Only if nothing else lies between them.
        let first = first.filter(|first| last - first < found.len());
        let before = first.and_then(|first| self.commits[self.line[first]].parents.first());
        Some(Landing {
            commit: commit.id,
            since: Some(before.copied().unwrap_or(parent)),
        })
    }

    /// Place on the line of the first commit that is this one or has it among its ancestors.
    fn brings(&self, at: usize) -> Option<usize> {
        let mut with = HashSet::from([self.commits[at].id]);
        for commit in self.commits[..at].iter().rev() {
            if commit.parents.iter().any(|parent| with.contains(parent)) {
                with.insert(commit.id);
            }
        }
        let mut line = self.line.iter();
        line.position(|at| with.contains(&self.commits[*at].id))
    }
}

fn ids_in(output: &[u8]) -> Option<Vec<Oid>> {
    let words = std::str::from_utf8(output).ok()?.split_ascii_whitespace();
    words.map(|word| Oid::from_str(word).ok()).collect()
}

fn unreadable(command: &'static str, found: &[u8]) -> GitError {
    GitError::Unreadable {
        command,
        found: printable(&found[..found.len().min(80)]),
    }
}
