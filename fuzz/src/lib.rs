//! What is fuzzed: for each target a function from bytes to nothing, that panics when a promise is
//! broken.
//!
//! The bodies use the program's public interface only. `fuzz/run.sh` runs them under libFuzzer; the
//! program's own tests run them on the corpus and on seeded mutations of it (`tests/fuzz.rs`).

pub mod api;
pub mod config;
pub mod events;
pub mod inbox;
pub mod log;
pub mod output;
pub mod signals;

/// `data` up to the first zero byte, and what follows it.
fn halves(data: &[u8]) -> (&[u8], &[u8]) {
    let at = data.iter().position(|byte| *byte == 0);
    at.map_or((data, &[]), |at| (&data[..at], &data[at + 1..]))
}

/// `data` in pieces whose lengths follow from its own bytes.
fn pieces(data: &[u8]) -> Vec<&[u8]> {
    let mut rest = data;
    let mut pieces = Vec::new();
    while let Some(first) = rest.first() {
        let (piece, after) = rest.split_at(rest.len().min(1 + usize::from(first % 19)));
        pieces.push(piece);
        rest = after;
    }
    pieces
}
