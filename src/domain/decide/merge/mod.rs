//! The merge queue.
//!
//! `queue` has the rules that need no input, `outcomes` what follows from each step's result and
//! from people's commands, and `conflict` how a conflict is prepared in the worktree, resolved and
//! finished.

pub(super) mod conflict;
pub(super) mod outcomes;
pub(super) mod queue;
