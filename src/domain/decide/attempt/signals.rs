//! Handles the signals that agents send while they run.
//!
//! Invariant: only a running iteration can send signals, and each counts once. Called by `decide`
//! for each observed signal.

use crate::domain::decide::decision::Plan;
use crate::domain::decide::memory;
use crate::domain::event::SignalSeen;
use crate::domain::ids::{AgentId, RunId};
use crate::domain::lifecycle::AttemptPhase;
use crate::domain::request::Author;
use crate::domain::signal::Signal;
use crate::domain::state::Attempt;

/// Records a signal once; its offset in the run's output identifies it.
pub(crate) fn seen(plan: &mut Plan<'_>, run: &RunId, offset: u64, signal: &Signal) {
    // Only agents send signals: what a quality command prints is ignored.
    let speaks = |attempt: &Attempt| {
        matches!(
            attempt.phase,
            AttemptPhase::Working | AttemptPhase::Stopping
        )
    };
    let of_run =
        |(_, attempt): &(&AgentId, &Attempt)| attempt.run.as_ref() == Some(run) && speaks(attempt);
    let Some((agent, attempt)) = plan.state.agents.iter().find(of_run) else {
        return;
    };
    if attempt.signal_offset.is_some_and(|last| offset <= last) {
        return;
    }
    plan.emit(SignalSeen {
        agent: agent.clone(),
        run: run.clone(),
        offset,
        signal: signal.clone(),
    });
    let by = Author::Agent {
        id: agent.clone(),
        idea_id: Some(attempt.idea.clone()),
        run: run.clone(),
    };
    match signal {
        Signal::LearningLocal(content) => memory::signalled(plan, &by, content, false),
        Signal::LearningGlobal(content) => memory::signalled(plan, &by, content, true),
        // They count when the iteration is over.
        Signal::Complete(_)
        | Signal::Blocked(_)
        | Signal::NeedsHuman(_)
        | Signal::Progress(_)
        | Signal::Resolved(_) => {}
    }
}
