//! Folds what is known about failed checks whose cause is in doubt.

use super::attempt::with_attempt;
use super::merge::with_entry;
use crate::domain::effect::Purpose;
use crate::domain::event::{GateDoubted, GateExcused, RunEnded, VerifyDoubted};
use crate::domain::observation::RunEndKind;
use crate::domain::state::State;
use crate::domain::state::baseline::Uncharged;
use crate::domain::state::setup::{CONTROL_TREE, SetupDue};

/// Remembers which run of a setup or quality command passed last.
pub(super) fn end_run(state: &mut State, ended: &RunEnded) {
    let passed = ended.end.how == RunEndKind::Exited { code: 0 };
    if !passed || !state.requires_baseline() {
        return;
    }
    let Some((_, purpose)) = state.run_effect(&ended.run) else {
        return;
    };
    let command = match purpose {
        Purpose::Gate { command, .. }
        | Purpose::Verify { command, .. }
        | Purpose::Setup { command, .. }
        | Purpose::Baseline { command, .. } => command.clone(),
        Purpose::Iteration { .. }
        | Purpose::Canary { .. }
        | Purpose::CommitHooks { .. }
        | Purpose::Hook { .. }
        | Purpose::Synthesis { .. }
        | Purpose::Replay { .. } => return,
    };
    let number = state.swarm.baseline.commands.entry(command).or_default();
    *number = ended.run.number().max(*number);
}

pub(super) fn doubt_gate(state: &mut State, doubted: &GateDoubted) {
    with_attempt(state, &doubted.agent, |attempt| {
        attempt.check.uncharged = Some(Box::new(Uncharged::InDoubt(doubted.doubt.clone())));
    });
}

/// With other ports, what the setup has written may be wrong.
pub(super) fn excuse_gate(state: &mut State, excused: &GateExcused) {
    let settings = state.settings.as_deref();
    let again = excused.port.is_some() && settings.is_some_and(|it| !it.setup.is_empty());
    let worktree = state
        .agents
        .get(&excused.agent)
        .map(|it| it.worktree.clone());
    if let Some(worktree) = worktree.filter(|_| again) {
        state.setups.remove(&worktree);
    }
    with_attempt(state, &excused.agent, |attempt| {
        if again {
            attempt.setup = Some(SetupDue::new(""));
        }
        attempt.check.uncharged = Some(Box::new(if excused.alone {
            Uncharged::Collided
        } else {
            Uncharged::Excused
        }));
    });
}

pub(super) fn doubt_verify(state: &mut State, doubted: &VerifyDoubted) {
    with_entry(state, &doubted.id, |entry| {
        entry.doubt = Some(Box::new(doubted.doubt.clone()));
    });
}

/// The untouched target must pass once more. A setup that is in doubt runs there from the start,
/// or its success would be an old one.
pub(super) fn doubt_target(state: &mut State) {
    if state.is_setup_in_doubt() {
        state.setups.remove(CONTROL_TREE);
    }
    state.swarm.baseline.doubted = true;
}

/// The untouched target fails as well: no work is to blame for what failed meanwhile.
pub(super) fn excuse_all(state: &mut State) {
    for attempt in state.agents.values_mut() {
        if let Some(uncharged) = &mut attempt.check.uncharged {
            **uncharged = Uncharged::Excused;
        }
    }
    for entry in &mut state.queue {
        entry.doubt = None;
    }
}
