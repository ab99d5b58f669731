//! Why a git operation failed.
//!
//! Invariant: an error says what was attempted, why it failed and what to do next. It leaves the
//! repository unchanged, or in a state from which the same call, repeated, continues.

use std::path::PathBuf;
use std::time::Duration;

use super::objects::names::shown;
use super::store::oid::Oid;

/// Status text of a command that was killed with SIGKILL.
const KILLED: &str = "ended by signal 9";

/// Error of every call in this room.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // for fields whose names say it all
pub enum GitError {
    /// `git` is not on the PATH or cannot be started.
    #[error("cannot start git: {source}. Install git {minimum} or newer and put it on the PATH")]
    GitMissing {
        /// Oldest supported version.
        minimum: &'static str,
        /// Error from the operating system.
        source: std::io::Error,
    },
    /// The installed git lacks a feature that swarm needs.
    #[error(
        "git {found} is too old: swarm needs {minimum} or newer to merge in memory. Upgrade git"
    )]
    GitTooOld {
        /// Version as printed by `git --version`.
        found: String,
        /// Oldest supported version.
        minimum: &'static str,
    },
    /// The directory is not inside a repository.
    #[error("{} is not in a git repository. Change to a repository, or create one with `git init`",
        shown(.path))]
    NotARepository {
        /// Directory that was searched.
        path: PathBuf,
    },
    /// The repository is bare.
    #[error("{} is a bare repository without a work tree. Clone it and run swarm in the clone",
        shown(.path))]
    Bare { path: PathBuf },
    /// `HEAD` points to a branch without commits.
    #[error(
        "{} has no commit yet. Create the first one: git commit --allow-empty -m 'First commit'",
        shown(.path)
    )]
    NoCommits { path: PathBuf },
    /// A directory that swarm writes to is a symbolic link.
    #[error("{} is a symbolic link; swarm writes only to real directories. Replace the link \
        with a directory", shown(.path))]
    SymbolicLink { path: PathBuf },
    /// The repository uses a feature that git refuses.
    #[error("git cannot open {}: {why}. Fix this and start swarm again", shown(.path))]
    Unsupported {
        path: PathBuf,
        /// Error from git, or the ownership problem.
        why: String,
    },
    /// The name is not valid for a branch, reference or worktree.
    #[error("`{name}` cannot be a {what}: {why}. Choose another name")]
    BadName {
        /// `branch`, `reference` or `worktree`.
        what: &'static str,
        name: String,
        /// The rule that it violates.
        why: &'static str,
    },
    /// The repository's configuration gained a setting that can run a program or include a file.
    #[error(
        "the git configuration of this repository now has `{key} = {}`, which can run programs and \
        was added after swarm opened the repository, perhaps by an agent. Remove it \
        (`git config --unset-all {key}`), or accept it (`swarm config trust-git`) and start swarm \
        again",
        value.escape_debug()
    )]
    ConfigChanged {
        /// Key, in lower case.
        key: String,
        /// Value.
        value: String,
    },
    /// A filter is gone, as after `git-crypt lock`.
    #[error(
        "the filter `{key}` is gone from the git configuration of this repository, so what it \
        encrypts or stores elsewhere would be committed as it is. Set it up again (`git-crypt \
        unlock`, `git lfs install --local`), or start swarm again if that is meant"
    )]
    FilterGone {
        /// Key of its command, in lower case but for its middle part.
        key: String,
    },
    /// Nobody's name and e-mail address are configured, and git must not make them up.
    #[error(
        "git knows no name and e-mail address for commits in {}, and `user.useConfigOnly` forbids \
        to make them up. Set them there: `git config user.name NAME` and `git config user.email \
        ADDRESS`",
        shown(.path)
    )]
    NoIdentity { path: PathBuf },
    /// The configuration wants signatures, and none could be made.
    #[error(
        "git cannot sign as `{key}` demands: {why}. Make the key usable (try it: `git commit-tree \
        -S -m try HEAD^{{tree}}`), or let swarm's own commits go unsigned: `swarm config set \
        merge.sign never`"
    )]
    CannotSign {
        /// `commit.gpgSign` or `tag.gpgSign`.
        key: &'static str,
        /// What git printed.
        why: String,
    },
    /// A git command exited with an unexpected status.
    #[error("`{command}` failed ({status}): {stderr}")]
    Failed {
        /// Command line without the fixed options.
        command: String,
        /// Exit code or signal, as text.
        status: String,
        /// Last part of its standard error.
        stderr: String,
    },
    /// A git command ran into its time limit and was killed.
    #[error("`{command}` did not finish within {} s and was stopped. Check for a hanging filter or \
        a very slow disk, then try again", after.as_secs())]
    TimedOut {
        /// Command line without the fixed options.
        command: String,
        /// The time limit.
        after: Duration,
    },
    /// The daemon is shutting down and starts no more git commands.
    #[error("the daemon is shutting down; the next start completes this")]
    Ending,
    /// The disk or the quota is full.
    #[error(
        "the disk is full ({doing}); nothing was left half written. Free some space and try again"
    )]
    DiskFull {
        /// The operation that failed.
        doing: String,
    },
    /// A file operation failed.
    #[error("cannot {doing} {}: {source}", shown(.path))]
    Io {
        /// Verb of the message.
        doing: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// Error from the operating system.
        source: std::io::Error,
    },
    /// An object cannot be read.
    #[error("cannot {doing}: {why}")]
    Object {
        /// Verb and object of the message.
        doing: String,
        /// What is wrong with it.
        why: String,
    },
    /// git cannot read its configuration.
    #[error("git cannot read {}: {why}. Mend the file", shown(.path))]
    ConfigBroken {
        path: PathBuf,
        /// What git printed.
        why: String,
    },
    /// git printed something that swarm cannot parse.
    #[error(
        "cannot understand the output of `{command}`: {found}. Please report this with your git \
        version"
    )]
    Unreadable {
        command: &'static str,
        /// First part of the output.
        found: String,
    },
    /// A git lock file exists.
    #[error("{why}")]
    Locked {
        path: PathBuf,
        /// How long it has been there.
        age: Duration,
        /// The file, its age, its probable holder and the command that removes it.
        why: String,
    },
    /// A path that a worktree needs holds something that swarm did not create.
    #[error("{} is in the way: {why}. Move it elsewhere and try again", shown(.path))]
    PathTaken {
        path: PathBuf,
        /// Why swarm does not treat it as its own.
        why: String,
    },
    /// The branch exists but does not start at the base.
    #[error(
        "branch {branch} already exists at {found} and does not start from {base}. Rename or \
        delete it and try again"
    )]
    BranchTaken {
        branch: String,
        /// Its current commit.
        found: Oid,
        /// Expected starting commit.
        base: Oid,
    },
    /// The branch does not exist.
    #[error(
        "branch {branch} does not exist. If it was deleted, find its commit with `git reflog` and \
        restore it: `git branch {branch} <commit>`"
    )]
    BranchMissing { branch: String },
    /// A reference is not at the expected commit; it was not changed.
    #[error(
        "{name} is at {}, not at {}; it was not changed",
        oid_or_nothing(found.as_ref()),
        oid_or_nothing(expected.as_ref())
    )]
    RefMoved {
        /// Full reference name.
        name: String,
        /// Actual commit; `None` if missing.
        found: Option<Oid>,
        /// Expected commit; `None` if it must not exist.
        expected: Option<Oid>,
    },
    /// There is nowhere to make worktrees.
    #[error(
        "no folder for the worktrees of agents: {why}. Name one for this machine: swarm config set \
        --local worktree.root DIR"
    )]
    NoPlace {
        /// What is wrong with the folder that would be taken.
        why: String,
    },
    /// There is no such worktree.
    #[error("the worktree {name} is gone. Commits on its branch are not affected")]
    WorktreeMissing { name: String },
    /// A worktree does not look as swarm left it.
    #[error("worktree {} is damaged: {why}. {next}", shown(.path))]
    WorktreeBroken {
        path: PathBuf,
        /// What is wrong.
        why: String,
        /// The next step for a person.
        next: String,
    },
    /// The index of a worktree cannot be read.
    #[error("the index of {} is damaged: {why}. Delete {}/index and run `git reset` in the \
        worktree; this does not touch the files", shown(.worktree), shown(.git_dir))]
    IndexCorrupt {
        worktree: PathBuf,
        /// Its administrative directory.
        git_dir: PathBuf,
        /// Error text from git.
        why: String,
    },
    /// The worktree has uncommitted work.
    #[error("worktree {name} has uncommitted work ({}). Commit it first", files.join(", "))]
    Dirty { name: String, files: Vec<String> },
    /// The worktree has something other than its own branch checked out.
    #[error(
        "worktree {name} is on {found}, not on branch {branch}. Bring the work you need to \
        {branch}, run `git switch {branch}` there and try again"
    )]
    OffBranch {
        name: String,
        /// The branch or commit checked out.
        found: String,
        /// Expected branch.
        branch: String,
    },
    /// Another merge, rebase or similar operation is in progress.
    #[error("{what} is in progress in worktree {name}. Finish or abort it, then try again")]
    UnderWay {
        name: String,
        /// For example `a rebase`.
        what: String,
    },
    /// swarm was killed while it updated a checkout, and the person has changed the same files
    /// since.
    #[error(
        "swarm was killed while it updated {}, and these files have changed since: {}. They were \
        not touched. Move your versions aside and start swarm again: {command}",
        shown(.checkout),
        files.join(", ")
    )]
    ChangedSince {
        checkout: PathBuf,
        files: Vec<String>,
        /// Shell command that moves them aside.
        command: String,
    },
    /// The commit does not exist in this repository.
    #[error("commit {oid} is not in this repository")]
    CommitMissing { oid: Oid },
}

