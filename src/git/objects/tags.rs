//! Tag objects and single files, for checkpoints.
//!
//! Invariant: an object is on disk before a reference names it; a tag is read as it is, whoever
//! made it.

use super::names::check_ref;
use crate::domain::time::Timestamp;
use crate::git::error::GitError;
use crate::git::person::Identity;
use crate::git::repo::Repo;
use crate::git::store::format::{Kind, tag_text};
use crate::git::store::oid::Oid;

/// A tag as read from the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tag {
    /// Object that the reference names: the tag object, or a commit for a lightweight tag.
    pub oid: Oid,
    /// Commit that the tag resolves to; `None` if it cannot be found.
    pub commit: Option<Oid>,
}

impl Repo {
    /// Writes the object of an annotated tag `name` on `target`, without a reference. The same
    /// arguments give the same object, unless it is signed.
    pub fn write_tag(
        &self,
        name: &str,
        target: Oid,
        message: &str,
        identity: &Identity,
        time: Timestamp,
    ) -> Result<Oid, GitError> {
        check_ref(&format!("refs/tags/{name}"))?;
        if self.signs_tags()? {
            let tag = self.write_signed_tag(name, target, message, identity, time)?;
            self.sync_objects([tag])?;
            return Ok(tag);
        }
        let found = self.header(&target.to_string())?;
        let found = found.ok_or(GitError::CommitMissing { oid: target })?;
        let text = tag_text(name, (target, found.kind), &identity.at(time), message);
        let tag = self.write_object(Kind::Tag, &text)?;
        self.sync_objects([tag])?;
        Ok(tag)
    }

    /// Reads the tag with this full reference name.
    pub fn tag(&self, reference: &str) -> Result<Option<Tag>, GitError> {
        let Some(oid) = self.read_ref(reference)? else {
            return Ok(None);
        };
        let commit = self.header(&format!("{oid}^{{commit}}"))?;
        let commit = commit.map(|found| found.id);
        Ok(Some(Tag { oid, commit }))
    }

    /// Writes a file's content, without a reference.
    pub fn write_blob(&self, content: &[u8]) -> Result<Oid, GitError> {
        let blob = self.write_object(Kind::Blob, content)?;
        self.sync_objects([blob])?;
        Ok(blob)
    }

    /// Content of the file that the reference names; `None` if there is no such reference.
    pub fn file_at(&self, reference: &str) -> Result<Option<Vec<u8>>, GitError> {
        let Some(oid) = self.read_ref(reference)? else {
            return Ok(None);
        };
        self.content(oid)
    }

    /// Size in bytes of the file that the reference names; `None` if there is none.
    pub fn file_size(&self, reference: &str) -> Result<Option<usize>, GitError> {
        let Some(oid) = self.read_ref(reference)? else {
            return Ok(None);
        };
        let header = self.header(&oid.to_string())?;
        Ok(header.and_then(|found| usize::try_from(found.size).ok()))
    }
}
