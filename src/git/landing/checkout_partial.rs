//! A checkout that a killed move left between two commits, and in which a person has worked since: what is theirs stays, the rest goes on.
//!
//! Invariant: nothing that the person has staged, changed, made or deleted since is touched. All else is as the commit has it, so that git shows
//! as changes what the person did and nothing else. The index goes in one step: a kill before it leaves all to be done again under the note of the
//! move, and after it the index is the other commit's, and files are put back as after any killed move.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

use super::checkout_recovery::{AT_ONCE, remove};
use super::checkout_sync::Move;
use crate::git::error::{At, GitError};
use crate::git::repo::Repo;
use crate::git::worktree::registry::Worktree;

/// In the git directory: the paths for one command, however many.
const PATHS: &str = "swarm-paths";

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
        self.reset_index(checkout, step, &ours.index)?;
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
            remove(&checkout.path.join(path))?;
        }
        Ok(())
    }

    /// The new commit's entries at these paths, all at once.
    fn reset_index(
        &self,
        checkout: &Worktree,
        step: Move<'_>,
        paths: &[PathBuf],
    ) -> Result<(), GitError> {
        if paths.is_empty() {
            return Ok(());
        }
        let file = checkout.git_dir.join(PATHS);
        let names: Vec<&[u8]> = paths
            .iter()
            .map(|path| path.as_os_str().as_bytes())
            .collect();
        fs::write(&file, names.join(&0)).at("write", &file)?;
        let mut list = OsString::from("--pathspec-from-file=");
        list.push(&file);
        let git = checkout.git(self).long().args(["reset", "-q"]).arg(list);
        git.env("GIT_LITERAL_PATHSPECS", "1")
            .args(["--pathspec-file-nul", &step.new.to_string()])
            .ok()?;
        remove(&file)
    }

    /// The files that the index has at these paths and below them, without those that a sparse checkout leaves out and other repositories.
    fn wanted_files(
        &self,
        checkout: &Worktree,
        paths: &[PathBuf],
    ) -> Result<Vec<PathBuf>, GitError> {
        let words = ["ls-files", "-z", "-t", "--stage"];
        let lines = self.list(checkout, &words, paths)?;
        // `H 100644 <object> 0<tab><path>`
        let file = |line: PathBuf| {
            let line = line.into_os_string().into_vec();
            let at = line.iter().position(|byte| *byte == b'\t')?;
            let there = line.starts_with(b"H 1") && !line.starts_with(b"H 160000 ");
            there.then(|| PathBuf::from(OsStr::from_bytes(&line[at + 1..])))
        };
        let all: BTreeSet<PathBuf> = lines.into_iter().filter_map(file).collect();
        Ok(all.into_iter().collect())
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