fn oid_or_nothing(oid: Option<&Oid>) -> String {
    oid.map_or_else(|| "nothing".to_owned(), Oid::to_string)
}

/// Whether an error text from git or the system reports a full disk or quota.
pub(crate) fn speaks_of_full_disk(text: &str) -> bool {
    const SIGNS: [&str; 4] = [
        "No space left on device",
        "Disk quota exceeded",
        "ENOSPC",
        // `git checkout` prints this when it could create a file but not write it, without the
        // reason.
        "error: unable to write file ",
    ];
    SIGNS.iter().any(|sign| text.contains(sign))
}

/// Why git cannot produce the content of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ContentFault {
    /// A filter failed, or its program is missing.
    Filter,
    /// The remote of a partial clone cannot be reached.
    Remote,
    /// An object is missing or damaged.
    Objects,
    /// Git may not write objects, as after a git command of another user.
    Store,
}

impl ContentFault {
    /// What git's error text says; git speaks English to swarm.
    fn of(text: &str) -> Option<Self> {
        const FILTER: [&str; 4] = [
            "external filter '",
            "smudge filter ",
            "clean filter ",
            // A filter process that cannot begin: git only misses its answer.
            "the remote end hung up unexpectedly",
        ];
        const OBJECTS: [&str; 3] = [
            "unable to read sha1 file of ",
            "unable to read tree ",
            "missing blob object ",
        ];
        const STORE: [&str; 2] = [
            "insufficient permission for adding an object",
            "Read-only file system",
        ];
        let has = |signs: &[&str]| signs.iter().any(|sign| text.contains(sign));
        if has(&["promisor remote", "lazy fetching disabled"]) {
            Some(Self::Remote)
        } else if has(&FILTER) {
            Some(Self::Filter)
        } else if has(&OBJECTS) || names_unreadable_object(text) {
            Some(Self::Objects)
        } else if has(&STORE) {
            Some(Self::Store)
        } else {
            None
        }
    }
}

