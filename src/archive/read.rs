//! Reads an archive from front to end, one file at a time, and checks everything on the way.
//!
//! Invariant: memory is bounded by the manifest and zstd's window. A file counts as read only when
//! its name, size and SHA-256 are those of the manifest, in the manifest's order; the archive
//! counts as whole only after [`Reader::finish`]. Nothing here writes a file.

use std::collections::HashSet;
use std::io::{self, BufRead, BufReader, Cursor, Read, Write};

use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use super::error::ArchiveError;
use super::format::{self, BLOCK, FRAME, Hashed, WINDOW_LOG};
use super::manifest::{Entry, FORMAT, Manifest, VERSION};
use super::{Limits, names};

/// Most bytes of a manifest: room for the names of the most files.
const MAX_MANIFEST: u64 = 96 << 20;
/// Bytes that are read at once.
const CHUNK: usize = 64 << 10;

type Source<R> = Hashed<BufReader<io::Chain<Cursor<[u8; FRAME.len()]>, R>>>;

/// The files of an archive, as they come.
pub(super) struct Blocks<R: Read> {
    input: zstd::stream::read::Decoder<'static, Source<R>>,
}

/// An archive that is being read.
pub struct Reader<R: Read> {
    blocks: Blocks<R>,
    manifest: Manifest,
    manifest_bytes: Vec<u8>,
    next: usize,
}

/// What every version of a manifest has.
#[derive(Deserialize)]
struct Head {
    format: String,
    version: String,
}

impl<R: Read> Blocks<R> {
    pub(super) fn open(mut input: R) -> Result<Self, ArchiveError> {
        let mut frame = [0; FRAME.len()];
        if let Err(error) = input.read_exact(&mut frame) {
            if error.kind() == io::ErrorKind::UnexpectedEof {
                return Err(not_an_archive("it is too short"));
            }
            return Err(ArchiveError::Unreadable(error));
        }
        if frame != FRAME {
            return Err(not_an_archive("it does not begin as one"));
        }
        let whole = Cursor::new(frame).chain(input);
        let whole = Hashed::new(BufReader::with_capacity(CHUNK, whole));
        let mut input = zstd::stream::read::Decoder::with_buffer(whole)
            .map_err(ArchiveError::Unreadable)?
            .single_frame();
        input
            .window_log_max(WINDOW_LOG)
            .map_err(ArchiveError::Unreadable)?;
        Ok(Self { input })
    }

    /// Name and size of the next file, whose header is as the writer makes it; `None` at the end.
    pub(super) fn next_file(&mut self) -> Result<Option<(String, u64)>, ArchiveError> {
        let Some(header) = read_header(&mut self.input)? else {
            return Ok(None);
        };
        let name = name_of(&header);
        check_kind(&header, &name)?;
        let size = header
            .entry_size()
            .map_err(|_| ArchiveError::Header { name: name.clone() })?;
        check_bytes(&header, &name, size)?;
        Ok(Some((name, size)))
    }

    /// Hands on the file that comes next; returns its SHA-256.
    pub(super) fn copy_to(
        &mut self,
        size: u64,
        name: &str,
        to: &mut impl Write,
    ) -> Result<String, ArchiveError> {
        let mut hash = Sha256::new();
        copy(&mut self.input, size, |bytes| {
            hash.update(bytes);
            to.write_all(bytes)
                .map_err(ArchiveError::io("write", name.as_ref()))
        })?;
        Ok(hex(&hash.finalize()))
    }

    /// Checks that nothing follows the end, which was read.
    pub(super) fn finish(mut self) -> Result<(), ArchiveError> {
        let mut more = [0; 1];
        if self.input.read(&mut more).map_err(broken)? > 0 {
            return Err(ArchiveError::Trailing);
        }
        check_seal(self.input.into_inner())
    }
}

impl<R: Read> Reader<R> {
    /// Begins with an archive: reads and checks its manifest.
    ///
    /// # Errors
    /// See [`ArchiveError`].
    pub fn open(input: R, limits: Limits) -> Result<Self, ArchiveError> {
        let mut blocks = Blocks::open(input)?;
        let bytes = read_manifest(&mut blocks.input, limits)?;
        let manifest = parse(&bytes)?;
        check_list(&manifest, bytes.len() as u64, limits)?;
        Ok(Self {
            blocks,
            manifest,
            manifest_bytes: bytes,
            next: 0,
        })
    }

    /// What the archive says that it contains.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The bytes of `manifest.json`.
    pub fn manifest_bytes(&self) -> &[u8] {
        &self.manifest_bytes
    }

    /// The file that [`Reader::read_next`] reads; `None` after the last.
    pub fn upcoming(&self) -> Option<&Entry> {
        self.manifest.files.get(self.next)
    }

