//! Warns about costs that a budget cannot see: a model without a known price.
//!
//! Invariant: raised only if a budget is in dollars, and once per model under the same
//! configuration; a new configuration clears it until it is seen again. Called when usage is
//! reported or an iteration ends.

use crate::domain::decide::attempt::provider;
use crate::domain::decide::decision::Plan;
use crate::domain::ids::{AgentId, ProfileName};
use crate::domain::observation::RunEnd;
use crate::domain::settings::Settings;
use crate::domain::usage::{Bill, Usage, undated};
use crate::domain::verdict::Verdict;
use crate::domain::warning::WarningKind;

/// Most warnings at a time, since programs choose the names.
const MOST: usize = 8;

/// Longest model name shown, in characters; longer ones are cut.
const LONGEST: usize = 100;

/// Checks the usage of an iteration that ended. One that was cut short may not have reported
/// everything.
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

/// Checks usage whose cost may be unknown.
pub(crate) fn watch(
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
        "so its runs count towards {} only when they end, or not at all",
        limits.join(" and ")
    );
    let model = usage.model.as_deref().map(undated);
    let (key, message) = match model.map(|model| model.chars().take(LONGEST).collect::<String>()) {
        Some(model) => (
            WarningKind::UnpricedModel.about(&model),
            format!(
                "there is no price for the model `{model}`, {unseen}; add it to \
                .swarm/config.json, in dollars per million tokens: \"pricing\": {{{model:?}: \
                {{\"input\": N, \"cached\": N, \"cacheWritten\": N, \"output\": N}}}}"
            ),
        ),
        None => (
            WarningKind::UnnamedModel.about(profile),
            format!(
                "the program of the profile `{profile}` does not report its model, and its price \
                is unknown, {unseen}; set agents.profiles.{profile}.model in .swarm/config.json, \
                and the model's price in pricing"
            ),
        ),
    };
    if !plan.state.warnings.contains_key(&key) && standing(plan).len() < MOST {
        plan.warn(&key, &message);
    }
}

/// Clears the warnings when the configuration changes.
pub(crate) fn configured(plan: &mut Plan<'_>) {
    for key in standing(plan) {
        plan.clear_warning(&key);
    }
}

fn standing(plan: &Plan<'_>) -> Vec<String> {
    let keys = plan.state.warnings.keys();
    let ours = [WarningKind::UnpricedModel, WarningKind::UnnamedModel];
    let is_ours = |key: &&String| WarningKind::of(key).is_some_and(|kind| ours.contains(&kind));
    keys.filter(is_ours).cloned().collect()
}
