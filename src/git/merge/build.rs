//! Builds merges in memory, without a work tree and without moving a reference.
//!
//! Invariant: the same inputs, dates included, give the same commit unless it is signed, so a build
//! can be repeated after a kill. When a build is reported, all its objects are on disk. SIMPLE
//! conflicts are resolved on the way, see [`super::three_way`]. `merge-tree --write-tree` takes 2.7
//! ms on 5,000 files.

use std::path::{Path, PathBuf};

use super::classify::{self, ConflictClass, ConflictFile, ConflictKind, Merged, Stages};
use super::three_way::{ThreeWay, merge_three_way};
use super::whitespace::Whitespace;
use crate::domain::time::Timestamp;
use crate::git::error::GitError;
use crate::git::objects::names::{printable, shown};
use crate::git::person::Identity;
use crate::git::repo::Repo;
use crate::git::store::format::{Kind, NewCommit};
use crate::git::store::oid::Oid;

/// Arguments of [`Repo::build_merge`].
#[derive(Debug, Clone)]
#[allow(missing_docs)] // for fields whose names say it all
pub struct BuildMerge {
    /// Branch to merge onto, at its current commit.
    pub target_branch: String,
    /// Commit to merge; its objects are on disk.
    pub source: Oid,
    /// Full commit message, with trailers.
    pub message: String,
    pub identity: Identity,
    /// Date of the commit, fixed when the merge was requested.
    pub time: Timestamp,
}

/// Result of [`Repo::build_merge`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)] // for fields whose names say it all
pub enum BuildOutcome {
    /// A merge commit on disk; no branch contains it yet.
    Built {
        /// Merge commit; its first parent is `target`.
        commit: Oid,
        /// Target commit that it was built on.
        target: Oid,
        /// Files whose SIMPLE conflicts were resolved.
        simple_resolved: Vec<String>,
    },
    /// The conflict needs judgement.
    Conflict {
        /// Target commit that it was tried on.
        target: Oid,
        /// Who can resolve it.
        class: ConflictClass,
        files: Vec<ConflictFile>,
    },
    /// The target already contains the commit.
    NothingToMerge { target: Oid },
}

/// The merged tree, or the conflict.
pub(crate) enum Settled {
    Tree {
        tree: Oid,
        resolved: Vec<String>,
    },
    Open {
        class: ConflictClass,
        files: Vec<ConflictFile>,
    },
}

/// Larger texts (bytes) are not merged by [`super::three_way`].
const MOST_BYTES: usize = 4 << 20;
/// Modes of a file in a tree.
const FILE: u32 = 0o100_644;
const EXECUTABLE: u32 = 0o100_755;

impl Repo {
    /// Merges `source` onto the target branch, in memory.
    pub fn build_merge(&self, want: &BuildMerge) -> Result<BuildOutcome, GitError> {
        let missing = || GitError::BranchMissing {
            branch: want.target_branch.clone(),
        };
        let target = self
            .branch_commit(&want.target_branch)?
            .ok_or_else(missing)?;
        self.tree_of(want.source)?;
        if self.contains(target, want.source)? {
            return Ok(BuildOutcome::NothingToMerge { target });
        }
        match self.merge_trees(target, want.source)? {
            Settled::Open { class, files } => Ok(BuildOutcome::Conflict {
                target,
                class,
                files,
            }),
            Settled::Tree { tree, resolved } => {
                let signature = want.identity.at(want.time);
                let new = NewCommit {
                    tree,
                    parents: &[target, want.source],
                    message: &want.message,
                    author: &signature,
                    committer: &signature,
                };
                let commit = self.write_branch_commit(&new)?;
                self.make_durable(commit, &[target, want.source])?;
                Ok(BuildOutcome::Built {
                    commit,
                    target,
                    simple_resolved: resolved,
                })
            }
        }
    }

