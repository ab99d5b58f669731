//! Annotated tags under `refs/tags/`, read and deleted for checkpoints.
//!
//! Invariant: a tag is read as it is, whoever made it, and deleted only if it is where it was read.

use git2::Oid;

use super::names::check_ref;
use crate::git::error::GitError;
use crate::git::repo::Repo;

/// A tag as read from the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tag {
    /// Object that the reference names: the tag object, or a commit for a lightweight tag.
    pub oid: Oid,
    /// Commit that the tag resolves to; `None` if it cannot be found.
    pub commit: Option<Oid>,
    /// Tag message; empty for a lightweight tag.
    pub message: String,
}

impl Repo {
    /// Reads the tag `refs/tags/<name>`.
    pub fn tag(&self, name: &str) -> Result<Option<Tag>, GitError> {
        let Some(oid) = self.read_ref(&full(name)?)? else {
            return Ok(None);
        };
        let library = self.library()?;
        let object = library.find_object(oid, None);
        let commit = object.and_then(|object| object.peel_to_commit());
        let message = match library.find_tag(oid) {
            Ok(tag) => {
                String::from_utf8_lossy(tag.message_bytes().unwrap_or_default()).into_owned()
            }
            Err(_) => String::new(),
        };
        let commit = commit.ok().map(|commit| commit.id());
        Ok(Some(Tag {
            oid,
            commit,
            message,
        }))
    }

    /// Deletes the tag. Succeeds if it does not exist.
    pub fn delete_tag(&self, name: &str) -> Result<(), GitError> {
        let full = full(name)?;
        match self.read_ref(&full)? {
            Some(oid) => self.delete_ref(&full, oid),
            None => self.free_ref(&full),
        }
    }
}

fn full(name: &str) -> Result<String, GitError> {
    let full = format!("refs/tags/{name}");
    check_ref(&full)?;
    Ok(full)
}
