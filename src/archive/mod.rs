//! Archives of a swarm: one compressed file (`NAME.swarm.tar.zst`) with its log, work and
//! conversations. `manifest` says what is inside; `names`, `format` and `read` are the grammar;
//! `write` makes an archive, into a `part_file`; `stage` unpacks one that is not trusted;
//! `agent_file` does both for one agent alone.
//!
//! Invariant: the same content gives the same bytes. Nothing outside the staging folder is written,
//! whatever an archive contains, and nothing staged is used before all sizes and digests are right.

pub mod agent_file;
pub mod error;
mod format;
pub mod manifest;
pub mod names;
pub mod part_file;
pub mod read;
pub mod stage;
#[cfg(test)]
mod tests;
pub mod write;

pub use agent_file::{UnpackedAgent, UnpackedConversation, unpack_agent, write_agent};
pub use error::ArchiveError;
pub use manifest::{Entry, GitPart, Manifest, ObjectFormat, Purpose, Redaction, SnapshotPart};
pub use part_file::PartFile;
pub use stage::{Staged, stage};
pub use write::{Content, Source, Written, write};

/// Most that an archive may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Files, the manifest not counted.
    pub files: usize,
    /// Bytes of all files together, unpacked.
    pub bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            files: 200_000,
            bytes: 8 << 30,
        }
    }
}