    /// Reads the next file; returns whether there was one. What `to` got is right only if this
    /// returns no error.
    ///
    /// # Errors
    /// See [`ArchiveError`]; an error of `to` is [`ArchiveError::Io`] with the name of the file.
    pub fn read_next(&mut self, to: &mut impl Write) -> Result<bool, ArchiveError> {
        let Some(entry) = self.manifest.files.get(self.next) else {
            return Ok(false);
        };
        let Some(header) = read_header(&mut self.blocks.input)? else {
            return Err(ArchiveError::Missing {
                name: entry.path.clone(),
            });
        };
        let found = name_of(&header);
        check_kind(&header, &found)?;
        if found != entry.path {
            return Err(self.misplaced(found));
        }
        check_header(&header, entry)?;
        let sha256 = self.blocks.copy_to(entry.size, &entry.path, to)?;
        if sha256 != entry.sha256 {
            return Err(ArchiveError::Digest {
                name: entry.path.clone(),
            });
        }
        self.next += 1;
        Ok(true)
    }

    /// Checks that the archive ends here.
    ///
    /// # Errors
    /// See [`ArchiveError`].
    pub fn finish(mut self) -> Result<Manifest, ArchiveError> {
        if let Some(header) = read_header(&mut self.blocks.input)? {
            let found = name_of(&header);
            check_kind(&header, &found)?;
            return Err(self.misplaced(found));
        }
        self.blocks.finish()?;
        Ok(self.manifest)
    }

    /// Why a file must not be where it is.
    fn misplaced(&self, found: String) -> ArchiveError {
        let before = &self.manifest.files[..self.next];
        if !names::is_allowed(&found) && found != names::MANIFEST {
            ArchiveError::Name { name: found }
        } else if found == names::MANIFEST || before.iter().any(|entry| entry.path == found) {
            ArchiveError::Duplicate { name: found }
        } else {
            let expected = self.upcoming();
            let expected = expected.map_or("its end".to_owned(), |entry| entry.path.clone());
            ArchiveError::Order { expected, found }
        }
    }
}

/// Checks that the last frame is there, and has the hash of the bytes before it.
fn check_seal<R: BufRead>(mut source: Hashed<R>) -> Result<(), ArchiveError> {
    let expected = source.seal();
    let mut found = vec![0; expected.len()];
    source.read_exact(&mut found).map_err(broken)?;
    if found != expected {
        return Err(ArchiveError::Damaged {
            why: "its checksum is wrong".to_owned(),
        });
    }
    let rest = source.fill_buf().map_err(ArchiveError::Unreadable)?;
    if rest.is_empty() {
        Ok(())
    } else {
        Err(ArchiveError::Trailing)
    }
}

pub(super) fn not_an_archive(why: &str) -> ArchiveError {
    ArchiveError::NotAnArchive {
        why: why.to_owned(),
    }
}

/// The manifest's bytes, which must come first.
fn read_manifest(input: &mut impl Read, limits: Limits) -> Result<Vec<u8>, ArchiveError> {
    let header = read_header(input)?.ok_or_else(|| not_an_archive("it is empty"))?;
    let found = name_of(&header);
    check_kind(&header, &found)?;
    if found != names::MANIFEST {
        return Err(not_an_archive("its first file is not manifest.json"));
    }
    let size = header.entry_size().map_err(|_| ArchiveError::Header {
        name: found.clone(),
    })?;
    let limit = MAX_MANIFEST.min(limits.bytes);
    if size > limit {
        return Err(ArchiveError::TooLarge { limit });
    }
    check_bytes(&header, &found, size)?;
    let mut bytes = Vec::new();
    copy(input, size, |chunk| {
        bytes.extend_from_slice(chunk);
        Ok(())
    })?;
    Ok(bytes)
}

/// Reads a manifest whose version this program knows.
fn parse(bytes: &[u8]) -> Result<Manifest, ArchiveError> {
    let damaged = |error: serde_json::Error| ArchiveError::Manifest {
        why: error.to_string(),
    };
    let head: Head = serde_json::from_slice(bytes).map_err(damaged)?;
    if head.format != FORMAT {
        return Err(not_an_archive("its manifest has another format"));
    }
    let major = |version: &str| {
        version
            .split('.')
            .next()
            .and_then(|it| it.parse::<u64>().ok())
    };
    if major(&head.version).is_none() {
        return Err(ArchiveError::Manifest {
            why: "its version is no version".to_owned(),
        });
    }
    if major(&head.version) != major(VERSION) {
        return Err(ArchiveError::Newer {
            found: head.version,
        });
    }
    serde_json::from_slice(bytes).map_err(damaged)
}

