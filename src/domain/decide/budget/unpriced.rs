//! Money that is spent out of a budget's sight: a model that no price is known for.
//!
//! Invariant: said only where a budget is in dollars, and once for each model under the same
//! configuration; another configuration takes it back, and what is still so is said again when it
//! is seen again.

use crate::domain::decide::attempt::provider;
use crate::domain::decide::decision::Plan;
use crate::domain::ids::{AgentId, ProfileName};
use crate::domain::observation::RunEnd;
use crate::domain::settings::Settings;
use crate::domain::usage::{Bill, Usage, undated};
use crate::domain::verdict::Verdict;

/// Begins the key of the warning about a model; its name follows.
const MODEL: &str = "unpriced-";
/// Begins the key of the warning about a profile whose program does not name its model; its name
/// follows.
const PROFILE: &str = "unnamed-model-";
/// So many stand at a time: the names are those that programs tell.
const MOST: usize = 8;

/// Longer names of models are cut.
const LONGEST: usize = 100;

/// An iteration has ended. One that was cut short does not tell all that its program tells.
pub(crate) fn ended(plan: &mut Plan<'_>, agent: &AgentId, end: &RunEnd) {
    let state = plan.state;
    let (Some(attempt), Some(settings)) = (state.agents.get(agent), state.settings.as_deref())
    else {
        return;
    };
    let whole = end.verdict == Some(Verdict::Complete);
    if let (true, Some(usage), Some(bill)) = (whole, &end.usage, &end.bill) {
        let profile = provider::profile(state, settings, attempt);
        watch(plan, settings, profile, (usage, bill));
    }
}

/// A run has used so much, and of its cost nothing may be known.
pub(super) fn watch(
    plan: &mut Plan<'_>,
    settings: &Settings,
    profile: &ProfileName,
    (usage, bill): (&Usage, &Bill),
) {
    let used = bill.tokens.is_some_and(|tokens| tokens.total() > 0);
    let limits = settings.budget.limits_in_dollars();
    if !used || bill.cost.is_some() || limits.is_empty() {
        return;
    }
    let unseen = format!(
        "so its runs count in {} only when they end, or not at all",
        limits.join(" and ")
    );
    let model = usage.model.as_deref().map(undated);
    let (key, message) = match model.map(|model| model.chars().take(LONGEST).collect::<String>()) {
        Some(model) => (
            format!("{MODEL}{model}"),
            format!(
                "there is no price for the model `{model}`, {unseen}; add it to \
                .swarm/config.json, in dollars for a million tokens: \"pricing\": {{{model:?}: \
                {{\"input\": N, \"cached\": N, \"cacheWritten\": N, \"output\": N}}}}"
            ),
        ),
        None => (
            format!("{PROFILE}{profile}"),
            format!(
                "the program of the profile `{profile}` does not say which model it uses, and \
                there is no price without a name, {unseen}; name the model in \
                agents.profiles.{profile}.model of .swarm/config.json, and its price in pricing"
            ),
        ),
    };
    if !plan.state.warnings.contains_key(&key) && standing(plan).len() < MOST {
        plan.warn(&key, &message);
    }
}

/// Another configuration holds from now on.
pub(crate) fn configured(plan: &mut Plan<'_>) {
    for key in standing(plan) {
        plan.clear_warning(&key);
    }
}

fn standing(plan: &Plan<'_>) -> Vec<String> {
    let keys = plan.state.warnings.keys();
    keys.filter(|key| key.starts_with(MODEL) || key.starts_with(PROFILE))
        .cloned()
        .collect()
}
