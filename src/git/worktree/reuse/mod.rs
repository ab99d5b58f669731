//! What lets the next idea use a worktree: `marks` (whose it is, and whether its ignored files were
//! kept) and `ignored` (removes everything else between two ideas, by the `rules` of `.gitignore`
//! files).
//!
//! Invariant: the path of a worktree says nothing about its attempt; only a mark does.

pub(crate) mod ignored;
pub(crate) mod marks;
mod rules;
