//! Conflicts resolved in a worktree, by an agent or a person.
//!
//! `start_finish` creates the conflict and takes the result; `note` records which merge is in
//! progress. The result is checked: `committed_markers` (markers left in), `lost_work` (the
//! branch's own work thrown away), `dropped_changes` (one side's changes missing). `moved_target`
//! lays an open conflict out again on a newer target.

pub(super) mod committed_markers;
pub(super) mod dropped_changes;
pub(super) mod lost_work;
pub(super) mod moved_target;
pub(super) mod note;
pub(super) mod start_finish;
