//! Budgets that cannot hold: agents of which nobody knows what they use or cost, at all or in the middle of a run.
//!
//! Invariant: only what is certain from the configuration is told, and only of limits that it has. That a model has no price among others is
//! seen when it is used.

use std::fmt;

use crate::agents::{self, AdapterKind, adapter::Told};
use crate::config::Config;
use crate::daemon::files::settings;

/// Limits of a budget, as the configuration calls them.
type Limits = Vec<&'static str>;

/// Profiles for which a budget does not hold.
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
                "budget.hardStop ends no run of {profiles} in the middle for {limits}: what counts there is not told before a run's end"
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
                "a run there may use more than the budget, which is looked at after it; what can be ended in the middle: for tokens claude \
                 and opencode; for dollars claude with `pricing`, opencode, and acp where its agent tells what it costs"
            }
        }
    }
}

/// Those of these profiles, the ones with the same reason together.
pub fn unseen<'a>(config: &Config, names: impl IntoIterator<Item = &'a str>) -> Vec<Unseen> {
    let mut found: Vec<(Why, Limits, Vec<String>)> = vec![];
    for name in names {
        let profile = config.agents.profiles.get(name);
        let reasons = profile.map(|profile| reasons(profile.adapter, config));
        let name = format!("`{name}`");
        for (why, limits) in reasons.unwrap_or_default() {
            let same = |(known, of, _): &&mut (_, _, _)| (*known, of) == (why, &limits);
            match found.iter_mut().find(same) {
                Some((.., names)) => names.push(name.clone()),
                None => found.push((why, limits, vec![name.clone()])),
            }
        }
    }
    let said = found.into_iter().map(|(why, limits, names)| Unseen {
        profiles: names.join(", "),
        limits: limits.join(" and "),
        why,
    });
    said.collect()
}

/// Limits that do not hold, by the reason.
fn reasons(kind: AdapterKind, config: &Config) -> Vec<(Why, Limits)> {
    // The scripted agent uses nothing.
    if kind == AdapterKind::Demo {
        return vec![];
    }
    let adapter = agents::adapter(kind);
    let told = (adapter.meanwhile(), adapter.at_end());
    let budget = settings::budget(&config.budget);
    let dollars = of_dollars(told, config).map(|why| (why, budget.limits_in_dollars()));
    let tokens = of_tokens(told, config).map(|why| (why, budget.limits_in_tokens()));
    match (dollars, tokens) {
        (Some((why, mut limits)), Some((same, more))) if why == same => {
            limits.extend(more);
            vec![(why, limits)]
        }
        (dollars, tokens) => dollars.into_iter().chain(tokens).collect(),
    }
    .into_iter()
    .filter(|(_, limits)| !limits.is_empty())
    .collect()
}

fn of_dollars(told: (Told, Told), config: &Config) -> Option<Why> {
    let (hard, no_price) = (config.budget.hard_stop, config.pricing.is_empty());
    match told {
        (_, Told::Nothing) => Some(Why::Untold),
        (_, Told::Tokens) if no_price => Some(Why::Unpriced),
        (Told::Nothing, _) if hard => Some(Why::UntoldMeanwhile),
        (Told::Tokens, _) if hard && no_price => Some(Why::UnpricedMeanwhile),
        _ => None,
    }
}

fn of_tokens(told: (Told, Told), config: &Config) -> Option<Why> {
    match told {
        (_, Told::Nothing | Told::Cost) => Some(Why::Untold),
        (Told::Nothing | Told::Cost, _) if config.budget.hard_stop => Some(Why::UntoldMeanwhile),
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
        budget.hardStop ends no run of `codex`, `gemini` in the middle for budget.usdPerIdea: what counts there is not told before a run's end
        no run of `command` counts in budget.usdPerIdea: it does not tell what it uses
        ");
    }

    #[test]
    fn without_a_budget_there_is_nothing_to_say() {
        for budget in [json!({}), json!({"hardStop": true})] {
            assert_eq!(said(&budget, &json!({})), "", "{budget}");
        }
    }

    #[test]
    fn what_counts_in_no_budget_in_tokens_is_told() {
        let budget = json!({"tokensPerIdea": 1000, "tokensPerDay": 5000});
        insta::assert_snapshot!(said(&budget, &json!({})), @"no run of `command` counts in budget.tokensPerIdea and budget.tokensPerDay: it does not tell what it uses");
        let budget = json!({"tokensPerIdea": 1000, "hardStop": true});
        insta::assert_snapshot!(said(&budget, &json!({})), @r"
        budget.hardStop ends no run of `codex`, `gemini`, `acp` in the middle for budget.tokensPerIdea: what counts there is not told before a run's end
        no run of `command` counts in budget.tokensPerIdea: it does not tell what it uses
        ");
    }

    #[test]
    fn limits_with_one_reason_are_told_in_one_line() {
        let budget = json!({"usdPerDay": 5.0, "tokensPerIdea": 1000, "hardStop": true});
        insta::assert_snapshot!(said(&budget, &json!({})), @r"
        budget.hardStop ends no run of `claude` in the middle for budget.usdPerDay: before its end a run tells tokens only, their dollars are known from `pricing` alone, and that is empty
        no run of `codex`, `gemini` counts in budget.usdPerDay: it tells tokens only, their dollars are known from `pricing` alone, and that is empty
        budget.hardStop ends no run of `codex`, `gemini`, `acp` in the middle for budget.tokensPerIdea: what counts there is not told before a run's end
        no run of `command` counts in budget.usdPerDay and budget.tokensPerIdea: it does not tell what it uses
        ");
        let pricing = json!({"m": {"input": 1.0, "output": 1.0}});
        insta::assert_snapshot!(said(&budget, &pricing), @r"
        budget.hardStop ends no run of `codex`, `gemini` in the middle for budget.usdPerDay and budget.tokensPerIdea: what counts there is not told before a run's end
        budget.hardStop ends no run of `acp` in the middle for budget.tokensPerIdea: what counts there is not told before a run's end
        no run of `command` counts in budget.usdPerDay and budget.tokensPerIdea: it does not tell what it uses
        ");
    }
}
