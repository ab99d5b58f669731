//! Actions on hooks.

use super::Action;

/// See the module.
pub(super) const ACTIONS: &[Action] = &[];
