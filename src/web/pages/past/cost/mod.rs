//! What was spent, by hour, idea, profile and model.
//!
//! Invariant: what programs told, what was estimated and what is not known stay apart; the total is
//! that of `swarm report`.

mod draw;

use std::collections::BTreeMap;
use std::time::Duration;

use crate::domain::ids::IdeaId;
use crate::domain::settings::Budget;
use crate::domain::state::State;
use crate::domain::time::Timestamp;
use crate::domain::usage::Spent;
use crate::view;
use crate::view::history::Costs;
use crate::web::pages::WebError;
use crate::web::pages::asked::{Asked, Query};
use crate::web::parts::title;

/// Rows of the table; the rest are one row.
const ROWS: usize = 100;
/// How long the page waits for the first reading of the log.
const PATIENCE: Duration = Duration::from_secs(3);

/// What the page shows.
pub struct View {
    by: By,
    unit: Unit,
    rows: Vec<Row>,
    /// What the rows do not have.
    rest: Vec<(&'static str, Spent)>,
    total: Spent,
    today: Spent,
    day: String,
    budget: Budget,
    is_ready: bool,
    query: Query,
}

/// What a row stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Hour,
    Idea,
    Profile,
    Model,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Dollars,
    Tokens,
}

#[derive(Debug, Clone, PartialEq)]
struct Row {
    what: What,
    spent: Spent,
}

#[derive(Debug, Clone, PartialEq)]
enum What {
    Hour(Timestamp),
    Idea(IdeaId, String),
    Name(String),
}

/// Loads it.
pub async fn load(asked: &Asked<'_>) -> Result<View, WebError> {
    let is_ready = asked.site.chronicle.is_ready(PATIENCE).await;
    let view = |costs: &Costs| asked.read(|state| View::of(state, costs, asked.query));
    let view = asked.site.chronicle.read(|history| view(&history.costs));
    Ok(View { is_ready, ..view })
}

impl View {
    fn of(state: &State, costs: &Costs, query: &Query) -> Self {
        let by = match query.get("by") {
            Some("idea") => By::Idea,
            Some("profile") => By::Profile,
            Some("model") => By::Model,
            _ => By::Hour,
        };
        let unit = match query.get("unit") {
            Some("tokens") => Unit::Tokens,
            _ => Unit::Dollars,
        };
        let total = view::all_spent(state);
        let under_way = view::spent_under_way(state);
        let mut rows = rows(by, state, costs);
        let mut sum = under_way;
        for row in &rows {
            sum.add_all(&row.spent);
        }
        let mut beyond = Spent::default();
        for row in rows.drain(rows.len().min(ROWS)..) {
            beyond.add_all(&row.spent);
        }
        let rest = [
            ("Other rows", beyond),
            ("Runs under way", under_way),
            ("Not in this list", total.since(&sum)),
        ];
        let day = state.swarm.last_event_at.day();
        let settings = state.settings.as_deref();
        Self {
            by,
            unit,
            rows,
            rest: rest
                .into_iter()
                .filter(|(_, rest)| !rest.is_nothing())
                .collect(),
            total,
            today: state.used.get(&day).copied().unwrap_or_default(),
            day,
            budget: settings.map(|settings| settings.budget).unwrap_or_default(),
            is_ready: true,
            query: query.clone(),
        }
    }
}

/// All rows: hours newest first, others by what they cost.
fn rows(by: By, state: &State, costs: &Costs) -> Vec<Row> {
    let paid = costs.upto(state.seq);
    let mut rows: Vec<Row> = match by {
        By::Hour => {
            let mut sums: BTreeMap<Timestamp, Spent> = BTreeMap::new();
            for one in paid {
                sums.entry(one.hour()).or_default().add_all(&one.spent);
            }
            let row = |(hour, spent)| Row {
                what: What::Hour(hour),
                spent,
            };
            return sums.into_iter().rev().map(row).collect();
        }
        By::Profile | By::Model => {
            let mut sums: BTreeMap<&str, Spent> = BTreeMap::new();
            for one in paid {
                let name = if by == By::Model {
                    &one.model
                } else {
                    &one.profile
                };
                sums.entry(name).or_default().add_all(&one.spent);
            }
            let row = |(name, spent): (&str, Spent)| Row {
                what: What::Name(name.to_owned()),
                spent,
            };
            sums.into_iter().map(row).collect()
        }
        By::Idea => {
            let ideas = state
                .ideas
                .iter()
                .filter(|(_, idea)| !idea.used.is_nothing());
            let row = |(id, idea): (&IdeaId, &crate::domain::state::Idea)| Row {
                what: What::Idea(id.clone(), title(&idea.text).to_owned()),
                spent: idea.used,
            };
            ideas.map(row).collect()
        }
    };
    rows.sort_by_key(|row| std::cmp::Reverse((row.spent.usd(), row.spent.tokens.total())));
    rows
}

#[cfg(test)]
mod tests;
