//! The file of one agent, `NAME.tar.zst`: its state, then the conversation of its program and its
//! commits, if it has them. The bytes around the files are those of archives.
//!
//! Invariant: there are no other files and no other order, so no list is needed. Nothing is
//! written but the folder that [`unpack_agent`] makes; a file that is refused leaves none.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{BufWriter, Read, Write};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::Limits;
use super::error::ArchiveError;
use super::names::{BUNDLE, LONGEST, MANIFEST, is_plain_part};
use super::read::{Blocks, not_an_archive};
use super::write::{self, Source};
use crate::remove;

/// The state, always the first file.
pub const STATE: &str = "agent.json";
/// The folder of the conversation: one plain file.
pub const CONVERSATION: &str = "conversation/";
/// Most bytes of the state.
pub const MAX_STATE: u64 = 64 << 20;

/// The file of an agent, unpacked into a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnpackedAgent {
    /// The bytes of `agent.json`.
    pub state: Vec<u8>,
    /// The conversation.
    pub conversation: Option<UnpackedConversation>,
    /// The bundle with the commits.
    pub bundle: Option<PathBuf>,
}

/// A conversation, unpacked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnpackedConversation {
    /// The name that its program gave it.
    pub name: String,
    /// The file.
    pub path: PathBuf,
    /// SHA-256 of its content, in hex.
    pub sha256: String,
}

/// A file of an agent, by its place in the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    State,
    Conversation,
    Commits,
}

/// Which file this is; `None` if no file has such a name.
fn part_of(name: &str) -> Option<Part> {
    let conversation = name.strip_prefix(CONVERSATION);
    match name {
        STATE => Some(Part::State),
        BUNDLE => Some(Part::Commits),
        _ if name.len() <= LONGEST && conversation.is_some_and(is_plain_part) => {
            Some(Part::Conversation)
        }
        _ => None,
    }
}

/// Whether a conversation's file of this name can be packed.
pub fn can_be_packed(name: &str) -> bool {
    part_of(&format!("{CONVERSATION}{name}")) == Some(Part::Conversation)
}

/// Checks the name of the next file.
fn next(before: Option<Part>, name: &str) -> Result<Part, ArchiveError> {
    let name = name.to_owned();
    let Some(part) = part_of(&name) else {
        return Err(ArchiveError::Name { name });
    };
    match before {
        None if part != Part::State => Err(not_an_archive("its first file is not agent.json")),
        Some(before) if before == part => Err(ArchiveError::Duplicate { name }),
        Some(before) if before > part => Err(ArchiveError::Misplaced { name }),
        None | Some(_) => Ok(part),
    }
}

/// Writes the file of an agent.
///
/// # Errors
/// A name or an order that readers would refuse; a file that changed meanwhile; `to` cannot be
/// written.
pub fn write_agent(sources: &[Source], to: impl Write) -> Result<(), ArchiveError> {
    let mut before = None;
    for source in sources {
        before = Some(next(before, &source.path)?);
    }
    let mut tar = write::begin(to)?;
    for source in sources {
        write::put_source(&mut tar, source, &write::entry(source)?)?;
    }
    write::finish(tar)
}

/// Unpacks the file of an agent that is not trusted into the folder `into`, which must not be there
/// yet.
///
/// # Errors
/// See [`ArchiveError`]. Then the folder is gone, unless it was there before.
pub fn unpack_agent(
    input: impl Read,
    into: &Path,
    limits: Limits,
) -> Result<UnpackedAgent, ArchiveError> {
    let blocks = Blocks::open(input)?;
    let made = DirBuilder::new().mode(0o700).create(into);
    made.map_err(ArchiveError::io("make the folder", into))?;
    match unpack(blocks, into, limits) {
        Ok(unpacked) => Ok(unpacked),
        Err(refused) => {
            remove::tree_if_there(into).map_err(ArchiveError::io("remove", into))?;
            Err(refused)
        }
    }
}

