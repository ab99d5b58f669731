//! Actions on agents.

use super::Action;

/// See the module.
pub(super) const ACTIONS: &[Action] = &[];
