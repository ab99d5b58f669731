//! The bytes around the files of an archive: one zstd frame of plain tar headers and contents, then
//! a frame that decompressors skip, with the SHA-256 of all bytes before it.
//!
//! Invariant: there is one way to write each, and readers accept no other. So a header has no room
//! for links, owners, extensions or other tricks.

use std::io::{self, BufRead, Read, Write};

use sha2::{Digest as _, Sha256};

/// Bytes of a tar header; contents are padded to a multiple of it.
pub(super) const BLOCK: usize = 512;
/// What fills the last block of a file.
pub(super) const PADDING: [u8; BLOCK] = [0; BLOCK];
/// Zero blocks that end an archive.
pub(super) const END_BLOCKS: usize = 2;

/// How much the writer compresses.
pub(super) const LEVEL: i32 = 3;
/// Logarithm of the bytes that zstd looks back; it bounds the memory of readers, too.
pub(super) const WINDOW_LOG: u32 = 21;
/// Beginning of the zstd frame: its magic number, a checksum but no size, and the window.
pub(super) const FRAME: [u8; 6] = [0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x58];

/// Beginning of the last frame: the magic number of a frame to skip, and 32 bytes.
pub(super) const SEAL: [u8; 8] = [0x50, 0x2a, 0x4d, 0x18, 32, 0, 0, 0];

/// Hashes what is written to it, or consumed from it. A decompressor is lenient: without the hash,
/// a few damaged bytes would pass.
pub(super) struct Hashed<T> {
    pub(super) inner: T,
    hash: Sha256,
}

impl<T> Hashed<T> {
    pub(super) fn new(inner: T) -> Self {
        Self {
            inner,
            hash: Sha256::new(),
        }
    }

    /// The last frame, for the bytes so far.
    pub(super) fn seal(&self) -> Vec<u8> {
        let digest = self.hash.clone().finalize();
        [&SEAL[..], &digest[..]].concat()
    }
}

impl<T: Write> Write for Hashed<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hash.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<T: BufRead> Read for Hashed<T> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let available = self.inner.fill_buf()?;
        let read = available.len().min(to.len());
        to[..read].copy_from_slice(&available[..read]);
        self.consume(read);
        Ok(read)
    }
}

impl<T: BufRead> BufRead for Hashed<T> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        // What is consumed is in the buffer: this reads nothing, so it cannot fail.
        if let Ok(buffer) = self.inner.fill_buf() {
            self.hash.update(&buffer[..amount.min(buffer.len())]);
        }
        self.inner.consume(amount);
    }
}

/// The only header that a file of this name and size may have.
pub(super) fn header(name: &str, size: u64) -> io::Result<tar::Header> {
    let mut header = tar::Header::new_ustar();
    header.set_path(name)?;
    header.set_entry_type(tar::EntryType::Regular);
    header.set_size(size);
    header.set_mode(0o600);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header.set_cksum();
    Ok(header)
}

/// Bytes that fill the last block of a file of this size.
pub(super) fn padding(size: u64) -> &'static [u8] {
    let over = usize::try_from(size % BLOCK as u64).unwrap_or_default();
    &PADDING[..(BLOCK - over) % BLOCK]
}
