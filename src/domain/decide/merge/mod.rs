//! The merge queue.
//!
//! `queue` has the rules that need no input, `outcomes` what follows from each step's result,
//! `commands` what people ask for, and `conflict` how a conflict is prepared in the worktree,
//! resolved and finished. `review` is a person's judgement of finished work.

pub(super) mod commands;
pub(super) mod conflict;
pub(super) mod outcomes;
pub(super) mod queue;
pub(super) mod review;
