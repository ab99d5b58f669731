//! What was used and what is waited for at a service, as people and programs see it.

use serde::Serialize;
use utoipa::ToSchema;

use super::{NeedsYou, schema};
use crate::domain::state::provider::{Hold, HoldKind};
use crate::domain::state::{Attempt, State};
use crate::domain::time::Timestamp;
use crate::domain::usage::{Spent, Tokens};

/// What several runs used.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Used)]
pub struct UsedView {
    /// Tokens; the kinds do not overlap.
    pub tokens: TokensView,
    /// Cost in US dollars, as the programs told it.
    pub usd: f64,
    /// Cost in US dollars, estimated by the configured prices, of runs whose programs told none.
    pub estimated_usd: f64,
    /// Runs.
    pub runs: u64,
    /// Runs of which no cost is known.
    pub runs_without_cost: u64,
    /// Runs of which tokens are not known, or not all.
    pub runs_not_counted: u64,
}

/// Numbers of tokens.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Tokens)]
pub struct TokensView {
    /// Read, neither from the cache nor into it.
    pub input: u64,
    /// Read from the cache.
    pub cached: u64,
    /// Read and put into the cache.
    pub cache_written: u64,
    /// Written.
    pub output: u64,
}

/// What was used on one day.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = UsedOnDay)]
pub struct DayView {
    /// The day (UTC): the last one on which anything happened.
    pub day: String,
    /// What was used on it.
    #[serde(flatten)]
    pub used: UsedView,
}

/// An account that must wait.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Account)]
pub struct AccountView {
    /// The account's name.
    pub account: String,
    /// What was met: `limit`, `overloaded`, `login`.
    #[schema(value_type = String)]
    pub held: &'static str,
    /// When it is tried again; null: when a person says so.
    #[schema(required = true, value_type = Option<String>)]
    pub until: Option<Timestamp>,
    /// When it was met first.
    #[schema(schema_with = schema::time, required)]
    pub since: Timestamp,
    /// How often in a row.
    pub times: u32,
    /// What the service said.
    pub message: String,
}

/// A sum, as it is shown.
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

/// The same, where anything was used.
pub(super) fn any_used(spent: &Spent) -> Option<UsedView> {
    (!spent.is_nothing()).then(|| used(spent))
}

/// What an attempt used, its present iteration included as far as that is known.
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

/// Accounts that must wait.
pub fn accounts(state: &State) -> Vec<AccountView> {
    let view = |(account, hold): (&String, &Hold)| AccountView {
        account: account.clone(),
        held: hold.kind.as_str(),
        until: hold.until,
        since: hold.since,
        times: hold.times,
        message: hold.message.clone(),
    };
    state.accounts.iter().map(view).collect()
}

/// Accounts that wait for a person.
pub(super) fn accounts_need_you(state: &State) -> impl Iterator<Item = NeedsYou> {
    let waiting = state
        .accounts
        .iter()
        .filter(|(_, hold)| hold.until.is_none());
    waiting.map(|(account, hold)| {
        let what = match hold.kind {
            HoldKind::Login => "is not logged in, or its login is refused",
            HoldKind::Limit => "has reached its limit",
            HoldKind::Overloaded => "is not served",
        };
        NeedsYou {
            kind: "account",
            idea_id: None,
            message: format!("account {account} {what}: {}", hold.message),
            commands: vec!["swarm resume".into()],
        }
    })
}