/// `fatal: unable to read <object>`.
fn names_unreadable_object(text: &str) -> bool {
    let after = text.split_once("unable to read ").map(|(_, after)| after);
    after.is_some_and(|after| {
        let letters = after.bytes().take_while(u8::is_ascii_hexdigit);
        letters.count() >= 40
    })
}

/// Free bytes below which an unexplained write failure is attributed to a full disk.
const LOW_SPACE_BYTES: u64 = 64 << 20;

/// Whether the disk that holds `place` is so full that it explains the failed write in `text`.
pub(crate) fn is_from_full_disk(text: &str, place: &std::path::Path) -> bool {
    let writes = [
        "unable to write",
        "unable to create",
        "write error",
        "cannot write",
        "failed to write",
    ];
    if !writes.iter().any(|sign| text.contains(sign)) {
        return false;
    }
    nix::sys::statvfs::statvfs(place).is_ok_and(|disk| {
        #[allow(clippy::useless_conversion)] // The counters are narrower on some systems.
        let free = u64::from(disk.blocks_available()).saturating_mul(disk.fragment_size());
        free < LOW_SPACE_BYTES || (disk.files() > 0 && disk.files_available() == 0)
    })
}

impl GitError {
    /// Whether a git command got SIGKILL from outside before it reported anything.
    pub fn was_killed(&self) -> bool {
        matches!(self, Self::Failed { status, .. } if status == KILLED)
    }

