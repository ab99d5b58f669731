//! Provenance records as people and programs see them: what an iteration was given, what it did,
//! and what came of it.
//!
//! `record` is the content of a record's file and its schema, `outputs` the part about what came of
//! the iteration; `aiwg` is the same in the names of the AIWG execution snapshot; `list` is what
//! the event log says of records, and `replay` of the replays of one.
//! Invariant: a record, once written, never changes.

pub mod aiwg;
pub mod list;
pub mod outputs;
pub mod record;
pub mod replay;

pub use list::{MatchStatus, RecordFilter, RecordView};
pub use record::{Record, ReplayStatus, schema};
pub use replay::{LastReplay, ReplayView};
