//! A checkout that a killed move left between two commits, and in which a person has worked since: what is theirs stays, the rest goes on.
//!
//! Invariant: nothing that the person has staged, changed, made or deleted since is touched. All else is as the commit has it, so that git shows
//! as changes what the person did and nothing else.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use super::error::{At, GitError};
use super::follow::Move;
use super::registry::Worktree;
use super::repo::Repo;

/// Paths on one command line.
const AT_ONCE: usize = 400;

/// The paths of a move that are not the person's.
struct Ours {
    /// Their index.
    index: Vec<PathBuf>,
    /// Files that are as the old commit has them.
    clean: Vec<PathBuf>,
    /// Files that the old commit has not, and that are not there.
    new: Vec<PathBuf>,
}

impl Repo {
    /// From the old commit to the new one, but for what is the person's.
    pub(crate) fn all_but_theirs(
        &self,
        checkout: &Worktree,
        step: Move<'_>,
    ) -> Result<(), GitError> {
        let ours = self.ours(checkout, step)?;
        for some in ours.index.chunks(AT_ONCE) {
            let git = checkout.git(self).long().args(["reset", "-q"]);
            git.arg(step.new.to_string()).paths(some).ok()?;
        }
        for some in self.wanted_files(checkout, &ours.new)?.chunks(AT_ONCE) {
            // Not by force: a file of the person's may stand where a directory belongs.
            let git = checkout.git(self).long().args(["checkout-index", "-q"]);
            git.paths(some).run()?;
        }
        for some in self.wanted_files(checkout, &ours.clean)?.chunks(AT_ONCE) {
            let git = checkout.git(self).long();
            git.args(["checkout-index", "-f", "-q"]).paths(some).ok()?;
        }
        let known = self.list(checkout, &["ls-files", "-z", "--cached"], &ours.clean)?;
        let known: BTreeSet<PathBuf> = known.into_iter().collect();
        for path in ours.clean.iter().filter(|path| !known.contains(*path)) {
            let file = checkout.path.join(path);
            match fs::remove_file(&file) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(error).at("delete", &file);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn ours(&self, checkout: &Worktree, step: Move<'_>) -> Result<Ours, GitError> {
        let mut touched = self.touched_paths(step)?;
        let paths: Vec<PathBuf> = touched.iter().map(|one| one.path.clone()).collect();
        let old = step.old.to_string();
        let staged = ["diff-index", "--cached", "-z", "--name-only", &old];
        let changed = ["diff-files", "-z", "--name-only"];
        let set = |words: &[&str]| -> Result<BTreeSet<PathBuf>, GitError> {
            Ok(self.list(checkout, words, &paths)?.into_iter().collect())
        };
        let (staged, changed) = (set(&staged)?, set(&changed)?);
        touched.retain(|one| !staged.contains(&one.path));
        let mut ours = Ours {
            index: touched.iter().map(|one| one.path.clone()).collect(),
            clean: Vec::new(),
            new: Vec::new(),
        };
        for one in touched {
            let missing = checkout.path.join(&one.path).symlink_metadata().is_err();
            if one.added && missing {
                ours.new.push(one.path);
            } else if !one.added && !missing && !changed.contains(&one.path) {
                ours.clean.push(one.path);
            }
        }
        Ok(ours)
    }
}
