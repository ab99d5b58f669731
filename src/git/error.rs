//! What can go wrong between swarm and git.
//!
//! Invariant: an error says what was being done, why it did not work and what to do next, and it
//! leaves the repository as it was found, or in a state that the same call, made again, carries on
//! from.

use std::path::PathBuf;
use std::time::Duration;

use git2::Oid;

use super::objects::names::shown;

/// The status of a command that got SIGKILL.
const KILLED: &str = "ended by signal 9";

/// Why a call of this room failed.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// There is no `git` on the path, or it cannot be started.
    #[error(
        "git cannot be started: {source}. Install git {minimum} or newer, or put it on the PATH"
    )]
    GitMissing {
        /// The oldest version that will do.
        minimum: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// The installed git lacks what swarm relies on.
    #[error(
        "git {found} is too old: swarm needs {minimum} or newer (for merges in memory). Upgrade git"
    )]
    GitTooOld {
        /// The version as git tells it.
        found: String,
        /// The oldest version that will do.
        minimum: &'static str,
    },
    /// The directory lies in no repository.
    #[error("{} is not in a git repository. Go to one, or make one with `git init`", shown(.path))]
    NotARepository {
        /// Where was looked.
        path: PathBuf,
    },
    /// The repository has no work tree of its own.
    #[error("{} is a bare repository, without a work tree. Make a clone with one and run swarm \
        there", shown(.path))]
    Bare {
        /// The repository.
        path: PathBuf,
    },
    /// `HEAD` is unborn.
    #[error("{} has no commit yet. Make the first one: git commit --allow-empty -m 'First commit'", shown(.path))]
    NoCommits {
        /// The repository.
        path: PathBuf,
    },
    /// A directory of swarm's own is a symbolic link and could lead anywhere.
    #[error("{} is a symbolic link; swarm writes only into a real directory. Replace the link by a \
        directory", shown(.path))]
    SymbolicLink {
        /// The link.
        path: PathBuf,
    },
    /// The repository uses something that the library or git itself refuses.
    #[error("git will not open {}: {why}. Put that right and start again", shown(.path))]
    Unsupported {
        /// The repository.
        path: PathBuf,
        /// What was refused.
        why: String,
    },
    /// A name may not become a branch, reference or directory.
    #[error("`{name}` cannot be a {what}: {why}. Choose another name")]
    BadName {
        /// What it was to become.
        what: &'static str,
        /// The name.
        name: String,
        /// The rule that it breaks.
        why: &'static str,
    },
    /// The repository's own configuration would now run a program or read a file that it did not
    /// when it was opened.
    #[error(
        "the git configuration of this repository now has `{key} = {}`, which was not there when \
        swarm began to work here and can run programs. An agent may have put it there. Remove it \
        (`git config --unset-all {key}`); or, if it is yours, accept it (`swarm config trust-git`) \
        and start swarm again",
        value.escape_debug()
    )]
    ConfigChanged {
        /// The key, lower case.
        key: String,
        /// What it says.
        value: String,
    },
    /// A git command ended with an unexpected status.
    #[error("`{command}` failed ({status}): {stderr}")]
    Failed {
        /// The command without its fixed options.
        command: String,
        /// Exit code or signal.
        status: String,
        /// The end of what it said.
        stderr: String,
    },
    /// A git command did not end in time and was ended.
    #[error("`{command}` did not end within {} s and was ended. Look for a hanging filter or a \
        very slow disk, then try again", after.as_secs())]
    TimedOut {
        /// The command without its fixed options.
        command: String,
        /// How long it was given.
        after: Duration,
    },
    /// The daemon is ending, and starts no git any more.
    #[error("the daemon is ending; the next start does it")]
    Ending,
    /// No room.
    #[error("the disk is full ({doing}); nothing was left half made. Free some room and try again")]
    DiskFull {
        /// What was being done.
        doing: String,
    },
    /// A file operation failed.
    #[error("cannot {doing} {}: {source}", shown(.path))]
    Io {
        /// The verb.
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// An operation on objects or references failed.
    #[error("cannot {doing}: {source}")]
    Library {
        /// The verb and its object.
        doing: String,
        /// What libgit2 said.
        source: git2::Error,
    },
    /// git answered in a form that is not understood.
    #[error(
        "`{command}` answered with something unexpected: {found}. Report this with the version of \
        your git"
    )]
    Unreadable {
        /// The command.
        command: &'static str,
        /// The beginning of what was found.
        found: String,
    },
    /// A lock file of git stands in the way.
    #[error("{} is there: {why}. {next}", shown(.path))]
    Locked {
        /// The lock file.
        path: PathBuf,
        /// Who seems to hold it.
        why: String,
        /// What to do.
        next: String,
    },
    /// Something that swarm did not make lies where a worktree should go.
    #[error("{} is in the way: {why}. Move it elsewhere and try again", shown(.path))]
    PathTaken {
        /// What is in the way.
        path: PathBuf,
        /// Why it is not taken for one of swarm's.
        why: String,
    },
    /// A branch of that name exists and does not begin at the base.
    #[error(
        "branch {branch} is there already, at {found}, and does not start from {base}. Rename or \
        delete it and try again"
    )]
    BranchTaken {
        /// The branch.
        branch: String,
        /// Its commit.
        found: Oid,
        /// Where it should start.
        base: Oid,
    },
    /// A branch is gone.
    #[error(
        "branch {branch} does not exist (any more). Bring it back with `git branch {branch} \
        <commit>` (see `git reflog`)"
    )]
    BranchMissing {
        /// The branch.
        branch: String,
    },
    /// A reference is not where it was expected, so it was left alone.
    #[error(
        "{name} is at {}, not at {}; it was left as it is",
        spot(found.as_ref()),
        spot(expected.as_ref())
    )]
    RefMoved {
        /// The whole name of the reference.
        name: String,
        /// Where it is; none when missing.
        found: Option<Oid>,
        /// Where it was expected; none when it should not exist.
        expected: Option<Oid>,
    },
    /// A worktree is gone.
    #[error(
        "there is no worktree {name} under .swarm/worktrees. Its branch, if there is one, still \
        has its commits"
    )]
    WorktreeMissing {
        /// Its name.
        name: String,
    },
    /// A worktree is no longer what swarm made.
    #[error("worktree {} is damaged: {why}. {next}", shown(.path))]
    WorktreeBroken {
        /// The worktree.
        path: PathBuf,
        /// What was found.
        why: String,
        /// What to do.
        next: String,
    },
    /// An index cannot be read.
    #[error("the index of {} is damaged: {why}. Delete {}/index and run `git reset` there: the \
        files are not touched", shown(.worktree), shown(.git_dir))]
    IndexCorrupt {
        /// The worktree.
        worktree: PathBuf,
        /// Its git directory.
        git_dir: PathBuf,
        /// What git said.
        why: String,
    },
    /// Uncommitted work stands in the way.
    #[error("worktree {name} has uncommitted work ({}). Commit it first", files.join(", "))]
    Dirty {
        /// Its name.
        name: String,
        /// The files.
        files: Vec<String>,
    },
    /// The worktree does not have its own branch checked out.
    #[error(
        "worktree {name} is on {found}, not on branch {branch}. Run `git switch {branch}` there, \
        bring over what is needed, and try again"
    )]
    OffBranch {
        /// Its name.
        name: String,
        /// What it is on.
        found: String,
        /// Its own branch.
        branch: String,
    },
    /// A merge, rebase or the like of somebody else is under way.
    #[error("in worktree {name} {what} is under way. Finish it or abort it, and try again")]
    UnderWay {
        /// Its name.
        name: String,
        /// What it is.
        what: String,
    },
    /// A killed move of the target left a checkout between two commits, and its person has changed
    /// the same files since.
    #[error(
        "swarm was killed while it updated {}, and these files were changed since: {}. They were \
        left as they are. Move your versions aside, and start swarm again: {command}",
        shown(.checkout),
        files.join(", ")
    )]
    ChangedSince {
        /// The checkout.
        checkout: PathBuf,
        /// The files.
        files: Vec<String>,
        /// The shell command that moves them aside.
        command: String,
    },
    /// A commit is not in the repository.
    #[error("commit {oid} is not in this repository")]
    CommitMissing {
        /// The commit.
        oid: Oid,
    },
}

