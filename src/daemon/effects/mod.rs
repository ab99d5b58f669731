//! The drivers: each does one effect that the log requests, and ends in one observation.
//!
//! `dispatch` sends effects out, one exhaustive match; `context` is what all of them share, and
//! `failure` turns errors into failures.
//! `attempt`, `merge` and `save_work` do effects in git; `landed_work` looks in a rewritten target
//! for what had landed; `inbox` takes ideas from files; `notify` tells the webhook. `setup_key` and
//! `local_files` see to what a prepared tree needs besides its commit.
//! Invariant: a driver may be called again for the same effect after a crash, and never touches the
//! state.

pub(super) mod attempt;
pub(super) mod context;
pub(super) mod dispatch;
pub(super) mod failure;
pub mod inbox;
pub(super) mod landed_work;
pub(super) mod local_files;
pub(super) mod merge;
pub(super) mod notify;
pub(super) mod save_work;
pub(super) mod setup_key;