    /// What kept git from producing the content of files, as far as its words say so.
    fn content_fault(&self) -> Option<ContentFault> {
        let Self::Failed { stderr, .. } = self else {
            return None;
        };
        ContentFault::of(stderr)
    }

    /// Whether git could not produce or keep the content of files: a filter failed, objects are
    /// missing or cannot be written. The idea at whose turn it happens is not at fault.
    pub fn is_of_content(&self) -> bool {
        self.content_fault().is_some()
    }

    /// Whether a filter or a remote failed, which no fresh worktree changes.
    pub(crate) fn is_from_outside(&self) -> bool {
        matches!(
            self.content_fault(),
            Some(ContentFault::Filter | ContentFault::Remote)
        )
    }

    /// Whether git itself failed, so that a worktree that it was to prepare is not the idea's
    /// fault.
    pub fn is_from_git(&self) -> bool {
        matches!(
            self,
            Self::Failed { .. }
                | Self::TimedOut { .. }
                | Self::Object { .. }
                | Self::Unreadable { .. }
        )
    }

    /// Git's own words about the failure, in one line.
    pub fn words_of_git(&self) -> String {
        if let Self::Failed { stderr, .. } = self
            && !stderr.is_empty()
        {
            return stderr.replace('\n', "; ");
        }
        self.to_string()
    }

