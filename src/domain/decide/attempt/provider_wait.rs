//! Ends a run whose program waits for its provider longer than `agents.providerWaitMinutes`.
//!
//! Such programs retry by themselves, some for hours. Their iteration does not count, and the
//! account waits, so that one run tries it later in place of all.

use super::provider;
use crate::domain::decide::decision::Plan;
use crate::domain::event::ProviderAwaited;
use crate::domain::ids::{AgentId, RunId};
use crate::domain::observation::{RunEnd, RunEndKind};
use crate::domain::settings::Settings;
use crate::domain::state::provider::{Excuse, ProviderWait};
use crate::domain::state::{Attempt, State};
use crate::domain::time::Timestamp;
use crate::domain::verdict::{Cause, Verdict};

/// Most characters of a program's reason that are kept.
const SHOWN: usize = 120;

/// A program reports that it waits for its provider.
pub(crate) fn begins(plan: &mut Plan<'_>, run: &RunId, why: &str) {
    let Some((agent, attempt)) = of_run(plan.state, run) else {
        return;
    };
    if attempt.provider_wait.is_none() {
        plan.emit(ProviderAwaited {
            agent: agent.clone(),
            run: run.clone(),
            why: Some(why.chars().take(SHOWN).collect()),
        });
    }
}

/// Its provider answers again.
pub(super) fn is_over(plan: &mut Plan<'_>, run: &RunId) {
    let Some((agent, attempt)) = of_run(plan.state, run) else {
        return;
    };
    if attempt.provider_wait.is_some() {
        plan.emit(ProviderAwaited {
            agent: agent.clone(),
            run: run.clone(),
            why: None,
        });
    }
}

/// Stops the runs that have waited too long.
pub(crate) fn stop_runs(plan: &mut Plan<'_>, settings: &Settings) {
    let due: Vec<_> = limits(plan.state, settings).collect();
    for (run, limit) in due {
        if limit <= plan.now {
            plan.stop_run(run, false);
        }
    }
}

/// When the next run has waited too long.
pub(crate) fn deadline(state: &State) -> Option<Timestamp> {
    let settings = state.settings.as_deref()?;
    let running = limits(state, settings).filter(|(run, _)| !state.stops.contains_key(*run));
    running.map(|(_, limit)| limit).min()
}

/// Excuses an iteration that was stopped because it waited too long; returns whether it was.
pub(crate) fn excuses(
    plan: &mut Plan<'_>,
    agent: &AgentId,
    attempt: &Attempt,
    end: &RunEnd,
) -> bool {
    let (Some(settings), Some(wait)) = (
        plan.state.settings.as_deref(),
        attempt.provider_wait.as_deref(),
    ) else {
        return false;
    };
    let is_due = limit(settings, wait).is_some_and(|limit| limit <= plan.now);
    if !is_due || end.how != RunEndKind::Stopped {
        return false;
    }
    let message = format!(
        "its program waited {} min for the provider: {}",
        plan.now.since(wait.since) / 60_000,
        wait.why
    );
    let cause = match &end.verdict {
        Some(verdict @ Verdict::Failed { cause, .. }) if verdict.is_of_provider() => cause.clone(),
        Some(Verdict::Failed { .. } | Verdict::Complete | Verdict::Cut) | None => cause(&wait.why),
    };
    let profile = provider::profile(plan.state, settings, attempt);
    provider::hold_if_at_fault(plan, settings, profile, &cause, &message);
    plan.excuse(agent, Excuse::Account, None);
    true
}

/// The cause that a program's reason names: a limit, or a provider that cannot answer.
fn cause(why: &str) -> Cause {
    let why = why.to_ascii_lowercase();
    let names_limit = ["429", "rate limit", "rate_limit", "quota"];
    if names_limit.iter().any(|word| why.contains(word)) {
        Cause::Limit { until: None }
    } else {
        Cause::Overloaded
    }
}

fn limits<'a>(
    state: &'a State,
    settings: &'a Settings,
) -> impl Iterator<Item = (&'a RunId, Timestamp)> {
    state.agents.values().filter_map(|attempt| {
        let wait = attempt.provider_wait.as_deref()?;
        Some((attempt.run.as_ref()?, limit(settings, wait)?))
    })
}

fn limit(settings: &Settings, wait: &ProviderWait) -> Option<Timestamp> {
    let most = settings.provider_wait_ms;
    (most > 0).then(|| wait.since.plus_millis(most))
}

fn of_run<'a>(state: &'a State, run: &RunId) -> Option<(&'a AgentId, &'a Attempt)> {
    let mut all = state.agents.iter();
    all.find(|(_, attempt)| attempt.run.as_ref() == Some(run))
}
