//! The only place that starts git.
//!
//! Invariant: a call runs git and nothing that an agent could have configured. [`OVERRIDES`]
//! disables the programs that git would start by itself; `GIT_*` variables are removed except those
//! that locate the person's configuration; the locale is `C`, standard input is empty, and
//! directories are explicit. Programs that cannot be overridden by name (filters, merge drivers,
//! includes) are pinned by [`super::config_guard`]. A process of the same user can still change the
//! *global* configuration. A remote is reached only for objects of a partial clone and files of Git
//! LFS, with the person's own programs and without a prompt: see [`Host::fetches_lazily`].

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Seek as _, Write as _};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::child::{Call, Output, finish, not_started};
use super::config_guard::Guard;
use super::running::Running;
use crate::git::GitError;
use crate::git::error::At;
use crate::git::objects::names::printable;
use crate::git::store::oid::Oid;

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
    "core.pager=cat",
    "core.editor=true",
    "sequence.editor=true",
    "commit.gpgSign=false",
    "tag.gpgSign=false",
    "log.showSignature=false",
    "merge.verifySignatures=false",
    "diff.external=",
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

/// Settings of a repository that needs no remote: nothing is ever sent or fetched.
const WITHOUT_REMOTE: &[&str] = &[
    "core.sshCommand=false",
    "credential.helper=",
    "protocol.allow=never",
];
/// Settings of a repository that needs one: a transfer without data for a minute fails.
const WITH_REMOTE: &[&str] = &["http.lowSpeedLimit=1", "http.lowSpeedTime=60"];
/// The ssh of people who have configured none; it asks nothing, and notices a dead connection
/// within a minute.
const SSH: &str = "ssh -o BatchMode=yes -o ConnectTimeout=60 -o ServerAliveInterval=20 \
                   -o ServerAliveCountMax=3";

/// Variables that only locate the person's configuration, or leave files of Git LFS out.
const KEPT_VARIABLES: &[&str] = &[
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_LFS_SKIP_SMUDGE",
];

/// Variables of the person's that matter where a remote is needed.
const REMOTES_VARIABLES: &[&str] = &[
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_SSH_VARIANT",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
    "GIT_SSL_NO_VERIFY",
    "GIT_PROXY_COMMAND",
    "GIT_PROXY_SSL_CAINFO",
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
    /// Whether the person has configured a program for ssh.
    pub(crate) has_ssh: bool,
    /// Commands running now.
    pub(crate) commands: Running,
}

/// What a git command may reach besides the repository.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Reach {
    /// Missing objects are fetched from the remote that promised them.
    lazy_fetch: bool,
    /// Filters may fetch files.
    remote: bool,
}

impl Host {
    /// Whether git fetches missing objects when it needs them: the clone was partial when the
    /// repository was opened.
    pub(crate) fn fetches_lazily(&self) -> bool {
        self.guard.is_partial()
    }

    fn reach(&self) -> Reach {
        Reach {
            lazy_fetch: self.fetches_lazily(),
            remote: self.guard.needs_remote(),
        }
    }

