//! The only place that starts git.
//!
//! Invariant: a call runs git and nothing that an agent could have configured. [`OVERRIDES`]
//! disables the programs that git would start by itself; `GIT_*` variables are removed except those
//! that locate the person's configuration; the locale is `C`, standard input is empty, and
//! directories are explicit. Programs that cannot be overridden by name (filters, merge drivers,
//! includes) are pinned by [`super::config_guard`]. A process of the same user can still change the
//! *global* configuration.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::child::{Call, Output, finish, not_started};
use super::config_guard::Guard;
use super::running::Running;
use crate::git::GitError;
use crate::git::error::At;
use crate::git::objects::names::printable;

/// Oldest supported git: the first with `merge-tree --write-tree`.
pub const MINIMUM: &str = "2.38";
/// First git with `GIT_ATTR_SOURCE`, which reads attributes from a tree.
const ATTRIBUTES_FROM_TREE: (u32, u32) = (2, 41);

/// Limit for calls that only read or write a few objects.
const QUICK: Duration = Duration::from_secs(120);
/// Limit for calls that may write a whole work tree.
const LONG: Duration = Duration::from_secs(1_800);

const OVERRIDES: &[&str] = &[
    // Programs that git would start by itself.
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.askPass=true",
    "core.sshCommand=false",
    "core.pager=cat",
    "core.editor=true",
    "sequence.editor=true",
    "credential.helper=",
    "commit.gpgSign=false",
    "tag.gpgSign=false",
    "log.showSignature=false",
    "merge.verifySignatures=false",
    "diff.external=",
    "protocol.allow=never",
    "gc.auto=0",
    "maintenance.auto=false",
    // Settings that would make the same call behave differently for another person.
    "submodule.recurse=false",
    "rerere.enabled=false",
    "merge.conflictStyle=diff3",
    "merge.autoStash=false",
    "core.quotePath=false",
    "status.showUntrackedFiles=all",
    "advice.detachedHead=false",
    "advice.addEmbeddedRepo=false",
    "color.ui=false",
];

/// Variables that only locate the person's configuration.
const KEPT_VARIABLES: &[&str] = &[
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
];

/// Variables that a service manager sets for the daemon only.
const SUPERVISORS_VARIABLES: &[&str] = &["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"];

/// Settings of every git command on one repository.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// Empty file that every running git has as its standard input, with a shared lock. So a git
    /// that outlives a killed daemon is visible: see [`Host::wait_for_orphans`].
    pub(crate) running: PathBuf,
    pub(crate) version: (u32, u32),
    pub(crate) guard: Guard,
    /// Commands running now.
    pub(crate) commands: Running,
}

impl Host {
    /// A git command with an explicit git directory and work tree.
    pub(crate) fn git(&self, git_dir: &Path, work_tree: &Path) -> Git<'_> {
        let mut command = plain(&self.environment);
        for setting in OVERRIDES {
            command.arg("-c").arg(setting);
        }
        command.arg(joined("--git-dir=", git_dir));
        command.arg(joined("--work-tree=", work_tree));
        command.current_dir(work_tree);
        Git {
            host: self,
            concerned: git_dir.to_owned(),
            command,
            words: Vec::new(),
            limit: QUICK,
        }
    }

    /// Waits until no git started by an earlier process is running. Returns false if one is left
    /// after `patience`. Call it before this process starts its own.
    pub(crate) fn wait_for_orphans(&self, patience: Duration) -> Result<bool, GitError> {
        let file = File::open(&self.running).at("open", &self.running)?;
        let end = Instant::now() + patience;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(true),
                Err(std::fs::TryLockError::WouldBlock) if Instant::now() < end => pause(),
                Err(std::fs::TryLockError::WouldBlock) => return Ok(false),
                Err(std::fs::TryLockError::Error(error)) => {
                    return Err(GitError::io("lock", &self.running, error));
                }
            }
        }
    }

    fn standard_input(&self) -> Result<Stdio, GitError> {
        let file = File::open(&self.running).at("open", &self.running)?;
        file.lock_shared().at("lock", &self.running)?;
        Ok(file.into())
    }
}

/// Waits between two polls of something that another process will change.
pub(crate) fn pause() {
    std::thread::sleep(Duration::from_millis(10));
}

/// Parses `git version 2.47.3 (Apple Git-146)` and checks it against [`MINIMUM`].
pub(crate) fn version(environment: &[(OsString, OsString)]) -> Result<(u32, u32), GitError> {
    let output = plain(environment)
        .arg("version")
        .stdin(Stdio::null())
        .output()
        .map_err(|source| GitError::GitMissing {
            minimum: MINIMUM,
            source,
        })?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let found = text.split_whitespace().nth(2).unwrap_or_default();
    let version = parse_version(found);
    if version < parse_version(MINIMUM) {
        return Err(GitError::GitTooOld {
            found: printable(found.as_bytes()),
            minimum: MINIMUM,
        });
    }
    Ok(version)
}

