//! Damaged state: what is wrong with the bytes, and putting files in place that are whole.
//!
//! `diagnose` says what is wrong; `salvage` reads what lies behind the damage; `rewrite` plans new
//! files, in the order of `segment_order` and without `foreign_files`; `base_state` begins a log
//! with a whole state; `apply` puts them in place.
//!
//! Invariant: [`diagnose()`] changes nothing. A repair keeps every file as it was before it
//! replaces one, and from the moment its intention is on disk nothing reads the log until it is
//! finished: [`finish`] ends what a kill has interrupted, and may be repeated.
//!
//! What a way out loses, and whether that is acceptable, is for who knows what the records mean.

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
