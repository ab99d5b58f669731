//! The files that an iteration changed, from git.

use crate::daemon::files::hash::sha256;
use crate::git::{ChangeKind, Content, GitError, Oid, Repo, TreeChange};
use crate::view::provenance::outputs::{Artifact, Operation};

/// Most files in a record.
const MAX_ARTIFACTS: usize = 2_000;
/// Largest content that is hashed, in bytes.
const MAX_CONTENT: u64 = 64 * 1024 * 1024;

/// The files that differ between two trees, and how many more do.
pub(super) fn between(
    repo: &Repo,
    before: Oid,
    after: Oid,
) -> Result<(Vec<Artifact>, u64), GitError> {
    let mut changes = repo.tree_changes(before, after)?;
    let omitted = changes.len().saturating_sub(MAX_ARTIFACTS);
    changes.truncate(MAX_ARTIFACTS);
    let mut artifacts: Vec<Artifact> = changes.iter().map(artifact).collect();
    let present: Vec<usize> = (0..changes.len())
        .filter(|at| changes[*at].after.is_some())
        .collect();
    let ids = changes.iter().filter_map(|change| change.after);
    let mut places = present.into_iter();
    repo.blobs(ids, MAX_CONTENT, |content| {
        if let (Some(place), Some(Content { size, bytes })) = (places.next(), content) {
            artifacts[place].size = Some(size);
            artifacts[place].sha256 = bytes.map(|bytes| sha256(&bytes));
        }
    })?;
    Ok((artifacts, omitted as u64))
}

fn artifact(change: &TreeChange) -> Artifact {
    Artifact {
        path: change.path.clone(),
        operation: match change.kind {
            ChangeKind::Added => Operation::Created,
            ChangeKind::Deleted => Operation::Deleted,
            ChangeKind::Modified | ChangeKind::Renamed | ChangeKind::TypeChanged => {
                Operation::Modified
            }
        },
        sha256: None,
        size: None,
    }
}
