//! The SHA-256 of a content, and the identity that a swarm has by it.

use std::io::{self, Read};

use sha2::{Digest as _, Sha256};

use super::paths::Paths;
use crate::journal::{self, JournalError};
use crate::process::PIECE;

/// The SHA-256 in hex digits.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// The SHA-256 of all that can be read, in hex digits.
pub(crate) fn sha256_of(mut content: impl Read) -> io::Result<String> {
    let (mut hasher, mut piece) = (Sha256::new(), vec![0; PIECE]);
    loop {
        let read = content.read(&mut piece)?;
        if read == 0 {
            return Ok(hex(&hasher.finalize()));
        }
        hasher.update(&piece[..read]);
    }
}

/// Identity of a swarm: the SHA-256 of the first line of its log.
///
/// # Errors
/// The log is damaged there.
pub(crate) fn swarm_id(paths: &Paths) -> Result<String, JournalError> {
    Ok(sha256(&journal::first_line(&paths.state)?))
}

/// Bytes in hex digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or_default();
    let halves = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    halves.map(digit).collect()
}
