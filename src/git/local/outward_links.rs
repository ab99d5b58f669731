//! Finds symbolic links that lead out of a worktree.
//!
//! Invariant: swarm commits none that an agent left behind. Such a link works on one machine alone,
//! and may stand where others have an ignored folder (`node_modules`). A link that an agent itself
//! has added or committed is its work and stays.

use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::git::worktree::status::{Entry, Kind};

/// Untracked links in the work tree at `root` that lead out of it.
pub(crate) fn untracked<'a>(
    root: &'a Path,
    entries: &'a [Entry],
) -> impl Iterator<Item = &'a PathBuf> {
    let untracked = entries.iter().filter(|entry| entry.kind == Kind::Untracked);
    untracked
        .map(|entry| &entry.path)
        .filter(|path| fs::read_link(root.join(path)).is_ok_and(|to| leads_out(path, &to)))
}

/// Whether a link at this path in a tree, with this content, leads out of the tree. One that says
/// where it leads from the root of the disk leaves every tree but one.
fn leads_out(link: &Path, to: &Path) -> bool {
    let folder = link.parent().unwrap_or(Path::new(""));
    let mut depth = folder.components().count();
    for component in to.components() {
        match component {
            Component::Prefix(_) | Component::RootDir => return true,
            Component::CurDir => {}
            Component::Normal(_) => depth += 1,
            Component::ParentDir => match depth.checked_sub(1) {
                Some(up) => depth = up,
                None => return true,
            },
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_leave_the_tree_are_told_from_those_within() {
        let leaves = |link: &str, to: &str| leads_out(Path::new(link), Path::new(to));
        for (link, to) in [
            ("node_modules", "/home/ann/project/node_modules"),
            ("node_modules", "../project/node_modules"),
            ("a/b/link", "../../../c"),
            ("link", "a/../../b"),
        ] {
            assert!(leaves(link, to), "{link} -> {to}");
        }
        for (link, to) in [
            ("link", "a/b"),
            ("link", "./a/../b"),
            ("a/b/link", "../../c"),
            ("a/link", ".."),
        ] {
            assert!(!leaves(link, to), "{link} -> {to}");
        }
    }
}
