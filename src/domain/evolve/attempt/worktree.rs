//! Folds what becomes of the worktree of an attempt: made, lent, made again.

use super::with_attempt;
use crate::domain::event::{WorktreeLent, WorktreeReady, WorktreeStays};
use crate::domain::evolve::{baseline, setup};
use crate::domain::ids::attempt_name;
use crate::domain::state::{Attempt, Lending, State};

pub(in crate::domain::evolve) fn take(state: &mut State, ready: &WorktreeReady) {
    let attempt = state.agents.get(&ready.agent);
    let worktree = attempt.map(|attempt| attempt.worktree.clone());
    let worktree = ready.worktree.clone().or(worktree);
    if attempt.is_some_and(|attempt| attempt.kept.is_none() && attempt.iteration == 0) {
        baseline::see_base(state, &ready.base);
    }
    let setup = setup::require(
        state,
        worktree.as_deref().unwrap_or_default(),
        ready.setup.as_deref(),
    );
    with_attempt(state, &ready.agent, |attempt| {
        attempt.setup = setup;
        attempt.base = Some(ready.base.clone());
        attempt.head = Some(ready.head.clone());
        attempt.tree = None;
        match &ready.worktree {
            Some(worktree) => take_back(attempt, worktree),
            None => attempt.catch_up = None,
        }
    });
}

/// A worktree of its own again. Programs find their conversations by its path.
fn take_back(attempt: &mut Attempt, worktree: &str) {
    if attempt.lent() != Some(worktree) {
        attempt.session = None;
        attempt.own_session = None;
    }
    attempt.lending = Lending::MadeAgain;
    worktree.clone_into(&mut attempt.worktree);
}

pub(in crate::domain::evolve) fn lend(state: &mut State, lent: &WorktreeLent) {
    with_attempt(state, &lent.agent, |attempt| {
        let none = attempt_name(&attempt.branch);
        attempt.lending = Lending::Lent(std::mem::replace(&mut attempt.worktree, none));
        attempt.setup = None;
        attempt.tree = None;
    });
}

pub(in crate::domain::evolve) fn keep(state: &mut State, stays: &WorktreeStays) {
    with_attempt(state, &stays.agent, |attempt| {
        attempt.lending = Lending::HoldsMore;
    });
}
