//! Bills a run for what it used, as its program reported it.
//!
//! Invariant: a conversation that several runs share is billed once: what earlier runs counted is
//! taken off. Called by `run_end` and `budget`.

use super::provider::profile;
use crate::domain::ids::AgentId;
use crate::domain::observation::RunEnd;
use crate::domain::session::SessionId;
use crate::domain::settings::Settings;
use crate::domain::state::{Attempt, State};
use crate::domain::usage::{Bill, Usage};

/// Adds the run's own usage to its end.
pub(crate) fn billed(state: &State, agent: &AgentId, end: RunEnd) -> RunEnd {
    let (Some(attempt), Some(settings)) = (state.agents.get(agent), state.settings.as_deref())
    else {
        return end;
    };
    // Usage reported during the run counts if its end reports none.
    if let (None, Some(using)) = (&end.usage, attempt.using.as_deref()) {
        let partial = true;
        let bill = Bill { partial, ..*using };
        return RunEnd {
            bill: Some(bill),
            ..end
        };
    }
    if end.verdict.is_none() && end.usage.is_none() {
        return end;
    }
    let usage = end.usage.clone().unwrap_or_default();
    let bill = bill(state, attempt, settings, end.session.as_ref(), &usage);
    RunEnd {
        bill: Some(bill),
        ..end
    }
}

/// Usage of this run alone.
pub(crate) fn bill(
    state: &State,
    attempt: &Attempt,
    settings: &Settings,
    session: Option<&SessionId>,
    usage: &Usage,
) -> Bill {
    let before = attempt
        .session_of(profile(state, settings, attempt))
        .filter(|known| session.is_none_or(|session| *session == known.id));
    let before = before.map(|session| session.counted).unwrap_or_default();
    usage.bill(before, &settings.prices)
}
