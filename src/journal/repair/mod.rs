//! Diagnoses and repairs damaged files of the log. Called by `daemon::repair`, which decides what
//! may be lost.
//!
//! `diagnose` finds damage; `salvage` reads the lines after it; `segment_order` and `foreign_files`
//! sort the files; `rewrite` plans new ones; `base_state` begins a log with a state; `apply` swaps.
//! Invariant: [`diagnose()`] changes nothing. A repair keeps every original file. Once its
//! intention is on disk, nothing reads the log until [`finish`], which may be repeated after a
//! kill.

mod apply;
mod base_state;
mod diagnose;
mod foreign_files;
mod rewrite;
mod salvage;
mod segment_order;
#[cfg(test)]
mod tests;

pub use apply::{REPAIR_FILE, finish, is_unfinished};
pub(super) use base_state::origin_of;
pub use base_state::read_base_state;
pub use diagnose::{Damage, Diagnosis, Health, SegmentHealth, SnapshotHealth, diagnose};
pub use rewrite::Begin;
pub use salvage::{Rest, Restorable};