fn unpack<R: Read>(
    mut blocks: Blocks<R>,
    into: &Path,
    limits: Limits,
) -> Result<UnpackedAgent, ArchiveError> {
    let mut found = UnpackedAgent {
        state: Vec::new(),
        conversation: None,
        bundle: None,
    };
    let (mut before, mut left) = (None, limits.bytes);
    while let Some((name, size)) = blocks.next_file()? {
        if before.is_none() && name == MANIFEST {
            return Err(ArchiveError::WholeSwarm);
        }
        let part = next(before, &name)?;
        before = Some(part);
        let limit = match part {
            Part::State => left.min(MAX_STATE),
            Part::Conversation | Part::Commits => left,
        };
        if size > limit {
            return Err(ArchiveError::TooLarge { limit });
        }
        left -= size;
        match part {
            Part::State => blocks.copy_to(size, &name, &mut found.state).map(drop)?,
            Part::Conversation => {
                let path = into.join("conversation");
                let sha256 = put(&mut blocks, size, &name, &path)?;
                let name = name[CONVERSATION.len()..].to_owned();
                found.conversation = Some(UnpackedConversation { name, path, sha256 });
            }
            Part::Commits => {
                let path = into.join("work.bundle");
                put(&mut blocks, size, &name, &path)?;
                found.bundle = Some(path);
            }
        }
    }
    blocks.finish()?;
    if before.is_none() {
        return Err(not_an_archive("it is empty"));
    }
    Ok(found)
}

/// Writes the file that comes next; returns its SHA-256.
fn put<R: Read>(
    blocks: &mut Blocks<R>,
    size: u64,
    name: &str,
    path: &Path,
) -> Result<String, ArchiveError> {
    let mut options = OpenOptions::new();
    let file = options.write(true).create_new(true).mode(0o600).open(path);
    let mut file = BufWriter::new(file.map_err(ArchiveError::io("make", path))?);
    let sha256 = blocks.copy_to(size, name, &mut file)?;
    file.flush().map_err(ArchiveError::io("write", path))?;
    Ok(sha256)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a test fails by panicking

    use std::fs;

    use super::super::Content;
    use super::*;

    fn source(path: &str, content: &[u8]) -> Source {
        Source {
            path: path.to_owned(),
            content: Content::Bytes(content.to_vec()),
        }
    }

    fn packed(sources: &[Source]) -> Result<Vec<u8>, ArchiveError> {
        let mut bytes = Vec::new();
        write_agent(sources, &mut bytes).map(|()| bytes)
    }

    #[test]
    fn the_parts_come_back_as_they_went_in() {
        let lab = tempfile::tempdir().unwrap();
        let parts = [
            source(STATE, b"{}"),
            source("conversation/a.jsonl", b"one\n"),
            source(BUNDLE, b"commits"),
        ];
        let bytes = packed(&parts).unwrap();
        assert_eq!(bytes, packed(&parts).unwrap());
        let into = lab.path().join("new");
        let found = unpack_agent(&bytes[..], &into, Limits::default()).unwrap();
        assert_eq!(found.state, b"{}");
        let conversation = found.conversation.unwrap();
        assert_eq!(conversation.name, "a.jsonl");
        assert_eq!(fs::read(&conversation.path).unwrap(), b"one\n");
        assert_eq!(fs::read(found.bundle.unwrap()).unwrap(), b"commits");
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1;
            let into = lab.path().join("flipped");
            let refused = unpack_agent(&flipped[..], &into, Limits::default());
            assert!(refused.is_err() && !into.exists(), "byte {at}");
        }
        let few = Limits { files: 3, bytes: 8 };
        let into = lab.path().join("few");
        let refused = unpack_agent(&bytes[..], &into, few).unwrap_err();
        assert!(
            matches!(refused, ArchiveError::TooLarge { .. }),
            "{refused}"
        );
    }

    #[test]
    fn no_other_names_and_no_other_order_are_written() {
        let state = || source(STATE, b"{}");
        let refused = |sources: &[Source]| packed(sources).unwrap_err();
        for name in [
            "extra",
            "conversation/",
            "conversation/../x",
            "git/config",
            "../x",
        ] {
            let error = refused(&[state(), source(name, b"")]);
            assert!(
                matches!(error, ArchiveError::Name { .. }),
                "{name}: {error}"
            );
        }
        let error = refused(&[source(BUNDLE, b"")]);
        assert!(
            matches!(error, ArchiveError::NotAnArchive { .. }),
            "{error}"
        );
        let error = refused(&[state(), state()]);
        assert!(matches!(error, ArchiveError::Duplicate { .. }), "{error}");
        let error = refused(&[state(), source(BUNDLE, b""), source("conversation/a", b"")]);
        assert!(matches!(error, ArchiveError::Misplaced { .. }), "{error}");
    }
}
