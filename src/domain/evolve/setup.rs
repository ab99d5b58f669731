//! Folds the setup of worktrees.

use super::attempt::{begin_run, with_attempt};
use super::baseline;
use super::merge::with_entry;
use crate::domain::effect::SetupTree;
use crate::domain::event::{SetupPassed, SetupStarted};
use crate::domain::settings::Settings;
use crate::domain::state::State;
use crate::domain::state::setup::{SetupDue, VERIFY_TREE};
use crate::domain::time::Timestamp;

/// The setup that a tree needs now. What was set up there before no longer holds.
pub(super) fn require(
    state: &mut State,
    worktree: &str,
    key: Option<&str>,
) -> Option<Box<SetupDue>> {
    let due = key.map(SetupDue::new);
    if due.is_some() {
        state.setups.remove(worktree);
    }
    due
}

pub(super) fn start(state: &mut State, at: Timestamp, started: &SetupStarted) {
    state.counters.runs += 1;
    let run = &started.run;
    match &started.tree {
        SetupTree::Worktree { agent } => {
            with_attempt(state, agent, |attempt| begin_run(attempt, run));
        }
        SetupTree::Merged { idea } => {
            with_entry(state, idea, |entry| entry.run = Some(run.clone()));
        }
        SetupTree::Target | SetupTree::Control => baseline::begin_run(state, at, run),
    }
}

pub(super) fn pass(state: &mut State, passed: &SetupPassed) {
    let (worktree, due) = match &passed.tree {
        SetupTree::Worktree { agent } => match state.agents.get_mut(agent) {
            Some(attempt) => (attempt.worktree.clone(), &mut attempt.setup),
            None => return,
        },
        SetupTree::Merged { idea } => {
            match state.queue.iter_mut().find(|entry| entry.idea == *idea) {
                Some(entry) => (VERIFY_TREE.to_owned(), &mut entry.setup),
                None => return,
            }
        }
        SetupTree::Target | SetupTree::Control => match &mut state.swarm.baseline.checking {
            Some(check) => (check.tree.name().to_owned(), &mut check.setup),
            None => return,
        },
    };
    if !passed.last {
        if let Some(due) = due {
            due.next = passed.index + 1;
            due.tries = 0;
        }
    } else if let Some(done) = due.take().filter(|due| !due.key.is_empty()) {
        state.setups.insert(worktree, done.key);
    }
}

/// Another setup is configured: nothing is set up, and one that is due starts over.
pub(super) fn configure(state: &mut State, before: &Settings, now: &Settings) {
    if before.setup == now.setup {
        return;
    }
    state.setups.clear();
    let begin_anew = |due: &mut Option<Box<SetupDue>>| {
        let needed = due.is_some() && !now.setup.is_empty();
        *due = needed.then(|| SetupDue::new(""));
    };
    for attempt in state.agents.values_mut() {
        begin_anew(&mut attempt.setup);
    }
    for entry in &mut state.queue {
        entry.setup_failures = 0;
        begin_anew(&mut entry.setup);
    }
}
