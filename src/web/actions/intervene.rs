//! Actions on intervenes.

use super::Action;

/// See the module.
pub(super) const ACTIONS: &[Action] = &[];