fn spot(oid: Option<&Oid>) -> String {
    oid.map_or_else(|| "nothing".to_owned(), Oid::to_string)
}

/// Whether text of git or the system speaks of a full disk or quota.
pub(crate) fn speaks_of_full_disk(text: &str) -> bool {
    const SIGNS: [&str; 4] = [
        "No space left on device",
        "Disk quota exceeded",
        "ENOSPC",
        // A checkout that could create the file, and not write it: git does not pass on why.
        "error: unable to write file ",
    ];
    SIGNS.iter().any(|sign| text.contains(sign))
}

/// Free space (bytes) under which a write that failed for no stated reason is taken to have failed
/// for want of room.
const LITTLE: u64 = 64 << 20;

/// A checkout says only "unable to write file": whether the disk explains it.
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
        #[allow(clippy::useless_conversion)] // On some systems the counters are narrower.
        let free = u64::from(disk.blocks_available()).saturating_mul(disk.fragment_size());
        free < LITTLE || (disk.files() > 0 && disk.files_available() == 0)
    })
}

impl GitError {
    /// Whether a git command was killed from outside before it could say anything.
    pub fn was_killed(&self) -> bool {
        matches!(self, Self::Failed { status, .. } if status == KILLED)
    }

    /// Whether this is about the repository as a whole, so that every call meets it until a person
    /// has put it right.
    pub fn is_of_the_repository(&self) -> bool {
        match self {
            Self::ConfigChanged { .. } | Self::GitMissing { .. } | Self::Unsupported { .. } => true,
            Self::Library { source, .. } => source.class() == git2::ErrorClass::Config,
            Self::Io { source, .. } => source.kind() == std::io::ErrorKind::ReadOnlyFilesystem,
            _ => false,
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

    pub(crate) fn library(doing: impl Into<String>) -> impl FnOnce(git2::Error) -> Self {
        let doing = doing.into();
        move |source| {
            if speaks_of_full_disk(source.message()) {
                return Self::DiskFull { doing };
            }
            Self::Library { doing, source }
        }
    }
}

/// `result.at("rename", path)?`: an I/O error with its verb and path.
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
    fn a_full_disk_is_seen_whoever_reports_it() {
        let system = GitError::io(
            "write",
            "x".as_ref(),
            std::io::ErrorKind::StorageFull.into(),
        );
        assert!(matches!(system, GitError::DiskFull { .. }), "{system}");
        let library =
            GitError::library("write")(git2::Error::from_str("failed: No space left on device"));
        assert!(matches!(library, GitError::DiskFull { .. }), "{library}");
        assert!(speaks_of_full_disk(
            "fatal: write error: No space left on device"
        ));
    }
}
