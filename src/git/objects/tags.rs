//! Tag objects and single files, for checkpoints.
//!
//! Invariant: an object is on disk before a reference names it; a tag is read as it is, whoever
//! made it.

use git2::Oid;

use super::names::check_ref;
use crate::domain::time::Timestamp;
use crate::git::error::GitError;
use crate::git::repo::{Identity, Repo};

/// A tag as read from the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tag {
    /// Object that the reference names: the tag object, or a commit for a lightweight tag.
    pub oid: Oid,
    /// Commit that the tag resolves to; `None` if it cannot be found.
    pub commit: Option<Oid>,
}

impl Repo {
    /// Writes the object of an annotated tag `name` on `target`, without a reference; the same
    /// arguments give the same object.
    pub fn write_tag(
        &self,
        name: &str,
        target: Oid,
        message: &str,
        identity: &Identity,
        time: Timestamp,
    ) -> Result<Oid, GitError> {
        check_ref(&format!("refs/tags/{name}"))?;
        let library = self.library()?;
        let object = library
            .find_object(target, None)
            .map_err(|_| GitError::CommitMissing { oid: target })?;
        let tag = library
            .tag_annotation_create(name, &object, &identity.signature(time)?, message)
            .map_err(GitError::library(format!("write tag {name}")))?;
        self.sync_objects([tag])?;
        Ok(tag)
    }

    /// Reads the tag with this full reference name.
    pub fn tag(&self, reference: &str) -> Result<Option<Tag>, GitError> {
        let Some(oid) = self.read_ref(reference)? else {
            return Ok(None);
        };
        let library = self.library()?;
        let object = library.find_object(oid, None);
        let commit = object.and_then(|object| object.peel_to_commit());
        let commit = commit.ok().map(|commit| commit.id());
        Ok(Some(Tag { oid, commit }))
    }

    /// Writes a file's content, without a reference.
    pub fn write_blob(&self, content: &[u8]) -> Result<Oid, GitError> {
        let written = self.library()?.blob(content);
        let blob = written.map_err(GitError::library("write a file's content"))?;
        self.sync_objects([blob])?;
        Ok(blob)
    }

    /// Content of the file that the reference names; `None` if there is no such reference.
    pub fn file_at(&self, reference: &str) -> Result<Option<Vec<u8>>, GitError> {
        let Some(oid) = self.read_ref(reference)? else {
            return Ok(None);
        };
        let library = self.library()?;
        let blob = library.find_blob(oid);
        let blob = blob.map_err(GitError::library(format!("read {reference}")))?;
        Ok(Some(blob.content().to_vec()))
    }

    /// Size in bytes of the file that the reference names; `None` if there is none.
    pub fn file_size(&self, reference: &str) -> Result<Option<usize>, GitError> {
        let Some(oid) = self.read_ref(reference)? else {
            return Ok(None);
        };
        let library = self.library()?;
        let header = library.odb().and_then(|objects| objects.read_header(oid));
        Ok(header.ok().map(|(size, _)| size))
    }
}
