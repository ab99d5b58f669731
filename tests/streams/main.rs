//! What real programs wrote, kept and read again: the streams in `tests/golden/streams`, each with
//! the way in which its run was started and ended, and with what is read from it.
//!
//! `UPDATE_STREAMS=1 cargo test --test streams` writes the expectations anew; read the difference
//! before you keep it.

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod golden;
mod hostile_streams;
mod reading;
mod split_streams;
