//! Moves the target branch and updates the person's checkout of it.
//!
//! `verify_tree` checks out the merged tree for the quality commands, `land` moves the target,
//! `checkout_sync` updates the person's checkout, `submodules` those in it, `obstacles` finds what
//! prevents that, and `checkout_recovery` repairs the checkout after a kill. Invariant: uncommitted
//! work is never overwritten.

pub(super) mod checkout_recovery;
pub(super) mod checkout_sync;
pub(super) mod land;
pub(super) mod obstacles;
pub(super) mod submodules;
pub(super) mod verify_tree;
