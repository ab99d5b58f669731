//! Describes events about accounts, conversations and usage.

use super::point;
use crate::domain::event::{IterationExcused, ProviderAwaited};
use crate::domain::state::provider::{Excuse, Hold, HoldKind};
use crate::domain::usage::{Bill, Spent, Tokens};

/// An iteration that does not count, and why.
pub(super) fn excused(excused: &IterationExcused) -> String {
    let why = excuse(excused.excuse);
    format!(
        "{}: this iteration does not count, because {why}",
        excused.agent
    )
}

/// A program's wait for its provider, or its end.
pub(super) fn provider_awaited(awaited: &ProviderAwaited) -> String {
    let agent = &awaited.agent;
    match &awaited.why {
        Some(why) => format!("{agent} waits for its provider: {why}"),
        None => format!("{agent}'s provider answers again"),
    }
}

/// Describes why an account is on hold, and for how long.
pub(super) fn hold(hold: &Hold) -> String {
    let what = match hold.kind {
        HoldKind::Limit => "has reached its limit",
        HoldKind::Overloaded => "gets no answer from its provider",
        HoldKind::Login => "is not logged in",
        HoldKind::Credit => "has no credit left or has reached its spending cap",
        HoldKind::Profile => "cannot begin",
    };
    let next = match hold.until {
        Some(until) => format!("swarm tries again {}", point::until(until, hold.since)),
        None => "swarm waits for you: swarm resume".to_owned(),
    };
    format!("{what} ({}); {next}", hold.message)
}

/// Why an iteration does not count.
pub(super) fn excuse(excuse: Excuse) -> &'static str {
    match excuse {
        Excuse::Account => "its account is on hold",
        Excuse::Profile => "its program cannot begin",
        Excuse::Cut => "it was interrupted",
        Excuse::Idle => "it was silent for too long",
        Excuse::Session => "its conversation could not be resumed",
        Excuse::Exhausted => "its conversation cannot go on",
    }
}

/// Token counts in short form: `1200 in, 800 cached, 100 out`.
pub fn tokens(tokens: &Tokens) -> String {
    let cached = match tokens.cached + tokens.cache_written {
        0 => String::new(),
        cached => format!(", {cached} cached"),
    };
    format!("{} in{cached}, {} out", tokens.input, tokens.output)
}

/// What a run used.
pub fn bill(bill: &Bill) -> String {
    let cost = match (bill.cost, bill.estimated) {
        (Some(cost), false) => cost.to_string(),
        (Some(cost), true) => format!("about {cost} (estimate)"),
        (None, _) => "cost unknown".to_owned(),
    };
    let tokens = bill
        .tokens
        .as_ref()
        .map_or_else(|| "tokens unknown".to_owned(), tokens);
    let at_least = if bill.partial { "at least " } else { "" };
    format!("{at_least}{tokens}, {cost}")
}

/// What several runs used, and what is unknown: `$1.20 + about $0.30 (estimate); tokens: 1200 in,
/// 100 out`.
pub fn spent(spent: &Spent) -> String {
    let mut parts = Vec::new();
    let known = spent.runs > spent.runs_without_cost;
    if spent.cost.0 > 0 || (known && spent.estimated.0 == 0) {
        parts.push(spent.cost.to_string());
    }
    if spent.estimated.0 > 0 {
        parts.push(format!("about {} (estimate)", spent.estimated));
    }
    let mut text = parts.join(" + ");
    if spent.runs_without_cost > 0 {
        let more = format!("cost of {} unknown", runs(spent.runs_without_cost));
        let and = if text.is_empty() { "" } else { ", " };
        text = format!("{text}{and}{more}");
    }
    let counted = match spent.runs_not_counted {
        0 => String::new(),
        some => format!(" (incomplete for {})", runs(some)),
    };
    format!("{text}; tokens: {}{counted}", tokens(&spent.tokens))
}

fn runs(count: u64) -> String {
    match count {
        1 => "1 run".to_owned(),
        many => format!("{many} runs"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::usage::MicroUsd;

    #[test]
    fn known_and_unknown_usage_are_both_described() {
        let counted = Tokens {
            input: 1_200,
            cached: 800,
            output: 100,
            ..Tokens::default()
        };
        let mut all = Spent::default();
        for bill in [
            Bill {
                tokens: Some(counted),
                cost: Some(MicroUsd(1_200_000)),
                ..Bill::default()
            },
            Bill {
                tokens: Some(counted),
                cost: Some(MicroUsd(300_000)),
                estimated: true,
                ..Bill::default()
            },
            Bill {
                partial: true,
                tokens: Some(counted),
                ..Bill::default()
            },
        ] {
            all.add(&bill);
        }
        assert_eq!(
            spent(&all),
            "$1.20 + about $0.30 (estimate), cost of 1 run unknown; tokens: 3600 in, 2400 cached, \
            300 out (incomplete for 1 run)"
        );
        assert_eq!(bill(&Bill::default()), "tokens unknown, cost unknown");
    }
}
