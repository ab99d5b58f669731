//! Enforces budgets: per idea, and per day.
//!
//! Invariant: a used-up budget stops no iteration half-way unless `budget.hardStop` is set;
//! complete work is checked and lands whatever it cost. A warning comes at 80 %. The daily limit
//! pauses the swarm once a day: a person who resumes it has decided and only gets a warning, until
//! the limits change. Called by `advance` and at the end of runs.

pub(super) mod unpriced;

use super::attempt::{bill, provider};
use super::decision::{End, Plan};
use super::merge::conflict;
use crate::domain::event::{BudgetReached, PauseSet, UsageSeen};
use crate::domain::ids::{AgentId, IdeaId, RunId};
use crate::domain::lifecycle::{SwarmInput, SwarmPhase};
use crate::domain::settings::Settings;
use crate::domain::state::{Attempt, AttemptEnd, Idea, IdeaStatus, State};
use crate::domain::usage::{Bill, MicroUsd, Spent, Usage};
use crate::domain::warning::WarningKind;

/// Key of the warning about the day's budget.
const DAY: &str = WarningKind::DayBudget.only();

/// Key of the warning about an idea's budget.
pub(super) fn warning(idea: &IdeaId) -> String {
    WarningKind::Budget.about(idea)
}

/// A limit that is used up, or nearly.
struct Used {
    /// Whether the limit is reached.
    up: bool,
    /// Amount used and limit, for people.
    words: String,
    /// The limit alone: a message with the amount used would be a new warning after each run.
    limit: String,
}

/// The limit that is reached or close, in money or tokens; `None` if there is none.
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

/// Checks the day's budget: warns, then pauses once it is used up.
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
            "more than 80 % of today's budget is used, {}; swarm pauses when it is used up",
            used.limit
        );
        return plan.warn(DAY, &warning);
    }
    let running = plan.state.swarm.phase == SwarmPhase::Running;
    if running && is_decided(plan, settings) {
        let warning = format!(
            "today's budget is used up: {}; the swarm was resumed and continues until tomorrow \
            (UTC) or until the limit changes",
            used.limit
        );
        return plan.warn_with(DAY, &warning, vec!["swarm pause".into()]);
    }
    plan.clear_warning(DAY);
    pause(plan, settings, used);
}

/// Whether a person has already decided about the current limits today.
fn is_decided(plan: &Plan<'_>, settings: &Settings) -> bool {
    let swarm = &plan.state.swarm;
    let same = swarm.budget_limits == settings.budget.of_day();
    same && swarm.budget_paused.as_ref() == Some(&plan.now.day())
}

/// Pauses the swarm, once a day under the same limits.
fn pause(plan: &mut Plan<'_>, settings: &Settings, used: &Used) {
    let day = plan.now.day();
    let running = plan.state.swarm.phase == SwarmPhase::Running;
    if !running || is_decided(plan, settings) {
        return;
    }
    let reason = format!(
        "today's budget is used up: {}; raise it or wait until tomorrow (UTC), then: swarm resume",
        used.words
    );
    plan.emit(PauseSet {
        reason: reason.clone(),
        command: None,
    });
    let moved = plan.move_swarm(SwarmInput::Pause, Some(&reason), None);
    debug_assert!(moved.is_ok());
    // Last: in a torn log it is better found twice than not at all.
    let limits = settings.budget.of_day();
    plan.emit(BudgetReached { day, limits });
}

/// Whether an attempt may start another iteration; if not, ends it and keeps its work.
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
            "{id} has used more than 80 % of its budget, {}; it stops after the iteration that \
            uses it up",
            used.limit
        );
        plan.warn(&key, &warning);
        return true;
    }
    let why = format!(
        "its budget is used up: {}; to continue with a new budget: swarm idea retry {id}",
        used.words
    );
    plan.end(
        agent,
        End::keeping(AttemptEnd::Blocked, IdeaStatus::Blocked, Some(why)),
    );
    false
}

/// Whether the idea's budget allows another iteration.
pub(super) fn has_another(state: &State, attempt: &Attempt, settings: &Settings) -> bool {
    used_up(state, &attempt.idea, settings).is_none()
}

/// The idea's budget, if it is used up.
fn used_up(state: &State, idea: &IdeaId, settings: &Settings) -> Option<Used> {
    let used = of_idea(settings, state.ideas.get(idea)?, None);
    used.filter(|used| used.up)
}

/// Whether a resolver may start. Complete work lands whatever it costs, but `hardStop` would stop
/// the resolver again and again, so then a person decides.
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
        "its budget is used up: {}, so no agent may resolve the conflict (budget.hardStop); \
        resolve it yourself or raise the budget, then: swarm merge retry {id}",
        used.words
    );
    conflict::leave_to_person(plan, agent, entry, &why);
    false
}

/// Records a run's usage so far, if a budget stops iterations half-way.
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
    let bill = bill::bill(plan.state, attempt, settings, None, usage);
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

/// Stops runs whose idea's or day's budget is used up during the iteration.
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
    // The warning counts completed runs only: `watch` raises it.
    if let (true, Some(used)) = (day_is_up, day) {
        pause(plan, settings, &used);
    }
}