/// Checks all that can be known from the list alone.
pub(super) fn check_list(
    manifest: &Manifest,
    own: u64,
    limits: Limits,
) -> Result<(), ArchiveError> {
    let files = &manifest.files;
    if files.len() > limits.files {
        return Err(ArchiveError::TooManyFiles {
            found: files.len(),
            limit: limits.files,
        });
    }
    let mut total = own;
    let mut seen = HashSet::with_capacity(files.len());
    let mut folders = HashSet::new();
    for entry in files {
        let name = &entry.path;
        if !names::is_allowed(name) {
            return Err(ArchiveError::Name { name: name.clone() });
        }
        if !seen.insert(name.as_str()) {
            return Err(ArchiveError::Duplicate { name: name.clone() });
        }
        folders.extend(name.match_indices('/').map(|(at, _)| &name[..at]));
        if !names::is_sha256(&entry.sha256) {
            return Err(ArchiveError::Manifest {
                why: "a digest is no SHA-256".to_owned(),
            });
        }
        total = total.saturating_add(entry.size);
    }
    if total > limits.bytes {
        return Err(ArchiveError::TooLarge {
            limit: limits.bytes,
        });
    }
    if let Some(both) = seen.iter().find(|name| folders.contains(**name)) {
        return Err(ArchiveError::Duplicate {
            name: (*both).to_owned(),
        });
    }
    if files
        .first()
        .is_none_or(|first| first.path != names::SNAPSHOT)
    {
        return Err(ArchiveError::Manifest {
            why: "its first file is not snapshot.json".to_owned(),
        });
    }
    Ok(())
}

/// The next header; `None` for the end of the archive.
fn read_header(input: &mut impl Read) -> Result<Option<tar::Header>, ArchiveError> {
    let mut header = tar::Header::new_old();
    input.read_exact(header.as_mut_bytes()).map_err(broken)?;
    if header.as_bytes() != &format::PADDING {
        return Ok(Some(header));
    }
    for _ in 1..format::END_BLOCKS {
        let mut block = [1; BLOCK];
        input.read_exact(&mut block).map_err(broken)?;
        if block != format::PADDING {
            return Err(ArchiveError::Trailing);
        }
    }
    Ok(None)
}

fn name_of(header: &tar::Header) -> String {
    String::from_utf8_lossy(&header.path_bytes()).into_owned()
}

fn check_kind(header: &tar::Header, name: &str) -> Result<(), ArchiveError> {
    let entry = header.entry_type();
    if entry == tar::EntryType::Regular {
        return Ok(());
    }
    let known = [
        (tar::EntryType::Link, "a hard link"),
        (tar::EntryType::Symlink, "a symbolic link"),
        (tar::EntryType::Char, "a device"),
        (tar::EntryType::Block, "a device"),
        (tar::EntryType::Directory, "a folder"),
        (tar::EntryType::Fifo, "a pipe"),
    ];
    let kind = known.iter().find(|(kind, _)| *kind == entry);
    let kind = kind.map_or("an extension of the format", |(_, words)| *words);
    Err(ArchiveError::NotAFile {
        name: name.to_owned(),
        kind,
    })
}

fn check_header(header: &tar::Header, entry: &Entry) -> Result<(), ArchiveError> {
    let found = header.entry_size().map_err(|_| ArchiveError::Header {
        name: entry.path.clone(),
    })?;
    if found != entry.size {
        return Err(ArchiveError::Size {
            name: entry.path.clone(),
            listed: entry.size,
            found,
        });
    }
    check_bytes(header, &entry.path, entry.size)
}

/// Checks that the header is, byte for byte, the one that the writer makes.
fn check_bytes(header: &tar::Header, name: &str, size: u64) -> Result<(), ArchiveError> {
    let only = format::header(name, size);
    if only.is_ok_and(|only| only.as_bytes() == header.as_bytes()) {
        return Ok(());
    }
    Err(ArchiveError::Header {
        name: name.to_owned(),
    })
}

/// Hands on exactly `size` bytes, then reads the padding.
fn copy(
    input: &mut impl Read,
    size: u64,
    mut to: impl FnMut(&[u8]) -> Result<(), ArchiveError>,
) -> Result<(), ArchiveError> {
    let mut buffer = vec![0; CHUNK];
    let mut left = size;
    while left > 0 {
        let most = usize::try_from(left).unwrap_or(CHUNK).min(CHUNK);
        input.read_exact(&mut buffer[..most]).map_err(broken)?;
        to(&buffer[..most])?;
        left -= most as u64;
    }
    let padding = format::padding(size);
    let mut rest = vec![1; padding.len()];
    input.read_exact(&mut rest).map_err(broken)?;
    if rest != padding {
        return Err(ArchiveError::Damaged {
            why: "there are bytes between two files".to_owned(),
        });
    }
    Ok(())
}

/// What an error of the decompressor means: the system's errors have a number.
fn broken(error: io::Error) -> ArchiveError {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        ArchiveError::Truncated
    } else if error.raw_os_error().is_some() {
        ArchiveError::Unreadable(error)
    } else {
        ArchiveError::Damaged {
            why: error.to_string(),
        }
    }
}

/// Digits of a digest.
pub(super) fn hex(digest: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or_default();
    let halves = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    halves.map(digit).collect()
}
