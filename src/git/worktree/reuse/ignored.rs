//! Cleans a worktree for its next idea: what git does not ignore goes, what it ignores may stay.
//!
//! Invariant: only the `.gitignore` files of the commit checked out decide what counts as ignored.
//! Rules that an agent can write elsewhere (`.git/info/exclude`, a global excludes file, a
//! `.gitignore` that nobody committed) keep nothing. Called by `reset`, after the files of the
//! commit are there.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::rules;
use crate::crash;
use crate::git::error::{At, GitError};
use crate::git::exec::command::Git;
use crate::git::local::copies::clear_places_of_copies;
use crate::git::objects::names::path_of;
use crate::git::repo::Repo;
use crate::git::worktree::registry::{Found, Worktree};
use crate::git::worktree::reset::Clean;
use crate::remove;

/// File at the top of a virtual environment of Python.
const ENVIRONMENT: &str = "pyvenv.cfg";

/// Which ignored files of a worktree the next idea finds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum KeepIgnored {
    /// All.
    #[default]
    All,
    /// None.
    Nothing,
    /// Those that match one of these patterns, in the syntax of `.gitignore`.
    Matching(Vec<String>),
}

impl Repo {
    /// Removes what the next idea must not find.
    pub(crate) fn clean_for_next(
        &self,
        worktree: &Worktree,
        keep: &KeepIgnored,
    ) -> Result<(), GitError> {
        let patterns = match keep {
            KeepIgnored::Nothing => return self.clean(worktree, Clean::Everything),
            KeepIgnored::All => None,
            KeepIgnored::Matching(patterns) => Some(patterns),
        };
        let own = self.common_dir().join("swarm");
        let file = own.join(format!("rules{}", worktree.name));
        fs::write(&file, self.committed_rules(worktree)?).at("write", &file)?;
        let mut by_rules = OsString::from("--exclude-from=");
        by_rules.push(&file);
        let untracked = self.untracked(worktree, |git| git.arg(&by_rules))?;
        crash::point("git.clean.listed");
        self.remove_environments(worktree, &untracked)?;
        remove_all(worktree, &untracked)?;
        if let Some(patterns) = patterns {
            self.remove_unmatched(worktree, &by_rules, patterns)?;
        }
        self.remove_hollow(worktree, &by_rules)?;
        clear_places_of_copies(self, worktree)?;
        remove::file(&file).at("delete", &file)
    }

    /// Removes virtual environments of Python that ignore themselves: the rules of the commit may
    /// keep a part of one, and no setup takes such a part for its own. The setup runs again.
    fn remove_environments(
        &self,
        worktree: &Worktree,
        untracked: &[PathBuf],
    ) -> Result<(), GitError> {
        let marker = untracked.iter().filter(|path| path.ends_with(ENVIRONMENT));
        let folders: Vec<&Path> = marker.filter_map(|path| path.parent()).collect();
        if folders.is_empty() {
            return Ok(());
        }
        let wholly = self.untracked(worktree, |git| git.arg("--directory"))?;
        let is_whole = |folder: &&Path| wholly.iter().any(|path| folder.starts_with(path));
        let gone = folders.into_iter().filter(is_whole).map(PathBuf::from);
        worktree.mark_cold()?;
        remove_all(worktree, &gone.collect::<Vec<_>>())
    }

    /// Removes what git ignores in a worktree, whose setup runs again: a full disk may have cut off
    /// a file there.
    pub fn drop_ignored(&self, name: &str) -> Result<(), GitError> {
        let Found::Ours(worktree) = self.look_up(name)? else {
            return Ok(());
        };
        worktree.mark_cold()?;
        let options = [
            "--ignored",
            "--directory",
            "--exclude-per-directory=.gitignore",
        ];
        remove_all(
            &worktree,
            &self.untracked(&worktree, |git| git.args(options))?,
        )
    }

    /// The rules of all `.gitignore` files of the commit checked out.
    fn committed_rules(&self, worktree: &Worktree) -> Result<Vec<u8>, GitError> {
        let Some(entries) = self.index(worktree)? else {
            return Err(GitError::IndexCorrupt {
                worktree: worktree.path.clone(),
                git_dir: worktree.git_dir.clone(),
                why: "git cannot list it".into(),
            });
        };
        let mut files = Vec::new();
        for entry in entries {
            let is_rules = entry
                .path
                .file_name()
                .is_some_and(|name| name == ".gitignore");
            // Git reads no rules through a link.
            if is_rules
                && entry.is_file()
                && let Some(content) = self.content(entry.id)?
            {
                files.push((entry.path, content));
            }
        }
        Ok(rules::joined(files))
    }

    /// Removes ignored files that match no pattern. A setup may have made them.
    fn remove_unmatched(
        &self,
        worktree: &Worktree,
        by_rules: &OsStr,
        patterns: &[String],
    ) -> Result<(), GitError> {
        let ignored = self.untracked(worktree, |git| git.arg("--ignored").arg(by_rules))?;
        // Git takes no `--ignored` without a pattern.
        let kept = if patterns.is_empty() {
            Vec::new()
        } else {
            let each = patterns
                .iter()
                .map(|pattern| format!("--exclude={pattern}"));
            self.untracked(worktree, |git| git.arg("--ignored").args(each))?
        };
        let kept: BTreeSet<PathBuf> = kept.into_iter().collect();
        let gone = ignored.into_iter().filter(|path| !kept.contains(path));
        let gone: Vec<PathBuf> = gone.collect();
        if !gone.is_empty() {
            worktree.mark_cold()?;
        }
        remove_all(worktree, &gone)
    }

    /// Removes directories that contain only directories.
    fn remove_hollow(&self, worktree: &Worktree, by_rules: &OsStr) -> Result<(), GitError> {
        for folder in self.untracked(worktree, |git| git.arg("--directory").arg(by_rules))? {
            let path = worktree.path.join(folder);
            if is_hollow(&path) {
                remove::tree_if_there(&path).at("delete", &path)?;
            }
        }
        Ok(())
    }

    /// Untracked paths; a nested repository is one path.
    fn untracked<'a>(
        &'a self,
        worktree: &Worktree,
        with: impl FnOnce(Git<'a>) -> Git<'a>,
    ) -> Result<Vec<PathBuf>, GitError> {
        let git = worktree.git(self).long();
        let output = with(git.args(["ls-files", "-z", "--others"])).ok()?;
        let path = |piece: &[u8]| path_of(piece.strip_suffix(b"/").unwrap_or(piece));
        Ok(output.pieces().map(path).collect())
    }
}

/// Removes the paths, and the directories that this leaves empty. Changes no mode on the way, which
/// could be that of a link's target: if something cannot be removed, the worktree is made again.
fn remove_all(worktree: &Worktree, paths: &[PathBuf]) -> Result<(), GitError> {
    for path in paths {
        let full = worktree.path.join(path);
        remove::tree_if_there(&full).at("delete", &full)?;
        let above = path.ancestors().skip(1);
        for folder in above.filter(|folder| !folder.as_os_str().is_empty()) {
            let full = worktree.path.join(folder);
            match remove::empty_dir(&full) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => break,
                Err(error) => return Err(error).at("delete", &full),
            }
        }
    }
    Ok(())
}

/// Whether it is a directory that contains only directories.
fn is_hollow(dir: &Path) -> bool {
    let Ok(entries) = fs::read_dir(dir) else {
        return false;
    };
    entries
        .flatten()
        .all(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()) && is_hollow(&entry.path()))
}