    /// Merges two commits into a tree and resolves SIMPLE conflicts.
    pub(crate) fn merge_trees(&self, ours: Oid, theirs: Oid) -> Result<Settled, GitError> {
        let output = self
            .git()
            .long()
            .attributes_of(ours)
            .args(["merge-tree", "--write-tree", "-z", "--messages"])
            .args([ours.to_string(), theirs.to_string()])
            .run()?;
        if !matches!(output.code, 0 | 1) {
            return Err(output.failure());
        }
        let merged = classify::parse(&output.stdout).ok_or_else(|| GitError::Unreadable {
            command: "git merge-tree -z",
            found: printable(&output.stdout[..output.stdout.len().min(80)]),
        })?;
        if output.code == 0 {
            return Ok(Settled::Tree {
                tree: merged.tree,
                resolved: Vec::new(),
            });
        }
        self.settle(&merged)
    }

    fn settle(&self, merged: &Merged) -> Result<Settled, GitError> {
        let (mut texts, mut regions, mut kinds) = (Vec::new(), Vec::new(), Vec::new());
        for (path, (stages, kind)) in &merged.conflicts {
            match self.merge_file(path, stages, *kind)? {
                Ok(text) => texts.push((path, stages, text)),
                Err((kind, open)) => {
                    kinds.push((path, kind));
                    regions.extend(open);
                }
            }
        }
        kinds.extend(merged.others.iter().map(|(path, kind)| (path, *kind)));
        if kinds.is_empty() && !texts.is_empty() {
            let tree = self.with_texts(merged.tree, &texts)?;
            let resolved = texts.iter().map(|(path, ..)| shown(path)).collect();
            return Ok(Settled::Tree { tree, resolved });
        }
        let only: Vec<ConflictKind> = kinds.iter().map(|(_, kind)| *kind).collect();
        // If the merge as a whole needs manual resolution, the resolvable files are in conflict
        // too.
        let resolved = texts
            .iter()
            .map(|(path, stages, _)| (*path, kind_of_text(stages)));
        let mut files: Vec<ConflictFile> = kinds
            .iter()
            .copied()
            .chain(resolved)
            .map(|(path, kind)| ConflictFile {
                path: shown(path),
                kind,
            })
            .collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Settled::Open {
            class: classify::classify(&only, &regions),
            files,
        })
    }

    fn merge_file(
        &self,
        path: &Path,
        stages: &Stages,
        kind: ConflictKind,
    ) -> Result<Result<Vec<u8>, Unwoven>, GitError> {
        let textual = matches!(kind, ConflictKind::Content | ConflictKind::BothAdded);
        let Some((base, ours, theirs)) = stages.texts().filter(|_| textual) else {
            return Ok(Err((kind, Vec::new())));
        };
        let read = |blob: Oid| -> Result<Vec<u8>, GitError> {
            self.content(blob)?.ok_or_else(|| GitError::Object {
                doing: format!("read {}", shown(path)),
                why: format!("its content {blob:.10} is missing (see `git fsck`)"),
            })
        };
        let base = base
            .map(|version| read(version.blob))
            .transpose()?
            .unwrap_or_default();
        let (ours, theirs) = (read(ours.blob)?, read(theirs.blob)?);
        if [&base, &ours, &theirs].iter().any(|text| text.contains(&0)) {
            return Ok(Err((ConflictKind::Binary, Vec::new())));
        }
        if [&base, &ours, &theirs]
            .iter()
            .any(|text| text.len() > MOST_BYTES)
        {
            return Ok(Err((kind, vec![usize::MAX])));
        }
        Ok(
            match merge_three_way(&base, &ours, &theirs, Whitespace::of(path)) {
                ThreeWay::Whole(text) => Ok(text),
                ThreeWay::Open(regions) => Err((kind, regions)),
            },
        )
    }

    /// Replaces files with conflict markers in the tree by resolved texts.
    fn with_texts(
        &self,
        tree: Oid,
        texts: &[(&PathBuf, &Stages, Vec<u8>)],
    ) -> Result<Oid, GitError> {
        let mut files = Vec::new();
        for (path, stages, text) in texts {
            let executable = stages.mode().is_some_and(|mode| mode & 0o111 != 0);
            let mode = if executable { EXECUTABLE } else { FILE };
            files.push((path.as_path(), mode, self.write_object(Kind::Blob, text)?));
        }
        self.with_files(tree, &files)
    }
}

fn kind_of_text(stages: &Stages) -> ConflictKind {
    if stages.base.is_some() {
        ConflictKind::Content
    } else {
        ConflictKind::BothAdded
    }
}

type Unwoven = (ConflictKind, Vec<usize>);
