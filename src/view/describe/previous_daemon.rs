//! Lists the agents that a starting daemon takes over from the previous one.

use super::text::safe;
use crate::domain::state::State;

/// At most this many agents are listed.
const SHOWN: usize = 8;

/// One line for each agent, safe to print.
pub fn from_before(state: &State) -> Vec<String> {
    let each = state.agents.iter().map(|(agent, attempt)| {
        let iteration = match attempt.iteration {
            0 => String::new(),
            iteration => format!(", iteration {iteration}"),
        };
        safe(&format!("resuming {agent} on {}{iteration}", attempt.idea))
    });
    let more = state.agents.len().saturating_sub(SHOWN);
    let rest = (more > 0).then(|| format!("resuming {more} more agents"));
    each.take(SHOWN).chain(rest).collect()
}
