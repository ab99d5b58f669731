//! What agents use: tokens and money, as their programs report it and as it is added up.
//!
//! Invariant: a report is kept as it was, with the scope of its numbers ([`Usage`]); what is added
//! up ([`Bill`], [`Spent`]) is a run's own part, so nothing counts twice. A figure that no program
//! reported is marked as an estimate, or missing.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// Millionths of a US dollar.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct MicroUsd(pub u64);

impl MicroUsd {
    /// From a decimal amount in dollars, rounded; `None` if it is not an amount.
    pub fn from_dollars(dollars: f64) -> Option<Self> {
        let micros = (dollars * 1e6).round();
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        // within range, as checked above
        let whole = micros as u64;
        (micros.is_finite() && (0.0..1e18).contains(&micros)).then_some(Self(whole))
    }

    /// In dollars, for JSON.
    #[allow(clippy::cast_precision_loss)] // exact up to nine thousand million dollars
    pub fn dollars(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// The saturating sum.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl fmt::Display for MicroUsd {
    /// `$1.23`; below ten cents with four decimals: `$0.0053`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 || self.0 >= 100_000 {
            let cents = self.0.saturating_add(5_000) / 10_000;
            return write!(f, "${}.{:02}", cents / 100, cents % 100);
        }
        write!(f, "$0.{:04}", self.0.div_ceil(100))
    }
}

/// Token counts. The kinds do not overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Tokens {
    /// Input that was not cached.
    pub input: u64,
    /// Input read from the cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cached: u64,
    /// Input written to the cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_written: u64,
    /// Output, thinking included.
    pub output: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the form that serde asks for
fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the form that serde asks for
fn is_false(flag: &bool) -> bool {
    !*flag
}

impl Tokens {
    /// Sum of all kinds.
    pub const fn total(&self) -> u64 {
        self.input
            .saturating_add(self.cached)
            .saturating_add(self.cache_written)
            .saturating_add(self.output)
    }

    /// Sum per kind.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            cached: self.cached.saturating_add(other.cached),
            cache_written: self.cache_written.saturating_add(other.cache_written),
            output: self.output.saturating_add(other.output),
        }
    }

    /// Difference to `earlier`; `None` if a number is smaller, which means a new count.
    pub fn since(self, earlier: Self) -> Option<Self> {
        Some(Self {
            input: self.input.checked_sub(earlier.input)?,
            cached: self.cached.checked_sub(earlier.cached)?,
            cache_written: self.cache_written.checked_sub(earlier.cache_written)?,
            output: self.output.checked_sub(earlier.output)?,
        })
    }
}

/// What a program's numbers cover.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Scope {
    /// This run only.
    #[default]
    Run,
    /// The whole conversation, over all its runs.
    Session,
}

/// Usage that a program reported for a run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    /// Tokens, if reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// What they cover.
    pub tokens_of: Scope,
    /// Cost, if reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<MicroUsd>,
    /// What it covers.
    pub cost_of: Scope,
    /// Model that used most of it, to find the price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Whether the run was cut off before the program reported totals: a lower bound.
    #[serde(skip_serializing_if = "is_false")]
    pub partial: bool,
}

/// Usage of a conversation when last seen, as its program counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Counted {
    /// Tokens.
    pub tokens: Tokens,
    /// Cost.
    pub cost: MicroUsd,
}

impl Counted {
    /// Whether nothing is counted.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// Prices of a model, in millionths of a dollar per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Price {
    /// For uncached input.
    pub input: u64,
    /// For input read from the cache.
    pub cached: u64,
    /// For input written to the cache.
    pub cache_written: u64,
    /// For output.
    pub output: u64,
}

impl Price {
    /// Cost of these tokens.
    pub fn of(&self, tokens: &Tokens) -> MicroUsd {
        let part = |count: u64, price: u64| u128::from(count) * u128::from(price);
        let sum = part(tokens.input, self.input)
            + part(tokens.cached, self.cached)
            + part(tokens.cache_written, self.cache_written)
            + part(tokens.output, self.output);
        MicroUsd(u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX))
    }
}

/// Price of a model: by its full name, or else by its name without version.
fn price_of<'a>(prices: &'a BTreeMap<String, Price>, model: &str) -> Option<&'a Price> {
    prices.get(model).or_else(|| prices.get(undated(model)))
}

/// Name of a model without the version suffix that programs add: a date (`-20250929`,
/// `-2025-09-29`) or `-latest`.
pub fn undated(model: &str) -> &str {
    let is_shaped = |version: &str, shape: &str| {
        let fits = |(byte, like): (u8, u8)| match like {
            b'0' => byte.is_ascii_digit(),
            like => byte == like,
        };
        version.len() == shape.len() && version.bytes().zip(shape.bytes()).all(fits)
    };
    let shapes = ["-00000000", "-0000-00-00", "-latest"];
    let mut cuts = shapes.iter().filter_map(|shape| {
        let at = model.len().checked_sub(shape.len()).filter(|at| *at > 0)?;
        let version = model.get(at..)?;
        is_shaped(version, shape).then(|| &model[..at])
    });
    cuts.next().unwrap_or(model)
}