/// The editor that git would open for a person, as a line for `sh -c`; `None` if git names none.
/// The repository's own settings do not count, because agents can change them.
pub fn editor() -> Option<String> {
    let mut command = plain(&[]);
    match std::env::var_os("GIT_EDITOR") {
        Some(editor) => command.env("GIT_EDITOR", editor),
        None => command.env_remove("GIT_EDITOR"),
    };
    let command = command.args(["var", "GIT_EDITOR"]).current_dir("/");
    let answer = command.stdin(Stdio::null()).output().ok()?;
    let editor = String::from_utf8(answer.stdout).ok()?;
    let is_named = answer.status.success() && !editor.trim().is_empty();
    is_named.then(|| editor.trim().to_owned())
}

fn parse_version(text: &str) -> (u32, u32) {
    let mut parts = text.split('.').map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
}

fn plain(environment: &[(OsString, OsString)]) -> Command {
    let mut command = Command::new("git");
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let of_git = text.starts_with("GIT_") && !KEPT_VARIABLES.contains(&text.as_ref());
        if of_git || SUPERVISORS_VARIABLES.contains(&text.as_ref()) {
            command.env_remove(&name);
        }
    }
    let fixed = [
        ("LC_ALL", "C"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_EDITOR", "true"),
        ("GIT_SEQUENCE_EDITOR", "true"),
        ("GIT_PAGER", "cat"),
        ("GIT_ASKPASS", "true"),
        ("SSH_ASKPASS", "true"),
        ("GIT_NO_LAZY_FETCH", "1"),
        ("GIT_MERGE_AUTOEDIT", "no"),
    ];
    command.envs(fixed).env_remove("LANGUAGE");
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    command
}

fn joined(option: &str, path: &Path) -> OsString {
    let mut text = OsString::from(option);
    text.push(path);
    text
}

/// Builder for one git command.
pub(crate) struct Git<'a> {
    host: &'a Host,
    concerned: PathBuf,
    command: Command,
    words: Vec<String>,
    limit: Duration,
}

impl Git<'_> {
    /// Adds an argument. Untrusted values must have been checked not to start with a dash.
    pub(crate) fn arg(mut self, word: impl AsRef<OsStr>) -> Self {
        self.words.push(printable(word.as_ref().as_encoded_bytes()));
        self.command.arg(word);
        self
    }

    pub(crate) fn args<W: AsRef<OsStr>>(self, words: impl IntoIterator<Item = W>) -> Self {
        words.into_iter().fold(self, Self::arg)
    }

    /// Adds `--` and the paths, taken literally and relative to the root of the work tree.
    pub(crate) fn paths<P: AsRef<OsStr>>(mut self, paths: impl IntoIterator<Item = P>) -> Self {
        self.command.env("GIT_LITERAL_PATHSPECS", "1");
        self.arg("--").args(paths)
    }

    /// Adds a setting that overrides the fixed ones. Call it before the first argument.
    pub(crate) fn config(mut self, setting: &str) -> Self {
        debug_assert!(
            self.words.is_empty(),
            "git takes -c only before the command"
        );
        self.command.arg("-c").arg(setting);
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Reads attributes from this tree instead of the checkout, where git supports that.
    pub(crate) fn attributes_of(self, tree: git2::Oid) -> Self {
        if self.host.version >= ATTRIBUTES_FROM_TREE {
            return self.env("GIT_ATTR_SOURCE", tree.to_string());
        }
        self
    }

    /// Raises the time limit for a call that may write a whole work tree.
    pub(crate) fn long(mut self) -> Self {
        self.limit = LONG;
        self
    }

    /// Runs the command. Any exit code is a result, not an error.
    pub(crate) fn run(mut self) -> Result<Output, GitError> {
        self.host.guard.check(&self.concerned)?;
        self.command
            .stdin(self.host.standard_input()?)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl+C in the daemon's terminal must not interrupt a checkout.
            .process_group(0);
        let call = Call {
            command: format!("git {}", self.words.join(" ")),
            place: self
                .command
                .get_current_dir()
                .unwrap_or(Path::new("/"))
                .to_owned(),
        };
        let child = self.host.commands.start(|| {
            let spawned = self.command.spawn();
            spawned.map_err(|error| not_started(&call.place, error))
        })?;
        // Our copy of the lock on standard input must not wait_out the child's.
        self.command.stdin(Stdio::null());
        finish(child, self.limit, call, &self.host.commands)
    }

    /// Runs the command. A non-zero exit code is an error.
    pub(crate) fn ok(self) -> Result<Output, GitError> {
        let output = self.run()?;
        if output.code == 0 {
            Ok(output)
        } else {
            Err(output.failure())
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        assert!(parse_version("2.9.5") < parse_version(MINIMUM));
        assert!(parse_version("2.47.3") > parse_version(MINIMUM));
        assert_eq!(parse_version("2.39.5"), (2, 39));
    }

    #[test]
    fn the_installed_git_is_new_enough() {
        assert!(version(&[]).unwrap() >= parse_version(MINIMUM));
    }
}
