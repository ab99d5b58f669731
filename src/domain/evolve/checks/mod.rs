//! Folds what is known of the quality commands that run side by side.

pub(super) mod outage;

use crate::domain::effect;
use crate::domain::event::RunEnded;
use crate::domain::ids::RunId;
use crate::domain::observation::RunEndKind;
use crate::domain::settings::Settings;
use crate::domain::state::State;
use crate::domain::state::checks::{GREEN, GreenCheck};

/// A run is requested; its effect is not yet among those under way.
pub(super) fn begin_run(state: &mut State, run: &effect::Run) {
    if !run.purpose.is_check() {
        return;
    }
    let others = state.checks_under_way().map(|(other, _)| other.clone());
    let others: Vec<RunId> = others.collect();
    if !others.is_empty() {
        state.swarm.checks.in_company.extend(others);
        state.swarm.checks.in_company.insert(run.run.clone());
    }
}

/// Remembers what a quality command that passed has cost.
pub(super) fn end_run(state: &mut State, ended: &RunEnded) {
    let passed = ended.end.how == RunEndKind::Exited { code: 0 };
    let purpose = state.run_effect(&ended.run).map(|(_, purpose)| purpose);
    // A probe runs all commands several times.
    let judged = purpose.is_some_and(|it| it.is_check() && !it.is_probe());
    if !passed || !judged {
        return;
    }
    let green = &mut state.swarm.checks.green;
    green.push(GreenCheck {
        duration_ms: ended.end.duration_ms,
        cpu_ms: ended.end.cpu_ms,
    });
    let over = green.len().saturating_sub(GREEN);
    green.drain(..over);
}

/// The effect of a run is over.
pub(super) fn finish_run(state: &mut State, run: &RunId) {
    state.swarm.checks.in_company.remove(run);
}

/// What other commands have cost says nothing about these.
pub(super) fn configure(state: &mut State, before: &Settings, now: &Settings) {
    if before.quality_commands != now.quality_commands {
        state.swarm.checks.green.clear();
    }
}
