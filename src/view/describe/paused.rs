//! Tells the person who starts a daemon that the swarm is paused.

use super::text::safe;
use crate::domain::state::State;

/// The lines for a paused swarm, safe to print; `None` if it is not paused.
pub fn paused(state: &State) -> Option<String> {
    state.swarm.pause_reason.as_deref().map(paused_for)
}

/// The lines for a swarm that is paused for `reason`.
pub fn paused_for(reason: &str) -> String {
    let why = safe(&pause_reason(reason));
    format!("{why}\n  nothing starts until you resume\n  -> swarm resume")
}

/// `paused: REASON`; swarm's own reasons may say "paused" already.
pub fn pause_reason(reason: &str) -> String {
    if reason.starts_with("paused") {
        reason.to_owned()
    } else {
        format!("paused: {reason}")
    }
}
