//! The SHA-256 of a file's content, for checkpoints and the inbox.

use sha2::{Digest as _, Sha256};

/// The SHA-256 in hex digits.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or_default();
    let digest = Sha256::digest(bytes);
    let halves = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    halves.map(digit).collect()
}
