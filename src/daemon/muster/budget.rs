//! A hard stop that cannot hold: agents of which nobody knows in the middle of a run what it has cost.
//!
//! Invariant: only what is certain from the configuration is told, and only where `budget.hardStop` is to hold for dollars. That a model has
//! no price among others is seen when it is used.

use std::fmt;

use crate::agents::{self, AdapterKind, adapter::Meanwhile};
use crate::config::Config;

/// Profiles whose runs are not ended in the middle for a budget in dollars.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unseen {
    profiles: String,
    limits: String,
    tells: Meanwhile,
}

impl fmt::Display for Unseen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            profiles, limits, ..
        } = self;
        let why = match self.tells {
            Meanwhile::Tokens => {
                "before its end a run tells tokens only, their dollars are known from `pricing` alone, and that is empty"
            }
            _ => "what a run uses is not told before its end",
        };
        write!(
            f,
            "budget.hardStop ends no run of {profiles} in the middle for {limits}: {why}"
        )
    }
}

impl Unseen {
    /// What to do about it.
    pub const fn advice(&self) -> &'static str {
        match self.tells {
            Meanwhile::Tokens => {
                "add what its model costs to .swarm/config.json, in dollars for a million tokens: \
                 \"pricing\": {\"MODEL\": {\"input\": N, \"cached\": N, \"cacheWritten\": N, \"output\": N}}"
            }
            _ => {
                "a run there may cost more than the budget, which is looked at after it (of codex and gemini by `pricing` alone, of command never); \
                 what can be ended in the middle is claude, with `pricing`, and opencode, and acp where its agent tells what it costs"
            }
        }
    }
}

/// Those of these profiles, the ones with the same reason together.
pub fn unseen<'a>(config: &Config, names: impl IntoIterator<Item = &'a str>) -> Vec<Unseen> {
    let budget = &config.budget;
    let of_idea = budget.usd_per_idea.map(|_| "budget.usdPerIdea");
    let of_day = budget.usd_per_day.map(|_| "budget.usdPerDay");
    let limits: Vec<&str> = of_idea.into_iter().chain(of_day).collect();
    if !budget.hard_stop || limits.is_empty() {
        return vec![];
    }
    let (mut tokens, mut nothing) = (vec![], vec![]);
    for name in names {
        let Some(profile) = config.agents.profiles.get(name) else {
            continue;
        };
        // The scripted agent costs nothing.
        if profile.adapter == AdapterKind::Demo {
            continue;
        }
        match agents::adapter(profile.adapter).meanwhile() {
            Meanwhile::Tokens if config.pricing.is_empty() => tokens.push(format!("`{name}`")),
            Meanwhile::Tokens | Meanwhile::Dollars => {}
            Meanwhile::Nothing => nothing.push(format!("`{name}`")),
        }
    }
    let kinds = [(Meanwhile::Tokens, tokens), (Meanwhile::Nothing, nothing)];
    let some = kinds.into_iter().filter(|(_, names)| !names.is_empty());
    some.map(|(tells, names)| Unseen {
        profiles: names.join(", "),
        limits: limits.join(" and "),
        tells,
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// What is said of these profiles under this budget.
    fn said(adapters: &[&str], budget: &Value, pricing: &Value) -> Vec<String> {
        let profile = |name: &&str| ((*name).to_owned(), json!({"adapter": name}));
        let profiles: serde_json::Map<String, Value> = adapters.iter().map(profile).collect();
        let config =
            json!({"agents": {"profiles": profiles}, "budget": budget, "pricing": pricing});
        let config: Config = serde_json::from_value(config).unwrap();
        let said = unseen(&config, adapters.iter().copied());
        said.iter().map(Unseen::to_string).collect()
    }

    const ALL: [&str; 7] = [
        "claude", "codex", "gemini", "opencode", "acp", "command", "demo",
    ];

    #[test]
    fn what_is_not_told_within_a_run_ends_none() {
        let budget = json!({"usdPerIdea": 5.0, "usdPerDay": 50.0, "hardStop": true});
        insta::assert_snapshot!(said(&ALL, &budget, &json!({})).join("\n"), @r"
        budget.hardStop ends no run of `claude` in the middle for budget.usdPerIdea and budget.usdPerDay: before its end a run tells tokens only, their dollars are known from `pricing` alone, and that is empty
        budget.hardStop ends no run of `codex`, `gemini`, `command` in the middle for budget.usdPerIdea and budget.usdPerDay: what a run uses is not told before its end
        ");
        let pricing = json!({"m": {"input": 1.0, "output": 1.0}});
        assert_eq!(said(&["claude", "opencode"], &budget, &pricing), [""; 0]);
        let rest = said(&ALL, &budget, &pricing);
        assert!(rest.len() == 1 && rest[0].contains("`codex`"), "{rest:?}");
    }

    #[test]
    fn without_dollars_or_a_hard_stop_there_is_nothing_to_say() {
        for budget in [
            json!({}),
            json!({"hardStop": true}),
            json!({"tokensPerIdea": 1000, "hardStop": true}),
            json!({"usdPerIdea": 5.0, "usdPerDay": 50.0}),
        ] {
            assert_eq!(said(&ALL, &budget, &json!({})), [""; 0], "{budget}");
        }
    }
}
