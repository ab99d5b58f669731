//! Pins the settings of a repository that can run programs to what they were at opening.
//!
//! Invariant: while the repository is open, git runs no filter, textconv or merge program and
//! follows no include that `.git/config` or a `config.worktree` did not name at opening. LFS and
//! git-crypt need their filters, so pinned ones stay; a *new* one fails the call with
//! [`GitError::ConfigChanged`]. The standard commands of Git LFS may appear at any time. Not
//! watched: the configuration of submodules, which only `git add` enters, to ask for their state.
//! `exec::command` checks before every call.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::git::GitError;

/// Key and value. The key is in lower case except for its middle part.
pub type Setting = (String, String);

const HARMLESS: &[(&str, &str)] = &[
    // Set by `git sparse-checkout`. The `config.worktree` files that it enables are watched too.
    ("extensions.worktreeconfig", "true"),
    ("filter.lfs.clean", "git-lfs clean -- %f"),
    ("filter.lfs.smudge", "git-lfs smudge -- %f"),
    ("filter.lfs.process", "git-lfs filter-process"),
    ("filter.lfs.required", "true"),
];

const WATCHED: &[&str] = &[
    "core.worktree",
    "core.attributesfile",
    "core.gitproxy",
    "core.alternaterefscommand",
    "core.bare",
];

#[derive(Debug)]
pub(crate) struct Guard {
    common: PathBuf,
    pinned: BTreeSet<Setting>,
}

impl Guard {
    /// Pins `trusted`, or the current settings if it is `None`.
    pub(crate) fn new(common: &Path, trusted: Option<Vec<Setting>>) -> Result<Self, GitError> {
        let pinned = match trusted {
            Some(trusted) => trusted.into_iter().collect(),
            None => settings(&files(common, common))?,
        };
        Ok(Self {
            common: common.to_owned(),
            pinned,
        })
    }

    /// Fails if the configuration that git reads for `git_dir` has an unpinned setting that can run
    /// programs.
    pub(crate) fn check(&self, git_dir: &Path) -> Result<(), GitError> {
        match self.unpinned(git_dir)?.into_iter().next() {
            Some((key, value)) => Err(GitError::ConfigChanged { key, value }),
            None => Ok(()),
        }
    }

    /// Unpinned settings that can run programs, from the configuration that git reads for
    /// `git_dir`.
    pub(crate) fn unpinned(&self, git_dir: &Path) -> Result<Vec<Setting>, GitError> {
        let now = settings(&files(&self.common, git_dir))?;
        let is_new = |setting: &Setting| !self.pinned.contains(setting) && !is_harmless(setting);
        Ok(now.into_iter().filter(is_new).collect())
    }

    /// The pinned settings, to be stored and passed to the next opening.
    pub(crate) fn pinned(&self) -> Vec<Setting> {
        self.pinned.iter().cloned().collect()
    }
}

fn files(common: &Path, git_dir: &Path) -> BTreeSet<PathBuf> {
    let all = [
        common.join("config"),
        common.join("config.worktree"),
        git_dir.join("config.worktree"),
    ];
    all.into_iter().filter(|file| file.exists()).collect()
}

fn settings(files: &BTreeSet<PathBuf>) -> Result<BTreeSet<Setting>, GitError> {
    let mut found = BTreeSet::new();
    for file in files {
        let mut read = || -> Result<(), git2::Error> {
            let config = git2::Config::open(file)?;
            let mut entries = config.entries(None)?;
            while let Some(entry) = entries.next() {
                let entry = entry?;
                let key = String::from_utf8_lossy(entry.name_bytes()).into_owned();
                if can_run_programs(&key) {
                    let value = entry
                        .has_value()
                        .then(|| String::from_utf8_lossy(entry.value_bytes()).into_owned());
                    found.insert((key, value.unwrap_or_default()));
                }
            }
            Ok(())
        };
        read().map_err(GitError::library(format!(
            "read {}",
            crate::git::objects::names::shown(file)
        )))?;
    }
    Ok(found)
}

fn can_run_programs(key: &str) -> bool {
    let (section, rest) = key.split_once('.').unwrap_or((key, ""));
    let last = rest.rsplit('.').next().unwrap_or_default();
    match section {
        "filter" | "include" | "includeif" | "extensions" => true,
        "merge" => last == "driver",
        "diff" => matches!(last, "command" | "textconv"),
        "remote" => matches!(last, "uploadpack" | "receivepack" | "vcs" | "promisor"),
        _ => WATCHED.contains(&key),
    }
}

fn is_harmless((key, value): &Setting) -> bool {
    HARMLESS.contains(&(key.as_str(), value.as_str()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn repository(config: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("config"), config).unwrap();
        dir
    }

    fn change(dir: &tempfile::TempDir, config: &str) {
        std::fs::write(dir.path().join("config"), config).unwrap();
    }

    #[test]
    fn a_setting_from_before_opening_is_allowed_and_a_new_one_refused() {
        let crypt = "[filter \"git-crypt\"]\n\tclean = git-crypt clean\n";
        let dir = repository(crypt);
        let guard = Guard::new(dir.path(), None).unwrap();
        assert!(guard.check(dir.path()).is_ok());
        for evil in [
            "[filter \"x\"]\n\tsmudge = touch /tmp/x\n",
            "[filter \"git-crypt\"]\n\tclean = evil\n",
            "[merge \"x\"]\n\tdriver = evil\n",
            "[include]\n\tpath = elsewhere\n",
            "[includeIf \"gitdir:x\"]\n\tpath = elsewhere\n",
            "[core]\n\tworktree = /\n",
        ] {
            change(&dir, &format!("{crypt}{evil}"));
            let refused = guard.check(dir.path());
            assert!(
                matches!(refused, Err(GitError::ConfigChanged { .. })),
                "{evil}"
            );
        }
    }

    #[test]
    fn harmless_settings_and_lfs_may_change() {
        let dir = repository("");
        let guard = Guard::new(dir.path(), None).unwrap();
        change(
            &dir,
            "[user]\n\tname = x\n[core]\n\thooksPath = .husky\n[filter \"lfs\"]\n\trequired = \
            true\n\tclean = git-lfs clean -- %f\n",
        );
        assert!(guard.check(dir.path()).is_ok());
    }

    #[test]
    fn a_change_in_an_included_file_is_noticed() {
        let dir = repository("[include]\n\tpath = more\n");
        std::fs::write(dir.path().join("more"), "").unwrap();
        let guard = Guard::new(dir.path(), None).unwrap();
        std::fs::write(dir.path().join("more"), "[filter \"x\"]\n\tclean = evil\n").unwrap();
        assert!(guard.check(dir.path()).is_err());
    }
}
