//! Budgets that have no effect, because an agent's program does not report its usage or cost, or
//! only when a run ends. Called by `swarm doctor` and at a start.
//!
//! Invariant: only what follows from the configuration alone is reported. A model without a price
//! is noticed when it is used, by `decide::budget::unpriced`.

use crate::agents::{self, AdapterKind, adapter::UsageReporting};
use crate::config::Config;
use crate::daemon::files::settings;

/// A budget that has no effect on a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UncountedProfile {
    /// Which runs are not counted in which budget, and why.
    pub what: String,
    /// What to do about it.
    pub advice: &'static str,
}

/// How much of a program's usage a budget can count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coverage {
    All,
    /// The program reports tokens only, and no price is configured.
    NoPrice,
    Nothing,
}

impl Coverage {
    fn of_dollars(reported: UsageReporting, config: &Config) -> Self {
        match reported {
            UsageReporting::Nothing => Self::Nothing,
            UsageReporting::Tokens if config.pricing.is_empty() => Self::NoPrice,
            UsageReporting::Tokens | UsageReporting::Cost | UsageReporting::Both => Self::All,
        }
    }

    fn of_tokens(reported: UsageReporting) -> Self {
        match reported {
            UsageReporting::Nothing | UsageReporting::Cost => Self::Nothing,
            UsageReporting::Tokens | UsageReporting::Both => Self::All,
        }
    }
}

/// The budgets that do not count the runs of these profiles.
pub fn uncounted<'a>(
    config: &Config,
    names: impl IntoIterator<Item = &'a str>,
) -> Vec<UncountedProfile> {
    let budget = settings::budget(&config.budget);
    let mut found = Vec::new();
    for name in names {
        let profile = config.agents.profiles.get(name);
        // The scripted agent costs nothing.
        let kind = profile.map(|profile| profile.adapter);
        let Some(kind) = kind.filter(|kind| *kind != AdapterKind::Demo) else {
            continue;
        };
        let adapter = agents::adapter(kind);
        let (during_run, at_end) = (adapter.meanwhile(), adapter.at_end());
        let dollars = |reported| Coverage::of_dollars(reported, config);
        let of_dollars = (
            budget.limits_in_dollars(),
            dollars(during_run),
            dollars(at_end),
        );
        let tokens = Coverage::of_tokens;
        let of_tokens = (
            budget.limits_in_tokens(),
            tokens(during_run),
            tokens(at_end),
        );
        for (limits, during_run, at_end) in [of_dollars, of_tokens] {
            if limits.is_empty() {
                continue;
            }
            let limits = limits.join(" and ");
            let hard_stop = config.budget.hard_stop;
            found.extend(never_counted(name, &limits, at_end).or_else(|| {
                let late = || counted_late(name, &limits, during_run);
                hard_stop.then(late).flatten()
            }));
        }
    }
    found
}

const PRICING: &str = "add the price of its model to .swarm/config.json, in dollars per million \
    tokens: \"pricing\": {\"MODEL\": {\"input\": N, \"cached\": N, \"cacheWritten\": N, \
    \"output\": N}}";

fn never_counted(name: &str, limits: &str, at_end: Coverage) -> Option<UncountedProfile> {
    let (why, advice) = match at_end {
        Coverage::All => return None,
        Coverage::NoPrice => ("it reports tokens only, and `pricing` is empty", PRICING),
        Coverage::Nothing => (
            "it does not report its usage",
            "limit these agents with completion.maxIterations and agents.timeoutMinutes instead",
        ),
    };
    Some(UncountedProfile {
        what: format!("runs of `{name}` do not count towards {limits}: {why}"),
        advice,
    })
}

