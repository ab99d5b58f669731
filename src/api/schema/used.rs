//! What was used, and what happened, as the description of the API has them.

use utoipa::ToSchema;

use super::{Need, time};

/// What several runs used.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct Used {
    /// Tokens; the kinds do not overlap.
    pub tokens: Tokens,
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
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct Tokens {
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
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct UsedOnDay {
    /// The day (UTC): the last one on which anything happened.
    pub day: String,
    /// Tokens; the kinds do not overlap.
    pub tokens: Tokens,
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

/// An account that must wait.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct Account {
    /// Which.
    pub account: String,
    /// What was met: `limit`, `overloaded`, `login`.
    pub held: String,
    /// When it is tried again; null: when a person says so.
    #[schema(required = true)]
    pub until: Option<String>,
    /// When it was met first.
    #[schema(schema_with = time, required)]
    pub since: String,
    /// How often in a row.
    pub times: u32,
    /// What the service said.
    pub message: String,
}

/// What happened since some time.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct Report {
    /// From when; null: from the beginning.
    #[schema(required = true)]
    pub since: Option<String>,
    /// The last event that it knows of.
    #[schema(schema_with = time, required)]
    pub until: String,
    /// Ideas that landed.
    pub landed: Vec<ReportedIdea>,
    /// Ideas that are done without a commit: their agents had changed nothing.
    pub nothing_to_land: Vec<ReportedIdea>,
    /// Ideas that ended badly and have not been retried.
    pub failed: Vec<ReportedIdea>,
    /// Ideas that are neither over nor failed.
    pub waiting: Vec<ReportedIdea>,
    /// Agents that have made no commit for long.
    pub stuck: Vec<Stuck>,
    /// What only a person can do.
    pub needs_you: Vec<Need>,
    /// What is not as it should be, and keeps nothing from going on.
    pub warnings: Vec<String>,
    /// Accounts that must wait.
    pub accounts: Vec<Account>,
    /// What was used by the attempts that ended since, and by those that go on.
    pub spent: Used,
}

/// An idea, shortly.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct ReportedIdea {
    /// Its id.
    pub id: String,
    /// How it stands.
    pub status: String,
    /// Its text.
    pub content: String,
    /// The merge commit that landed it.
    #[schema(required = false)]
    pub commit: Option<String>,
    /// Why it ended so, or what it waits for, other than its turn.
    #[schema(required = false)]
    pub why: Option<String>,
    /// Since when it stands so.
    #[schema(schema_with = time, required)]
    pub at: String,
    /// What all its attempts used.
    #[schema(required = false)]
    pub used: Option<Used>,
}

/// An agent that has made no commit for long.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct Stuck {
    /// Which.
    pub agent: String,
    /// Its idea.
    pub idea_id: String,
    /// Since when that is known.
    #[schema(schema_with = time, required)]
    pub since: String,
    /// What is known.
    pub message: String,
}
