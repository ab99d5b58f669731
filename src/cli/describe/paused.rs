//! That nothing begins, said where somebody expects it to.

use crate::cli::output::terminal::safe;
use crate::domain::state::State;

/// Of a swarm that is paused; safe to be shown.
pub fn paused(state: &State) -> Option<String> {
    state.swarm.pause_reason.as_deref().map(paused_for)
}

/// For this reason.
pub fn paused_for(reason: &str) -> String {
    let why = if reason.starts_with("paused") {
        reason.to_owned()
    } else {
        format!("paused: {reason}")
    };
    safe(&format!("{why}; nothing begins until: swarm resume"))
}
