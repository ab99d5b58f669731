//! Merges in memory: no work tree is touched and no reference moves.
//!
//! `build` merges and reports conflicts; `classify` says what kind they are and who can resolve
//! them; `three_way` and `whitespace` resolve those that need no judgement; `markers` finds
//! conflict markers; `preview` shows what a merge would change; `rebase` replays a branch on a
//! rewritten target.

pub(super) mod build;
pub(super) mod classify;
pub(super) mod markers;
pub(super) mod preview;
pub(super) mod rebase;
pub(super) mod three_way;
pub(super) mod whitespace;
