//! Handles the signals that agents send while they run.
//!
//! Invariant: only a running iteration can send signals, and each counts once. Called by `decide`
//! for each observed signal.

use crate::domain::decide::decision::Plan;
use crate::domain::event::{Learned, SignalSeen};
use crate::domain::ids::{AgentId, RunId};
use crate::domain::lifecycle::AttemptPhase;
use crate::domain::signal::Signal;
use crate::domain::state::{Attempt, Learning};

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
    match signal {
        Signal::LearningLocal(content) => learn(plan, agent, attempt, content, false),
        Signal::LearningGlobal(content) => learn(plan, agent, attempt, content, true),
        // They count when the iteration is over.
        Signal::Complete(_)
        | Signal::Blocked(_)
        | Signal::NeedsHuman(_)
        | Signal::Progress(_)
        | Signal::Resolved(_) => {}
    }
}

/// Learnings are equal if they differ only in case and whitespace.
fn is_same(one: &str, other: &str) -> bool {
    words(one).eq(words(other))
}

fn words(content: &str) -> impl Iterator<Item = String> {
    content.split_whitespace().map(str::to_lowercase)
}

fn learn(plan: &mut Plan<'_>, agent: &AgentId, attempt: &Attempt, content: &str, global: bool) {
    let same = |known: &&Learning| {
        known.global == global
            && (global || known.profile == attempt.profile)
            && is_same(&known.content, content)
    };
    let known = plan.state.learnings.iter().find(same);
    if known.is_some_and(|known| known.sources.contains(agent)) {
        return;
    }
    let number = plan.state.counters.learnings + 1;
    plan.emit(Learned {
        id: known.map_or_else(|| format!("learning-{number:03}"), |known| known.id.clone()),
        agent: agent.clone(),
        profile: attempt.profile.clone(),
        global,
        content: content.to_owned(),
    });
}
