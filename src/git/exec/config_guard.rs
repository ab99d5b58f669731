//! What in a repository's own configuration can run programs, pinned to what it was when the
//! repository was opened.
//!
//! Invariant: while it is open, no git of ours runs a clean, smudge, textconv or merge program, or
//! follows an include, that the repository's `.git/config` (or a `config.worktree`) did not name
//! when it was opened. Filters such as LFS or git-crypt are legitimate and switching them off would
//! commit wrong content, so they are kept as they were; a *new* one stops the call with
//! [`GitError::ConfigChanged`]. The well-known commands of Git LFS may appear at any time (`git lfs
//! install --local`). Not watched: the own configuration of a submodule that an agent has
//! initialised; none of our calls goes into submodules but `git add`, which asks them for their
//! state.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::git::GitError;

/// Key (lower case but for the middle part) and value.
pub type Setting = (String, String);

const HARMLESS: &[(&str, &str)] = &[
    // `git sparse-checkout` sets it; what it adds, the `config.worktree` files, is watched as well.
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
    /// Pins `trusted`, or what is there now.
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

    /// Refuses when the configuration that git would read for `git_dir` has something new that
    /// could run programs.
    pub(crate) fn check(&self, git_dir: &Path) -> Result<(), GitError> {
        match self.news(git_dir)?.into_iter().next() {
            Some((key, value)) => Err(GitError::ConfigChanged { key, value }),
            None => Ok(()),
        }
    }

    /// What the configuration that git would read for `git_dir` has that could run programs and is
    /// not pinned.
    pub(crate) fn news(&self, git_dir: &Path) -> Result<Vec<Setting>, GitError> {
        let now = settings(&files(&self.common, git_dir))?;
        let is_new = |setting: &Setting| !self.pinned.contains(setting) && !is_harmless(setting);
        Ok(now.into_iter().filter(is_new).collect())
    }

    /// What is pinned, to be written down and given back at the next opening.
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
    fn what_was_there_stays_allowed_and_what_is_new_is_refused() {
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
    fn ordinary_settings_and_lfs_may_come_and_go() {
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
    fn an_include_is_followed() {
        let dir = repository("[include]\n\tpath = more\n");
        std::fs::write(dir.path().join("more"), "").unwrap();
        let guard = Guard::new(dir.path(), None).unwrap();
        std::fs::write(dir.path().join("more"), "[filter \"x\"]\n\tclean = evil\n").unwrap();
        assert!(guard.check(dir.path()).is_err());
    }
}
