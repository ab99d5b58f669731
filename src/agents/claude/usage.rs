//! Adds up the usage of a Claude Code run from its stream.
//!
//! Invariant: each answer counts once, however often the stream shows it. A `result` replaces the
//! sum of its turn. Memory is bounded.

use std::collections::BTreeMap;

use crate::agents::stream::json::{self, Object};
use crate::agents::text;
use crate::domain::usage::{MicroUsd, Scope, Tokens, Usage};

/// Sub-agents that answer at the same time, at most; those beyond are taken to have finished their
/// answer.
const SPEAKERS: usize = 64;
/// Longest name to keep, in bytes.
const NAME: usize = 128;

/// Adds up.
#[derive(Debug, Default)]
pub(super) struct Meter {
    /// What `result`s told.
    told: Option<ToldUsage>,
    /// Finished answers that no `result` has told of.
    loose: Tokens,
    /// The answer that each speaker is giving, with what it has used so far; the agent itself is
    /// the empty name.
    open: BTreeMap<String, (String, Tokens)>,
    model: Option<String>,
}

#[derive(Debug, Default, Clone, Copy)]
struct ToldUsage {
    tokens: Tokens,
    cost: Option<MicroUsd>,
    cost_of: Scope,
}

impl Meter {
    /// An answer of the model is shown, or more of it; gives whether it is a new one.
    pub(super) fn shown(&mut self, speaker: &str, message: &Object) -> bool {
        let id = text::head(json::text(message, "id").unwrap_or_default(), NAME);
        let used = json::object(message, "usage").map_or_else(Tokens::default, tokens);
        if speaker.is_empty() {
            let model =
                json::text(message, "model").map(|model| text::head(model, NAME).to_owned());
            self.model = model.or_else(|| self.model.take());
        }
        match self.open.get_mut(speaker) {
            Some((open, tokens)) if open == id => {
                *tokens = most(*tokens, used);
                false
            }
            _ => {
                self.close(speaker);
                if self.open.len() >= SPEAKERS {
                    self.close_all();
                }
                let speaker = text::head(speaker, NAME).to_owned();
                self.open.insert(speaker, (id.to_owned(), used));
                true
            }
        }
    }

    /// More is known about the answer that this speaker is giving.
    pub(super) fn counted(&mut self, speaker: &str, usage: &Object) {
        if let Some((_, open)) = self.open.get_mut(text::head(speaker, NAME)) {
            *open = most(*open, tokens(usage));
        }
    }

    /// The `result` of a turn.
    pub(super) fn told(&mut self, result: &Object) {
        self.open.clear();
        self.loose = Tokens::default();
        let before = self.told.unwrap_or_default();
        self.told = Some(
            match json::object(result, "model_usage_since_last_result") {
                Some(models) => self.of_models(before, models),
                None => of_older(before, result),
            },
        );
    }

    /// The sums by model: sub-agents included, which `usage` leaves out.
    fn of_models(&mut self, before: ToldUsage, models: &Object) -> ToldUsage {
        let mut turn = ToldUsage {
            cost: Some(MicroUsd(0)),
            ..ToldUsage::default()
        };
        let mut most = 0;
        for (name, model) in models {
            let Some(model) = model.as_object() else {
                continue;
            };
            let number = |name| json::number(model, name).unwrap_or(0);
            let used = Tokens {
                input: number("inputTokens"),
                cached: number("cacheReadInputTokens"),
                cache_written: number("cacheCreationInputTokens"),
                output: number("outputTokens"),
            };
            turn.tokens = turn.tokens.plus(used);
            let cost = json::decimal(model, "costUSD").and_then(MicroUsd::from_dollars);
            turn.cost = turn.cost.zip(cost).map(|(sum, cost)| sum.plus(cost));
            if used.total() > most {
                most = used.total();
                self.model = Some(text::head(name, NAME).to_owned());
            }
        }
        let sum = before.cost.unwrap_or_default();
        ToldUsage {
            tokens: before.tokens.plus(turn.tokens),
            cost: turn.cost.map(|cost| sum.plus(cost)),
            cost_of: Scope::Run,
        }
    }

    /// What is known so far; `whole` once the run has said its last word.
    pub(super) fn usage(&self, whole: bool) -> Option<Usage> {
        if self.told.is_none() && self.open.is_empty() && self.loose == Tokens::default() {
            return None;
        }
        let told = self.told.unwrap_or_default();
        let open = self.open.values().map(|(_, tokens)| *tokens);
        let tokens = open.fold(told.tokens.plus(self.loose), Tokens::plus);
        Some(Usage {
            tokens: Some(tokens),
            tokens_of: Scope::Run,
            cost: told.cost,
            cost_of: told.cost_of,
            model: self.model.clone(),
            partial: !whole,
        })
    }

    fn close(&mut self, speaker: &str) {
        if let Some((_, tokens)) = self.open.remove(text::head(speaker, NAME)) {
            self.loose = self.loose.plus(tokens);
        }
    }

    fn close_all(&mut self) {
        for (_, tokens) in std::mem::take(&mut self.open).into_values() {
            self.loose = self.loose.plus(tokens);
        }
    }
}

/// A version that does not tell each turn's own part: its `usage` is the turn's, its cost the
/// conversation's.
fn of_older(before: ToldUsage, result: &Object) -> ToldUsage {
    let used = json::object(result, "usage").map_or_else(Tokens::default, tokens);
    let cost = json::decimal(result, "total_cost_usd").and_then(MicroUsd::from_dollars);
    ToldUsage {
        tokens: before.tokens.plus(used),
        cost,
        cost_of: Scope::Session,
    }
}

/// A `usage` of the service: its kinds do not overlap.
fn tokens(usage: &Object) -> Tokens {
    let number = |name| json::number(usage, name).unwrap_or(0);
    Tokens {
        input: number("input_tokens"),
        cached: number("cache_read_input_tokens"),
        cache_written: number("cache_creation_input_tokens"),
        output: number("output_tokens"),
    }
}

/// Of two counts of one answer what is known: counts only grow, and a later one may leave some out.
fn most(one: Tokens, other: Tokens) -> Tokens {
    Tokens {
        input: one.input.max(other.input),
        cached: one.cached.max(other.cached),
        cache_written: one.cache_written.max(other.cache_written),
        output: one.output.max(other.output),
    }
}
