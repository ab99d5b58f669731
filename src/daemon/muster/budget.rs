//! Budgets in dollars that cannot hold: agents of which nobody knows what they cost, at all or in the middle of a run.
//!
//! Invariant: only what is certain from the configuration is told, and only where a budget is in dollars. That a model has no price among
//! others is seen when it is used.

use std::fmt;

use crate::agents::{self, AdapterKind, adapter::Told};
use crate::config::Config;
use crate::daemon::settings;

/// Profiles for which a budget in dollars does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unseen {
    profiles: String,
    limits: String,
    why: Why,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    /// They tell nothing of what they use.
    Untold,
    /// They tell tokens, and no price is known.
    Unpriced,
    /// They tell tokens before the end of a run, and no price is known.
    UnpricedMeanwhile,
    /// They tell nothing before the end of a run.
    UntoldMeanwhile,
}

impl fmt::Display for Unseen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            profiles,
            limits,
            why,
        } = self;
        match why {
            Why::Untold => write!(
                f,
                "no run of {profiles} counts in {limits}: it does not tell what it uses"
            ),
            Why::Unpriced => write!(
                f,
                "no run of {profiles} counts in {limits}: it tells tokens only, their dollars are known from `pricing` alone, and that is empty"
            ),
            Why::UnpricedMeanwhile => write!(
                f,
                "budget.hardStop ends no run of {profiles} in the middle for {limits}: before its end a run tells tokens only, their dollars \
                 are known from `pricing` alone, and that is empty"
            ),
            Why::UntoldMeanwhile => write!(
                f,
                "budget.hardStop ends no run of {profiles} in the middle for {limits}: what a run uses is not told before its end"
            ),
        }
    }
}

impl Unseen {
    /// What to do about it.
    pub const fn advice(&self) -> &'static str {
        match self.why {
            Why::Untold => {
                "no budget holds these agents back; what does: completion.maxIterations, agents.timeoutMinutes"
            }
            Why::Unpriced | Why::UnpricedMeanwhile => {
                "add what its model costs to .swarm/config.json, in dollars for a million tokens: \
                 \"pricing\": {\"MODEL\": {\"input\": N, \"cached\": N, \"cacheWritten\": N, \"output\": N}}"
            }
            Why::UntoldMeanwhile => {
                "a run there may cost more than the budget, which is looked at after it; what can be ended in the middle is claude, with \
                 `pricing`, and opencode, and acp where its agent tells what it costs"
            }
        }
    }
}

/// Those of these profiles, the ones with the same reason together.
pub fn unseen<'a>(config: &Config, names: impl IntoIterator<Item = &'a str>) -> Vec<Unseen> {
    let Some(limits) = settings::budget(&config.budget).limits_in_dollars() else {
        return vec![];
    };
    let mut found: Vec<(Why, Vec<String>)> = vec![];
    for name in names {
        let profile = config.agents.profiles.get(name);
        let Some(why) = profile.and_then(|profile| why(profile.adapter, config)) else {
            continue;
        };
        let name = format!("`{name}`");
        match found.iter_mut().find(|(known, _)| *known == why) {
            Some((_, names)) => names.push(name),
            None => found.push((why, vec![name])),
        }
    }
    let said = found.into_iter().map(|(why, names)| Unseen {
        profiles: names.join(", "),
        limits: limits.clone(),
        why,
    });
    said.collect()
}

fn why(kind: AdapterKind, config: &Config) -> Option<Why> {
    // The scripted agent costs nothing.
    if kind == AdapterKind::Demo {
        return None;
    }
    let adapter = agents::adapter(kind);
    let (hard, no_price) = (config.budget.hard_stop, config.pricing.is_empty());
    match (adapter.meanwhile(), adapter.at_end()) {
        (_, Told::Nothing) => Some(Why::Untold),
        (_, Told::Tokens) if no_price => Some(Why::Unpriced),
        (Told::Nothing, _) if hard => Some(Why::UntoldMeanwhile),
        (Told::Tokens, _) if hard && no_price => Some(Why::UnpricedMeanwhile),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// What is said of all adapters under this budget.
    fn said(budget: &Value, pricing: &Value) -> String {
        let adapters = [
            "claude", "codex", "gemini", "opencode", "acp", "command", "demo",
        ];
        let profile = |name: &&str| ((*name).to_owned(), json!({"adapter": name}));
        let profiles: serde_json::Map<String, Value> = adapters.iter().map(profile).collect();
        let config =
            json!({"agents": {"profiles": profiles}, "budget": budget, "pricing": pricing});
        let config: Config = serde_json::from_value(config).unwrap();
        let said = unseen(&config, adapters);
        let lines: Vec<String> = said.iter().map(Unseen::to_string).collect();
        lines.join("\n")
    }

    #[test]
    fn what_is_not_told_counts_in_no_budget() {
        let budget = json!({"usdPerIdea": 5.0, "usdPerDay": 50.0});
        insta::assert_snapshot!(said(&budget, &json!({})), @r"
        no run of `codex`, `gemini` counts in budget.usdPerIdea and budget.usdPerDay: it tells tokens only, their dollars are known from `pricing` alone, and that is empty
        no run of `command` counts in budget.usdPerIdea and budget.usdPerDay: it does not tell what it uses
        ");
        let pricing = json!({"m": {"input": 1.0, "output": 1.0}});
        insta::assert_snapshot!(said(&budget, &pricing), @r"
        no run of `command` counts in budget.usdPerIdea and budget.usdPerDay: it does not tell what it uses
        ");
    }

    #[test]
    fn what_is_not_told_within_a_run_ends_none() {
        let budget = json!({"usdPerIdea": 5.0, "hardStop": true});
        insta::assert_snapshot!(said(&budget, &json!({})), @r"
        budget.hardStop ends no run of `claude` in the middle for budget.usdPerIdea: before its end a run tells tokens only, their dollars are known from `pricing` alone, and that is empty
        no run of `codex`, `gemini` counts in budget.usdPerIdea: it tells tokens only, their dollars are known from `pricing` alone, and that is empty
        no run of `command` counts in budget.usdPerIdea: it does not tell what it uses
        ");
        let pricing = json!({"m": {"input": 1.0, "output": 1.0}});
        insta::assert_snapshot!(said(&budget, &pricing), @r"
        budget.hardStop ends no run of `codex`, `gemini` in the middle for budget.usdPerIdea: what a run uses is not told before its end
        no run of `command` counts in budget.usdPerIdea: it does not tell what it uses
        ");
    }

    #[test]
    fn without_a_budget_in_dollars_there_is_nothing_to_say() {
        for budget in [
            json!({}),
            json!({"hardStop": true}),
            json!({"tokensPerIdea": 1000, "hardStop": true}),
        ] {
            assert_eq!(said(&budget, &json!({})), "", "{budget}");
        }
    }
}
