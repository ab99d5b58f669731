//! Writes an archive as a stream.
//!
//! Invariant: the same files and the same head give the same bytes. Every file is read twice, once
//! for the manifest and once for the archive; a file that changed in between is an error.
//! Memory is bounded by the list of files and zstd's window.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

use sha2::{Digest as _, Sha256};
use zstd::stream::write::Encoder;

use super::error::ArchiveError;
use super::format::{self, Hashed, LEVEL, WINDOW_LOG};
use super::manifest::{Entry, Manifest};
use super::names;
use super::read::hex;
use crate::plain_file;

/// Bytes that are read at once.
const CHUNK: usize = 64 << 10;

/// A file for an archive.
#[derive(Debug)]
pub struct Source {
    /// Its name in the archive.
    pub path: String,
    /// What is in it.
    pub content: Content,
}

/// The content of a file for an archive.
#[derive(Debug)]
pub enum Content {
    /// These bytes.
    Bytes(Vec<u8>),
    /// The first bytes of a file; all of a file that only grows.
    File {
        /// The file. A link there is refused.
        path: PathBuf,
        /// How many of its bytes.
        size: u64,
    },
    /// The first bytes of a file that is open, and may get another name meanwhile.
    Open {
        /// The file.
        file: File,
        /// How many of its bytes.
        size: u64,
    },
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The manifest, with its list of files.
    pub manifest: Manifest,
    /// SHA-256 of the bytes of `manifest.json`, in hex.
    pub sha256: String,
}

/// Writes the archive: `head` is the manifest without its list.
///
/// # Errors
/// [`ArchiveError::Name`] and [`ArchiveError::Duplicate`] for names that readers would refuse;
/// [`ArchiveError::Digest`] and [`ArchiveError::Missing`] for a file that changed meanwhile.
pub fn write(head: Manifest, sources: &[Source], to: impl Write) -> Result<Written, ArchiveError> {
    let mut manifest = head;
    manifest.files = sources.iter().map(entry).collect::<Result<_, _>>()?;
    let mut bytes = serde_json::to_vec(&manifest).map_err(|error| ArchiveError::Manifest {
        why: error.to_string(),
    })?;
    bytes.push(b'\n');
    super::read::check_list(&manifest, bytes.len() as u64, super::Limits::default())?;
    let mut tar = begin(to)?;
    put(&mut tar, names::MANIFEST, &bytes)?;
    for (source, entry) in sources.iter().zip(&manifest.files) {
        put_source(&mut tar, source, entry)?;
    }
    finish(tar)?;
    Ok(Written {
        manifest,
        sha256: hex(&Sha256::digest(&bytes)),
    })
}

/// An archive on its way to `W`.
type Tar<W> = Encoder<'static, Hashed<W>>;

pub(super) fn begin<W: Write>(to: W) -> Result<Tar<W>, ArchiveError> {
    encoder(Hashed::new(to)).map_err(ArchiveError::Unwritable)
}

pub(super) fn put_source(
    tar: &mut impl Write,
    source: &Source,
    entry: &Entry,
) -> Result<(), ArchiveError> {
    match &source.content {
        Content::Bytes(bytes) => put(tar, &entry.path, bytes),
        Content::File { .. } | Content::Open { .. } => put_file(tar, source, entry),
    }
}

/// Writes the end.
pub(super) fn finish<W: Write>(mut tar: Tar<W>) -> Result<(), ArchiveError> {
    let ended = (0..format::END_BLOCKS).try_for_each(|_| tar.write_all(&format::PADDING));
    let finished = ended.and_then(|()| {
        let mut packed = tar.finish()?;
        let seal = packed.seal();
        packed.inner.write_all(&seal)?;
        packed.inner.flush()
    });
    finished.map_err(ArchiveError::Unwritable)
}

fn encoder<W: Write>(to: W) -> io::Result<Encoder<'static, W>> {
    let mut encoder = Encoder::new(to, LEVEL)?;
    encoder.include_checksum(true)?;
    encoder.include_contentsize(false)?;
    encoder.window_log(WINDOW_LOG)?;
    Ok(encoder)
}

fn put(tar: &mut impl Write, name: &str, bytes: &[u8]) -> Result<(), ArchiveError> {
    let size = bytes.len() as u64;
    let written = format::header(name, size)
        .and_then(|header| tar.write_all(header.as_bytes()))
        .and_then(|()| tar.write_all(bytes))
        .and_then(|()| tar.write_all(format::padding(size)));
    written.map_err(ArchiveError::Unwritable)
}

fn put_file(tar: &mut impl Write, source: &Source, entry: &Entry) -> Result<(), ArchiveError> {
    let header = format::header(&entry.path, entry.size).map_err(ArchiveError::Unwritable)?;
    tar.write_all(header.as_bytes())
        .map_err(ArchiveError::Unwritable)?;
    let sha256 = each_chunk(source, |bytes| {
        tar.write_all(bytes).map_err(ArchiveError::Unwritable)
    })?;
    if sha256 != entry.sha256 {
        return Err(ArchiveError::Changed {
            name: entry.path.clone(),
        });
    }
    tar.write_all(format::padding(entry.size))
        .map_err(ArchiveError::Unwritable)
}

/// The entry of a file in the list: reads it once.
pub(super) fn entry(source: &Source) -> Result<Entry, ArchiveError> {
    let (size, sha256) = match &source.content {
        Content::Bytes(bytes) => (bytes.len() as u64, hex(&Sha256::digest(bytes))),
        Content::File { size, .. } | Content::Open { size, .. } => {
            (*size, each_chunk(source, |_| Ok(()))?)
        }
    };
    Ok(Entry {
        path: source.path.clone(),
        size,
        sha256,
    })
}

/// Hands on the content of a file; returns its SHA-256.
fn each_chunk(
    source: &Source,
    mut each: impl FnMut(&[u8]) -> Result<(), ArchiveError>,
) -> Result<String, ArchiveError> {
    let opened;
    let (file, size) = match &source.content {
        Content::Bytes(bytes) => {
            each(bytes)?;
            return Ok(hex(&Sha256::digest(bytes)));
        }
        Content::File { path, size } => {
            opened = plain_file::open(path).map_err(ArchiveError::io("open", path))?;
            (&opened, *size)
        }
        Content::Open { file, size } => (file, *size),
    };
    let mut hash = Sha256::new();
    let mut buffer = vec![0; CHUNK];
    let mut done = 0;
    while done < size {
        let most = usize::try_from(size - done).unwrap_or(CHUNK).min(CHUNK);
        let read = read_some(file, done, &mut buffer[..most]);
        let read = read.map_err(ArchiveError::io("read", source.path.as_ref()))?;
        if read == 0 {
            return Err(ArchiveError::Changed {
                name: source.path.clone(),
            });
        }
        hash.update(&buffer[..read]);
        each(&buffer[..read])?;
        done += read as u64;
    }
    Ok(hex(&hash.finalize()))
}

fn read_some(file: &File, at: u64, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match file.read_at(buffer, at) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}
