//! Usage, and accounts on hold.

use serde::Serialize;
use utoipa::ToSchema;

use super::schema;
use crate::domain::state::provider::Hold;
use crate::domain::state::{Attempt, State};
use crate::domain::time::Timestamp;
use crate::domain::usage::{Spent, Tokens};

/// What several runs used.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Used)]
pub struct UsedView {
    /// Token counts; the kinds do not overlap.
    pub tokens: TokensView,
    /// Cost in US dollars, as the agents' programs reported it.
    pub usd: f64,
    /// Cost in US dollars of the other runs, estimated from the configured prices.
    pub estimated_usd: f64,
    /// Number of runs.
    pub runs: u64,
    /// Number of runs whose cost is unknown.
    pub runs_without_cost: u64,
    /// Number of runs whose token counts are missing or incomplete.
    pub runs_not_counted: u64,
}

/// Token counts.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Tokens)]
pub struct TokensView {
    /// Input tokens, without those read from or written to the cache.
    pub input: u64,
    /// Input tokens read from the cache.
    pub cached: u64,
    /// Input tokens written to the cache.
    pub cache_written: u64,
    /// Output tokens.
    pub output: u64,
}

/// Usage on one day.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = UsedOnDay)]
pub struct DayView {
    /// The last day (UTC) on which anything happened.
    pub day: String,
    /// What was used on that day.
    #[serde(flatten)]
    pub used: UsedView,
}

/// An account on hold.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Account)]
pub struct AccountView {
    /// The account's name; the profile's, if `held` is `profile`.
    pub account: String,
    /// Why: `limit`, `overloaded`, `login`, `credit`, or `profile`: its program cannot begin.
    #[schema(value_type = String)]
    pub held: &'static str,
    /// When swarm tries it again; null: when a person resumes it.
    #[schema(required = true, value_type = Option<String>)]
    pub until: Option<Timestamp>,
    /// When the hold began.
    #[schema(schema_with = schema::time, required)]
    pub since: Timestamp,
    /// How many times in a row it was put on hold.
    pub times: u32,
    /// The provider's message.
    pub message: String,
}

/// The view of a sum.
pub fn used(spent: &Spent) -> UsedView {
    let Tokens {
        input,
        cached,
        cache_written,
        output,
    } = spent.tokens;
    UsedView {
        tokens: TokensView {
            input,
            cached,
            cache_written,
            output,
        },
        usd: spent.cost.dollars(),
        estimated_usd: spent.estimated.dollars(),
        runs: spent.runs,
        runs_without_cost: spent.runs_without_cost,
        runs_not_counted: spent.runs_not_counted,
    }
}

/// The view of a sum; `None` if nothing was used.
pub(super) fn any_used(spent: &Spent) -> Option<UsedView> {
    (!spent.is_nothing()).then(|| used(spent))
}

/// What an attempt used, including its current iteration as far as known.
pub(super) fn by_attempt(attempt: &Attempt) -> Spent {
    let mut spent = attempt.used;
    if let Some(using) = attempt.using.as_deref() {
        spent.add(using);
    }
    spent
}

pub(super) fn today(state: &State) -> Option<DayView> {
    let day = state.swarm.last_event_at.day();
    let used = any_used(state.used.get(&day)?)?;
    Some(DayView { day, used })
}

/// The accounts and profiles on hold.
pub fn accounts(state: &State) -> Vec<AccountView> {
    let view = |(name, hold): (&str, &Hold)| AccountView {
        account: name.to_owned(),
        held: hold.kind.as_str(),
        until: hold.until,
        since: hold.since,
        times: hold.times,
        message: hold.message.clone(),
    };
    let accounts = state
        .accounts
        .iter()
        .map(|(name, hold)| (name.as_str(), hold));
    let profiles = state
        .profiles
        .iter()
        .map(|(name, hold)| (name.as_str(), hold));
    accounts.chain(profiles).map(view).collect()
}
