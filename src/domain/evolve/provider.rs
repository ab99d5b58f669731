//! Folds what agents share and use: accounts, conversations, tokens and money.
//!
//! Invariant: a run's usage is added once, when it ends, to its attempt, its idea and its day
//! alike. A synthesis or replay has neither attempt nor idea, but a sum of its own.

use super::attempt::with_attempt;
use super::idea::with_idea;
use crate::domain::event::{
    AccountHeld, AccountTried, BudgetReached, IterationExcused, ProfileTried, ProviderAwaited,
    SessionBegan, SessionDropped, UsageSeen,
};
use crate::domain::ids::{AgentId, ProfileName, RunId};
use crate::domain::observation::RunEnd;
use crate::domain::session::Session;
use crate::domain::state::provider::{Excuse, ProviderWait};
use crate::domain::state::{Attempt, Kept, State};
use crate::domain::time::Timestamp;
use crate::domain::usage::Counted;

/// Number of days whose usage is kept.
const DAYS_KEPT: usize = 400;

pub(super) fn excuse(state: &mut State, excused: &IterationExcused) {
    with_attempt(state, &excused.agent, |attempt| {
        attempt.phase = excused.phase;
        attempt.not_before = excused.not_before;
        attempt.excused.iterations += 1;
        match excused.excuse {
            Excuse::Cut | Excuse::Idle => attempt.excused.cut += 1,
            Excuse::Session => {
                if let Some(session) = attempt.session.as_deref_mut() {
                    session.failures += 1;
                }
            }
            Excuse::Exhausted => attempt.excused.exhausted += 1,
            Excuse::Account | Excuse::Profile => {}
        }
    });
}

pub(super) fn begin_session(state: &mut State, began: &SessionBegan) {
    with_attempt(state, &began.agent, |attempt| {
        let known = attempt.session.as_deref();
        if known.is_none_or(|known| known.id != began.session) {
            let before = attempt.session.replace(Box::new(Session {
                id: began.session.clone(),
                profile: began.profile.clone(),
                counted: Counted::default(),
                failures: 0,
            }));
            put_aside(attempt, &began.profile, before);
        }
    });
}

pub(super) fn drop_session(state: &mut State, dropped: &SessionDropped) {
    with_attempt(state, &dropped.agent, |attempt| {
        attempt.session = None;
        attempt.memory.shown.clear();
    });
}

pub(super) fn see_usage(state: &mut State, seen: &UsageSeen) {
    with_attempt(state, &seen.agent, |attempt| {
        if attempt.run.as_ref() == Some(&seen.run) {
            attempt.using = Some(Box::new(seen.bill));
        }
    });
}

pub(super) fn await_provider(state: &mut State, at: Timestamp, awaited: &ProviderAwaited) {
    with_attempt(state, &awaited.agent, |attempt| {
        if attempt.run.as_ref() == Some(&awaited.run) {
            let wait = |why: &String| ProviderWait {
                why: why.clone(),
                since: at,
            };
            attempt.provider_wait = awaited.why.as_ref().map(wait).map(Box::new);
        }
    });
}

pub(super) fn hold_account(state: &mut State, held: &AccountHeld) {
    state
        .accounts
        .insert(held.account.clone(), held.hold.clone());
}

pub(super) fn try_account(state: &mut State, tried: &AccountTried) {
    if let Some(hold) = state.accounts.get_mut(&tried.account) {
        hold.tried_by = Some(tried.run.clone());
    }
}

pub(super) fn try_profile(state: &mut State, tried: &ProfileTried) {
    if let Some(hold) = state.profiles.get_mut(&tried.profile) {
        hold.tried_by = Some(tried.run.clone());
    }
}

pub(super) fn reach_budget(state: &mut State, reached: &BudgetReached) {
    state.swarm.budget_paused = Some(reached.day.clone());
    state.swarm.budget_limits = reached.limits;
}

/// A conversation under `profile` started. If it is a resolver's, the attempt's own one is set
/// aside.
fn put_aside(attempt: &mut Attempt, profile: &ProfileName, before: Option<Box<Session>>) {
    let own = before.filter(|before| before.profile == attempt.profile);
    if *profile != attempt.profile && own.is_some() {
        attempt.own_session = own;
    }
}

/// Restores the attempt's own conversation after a conflict.
pub(super) fn back_to_own(attempt: &mut Attempt) {
    if let Some(own) = attempt.own_session.take() {
        attempt.session = Some(own);
        // The other conversation was shown this.
        attempt.memory.shown.clear();
    }
}

/// Conversation that an attempt resumes.
pub(super) fn taken_up(kept: Option<&Kept>, profile: &ProfileName) -> Option<Box<Session>> {
    let session = kept?.session.as_ref()?;
    (session.profile == *profile).then(|| session.clone())
}

/// Adds the usage of an ended run, and updates its conversation.
pub(super) fn run_over(state: &mut State, at: Timestamp, run: &RunId, end: &RunEnd) {
    let profiles = state.profiles.values_mut();
    for hold in state.accounts.values_mut().chain(profiles) {
        if hold.tried_by.as_ref() == Some(run) {
            hold.tried_by = None;
        }
    }
    if state.synthesis_run() == Some(run) {
        if let Some(bill) = &end.bill {
            state.synthesis.used.add(bill);
        }
        return use_up(state, at, end);
    }
    if state.replay_run() == Some(run) {
        if let Some(bill) = &end.bill {
            state.records.replays_used.add(bill);
        }
        return use_up(state, at, end);
    }
    let of_run = |(_, attempt): &(&AgentId, &Attempt)| attempt.run.as_ref() == Some(run);
    let Some((agent, idea)) = state
        .agents
        .iter()
        .find(of_run)
        .map(|(agent, attempt)| (agent.clone(), attempt.idea.clone()))
    else {
        return;
    };
    let profile = state.profile_of_run(run).cloned();
    with_attempt(state, &agent, |attempt| {
        attempt.using = None;
        attempt.provider_wait = None;
        if let (Some(session), Some(usage)) = (attempt.session.as_deref_mut(), &end.usage)
            && end.session.as_ref().is_none_or(|id| *id == session.id)
            && profile.is_none_or(|profile| profile == session.profile)
        {
            session.counted = usage.counted(session.counted);
        }
    });
    let Some(bill) = &end.bill else {
        return;
    };
    with_attempt(state, &agent, |attempt| attempt.used.add(bill));
    with_idea(state, &idea, at, |idea| idea.used.add(bill));
    use_up(state, at, end);
}

/// Adds the usage of a run to its day.
fn use_up(state: &mut State, at: Timestamp, end: &RunEnd) {
    let Some(bill) = &end.bill else {
        return;
    };
    let day = state.used.entry(at.day()).or_default();
    day.add(bill);
    while state.used.len() > DAYS_KEPT {
        state.used.pop_first();
    }
}

/// An iteration ended successfully: counts of failures in a row are reset.
pub(super) fn went_well(attempt: &mut Attempt) {
    attempt.excused.cut = 0;
    attempt.excused.exhausted = 0;
    if let Some(session) = attempt.session.as_deref_mut() {
        session.failures = 0;
    }
}