/// Usage of one run alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Bill {
    /// Tokens, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// Cost, if known or estimated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<MicroUsd>,
    /// Whether the cost comes from configured prices, not from the program.
    #[serde(skip_serializing_if = "is_false")]
    pub estimated: bool,
    /// Whether this is a lower bound because the run was cut off.
    #[serde(skip_serializing_if = "is_false")]
    pub partial: bool,
}

impl Usage {
    /// This run's own usage, given the conversation's usage before it.
    pub fn bill(&self, before: Counted, prices: &BTreeMap<String, Price>) -> Bill {
        let tokens = self.tokens.map(|tokens| match self.tokens_of {
            Scope::Run => tokens,
            Scope::Session => tokens.since(before.tokens).unwrap_or(tokens),
        });
        let told = self.cost.map(|cost| match self.cost_of {
            Scope::Run => cost,
            Scope::Session => MicroUsd(cost.0.checked_sub(before.cost.0).unwrap_or(cost.0)),
        });
        let estimate = || {
            let price = price_of(prices, self.model.as_deref()?)?;
            Some(price.of(tokens.as_ref()?))
        };
        let cost = told.or_else(estimate);
        Bill {
            tokens,
            cost,
            estimated: told.is_none() && cost.is_some(),
            partial: self.partial,
        }
    }

    /// The conversation's usage after this run, given the usage before.
    pub fn counted(&self, before: Counted) -> Counted {
        let of_session = |scope| scope == Scope::Session;
        let tokens = self.tokens.filter(|_| of_session(self.tokens_of));
        let cost = self.cost.filter(|_| of_session(self.cost_of));
        Counted {
            tokens: tokens.unwrap_or(before.tokens),
            cost: cost.unwrap_or(before.cost),
        }
    }
}

/// Usage of several runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Spent {
    /// Tokens.
    pub tokens: Tokens,
    /// Cost reported by programs.
    pub cost: MicroUsd,
    /// Cost estimated from configured prices, where programs reported none.
    pub estimated: MicroUsd,
    /// Number of runs.
    pub runs: u64,
    /// Runs without a known cost.
    #[serde(skip_serializing_if = "is_zero")]
    pub runs_without_cost: u64,
    /// Runs without known or complete token counts.
    #[serde(skip_serializing_if = "is_zero")]
    pub runs_not_counted: u64,
}

impl Spent {
    /// Adds a run.
    pub fn add(&mut self, bill: &Bill) {
        self.runs += 1;
        self.tokens = self.tokens.plus(bill.tokens.unwrap_or_default());
        match bill.cost {
            Some(cost) if bill.estimated => self.estimated = self.estimated.plus(cost),
            Some(cost) => self.cost = self.cost.plus(cost),
            None => self.runs_without_cost += 1,
        }
        if bill.tokens.is_none() || bill.partial {
            self.runs_not_counted += 1;
        }
    }

    /// Adds another sum.
    pub fn add_all(&mut self, other: &Self) {
        self.tokens = self.tokens.plus(other.tokens);
        self.cost = self.cost.plus(other.cost);
        self.estimated = self.estimated.plus(other.estimated);
        self.runs += other.runs;
        self.runs_without_cost += other.runs_without_cost;
        self.runs_not_counted += other.runs_not_counted;
    }

