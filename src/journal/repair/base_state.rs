//! The base state of a repaired log: its first record has a seq above 1 and names, by SHA-256, the
//! file with the state after that record. Called by `segments`, `diagnose` and `daemon`.
//!
//! Invariant: the file counts only if its bytes have that hash. It is never removed, because the
//! log cannot be read without it.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};

use crate::journal::disk::plain_file;
use crate::journal::error::JournalError;
use crate::journal::record;
use crate::journal::segments::candidates::SegmentCandidate;
use crate::journal::tail_scan::ChainStart;

/// The kind of the record that such a log begins with.
const KIND: &str = "stateRestored";

#[derive(Deserialize)]
struct First {
    kind: String,
    data: Named,
}

#[derive(Deserialize)]
struct Named {
    sha256: String,
}

/// The SHA-256 of these bytes, as the record has it.
pub(super) fn hash_of(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let digest = Sha256::digest(bytes);
    digest.iter().fold(String::new(), |mut hex, byte| {
        // Writing to a `String` cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// The name of the file with a state of this hash.
pub(super) fn name_of(sha256: &str) -> String {
    format!("restored-{sha256}.json")
}

fn path_of(state_dir: &Path, sha256: &str) -> Option<PathBuf> {
    let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let is_hash = sha256.len() == 64 && sha256.bytes().all(hex);
    is_hash.then(|| state_dir.join(name_of(sha256)))
}

/// What the first line of a log must follow on: nothing, unless it says that it begins with a
/// state, and that state is there.
pub(in crate::journal) fn origin_of(first: &SegmentCandidate) -> Result<ChainStart, JournalError> {
    let head = first.head()?;
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let Some(header) = record::header(line).filter(|header| header.seq > 1) else {
        return Ok(ChainStart::ORIGIN);
    };
    let named = serde_json::from_slice::<First>(line).ok();
    let Some(named) = named.filter(|first| first.kind == KIND) else {
        return Ok(ChainStart::ORIGIN);
    };
    let folder = first.path.parent().unwrap_or(Path::new("."));
    let state = path_of(folder, &named.data.sha256);
    if !state.is_some_and(|path| path.is_file()) {
        return Err(JournalError::Damaged {
            file: first.path.clone(),
            offset: 0,
            seq: header.seq,
            why: format!(
                "the log begins with the state in {}, which is missing",
                name_of(&named.data.sha256)
            ),
        });
    }
    Ok(ChainStart {
        next_seq: header.seq,
        crc: 0,
    })
}

/// Reads the state that a log begins with.
pub fn read_base_state<S: DeserializeOwned>(
    state_dir: &Path,
    sha256: &str,
) -> Result<S, JournalError> {
    let path = path_of(state_dir, sha256).unwrap_or_else(|| state_dir.join("restored"));
    let mut bytes = Vec::new();
    plain_file()
        .open(&path)
        .and_then(|mut file| file.read_to_end(&mut bytes))
        .map_err(JournalError::io("read", &path))?;
    let damaged = |why: String| JournalError::Damaged {
        file: path.clone(),
        offset: 0,
        seq: 0,
        why,
    };
    if hash_of(&bytes) != sha256 {
        return Err(damaged(
            "its content differs from the state that the log begins with".to_owned(),
        ));
    }
    serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))
}
