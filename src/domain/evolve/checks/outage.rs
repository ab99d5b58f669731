//! Folds when something outside the work failed checks.

use crate::domain::state::State;
use crate::domain::state::checks::outage::Outage;
use crate::domain::time::Timestamp;

/// Outages that are remembered.
const KEPT: usize = 50;

/// The target failed a command that it had passed before.
pub(in crate::domain::evolve) fn go_on(state: &mut State, at: Timestamp, command: &str) {
    let waited = state.wait_for_target();
    let last = state.swarm.outages.last_mut();
    if let Some(same) = last.filter(|it| it.until.is_none() && it.command == command) {
        same.tries += 1;
        same.waited.extend(waited);
        return;
    }
    end(state, at);
    let earlier = state.earlier_waits(command, at);
    let all = &mut state.swarm.outages;
    if all.len() >= KEPT {
        all.remove(0);
    }
    all.push(Outage {
        command: command.to_owned(),
        since: at,
        until: None,
        tries: 1,
        earlier,
        waited,
    });
}

/// The outage is over, if there is one.
pub(in crate::domain::evolve) fn end(state: &mut State, at: Timestamp) {
    let waited = state.wait_for_target();
    let last = state.swarm.outages.last_mut();
    if let Some(last) = last.filter(|it| it.until.is_none()) {
        last.until = Some(at);
        last.waited.extend(waited);
    }
}