    /// Difference to an earlier value of the same sum.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            tokens: self.tokens.since(earlier.tokens).unwrap_or(self.tokens),
            cost: MicroUsd(self.cost.0.saturating_sub(earlier.cost.0)),
            estimated: MicroUsd(self.estimated.0.saturating_sub(earlier.estimated.0)),
            runs: self.runs.saturating_sub(earlier.runs),
            runs_without_cost: self
                .runs_without_cost
                .saturating_sub(earlier.runs_without_cost),
            runs_not_counted: self
                .runs_not_counted
                .saturating_sub(earlier.runs_not_counted),
        }
    }

    /// The cost in words, as far as it is known.
    pub fn describe_cost(&self) -> String {
        let known = self.usd();
        match (known.0, self.runs_without_cost) {
            (0, 1..) => "cost unknown".to_owned(),
            (0, 0) if self.runs == 0 => "cost unknown".to_owned(),
            (_, 1..) => format!("at least {known} spent"),
            (_, 0) if self.estimated.0 > 0 => format!("about {known} spent"),
            (_, 0) => format!("{known} spent"),
        }
    }

    /// Cost, reported and estimated.
    pub const fn usd(&self) -> MicroUsd {
        self.cost.plus(self.estimated)
    }

    /// Whether nothing was used.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(input: u64, cached: u64, output: u64) -> Tokens {
        Tokens {
            input,
            cached,
            output,
            ..Tokens::default()
        }
    }

    #[test]
    fn dollars_are_formatted_for_people() {
        for (micros, text) in [
            (0, "$0.00"),
            (1, "$0.0001"),
            (5_340, "$0.0054"),
            (99_999, "$0.1000"),
            (100_000, "$0.10"),
            (1_234_999, "$1.23"),
            (1_235_000, "$1.24"),
            (12_000_000, "$12.00"),
        ] {
            assert_eq!(MicroUsd(micros).to_string(), text);
        }
        assert_eq!(MicroUsd::from_dollars(0.005_34), Some(MicroUsd(5_340)));
        for bad in [-1.0, f64::NAN, f64::INFINITY, 1e30] {
            assert_eq!(MicroUsd::from_dollars(bad), None);
        }
    }

    #[test]
    fn a_session_counts_once_over_all_its_runs() {
        let prices = BTreeMap::new();
        let usage = |input, cost| Usage {
            tokens: Some(tokens(input, 0, 1)),
            tokens_of: Scope::Session,
            cost: Some(MicroUsd(cost)),
            cost_of: Scope::Session,
            ..Usage::default()
        };
        let mut before = Counted::default();
        let mut spent = Spent::default();
        for (input, cost) in [(10, 100), (30, 150), (30, 150)] {
            let usage = usage(input, cost);
            spent.add(&usage.bill(before, &prices));
            before = usage.counted(before);
        }
        assert_eq!((spent.tokens.input, spent.cost), (30, MicroUsd(150)));
        // A smaller number is a new count.
        let usage = usage(5, 20);
        let bill = usage.bill(before, &prices);
        assert_eq!(bill.tokens, Some(tokens(5, 0, 1)));
        assert_eq!(bill.cost, Some(MicroUsd(20)));
        assert_eq!(usage.counted(before).tokens, tokens(5, 0, 1));
    }

    #[test]
    fn a_cost_from_prices_is_marked_as_estimated() {
        let price = Price {
            input: 3_000_000,
            cached: 300_000,
            cache_written: 3_750_000,
            output: 15_000_000,
        };
        let prices = BTreeMap::from([("m".to_owned(), price)]);
        let mut usage = Usage {
            tokens: Some(tokens(1_000, 500, 100)),
            model: Some("m".into()),
            ..Usage::default()
        };
        let bill = usage.bill(Counted::default(), &prices);
        assert_eq!(bill.cost, Some(MicroUsd(3_000 + 150 + 1_500)));
        assert!(bill.estimated);
        usage.cost = Some(MicroUsd(7));
        let bill = usage.bill(Counted::default(), &prices);
        assert_eq!((bill.cost, bill.estimated), (Some(MicroUsd(7)), false));
        usage.cost = None;
        usage.model = Some("unknown".into());
        assert_eq!(usage.bill(Counted::default(), &prices).cost, None);
    }

    #[test]
    fn a_price_applies_to_every_version_of_its_model() {
        let pair = |name: &str| (name.to_owned(), Price::default());
        let names = ["opus-4-20250514", "sonnet-4", "sonnet-4-5"];
        let mut prices = BTreeMap::from(names.map(pair));
        for (model, holds) in [
            ("sonnet-4-5", true),
            ("sonnet-4-5-20250929", true),
            ("sonnet-4-5-latest", true),
            ("opus-4-20250514", true),
            ("opus-4", false),
            ("opus-4-20250101", false),
            ("sonnet-4-6", false),
            ("sonnet-4-5-fast", false),
            ("sonnet-4-5-2025092", false),
            ("sonnet-4-5-2025-09-29", true),
            ("sonnet-4-5-2025-09-2", false),
            ("sonnet-4-5-2025.09.29", false),
            ("sonnet-4-5é20250929", false),
            ("-20250929", false),
            ("-2025-09-29", false),
        ] {
            assert_eq!(price_of(&prices, model).is_some(), holds, "{model}");
        }
        // The longest matching name wins.
        let own = Price {
            input: 1,
            ..Price::default()
        };
        prices.insert("sonnet-4-5-20250929".to_owned(), own);
        assert_eq!(price_of(&prices, "sonnet-4-5-20250929"), Some(&own));
    }

    #[test]
    fn runs_with_unknown_usage_are_counted() {
        let mut spent = Spent::default();
        spent.add(&Bill::default());
        spent.add(&Bill {
            tokens: Some(tokens(1, 0, 0)),
            partial: true,
            ..Bill::default()
        });
        assert_eq!((spent.runs_without_cost, spent.runs_not_counted), (2, 2));
        let mut all = Spent::default();
        all.add_all(&spent);
        assert_eq!(all, spent);
    }
}