    /// What a person can do when git cannot produce the content of files.
    pub fn content_advice(&self) -> &'static str {
        match self.content_fault() {
            Some(ContentFault::Filter) => {
                "Install the filter's program, or unlock it; if it looks for something in the git \
                directory, name that: swarm config set worktree.gitDirLinks '[\"NAME\"]'"
            }
            Some(ContentFault::Remote) => {
                "This clone is partial: make its remote reachable without a prompt, or fetch all \
                of it: git fetch --refetch --no-filter"
            }
            Some(ContentFault::Objects) => {
                "Objects are missing from the repository; see which: git fsck --connectivity-only"
            }
            Some(ContentFault::Store) => {
                "Git may not write to its own directory; give it back to your user: sudo chown -R \
                \"$(id -un)\" \"$(git rev-parse --git-common-dir)\""
            }
            None => "Try it: git worktree add --detach /tmp/try",
        }
    }

    /// Whether the whole repository is affected, so that every call fails until a person fixes it.
    pub fn is_of_the_repository(&self) -> bool {
        match self {
            Self::GitMissing { .. }
            | Self::GitTooOld { .. }
            | Self::NotARepository { .. }
            | Self::Bare { .. }
            | Self::NoCommits { .. }
            | Self::SymbolicLink { .. }
            | Self::Unsupported { .. }
            | Self::ConfigChanged { .. }
            | Self::FilterGone { .. }
            | Self::NoIdentity { .. }
            | Self::CannotSign { .. }
            | Self::ConfigBroken { .. }
            | Self::NoPlace { .. } => true,
            Self::Io { source, .. } => source.kind() == std::io::ErrorKind::ReadOnlyFilesystem,
            Self::BadName { .. }
            | Self::Failed { .. }
            | Self::TimedOut { .. }
            | Self::Ending
            | Self::DiskFull { .. }
            | Self::Object { .. }
            | Self::Unreadable { .. }
            | Self::Locked { .. }
            | Self::PathTaken { .. }
            | Self::BranchTaken { .. }
            | Self::BranchMissing { .. }
            | Self::RefMoved { .. }
            | Self::WorktreeMissing { .. }
            | Self::WorktreeBroken { .. }
            | Self::IndexCorrupt { .. }
            | Self::Dirty { .. }
            | Self::OffBranch { .. }
            | Self::UnderWay { .. }
            | Self::ChangedSince { .. }
            | Self::CommitMissing { .. } => false,
        }
    }

    pub(crate) fn io(doing: &'static str, path: &std::path::Path, source: std::io::Error) -> Self {
        use std::io::ErrorKind::{QuotaExceeded, StorageFull};
        if matches!(source.kind(), StorageFull | QuotaExceeded) {
            return Self::DiskFull {
                doing: format!("{doing} {}", shown(path)),
            };
        }
        Self::Io {
            doing,
            path: path.to_owned(),
            source,
        }
    }

    /// For a text that is no object's name.
    pub(crate) fn no_object(error: &super::store::oid::NotAnOid) -> Self {
        Self::Object {
            doing: "read the name of an object".into(),
            why: error.to_string(),
        }
    }
}

/// Turns an I/O error into a [`GitError`] with a verb and a path: `result.at("rename", path)?`.
pub(crate) trait At<T> {
    fn at(self, doing: &'static str, path: &std::path::Path) -> Result<T, GitError>;
}

impl<T> At<T> for std::io::Result<T> {
    fn at(self, doing: &'static str, path: &std::path::Path) -> Result<T, GitError> {
        self.map_err(|source| GitError::io(doing, path, source))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_recognised_in_every_kind_of_error() {
        let system = GitError::io(
            "write",
            "x".as_ref(),
            std::io::ErrorKind::StorageFull.into(),
        );
        assert!(matches!(system, GitError::DiskFull { .. }), "{system}");
        assert!(speaks_of_full_disk(
            "fatal: write error: No space left on device"
        ));
    }

    #[test]
    fn a_failed_filter_a_remote_that_is_away_and_a_missing_object_are_told_apart() {
        let of = ContentFault::of;
        let crypt = "error: external filter '\"git-crypt\" smudge' failed 1";
        assert_eq!(of(crypt), Some(ContentFault::Filter));
        let lfs = "git-lfs: not found\nfatal: the remote end hung up unexpectedly";
        assert_eq!(of(lfs), Some(ContentFault::Filter));
        let object = "d00491fd7e5bb6fa28c517a0bb32b8b506539d4d";
        let away = format!("fatal: could not fetch {object} from promisor remote");
        assert_eq!(of(&away), Some(ContentFault::Remote));
        let gone = format!("fatal: unable to read {object}");
        assert_eq!(of(&gone), Some(ContentFault::Objects));
        assert_eq!(of("fatal: unable to read askpass response"), None);
        assert_eq!(of("error: pathspec 'x' did not match"), None);
    }

    #[test]
    fn what_keeps_every_call_from_working_is_of_the_repository() {
        let too_old = GitError::GitTooOld {
            found: "2.20.1".into(),
            minimum: "2.38",
        };
        assert!(too_old.is_of_the_repository());
        let gone = GitError::NotARepository { path: "x".into() };
        assert!(gone.is_of_the_repository());
        let locked = GitError::Locked {
            path: "x".into(),
            age: Duration::ZERO,
            why: "somebody holds it".into(),
        };
        assert!(!locked.is_of_the_repository());
    }
}
