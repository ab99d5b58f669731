//! What may be spent: by an idea, and on a day.
//!
//! Invariant: a budget that is used up stops nothing in the middle of an iteration, unless
//! `budget.hardStop` is set; complete work is checked and lands whatever it cost. At four fifths
//! there is a warning. The limits of a day pause the swarm once a day: a person who resumes it has
//! decided, and is reminded of that; other limits are another matter.

pub(super) mod unpriced;

use super::attempt::provider;
use super::decision::{End, Plan};
use super::merge::conflict;
use crate::domain::event::{BudgetReached, PauseSet, UsageSeen};
use crate::domain::ids::{AgentId, IdeaId, RunId};
use crate::domain::lifecycle::{SwarmInput, SwarmPhase};
use crate::domain::settings::Settings;
use crate::domain::state::{Attempt, AttemptEnd, Idea, IdeaStatus, State};
use crate::domain::usage::{Bill, MicroUsd, Spent, Usage};

/// The warning about the day's budget.
const DAY: &str = "budget-day";

/// The warning about the budget of an idea.
pub(super) fn warning(idea: &IdeaId) -> String {
    format!("budget-{idea}")
}

/// A limit that is used up, or nearly.
struct Used {
    /// More than there is.
    up: bool,
    /// What is used of it, in words.
    words: String,
    /// The limit alone: a warning that named what is used would be another one after each run.
    limit: String,
}

/// Where money or tokens stand; none: far from the limit, or there is none.
fn used(
    spent: &Spent,
    before: &Spent,
    usd: (Option<MicroUsd>, &str),
    tokens: (Option<u64>, &str),
) -> Option<Used> {
    let money = spent.usd().0.saturating_sub(before.usd().0);
    let count = spent.tokens.total().saturating_sub(before.tokens.total());
    let of = |value: u64, limit: u64| (value >= limit, value >= limit - limit / 5);
    let in_money = usd.0.map(|limit| {
        let whole = format!("{limit} ({})", usd.1);
        (of(money, limit.0), MicroUsd(money).to_string(), whole)
    });
    let in_tokens = tokens.0.map(|limit| {
        let whole = format!("{limit} tokens ({})", tokens.1);
        (of(count, limit), count.to_string(), whole)
    });
    let mut near: Vec<Used> = in_money
        .into_iter()
        .chain(in_tokens)
        .filter(|((_, near), _, _)| *near)
        .map(|((up, _), used, limit)| Used {
            up,
            words: format!("{used} of {limit}"),
            limit,
        })
        .collect();
    near.sort_by_key(|used| !used.up);
    near.into_iter().next()
}

fn of_idea(settings: &Settings, idea: &Idea, using: Option<&Bill>) -> Option<Used> {
    let budget = &settings.budget;
    let mut spent = idea.used;
    if let Some(using) = using {
        spent.add(using);
    }
    used(
        &spent,
        &idea.used_before,
        (budget.usd_per_idea, "budget.usdPerIdea"),
        (budget.tokens_per_idea, "budget.tokensPerIdea"),
    )
}

fn of_day(plan: &Plan<'_>, settings: &Settings, using: &[Bill]) -> Option<Used> {
    let budget = &settings.budget;
    let mut spent = plan
        .state
        .used
        .get(&plan.now.day())
        .copied()
        .unwrap_or_default();
    for bill in using {
        spent.add(bill);
    }
    used(
        &spent,
        &Spent::default(),
        (budget.usd_per_day, "budget.usdPerDay"),
        (budget.tokens_per_day, "budget.tokensPerDay"),
    )
}

/// Looks at the day's budget: warns, and pauses once it is used up.
pub(super) fn watch(plan: &mut Plan<'_>, settings: &Settings) {
    if settings.budget == crate::domain::settings::Budget::default() {
        return plan.clear_warning(DAY);
    }
    let Some(used) = of_day(plan, settings, &[]) else {
        return plan.clear_warning(DAY);
    };
    pause_or_warn(plan, settings, &used);
}

fn pause_or_warn(plan: &mut Plan<'_>, settings: &Settings, used: &Used) {
    if !used.up {
        let warning = format!(
            "today more than four fifths of {} are used; when all is, the swarm pauses",
            used.limit
        );
        return plan.warn(DAY, &warning);
    }
    let running = plan.state.swarm.phase == SwarmPhase::Running;
    if running && is_decided(plan, settings) {
        let warning = format!(
            "the budget of this day is used up: {}; since it was resumed the swarm goes on all the \
            same, until tomorrow (UTC) or until that is changed; to stop it: swarm pause",
            used.limit
        );
        return plan.warn(DAY, &warning);
    }
    plan.clear_warning(DAY);
    pause(plan, settings, used);
}

/// Whether a person has been asked about the limits of this day as they are.
fn is_decided(plan: &Plan<'_>, settings: &Settings) -> bool {
    let swarm = &plan.state.swarm;
    let same = swarm.budget_limits == settings.budget.of_day();
    same && swarm.budget_paused.as_ref() == Some(&plan.now.day())
}

