//! `<common>/swarm/home`: the checkout whose `.swarm` is the repository's.
//!
//! Git does not record where the main checkout of a repository with a separate git directory lies,
//! so a command in one of its linked worktrees finds it here. Invariant: the file counts only while
//! the `.git` of the checkout that it names leads to this git directory. Written whenever the
//! folder of the worktrees is settled: by `init`, and by each start.

use std::fs;
use std::path::{Path, PathBuf};

use super::error::GitError;
use super::objects::names::path_of;
use super::worktree::registry::point_at;
use super::worktree::relocated::named_by;

const FILE: &str = "swarm/home";

/// Records the checkout.
pub(crate) fn record(common: &Path, root: &Path) -> Result<(), GitError> {
    point_at(&common.join(FILE), b"", root)
}

/// The checkout on record; `None` if there is none, or it belongs to another repository now.
pub(crate) fn read(common: &Path) -> Option<PathBuf> {
    let text = fs::read(common.join(FILE)).ok()?;
    let root = path_of(text.trim_ascii_end());
    let inside = root.join(".git");
    let git_dir = if inside.is_dir() {
        fs::canonicalize(inside).ok()?
    } else {
        named_by(&root)?
    };
    (git_dir == fs::canonicalize(common).ok()?).then_some(root)
}
