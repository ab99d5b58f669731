//! Commits, references and names: what the repository holds, apart from any worktree.
//!
//! `refs` moves references by compare-and-swap, `fsync` puts the objects that they need on disk
//! first, `names` checks and escapes names, and `tags` writes annotated tags. `landings` reads what
//! has landed, `file_history` which landings changed a file, `branch_check` whether a branch can be
//! merged, and `missing_objects` whether a commit is complete.

pub(super) mod branch_check;
pub(super) mod file_history;
pub(super) mod fsync;
pub(super) mod landings;
pub(super) mod missing_objects;
pub(super) mod names;
pub(super) mod refs;
pub(super) mod tags;