/// Once a day, under the same limits.
fn pause(plan: &mut Plan<'_>, settings: &Settings, used: &Used) {
    let day = plan.now.day();
    let running = plan.state.swarm.phase == SwarmPhase::Running;
    if !running || is_decided(plan, settings) {
        return;
    }
    let reason = format!(
        "the budget of this day is used up: {}; raise it or wait for tomorrow (UTC), then: swarm \
        resume",
        used.words
    );
    plan.emit(PauseSet {
        reason: reason.clone(),
    });
    let moved = plan.move_swarm(SwarmInput::Pause, Some(&reason), None);
    debug_assert!(moved.is_ok());
    // Last: of a torn log it is found once more rather than not at all.
    let limits = settings.budget.of_day();
    plan.emit(BudgetReached { day, limits });
}

/// Whether an attempt may begin another iteration; where not, it ends here, its work kept.
pub(super) fn may_begin(
    plan: &mut Plan<'_>,
    agent: &AgentId,
    attempt: &Attempt,
    settings: &Settings,
) -> bool {
    let idea = plan.state.ideas.get(&attempt.idea);
    let used = idea.and_then(|idea| of_idea(settings, idea, None));
    let key = warning(&attempt.idea);
    let Some(used) = used else {
        plan.clear_warning(&key);
        return true;
    };
    let id = &attempt.idea;
    if !used.up {
        let warning = format!(
            "{id} has used more than four fifths of {}; when all is, it stops at its next boundary",
            used.limit
        );
        plan.warn(&key, &warning);
        return true;
    }
    let why = format!(
        "its budget is used up: {}; raise that or not, then: swarm idea retry {id} (begins a new \
        budget)",
        used.words
    );
    plan.end(
        agent,
        End::keeping(AttemptEnd::Blocked, IdeaStatus::Blocked, Some(why)),
    );
    false
}

/// Whether the budget of an attempt's idea leaves it another iteration.
pub(super) fn has_another(state: &State, attempt: &Attempt, settings: &Settings) -> bool {
    used_up(state, &attempt.idea, settings).is_none()
}

/// The budget of an idea, where nothing is left of it.
fn used_up(state: &State, idea: &IdeaId, settings: &Settings) -> Option<Used> {
    let used = of_idea(settings, state.ideas.get(idea)?, None);
    used.filter(|used| used.up)
}

/// Whether a resolver may begin: complete work lands whatever it costs, but for a budget that also
/// stops in the middle of an iteration. That would stop it again and again; a person decides.
pub(super) fn may_resolve(
    plan: &mut Plan<'_>,
    agent: &AgentId,
    attempt: &Attempt,
    settings: &Settings,
) -> bool {
    if !settings.budget.hard_stop {
        return true;
    }
    let (id, state) = (&attempt.idea, plan.state);
    let (Some(used), Some(entry)) = (used_up(state, id, settings), state.entry(id)) else {
        return true;
    };
    let why = format!(
        "its budget is used up: {}, and no agent may settle the conflict (budget.hardStop); do it \
        yourself, or raise that, then: swarm merge retry {id}",
        used.words
    );
    conflict::leave_to_person(plan, agent, entry, &why);
    false
}

/// What a run has used up to now; only where a budget also stops in the middle of an iteration.
pub(super) fn seen(plan: &mut Plan<'_>, run: &RunId, usage: &Usage) {
    let Some(settings) = plan.state.settings.as_deref() else {
        return;
    };
    if !settings.budget.hard_stop {
        return;
    }
    let of_run = |(_, attempt): &(&AgentId, &Attempt)| attempt.run.as_ref() == Some(run);
    let Some((agent, attempt)) = plan.state.agents.iter().find(of_run) else {
        return;
    };
    let bill = provider::bill(plan.state, attempt, settings, None, usage);
    let profile = provider::profile(plan.state, settings, attempt);
    unpriced::watch(plan, settings, profile, (usage, &bill));
    if attempt.using.as_deref() == Some(&bill) {
        return;
    }
    plan.emit(UsageSeen {
        agent: agent.clone(),
        run: run.clone(),
        bill,
    });
}

/// Ends what runs where its budget, or the day's, is used up in the middle of it.
pub(super) fn stop_hard(plan: &mut Plan<'_>, settings: &Settings) {
    if !settings.budget.hard_stop {
        return;
    }
    let state = plan.state;
    let using: Vec<Bill> = state
        .agents
        .values()
        .filter_map(|attempt| attempt.using.as_deref().copied())
        .collect();
    if using.is_empty() {
        return;
    }
    let day = of_day(plan, settings, &using).filter(|used| used.up);
    let day_is_up = day.is_some() && !is_decided(plan, settings);
    for attempt in state.agents.values() {
        let (Some(using), Some(run)) = (attempt.using.as_deref(), &attempt.run) else {
            continue;
        };
        let idea = state.ideas.get(&attempt.idea);
        let idea = idea.and_then(|idea| of_idea(settings, idea, Some(using)));
        if day_is_up || idea.is_some_and(|used| used.up) {
            plan.stop_run(run, false);
        }
    }
    // The warning is about what is certain, the ends of runs: `watch` sees to it.
    if let (true, Some(used)) = (day_is_up, day) {
        pause(plan, settings, &used);
    }
}
