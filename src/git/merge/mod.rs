//! Merges in memory: no work tree is touched and no reference moves.
//!
//! `build` merges and reports conflicts; `classify` says what kind they are and who can resolve
//! them; `three_way` and `whitespace` resolve those that need no judgement; `markers` finds
//! conflict markers; `preview` shows what a merge would change; `own_work` tells a branch's own
//! work from what a rollback took back; `rebase` replays a branch on a rewritten target.

pub(super) mod build;
pub(super) mod classify;
pub(super) mod markers;
pub(super) mod own_work;
pub(super) mod preview;
pub(super) mod rebase;
pub(super) mod three_way;
pub(super) mod whitespace;
