//! From an error to the failure of an effect, and object ids between git and the log.

use std::io;
use std::path::Path;
use std::time::Duration;

use crate::domain::ids::Oid;
use crate::domain::outcome::{Failure, FailureKind};
use crate::git::{self, GitError};

/// A program may hold a lock of git for this long before a person should look.
pub(crate) const LOCK_PATIENCE: Duration = Duration::from_secs(60);

impl From<GitError> for Failure {
    fn from(error: GitError) -> Self {
        let kind = kind_of(&error);
        Self::of_kind(kind, &error)
    }
}

impl Failure {
    fn of_kind(kind: FailureKind, error: &GitError) -> Self {
        let message = match kind {
            FailureKind::Content => {
                format!("{}. {}", error.words_of_git(), error.content_advice())
            }
            FailureKind::NoSpace
            | FailureKind::Locked { .. }
            | FailureKind::Repository
            | FailureKind::AgentUnusable
            | FailureKind::Other => error.to_string(),
        };
        Self { kind, message }
    }

    /// The failure of filling a worktree. What git itself reports then is not the idea's fault.
    pub(crate) fn of_worktree(error: GitError) -> Self {
        if kind_of(&error) == FailureKind::Other && error.is_from_git() {
            return Self::of_kind(FailureKind::Content, &error);
        }
        error.into()
    }
}

/// Whose fault an error of any driver is, by what lies at its root.
pub(crate) fn kind_of(error: &(dyn std::error::Error + 'static)) -> FailureKind {
    if let Some(error) = error.downcast_ref::<GitError>() {
        return if matches!(error, GitError::DiskFull { .. }) {
            FailureKind::NoSpace
        } else if let GitError::Locked { path, age, .. } = error
            && !is_of_one_worktree(path)
        {
            FailureKind::Locked {
                long: *age >= LOCK_PATIENCE,
            }
        } else if error.is_of_the_repository() {
            FailureKind::Repository
        } else if error.is_of_content() {
            FailureKind::Content
        } else {
            FailureKind::Other
        };
    }
    let below = match error.downcast_ref::<io::Error>() {
        Some(error) if is_full(error) => return FailureKind::NoSpace,
        // What an I/O error was made of is not among its sources.
        Some(error) => error.get_ref().map(|inner| kind_of(inner)),
        None => None,
    };
    let source = || error.source().map(kind_of);
    below.or_else(source).unwrap_or(FailureKind::Other)
}

/// Whether a lock is in the administrative directory of a linked worktree: then it concerns only
/// the agent there.
fn is_of_one_worktree(lock: &Path) -> bool {
    lock.ancestors()
        .skip(2)
        .any(|dir| dir.ends_with("worktrees"))
}

fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}

/// Ours to git's. Ours are checked when they are made, so git's parser has nothing to refuse.
pub(crate) fn oid(oid: &Oid) -> Result<git::Oid, GitError> {
    git::Oid::from_str(oid.as_str()).map_err(|error| GitError::no_object(&error))
}

/// Git's to ours.
pub(crate) fn ours(oid: git::Oid) -> Oid {
    oid.to_string()
        .parse()
        .expect("git writes object ids as lower-case hex digits")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_judged_by_its_root() {
        let full = || io::Error::from(io::ErrorKind::StorageFull);
        assert_eq!(kind_of(&full()), FailureKind::NoSpace);
        assert_eq!(kind_of(&io::Error::other(full())), FailureKind::NoSpace);
        let changed = GitError::ConfigChanged {
            key: "core.bare".into(),
            value: "true".into(),
        };
        let wrapped = io::Error::other(io::Error::other(changed));
        assert_eq!(kind_of(&wrapped), FailureKind::Repository);
        let lock = |path: &str, seconds| GitError::Locked {
            path: path.into(),
            age: Duration::from_secs(seconds),
            why: "it is locked".into(),
        };
        let shared = |long| FailureKind::Locked { long };
        assert_eq!(kind_of(&lock("/r/.git/HEAD.lock", 5)), shared(false));
        assert_eq!(kind_of(&lock("/r/.git/HEAD.lock", 60)), shared(true));
        let agents = lock("/r/.git/worktrees/w01/index.lock", 5);
        assert_eq!(kind_of(&agents), FailureKind::Other);
        let other = io::Error::other("something else");
        assert_eq!(kind_of(&other), FailureKind::Other);
    }
}