fn counted_late(name: &str, limits: &str, during_run: Coverage) -> Option<UncountedProfile> {
    let (why, advice) = match during_run {
        Coverage::All => return None,
        Coverage::NoPrice => (
            "during a run it reports tokens only, and `pricing` is empty",
            PRICING,
        ),
        Coverage::Nothing => (
            "it reports its usage only when the run ends",
            "a run may exceed the budget, which is checked when the run ends; only these can be \
            stopped in the middle of a run: by tokens, claude and opencode; by dollars, claude \
            with `pricing`, opencode, and acp if its agent reports the cost",
        ),
    };
    Some(UncountedProfile {
        what: format!(
            "budget.hardStop cannot stop a run of `{name}` in the middle for {limits}: {why}"
        ),
        advice,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// The reports about all adapters under this budget.
    fn reports(budget: &Value, pricing: &Value) -> String {
        let adapters = [
            "claude", "codex", "gemini", "opencode", "acp", "command", "demo",
        ];
        let profile = |name: &&str| ((*name).to_owned(), json!({"adapter": name}));
        let profiles: serde_json::Map<String, Value> = adapters.iter().map(profile).collect();
        let config =
            json!({"agents": {"profiles": profiles}, "budget": budget, "pricing": pricing});
        let config: Config = serde_json::from_value(config).unwrap();
        let found = uncounted(&config, adapters);
        let lines: Vec<String> = found.into_iter().map(|one| one.what).collect();
        lines.join("\n")
    }

    #[test]
    fn unreported_usage_counts_towards_no_budget() {
        let budget = json!({"usdPerIdea": 5.0, "usdPerDay": 50.0});
        insta::assert_snapshot!(reports(&budget, &json!({})), @r"
        runs of `codex` do not count towards budget.usdPerIdea and budget.usdPerDay: it reports tokens only, and `pricing` is empty
        runs of `gemini` do not count towards budget.usdPerIdea and budget.usdPerDay: it reports tokens only, and `pricing` is empty
        runs of `command` do not count towards budget.usdPerIdea and budget.usdPerDay: it does not report its usage
        ");
        let pricing = json!({"m": {"input": 1.0, "output": 1.0}});
        insta::assert_snapshot!(reports(&budget, &pricing), @r"
        runs of `command` do not count towards budget.usdPerIdea and budget.usdPerDay: it does not report its usage
        ");
    }

    #[test]
    fn usage_reported_at_the_end_stops_no_run() {
        let budget = json!({"usdPerIdea": 5.0, "hardStop": true});
        insta::assert_snapshot!(reports(&budget, &json!({})), @r"
        budget.hardStop cannot stop a run of `claude` in the middle for budget.usdPerIdea: during a run it reports tokens only, and `pricing` is empty
        runs of `codex` do not count towards budget.usdPerIdea: it reports tokens only, and `pricing` is empty
        runs of `gemini` do not count towards budget.usdPerIdea: it reports tokens only, and `pricing` is empty
        runs of `command` do not count towards budget.usdPerIdea: it does not report its usage
        ");
        let pricing = json!({"m": {"input": 1.0, "output": 1.0}});
        insta::assert_snapshot!(reports(&budget, &pricing), @r"
        budget.hardStop cannot stop a run of `codex` in the middle for budget.usdPerIdea: it reports its usage only when the run ends
        budget.hardStop cannot stop a run of `gemini` in the middle for budget.usdPerIdea: it reports its usage only when the run ends
        runs of `command` do not count towards budget.usdPerIdea: it does not report its usage
        ");
    }

    #[test]
    fn without_a_budget_nothing_is_reported() {
        for budget in [json!({}), json!({"hardStop": true})] {
            assert_eq!(reports(&budget, &json!({})), "", "{budget}");
        }
    }

    #[test]
    fn unreported_tokens_count_towards_no_budget() {
        let budget = json!({"tokensPerIdea": 1000, "tokensPerDay": 5000});
        insta::assert_snapshot!(reports(&budget, &json!({})),
            @"runs of `command` do not count towards \
            budget.tokensPerIdea and budget.tokensPerDay: it does not report its usage");
        let budget = json!({"tokensPerIdea": 1000, "hardStop": true});
        insta::assert_snapshot!(reports(&budget, &json!({})), @r"
        budget.hardStop cannot stop a run of `codex` in the middle for budget.tokensPerIdea: it reports its usage only when the run ends
        budget.hardStop cannot stop a run of `gemini` in the middle for budget.tokensPerIdea: it reports its usage only when the run ends
        budget.hardStop cannot stop a run of `acp` in the middle for budget.tokensPerIdea: it reports its usage only when the run ends
        runs of `command` do not count towards budget.tokensPerIdea: it does not report its usage
        ");
    }
}
