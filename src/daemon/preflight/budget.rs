//! Budgets that cannot hold, because an agent's program does not report what it uses or costs, or
//! only after a run.
//!
//! Invariant: only what is certain from the configuration is said. A model without a price among
//! others is noticed when it is used, by `decide::budget::unpriced`.

use crate::agents::{self, AdapterKind, adapter::UsageReporting};
use crate::config::Config;
use crate::daemon::files::settings;

/// A budget that does not hold for a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UncountedProfile {
    /// What does not count where, and why.
    pub what: String,
    /// What to do about it.
    pub advice: &'static str,
}

/// How much a budget sees of what a program reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sight {
    All,
    /// Tokens, and no price is configured.
    NoPrice,
    Nothing,
}

impl Sight {
    fn of_dollars(told: UsageReporting, config: &Config) -> Self {
        match told {
            UsageReporting::Nothing => Self::Nothing,
            UsageReporting::Tokens if config.pricing.is_empty() => Self::NoPrice,
            UsageReporting::Tokens | UsageReporting::Cost | UsageReporting::Both => Self::All,
        }
    }

    fn of_tokens(told: UsageReporting) -> Self {
        match told {
            UsageReporting::Nothing | UsageReporting::Cost => Self::Nothing,
            UsageReporting::Tokens | UsageReporting::Both => Self::All,
        }
    }
}

/// What the budgets do not see of the runs of these profiles.
pub fn unseen<'a>(
    config: &Config,
    names: impl IntoIterator<Item = &'a str>,
) -> Vec<UncountedProfile> {
    let budget = settings::budget(&config.budget);
    let mut found = Vec::new();
    for name in names {
        let profile = config.agents.profiles.get(name);
        // The scripted agent uses nothing.
        let kind = profile.map(|profile| profile.adapter);
        let Some(kind) = kind.filter(|kind| *kind != AdapterKind::Demo) else {
            continue;
        };
        let adapter = agents::adapter(kind);
        let (meanwhile, at_end) = (adapter.meanwhile(), adapter.at_end());
        let dollars = |told| Sight::of_dollars(told, config);
        let of_dollars = (
            budget.limits_in_dollars(),
            dollars(meanwhile),
            dollars(at_end),
        );
        let tokens = Sight::of_tokens;
        let of_tokens = (budget.limits_in_tokens(), tokens(meanwhile), tokens(at_end));
        for (limits, meanwhile, at_end) in [of_dollars, of_tokens] {
            if limits.is_empty() {
                continue;
            }
            let limits = limits.join(" and ");
            let hard = config.budget.hard_stop;
            found.extend(never(name, &limits, at_end).or_else(|| {
                let too_late = || too_late(name, &limits, meanwhile);
                hard.then(too_late).flatten()
            }));
        }
    }
    found
}

const PRICING: &str = "add what its model costs to .swarm/config.json, in dollars for a million \
    tokens: \"pricing\": {\"MODEL\": {\"input\": N, \"cached\": N, \"cacheWritten\": N, \
    \"output\": N}}";

fn never(name: &str, limits: &str, at_end: Sight) -> Option<UncountedProfile> {
    let (why, advice) = match at_end {
        Sight::All => return None,
        Sight::NoPrice => (
            "it tells tokens only, their dollars are known from `pricing` alone, and that is empty",
            PRICING,
        ),
        Sight::Nothing => (
            "it does not tell what it uses",
            "no budget holds these agents back; what does: completion.maxIterations, \
            agents.timeoutMinutes",
        ),
    };
    Some(UncountedProfile {
        what: format!("no run of `{name}` counts in {limits}: {why}"),
        advice,
    })
}

fn too_late(name: &str, limits: &str, meanwhile: Sight) -> Option<UncountedProfile> {
    let (why, advice) = match meanwhile {
        Sight::All => return None,
        Sight::NoPrice => (
            "before its end a run tells tokens only, their dollars are known from `pricing` alone, \
            and that is empty",
            PRICING,
        ),
        Sight::Nothing => (
            "what counts there is not told before a run's end",
            "a run there may use more than the budget, which is looked at after it; what can be \
            ended in the middle: for tokens claude and opencode; for dollars claude with \
            `pricing`, opencode, and acp where its agent tells what it costs",
        ),
    };
    Some(UncountedProfile {
        what: format!("budget.hardStop ends no run of `{name}` in the middle for {limits}: {why}"),
        advice,
    })
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
        let lines: Vec<String> = said.into_iter().map(|one| one.what).collect();
        lines.join("\n")
    }

    #[test]
    fn what_is_not_told_counts_in_no_budget() {
        let budget = json!({"usdPerIdea": 5.0, "usdPerDay": 50.0});
        insta::assert_snapshot!(said(&budget, &json!({})), @r"
        no run of `codex` counts in budget.usdPerIdea and budget.usdPerDay: it tells tokens only, their dollars are known from `pricing` alone, and that is empty
        no run of `gemini` counts in budget.usdPerIdea and budget.usdPerDay: it tells tokens only, their dollars are known from `pricing` alone, and that is empty
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
        no run of `codex` counts in budget.usdPerIdea: it tells tokens only, their dollars are known from `pricing` alone, and that is empty
        no run of `gemini` counts in budget.usdPerIdea: it tells tokens only, their dollars are known from `pricing` alone, and that is empty
        no run of `command` counts in budget.usdPerIdea: it does not tell what it uses
        ");
        let pricing = json!({"m": {"input": 1.0, "output": 1.0}});
        insta::assert_snapshot!(said(&budget, &pricing), @r"
        budget.hardStop ends no run of `codex` in the middle for budget.usdPerIdea: what counts there is not told before a run's end
        budget.hardStop ends no run of `gemini` in the middle for budget.usdPerIdea: what counts there is not told before a run's end
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
        insta::assert_snapshot!(said(&budget, &json!({})), @"no run of `command` counts in \
            budget.tokensPerIdea and budget.tokensPerDay: it does not tell what it uses");
        let budget = json!({"tokensPerIdea": 1000, "hardStop": true});
        insta::assert_snapshot!(said(&budget, &json!({})), @r"
        budget.hardStop ends no run of `codex` in the middle for budget.tokensPerIdea: what counts there is not told before a run's end
        budget.hardStop ends no run of `gemini` in the middle for budget.tokensPerIdea: what counts there is not told before a run's end
        budget.hardStop ends no run of `acp` in the middle for budget.tokensPerIdea: what counts there is not told before a run's end
        no run of `command` counts in budget.tokensPerIdea: it does not tell what it uses
        ");
    }
}
