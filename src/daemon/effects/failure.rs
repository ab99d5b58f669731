//! From an error to the failure of an effect, and object ids between git and the log.

use std::io;

use crate::domain::ids::Oid;
use crate::domain::outcome::{Failure, FailureKind};
use crate::git::{self, GitError};

impl From<GitError> for Failure {
    fn from(error: GitError) -> Self {
        Self {
            kind: kind_of(&error),
            message: error.to_string(),
        }
    }
}

/// Whose fault an error of any driver is, by what lies at its root.
pub(crate) fn kind_of(error: &(dyn std::error::Error + 'static)) -> FailureKind {
    if let Some(error) = error.downcast_ref::<GitError>() {
        return if matches!(error, GitError::DiskFull { .. }) {
            FailureKind::NoSpace
        } else if error.is_of_the_repository() {
            FailureKind::Repository
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

fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}

/// Ours to git's. Ours are checked when they are made, so git's parser has nothing to refuse.
pub(crate) fn oid(oid: &Oid) -> Result<git::Oid, GitError> {
    git::Oid::from_str(oid.as_str()).map_err(GitError::library("read an object id"))
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
        let other = io::Error::other("something else");
        assert_eq!(kind_of(&other), FailureKind::Other);
    }
}
