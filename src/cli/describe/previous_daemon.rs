//! What a daemon finds at its start from the one before: agents at work, or cut off in the middle
//! of it.

use crate::cli::output::terminal::safe;
use crate::domain::state::State;

/// So many agents are named.
const SHOWN: usize = 8;

/// A line for each agent; safe to be shown.
pub fn from_before(state: &State) -> Vec<String> {
    let each = state.agents.iter().map(|(agent, attempt)| {
        let iteration = match attempt.iteration {
            0 => String::new(),
            iteration => format!(", iteration {iteration}"),
        };
        safe(&format!(
            "from before: {agent} on {}{iteration}",
            attempt.idea
        ))
    });
    let more = state.agents.len().saturating_sub(SHOWN);
    let rest = (more > 0).then(|| format!("from before: {more} more agents"));
    each.take(SHOWN).chain(rest).collect()
}
