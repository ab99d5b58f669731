//! Agent scripts that are missing from every worktree, because they are not committed on the
//! target. Called for each profile by `preflight`.
//!
//! Invariant: only certain failures are reported. The first word after a known interpreter is a
//! script only if the person's checkout has a file of that name.

use std::path::{Component, Path};

use crate::git::Oid;

use super::{Preflight, Seen, existing_target};
use crate::agents::Profile;
use crate::config::Config;
use crate::daemon::error::DaemonError;
use crate::git::{GitError, Repo};

/// Programs that run the script named by their first argument; a version may follow the name.
const INTERPRETERS: [&str; 19] = [
    "ash", "bash", "bun", "dash", "deno", "fish", "ksh", "lua", "node", "nodejs", "perl", "php",
    "pwsh", "pypy", "python", "ruby", "sh", "tclsh", "zsh",
];
/// Programs whose `run` starts the rest of their words, or a script.
const RUNNERS: [&str; 6] = ["bun", "deno", "pipenv", "poetry", "rye", "uv"];
/// Options after which an interpreter runs no file.
const NO_FILE: [&str; 6] = ["-c", "-e", "-m", "-s", "--eval", "--command"];

/// The files that a new worktree has.
#[derive(Debug)]
pub struct TargetTree<'a> {
    repo: &'a Repo,
    branch: String,
    commit: Oid,
    /// `worktree.copy`.
    copied: Vec<String>,
    /// `worktree.setup` may make files.
    has_setup: bool,
}

/// Whether a new worktree has a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presence {
    Present,
    Absent,
    /// Only if `worktree.setup` makes it.
    Uncertain,
}

impl<'a> TargetTree<'a> {
    /// The tree of the configured target.
    ///
    /// # Errors
    /// There is no target, or git cannot be asked.
    pub fn of(config: &Config, repo: &'a Repo) -> Result<Self, DaemonError> {
        let branch = existing_target(config, repo)?;
        let Some(commit) = repo.branch_commit(&branch)? else {
            return Err(DaemonError::TargetMissing(branch));
        };
        Ok(Self {
            repo,
            branch,
            commit,
            copied: config.worktree.copy.clone(),
            has_setup: !config.worktree.setup.is_empty(),
        })
    }

    /// The content of a file in it; `None` if there is none, or git cannot be asked.
    pub(super) fn content(&self, path: &str) -> Option<Vec<u8>> {
        let blob = self.repo.blob_at(self.commit, path).ok()??;
        self.repo.content(blob).ok()?
    }

    fn presence(&self, path: &str) -> Result<Presence, GitError> {
        let is_copied = self.copied.iter().any(|copied| copied == path);
        if is_copied || self.repo.blob_at(self.commit, path)?.is_some() {
            return Ok(Presence::Present);
        }
        Ok(if self.has_setup {
            Presence::Uncertain
        } else {
            Presence::Absent
        })
    }
}

impl Preflight<'_> {
    /// Reports a script that only the person's checkout has.
    pub(super) fn inspect_script(&self, profile: &Profile, seen: &mut Seen) {
        let words: Vec<&str> = {
            let words = profile.command.iter().chain(&profile.args);
            words.map(String::as_str).collect()
        };
        let (Some(target), Some(word)) = (self.target, script(&words)) else {
            return;
        };
        let file = self.root.join(word);
        let Some(path) = inside(word).filter(|_| file.is_file()) else {
            return;
        };
        match target.presence(&path) {
            Ok(Presence::Present) => {}
            Ok(Presence::Uncertain) => seen.doubts.push(format!(
                "its script {path} is not committed on {}, so worktree.setup has to make it",
                target.branch
            )),
            Err(error) => seen.doubts.push(format!(
                "cannot look for {path} on {}: {error}",
                target.branch
            )),
            Ok(Presence::Absent) => seen.fault(
                format!(
                    "its script {path} is not committed on {}, so the agents' worktrees lack it",
                    target.branch
                ),
                format!(
                    "commit it on {}, or give its absolute path in agents.profiles.{}: {}",
                    target.branch,
                    profile.name,
                    self.root.join(&path).display()
                ),
            ),
        }
    }
}

/// The word that names the script to run; `None` if that is uncertain.
fn script<'w>(words: &[&'w str]) -> Option<&'w str> {
    let (program, rest) = words.split_first()?;
    let name = program.rsplit('/').next()?;
    if name == "env" {
        let is_setting = |word: &&&str| word.contains('=');
        return script(&rest[rest.iter().take_while(is_setting).count()..]);
    }
    if RUNNERS.contains(&name) && rest.first() == Some(&"run") {
        let first = rest.get(1).copied();
        return script(&rest[1..]).or(first.filter(|word| !word.starts_with('-')));
    }
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if !INTERPRETERS.contains(&name) {
        return None;
    }
    let options = rest.iter().take_while(|word| word.starts_with('-')).count();
    let (options, rest) = rest.split_at(options);
    // `-lc` and `-euc` join several options.
    let runs_no_file = |option: &&str| {
        NO_FILE.contains(option) || !option.starts_with("--") && option.ends_with('c')
    };
    if options.iter().any(runs_no_file) {
        return None;
    }
    rest.first().copied()
}

/// The path from the root of a worktree; `None` if it is absolute or leaves the worktree.
pub(super) fn inside(word: &str) -> Option<String> {
    let mut parts = Vec::new();
    for part in Path::new(word).components() {
        match part {
            Component::Normal(part) => parts.push(part.to_str()?),
            Component::CurDir => {}
            Component::ParentDir => {
                parts.pop()?;
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_the_first_word_after_an_interpreter() {
        for (line, expected) in [
            ("python3 tools/agent.py --fast", Some("tools/agent.py")),
            ("/usr/bin/python3.12 -u ./agent.py", Some("./agent.py")),
            ("env A=1 B=2 bash agent.sh", Some("agent.sh")),
            ("uv run python tools/agent.py", Some("tools/agent.py")),
            ("uv run agent.py", Some("agent.py")),
            ("deno run agent.ts", Some("agent.ts")),
            ("sh -c agent.sh", None),
            ("bash -lc agent.sh", None),
            ("python -m agent", None),
            ("node --eval agent", None),
            ("agent agent.py", None),
            ("tools/agent.py input.txt", None),
            ("python3", None),
            ("", None),
        ] {
            let words: Vec<&str> = line.split_whitespace().collect();
            assert_eq!(script(&words), expected, "{line}");
        }
    }

    #[test]
    fn only_paths_within_a_worktree_are_judged() {
        for (word, expected) in [
            ("tools/agent.py", Some("tools/agent.py")),
            ("./a/../b.py", Some("b.py")),
            ("../b.py", None),
            ("/opt/b.py", None),
        ] {
            assert_eq!(inside(word).as_deref(), expected, "{word}");
        }
    }
}
