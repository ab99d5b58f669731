//! Folding what agents share and use: accounts, conversations, tokens and money.
//!
//! Invariant: what a run used is added once, with its end: to its attempt, its idea and its day alike.

use super::{with_attempt, with_idea};
use crate::domain::event::{
    AccountFreed, AccountHeld, AccountTried, BudgetReached, Event, IterationExcused, SessionBegan,
    SessionDropped, UsageSeen,
};
use crate::domain::ids::{AgentId, ProfileName, RunId};
use crate::domain::observation::RunEnd;
use crate::domain::provider::Excuse;
use crate::domain::session::Session;
use crate::domain::state::{Attempt, Kept, State};
use crate::domain::time::Timestamp;
use crate::domain::usage::Counted;

/// Days of which it is kept what was used.
const DAYS_KEPT: usize = 400;

/// Events about accounts, conversations and usage; false when it is another's.
pub(super) fn service_event(state: &mut State, event: &Event) -> bool {
    match event {
        Event::IterationExcused(IterationExcused {
            agent,
            excuse,
            phase,
            not_before,
        }) => with_attempt(state, agent, |attempt| {
            if let Some(phase) = phase {
                attempt.phase = *phase;
                attempt.not_before = *not_before;
            }
            excused(attempt, *excuse);
        }),
        Event::SessionBegan(SessionBegan {
            agent,
            profile,
            session,
            ..
        }) => with_attempt(state, agent, |attempt| {
            let known = attempt.session.as_deref();
            if known.is_none_or(|known| known.id != *session) {
                let before = attempt.session.replace(Box::new(Session {
                    id: session.clone(),
                    profile: profile.clone(),
                    counted: Counted::default(),
                    failures: 0,
                }));
                put_aside(attempt, profile, before);
            }
        }),
        Event::SessionDropped(SessionDropped { agent, .. }) => {
            with_attempt(state, agent, |attempt| attempt.session = None);
        }
        Event::UsageSeen(UsageSeen { agent, run, bill }) => with_attempt(state, agent, |attempt| {
            if attempt.run.as_ref() == Some(run) {
                attempt.using = Some(Box::new(*bill));
            }
        }),
        Event::AccountHeld(AccountHeld { account, hold }) => {
            state.accounts.insert(account.clone(), hold.clone());
        }
        Event::AccountTried(AccountTried { account, run }) => {
            if let Some(hold) = state.accounts.get_mut(account) {
                hold.tried_by = Some(run.clone());
            }
        }
        Event::AccountFreed(AccountFreed { account }) => {
            state.accounts.remove(account);
        }
        Event::BudgetReached(BudgetReached { day, limits }) => {
            state.swarm.budget_paused = Some(day.clone());
            state.swarm.budget_limits = *limits;
        }
        _ => return false,
    }
    true
}

/// A conversation under `profile` has begun. Where that is a resolver's, the attempt's own one is wanted again.
fn put_aside(attempt: &mut Attempt, profile: &ProfileName, before: Option<Box<Session>>) {
    let own = before.filter(|before| before.profile == attempt.profile);
    if *profile != attempt.profile && own.is_some() {
        attempt.own_session = own;
    }
}

/// The conflict is settled, or no longer what the attempt is about.
pub(super) fn back_to_own(attempt: &mut Attempt) {
    if let Some(own) = attempt.own_session.take() {
        attempt.session = Some(own);
    }
}

fn excused(attempt: &mut Attempt, excuse: Excuse) {
    attempt.excused += 1;
    match excuse {
        Excuse::Cut | Excuse::Idle => attempt.cut += 1,
        Excuse::Session => {
            if let Some(session) = attempt.session.as_deref_mut() {
                session.failures += 1;
            }
        }
        Excuse::Account => {}
    }
}

/// The conversation that an attempt goes on with.
pub(super) fn taken_up(kept: Option<&Kept>, profile: &ProfileName) -> Option<Box<Session>> {
    let session = kept?.session.as_ref()?;
    (session.profile == *profile).then(|| session.clone())
}

/// A run of an attempt is over: what it used, and what that says of its conversation.
pub(super) fn run_over(state: &mut State, at: Timestamp, run: &RunId, end: &RunEnd) {
    for hold in state.accounts.values_mut() {
        if hold.tried_by.as_ref() == Some(run) {
            hold.tried_by = None;
        }
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
    let day = state.used.entry(at.day()).or_default();
    day.add(bill);
    while state.used.len() > DAYS_KEPT {
        state.used.pop_first();
    }
}

/// An iteration came to its end by itself and well: what failed in a row before it does not any more.
pub(super) fn went_well(attempt: &mut Attempt) {
    attempt.cut = 0;
    if let Some(session) = attempt.session.as_deref_mut() {
        session.failures = 0;
    }
}