    /// A git command with an explicit git directory and work tree.
    pub(crate) fn git(&self, git_dir: &Path, work_tree: &Path) -> Git<'_> {
        let mut git = self.git_found_in(git_dir, work_tree);
        git.command.arg(joined("--git-dir=", git_dir));
        git.command.arg(joined("--work-tree=", work_tree));
        git
    }

    /// A git command that finds its directories by itself. `git_dir` is the one that it should
    /// find, whose configuration is checked.
    pub(crate) fn git_found_in(&self, git_dir: &Path, work_tree: &Path) -> Git<'_> {
        let mut command = self.command();
        command.current_dir(work_tree);
        Git {
            host: self,
            concerned: git_dir.to_owned(),
            command,
            words: Vec::new(),
            limit: QUICK,
            input: None,
        }
    }

    /// git with the fixed settings.
    fn command(&self) -> Command {
        let reach = self.reach();
        let mut command = plain(&self.environment, reach);
        let by_reach = if reach.remote {
            WITH_REMOTE
        } else {
            WITHOUT_REMOTE
        };
        for setting in OVERRIDES.iter().chain(by_reach) {
            command.arg("-c").arg(setting);
        }
        if reach.remote && !self.has_ssh {
            command.arg("-c").arg(format!("core.sshCommand={SSH}"));
        }
        command
    }

    /// Starts a `git cat-file` that answers until its standard input closes. It only reads, so it
    /// is not among the commands that a daemon waits for.
    pub(crate) fn start_reader(&self, git_dir: &Path) -> Result<Child, GitError> {
        self.guard.check(git_dir)?;
        let mut command = self.command();
        command
            .arg(joined("--git-dir=", git_dir))
            .args(["--no-replace-objects", "cat-file", "--batch-command"])
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0);
        self.commands.unless_ending(|| {
            let spawned = command.spawn();
            spawned.map_err(|error| not_started(Path::new("/"), error))
        })
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

    /// A file without a name that holds this content.
    fn holding(&self, content: &[u8]) -> Result<Stdio, GitError> {
        let folder = self.running.parent().unwrap_or(&self.running);
        let write = || -> std::io::Result<File> {
            let mut file = tempfile::tempfile_in(folder)?;
            file.write_all(content)?;
            file.rewind()?;
            Ok(file)
        };
        Ok(write().at("write below", folder)?.into())
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
    let output = alone(environment)
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
    let mut command = alone(&[]);
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

/// Runs git in a folder without anybody's configuration, for a new repository that is swarm's own.
/// Commits are by `who`, at `time` (seconds since 1970) or now. Returns what git printed.
///
/// # Errors
/// git cannot be started, or fails; the text is git's.
pub fn run_as(
    who: &str,
    time: Option<i64>,
    folder: &Path,
    words: &[&str],
) -> std::io::Result<String> {
    let mut command = alone(&[]);
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), who);
        command.env(format!("GIT_{role}_EMAIL"), "swarm@localhost");
        if let Some(time) = time {
            command.env(format!("GIT_{role}_DATE"), format!("@{time} +0000"));
        }
    }
    let command = command
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1");
    let output = command
        .args(words)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()?;
    if output.status.success() {
        let text = String::from_utf8_lossy(&output.stdout);
        return Ok(text.trim_end().to_owned());
    }
    let why = String::from_utf8_lossy(&output.stderr);
    Err(std::io::Error::other(why.trim().to_owned()))
}

fn parse_version(text: &str) -> (u32, u32) {
    let mut parts = text.split('.').map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
}

/// Whether the person has configured a program for ssh, in whatever way.
pub(crate) fn has_ssh(environment: &[(OsString, OsString)], git_dir: &Path) -> bool {
    let from_environment = ["GIT_SSH", "GIT_SSH_COMMAND"].map(std::env::var_os);
    let asked = alone(environment)
        .arg(joined("--git-dir=", git_dir))
        .args(["config", "--get", "core.sshCommand"])
        .stdin(Stdio::null())
        .output();
    from_environment.iter().any(Option::is_some) || asked.is_ok_and(|it| it.status.success())
}

/// A git command that reaches nothing outside, without the fixed settings.
pub(in crate::git) fn alone(environment: &[(OsString, OsString)]) -> Command {
    plain(environment, Reach::default())
}

fn plain(environment: &[(OsString, OsString)], reach: Reach) -> Command {
    let mut command = Command::new("git");
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let kept = KEPT_VARIABLES.contains(&text.as_ref())
            || (reach.remote && REMOTES_VARIABLES.contains(&text.as_ref()));
        let of_git = text.starts_with("GIT_") && !kept;
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
        // Never the terminal that the daemon may have.
        ("SSH_ASKPASS_REQUIRE", "force"),
        ("GCM_INTERACTIVE", "never"),
        ("GIT_MERGE_AUTOEDIT", "no"),
    ];
    command.envs(fixed).env_remove("LANGUAGE");
    if !reach.lazy_fetch {
        command.env("GIT_NO_LAZY_FETCH", "1");
    }
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    command
}

pub(super) fn joined(option: &str, path: &Path) -> OsString {
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
    /// Standard input in place of the empty file that all share.
    input: Option<Vec<u8>>,
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
    pub(crate) fn attributes_of(self, tree: Oid) -> Self {
        if self.host.version >= ATTRIBUTES_FROM_TREE {
            return self.env("GIT_ATTR_SOURCE", tree.to_string());
        }
        self
    }

    /// Gives the command a standard input. Only for commands that write objects or read: the next
    /// daemon does not wait for one that outlives a killed daemon.
    pub(crate) fn input(mut self, content: &[u8]) -> Self {
        self.input = Some(content.to_owned());
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
        let input = match &self.input {
            Some(content) => self.host.holding(content)?,
            None => self.host.standard_input()?,
        };
        self.command
            .stdin(input)
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
