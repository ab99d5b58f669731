//! Commits, references and names: the repository apart from its worktrees.
//!
//! `refs` moves references by compare-and-swap, `fsync` first puts the objects they need on disk,
//! `names` checks and escapes names, `tags` reads and deletes annotated tags. `landings` reads what
//! has landed, `file_history` which landings changed a file, `branch_check` whether a branch can be
//! merged, and `missing_objects` whether a commit is complete. `tree_changes` lists the files that
//! differ between two trees, `bundle` writes commits for another clone, `imports` brings them in.
//! `rewritten` finds landed work in a rewritten history.
//! `signing` signs commits and tags as the person's git would.

pub(super) mod branch_check;
pub(super) mod bundle;
pub(super) mod file_history;
mod file_versions;
pub(super) mod fsync;
pub(super) mod imports;
pub(super) mod landings;
pub(super) mod missing_objects;
pub(super) mod names;
pub(super) mod refs;
pub(super) mod rewritten;
pub(super) mod signing;
pub(super) mod tags;
pub(super) mod tree_changes;
