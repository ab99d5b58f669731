//! Annotated tags of ours.
//!
//! Invariant: read as they are, whoever made them; deleted only where they are expected.

use git2::Oid;

use super::names::check_ref;
use crate::git::error::GitError;
use crate::git::repo::Repo;

/// A tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tag {
    /// What its reference names: the tag's object, or a commit where the tag has no object of its
    /// own.
    pub oid: Oid,
    /// The commit that it stands for; none: it cannot be found.
    pub commit: Option<Oid>,
    /// Its message; empty where it has no object of its own.
    pub message: String,
}

impl Repo {
    /// The tag `refs/tags/<name>`, or none.
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

    /// Removes it. Already gone: fine.
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
