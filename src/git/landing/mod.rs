//! The target branch moves, and the person's checkout of it follows.
//!
//! `verify_tree` has the merged tree checked out for the quality commands, `land` moves the target,
//! `checkout_sync` takes the person's checkout along, `obstacles` says what keeps it from
//! following. After a kill `checkout_recovery` puts the checkout right. Invariant: uncommitted work
//! is never overwritten.

pub(super) mod checkout_recovery;
pub(super) mod checkout_sync;
pub(super) mod land;
pub(super) mod obstacles;
pub(super) mod verify_tree;
