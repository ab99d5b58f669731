//! The files that an agent read in an iteration, with their content before it.
//!
//! Invariant: an iteration has its worktree to itself, so what it read is what git has in the tree
//! before it, unless it wrote the file first.

use super::inputs::RunInputs;
use crate::daemon::files::hash::sha256;
use crate::domain::reads::{Collector, Read};
use crate::git::{Content, GitError, Oid, Repo};
use crate::view::provenance::record::FileDigest;

/// The variable that tells an agent its worktree.
const WORKTREE: &str = "SWARM_WORKTREE";
/// Largest file whose content is hashed, in bytes; larger ones are left out.
const MAX_CONTENT: u64 = 64 * 1024 * 1024;

/// Collects what the calls of a run read. Where the worktree or its files are unknown, nothing is.
pub(super) fn collector<'a>(repo: &'a Repo, inputs: Option<&RunInputs>) -> Collector<'a> {
    let known = inputs.and_then(|inputs| {
        let worktree = inputs.environment.values.get(WORKTREE)?;
        Some((worktree.clone(), inputs.files_before()?.tree))
    });
    match known {
        // What cannot be looked up counts: `digests` looks it up again and says why it cannot.
        Some((worktree, tree)) => Collector::new(worktree, move |path| {
            !matches!(repo.blob_at(tree, path), Ok(None))
        }),
        None => Collector::nowhere(),
    }
}

/// The digests of files in a tree, each path once.
pub(super) fn digests(repo: &Repo, tree: Oid, reads: &[Read]) -> Result<Vec<FileDigest>, GitError> {
    let mut paths: Vec<&str> = reads.iter().map(|read| read.path.as_str()).collect();
    paths.dedup();
    let mut found = Vec::new();
    for path in paths {
        if let Some(blob) = repo.blob_at(tree, path)? {
            found.push((path, blob));
        }
    }
    let mut digests = Vec::new();
    let mut names = found.iter().map(|(path, _)| *path);
    repo.blobs(
        found.iter().map(|(_, blob)| *blob),
        MAX_CONTENT,
        |content| {
            let name = names.next();
            if let (
                Some(path),
                Some(Content {
                    size,
                    bytes: Some(bytes),
                }),
            ) = (name, content)
            {
                digests.push(FileDigest {
                    path: path.to_owned(),
                    sha256: sha256(&bytes),
                    size,
                });
            }
        },
    )?;
    Ok(digests)
}
