//! When the actor must wake up by itself.
//!
//! Invariant: pure. No deadline of the rules is missed, whenever it comes. Called by the actor.

use std::time::Duration;

use crate::domain::decide;
use crate::domain::state::State;
use crate::domain::time::Timestamp;

/// How long until the rules must decide again. One that came since they last did is due now: it
/// would be waited for in vain if only those after `wall` counted.
pub(super) fn until_deadline(
    state: &State,
    advanced_at: Timestamp,
    wall: Timestamp,
) -> Option<Duration> {
    decide::next_deadline(state, advanced_at).map(|time| until(time, wall))
}

/// How long until a time; nothing if it has come.
pub(super) fn until(time: Timestamp, wall: Timestamp) -> Duration {
    Duration::from_millis(u64::try_from(time.since(wall)).unwrap_or(0))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_that_comes_between_a_decision_and_the_next_timer_is_due_at_once() {
        let at = Timestamp::from_millis;
        let mut state = State::default();
        state.swarm.held_until = Some(at(1_000));
        let wait = |advanced, wall| until_deadline(&state, at(advanced), at(wall));
        assert_eq!(wait(990, 995), Some(Duration::from_millis(5)));
        assert_eq!(wait(990, 1_010), Some(Duration::ZERO));
        assert_eq!(wait(1_000, 1_010), None);
    }
}
